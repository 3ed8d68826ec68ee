"""Random programs that cannot deadlock: each event completes on all its ranks before the next is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from clue.trace import Op, Trace, TraceBuilder
from tests.kernel.random_cases import IRREGULAR, REGULAR, random_manner


@dataclass(frozen=True)
class Kind:
    """The properties of random programs.

    Attributes:
        sizes: Sizes of messages and blocks, bytes.
        nonblocking: Whether sends may be nonblocking.
        posting: Whether receives may be nonblocking.
        shuffled: Whether ranks wait for some requests in any order, instead of for all.
        communicators: Whether there are communicators other than the world.
        collectives: Collective operations to draw from.
        manners: Whether collectives may be in place, use own operations, and have elements of any size.
        to_self: Whether ranks send to themselves.
        burst: Longest burst, ns.

    Attributes:
        sizes: Bytes of messages and blocks to draw from.
        nonblocking: Whether sends may be nonblocking.
        posting: Whether receives may be.
        shuffled: Whether ranks wait for some requests in any order, or always for all.
        communicators: Whether there are others than the world.
        collectives: Collective operations to draw from.
        manners: Whether collectives are in place, by own operations, and on elements of any size.
        to_self: Whether ranks send to themselves.
        burst: Longest burst, ns.
    """

    sizes: Sequence[int] = (0, 1, 8, 1000, 65_536, 1_000_000)
    nonblocking: bool = True
    posting: bool = True
    shuffled: bool = True
    communicators: bool = True
    collectives: Sequence[Op] = (*REGULAR, *IRREGULAR)
    manners: bool = True
    to_self: bool = True
    burst: int = 1_000_000


#: All properties that a schedule can express.
ALL = Kind()
#: The same without messages of a rank to itself, whose receive and send a time-independent wait cannot tell apart.
APART = Kind(manners=False, to_self=False)
#: The properties that time-independent traces keep in every column.
HELD = Kind(shuffled=False, communicators=False, manners=False, to_self=False)


def random_program(random: Random, ranks: int, events: int, kind: Kind = ALL) -> Trace:
    """Return a random program."""
    return _Program(random, ranks, kind).run(events)


class _Program:
    def __init__(self, random: Random, ranks: int, kind: Kind) -> None:
        self.random, self.kind = random, kind
        self.trace = TraceBuilder(ranks, "random")
        self.groups = {0: list(range(ranks))}
        if kind.communicators and ranks > 1:
            for _ in range(2):
                group = random.sample(range(ranks), random.randint(2, ranks))
                self.groups[self.trace.communicator(group)] = group
        self.pending: list[list[int]] = [[] for _ in range(ranks)]

    def run(self, events: int) -> Trace:
        draws = (
            [self.compute] * 3 + [self.message] * 6 + [self.wait] * 2 + [self.collective] * bool(self.kind.collectives)
        )
        for _ in range(events):
            self.random.choice(draws)()
        for rank, requests in enumerate(self.pending):
            if requests:
                self.trace[rank].wait(*requests)
        return self.trace.build()

    def compute(self) -> None:
        rank = self.random.randrange(len(self.pending))
        self.trace[rank].compute(self.random.randint(1, self.kind.burst) * 1e-9)

    def message(self) -> None:
        comm, group = self.random.choice(list(self.groups.items()))
        source, dest = self.random.randrange(len(group)), self.random.randrange(len(group))
        if source == dest and not self.kind.to_self:
            return
        tag, nbytes = self.random.randrange(3), self.random.choice(self.kind.sizes)
        sender, receiver = group[source], group[dest]
        posted = source == dest or (self.kind.posting and self.random.random() < 0.5)
        if posted:
            self.pending[receiver].append(self.trace[receiver].irecv(source, tag, comm))
        if self.kind.nonblocking and self.random.random() < 0.5:
            self.pending[sender].append(self.trace[sender].isend(dest, nbytes, tag, comm))
        else:
            self.trace[sender].send(dest, nbytes, tag, comm)
        if not posted:
            self.trace[receiver].recv(source, tag, comm)

    def wait(self) -> None:
        rank = self.random.randrange(len(self.pending))
        requests = self.pending[rank]
        if not requests:
            return
        count = self.random.randint(1, len(requests)) if self.kind.shuffled else len(requests)
        chosen = self.random.sample(requests, count) if self.kind.shuffled else list(requests)
        self.pending[rank] = [each for each in requests if each not in chosen]
        self.trace[rank].wait(*chosen)

    def collective(self) -> None:
        op = self.random.choice(list(self.kind.collectives))
        comm, group = self.random.choice(list(self.groups.items()))
        root, nbytes = self.random.randrange(len(group)), self.random.choice(self.kind.sizes)
        how = random_manner(self.random) if self.kind.manners else {}
        for rank in group:
            if op is Op.ALLTOALLV:
                extras = [self.random.choice(self.kind.sizes) for _ in group]
                self.trace[rank].collective(op, comm=comm, extras=extras, **how)
            else:
                size = self.random.choice(self.kind.sizes) if op in IRREGULAR else nbytes
                self.trace[rank].collective(op, 0 if op is Op.BARRIER else size, root, comm, **how)
