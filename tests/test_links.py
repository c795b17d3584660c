"""What `make links` says of the answers it got."""

from __future__ import annotations

from docs.links import outcome


def answer(uri: str, status: str = "working", info: str = "") -> dict[str, object]:
    return {"filename": "deploy.md", "lineno": 3, "uri": uri, "status": status, "info": info}


NO_HOST = "HTTPSConnectionPool: Failed to resolve 'a.org' ([Errno -2] Name or service not known)"


def test_addresses_that_answer_pass():
    code, words = outcome([answer("https://a.org/x"), answer("#anchor", "unchecked")])
    assert (code, "All 1 outside addresses answer" in words) == (0, True)


def test_without_a_network_nothing_is_called_broken_and_nothing_checked():
    code, words = outcome(
        [answer("https://a.org/x", "broken", NO_HOST), answer("https://b.org", "timeout", "timed out")]
    )
    assert code == 0
    assert "NOT checked" in words
    assert "a.org, b.org" in words


def test_a_host_that_is_gone_is_broken_where_others_answer():
    code, words = outcome([answer("https://a.org/x", "broken", NO_HOST), answer("https://b.org")])
    assert (code, words) == (
        1,
        f"1 of 2 outside addresses are broken:\ndeploy.md:3: https://a.org/x: {NO_HOST}",
    )


def test_an_address_that_its_host_refuses_is_broken():
    code, _ = outcome([answer("https://a.org/x", "broken", "404 Client Error: Not Found for url")])
    assert code == 1
