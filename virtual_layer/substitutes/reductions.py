"""Reductions of buffers in a rank process: to a root, to all, in blocks, of prefixes.

The real operations combine the members' data in the order of ranks, so that noncommutative operations are correct.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from clue.trace.calls import LiveOp
from clue.trace.ops import PROC_NULL, Flag, Op
from virtual_layer.meaning.arguments import element_size, in_place, operation_flags
from virtual_layer.substitutes.blocks import all_blocks
from virtual_layer.substitutes.collectives import across
from virtual_layer.substitutes.contributions import Contribution, Reader, ask, persistent, place_of, placed, ways
from virtual_layer.substitutes.factories import Factory
from virtual_layer.substitutes.meeting import alone, meeting

if TYPE_CHECKING:
    from virtual_layer.substitutes.comms import LiveComm
    from virtual_layer.substitutes.layer import Layer

#: Size, bytes, of a count that mpi4py sends (MPI_COUNT).
_COUNT_BYTES = 8
_BLOCK = int(Flag.BLOCK)


def _operation(layer: Layer, op: Any) -> Any:
    return layer.mpi.SUM if op is None else op


def _vector(layer: Layer, name: str, sendbuf: Any, recvbuf: Any, op: Any) -> tuple[Any, Any]:
    """Return a member's buffer for a reduction, and its datatype; the two buffers must agree."""
    mpi, blocks = layer.mpi, layer.blocks
    if in_place(mpi, sendbuf):
        return recvbuf, blocks.kind(recvbuf)
    kind = blocks.kind(sendbuf)
    if recvbuf is not None and (blocks.kind(recvbuf) != kind or blocks.size(recvbuf) != blocks.size(sendbuf)):
        layer.original("Comm" if name in mpi.Comm.__dict__ else "Intracomm", name)(mpi.COMM_SELF, sendbuf, recvbuf, op)
    return sendbuf, kind


def _reduce(
    layer: Layer, comm: LiveComm, sendbuf: Any, recvbuf: Any, op: Any = None, root: int = 0
) -> Contribution | None:
    found = place_of(layer, comm, root)
    if found is None:
        return None
    (place, at), op = found, _operation(layer, op)
    flags = operation_flags(layer.mpi, op)
    if place.rank != at:
        element, mine = element_size(layer.mpi, sendbuf), layer.blocks.pack(sendbuf)
        return Contribution(place, Op.REDUCE, at, layer.blocks.size(sendbuf), (), mine, None, flags, element)
    if comm.remote is not None:
        sent, kind = None, layer.blocks.kind(recvbuf)
    else:
        sent, kind = _vector(layer, "Reduce", sendbuf, recvbuf, op)
    mine = None if sent is None else layer.blocks.pack(sent)
    count, flags = len(comm.peers), flags | placed(layer, sendbuf)

    def deliver(answer: list[Any]) -> None:
        layer.blocks.unpack(recvbuf, combine(layer, op, kind, answer[-count:]))

    element = element_size(layer.mpi, recvbuf)
    return Contribution(place, Op.REDUCE, at, layer.blocks.size(recvbuf), (), mine, deliver, flags, element)


def combine(layer: Layer, op: Any, kind: Any, payloads: Sequence[Any]) -> bytearray:
    """Reduce payloads in their order, and release them."""
    folded: bytearray = layer.blocks.fold(op, kind, [layer.port.view(payload) for payload in payloads])
    for payload in payloads:
        layer.port.release(payload)
    return folded


def finish(layer: Layer, comm: LiveComm, op: Any, kind: Any, answer: tuple[int, Any, list[Any]], readers: int) -> Any:
    """Complete the reduction of an answer; tell its result to the kernel, for ``readers`` others, and return it."""
    serial, result, rest = answer
    if not rest:
        return result
    folded = combine(layer, op, kind, rest if result is None else [result, *rest])
    told = layer.blocks.payload(folded, readers) if readers else folded
    layer.port.tell(int(LiveOp.RESULT), context=comm.context, request=serial, payload=told)
    return folded


