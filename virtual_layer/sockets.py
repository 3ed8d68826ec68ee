"""Sockets that a rank opens from Python, to detect communication between ranks outside MPI.

Sockets of C libraries, including the MPI library, and of child processes are not seen.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from functools import wraps
from typing import Any

_REACHING = ("connect", "connect_ex", "sendto")


class Sockets:
    """Addresses of one rank's sockets, as text: a port, or a file.

    Attributes:
        bound: Addresses at which others can reach it.
        reached: Addresses at which it reached others, or tried to.
    """

    def __init__(self) -> None:
        self.bound: set[str] = set()
        self.reached: set[str] = set()

    def watch(self) -> None:
        """Note addresses from now on."""
        # Python's socket type inherits these methods from one written in C, so wrappers can be set on it.
        socket.socket.bind = self._binding(socket.socket.bind)  # type: ignore[method-assign]
        for name in _REACHING:
            setattr(socket.socket, name, self._reaching(getattr(socket.socket, name)))

    def facts(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return both lists of addresses."""
        return tuple(sorted(self.bound)), tuple(sorted(self.reached))

    def _binding(self, plain: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(plain)
        def bind(own: socket.socket, *args: Any) -> Any:
            result = plain(own, *args)
            _take_down(self.bound, own, own.getsockname())  # the system chooses a port if asked for 0
            return result

        return bind

    def _reaching(self, plain: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(plain)
        def reach(own: socket.socket, *args: Any) -> Any:
            if args:
                _take_down(self.reached, own, args[-1])
            return plain(own, *args)

        return reach


def _take_down(places: set[str], own: socket.socket, address: Any) -> None:
    if own.family in {socket.AF_INET, socket.AF_INET6} and isinstance(address, tuple) and len(address) > 1:
        places.add(f"port {address[1]}")
    elif own.family == socket.AF_UNIX and address:
        places.add(address if isinstance(address, str) else bytes(address).decode(errors="replace"))
