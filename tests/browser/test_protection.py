"""What `streamlit run app.py` answers, to browsers and to those who pretend to be one."""

from __future__ import annotations

import http.client
from urllib.parse import urlsplit

import pytest

from tests.browser.screen import OUTPUT

#: The headers with which a browser opens the connection of a session.
WEBSOCKET = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
}


def answer(app_url, path, headers):
    connection = http.client.HTTPConnection(urlsplit(app_url).netloc, timeout=30)
    connection.request("GET", path, headers=headers)
    response = connection.getresponse()
    response.close()
    connection.close()
    return response


@pytest.mark.parametrize("path", ["/", "/data", "/_stcore/health", "/media/none", "/static/none.js"])
def test_every_answer_has_the_protective_headers(app_url, path):
    headers = answer(app_url, path, {}).headers
    assert headers["X-Content-Type-Options"] == "nosniff"
    policy = dict(part.split(" ", 1) for part in headers["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == policy["connect-src"].removesuffix(" data: blob:") == "'self'"
    assert "unsafe" not in policy["script-src"]
    assert policy["frame-ancestors"] == "'self'"


def test_foreign_hosts_are_refused(app_url):
    assert answer(app_url, "/", {"Host": "evil.example"}).status == 400
    assert answer(app_url, "/_stcore/stream", {"Host": "evil.example", **WEBSOCKET}).status == 403
    assert answer(app_url, "/_stcore/health", {"Host": "10.0.0.7"}).status == 200


def test_a_foreign_origin_is_refused_and_nobody_is_asked(app_url, worker_id):
    """Streamlit says in its log when it has asked for this machine's address and got no answer."""
    assert answer(app_url, "/_stcore/stream", {"Origin": "http://evil.example", **WEBSOCKET}).status == 403
    own = answer(app_url, "/_stcore/stream", {"Origin": app_url, **WEBSOCKET})
    assert own.status == 101
    assert "external IP" not in (OUTPUT / f"server-{worker_id}.log").read_text(encoding="utf-8")
