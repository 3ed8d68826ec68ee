"""Collective calls on buffers in a rank process: blocking, nonblocking (I…) and persistent (…_init); v and w.

A call is read into a :class:`Part`: what this member says to the kernel and what it does with the answer. The kernel
lets time pass as the machine's algorithm says and brings the data; the real operations combine them, in the order of
ranks. Those on intercommunicators are made of collectives on private intracommunicators (:mod:`.meeting`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, NamedTuple

from clue.trace.calls import LiveOp
from clue.trace.ops import NO_REQUEST, PROC_NULL, Flag, Op
from virtual_layer.live.blocks import Form
from virtual_layer.live.meeting import alone, meeting, rooted
from virtual_layer.meaning.arguments import in_place

if TYPE_CHECKING:
    from virtual_layer.live.layer import Layer, LiveComm

Factory = Callable[["Layer", Any], Any]
Deliver = Callable[[Any], None]

_NONBLOCKING, _STARTED = int(Flag.NONBLOCKING), int(Flag.NONBLOCKING | Flag.PERSISTENT)
_EQUAL, _VECTOR, _TYPED = Form.EQUAL, Form.VECTOR, Form.TYPED
_COUNT_BYTES = 8


class Part(NamedTuple):
    """One member's part in a collective.

    Attributes:
        comm: Where it takes place.
        op: Which one it is to the kernel.
        root: Rank of the root there.
        nbytes: As :mod:`clue.trace.ops` defines it.
        entries: Sizes of all members, where the kernel needs them.
        payload: What this member brings.
        deliver: Takes the kernel's answer; ``None`` if this member gets nothing.
    """

    comm: LiveComm
    op: int
    root: int = PROC_NULL
    nbytes: int = 0
    entries: Sequence[int] = ()
    payload: Any = None
    deliver: Deliver | None = None


#: Reads a call: from (layer, communicator, arguments) to the part of this member, ``None`` if it has none.
Reader = Callable[..., Part | None]


def say(layer: Layer, part: Part, flags: int = 0, request: int = NO_REQUEST) -> None:
    """Tell the kernel of a part whose answer comes later, or not at all."""
    layer.port.tell(
        int(part.op), peer=int(part.root), context=part.comm.context, nbytes=part.nbytes, entries=part.entries,
        payload=part.payload, flags=flags, request=request,
    )  # fmt: skip


def ask(layer: Layer, part: Part) -> Any:
    """Take part in a collective and return the kernel's answer."""
    return layer.port.ask(
        int(part.op), peer=int(part.root), context=part.comm.context, nbytes=part.nbytes, entries=part.entries,
        payload=part.payload,
    )  # fmt: skip


def _take(deliver: Deliver | None, answer: Any) -> None:
    """Take an answer, unless nothing was due to this member."""
    if deliver is not None and answer is not None:
        deliver(answer)


def _nothing(_answer: object) -> None:
    """Take an answer that says no more than that it is over."""


# -- readers: intracommunicators, and the way to those of intercommunicators ----------------------------------


def _barrier(layer: Layer, comm: LiveComm) -> Part:
    return Part(meeting(layer, comm).comm, Op.BARRIER, deliver=_nothing)


def _root(layer: Layer, comm: LiveComm, root: int) -> tuple[LiveComm, int] | None:
    """Return where a collective with a root takes place, and the root's rank there; ``None`` for those without part."""
    if comm.remote is None:
        if not 0 <= root < len(comm.group):
            raise layer.mpi.Exception(layer.mpi.ERR_ROOT)
        return comm, root
    place = rooted(layer, comm, root)
    return None if place is None else (place, 0)


def _absent(comm: LiveComm, blocks: list[Any], absent: Any) -> list[Any]:
    """Add the block of the root of an intercommunicator's collective, who brings nothing and gets nothing."""
    return blocks if comm.remote is None else [absent, *blocks]


def _bcast(layer: Layer, comm: LiveComm, buf: Any, root: int = 0) -> Part | None:
    found = _root(layer, comm, root)
    if found is None:
        return None
    place, at = found
    size = layer.blocks.size(buf)
    if place.rank == at:
        return Part(place, Op.BCAST, at, size, payload=layer.blocks.pack(buf, len(place.group) - 1))
    return Part(place, Op.BCAST, at, size, deliver=lambda answer: layer.blocks.unpack(buf, answer))


