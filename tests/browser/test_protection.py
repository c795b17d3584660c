"""What `streamlit run app.py` answers, to browsers and to those who pretend to be one."""

from __future__ import annotations

import http.client
import json
import socket
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest

from tests.browser.conftest import SERVER_LOG
from tests.browser.steps import upload_file

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


def test_pages_of_other_sites_command_nothing(app_url):
    """Around a frame they could stop or run the script with Streamlit's list of sites."""
    with urlopen(f"{app_url}/_stcore/host-config") as told:
        assert json.load(told)["allowedOrigins"] == []


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


def test_a_foreign_origin_is_refused_and_nobody_is_asked(app_url):
    """Streamlit says in its log when it has asked for this machine's address and got no answer."""
    assert answer(app_url, "/_stcore/stream", {"Origin": "http://evil.example", **WEBSOCKET}).status == 403
    own = answer(app_url, "/_stcore/stream", {"Origin": app_url, **WEBSOCKET})
    assert own.status == 101
    assert "external IP" not in SERVER_LOG.read_text(encoding="utf-8")


def test_uploads_over_the_limit_or_cut_off_end_alone(open_page, app_url, tmp_path):
    """One is refused by its stated size, one stops in the middle; session and server go on."""
    (tmp_path / "rows.csv").write_text("a,b,label\n" + "0.25,0.75,b\n0.75,0.25,a\n" * 20, encoding="utf-8")
    for size, answer_begins in ((600 << 20, b"HTTP/1.1 413"), (1_000, b"")):
        page = open_page("data?example=two-patients")
        # The browser's own upload is answered here, so that its address is still good.
        page.route("**/upload_file/**", lambda route: route.fulfill(status=204))
        with page.expect_request(lambda request: request.method == "PUT") as sent:
            upload_file(page, "Predictions (with labels", tmp_path / "rows.csv")
        address, headers = urlsplit(sent.value.url), sent.value.all_headers()
        page.unroute("**/upload_file/**")
        lines = [f"PUT {address.path} HTTP/1.1", f"Host: {address.netloc}", f"Cookie: {headers['cookie']}"]
        lines += [f"X-Xsrftoken: {headers['x-xsrftoken']}", "Content-Type: multipart/form-data; boundary=x"]
        with socket.create_connection((address.hostname, address.port), timeout=20) as connection:
            request = "\r\n".join(
                [*lines, f"Content-Length: {size}", "", "--x\r\nContent-Disposition: form-data"]
            )
            connection.sendall(request.encode())
            connection.shutdown(socket.SHUT_WR)
            assert connection.recv(1_000).startswith(answer_begins)
    page = open_page("data?example=two-patients")
    upload_file(page, "Predictions (with labels", tmp_path / "rows.csv")
    log = SERVER_LOG.read_text(encoding="utf-8")
    assert f"upload refused status=413 bytes={600 << 20} seconds=" in log
    assert answer(app_url, "/_stcore/health", {}).status == 200
    page.get_by_text("rows.csv").last.wait_for()
