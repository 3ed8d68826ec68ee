"""A communicator that records the calls of a program that never looks at received data.

Each rank runs alone, without MPI and without time. The virtual layer's own source reader finds the call sites and the
loops around them. Messages are given by their size in bytes, and groups by a function that returns each rank's colour.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import PurePath
from types import CodeType, FrameType

from clue.trace import Flag, Op, Trace, TraceBuilder
from clue.trace.sites import Frame, Site
from virtual_layer.loops import Loops

Program = Callable[["Comm", int], None]
#: Number of communicators that a rank has made, by name and group.
_Made = Counter[tuple[str, tuple[int, ...]]]


@lru_cache(maxsize=64)
def run(program: Program, size: int, ranks: int) -> Trace:
    """Return the trace of a program at a size on a number of ranks; tests of a program record it at similar places."""
    world = _World(ranks)
    for rank in range(ranks):
        _start(program, Comm(world, rank, 0, tuple(range(ranks)), Counter()), size)
    return world.builder.build()


def _start(program: Program, comm: Comm, size: int) -> None:
    program(comm, size)


class _World:
    """State that ranks share: the trace, its communicators and its sites."""

    def __init__(self, ranks: int) -> None:
        self.builder = TraceBuilder(ranks, "stub.py")
        self.communicators: dict[tuple[str, tuple[int, ...], int], int] = {}
        self._sites: dict[int, int] = {}

    def site(self, site: Site) -> int:
        """Return the index of a site, found by identity; comparing whole sites for each op would take long."""
        index = self._sites.get(id(site))
        if index is None:
            index = self._sites[id(site)] = self.builder.site(site)
        return index

    def communicator(self, name: str, group: tuple[int, ...], ordinal: int) -> int:
        key = (name, group, ordinal)
        if key not in self.communicators:
            self.communicators[key] = self.builder.communicator(group, name)
        return self.communicators[key]


_LOOPS = Loops(time.time_ns())
_FRAMES: dict[tuple[CodeType, int], Frame] = {}
_SITES: dict[tuple[tuple[CodeType, int], ...], Site] = {}


def _site() -> Site:
    """Return the call site of the program's current call."""
    frame: FrameType | None = sys._getframe(1)
    path: list[FrameType] = []
    while frame is not None and (not path or frame.f_code is not _start.__code__):
        if frame.f_code.co_filename != __file__:
            path.append(frame)
        frame = frame.f_back
    places = tuple((each.f_code, each.f_lasti) for each in reversed(path))
    if places not in _SITES:
        _SITES[places] = Site(tuple(_frame(each) for each in reversed(path)))
    return _SITES[places]


def _frame(frame: FrameType) -> Frame:
    code, at, line = frame.f_code, frame.f_lasti, frame.f_lineno
    if (code, at) not in _FRAMES:
        file = code.co_filename
        loops, branches = _LOOPS.around(code, file, at, line), _LOOPS.branches(code, file, at, line)
        name = getattr(code, "co_qualname", code.co_name)
        _FRAMES[code, at] = Frame(PurePath(file).name, name, line, at, loops, branches)
    return _FRAMES[code, at]


