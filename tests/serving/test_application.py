"""The server from a client's view: pages, rankings, refusals, and protection against other sites."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest
from starlette.types import ASGIApp

from clue.serving.application import MOST_BYTES, application
from clue.serving.guard import HEADERS
from clue.serving.live import LiveRanking
from tests.serving import cases

TOKEN = "a token of twenty characters"
ADDRESS = "http://127.0.0.1:8458"


class Client:
    """Sends requests to an application within this process and keeps cookies as a browser does."""

    def __init__(self, app: ASGIApp) -> None:
        self._asking = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=ADDRESS, follow_redirects=True)

    def request(self, method: str, path: str, **more: Any) -> httpx.Response:
        """Send a request and return the response."""
        return asyncio.run(self._asking.request(method, path, **more))

    def get(self, path: str, **more: Any) -> httpx.Response:
        """Send a GET request."""
        return self.request("GET", path, **more)

    def post(self, path: str, **more: Any) -> httpx.Response:
        """Send a POST request."""
        return self.request("POST", path, **more)


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> LiveRanking:
    """Return a ranked comparison."""
    return cases.live(tmp_path_factory.mktemp("served"))


@pytest.fixture
def log() -> list[str]:
    """Return the list that receives the log."""
    return []


@pytest.fixture
def client(live: LiveRanking, log: list[str]) -> Client:
    """Return a client of a server without a token."""
    return Client(application(live, log=log.append))


def test_the_page_and_its_files(client: Client) -> None:
    """Every file has the security headers, and the page contains no inline script."""
    for path, kind in (("/", "text/html"), ("/page.js", "text/javascript"), ("/live.js", "text/javascript"),
                       ("/page.css", "text/css")):  # fmt: skip
        answer = client.get(path)
        assert answer.status_code == 200 and answer.headers["content-type"].startswith(kind)
        assert {name: answer.headers[name] for name in HEADERS} == dict(HEADERS)
        assert "server" not in answer.headers
    page = client.get("/").text
    assert page.count("<script") == 2 and page.count('<script src="') == 2
    assert "unsafe" not in HEADERS["Content-Security-Policy"]


def test_a_change_is_ranked(client: Client, log: list[str]) -> None:
    """The answer has the new ranking and its cost; the log does not contain the figures."""
    answer = client.post("/ranking", json={"changes": {"budget": "5000 EUR", "options.fast.price": "4000 EUR"}})
    told = answer.json()
    assert answer.status_code == 200 and told["simulations"] == 0 and told["milliseconds"] > 0
    pieces = {name: piece for name, _, piece in told["pieces"]}
    assert pieces["ranking"].index("slow") < pieces["ranking"].index("fast") and told["awaited"] is False
    assert len(log) == 1 and log[0].startswith("ranked with 2 changed figures in ") and "5000" not in log[0]


def test_only_new_pieces_are_sent(client: Client) -> None:
    """Pieces with a digest that the browser knows are named, but not sent again."""
    first = client.post("/ranking", json={"changes": {}}).json()["pieces"]
    assert all(piece for _, _, piece in first)
    known = {name: digest for name, digest, _ in first}
    again = client.post("/ranking", json={"changes": {}, "known": known}).json()["pieces"]
    assert again == [[name, digest, None] for name, digest in known.items()]
    changed = client.post("/ranking", json={"changes": {"options.fast.price": "4000 EUR"}, "known": known}).json()
    sent = {name for name, _, piece in changed["pieces"] if piece is not None}
    assert {"head", "changed", "ranking", "options"} <= sent and not {"workloads", "limits", "again"} & sent


def test_all_may_be_asked_for(client: Client) -> None:
    """A separate address gives the slow parts as well; without any, both answers are equal."""
    one, all_of_it = (client.post(path, json={"changes": {}}).json()["pieces"] for path in ("/ranking", "/full"))
    assert one == all_of_it


def test_bad_figures_are_told_by_field(client: Client) -> None:
    """Errors are listed by figure, and other errors separately."""
    answer = client.post("/ranking", json={"changes": {"budget": "x\x1b[2J"}})
    assert answer.status_code == 422
    (told,) = answer.json()["figures"]["budget"]
    assert told.startswith("budget must be ") and "\x1b" not in told
    answer = client.post("/ranking", json={"changes": {"budget": "1 EUR"}})
    assert answer.status_code == 422
    assert answer.json()["others"][0].startswith("which: budget must afford at least one option, got 1.00 EUR")
    answer = client.post("/ranking", json={"changes": {"workloads.pp.program.trace": "/etc/passwd"}})
    assert (answer.status_code, answer.json()["figures"]) == (422, {})


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b'{"changes": []}', b'{"changes": {"budget": 5}}', b'{"changes": null}', b"[" * 60_000,
     b'{"changes": {}, "known": []}', b'{"changes": {}, "known": {"head": 1}}',
     b"\xff", b"0" * (MOST_BYTES + 1)],
)  # fmt: skip
def test_other_bodies_are_refused(client: Client, body: bytes) -> None:
    """A malformed body is refused with a sentence, and an oversized one is not read."""
    answer = client.post("/ranking", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    (said,) = answer.json()["others"]
    assert said.startswith("body must ") and ", got " in said


def test_a_form_of_another_site_is_refused(client: Client) -> None:
    """Requests are refused by content type, by origin, and by host name."""
    assert client.post("/ranking", data={"changes": "{}"}).status_code == 400
    body: dict[str, Any] = {"changes": {}}
    assert client.post("/ranking", json=body, headers={"Origin": "http://evil.example"}).status_code == 403
    assert client.post("/ranking", json=body, headers={"Host": "evil.example:8458"}).status_code == 421
    assert client.get("/", headers={"Host": "evil.example:8458"}).status_code == 421
    assert client.post("/ranking", json=body, headers={"Origin": ADDRESS}).status_code == 200


@pytest.mark.parametrize(
    "path",
    ["/../which.yaml", "/which.yaml", "/..%2fwhich.yaml", "/live.html", "/page.html", "/__init__.py", "/ranking/x"],
)
def test_no_file_is_read_that_a_request_names(client: Client, path: str) -> None:
    """Only the known addresses exist; paths of files give 404."""
    assert client.get(path).status_code == 404


def test_other_methods_are_refused(client: Client) -> None:
    """Other methods than the expected ones give 405."""
    assert client.get("/ranking").status_code == 405
    assert client.request("PUT", "/", json={}).status_code == 405


def test_with_a_token(live: LiveRanking) -> None:
    """A token in the address becomes a cookie that scripts cannot read and other sites do not send."""
    client = Client(application(live, TOKEN))
    assert client.get("/").status_code == 401
    assert client.get("/?token=another").status_code == 401
    assert client.post("/ranking", json={"changes": {}}).status_code == 401
    assert client.get("/", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200
    answer = client.get("/", params={"token": TOKEN}, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie and "samesite=strict" in cookie.lower() and TOKEN not in cookie
    assert client.get("/").status_code == 200
    assert client.post("/ranking", json={"changes": {}}).status_code == 200


def test_a_token_may_have_a_plus(live: LiveRanking) -> None:
    """Browsers leave a plus in an address as it is, and forms mean a blank by it; tokens in base 64 have it."""
    token = "a+token/of+base64+characters=="
    for given in (token, "a%2Btoken%2Fof%2Bbase64%2Bcharacters%3D%3D"):
        client = Client(application(live, token))
        assert client.get(f"/?token={given}", follow_redirects=False).status_code == 303
        assert client.get("/").status_code == 200
    assert Client(application(live, token)).get("/?token=a-token/of+base64+characters==").status_code == 401
