"""Collectives on buffers in a rank process that move data: from, to and among all ranks, with v- and w-variants.

The kernel advances time according to the machine's algorithm and delivers the data. Collectives on intercommunicators
are composed of collectives on private intracommunicators (:mod:`.meeting`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clue.trace.ops import PROC_NULL, Op
from virtual_layer.meaning.arguments import element_size, in_place
from virtual_layer.substitutes.blocks import BlockForm
from virtual_layer.substitutes.contributions import (
    Contribution,
    Deliver,
    Reader,
    place_of,
    placed,
    take_nothing,
    ways,
)
from virtual_layer.substitutes.factories import Factory
from virtual_layer.substitutes.meeting import meeting

if TYPE_CHECKING:
    from virtual_layer.substitutes.comms import LiveComm
    from virtual_layer.substitutes.layer import Layer

_EQUAL, _VECTOR, _TYPED = BlockForm.EQUAL, BlockForm.VECTOR, BlockForm.TYPED


def _barrier(layer: Layer, comm: LiveComm) -> Contribution:
    return Contribution(meeting(layer, comm).comm, Op.BARRIER, deliver=take_nothing)


def _absent(comm: LiveComm, blocks: list[Any], absent: Any) -> list[Any]:
    """Add the block of the root in an intercommunicator's collective, which contributes and receives nothing."""
    return blocks if comm.remote is None else [absent, *blocks]


def _bcast(layer: Layer, comm: LiveComm, buf: Any, root: int = 0) -> Contribution | None:
    found = place_of(layer, comm, root)
    if found is None:
        return None
    place, at = found
    part = Contribution(place, Op.BCAST, at, layer.blocks.size(buf), element=element_size(layer.mpi, buf))
    if place.rank == at:
        return part._replace(payload=layer.blocks.pack(buf, len(place.group) - 1))
    return part._replace(deliver=lambda answer: layer.blocks.unpack(buf, answer))


def _gathering(form: BlockForm) -> Reader:
    def read(layer: Layer, comm: LiveComm, sendbuf: Any, recvbuf: Any, root: int = 0) -> Contribution | None:
        found = place_of(layer, comm, root)
        if found is None:
            return None
        place, at = found
        op = Op.GATHER if form is _EQUAL and comm.remote is None else Op.GATHERV
        if place.rank != at:
            return Contribution(place, op, at, layer.blocks.size(sendbuf), payload=layer.blocks.pack(sendbuf))
        count = len(comm.peers)
        sizes = layer.blocks.sizes(recvbuf, count, form)
        mine = None if comm.remote is not None else _contribution(layer, comm, sendbuf, recvbuf, form)
        nbytes = 0 if comm.remote is not None else sizes[comm.rank]
        entries = () if op == Op.GATHER else _absent(comm, sizes, 0)

        def deliver(answer: list[Any]) -> None:
            layer.blocks.join(recvbuf, answer[-count:], form)

        return Contribution(place, op, at, nbytes, entries, mine, deliver)

    return read


def _contribution(
    layer: Layer, comm: LiveComm, sendbuf: Any, recvbuf: Any, form: BlockForm = _EQUAL, readers: int = 1
) -> Any:
    """Pack a member's contribution to a gather: its send buffer, or its own block of the receive buffer."""
    if in_place(layer.mpi, sendbuf):
        return layer.blocks.own(recvbuf, len(comm.group), comm.rank, form, readers)
    return layer.blocks.pack(sendbuf, readers)


def _scattering(form: BlockForm) -> Reader:
    def read(layer: Layer, comm: LiveComm, sendbuf: Any, recvbuf: Any, root: int = 0) -> Contribution | None:
        found = place_of(layer, comm, root)
        if found is None:
            return None
        place, at = found
        op = Op.SCATTER if form is _EQUAL and comm.remote is None else Op.SCATTERV
        if place.rank != at:
            size = layer.blocks.size(recvbuf)
            return Contribution(place, op, at, size, deliver=lambda answer: layer.blocks.unpack(recvbuf, answer))
        count = len(comm.peers)
        sizes = layer.blocks.sizes(sendbuf, count, form)
        blocks = layer.blocks.split(sendbuf, count, form)
        entries = () if op == Op.SCATTER else _absent(comm, sizes, 0)
        if comm.remote is not None:
            return Contribution(place, op, at, 0, entries, [None, *blocks], take_nothing)

        def deliver(answer: Any) -> None:
            if in_place(layer.mpi, recvbuf):
                layer.port.release(answer)
            else:
                layer.blocks.unpack(recvbuf, answer)

        return Contribution(place, op, at, sizes[at], entries, blocks, deliver)

    return read


