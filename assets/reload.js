// Of a page that is older than its session: it still shows what the server has lost.
location.reload();
