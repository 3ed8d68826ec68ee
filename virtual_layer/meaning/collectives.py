"""Collective calls on buffers: blocking, nonblocking, persistent; v- and w-variants; neighbourhood collectives.

Those on intercommunicators are composed of others (:mod:`.across`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clue.trace.ops import NO_REQUEST, Flag, Op
from virtual_layer.communicators import RecordedComm
from virtual_layer.meaning.across import composed
from virtual_layer.meaning.arguments import (
    Arguments,
    Keywords,
    argument,
    block_size,
    block_sizes,
    element_size,
    in_place,
    operation_flags,
    typed_block_sizes,
)
from virtual_layer.meaning.point_to_point import Describe, persistent, unmodelled
from virtual_layer.meaning.share import Share
from virtual_layer.recorder import Recorder
from virtual_layer.requests import RecordedRequest

#: Size, bytes, of a count that mpi4py gathers (MPI_COUNT).
_COUNT_BYTES = 8
#: Reads a call: from (MPI, communicator, arguments) to this rank's share.
Reader = Callable[[Any, RecordedComm, Arguments, Keywords], Share]
#: Returns, from (MPI, message, communicator), the bytes of this rank's block of a message with a block for each rank.
Own = Callable[[Any, Any, RecordedComm], int]

_NONBLOCKING, _STARTED = int(Flag.NONBLOCKING), int(Flag.NONBLOCKING | Flag.PERSISTENT)
_IN_PLACE, _BLOCK = int(Flag.IN_PLACE), int(Flag.BLOCK)
_SEND, _RECEIVE, _OPERATION = argument(1, "sendbuf"), argument(2, "recvbuf"), argument(3, "op")


def barrier(_mpi: Any, _comm: RecordedComm, _args: Arguments, _kwargs: Keywords) -> Share:
    """Read a barrier."""
    return Share(Op.BARRIER)


def bcast(mpi: Any, _comm: RecordedComm, args: Arguments, kwargs: Keywords) -> Share:
    """Read a broadcast: its payload."""
    message, root = argument(1, "buf")(args, kwargs), argument(2, "root", 0)(args, kwargs)
    if root == mpi.PROC_NULL:
        return Share(Op.BCAST, root)
    return Share(Op.BCAST, root, block_size(mpi, message), element=element_size(mpi, message))


def _gathering(op: Op, own: Own) -> Reader:
    """Read a gather to a root: this rank's contribution."""

    def read(mpi: Any, comm: RecordedComm, args: Arguments, kwargs: Keywords) -> Share:
        root = argument(3, "root", 0)(args, kwargs)
        return Share(op, root, 0 if _gives_nothing(mpi, root) else _contribution(mpi, comm, args, kwargs, own))

    return read


def _gives_nothing(mpi: Any, root: int) -> bool:
    """Tell whether a rank has no data of its own in a rooted collective: it is in the root's group of two."""
    return root in {mpi.ROOT, mpi.PROC_NULL}


def _scattering(op: Op, own: Own) -> Reader:
    """Read a scatter: the block this rank receives."""

    def read(mpi: Any, comm: RecordedComm, args: Arguments, kwargs: Keywords) -> Share:
        received, root = _RECEIVE(args, kwargs), argument(3, "root", 0)(args, kwargs)
        if _gives_nothing(mpi, root):
            return Share(op, root)
        size = own(mpi, _SEND(args, kwargs), comm) if in_place(mpi, received) else block_size(mpi, received)
        return Share(op, root, size)

    return read


def _allgathering(op: Op, own: Own) -> Reader:
    """Read an allgather: this rank's contribution."""

    def read(mpi: Any, comm: RecordedComm, args: Arguments, kwargs: Keywords) -> Share:
        return Share(op, 0, _contribution(mpi, comm, args, kwargs, own), flags=_placed(mpi, args, kwargs))

    return read


def _equal(mpi: Any, message: Any, comm: RecordedComm) -> int:
    return block_size(mpi, message, len(comm.peers))


def _different(mpi: Any, message: Any, comm: RecordedComm) -> int:
    return block_sizes(mpi, message, len(comm.peers))[comm.rank]


gather, gatherv = _gathering(Op.GATHER, _equal), _gathering(Op.GATHERV, _different)
scatter, scatterv = _scattering(Op.SCATTER, _equal), _scattering(Op.SCATTERV, _different)
allgather, allgatherv = _allgathering(Op.ALLGATHER, _equal), _allgathering(Op.ALLGATHERV, _different)


def alltoall(mpi: Any, comm: RecordedComm, args: Arguments, kwargs: Keywords) -> Share:
    """Read an alltoall: the block to each rank."""
    size = block_size(mpi, _whichever(mpi, args, kwargs), len(comm.peers))
    return Share(Op.ALLTOALL, 0, size, flags=_placed(mpi, args, kwargs))


