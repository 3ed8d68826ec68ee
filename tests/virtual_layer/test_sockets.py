"""Traffic by sockets between ranks is not recorded, and a note says so."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from clue.trace import Trace
from clue.trace.notes import socket_notes
from tests.busy import of_the_program
from virtual_layer.sockets import Sockets

Recorded = Callable[..., Trace]
Address = Any


@pytest.fixture
def sockets() -> Iterator[Sockets]:
    """Yield a watch of the sockets of this process during a test."""
    names = ("bind", "connect", "connect_ex", "sendto")
    watched = Sockets()
    watched.watch()
    yield watched
    for name in names:
        delattr(socket.socket, name)  # the inherited methods become visible again


def _ask(address: Address) -> None:
    async def ask() -> None:
        _, writer = await asyncio.open_connection(*address)
        writer.close()

    asyncio.run(ask())


def _send(address: Address) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
        own.sendto(b"x", address)
        own.sendto(b"x", 0, address)


def _connect(address: Address) -> None:
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    with socket.socket(family) as own:
        own.connect(address)


def _try(address: Address) -> None:
    with socket.socket() as own:
        assert own.connect_ex(address) == 0


def _create(address: Address) -> None:
    socket.create_connection(address).close()


@pytest.mark.parametrize("reach", [_connect, _try, _create, _ask])
def test_ports_are_taken_down(sockets: Sockets, reach: Callable[[Address], None]) -> None:
    """The port that the system chose is noted, however a connection to it is made."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = f"port {server.getsockname()[1]}"
        assert sockets.facts() == ((port,), ())
        reach(server.getsockname())
    assert sockets.facts() == ((port,), (port,))


def test_datagrams_and_files_are_taken_down(sockets: Sockets, tmp_path: Path) -> None:
    """UDP ports and Unix sockets are noted, with paths given as text or bytes."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        port = f"port {server.getsockname()[1]}"
        _send(server.getsockname())
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s").encode())
        server.listen()
        _connect(str(tmp_path / "s"))
    assert sockets.facts() == (tuple(sorted([port, str(tmp_path / "s")])),) * 2


def test_what_has_no_address_is_not(sockets: Sockets) -> None:
    """A socket pair has no address and is not noted; a refused connection is."""
    near, far = socket.socketpair()
    far.sendall(b"x")
    assert near.recv(1) == b"x"
    with socket.socket() as own, pytest.raises(TypeError):
        own.connect()  # type: ignore[call-arg]
    with socket.socket() as own:
        assert own.connect_ex(("127.0.0.1", 1)) != 0
    assert sockets.facts() == ((), ("port 1",))
    near.close()
    far.close()


def test_ranks_that_talk_are_noted(recorded: Recorded) -> None:
    """Rank 1 connects to a server of rank 0 and is noted; rank 2, which connects to its own server, is not."""
    text = """
        import socket
        own = socket.create_server(("127.0.0.1", 0))
        if rank == 2:
            socket.create_connection(own.getsockname())
        where = comm.bcast(own.getsockname())
        if rank == 1:
            socket.create_connection(where)
        comm.Barrier()
        """
    (note,) = of_the_program(recorded(text, ranks=3).head.notes)
    (said,) = socket_notes([(["port 7"], []), ([], ["port 7"])])
    assert note.rpartition(" at ")[0] == said.rpartition(" at ")[0]
    assert "(rank 1 with rank 0 at port " in note
