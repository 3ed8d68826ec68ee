"""Random programs and machines: everything the kernel knows, mixed."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from clue.machine import AlgorithmChoice, Curve, FactorTable, Flows, Link, Machine, Network, NodeType, Ports, Waiting
from clue.machine.topology import Switch
from clue.trace import Flag, Op, Trace, TraceBuilder

#: Powers of two: sums are exact, so that different ways to one time meet in a tie.
_TICK = 2.0**-12
_SIZES = (0, 1, 100, 1000, 5000, 20000)
_REGIONS = ("", "solve", "assemble")
_COLLECTIVES = (
    Op.BARRIER,
    Op.BCAST,
    Op.REDUCE,
    Op.ALLREDUCE,
    Op.SCAN,
    Op.EXSCAN,
    Op.GATHER,
    Op.SCATTER,
    Op.ALLGATHER,
    Op.ALLTOALL,
    Op.REDUCE_SCATTER,
    Op.COMM,
)
_ROOTED = {Op.BCAST, Op.REDUCE, Op.GATHER, Op.SCATTER}


class ProgramMaker:
    """Writes a program that cannot deadlock: whatever it does can be done in the order in which it is written."""

    def __init__(self, random: Random, ranks: int, ties: bool) -> None:
        self.random = random
        self.ranks = ranks
        self.ties = ties
        self.builder = TraceBuilder(ranks)
        self.comms = [(0, tuple(range(ranks)))]
        for _ in range(random.randrange(3) if ranks > 1 else 0):
            group = tuple(random.sample(range(ranks), random.randrange(1, ranks + 1)))
            self.comms.append((self.builder.communicator(group), group))
        self.open: list[list[int]] = [[] for _ in range(ranks)]

    def make(self, steps: int) -> Trace:
        """Write so many steps and end all requests."""
        actions = (self.compute, self.message, self.message, self.message, self.collective, self.neighbors)
        actions += (self.sendrecv, self.wait, self.odds)
        for _ in range(steps):
            self.random.choice(actions)()
        for rank, requests in enumerate(self.open):
            if requests and self.random.random() < 0.9:
                self.builder[rank].wait(*requests)
        return self.builder.build()

    def compute(self) -> None:
        """A burst on one rank, or the same on all."""
        random = self.random
        seconds = random.randrange(1, 9) * _TICK if self.ties else random.random() * 0.01
        everybody = random.random() < 0.3
        region = random.choice(_REGIONS)
        for rank in range(self.ranks) if everybody else [random.randrange(self.ranks)]:
            self.builder[rank].compute(round(seconds, 9), region)

    def message(self) -> None:
        """One message, sent and received in any of the ways there are."""
        random = self.random
        comm, group = random.choice(self.comms)
        source, dest = random.randrange(len(group)), random.randrange(len(group))
        tag, nbytes = random.randrange(2), random.choice(_SIZES)
        flags = random.choice((0, 0, 0, Flag.BUFFERED, Flag.SYNCHRONOUS, Flag.READY, Flag.PERSISTENT))
        sender, receiver = group[source], group[dest]
        # A rank that talks to itself must not block in a send.
        if random.random() < 0.5 or sender == receiver:
            self.open[sender].append(self.builder[sender].isend(dest, nbytes, tag, comm, flags))
        else:
            self.builder[sender].send(dest, nbytes, tag, comm, flags)
        self.receive(receiver, source, tag, comm)

    def receive(self, rank: int, source: int, tag: int, comm: int) -> None:
        """Receive in any of the ways there are."""
        random, builder = self.random, self.builder[rank]
        flags = random.choice((0, 0, Flag.ANY_SOURCE, Flag.ANY_SOURCE | Flag.ANY_TAG))
        way = random.randrange(5)
        if way == 0:
            self.open[rank].append(builder.irecv(source, tag, comm, flags))
        elif way == 1:
            builder.add(Op.PROBE, peer=source, tag=tag, comm=comm, flags=flags)
            builder.recv(source, tag, comm, flags)
        elif way == 2:
            request = builder._requests
            builder._requests += 1
            builder.add(Op.MPROBE, peer=source, tag=tag, comm=comm, flags=flags, request=request)
            nonblocking = random.random() < 0.5
            builder.add(Op.MRECV, request=request, comm=comm, flags=Flag.NONBLOCKING if nonblocking else 0)
            if nonblocking:
                self.open[rank].append(request)
        else:
            builder.recv(source, tag, comm, flags)

    def collective(self) -> None:
        """A collective of all members of a communicator."""
        random = self.random
        comm, group = random.choice(self.comms)
        op, nbytes = random.choice(_COLLECTIVES), random.choice((0, 8, 1000, 40000))
        root = random.randrange(len(group)) if op in _ROOTED else 0
        nonblocking = random.random() < 0.3
        uneven = op in {Op.GATHER, Op.ALLGATHER, Op.SCATTER} and random.random() < 0.3
        for rank in group:
            mine = random.choice(_SIZES) if uneven else nbytes
            if nonblocking:
                self.open[rank].append(self.builder[rank].icollective(op, mine, root, comm))
            else:
                self.builder[rank].collective(op, mine, root, comm)

    def neighbors(self) -> None:
        """A neighbourhood collective on a ring."""
        random = self.random
        comm, group = random.choice(self.comms)
        size, nbytes = len(group), random.choice(_SIZES)
        for position, rank in enumerate(group):
            left, right = (position - 1) % size, (position + 1) % size
            entries = (2, left, right, nbytes, nbytes, 2, right, left)
            self.builder[rank].add(Op.NEIGHBOR, comm=comm, extras=entries)

    def sendrecv(self) -> None:
        """A shift around a communicator."""
        random = self.random
        comm, group = random.choice(self.comms)
        nbytes = random.choice(_SIZES)
        for position, rank in enumerate(group):
            dest, source = (position + 1) % len(group), (position - 1) % len(group)
            self.builder[rank].sendrecv(dest, nbytes, source, comm=comm)

    def wait(self) -> None:
        """Wait for some of a rank's requests."""
        rank = self.random.randrange(self.ranks)
        open_ = self.open[rank]
        if open_:
            some = self.random.sample(open_, self.random.randrange(1, len(open_) + 1))
            self.open[rank] = [each for each in open_ if each not in some]
            self.builder[rank].wait(*some)

    def odds(self) -> None:
        """Polls, packing, null partners, cancelled receives, and calls that cost nothing."""
        random = self.random
        builder = self.builder[random.randrange(self.ranks)]
        way = random.randrange(6)
        if way == 0:
            builder.add(Op.POLL, peer=random.randrange(self.ranks))
        elif way == 1:
            builder.add(Op.POLL, peer=-2)
        elif way == 2:
            builder.add(Op.PACK, nbytes=random.choice(_SIZES))
        elif way == 3:
            builder.send(-1, 1000)
            builder.recv(-1)
        elif way == 4:
            builder.add(Op.IRECV, peer=random.randrange(self.ranks), request=99, flags=Flag.CANCELLED)
        else:
            builder.add(Op.LOCAL)