def alltoallv(mpi: Any, comm: RecordedComm, args: Arguments, kwargs: Keywords) -> Share:
    """Read an alltoall of different sizes: the sizes to all ranks."""
    sizes = block_sizes(mpi, _whichever(mpi, args, kwargs), len(comm.peers))
    return Share(Op.ALLTOALLV, 0, sum(sizes), sizes, _placed(mpi, args, kwargs))


def alltoallw(mpi: Any, comm: RecordedComm, args: Arguments, kwargs: Keywords) -> Share:
    """Read an alltoall of different sizes and types: the sizes to all ranks."""
    sizes = typed_block_sizes(_whichever(mpi, args, kwargs), len(comm.peers))
    return Share(Op.ALLTOALLV, 0, sum(sizes), sizes, _placed(mpi, args, kwargs))


def reduce(mpi: Any, _comm: RecordedComm, args: Arguments, kwargs: Keywords) -> Share:
    """Read a reduction to a root: one rank's vector."""
    root = argument(4, "root", 0)(args, kwargs)
    if root == mpi.PROC_NULL:
        return Share(Op.REDUCE, root)
    return _reduction(mpi, Op.REDUCE, root, args, kwargs)


def _reduction(mpi: Any, op: Op, root: int, args: Arguments, kwargs: Keywords) -> Share:
    """Read a reduction of one vector of each rank."""
    message = _whichever(mpi, args, kwargs)
    flags = _placed(mpi, args, kwargs) | operation_flags(mpi, _OPERATION(args, kwargs))
    return Share(op, root, block_size(mpi, message), (), flags, element_size(mpi, message))


def _vector(op: Op) -> Reader:
    def read(mpi: Any, _comm: RecordedComm, args: Arguments, kwargs: Keywords) -> Share:
        return _reduction(mpi, op, 0, args, kwargs)

    return read


allreduce, scan, exscan = _vector(Op.ALLREDUCE), _vector(Op.SCAN), _vector(Op.EXSCAN)


def reduce_scatter_block(mpi: Any, comm: RecordedComm, args: Arguments, kwargs: Keywords) -> Share:
    """Read a reduction scattered in equal blocks: the block this rank receives."""
    if comm.remote is not None:
        return _whole(mpi, args, kwargs)
    received, placed = _RECEIVE(args, kwargs), _placed(mpi, args, kwargs)
    size = block_size(mpi, received, len(comm.peers) if placed else 1)
    flags = placed | _BLOCK | operation_flags(mpi, _OPERATION(args, kwargs))
    return Share(Op.REDUCE_SCATTER, 0, size, (), flags, element_size(mpi, received))


def reduce_scatter(mpi: Any, comm: RecordedComm, args: Arguments, kwargs: Keywords) -> Share:
    """Read a reduction scattered in blocks: the block this rank receives."""
    if comm.remote is not None:
        return _whole(mpi, args, kwargs)
    received, counts = _RECEIVE(args, kwargs), argument(3, "recvcounts")(args, kwargs)
    size, placed = block_size(mpi, received), _placed(mpi, args, kwargs)
    if placed and counts is not None:
        size = size * int(counts[comm.rank]) // max(sum(map(int, counts)), 1)
    flags = placed | operation_flags(mpi, argument(4, "op")(args, kwargs))
    return Share(Op.REDUCE_SCATTER, 0, size, (), flags, element_size(mpi, received))


def _whole(mpi: Any, args: Arguments, kwargs: Keywords) -> Share:
    """Read a reduction to blocks on an intercommunicator: each member of the other group needs the whole vector."""
    return Share(Op.REDUCE_SCATTER, 0, block_size(mpi, _SEND(args, kwargs)))


def neighbor_allgather(mpi: Any, comm: RecordedComm, args: Arguments, kwargs: Keywords) -> Share:
    """Read a neighbourhood allgather: the same contribution to every destination."""
    sources, destinations = neighbors(comm, args[0])
    size = block_size(mpi, _SEND(args, kwargs))
    return neighborhood(sources, destinations, [size] * len(destinations))


def neighbor_alltoall(mpi: Any, comm: RecordedComm, args: Arguments, kwargs: Keywords) -> Share:
    """Read a neighbourhood alltoall: the block to each destination."""
    sources, destinations = neighbors(comm, args[0])
    size = block_size(mpi, _SEND(args, kwargs), max(len(destinations), 1))
    return neighborhood(sources, destinations, [size] * len(destinations))


def neighbor_alltoallv(mpi: Any, comm: RecordedComm, args: Arguments, kwargs: Keywords) -> Share:
    """Read a neighbourhood alltoall of different sizes."""
    sources, destinations = neighbors(comm, args[0])
    sizes = block_sizes(mpi, _SEND(args, kwargs), len(destinations)) if destinations else []
    return neighborhood(sources, destinations, sizes)