def _allgathering(form: BlockForm) -> Reader:
    def read(layer: Layer, comm: LiveComm, sendbuf: Any, recvbuf: Any) -> Contribution:
        if comm.remote is not None:
            sent = layer.blocks.pack_inline(sendbuf)
            return _exchange(layer, comm, [sent] * len(comm.remote), recvbuf, form)
        count = len(comm.group)
        mine = _contribution(layer, comm, sendbuf, recvbuf, form, count)
        sizes = layer.blocks.sizes(recvbuf, count, form)
        op, entries = (Op.ALLGATHER, ()) if form is _EQUAL else (Op.ALLGATHERV, sizes)

        def deliver(answer: list[Any]) -> None:
            layer.blocks.join(recvbuf, answer, form)

        return Contribution(
            comm, op, PROC_NULL, sizes[comm.rank], entries, mine, deliver, placed(layer, sendbuf)
        )  # fmt: skip

    return read


def _exchange(layer: Layer, comm: LiveComm, sent: list[Any], recvbuf: Any, form: BlockForm) -> Contribution:
    """Send a block to each member of the other group of an intercommunicator."""
    assert comm.remote is not None
    sizes = layer.blocks.sizes(recvbuf, len(comm.remote), form)
    return across(layer, comm, sent, sizes, lambda blocks: layer.blocks.join(recvbuf, blocks, form))


def across(layer: Layer, comm: LiveComm, sent: list[Any], sizes: list[int], deliver: Deliver) -> Contribution:
    """Exchange blocks between the two groups; ``sizes`` are those of the incoming blocks, by remote member."""
    place = meeting(layer, comm)
    total = len(place.comm.group)
    payload: list[Any] = [None] * total
    entries = [0] * (2 * total)
    for at, block, size in zip(place.remote, sent, sizes, strict=True):
        payload[at] = block
        entries[at], entries[total + at] = len(layer.port.view(block)), size
    nbytes = sum(entries[:total]) // total
    return Contribution(
        place.comm, Op.ALLTOALLV, PROC_NULL, nbytes, entries, payload,
        lambda answer: deliver([answer[at] for at in place.remote]),
    )  # fmt: skip


def _total_exchange(form: BlockForm) -> Reader:
    def read(layer: Layer, comm: LiveComm, sendbuf: Any, recvbuf: Any) -> Contribution:
        count = len(comm.peers)
        flags = placed(layer, sendbuf) if comm.remote is None else 0
        sent = recvbuf if flags else sendbuf
        blocks = layer.blocks.split(sent, count, form)
        if comm.remote is not None:
            return _exchange(layer, comm, blocks, recvbuf, form)
        sizes = layer.blocks.sizes(sent, count, form)

        def deliver(answer: list[Any]) -> None:
            layer.blocks.join(recvbuf, answer, form)

        if form is _EQUAL:
            return Contribution(comm, Op.ALLTOALL, PROC_NULL, sizes[0], (), blocks, deliver, flags)
        entries = [*sizes, *layer.blocks.sizes(recvbuf, count, form)]
        return Contribution(comm, Op.ALLTOALLV, PROC_NULL, sum(sizes) // count, entries, blocks, deliver, flags)

    return read


_READERS: dict[str, Reader] = {
    "Barrier": _barrier,
    "Bcast": _bcast,
    "Gather": _gathering(_EQUAL),
    "Gatherv": _gathering(_VECTOR),
    "Scatter": _scattering(_EQUAL),
    "Scatterv": _scattering(_VECTOR),
    "Allgather": _allgathering(_EQUAL),
    "Allgatherv": _allgathering(_VECTOR),
    "Alltoall": _total_exchange(_EQUAL),
    "Alltoallv": _total_exchange(_VECTOR),
    "Alltoallw": _total_exchange(_TYPED),
}
CALLS: dict[tuple[str, str], Factory] = ways("Comm", _READERS)