def _allreduce(layer: Layer, comm: LiveComm, sendbuf: Any, recvbuf: Any, op: Any = None) -> Contribution:
    op = _operation(layer, op)
    if comm.remote is not None:
        return _reduce_across(layer, comm, sendbuf, recvbuf, op, None)
    sent, kind = _vector(layer, "Allreduce", sendbuf, recvbuf, op)
    others = len(comm.group) - 1

    def deliver(answer: tuple[int, Any, list[Any]]) -> None:
        layer.blocks.unpack(recvbuf, finish(layer, comm, op, kind, answer, others))

    mine, size, element = layer.blocks.pack(sent), layer.blocks.size(sent), element_size(layer.mpi, sent)
    flags = placed(layer, sendbuf) | operation_flags(layer.mpi, op)
    return Contribution(comm, Op.ALLREDUCE, PROC_NULL, size, (), mine, deliver, flags, element)


def _reduce_across(
    layer: Layer, comm: LiveComm, sendbuf: Any, recvbuf: Any, op: Any, span: tuple[int, int] | None
) -> Contribution:
    """Reduce the data of the remote group; take a span of bytes of the result, or all."""
    assert comm.remote is not None
    mine, kind = layer.blocks.pack_inline(sendbuf), layer.blocks.kind(recvbuf)
    count = len(comm.remote)

    def deliver(blocks: list[Any]) -> None:
        folded = combine(layer, op, kind, blocks)
        layer.blocks.unpack(recvbuf, folded if span is None else folded[slice(*span)])

    return across(layer, comm, [mine] * count, [len(mine)] * count, deliver)


def _scanning(name: str, code: Op) -> Reader:
    def read(layer: Layer, comm: LiveComm, sendbuf: Any, recvbuf: Any, op: Any = None) -> Contribution:
        op = _operation(layer, op)
        sent, kind = _vector(layer, name, sendbuf, recvbuf, op)
        mine = layer.blocks.pack_inline(sent)

        def deliver(answer: tuple[int, Any, list[Any]]) -> None:
            # The number of readers of a prefix is not known, so it travels with the calls.
            layer.blocks.unpack(recvbuf, finish(layer, comm, op, kind, answer, 0))

        flags = placed(layer, sendbuf) | operation_flags(layer.mpi, op)
        return Contribution(
            comm, code, PROC_NULL, len(mine), (), mine, deliver, flags, element_size(layer.mpi, sent)
        )  # fmt: skip

    return read


def _reduce_scatter_block(layer: Layer, comm: LiveComm, sendbuf: Any, recvbuf: Any, op: Any = None) -> Contribution:
    count = len(comm.group)
    if comm.remote is None and in_place(layer.mpi, sendbuf):
        size, recvbuf = layer.blocks.sizes(recvbuf, count)[0], all_blocks(layer.mpi, recvbuf, count)
    else:
        size, sendbuf = layer.blocks.size(recvbuf), all_blocks(layer.mpi, sendbuf, count)
    return _scattered(layer, comm, sendbuf, recvbuf, op, [size] * count, _BLOCK)


def _reduce_scatter(
    layer: Layer, comm: LiveComm, sendbuf: Any, recvbuf: Any, recvcounts: Any = None, op: Any = None
) -> Contribution:
    item = layer.blocks.kind(recvbuf).Get_size()
    recvcounts = _counts(layer, comm, sendbuf, recvbuf, recvcounts)
    if recvcounts is None or len(recvcounts) != len(comm.group):
        raise ValueError(f"expecting {len(comm.group)} items, got {recvcounts and len(recvcounts)}")
    counts = list(map(operator.index, recvcounts))
    given = recvbuf if comm.remote is None and in_place(layer.mpi, sendbuf) else sendbuf
    total = layer.blocks.size(given) // item if item else 0
    if total != sum(counts):
        raise ValueError(f"mismatch in send count {total} and sum(counts) {sum(counts)}")
    sizes = [count * item for count in counts]
    return _scattered(layer, comm, sendbuf, recvbuf, op, sizes)


