"""Lower-case collectives in a rank process: pickles, sent as mpi4py sends them.

A broadcast sends a size and then the pickle; a gather gathers sizes and then pickles. A reduction is a binomial tree of
messages over a private communicator, each a size and a pickle, in which the program's operation combines objects in the
order of ranks; with ``mpi4py.rc.fast_reduce`` off it is a gather, and a scatter after a scan.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

from clue.trace.ops import PROC_NULL, Flag, Op
from virtual_layer.meaning.objects import SIZE
from virtual_layer.settings import is_on
from virtual_layer.substitutes.contributions import Contribution, ask, place_of, say
from virtual_layer.substitutes.factories import Factory, of_several
from virtual_layer.substitutes.meeting import alone, meeting, private
from virtual_layer.substitutes.neighborhoods import edges, neighborhood

if TYPE_CHECKING:
    from virtual_layer.substitutes.comms import LiveComm
    from virtual_layer.substitutes.layer import Layer

Operation = Callable[[Any, Any], Any]

_PICKLED = int(Flag.PICKLED)
_SEND, _RECV, _ISEND, _IRECV, _WAIT = (int(op) for op in (Op.SEND, Op.RECV, Op.ISEND, Op.IRECV, Op.WAIT))


class Parcel:
    """Pickles of one rank, made by the program's ``MPI.pickle``; the time for this is the program's own."""

    def __init__(self, layer: Layer) -> None:
        self._port = layer.port
        self._pickle = layer.mpi.pickle

    def pack(self, thing: Any, readers: int = 1) -> tuple[Any, int]:
        """Return the pickle of an object as a payload, and its size."""
        data = self._port.work(self._pickle.dumps, thing)
        payload, memory = self._port.room(len(data), readers)
        memory[:] = data
        return payload, len(data)

    def unpack(self, payload: Any) -> Any:
        """Return the object in a payload, and release the payload; ``None`` for an empty one."""
        view = self._port.view(payload)
        thing = self._port.work(self._pickle.loads, view) if len(view) else None
        del view
        self._port.release(payload)
        return thing

    def copy(self, thing: Any) -> Any:
        """Return a copy of an object, made by pickling."""
        return self._port.work(lambda: self._pickle.loads(self._pickle.dumps(thing)))


# -- data --------------------------------------------------------------------------------------------------------


def _bcast(layer: Layer, comm: LiveComm, obj: Any, root: int = 0) -> Any:
    found = place_of(layer, comm, root)
    return None if found is None else _spread(layer, *found, obj, back=comm.remote is None)


def _spread(layer: Layer, place: LiveComm, root: int, obj: Any, *, back: bool = True) -> Any:
    """Broadcast an object; ``back`` says whether the root gets a copy, too."""
    parcel = Parcel(layer)
    if place.rank != root:
        size = ask(layer, Contribution(place, Op.BCAST, root, SIZE, element=SIZE))
        return parcel.unpack(ask(layer, Contribution(place, Op.BCAST, root, size, element=1)))
    payload, size = parcel.pack(obj, len(place.group) - (not back))
    say(layer, Contribution(place, Op.BCAST, root, SIZE, (), size, element=SIZE))
    say(layer, Contribution(place, Op.BCAST, root, size, (), payload, element=1))
    return parcel.unpack(payload) if back else None


def _gather(layer: Layer, comm: LiveComm, sendobj: Any, root: int = 0) -> Any:
    found = place_of(layer, comm, root)
    if found is None:
        return None
    (place, at), parcel = found, Parcel(layer)
    if place.rank != at:
        payload, size = parcel.pack(sendobj)
        say(layer, Contribution(place, Op.GATHER, at, SIZE, (), size))
        say(layer, Contribution(place, Op.GATHERV, at, size, (), payload))
        return None
    payload, size = parcel.pack(sendobj) if comm.remote is None else (None, 0)
    sizes = ask(layer, Contribution(place, Op.GATHER, at, SIZE, (), size))
    gathered = ask(layer, Contribution(place, Op.GATHERV, at, size, sizes, payload))
    return [parcel.unpack(each) for each in gathered[-len(comm.peers) :]]


def _scatter(layer: Layer, comm: LiveComm, sendobj: Any, root: int = 0) -> Any:
    found = place_of(layer, comm, root)
    if found is None:
        return None
    (place, at), parcel = found, Parcel(layer)
    if place.rank != at:
        size = ask(layer, Contribution(place, Op.SCATTER, at, SIZE))
        return parcel.unpack(ask(layer, Contribution(place, Op.SCATTERV, at, size)))
    payloads, sizes = _pack_each(parcel, sendobj, len(comm.peers))
    if comm.remote is not None:
        payloads, sizes = [None, *payloads], [0, *sizes]
    size = sizes[at]
    ask(layer, Contribution(place, Op.SCATTER, at, SIZE, (), sizes))
    mine = ask(layer, Contribution(place, Op.SCATTERV, at, size, sizes, payloads))
    return parcel.unpack(mine) if comm.remote is None else None


def _pack_each(parcel: Parcel, things: Any, count: int) -> tuple[list[Any], list[int]]:
    """Pickle one object for each member."""
    items = [None] * count if things is None else list(things)
    if len(items) != count:
        raise ValueError(f"expecting {count} items, got {len(items)}")
    packed = [parcel.pack(item) for item in items]
    return [payload for payload, _ in packed], [size for _, size in packed]


def _allgather(layer: Layer, comm: LiveComm, sendobj: Any) -> list[Any]:
    parcel, place = Parcel(layer), meeting(layer, comm)
    payload, size = parcel.pack(sendobj, len(comm.peers))
    sizes = ask(layer, Contribution(place.comm, Op.ALLGATHER, PROC_NULL, SIZE, (), size))
    if comm.remote is None:
        gathered = ask(layer, Contribution(comm, Op.ALLGATHERV, PROC_NULL, size, sizes, payload))
        return [parcel.unpack(each) for each in gathered]
    coming = [sizes[at] for at in place.remote]
    return _across(layer, comm, [payload] * len(comm.remote), [size] * len(comm.remote), coming)


def _alltoall(layer: Layer, comm: LiveComm, sendobj: Any) -> list[Any]:
    parcel, place = Parcel(layer), meeting(layer, comm)
    payloads, sizes = _pack_each(parcel, sendobj, len(comm.peers))
    told = [0] * len(place.comm.group)
    others = place.local if comm.remote is None else place.remote
    for at, size in zip(others, sizes, strict=True):
        told[at] = size
    answer = ask(layer, Contribution(place.comm, Op.ALLTOALL, PROC_NULL, SIZE, (), told))
    return _across(layer, comm, payloads, sizes, [answer[at] for at in others])


def _across(layer: Layer, comm: LiveComm, payloads: list[Any], sizes: list[int], coming: list[int]) -> list[Any]:
    """Exchange pickles of known sizes: with all members, or with those of the other group."""
    parcel, place = Parcel(layer), meeting(layer, comm)
    others = place.local if comm.remote is None else place.remote
    total = len(place.comm.group)
    sent: list[Any] = [None] * total
    entries = [0] * (2 * total)
    for at, payload, size, due in zip(others, payloads, sizes, coming, strict=True):
        sent[at], entries[at], entries[total + at] = payload, size, due
    nbytes = sum(sizes) // total
    answer = ask(layer, Contribution(place.comm, Op.ALLTOALLV, PROC_NULL, nbytes, entries, sent))
    return [parcel.unpack(answer[at]) for at in others]


def _neighbor_allgather(layer: Layer, comm: LiveComm, sendobj: Any) -> list[Any]:
    """Send one object to all destinations of a topology; as in mpi4py, it is pickled once."""
    destinations = edges(comm)[1]
    payload, size = Parcel(layer).pack(sendobj, max(len(destinations), 1))
    if not destinations:
        layer.port.release(payload)
    return _to_neighbors(layer, comm, [payload] * len(destinations), [size] * len(destinations))


def _neighbor_alltoall(layer: Layer, comm: LiveComm, sendobj: Any) -> list[Any]:
    return _to_neighbors(layer, comm, *_pack_each(Parcel(layer), sendobj, len(edges(comm)[1])))


def _to_neighbors(layer: Layer, comm: LiveComm, payloads: list[Any], sizes: list[int]) -> list[Any]:
    """Send a pickle to each destination of a topology: sizes first, then pickles."""
    parcel = Parcel(layer)
    for dest, payload in zip(edges(comm)[1], payloads, strict=True):
        if dest < 0:  # mpi4py pickles this object, too, but nobody reads it
            layer.port.release(payload)
    came: list[Any] = []
    for load, each in ((sizes, [SIZE] * len(sizes)), (payloads, sizes)):
        part = neighborhood(comm, load, each, came.append)
        assert part.deliver is not None
        part.deliver(ask(layer, part))
    return [None if each is None else parcel.unpack(each) for each in came[-1]]


# -- reductions --------------------------------------------------------------------------------------------------


class Tree:
    """The messages of a reduction of objects, in mpi4py's order, over a private communicator."""

    def __init__(self, layer: Layer, comm: LiveComm, operation: Operation) -> None:
        self._layer = layer
        self._comm = comm
        self._operation = operation
        self._parcel = Parcel(layer)

    def reduce(self, sendobj: Any, root: int) -> Any:
        """Reduce along a binomial tree to rank 0, which sends the result to the root; ``None`` elsewhere."""
        rank, size = self._comm.rank, len(self._comm.group)
        result, mask = self._parcel.copy(sendobj), 1
        while mask < size:
            if rank & mask:
                self.send(result, self._comm.group[(rank & ~mask) % size])
            elif rank | mask < size:
                result = self._combine(result, self.receive(self._comm.group[rank | mask]))
            mask <<= 1
        if root and rank == 0:
            self.send(result, self._comm.group[root])
        elif root and rank == root:
            result = self.receive(self._comm.group[0])
        return result if rank == root else None

    def scan(self, sendobj: Any) -> Any:
        """Return the reduction over this rank and the ranks before it."""
        result = partial = self._parcel.copy(sendobj)
        for below, partner in self._partners():
            other = self.exchange(partial, partner)
            if below:
                partial, result = self._combine(other, partial), self._combine(other, result)
            else:
                partial = self._combine(partial, other)
        return result

    def exscan(self, sendobj: Any) -> Any:
        """Return the reduction over the ranks before this one; ``None`` on the first."""
        partial, result, first = self._parcel.copy(sendobj), None, True
        for below, partner in self._partners():
            other = self.exchange(partial, partner)
            if below:
                result = other if first else self._combine(other, result)
                partial, first = self._combine(other, partial), False
            else:
                partial = self._combine(partial, other)
        return result

    def _partners(self) -> list[tuple[bool, int]]:
        """List the partners of a scan along a hypercube: whether the rank is lower, and the rank."""
        rank, size = self._comm.rank, len(self._comm.group)
        others = [rank ^ (1 << bit) for bit in range((size - 1).bit_length())]
        return [(other < rank, self._comm.group[other]) for other in others if other < size]

    def _combine(self, left: Any, right: Any) -> Any:
        return self._layer.port.work(self._operation, left, right)

    def send(self, thing: Any, peer: int) -> None:
        """Send an object: its size, then its pickle."""
        payload, size = self._parcel.pack(thing)
        for nbytes, load in ((SIZE, None), (size, payload)):
            self._layer.port.tell(
                _SEND, peer=peer, context=self._comm.context, nbytes=nbytes, flags=_PICKLED, payload=load
            )

    def receive(self, peer: int) -> Any:
        """Receive an object."""
        for _ in range(2):
            _, _, payload = self._layer.port.ask(_RECV, peer=peer, context=self._comm.context, flags=_PICKLED)
        return self._parcel.unpack(payload)

    def exchange(self, thing: Any, peer: int) -> Any:
        """Exchange objects with another rank."""
        sent, size = self._parcel.pack(thing)
        for nbytes, load in ((SIZE, None), (size, sent)):
            _, (_, _, payload) = self._sendrecv(peer, nbytes, load)
        return self._parcel.unpack(payload)

    def _sendrecv(self, peer: int, nbytes: int, payload: Any) -> Any:
        port, context = self._layer.port, self._comm.context
        outgoing, incoming = self._layer.requests.serial(), self._layer.requests.serial()
        port.tell(_IRECV, peer=peer, context=context, request=incoming, flags=_PICKLED)
        port.tell(_ISEND, peer=peer, context=context, nbytes=nbytes, request=outgoing, flags=_PICKLED, payload=payload)
        return port.ask(_WAIT, entries=(outgoing, incoming))