def neighbor_alltoallw(_mpi: Any, comm: RecordedComm, args: Arguments, kwargs: Keywords) -> Share:
    """Read a neighbourhood alltoall of different sizes and types."""
    sources, destinations = neighbors(comm, args[0])
    return neighborhood(sources, destinations, typed_block_sizes(_SEND(args, kwargs), len(destinations)))


def neighborhood(sources: list[int], destinations: list[int], sizes: list[int]) -> Share:
    """Return a neighbourhood collective; null neighbours take no part."""
    sends = [(dest, size) for dest, size in zip(destinations, sizes, strict=True) if dest >= 0]
    sources = [source for source in sources if source >= 0]
    listed = [len(sends), *(dest for dest, _ in sends), *(size for _, size in sends), len(sources), *sources]
    return Share(Op.NEIGHBOR, 0, sum(size for _, size in sends), listed)


def neighbors(comm: RecordedComm, handle: Any) -> tuple[list[int], list[int]]:
    """Return the sources and destinations of this rank in a topology."""
    if comm.neighbors is None:
        sources, destinations = handle.inoutedges
        comm.neighbors = list(sources), list(destinations)
    return comm.neighbors


def blocking(read: Reader) -> Describe:
    """Describe a blocking collective."""

    def describe(recorder: Recorder, _result: Any, args: Arguments, kwargs: Keywords, _memo: Any) -> None:
        comm = recorder.comms[args[0].handle]
        if not comm.known:
            recorder.other()
        elif not take_part(recorder, comm, read(recorder.mpi, comm, args, kwargs)):
            recorder.emit(Op.LOCAL)

    return describe


def counted(describe: Describe) -> Describe:
    """Describe a Reduce_scatter of any kind: without counts, mpi4py gathers them first, by a blocking call."""

    def describe_counted(recorder: Recorder, result: Any, args: Arguments, kwargs: Keywords, memo: Any) -> None:
        comm = recorder.comms[args[0].handle]
        given = argument(3, "recvcounts")(args, kwargs) is not None or in_place(recorder.mpi, _SEND(args, kwargs))
        if comm.known and not given:
            take_part(recorder, comm, Share(Op.ALLGATHER, 0, _COUNT_BYTES))
        describe(recorder, result, args, kwargs, memo)

    return describe_counted


def nonblocking(read: Reader) -> Describe:
    """Describe a nonblocking collective."""

    def describe(recorder: Recorder, result: Any, args: Arguments, kwargs: Keywords, _memo: Any) -> None:
        comm = recorder.comms[args[0].handle]
        if not comm.known:
            return unmodelled(recorder, result)
        serial = recorder.requests.serial()
        begun = take_part(recorder, comm, read(recorder.mpi, comm, args, kwargs), _NONBLOCKING, serial)
        if not begun:
            recorder.emit(Op.LOCAL)
        recorder.requests.add(result, RecordedRequest(result.handle, (serial,) if begun else ()))
        return None

    return describe


def prepared(read: Reader) -> Describe:
    """Describe the set-up of a persistent collective."""

    def describe(recorder: Recorder, result: Any, args: Arguments, kwargs: Keywords, _memo: Any) -> None:
        comm = recorder.comms[args[0].handle]
        if not comm.known:
            persistent(recorder, result, None)
            return
        share = read(recorder.mpi, comm, args, kwargs)

        def start(pending: RecordedRequest) -> None:
            serial = recorder.requests.serial()
            begun = take_part(recorder, comm, share, _STARTED, serial)
            pending.serials = (serial,) if begun else ()
            if not begun:
                recorder.emit(Op.LOCAL)

        persistent(recorder, result, start)

    return describe


def take_part(recorder: Recorder, comm: RecordedComm, share: Share, flags: int = 0, request: int = NO_REQUEST) -> bool:
    """Write a collective, wherever it takes place; tell whether this rank has a part in it."""
    found = composed(recorder, comm, share)
    if found is not None:
        emit(recorder, *found, flags, request)
    return found is not None


def emit(recorder: Recorder, comm: RecordedComm, share: Share, flags: int = 0, request: int = NO_REQUEST) -> None:
    """Write a collective."""
    op, root, nbytes, listed, manner, element = share
    recorder.emit(op, comm.index, root, element, nbytes, flags | manner, request, listed)


def _placed(mpi: Any, args: Arguments, kwargs: Keywords) -> int:
    """Return the flag of a call whose send buffer is IN_PLACE."""
    return _IN_PLACE if in_place(mpi, _SEND(args, kwargs)) else 0


def _whichever(mpi: Any, args: Arguments, kwargs: Keywords) -> Any:
    sent = _SEND(args, kwargs)
    return _RECEIVE(args, kwargs) if in_place(mpi, sent) else sent


def _contribution(mpi: Any, comm: RecordedComm, args: Arguments, kwargs: Keywords, own: Own) -> int:
    sent = _SEND(args, kwargs)
    return own(mpi, _RECEIVE(args, kwargs), comm) if in_place(mpi, sent) else block_size(mpi, sent)
