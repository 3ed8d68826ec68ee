"""Queries to another host's server, with a deadline."""

from __future__ import annotations

import http.client
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from clue.errors import ForecastError, UsageError
from clue.forecasting.values import parsed

#: Default port of servers.
PORT = 8457
#: Maximum size of an answer, bytes.
_LONGEST = 16 << 20
_PIECE = 1 << 16
_ADDRESS = re.compile(r"(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]{0,252}[A-Za-z0-9])?)(?::(?P<port>\d{1,5}))?")
#: Messages of one probe, the fastest of which gives the latency; sizes of data for the bandwidth, bytes, used in turn
#: until a transfer takes long enough, s.
_PINGS, _SIZES, _LONG_ENOUGH = 8, (1 << 16, 1 << 20, 1 << 23), 0.02


@dataclass(frozen=True, slots=True)
class Address:
    """Address of a host's server.

    Attributes:
        name: Host name.
        port: Its port.
    """

    name: str
    port: int = PORT

    @classmethod
    def parse(cls, text: str) -> Address:
        """Parse ``NAME`` or ``NAME:PORT``.

        Raises:
            UsageError: If it is neither.
        """
        match = _ADDRESS.fullmatch(text)
        if match is None or not 0 < int(match["port"] or PORT) < 2**16:
            raise UsageError(f"host must be a name or NAME:PORT, got {text!r}")
        return cls(match["name"], int(match["port"] or PORT))

    def __str__(self) -> str:
        return self.name if self.port == PORT else f"{self.name}:{self.port}"


class _Connection(http.client.HTTPConnection):
    """A connection that is cut some time after it was made, however slowly the host sends.

    Timeouts of sockets end only one wait for data: a host that sends a byte now and then, or one preliminary answer
    after another, would keep its client for ever.

    Args:
        address: Address of the host's server.
        patience: Timeout of connecting, and of all requests together, seconds.
    """

    def __init__(self, address: Address, patience: float) -> None:
        super().__init__(address.name, address.port, timeout=patience)
        self.is_late = False
        self._last: socket.socket | None = None
        self._timer = threading.Timer(patience, self._cut)
        self._timer.daemon = True

    def connect(self) -> None:
        """Connect, or connect again: the deadline stays."""
        super().connect()
        self._last = self.sock
        if self.is_late:
            raise TimeoutError
        if self._timer.ident is None:
            self._timer.start()

    def _cut(self) -> None:
        self.is_late = True
        if self._last is not None:
            with suppress(OSError):
                self._last.shutdown(socket.SHUT_RDWR)

    def end(self) -> None:
        """Close the connection."""
        self._timer.cancel()
        self.close()


@dataclass(frozen=True, slots=True)
class Peer:
    """A host that answers queries.

    Attributes:
        address: Address of its server.
        token: Token that it requires, if any; it is never shown.
        patience: Timeout of an answer, seconds.
    """

    address: Address
    token: str | None = None
    patience: float = 2.0

    def ask(self, path: str) -> Any:
        """Return an answer, as JSON.

        Raises:
            ForecastError: If no valid answer comes in time.
        """
        with self._connected() as connection:
            return self._parsed(self._get(connection, path))

    def probe(self) -> tuple[float, float]:
        """Return the latency (s) and bandwidth (B/s) of the link to the host.

        Raises:
            ForecastError: If it does not answer in time.
        """
        with self._connected() as connection:
            trips = [self._timed(connection, "/ping") for _ in range(_PINGS)]
            trip = min(trips[1:])
            for size in _SIZES:
                taken = self._timed(connection, f"/bytes/{size}")
                if taken > max(_LONG_ENOUGH, 4 * trip):
                    break
            return trip / 2, size / max(taken - trip, 1e-9)

    @contextmanager
    def _connected(self) -> Iterator[_Connection]:
        """Open a connection for all requests of one question."""
        connection = _Connection(self.address, self.patience)
        try:
            yield connection
        except (OSError, http.client.HTTPException, UnicodeError) as error:
            if connection.is_late or isinstance(error, TimeoutError):
                raise ForecastError(
                    f"{self.address}: host must answer within {self.patience:g} s, got no answer"
                ) from None
            said = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise ForecastError(f"{self.address}: host must answer, got: {said}") from None
        finally:
            connection.end()

    def _timed(self, connection: _Connection, path: str) -> float:
        begin = time.perf_counter()
        self._get(connection, path)
        return time.perf_counter() - begin

    def _get(self, connection: _Connection, path: str) -> bytes:
        connection.request("GET", path, headers={"Authorization": f"Bearer {self.token}"} if self.token else {})
        response = connection.getresponse()
        pieces, size = [], 0
        while piece := response.read1(_PIECE):
            pieces.append(piece)
            size += len(piece)
            if size > _LONGEST:
                raise ForecastError(f"{self.address}: answer must be at most {_LONGEST:,} bytes long, got more")
        if response.length or connection.is_late:
            raise http.client.IncompleteRead(b"", response.length)
        response.close()  # read1 does not free the connection for the next request when all is read
        if response.status != http.client.OK:
            raise ForecastError(
                f"{self.address}: host must answer, got {self._refusal(response.status, b''.join(pieces))}"
            )
        return b"".join(pieces)

    def _refusal(self, status: int, body: bytes) -> str:
        try:
            return f"{parsed(body)['error']} (status {status})"
        except (ValueError, KeyError, TypeError):
            return f"status {status}"

    def _parsed(self, body: bytes) -> Any:
        try:
            return parsed(body)
        except ValueError:
            raise ForecastError(f"{self.address}: answer must be JSON, got {body[:40]!r}") from None