def _operation(layer: Layer, op: Any) -> Operation:
    found: Operation = layer.mpi.SUM if op is None else op
    return found


def _fast(layer: Layer) -> bool:
    return is_on(sys.modules["mpi4py"], "fast_reduce")


def _reduce(layer: Layer, comm: LiveComm, sendobj: Any, op: Any = None, root: int = 0) -> Any:
    operation = _operation(layer, op)
    if not _fast(layer):
        return _in_order(_gather(layer, comm, sendobj, root), operation)
    if comm.remote is None:
        root = int(root)
        if not 0 <= root < len(comm.group):
            raise layer.mpi.Exception(layer.mpi.ERR_ROOT)
        return Tree(layer, private(layer, comm, "objects"), operation).reduce(sendobj, root)
    return _reduce_across(layer, comm, sendobj, operation, root)


def _reduce_across(layer: Layer, comm: LiveComm, sendobj: Any, operation: Operation, root: int) -> Any:
    """Reduce within the other group; its first member sends the result to the root."""
    root = int(root)
    assert comm.remote is not None
    bridge = Tree(layer, private(layer, comm, "objects"), operation)
    if root == layer.mpi.ROOT:
        return bridge.receive(comm.remote[0])
    if root == layer.mpi.PROC_NULL:
        return None
    if not 0 <= root < len(comm.remote):
        raise layer.mpi.Exception(layer.mpi.ERR_ROOT)
    result = _reduce_locally(layer, comm, sendobj, operation)
    if comm.rank == 0:
        bridge.send(result, comm.remote[root])
    return None