def _counts(layer: Layer, comm: LiveComm, sendbuf: Any, recvbuf: Any, recvcounts: Any) -> Any:
    """Return the counts of a Reduce_scatter; gather them if it was not given any, as mpi4py does before it."""
    if recvcounts is not None or (comm.remote is None and in_place(layer.mpi, sendbuf)):
        return recvcounts
    item = layer.blocks.kind(recvbuf).Get_size()
    count = layer.blocks.size(recvbuf) // item if item else 0
    place = meeting(layer, comm)
    answer = ask(layer, Contribution(place.comm, Op.ALLGATHER, PROC_NULL, _COUNT_BYTES, (), count))
    return [answer[at] for at in place.local]


def _reduce_scatter_init(layer: Layer, original: Any) -> Any:
    """Make ``Reduce_scatter_init``, which gathers the counts once and not at every start."""
    prepare = persistent(_reduce_scatter)(layer, original)

    def call(self: Any, sendbuf: Any, recvbuf: Any, recvcounts: Any = None, *args: Any, **kwargs: Any) -> Any:
        comm = layer.comms.get(self.handle)
        if comm is not None and not alone(comm):
            recvcounts = _counts(layer, comm, sendbuf, recvbuf, recvcounts)
        return prepare(self, sendbuf, recvbuf, recvcounts, *args, **kwargs)

    return call


def _scattered(
    layer: Layer, comm: LiveComm, sendbuf: Any, recvbuf: Any, op: Any, sizes: list[int], flags: int = 0
) -> Contribution:
    """Read a reduction whose result is scattered in blocks."""
    op = _operation(layer, op)
    begin = sum(sizes[: comm.rank])
    span = (begin, begin + sizes[comm.rank])
    if comm.remote is not None:
        return _reduce_across(layer, comm, sendbuf, recvbuf, op, span)
    whole = in_place(layer.mpi, sendbuf)
    sent = recvbuf if whole else sendbuf
    kind = layer.blocks.kind(sent)
    if not whole and (kind != layer.blocks.kind(recvbuf) or layer.blocks.size(recvbuf) != sizes[comm.rank]):
        raise ValueError("mismatch in send and receive MPI datatypes or counts")
    size, others = layer.blocks.size(sent), len(comm.group) - 1
    if size != sum(sizes):
        raise ValueError(f"mismatch in send size {size} and sum of receive sizes {sum(sizes)}")

    def deliver(answer: tuple[int, Any, list[Any]]) -> None:
        reduced = finish(layer, comm, op, kind, answer, others)
        block = bytes(layer.port.view(reduced)[slice(*span)])
        layer.port.release(reduced)
        _fill(layer, recvbuf, block, size if whole else len(block))

    mine = layer.blocks.pack(sent)
    flags |= placed(layer, sendbuf) | operation_flags(layer.mpi, op)
    return Contribution(
        comm, Op.REDUCE_SCATTER, PROC_NULL, sizes[comm.rank], sizes, mine, deliver, flags,
        element_size(layer.mpi, sent),
    )  # fmt: skip


def _fill(layer: Layer, buffer: Any, block: bytes, room: int) -> None:
    """Unpack a block at the beginning of a buffer that may hold more."""
    if len(block) < room:
        block += bytes(layer.blocks.pack_inline(buffer)[len(block) :])
    layer.blocks.unpack(buffer, block)


_ON_COMM: dict[str, Reader] = {
    "Reduce": _reduce,
    "Allreduce": _allreduce,
    "Reduce_scatter_block": _reduce_scatter_block,
    "Reduce_scatter": _reduce_scatter,
}
_ON_INTRACOMM: dict[str, Reader] = {"Scan": _scanning("Scan", Op.SCAN), "Exscan": _scanning("Exscan", Op.EXSCAN)}

CALLS: dict[tuple[str, str], Factory] = {**ways("Comm", _ON_COMM), **ways("Intracomm", _ON_INTRACOMM)}
CALLS["Comm", "Reduce_scatter_init"] = _reduce_scatter_init
