"""Queries to another host's server, with a deadline."""

from __future__ import annotations

import http.client
import re
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
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

    def ask(self, path: str, absent: str = "") -> Any:
        """Return an answer, as JSON.

        Args:
            path: Path of what is asked for.
            absent: The error if the host tells that it has none; ``""``: what the host tells.

        Raises:
            ForecastError: If no valid answer comes in time.
        """
        with self._connected() as connection:
            return self._parsed(self._get(connection, path, absent))

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
    def _connected(self) -> Iterator[http.client.HTTPConnection]:
        """Open a connection, whose deadline holds for all requests together."""
        connection = _Connection(self.address, self.patience)
        try:
            yield connection
        except TimeoutError:
            raise ForecastError(f"{self.address}: host must answer within {self.patience:g} s, got no answer") from None
        except (OSError, http.client.HTTPException, UnicodeError) as error:
            said = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise ForecastError(f"{self.address}: host must answer, got: {said}") from None
        finally:
            connection.close()

    def _timed(self, connection: http.client.HTTPConnection, path: str) -> float:
        begin = time.perf_counter()
        self._get(connection, path)
        return time.perf_counter() - begin

    def _get(self, connection: http.client.HTTPConnection, path: str, absent: str = "") -> bytes:
        connection.request("GET", path, headers={"Authorization": f"Bearer {self.token}"} if self.token else {})
        pieces, size = [], 0
        # Closed, as read1 does not free the connection for the next request when all is read.
        with connection.getresponse() as response:
            while piece := response.read1(_PIECE):
                pieces.append(piece)
                size += len(piece)
                if size > _LONGEST:
                    raise ForecastError(f"{self.address}: answer must be at most {_LONGEST:,} bytes long, got more")
            if response.length:
                raise http.client.IncompleteRead(b"", response.length)
        if response.status != http.client.OK:
            said = self._refusal(b"".join(pieces))
            if absent and said and response.status == http.client.NOT_FOUND:
                raise ForecastError(absent)
            got = f"{said} (status {response.status})" if said else f"status {response.status}"
            raise ForecastError(f"{self.address}: host must answer, got {got}")
        return b"".join(pieces)

    def _refusal(self, body: bytes) -> str:
        """Return what a host says with a status that is an error; ``""`` if it does not answer as clue does."""
        try:
            return str(parsed(body)["error"])
        except (ValueError, KeyError, TypeError):
            return ""

    def _parsed(self, body: bytes) -> Any:
        try:
            return parsed(body)
        except ValueError:
            raise ForecastError(f"{self.address}: answer must be JSON, got {body[:40]!r}") from None


class _Connection(http.client.HTTPConnection):
    """A connection with one deadline for all that happens on it.

    The timeout of a socket holds for each of its calls, so a host that sends single bytes could take any time.
    """

    def __init__(self, address: Address, patience: float) -> None:
        super().__init__(address.name, address.port)
        self._end = time.monotonic() + patience

    def connect(self) -> None:
        """Connect to the first of the host's addresses that accepts, each of which has a share of the time left."""
        every = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)
        for left, (of, kind, protocol, _, place) in zip(range(len(every), 0, -1), every, strict=True):
            self.sock = _Until(self._end, of, kind, protocol)
            try:
                self.sock.wait(left)
                self.sock.connect(place)
            except OSError:
                self.sock.close()
                if left == 1:
                    raise
            else:
                return self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return None


class _Until(socket.socket):
    """A socket that waits until a deadline, however many calls are made."""

    def __init__(self, end: float, family: int, kind: int, protocol: int) -> None:
        super().__init__(family, kind, protocol)
        self._end = end

    def wait(self, shares: int = 1) -> None:
        """Let the next call wait for a share of the time left.

        Raises:
            TimeoutError: If none is left.
        """
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self.settimeout(left / shares)

    def sendall(self, data: Any, flags: int = 0) -> None:
        """Send data."""
        self.wait()
        super().sendall(data, flags)

    def recv_into(self, buffer: Any, nbytes: int = 0, flags: int = 0) -> int:
        """Receive what has arrived."""
        self.wait()
        return super().recv_into(buffer, nbytes, flags)