def _reduce_locally(layer: Layer, comm: LiveComm, sendobj: Any, operation: Operation) -> Any:
    return Tree(layer, _side(layer, comm), operation).reduce(sendobj, 0)


def _side(layer: Layer, comm: LiveComm) -> LiveComm:
    """Return the private communicator of the local group of an intercommunicator."""
    return private(layer, comm, f"side {comm.group[0]}", comm.group)


def _allreduce(layer: Layer, comm: LiveComm, sendobj: Any, op: Any = None) -> Any:
    operation = _operation(layer, op)
    if not _fast(layer):
        return _in_order(_allgather(layer, comm, sendobj), operation)
    if comm.remote is None:
        place = private(layer, comm, "objects")
        return _spread(layer, place, 0, Tree(layer, place, operation).reduce(sendobj, 0))
    result = _reduce_locally(layer, comm, sendobj, operation)
    if comm.rank == 0:
        result = Tree(layer, private(layer, comm, "objects"), operation).exchange(result, comm.remote[0])
    side = _side(layer, comm)
    return result if len(side.group) == 1 else _spread(layer, side, 0, result)


def _scan(layer: Layer, comm: LiveComm, sendobj: Any, op: Any = None) -> Any:
    operation = _operation(layer, op)
    if _fast(layer):
        return Tree(layer, private(layer, comm, "objects"), operation).scan(sendobj)
    return _scatter(layer, comm, _prefixes(_gather(layer, comm, sendobj), operation))


