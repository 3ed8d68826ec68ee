"""Messages from rank to rank: sends and receives of buffers and of objects, probes, and who this rank is.

The real library does the packing: a send goes to this process itself and is taken in as bytes; bytes that arrive
are sent to this process itself, where a real receive with the program's own buffer takes them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from clue.trace.ops import ANY, Flag, Op

if TYPE_CHECKING:
    from virtual_layer.live.layer import Layer, LiveComm

Function = Callable[..., Any]
_SEND, _RECV = int(Op.SEND), int(Op.RECV)


def rank_of(layer: Layer, original: Function) -> Function:
    """Make ``Get_rank`` and ``rank`` return the virtual rank."""
    comms = layer.comms

    def substitute(self: Any, *_: Any) -> Any:
        known = comms.get(self.handle)
        return original(self) if known is None else known.rank

    return substitute


def size_of(layer: Layer, original: Function) -> Function:
    """Make ``Get_size`` and ``size`` return the virtual size."""
    comms = layer.comms

    def substitute(self: Any, *_: Any) -> Any:
        known = comms.get(self.handle)
        return original(self) if known is None else len(known.group)

    return substitute


def remote_size_of(layer: Layer, original: Function) -> Function:
    """Make ``Get_remote_size`` and ``remote_size`` return the virtual size of the remote group."""
    comms = layer.comms

    def substitute(self: Any, *_: Any) -> Any:
        known = comms.get(self.handle)
        return original(self) if known is None or known.remote is None else len(known.remote)

    return substitute


def send(flags: int = 0) -> Callable[[Layer, Function], Function]:
    """Make a blocking send of a buffer."""

    def make(layer: Layer, original: Function) -> Function:
        comms, port, parcels = layer.comms, layer.port, layer.parcels
        isend = layer.original("Comm", "Isend")

        def substitute(self: Any, buf: Any, dest: int, tag: int = 0) -> None:
            known = comms.get(self.handle)
            if known is None or not 0 <= dest < len(known.peers) or tag < 0:
                original(self, buf, _wrong(dest), tag)
                return
            payload, length = layer.collect(isend(parcels, buf, 0, 0))
            port.tell(
                _SEND,
                peer=known.peers[dest],
                tag=tag,
                context=known.context,
                nbytes=length,
                flags=flags,
                payload=payload,
            )

        return substitute

    return make


def recv(layer: Layer, original: Function) -> Function:
    """Make ``Recv``."""
    comms, port = layer.comms, layer.port
    any_source, any_tag = layer.mpi.ANY_SOURCE, layer.mpi.ANY_TAG

    def substitute(self: Any, buf: Any, source: int = any_source, tag: int = any_tag, status: Any = None) -> None:
        known = comms.get(self.handle)
        if known is None or not (source == any_source or 0 <= source < len(known.peers)):
            original(self, buf, _wrong(source), tag, status)
            return
        peer = ANY if source == any_source else known.peers[source]
        answer = port.ask(_RECV, peer=peer, tag=ANY if tag == any_tag else tag, context=known.context)
        receive(layer, original, self, known, buf, answer, status)

    return substitute


def receive(  # noqa: PLR0917
    layer: Layer, original: Function, comm: Any, known: LiveComm, buf: Any, answer: Any, status: Any
) -> Any:
    """Let a real receive take what has arrived, and say in its status whence."""
    source, tag, payload = answer
    real_tag = known.next_tag()
    sent = layer.inject(comm, real_tag, payload)
    try:
        return original(comm, buf, 0, real_tag, status)
    finally:
        layer.settle(sent, payload)
        if status is not None:
            status.Set_source(known.source(source))
            status.Set_tag(tag)


def _wrong(rank: int) -> int:
    """Return a rank that the real library refuses or treats as null, where the virtual one is such."""
    return rank if rank < 0 else rank + 1


QUERIES = {
    ("Comm", "Get_rank"): rank_of,
    ("Comm", "rank"): rank_of,
    ("Comm", "Get_size"): size_of,
    ("Comm", "size"): size_of,
    ("Intercomm", "Get_remote_size"): remote_size_of,
    ("Intercomm", "remote_size"): remote_size_of,
}
CALLS = {
    ("Comm", "Send"): send(),
    ("Comm", "Bsend"): send(int(Flag.BUFFERED)),
    ("Comm", "Ssend"): send(int(Flag.SYNCHRONOUS)),
    ("Comm", "Rsend"): send(int(Flag.READY)),
    ("Comm", "Recv"): recv,
}
