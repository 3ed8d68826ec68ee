"""Server by which a host reports its availability, its measured links, and its measured routines to others.

HTTP and JSON by the standard library: ``GET /availability``, ``/links``, ``/routines/NAME``, ``/ping``, ``/bytes/N``.
By default it listens on the loopback address; on others each request must carry a token (``Authorization: Bearer …``).
The log holds the client, the path and the status of each request: no header, so no token.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from clue.errors import ClueError, ForecastError
from clue.forecasting.forecaster import Forecaster
from clue.listening import LOOPBACK, bears, check_token, family, is_own, refusal

#: Time for which a measurement is reused in answers, s, so that many clients cost no more than one.
FRESH = 5.0
#: Maximum size of an answer for measuring bandwidth, bytes.
MOST_BYTES = 1 << 24
#: Timeout of a request, s.
_PATIENCE = 10.0


class Server(ThreadingHTTPServer):
    """HTTP server of one host.

    Args:
        forecaster: Forecaster of this host.
        address: IP address to listen on.
        port: Port; 0: any free one.
        token: Token that requests must carry, if any.
        peers: Hosts whose links to this one are measured, for routes through it.
        log: Receives a line for each request.

    Raises:
        UsageError: If a token is needed, or is too short.
        ForecastError: If it cannot listen there.
    """

    daemon_threads = True

    def __init__(
        self, forecaster: Forecaster, address: str = LOOPBACK, port: int = 0, *, token: str | None = None,
        peers: Sequence[str] = (), log: Callable[[str], None] = lambda _line: None,
    ) -> None:  # fmt: skip
        check_token(address, token)
        self.address_family = family(address)
        self.forecaster, self.token, self.peers, self.log = forecaster, token, tuple(peers), log
        # Measuring links takes seconds; meanwhile others must get the availability.
        self._looking, self._measuring = threading.Lock(), threading.Lock()
        self._measurer: threading.Thread | None = None
        self._seen: tuple[float, object] | None = None
        try:
            super().__init__((address, port), _Handler)
        except (OSError, OverflowError) as error:
            raise ForecastError(
                f"{address}:{port}: address must be one at which clue can listen, got: {refusal(error)}"
            ) from None

    @property
    def port(self) -> int:
        """Port that it listens on."""
        return int(self.server_address[1])

    def availability(self) -> dict[str, object]:
        """Return the availability of this host, with its age."""
        with self._looking:
            clock = self.forecaster.figures.clock  # goes on while the computer is suspended
            now = clock()
            if self._seen is None or not 0 <= now - self._seen[0] <= FRESH:
                self._seen = now, self.forecaster.look(self.forecaster.host).document()
            return {"available": self._seen[1], "age": max(0.0, clock() - self._seen[0])}

    def links(self) -> dict[str, object]:
        """Return the links of this host; those to its peers are measured again if they are too old.

        A peer that is off takes all of this host's patience, and whoever asks may have no more. So after half of it the
        links are returned that are known; the measurement goes on for the next answer.
        """
        with self._measuring:
            if self._measurer is None or not self._measurer.is_alive():
                self._measurer = threading.Thread(target=self._measure_links, name="links", daemon=True)
                self._measurer.start()
            measurer = self._measurer
        measurer.join(self.forecaster.patience / 2)
        found = self.forecaster.links()
        now = self.forecaster.figures.clock()
        told = [{"between": ends, "age": now - figure.measured, **figure.value} for ends, figure in found.items()]
        return {"host": self.forecaster.host, "links": told}

    def _measure_links(self) -> None:
        """Measure the links to the peers one after the other, as they share this host's own."""
        for peer in self.peers:
            try:
                self.forecaster.measure_link(peer)
            except ClueError as error:
                self.log(str(error))

    def routine(self, name: str) -> dict[str, object] | None:
        """Return the measurement of a routine on this host."""
        found = self.forecaster.store.find(self.forecaster.host, name)
        return None if found is None else found.document()

    def handle_error(self, request: object, client_address: object) -> None:
        """Log a failure, unless the client has disconnected."""
        del request
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            who = client_address[0] if isinstance(client_address, tuple) else client_address
            self.log(f"{who} got no answer: {type(error).__name__}: {error}")


@contextmanager
def serving(server: Server) -> Iterator[Server]:
    """Serve from a thread for the duration of a block."""
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), name="forecast", daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "clue", ""
    timeout = _PATIENCE
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        """Answer a request."""
        if self.server.token is None and not is_own(self.headers.get("Host", "")):
            return self._send(
                {"error": "host must be this computer, by its address or name"}, HTTPStatus.MISDIRECTED_REQUEST
            )
        if not self._is_allowed():
            return self._send({"error": "token must be that of this host"}, HTTPStatus.UNAUTHORIZED)
        try:
            return self._answer(self.path.partition("?")[0])
        except ClueError as error:
            return self._send({"error": str(error)}, HTTPStatus.SERVICE_UNAVAILABLE)

    def _answer(self, path: str) -> None:
        what, *rest = path.removeprefix("/").split("/", 1)
        if what == "routines" and rest:
            found = self.server.routine(rest[0])
            if found is not None:
                return self._send(found)
            return self._send({"error": "routine must have been measured here, got none"}, HTTPStatus.NOT_FOUND)
        if what == "bytes" and rest and rest[0].isdecimal() and len(rest[0]) < 10 and int(rest[0]) <= MOST_BYTES:
            return self._write(bytes(int(rest[0])), HTTPStatus.OK, "application/octet-stream")
        plain: dict[str, Callable[[], object]] = {
            "ping": dict, "availability": self.server.availability, "links": self.server.links
        }  # fmt: skip
        if what in plain and not rest:
            return self._send(plain[what]())
        return self._send({"error": "path must be one of those that clue asks for"}, HTTPStatus.NOT_FOUND)

    def _is_allowed(self) -> bool:
        return self.server.token is None or bears(self.headers.get("Authorization", ""), self.server.token)

    def _send(self, document: object, status: HTTPStatus = HTTPStatus.OK) -> None:
        self._write(json.dumps(document).encode(), status, "application/json")

    def _write(self, body: bytes, status: HTTPStatus, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Log client and path: never a header or a query string."""
        del size
        if self.command:
            status = code.value if isinstance(code, HTTPStatus) else code
            self.server.log(f"{self.client_address[0]} {self.command} {self.path.partition('?')[0][:200]} {status}")

    def log_error(self, *_what: object) -> None:
        """Log nothing: an invalid request may contain anything."""