def random_trace(random: Random, *, ties: bool, spoilt: bool = False) -> Trace:
    """Return a random program.

    Args:
        random: Where choices come from.
        ties: Whether times are such that many of them are equal.
        spoilt: Whether one op is left out, so that it may well deadlock.
    """
    maker = ProgramMaker(random, random.choice((1, 2, 2, 3, 4, 5, 8)), ties)
    if spoilt:
        drop = random.randrange(maker.ranks)
        maker.make(random.randrange(5, 25))
        rows = maker.builder[drop].rows
        kept = [row for row in rows if row[-1] in {Op.SEND, Op.RECV}]
        if kept:
            rows.remove(random.choice(kept))
        return maker.builder.build()
    return maker.make(random.randrange(1, 40))


def _delay(random: Random, ties: bool) -> float:
    return random.choice((0, 1, 2, 3, 8)) * _TICK if ties else random.choice((0.0, random.random() * 1e-3))


def _curve(random: Random, ties: bool) -> Curve:
    if random.random() < 0.5:
        return Curve.line(_delay(random, ties), random.choice((0.0, 2.0**-22)) if ties else random.random() * 1e-6)
    return Curve.through([(0, _delay(random, ties)), (1000, 0.001 + _delay(random, ties)), (8000, 0.01)])


