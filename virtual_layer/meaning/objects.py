"""Lower-case calls: pickled objects, recorded as the messages by which mpi4py sends them.

A broadcast sends a size and then the pickle; a gather gathers sizes and then pickles; a reduction is a binomial tree
of messages over a private duplicate of the communicator, each a size and a pickle. (With ``mpi4py.rc.fast_reduce``
off it is a gather, and a scatter after a scan.) The construction of that duplicate at the first reduction is not
recorded.

Pickling counts as computation before the call, and unpickling as computation after it. Along a tree, the work on
objects that arrive before the last one counts before the call, too.
"""

from __future__ import annotations

from typing import Any

from clue.trace.ops import Flag, Op
from virtual_layer.communicators import RecordedComm
from virtual_layer.meaning.across import composed, place_of
from virtual_layer.meaning.arguments import Arguments, Keywords, argument, put
from virtual_layer.meaning.collectives import emit, neighborhood, neighbors
from virtual_layer.meaning.point_to_point import Describe, Selection, exchange, matched, start_send
from virtual_layer.meaning.point_to_point import mrecv as receive_message
from virtual_layer.meaning.share import Share
from virtual_layer.pickles import Parcels
from virtual_layer.recorder import Recorder

#: Size, bytes, of the number that mpi4py sends ahead of a pickle (MPI_COUNT).
SIZE = 8
_PICKLED = int(Flag.PICKLED)
_DEST, _TAG = argument(2, "dest"), argument(3, "tag", 0)


def watch(recorder: Recorder, args: Arguments, kwargs: Keywords) -> tuple[Arguments, Keywords, Parcels]:
    """Note the sizes of pickles during the call."""
    return args, kwargs, recorder.pickles.begin()


def watch_reduction(place: int, name: str = "op") -> Any:
    """Note the sizes of pickles, and the time of the reduction itself."""
    reduction = argument(place, name)

    def prepare(recorder: Recorder, args: Arguments, kwargs: Keywords) -> tuple[Arguments, Keywords, Parcels]:
        parcels = recorder.pickles.begin()
        parcels.one_by_one = recorder.fast_reduce
        function = reduction(args, kwargs)
        function = recorder.mpi.SUM if function is None else function
        if callable(function):
            args, kwargs = put(args, kwargs, place, name, recorder.pickles.timed(function))
        return args, kwargs, parcels

    return prepare


def watch_status(select: Selection) -> Any:
    """Note the sizes of pickles, and add a status to the call."""

    def prepare(recorder: Recorder, args: Arguments, kwargs: Keywords) -> tuple[Arguments, Keywords, Any]:
        args, kwargs, wanted = select.ask(recorder, args, kwargs)
        return args, kwargs, (recorder.pickles.begin(), wanted)

    return prepare


def send(flags: int = 0) -> Describe:
    """Describe a blocking send of an object."""

    def describe(recorder: Recorder, _result: Any, args: Arguments, kwargs: Keywords, parcels: Parcels) -> None:
        comm = _sending(recorder, args, parcels)
        if not comm.known:
            return recorder.other()
        peer = recorder.peer(_DEST(args, kwargs))
        nbytes = sum(parcels.dumped)
        recorder.emit(Op.SEND, comm.index, peer, _TAG(args, kwargs), nbytes, flags | _PICKLED | comm.flags)
        return None

    return describe


def isend(flags: int = 0) -> Describe:
    """Describe a nonblocking send of an object."""

    def describe(recorder: Recorder, result: Any, args: Arguments, kwargs: Keywords, parcels: Parcels) -> None:
        comm = _sending(recorder, args, parcels)
        peer = recorder.peer(_DEST(args, kwargs))
        start_send(recorder, result, comm, peer, _TAG(args, kwargs), sum(parcels.dumped), flags | _PICKLED)

    return describe


def recv(recorder: Recorder, _result: Any, args: Arguments, _kwargs: Keywords, memo: Any) -> None:
    """Describe a blocking receive of an object."""
    parcels, wanted = memo
    comm = recorder.comms[args[0].handle]
    if not comm.known:
        return recorder.other()
    source, tag, wild = matched(recorder, wanted)
    recorder.emit(Op.RECV, comm.index, source, tag, 0, wild | _PICKLED | comm.flags)
    recorder.charge(parcels.after, later=True)
    return None