class Comm:
    """A communicator as one rank sees it; rank numbers are those of the communicator.

    Attributes:
        rank: The rank's own number.
        size: Number of ranks.
    """

    def __init__(self, world: _World, rank: int, index: int, group: tuple[int, ...], made: _Made) -> None:
        self._world, self._own, self._index, self._group = world, rank, index, group
        self._made, self._builder = made, world.builder[rank]
        self.rank, self.size = group.index(rank), len(group)

    def _put(self, op: Op, call: str, *, extras: Sequence[int] = (), flags: int = 0, **fields: int) -> None:
        self._builder._site = self._world.site(_site())
        self._builder.add(op, call=call, extras=extras, flags=flags, comm=self._index, **fields)

    def _begin(self, op: Op, call: str, *, extras: Sequence[int] = (), flags: int = 0, **fields: int) -> int:
        request = self._builder._requests
        self._builder._requests += 1
        self._put(op, call, extras=extras, flags=flags, request=request, **fields)
        return request

    # --- messages ---

    def send(self, nbytes: int, dest: int, tag: int = 0, flags: int = 0) -> None:
        """Record a blocking send."""
        self._put(Op.SEND, "Send", peer=dest, tag=tag, nbytes=nbytes if dest >= 0 else 0, flags=flags)

    def recv(self, source: int, tag: int = 0, flags: int = 0) -> None:
        """Record a blocking receive."""
        self._put(Op.RECV, "Recv", peer=source, tag=tag, flags=flags)

    def isend(self, nbytes: int, dest: int, tag: int = 0) -> int:
        """Record the start of a send and return its request."""
        return self._begin(Op.ISEND, "Isend", peer=dest, tag=tag, nbytes=nbytes if dest >= 0 else 0)

    def irecv(self, source: int, tag: int = 0) -> int:
        """Record the start of a receive and return its request."""
        return self._begin(Op.IRECV, "Irecv", peer=source, tag=tag)

    def startall(self, ends: Sequence[tuple[Op, int, int]]) -> list[int]:
        """Record the start of several requests, each with its op, partner and size; return them."""
        requests: list[int] = []
        for op, peer, nbytes in ends:
            flags = int(Flag.CONTINUED) if requests else 0
            requests.append(self._begin(op, "Startall", peer=peer, nbytes=nbytes, flags=flags))
        return requests

    def wait(self, request: int) -> None:
        """Record a wait for a request."""
        self._complete("Wait", (request,))

    def test(self, request: int) -> None:
        """Record a test of a request that has not completed."""
        self._put(Op.POLL, "Test", request=request)

    def waitall(self, requests: Sequence[int]) -> None:
        """Record a wait for several requests."""
        self._complete("Waitall", requests)

    def _complete(self, call: str, requests: Sequence[int]) -> None:
        self._builder._site = self._world.site(_site())
        if len(requests) == 1:
            self._builder.add(Op.WAIT, call=call, request=requests[0])
        elif requests:
            self._builder.add(Op.WAIT, call=call, extras=requests)
        else:
            self._builder.add(Op.LOCAL, call=call)

    def sendrecv(self, nbytes: int, dest: int, source: int, sendtag: int = 0, recvtag: int = 0) -> None:
        """Record a combined send and receive."""
        more = int(Flag.CONTINUED)
        receive = self._begin(Op.IRECV, "Sendrecv", peer=source, tag=recvtag)
        size = nbytes if dest >= 0 else 0
        send = self._begin(Op.ISEND, "Sendrecv", peer=dest, tag=sendtag, nbytes=size, flags=more)
        self._builder.add(Op.WAIT, call="Sendrecv", extras=(receive, send), flags=more)

    # --- collectives ---

    def barrier(self) -> None:
        """Record a barrier."""
        self._put(Op.BARRIER, "Barrier")

    def bcast(self, nbytes: int, root: int = 0) -> None:
        """Record a broadcast."""
        self._put(Op.BCAST, "Bcast", nbytes=nbytes, peer=root, tag=8)

    def reduce(self, nbytes: int, root: int = 0) -> None:
        """Record a reduction to a root."""
        self._put(Op.REDUCE, "Reduce", nbytes=nbytes, peer=root, tag=8)

    def reduce_object(self, nbytes: int, root: int = 0) -> None:
        """Record mpi4py's reduction of an object: along a hypercube to rank 0, which sends the result to the root."""
        partners = [self.rank ^ (1 << bit) for bit in range((self.size - 1).bit_length())]
        ends = [(Op.SEND if each < self.rank else Op.RECV, each) for each in partners if each < self.size]
        if root and self.rank in (0, root):
            ends.append((Op.RECV, 0) if self.rank else (Op.SEND, root))
        more = 0
        for op, peer in ends:
            for size in (4, nbytes):  # each object follows its length
                sent = size if op == Op.SEND else 0
                self._put(op, "reduce", peer=peer, nbytes=sent, flags=int(Flag.PICKLED) | more)
                more = int(Flag.CONTINUED)

    def allreduce(self, nbytes: int) -> None:
        """Record a reduction to all ranks."""
        self._put(Op.ALLREDUCE, "Allreduce", nbytes=nbytes, tag=8)

    def gather(self, nbytes: int, root: int = 0) -> None:
        """Record a gather of blocks, which may differ in size."""
        self._put(Op.GATHERV, "Gatherv", nbytes=nbytes, peer=root)

    def scatter(self, nbytes: int, root: int = 0) -> None:
        """Record a scatter of blocks, which may differ in size."""
        self._put(Op.SCATTERV, "Scatterv", nbytes=nbytes, peer=root)

    def allgather(self, nbytes: int) -> None:
        """Record a gather of blocks to all ranks, which may differ in size."""
        self._put(Op.ALLGATHERV, "Allgatherv", nbytes=nbytes)

    def alltoall(self, nbytes: int) -> None:
        """Record an exchange of equal blocks between all ranks."""
        self._put(Op.ALLTOALL, "Alltoall", nbytes=nbytes)

    def alltoallv(self, sizes: Sequence[int]) -> None:
        """Record an exchange of blocks of the given sizes between all ranks."""
        self._put(Op.ALLTOALLV, "Alltoallv", extras=sizes)

    # --- communicators ---

    def split(self, color: Callable[[int], int | None], name: str = "Split") -> Comm | None:
        """Return the communicator of the ranks with the same colour, or ``None`` for a rank without a colour."""
        self._put(Op.COMM, name)
        mine = color(self.rank)
        if mine is None:
            return None
        group = tuple(each for at, each in enumerate(self._group) if color(at) == mine)
        self._made[name, group] += 1
        index = self._world.communicator(name, group, self._made[name, group])
        return Comm(self._world, self._own, index, group, self._made)