def _link(random: Random, ties: bool) -> Link:
    limit = random.choice((None, 0, 999, 1000, 10000))
    return Link(_curve(random, ties), _curve(random, ties), _delay(random, ties), limit)


def _node_type(random: Random, name: str, ties: bool, plain: bool) -> NodeType:
    factor = random.choice((0, 0.5, 1, 2)) if ties else random.choice((0, 1, 0.3 + random.random()))
    shared = (
        {}
        if plain
        else {
            "memory_contention": random.choice(({}, {2: {"": 0.75}, 3: {"": 0.5, "solve": 0.9}})),
            "background_load": random.choice((0.0, 0.0, 1.0, 0.5)),
            "waiting": random.choice((Waiting.YIELD, Waiting.YIELD, Waiting.POLL)),
        }
    )
    return NodeType(
        name,
        processors=random.choice((1, 2, 4)),
        performance_factor=factor,
        performance_factors=random.choice(({}, {"solve": 0.25})),
        packing_delay=random.choice((0.0, 2.0**-24)),
        reduction_delay=random.choice((0.0, 2.0**-24, 1e-9)),
        **shared,  # type: ignore[arg-type]
    )


def _contention(random: Random, kind: str) -> FactorTable | Ports | Flows | None:
    if kind == "factor":
        return FactorTable(random.choice((((1, 1.0), (3, 2.0)), ((1, 1.0), (2, 1.3), (5, 1.9)), ((1, 1.0),))))
    if kind == "ports":
        return Ports(random.choice((None, None, Curve.line(0.001, 1e-7))))
    return Flows(Switch(random.choice((1e5, 1e6, 3e6)))) if kind == "flows" else None


def random_machine(random: Random, kind: str, *, ties: bool, plain: bool = False) -> Machine:
    """Return a random machine.

    Args:
        random: Where choices come from.
        kind: Model of contention: none, factor, ports or flows.
        ties: Whether times are such that many of them are equal.
        plain: Whether messages alone couple its ranks, and nothing changes over time.
    """
    names = ("fast", "slow")[: random.randrange(1, 3)]
    contention = _contention(random, kind)
    library = random.choice(("mpich", "openmpi"))

    def state() -> dict[str, NodeType]:
        return {name: _node_type(random, name, ties, plain) for name in names}

    def network() -> Network:
        between = _link(random, ties)
        pairs = {}
        if len(names) == 2 and random.random() < 0.5:
            pairs = {("fast", "slow"): _link(random, ties)}
        table = _contention(random, kind) if kind == "factor" else contention
        choices = random.choice(({}, {"allreduce": AlgorithmChoice(((float("inf"), "ring"),))}))
        return Network(between, _link(random, ties), pairs, {}, table, choices, library)

    types = state()
    order = tuple(random.choice(names) for _ in range(random.choice((1, 2, 3, 5, 8))))
    changes = []
    base = network()
    for i in range(0 if plain else random.choice((0, 0, 0, 1, 2))):
        changed = state()
        changed = {name: replace(each, processors=types[name].processors) for name, each in changed.items()}
        later = Network(*[getattr(network(), each) for each in Network.__slots__])
        later = Network(
            later.between_nodes, later.within_node, later.pairs, {}, later.contention, base.collectives, library
        )
        changes.append((0.004 * (i + 1), Machine("later", tuple(changed[name] for name in order), later)))
    return Machine("random", tuple(types[name] for name in order), base, tuple(changes))


def random_placement(random: Random, machine: Machine, ranks: int) -> list[int]:
    """Place ranks anywhere, several to a processor perhaps."""
    return [random.randrange(len(machine.nodes)) for _ in range(ranks)]