def _gathering(form: Form) -> Reader:
    def read(layer: Layer, comm: LiveComm, sendbuf: Any, recvbuf: Any, root: int = 0) -> Part | None:
        found = _root(layer, comm, root)
        if found is None:
            return None
        place, at = found
        op = Op.GATHER if form is _EQUAL and comm.remote is None else Op.GATHERV
        if place.rank != at:
            return Part(place, op, at, layer.blocks.size(sendbuf), payload=layer.blocks.pack(sendbuf))
        count = len(comm.peers)
        sizes = layer.blocks.sizes(recvbuf, count, form)
        mine = None if comm.remote is not None else _contribution(layer, comm, sendbuf, recvbuf, form)
        nbytes = 0 if comm.remote is not None else sizes[comm.rank]
        entries = () if op == Op.GATHER else _absent(comm, sizes, 0)

        def deliver(answer: list[Any]) -> None:
            layer.blocks.join(recvbuf, answer[-count:], form)

        return Part(place, op, at, nbytes, entries, mine, deliver)

    return read


def _contribution(
    layer: Layer, comm: LiveComm, sendbuf: Any, recvbuf: Any, form: Form = _EQUAL, readers: int = 1
) -> Any:
    """Pack what a member brings to a gather: its send buffer, or its own block of the receive buffer."""
    if in_place(layer.mpi, sendbuf):
        return layer.blocks.own(recvbuf, len(comm.group), comm.rank, form, readers)
    return layer.blocks.pack(sendbuf, readers)


def _scattering(form: Form) -> Reader:
    def read(layer: Layer, comm: LiveComm, sendbuf: Any, recvbuf: Any, root: int = 0) -> Part | None:
        found = _root(layer, comm, root)
        if found is None:
            return None
        place, at = found
        op = Op.SCATTER if form is _EQUAL and comm.remote is None else Op.SCATTERV
        if place.rank != at:
            size = layer.blocks.size(recvbuf)
            return Part(place, op, at, size, deliver=lambda answer: layer.blocks.unpack(recvbuf, answer))
        count = len(comm.peers)
        sizes = layer.blocks.sizes(sendbuf, count, form)
        blocks = layer.blocks.split(sendbuf, count, form)
        entries = () if op == Op.SCATTER else _absent(comm, sizes, 0)
        if comm.remote is not None:
            return Part(place, op, at, 0, entries, [None, *blocks], _nothing)

        def deliver(answer: Any) -> None:
            if in_place(layer.mpi, recvbuf):
                layer.port.release(answer)
            else:
                layer.blocks.unpack(recvbuf, answer)

        return Part(place, op, at, sizes[at], entries, blocks, deliver)

    return read


def _allgathering(form: Form) -> Reader:
    def read(layer: Layer, comm: LiveComm, sendbuf: Any, recvbuf: Any) -> Part:
        if comm.remote is not None:
            sent = layer.blocks.pack_inline(sendbuf)
            return _exchange(layer, comm, [sent] * len(comm.remote), recvbuf, form)
        count = len(comm.group)
        mine = _contribution(layer, comm, sendbuf, recvbuf, form, count)
        sizes = layer.blocks.sizes(recvbuf, count, form)
        op, entries = (Op.ALLGATHER, ()) if form is _EQUAL else (Op.ALLGATHERV, sizes)
        return Part(comm, op, PROC_NULL, sizes[comm.rank], entries, mine, lambda a: layer.blocks.join(recvbuf, a, form))

    return read


def _exchange(layer: Layer, comm: LiveComm, sent: list[Any], recvbuf: Any, form: Form) -> Part:
    """Let the two groups of an intercommunicator send a block to each member of the other."""
    assert comm.remote is not None
    sizes = layer.blocks.sizes(recvbuf, len(comm.remote), form)
    return _across(layer, comm, sent, sizes, lambda blocks: layer.blocks.join(recvbuf, blocks, form))


def _across(layer: Layer, comm: LiveComm, sent: list[Any], sizes: list[int], deliver: Deliver) -> Part:
    """Let the two groups exchange blocks; ``sizes`` are those that come, by remote member."""
    place = meeting(layer, comm)
    total = len(place.comm.group)
    payload: list[Any] = [None] * total
    entries = [0] * (2 * total)
    for at, block, size in zip(place.remote, sent, sizes, strict=True):
        payload[at] = block
        entries[at], entries[total + at] = len(layer.port.view(block)), size
    nbytes = sum(entries[:total]) // total
    return Part(
        place.comm, Op.ALLTOALLV, PROC_NULL, nbytes, entries, payload,
        lambda answer: deliver([answer[at] for at in place.remote]),
    )  # fmt: skip