def sendrecv(recorder: Recorder, _result: Any, args: Arguments, kwargs: Keywords, memo: Any) -> None:
    """Describe a Sendrecv of objects."""
    parcels, wanted = memo
    comm = _sending(recorder, args, parcels)
    if not comm.known:
        return recorder.other()
    peer, tag = recorder.peer(_DEST(args, kwargs)), argument(3, "sendtag", 0)(args, kwargs)
    source, recvtag, wild = matched(recorder, wanted)
    exchange(recorder, comm, peer, tag, sum(parcels.dumped), source, recvtag, wild, _PICKLED)
    return None


def mrecv(recorder: Recorder, result: Any, args: Arguments, kwargs: Keywords, parcels: Parcels) -> None:
    """Describe the receive of a matched message as an object."""
    receive_message(_PICKLED)(recorder, result, args, kwargs, None)
    recorder.charge(parcels.after, later=True)


def _sending(recorder: Recorder, args: Arguments, parcels: Parcels) -> RecordedComm:
    recorder.charge(parcels.before)
    if parcels.after:
        recorder.charge(parcels.after, later=True)
    return recorder.comms[args[0].handle]


def bcast(parcels: Parcels, root: int) -> list[Share]:
    """List the collectives of which a broadcast of an object consists."""
    payload = sum(parcels.dumped) or sum(parcels.loaded)
    return [Share(Op.BCAST, root, SIZE, element=SIZE), Share(Op.BCAST, root, payload, element=1)]


def gather(parcels: Parcels, root: int) -> list[Share]:
    """List the collectives of which a gather of objects consists."""
    return [Share(Op.GATHER, root, SIZE), Share(Op.GATHERV, root, sum(parcels.dumped))]


def scatter(parcels: Parcels, root: int) -> list[Share]:
    """List the collectives of which a scatter of objects consists."""
    return [Share(Op.SCATTER, root, SIZE), Share(Op.SCATTERV, root, sum(parcels.loaded))]


def allgather(parcels: Parcels, _root: int) -> list[Share]:
    """List the collectives of which an allgather of objects consists."""
    return [Share(Op.ALLGATHER, 0, SIZE), Share(Op.ALLGATHERV, 0, sum(parcels.dumped))]


def alltoall(parcels: Parcels, _root: int) -> list[Share]:
    """List the collectives of which an alltoall of objects consists."""
    return [Share(Op.ALLTOALL, 0, SIZE), Share(Op.ALLTOALLV, 0, sum(parcels.dumped), list(parcels.dumped))]


def collective(shares: Any, root_place: int = -1) -> Describe:
    """Describe a collective on objects by its collectives on sizes and bytes."""
    root = argument(root_place, "root", 0)

    def describe(recorder: Recorder, _result: Any, args: Arguments, kwargs: Keywords, parcels: Parcels) -> None:
        comm = _sending(recorder, args, parcels)
        if not comm.known:
            return recorder.other()
        _take_part(recorder, comm, shares(parcels, root(args, kwargs) if root_place > 0 else 0))
        return None

    return describe


def neighbor(*, alltoall: bool) -> Describe:
    """Describe a neighbourhood collective on objects."""

    def describe(recorder: Recorder, _result: Any, args: Arguments, _kwargs: Keywords, parcels: Parcels) -> None:
        comm = _sending(recorder, args, parcels)
        if not comm.plain:
            return recorder.other()
        sources, destinations = neighbors(comm, args[0])
        sizes = parcels.dumped if alltoall else [sum(parcels.dumped)] * len(destinations)
        heads = neighborhood(sources, destinations, [SIZE] * len(destinations))
        _emit(recorder, comm, [heads, neighborhood(sources, destinations, sizes)])
        return None

    return describe


def _emit(recorder: Recorder, comm: RecordedComm, shares: list[Share]) -> None:
    for share in shares:
        emit(recorder, comm, share, _PICKLED)


def _take_part(recorder: Recorder, comm: RecordedComm, shares: list[Share]) -> None:
    """Write a collective of sizes and one of pickles, wherever they take place."""
    sizes, pickles = shares
    for found in (place_of(recorder, comm, sizes), composed(recorder, comm, pickles)):
        if found is None:
            recorder.emit(Op.LOCAL)
            return
        emit(recorder, *found, _PICKLED)