def _exscan(layer: Layer, comm: LiveComm, sendobj: Any, op: Any = None) -> Any:
    operation = _operation(layer, op)
    if _fast(layer):
        return Tree(layer, private(layer, comm, "objects"), operation).exscan(sendobj)
    before = _prefixes(_gather(layer, comm, sendobj), operation)
    return _scatter(layer, comm, None if before is None else [None, *before[:-1]])


def _prefixes(things: list[Any] | None, operation: Operation) -> list[Any] | None:
    for i in range(1, len(things or ())):
        things[i] = operation(things[i - 1], things[i])  # type: ignore[index]
    return things


def _in_order(things: list[Any] | None, operation: Operation) -> Any:
    prefixes = _prefixes(things, operation)
    return prefixes[-1] if prefixes else None


def _of_objects(function: Callable[..., Any], lock: str = "", *, neighbors: bool = False) -> Factory:
    """Make a call's factory of a function of (layer, communicator, its arguments).

    Threads of one rank take turns by mpi4py's own lock of this name, if there is one. On a communicator of one rank
    mpi4py itself pickles and unpickles; this is the program's own work. But it may be its own neighbour, and sends
    messages to itself then (``neighbors``).
    """

    def make(layer: Layer, original: Any) -> Any:
        lock_of = layer.original("", "_comm_lock")

        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            comm = layer.comms.get(self.handle)
            if comm is None:
                return original(self, *args, **kwargs)
            if alone(comm) and not neighbors:
                return layer.port.work(partial(original, self, *args, **kwargs))
            with lock_of(self, lock) if lock else nullcontext():
                return function(layer, comm, *args, **kwargs)

        return call

    return make


def _barrier(layer: Layer, comm: LiveComm) -> None:
    ask(layer, Contribution(meeting(layer, comm).comm, Op.BARRIER))


CALLS: dict[tuple[str, str], Factory] = {
    ("Comm", "barrier"): of_several(_barrier),
    ("Comm", "bcast"): _of_objects(_bcast, "bcast"),
    ("Comm", "gather"): _of_objects(_gather, "gather"),
    ("Comm", "scatter"): _of_objects(_scatter, "scatter"),
    ("Comm", "allgather"): _of_objects(_allgather, "allgather"),
    ("Comm", "alltoall"): _of_objects(_alltoall, "alltoall"),
    ("Comm", "reduce"): _of_objects(_reduce),
    ("Comm", "allreduce"): _of_objects(_allreduce),
    ("Intracomm", "scan"): _of_objects(_scan),
    ("Intracomm", "exscan"): _of_objects(_exscan),
    ("Topocomm", "neighbor_allgather"): _of_objects(_neighbor_allgather, "neighbor_allgather", neighbors=True),
    ("Topocomm", "neighbor_alltoall"): _of_objects(_neighbor_alltoall, "neighbor_alltoall", neighbors=True),
}