def _total_exchange(form: Form) -> Reader:
    def read(layer: Layer, comm: LiveComm, sendbuf: Any, recvbuf: Any) -> Part:
        count = len(comm.peers)
        sent = recvbuf if comm.remote is None and in_place(layer.mpi, sendbuf) else sendbuf
        blocks = layer.blocks.split(sent, count, form)
        if comm.remote is not None:
            return _exchange(layer, comm, blocks, recvbuf, form)
        sizes = layer.blocks.sizes(sent, count, form)

        def deliver(answer: list[Any]) -> None:
            layer.blocks.join(recvbuf, answer, form)

        if form is _EQUAL:
            return Part(comm, Op.ALLTOALL, PROC_NULL, sizes[0], (), blocks, deliver)
        entries = [*sizes, *layer.blocks.sizes(recvbuf, count, form)]
        return Part(comm, Op.ALLTOALLV, PROC_NULL, sum(sizes) // count, entries, blocks, deliver)

    return read


# -- reductions -----------------------------------------------------------------------------------------------


def _operation(layer: Layer, op: Any) -> Any:
    return layer.mpi.SUM if op is None else op


def _vector(layer: Layer, name: str, sendbuf: Any, recvbuf: Any, op: Any) -> tuple[Any, Any]:
    """Return the buffer that a member brings to a reduction, and its datatype; the two buffers must agree."""
    mpi, blocks = layer.mpi, layer.blocks
    if in_place(mpi, sendbuf):
        return recvbuf, blocks.kind(recvbuf)
    kind = blocks.kind(sendbuf)
    if recvbuf is not None and (blocks.kind(recvbuf) != kind or blocks.size(recvbuf) != blocks.size(sendbuf)):
        layer.original("Comm" if name in mpi.Comm.__dict__ else "Intracomm", name)(mpi.COMM_SELF, sendbuf, recvbuf, op)
    return sendbuf, kind


def _reduce(layer: Layer, comm: LiveComm, sendbuf: Any, recvbuf: Any, op: Any = None, root: int = 0) -> Part | None:
    found = _root(layer, comm, root)
    if found is None:
        return None
    (place, at), op = found, _operation(layer, op)
    if place.rank != at:
        return Part(place, Op.REDUCE, at, layer.blocks.size(sendbuf), payload=layer.blocks.pack(sendbuf))
    if comm.remote is not None:
        sent, kind = None, layer.blocks.kind(recvbuf)
    else:
        sent, kind = _vector(layer, "Reduce", sendbuf, recvbuf, op)
    mine = None if sent is None else layer.blocks.pack(sent)
    count = len(comm.peers)

    def deliver(answer: list[Any]) -> None:
        layer.blocks.unpack(recvbuf, combine(layer, op, kind, answer[-count:]))

    return Part(place, Op.REDUCE, at, layer.blocks.size(recvbuf), (), mine, deliver)


def combine(layer: Layer, op: Any, kind: Any, payloads: Sequence[Any]) -> bytearray:
    """Reduce payloads in their order, and let them go."""
    folded: bytearray = layer.blocks.fold(op, kind, [layer.port.view(payload) for payload in payloads])
    for payload in payloads:
        layer.port.release(payload)
    return folded


def finish(layer: Layer, comm: LiveComm, op: Any, kind: Any, answer: tuple[int, Any, list[Any]], readers: int) -> Any:
    """Return the reduction that an answer leads to: do what is left of it and tell the kernel, for so many others."""
    serial, result, rest = answer
    if not rest:
        return result
    folded = combine(layer, op, kind, rest if result is None else [result, *rest])
    told = layer.blocks.payload(folded, readers) if readers else folded
    layer.port.tell(int(LiveOp.RESULT), context=comm.context, request=serial, payload=told)
    return folded


def _allreduce(layer: Layer, comm: LiveComm, sendbuf: Any, recvbuf: Any, op: Any = None) -> Part:
    op = _operation(layer, op)
    if comm.remote is not None:
        return _reduce_across(layer, comm, sendbuf, recvbuf, op, None)
    sent, kind = _vector(layer, "Allreduce", sendbuf, recvbuf, op)
    others = len(comm.group) - 1

    def deliver(answer: tuple[int, Any, list[Any]]) -> None:
        layer.blocks.unpack(recvbuf, finish(layer, comm, op, kind, answer, others))

    mine, size = layer.blocks.pack(sent), layer.blocks.size(sent)
    return Part(comm, Op.ALLREDUCE, PROC_NULL, size, (), mine, deliver)


def _reduce_across(
    layer: Layer, comm: LiveComm, sendbuf: Any, recvbuf: Any, op: Any, span: tuple[int, int] | None
) -> Part:
    """Reduce what the remote group brings; take a span of bytes of it, or all."""
    assert comm.remote is not None
    mine, kind = layer.blocks.pack_inline(sendbuf), layer.blocks.kind(recvbuf)
    count = len(comm.remote)

    def deliver(blocks: list[Any]) -> None:
        folded = combine(layer, op, kind, blocks)
        layer.blocks.unpack(recvbuf, folded if span is None else folded[slice(*span)])

    return _across(layer, comm, [mine] * count, [len(mine)] * count, deliver)


def _scanning(name: str, code: Op) -> Reader:
    def read(layer: Layer, comm: LiveComm, sendbuf: Any, recvbuf: Any, op: Any = None) -> Part:
        op = _operation(layer, op)
        sent, kind = _vector(layer, name, sendbuf, recvbuf, op)
        mine = layer.blocks.pack_inline(sent)

        def deliver(answer: tuple[int, Any, list[Any]]) -> None:
            # Nobody knows how many will read a prefix: it travels with the calls.
            layer.blocks.unpack(recvbuf, finish(layer, comm, op, kind, answer, 0))

        return Part(comm, code, PROC_NULL, len(mine), (), mine, deliver)

    return read


def _reduce_scatter_block(layer: Layer, comm: LiveComm, sendbuf: Any, recvbuf: Any, op: Any = None) -> Part:
    size = layer.blocks.size(recvbuf)
    if comm.remote is None and in_place(layer.mpi, sendbuf):
        size = layer.blocks.sizes(recvbuf, len(comm.group))[0]
    return _scattered(layer, comm, sendbuf, recvbuf, op, [size] * len(comm.group))


def _reduce_scatter(
    layer: Layer, comm: LiveComm, sendbuf: Any, recvbuf: Any, recvcounts: Any = None, op: Any = None
) -> Part:
    item = layer.blocks.kind(recvbuf).Get_size()
    if recvcounts is None and not (comm.remote is None and in_place(layer.mpi, sendbuf)):
        recvcounts = _gather_counts(layer, comm, layer.blocks.size(recvbuf) // item if item else 0)
    if recvcounts is None or len(recvcounts) != len(comm.group):
        raise ValueError(f"expecting {len(comm.group)} items, got {recvcounts and len(recvcounts)}")
    counts = [int(count) for count in recvcounts]
    given = recvbuf if comm.remote is None and in_place(layer.mpi, sendbuf) else sendbuf
    total = layer.blocks.size(given) // item if item else 0
    if total != sum(counts):
        raise ValueError(f"mismatch in send count {total} and sum(counts) {sum(counts)}")
    sizes = [count * item for count in counts]
    return _scattered(layer, comm, sendbuf, recvbuf, op, sizes)


def _gather_counts(layer: Layer, comm: LiveComm, count: int) -> list[int]:
    """Gather the counts that Reduce_scatter was not given, as mpi4py does before it."""
    place = meeting(layer, comm)
    answer = ask(layer, Part(place.comm, Op.ALLGATHER, PROC_NULL, _COUNT_BYTES, (), count))
    return [answer[at] for at in place.local]


def _scattered(layer: Layer, comm: LiveComm, sendbuf: Any, recvbuf: Any, op: Any, sizes: list[int]) -> Part:
    """Read a reduction of which each member gets a block."""
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
    return Part(comm, Op.REDUCE_SCATTER, PROC_NULL, sizes[comm.rank], sizes, mine, deliver)


def _fill(layer: Layer, buffer: Any, block: bytes, room: int) -> None:
    """Unpack a block at the beginning of a buffer that may hold more."""
    if len(block) < room:
        block += bytes(layer.blocks.pack_inline(buffer)[len(block) :])
    layer.blocks.unpack(buffer, block)


# -- neighbourhoods -------------------------------------------------------------------------------------------


def edges(comm: LiveComm) -> tuple[list[int], list[int]]:
    """Return sources and destinations of this rank in the topology of a communicator."""
    assert comm.shape is not None
    return comm.shape.neighbors(comm.rank)


def neighborhood(
    comm: LiveComm, payloads: Sequence[Any], sizes: Sequence[int], deliver: Callable[[list[Any]], None]
) -> Part:
    """Return the part of a neighbourhood collective: a block for each destination; null ones take no part."""
    sources, destinations = edges(comm)
    out = [(dest, size, load) for dest, size, load in zip(destinations, sizes, payloads, strict=True) if dest >= 0]
    real = [source for source in sources if source >= 0]
    listed = [len(out), *(dest for dest, _, _ in out), *(size for _, size, _ in out), len(real), *real]

    def spread(answer: list[Any] | None) -> None:
        blocks = iter([] if answer is None else answer)
        deliver([next(blocks) if source >= 0 else None for source in sources])

    nbytes = sum(size for _, size, _ in out)
    return Part(comm, Op.NEIGHBOR, PROC_NULL, nbytes, listed, [load for _, _, load in out], spread)


def _neighbor_allgathering(form: Form) -> Reader:
    def read(layer: Layer, comm: LiveComm, sendbuf: Any, recvbuf: Any) -> Part:
        degree = len(edges(comm)[1])
        blocks = [layer.blocks.pack(sendbuf) for _ in range(degree)]
        sizes = [layer.blocks.size(sendbuf)] * degree
        return neighborhood(comm, blocks, sizes, lambda answer: layer.blocks.join(recvbuf, answer, form))

    return read


def _neighbor_exchange(form: Form) -> Reader:
    def read(layer: Layer, comm: LiveComm, sendbuf: Any, recvbuf: Any) -> Part:
        degree = len(edges(comm)[1])
        blocks, sizes = layer.blocks.split(sendbuf, degree, form), layer.blocks.sizes(sendbuf, degree, form)
        return neighborhood(comm, blocks, sizes, lambda answer: layer.blocks.join(recvbuf, answer, form))

    return read


# -- the three ways to call -----------------------------------------------------------------------------------


def blocking(read: Reader) -> Factory:
    """Make the factory of a blocking collective."""

    def make(layer: Layer, original: Any) -> Any:
        @wraps(original)
        def call(self: Any, *args: Any, **kwargs: Any) -> None:
            comm = layer.comms.get(self.handle)
            if comm is None or alone(comm):
                original(self, *args, **kwargs)
                return
            part = read(layer, comm, *args, **kwargs)
            if part is None:
                return
            if part.deliver is None:
                say(layer, part)
            else:
                _take(part.deliver, ask(layer, part))

        return call

    return make


def nonblocking(read: Reader) -> Factory:
    """Make the factory of a nonblocking collective."""

    def make(layer: Layer, original: Any) -> Any:
        @wraps(original)
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            comm = layer.comms.get(self.handle)
            if comm is None or alone(comm):
                return original(self, *args, **kwargs)
            part = read(layer, comm, *args, **kwargs)
            request, serial = layer.requests.begin(None if part is None else partial(_take, part.deliver))
            if part is not None:
                say(layer, part, _NONBLOCKING, serial)
            return request

        return call

    return make


def persistent(read: Reader) -> Factory:
    """Make the factory of the set-up of a persistent collective."""

    def make(layer: Layer, original: Any) -> Any:
        @wraps(original)
        def call(self: Any, *args: Any, info: Any = None, **kwargs: Any) -> Any:
            comm = layer.comms.get(self.handle)
            if comm is None or alone(comm):
                return original(self, *args, **kwargs)
            if args and isinstance(args[-1], layer.mpi.Info):
                args = args[:-1]

            def start(serial: int) -> Deliver | None:
                part = read(layer, comm, *args, **kwargs)
                if part is None:
                    return None
                say(layer, part, _STARTED, serial)
                return partial(_take, part.deliver)

            return layer.requests.prepare(start)

        return call

    return make


_ON_COMM: dict[str, Reader] = {
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
    "Reduce": _reduce,
    "Allreduce": _allreduce,
    "Reduce_scatter_block": _reduce_scatter_block,
    "Reduce_scatter": _reduce_scatter,
}
_ON_INTRACOMM: dict[str, Reader] = {"Scan": _scanning("Scan", Op.SCAN), "Exscan": _scanning("Exscan", Op.EXSCAN)}
_ON_TOPOLOGY: dict[str, Reader] = {
    "Neighbor_allgather": _neighbor_allgathering(_EQUAL),
    "Neighbor_allgatherv": _neighbor_allgathering(_VECTOR),
    "Neighbor_alltoall": _neighbor_exchange(_EQUAL),
    "Neighbor_alltoallv": _neighbor_exchange(_VECTOR),
    "Neighbor_alltoallw": _neighbor_exchange(_TYPED),
}


def _ways(of: str, readers: dict[str, Reader]) -> dict[tuple[str, str], Factory]:
    ways: dict[tuple[str, str], Factory] = {}
    for name, read in readers.items():
        ways[of, name] = blocking(read)
        ways[of, "I" + name[0].lower() + name[1:]] = nonblocking(read)
        ways[of, name + "_init"] = persistent(read)
    return ways


#: What stands in the place of the collectives on buffers.
CALLS: dict[tuple[str, str], Factory] = {
    **_ways("Comm", _ON_COMM),
    **_ways("Intracomm", _ON_INTRACOMM),
    **_ways("Topocomm", _ON_TOPOLOGY),
}
