"""Runs an application at an address until it is ended."""

from __future__ import annotations

import socket

import uvicorn
from starlette.types import ASGIApp

from clue.errors import ServeError
from clue.listening import family, refusal

#: Time for open requests when the server is ended, and time after which an idle connection is closed, s.
_PATIENCE = 2
#: Largest number of simultaneous connections.
_MOST = 64


def listener(address: str, port: int) -> socket.socket:
    """Return a socket that listens.

    Args:
        address: The IP address to listen on.
        port: The port; 0: any free one.

    Raises:
        ServeError: If it cannot listen there.
    """
    try:
        return socket.create_server((address, port), family=family(address))
    except (OSError, OverflowError) as error:
        raise ServeError(
            f"{address}:{port}: address must be one at which clue can listen, got: {refusal(error)}"
        ) from None


def run(application: ASGIApp, at: socket.socket) -> None:
    """Serve until a signal ends it.

    Raises:
        KeyboardInterrupt: When a signal has ended it; nothing else does.
    """
    config = uvicorn.Config(
        application,
        log_level="error",
        access_log=False,
        server_header=False,
        lifespan="off",
        ws="none",
        limit_concurrency=_MOST,
        timeout_keep_alive=_PATIENCE,
        timeout_graceful_shutdown=_PATIENCE,
    )
    with at:
        uvicorn.Server(config).run(sockets=[at])