class ReductionSizes:
    """The messages of a reduction of objects, in mpi4py's order, with the sizes of this rank's pickles.

    On an intercommunicator each group reduces its own objects; the first members send the results.
    """

    def __init__(self, recorder: Recorder, owner: RecordedComm, parcels: Parcels) -> None:
        self._recorder = recorder
        self._bridge = recorder.comms.private(owner, "objects")
        self._comm = self._bridge if owner.remote is None else recorder.comms.private(owner, "side", owner.group)
        self._dumped = iter(parcels.dumped)
        self._rank, self._size = owner.rank, len(owner.group)
        next(self._dumped, None)  # every reduction begins by copying the object, that is, by pickling it

    def reduce(self, root: int) -> None:
        """Reduce along a binomial tree to rank 0, which sends the result to the root."""
        mask = 1
        while mask < self._size:
            if self._rank & mask:
                self._send(self._comm, (self._rank & ~mask) % self._size)
            elif self._rank | mask < self._size:
                self._receive(self._comm, self._rank | mask)
            mask <<= 1
        if root != 0 and self._rank == 0:
            self._send(self._comm, root)
        elif root != 0 and self._rank == root:
            self._receive(self._comm, 0)

    def reduce_for(self, root: int) -> None:
        """Reduce for the other group, or, as its root, receive the result of the other group."""
        mpi = self._recorder.mpi
        if root == mpi.ROOT:
            self._receive(self._bridge, 0)
        elif root != mpi.PROC_NULL:
            self.reduce(0)
            if self._rank == 0:
                self._send(self._bridge, root)

    def exchange(self) -> None:
        """Exchange the results of the two groups."""
        if self._rank == 0:
            for nbytes in (SIZE, next(self._dumped, 0)):
                exchange(self._recorder, self._bridge, 0, 0, nbytes, 0, 0, 0, _PICKLED)

    def broadcast(self, loaded: list[int]) -> None:
        """Broadcast the result from rank 0; every rank has unpickled it last."""
        result = Parcels()
        result.loaded = loaded[-1:]
        _emit(self._recorder, self._comm, bcast(result, 0))

    def scan(self) -> None:
        """Exchange partial results along the dimensions of a hypercube."""
        mask = 1
        while mask < self._size:
            partner = self._rank ^ mask
            if partner < self._size:
                for nbytes in (SIZE, next(self._dumped, 0)):
                    exchange(self._recorder, self._comm, partner, 0, nbytes, partner, 0, 0, _PICKLED)
            mask <<= 1

    def _send(self, comm: RecordedComm, dest: int) -> None:
        for nbytes in (SIZE, next(self._dumped, 0)):
            self._recorder.emit(Op.SEND, comm.index, dest, 0, nbytes, _PICKLED | comm.flags)

    def _receive(self, comm: RecordedComm, source: int) -> None:
        for _ in range(2):
            self._recorder.emit(Op.RECV, comm.index, source, 0, 0, _PICKLED | comm.flags)


def reduction(kind: str, root_place: int = -1) -> Describe:
    """Describe reduce, allreduce, scan or exscan of objects."""
    root_of = argument(root_place, "root", 0)

    def describe(recorder: Recorder, _result: Any, args: Arguments, kwargs: Keywords, parcels: Parcels) -> None:
        comm = _sending(recorder, args, parcels)
        if not comm.known:
            return recorder.other()
        root = root_of(args, kwargs) if kind == "reduce" else 0
        if not recorder.fast_reduce:
            steps = _naive(kind, parcels, root)
            for first in range(0, len(steps), 2):
                _take_part(recorder, comm, steps[first : first + 2])
            return None
        tree = ReductionSizes(recorder, comm, parcels)
        if kind in ("scan", "exscan"):
            tree.scan()
        elif kind == "reduce" and comm.remote is not None:
            tree.reduce_for(root)
        else:
            tree.reduce(root)
        if kind == "allreduce":
            if comm.remote is not None:
                tree.exchange()
            tree.broadcast(parcels.loaded)
        if kind != "allreduce" and (root == recorder.mpi.PROC_NULL or (comm.plain and len(comm.group) == 1)):
            recorder.emit(Op.LOCAL)
        return None

    return describe


def _naive(kind: str, parcels: Parcels, root: int) -> list[Share]:
    if kind == "allreduce":
        return allgather(parcels, 0)
    mine = Parcels()
    mine.dumped = parcels.dumped[:1]
    mine.loaded = parcels.loaded[-1:]
    return gather(mine, root) if kind == "reduce" else gather(mine, 0) + scatter(mine, 0)
