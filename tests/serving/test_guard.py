"""Requests that a server refuses: those caused by other sites, and those without the token."""

from __future__ import annotations

import socket
from http import HTTPStatus

import pytest

from clue.listening import is_own
from clue.serving.guard import Guard

TOKEN = "a token of twenty characters"
HERE = {"host": "127.0.0.1:8458"}


@pytest.mark.parametrize(
    ("host", "own"),
    [
        ("127.0.0.1:8458", True),
        ("127.0.0.1", True),
        ("localhost:8458", True),
        ("LOCALHOST", True),
        ("[::1]:8458", True),
        ("[::1]", True),
        ("192.0.2.7:80", True),
        (socket.gethostname(), True),
        ("evil.example:8458", False),
        ("127.0.0.1.evil.example", False),
        ("localhost.evil.example:8458", False),
        ("evil.example:8458:127.0.0.1", False),
        ("127.0.0.1@evil.example", False),
        ("[::1].evil.example", False),
        (":8458", False),
        ("", False),
    ],
)
def test_a_host_must_be_this_computer(host: str, own: bool) -> None:
    """A foreign host name is refused even if its owner points it to this computer."""
    assert is_own(host) is own
    refused = Guard().refusal("GET", {"host": host}, {})
    assert (refused is None) is own
    assert own or (refused is not None and refused.status is HTTPStatus.MISDIRECTED_REQUEST)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, None),
        ({"origin": "http://127.0.0.1:8458"}, None),
        ({"origin": "http://127.0.0.1:8458", "sec-fetch-site": "same-origin"}, None),
        ({"sec-fetch-site": "none"}, None),
        ({"origin": "http://evil.example"}, HTTPStatus.FORBIDDEN),
        ({"origin": "null"}, HTTPStatus.FORBIDDEN),
        ({"origin": "http://127.0.0.1:9999"}, HTTPStatus.FORBIDDEN),
        ({"origin": "https://127.0.0.1:8458"}, HTTPStatus.FORBIDDEN),
        ({"sec-fetch-site": "cross-site"}, HTTPStatus.FORBIDDEN),
        ({"sec-fetch-site": "same-site"}, HTTPStatus.FORBIDDEN),
    ],
)
def test_what_changes_must_come_from_the_own_page(headers: dict[str, str], status: HTTPStatus | None) -> None:
    """Headers of browsers give the origin of a request; a request without them is not from a browser."""
    refused = Guard().refusal("POST", HERE | headers, {})
    assert (None if refused is None else refused.status) is status
    assert Guard().refusal("GET", HERE | headers, {}) is None


def test_a_token_must_be_shown_or_its_cookie() -> None:
    """The cookie differs from the token, and each token has its own cookie, as browsers send it to all ports."""
    guard, other = Guard(TOKEN), Guard("another token of this length")
    refused = guard.refusal("GET", HERE, {})
    assert refused is not None and refused.status is HTTPStatus.UNAUTHORIZED and TOKEN not in refused.reason
    assert guard.refusal("GET", HERE | {"authorization": f"Bearer {TOKEN}"}, {}) is None
    assert guard.refusal("GET", HERE, {guard.cookie_name: guard.cookie}) is None
    assert guard.refusal("GET", HERE, {guard.cookie_name: TOKEN}) is not None
    assert guard.refusal("GET", HERE, {guard.cookie_name: other.cookie}) is not None
    assert guard.refusal("GET", HERE | {"authorization": "Bearer \u00e4"}, {}) is not None
    both = {each.cookie_name: each.cookie for each in (guard, other)}
    assert guard.refusal("GET", HERE, both) is None and other.refusal("GET", HERE, both) is None
    assert guard.admits(TOKEN) and not guard.admits("") and not Guard().admits("")
