"""Random programs and machines that mix everything the kernel supports."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from clue.machine import (
    AlgorithmChoice,
    ColdStart,
    Contention,
    Curve,
    FactorTable,
    Flows,
    Link,
    Machine,
    Network,
    NoContention,
    NodeType,
    Ports,
    Progress,
    Rendezvous,
    SpeedCurve,
    Waiting,
)
from clue.machine.contention.topology import Dragonfly, FatTree, Switch, Switches, Topology, Torus
from clue.trace import ANY, COLLECTIVES, PROC_NULL, ROOTED, Access, Flag, Op, Trace, TraceBuilder
from tests.properties import examples

#: Examples of each property that is tested on random cases. A nightly run asks for more:
#: ``CLUE_ENGINE_CASES=5000 pytest tests/kernel`` (some minutes).
CASES = examples(int(os.environ.get("CLUE_ENGINE_CASES", "200")))

#: Collectives to which each rank may contribute another size, and those with one size for all ranks.
IRREGULAR = (Op.GATHERV, Op.SCATTERV, Op.ALLGATHERV, Op.ALLTOALLV)
REGULAR = tuple(op for op in Op if op in COLLECTIVES - {*IRREGULAR, Op.NEIGHBOR, Op.COMM})

#: A power of two: sums are exact, so events that reach one time in different ways tie.
_TICK = 2.0**-12
_SIZES = (0, 1, 100, 1000, 5000, 20000)
_REGIONS = ("", "solve", "assemble")
_MODES = (0, 0, 0, Flag.BUFFERED, Flag.SYNCHRONOUS, Flag.READY)
#: Flags of a reduction whose operation does not commute.
_IN_ORDER = Flag.USER_DEFINED | Flag.NONCOMMUTATIVE
#: The request of a cancelled receive; ranks of random programs use fewer requests than this.
_CANCELLED_REQUEST = 999


def random_manner(random: Random) -> dict[str, Any]:
    """Return random flags and an element size of a collective, as arguments for a trace builder."""
    flags = random.choice((0, 0, Flag.IN_PLACE)) | random.choice((0, 0, Flag.USER_DEFINED, _IN_ORDER, Flag.BLOCK))
    return {"flags": int(flags), "element": random.choice((0, 1, 4, 16, 1000))}


@dataclass(frozen=True, slots=True)
class Comm:
    """A communicator as its members see it.

    Attributes:
        index: Its index in the head of the trace.
        group: Its members, as ranks of the trace.
    """

    index: int
    group: tuple[int, ...]


class ProgramMaker:
    """Writes a program that cannot deadlock: its ops can run in the order in which they are written."""

    def __init__(self, random: Random, ranks: int, ties: bool) -> None:
        self.random = random
        self.ties = ties
        self.builder = TraceBuilder(ranks)
        self.unborn: list[tuple[int, Comm]] = []
        self.alive = list(range(ranks))
        while len(self.alive) > 1 and random.random() < 0.25:
            self.plan_world(random.randrange(1, len(self.alive)))
        self.comms = [Comm(0, tuple(self.alive))]
        for _ in range(random.randrange(3)):
            self.split()
        #: Both sides of each intercommunicator.
        self.inter: list[tuple[Comm, Comm]] = []
        self.open: list[list[int]] = [[] for _ in range(ranks)]

    def plan_world(self, children: int) -> None:
        """Make the last ranks children that others spawn."""
        self.alive, group = self.alive[:-children], tuple(self.alive[-children:])
        world, index = self.builder.spawned(group)
        self.unborn.append((world, Comm(index, group)))

    def make(self, steps: int) -> Trace:
        """Write a number of steps, wait for most of the open requests and return the trace."""
        actions = [self.compute, self.message, self.message, self.message, self.collective, self.neighbors]
        actions += [self.sendrecv, self.wait, self.odds, self.family, self.remote]
        for _ in range(steps):
            self.random.choice(actions)()
        while self.unborn and self.random.random() < 0.95:
            self.spawn()
        for rank, requests in enumerate(self.open):
            if requests and self.random.random() < 0.9:
                self.builder[rank].wait(*requests)
        return self.builder.build()

    # -- communicators ----------------------------------------------------------------------------------------

    def family(self) -> None:
        """Sometimes make a communicator, by a spawn, a split or a connection; programs rarely do."""
        if self.unborn and self.random.random() < 0.5:
            self.spawn()
        elif self.random.random() < 0.3:
            self.random.choice((self.split, self.connect))()

    def split(self) -> None:
        """Make a communicator of some members of another, in any order."""
        parent = self.random.choice(self.comms)
        group = tuple(self.random.sample(parent.group, self.random.randrange(1, len(parent.group) + 1)))
        for rank in parent.group:
            self.builder[rank].collective(Op.COMM, comm=parent.index)
        self.comms.append(Comm(self.builder.communicator(group), group))

    def spawn(self) -> None:
        """Let all members of a communicator spawn a world, and link both by an intercommunicator."""
        world, children = self.unborn.pop(self.random.randrange(len(self.unborn)))
        parents = self.random.choice(self.comms)
        root = self.random.randrange(len(parents.group))
        for rank in parents.group:
            self.builder[rank].add(Op.SPAWN, comm=parents.index, peer=root, nbytes=len(children.group), extras=(world,))
        self.alive += children.group
        self.comms.append(children)
        self.link(parents.group, children.group)
        if self.random.random() < 0.3:
            merged = parents.group + children.group
            self.comms.append(Comm(self.builder.communicator(merged), merged))

    def connect(self) -> None:
        """Make an intercommunicator between two parts of a communicator."""
        group = self.random.choice(self.comms).group
        if len(group) > 1:
            cut = self.random.randrange(1, len(group))
            self.link(group[:cut], group[cut:])

    def link(self, here: tuple[int, ...], there: tuple[int, ...]) -> None:
        """Add an intercommunicator."""
        near, far = self.builder.intercommunicator(here, there)
        self.inter.append((Comm(near, here), Comm(far, there)))

    # -- what ranks do ----------------------------------------------------------------------------------------

    def compute(self) -> None:
        """Add a burst to one rank, or the same burst to all."""
        random = self.random
        seconds = random.randrange(1, 9) * _TICK if self.ties else random.random() * 0.01
        everybody = random.random() < 0.3
        region = random.choice(_REGIONS)
        for rank in self.alive if everybody else [random.choice(self.alive)]:
            self.builder[rank].compute(round(seconds, 9), region)
            if random.random() < 0.2:
                self.builder.declare(rank, region=region, flops=round(seconds * 2.0**30))

    def message(self) -> None:
        """Add one message, with any kind of send and receive."""
        random = self.random
        here, there = self.ends()
        source, dest = random.randrange(len(here.group)), random.randrange(len(there.group))
        tag, nbytes = random.randrange(2), random.choice(_SIZES)
        inter = 0 if here is there else Flag.INTER
        flags = random.choice(_MODES) | random.choice((0, 0, Flag.PERSISTENT)) | inter
        sender, receiver = here.group[source], there.group[dest]
        # A rank that sends to itself must not block.
        if random.random() < 0.5 or sender == receiver:
            self.open[sender].append(self.builder[sender].isend(dest, nbytes, tag, here.index, flags))
        else:
            self.builder[sender].send(dest, nbytes, tag, here.index, flags)
        self.receive(receiver, source, tag, there.index, inter)

    def ends(self) -> tuple[Comm, Comm]:
        """Return the sender's and the receiver's communicator: the same one, or both sides of an intercommunicator."""
        if self.inter and self.random.random() < 0.3:
            near, far = self.random.choice(self.inter)
            return (near, far) if self.random.random() < 0.5 else (far, near)
        comm = self.random.choice(self.comms)
        return comm, comm

    def receive(self, rank: int, source: int, tag: int, comm: int, inter: int) -> None:
        """Add a receive of any kind: blocking, nonblocking, after probes or matched by a probe."""
        random, builder = self.random, self.builder[rank]
        flags = inter | random.choice((0, 0, Flag.ANY_SOURCE, Flag.ANY_SOURCE | Flag.ANY_TAG))
        way = random.randrange(5)
        if way == 0:
            flags |= random.choice((0, Flag.PERSISTENT))
            self.open[rank].append(builder.irecv(source, tag, comm, flags))
        elif way == 1:
            for _ in range(random.randrange(1, 3)):
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
        """Add a collective of all members of a communicator."""
        random = self.random
        comm = random.choice(self.comms)
        op = random.choice((*REGULAR, *IRREGULAR, Op.COMM))
        root = random.randrange(len(comm.group)) if op in ROOTED else 0
        nonblocking = random.random() < 0.3
        nbytes = random.choice((0, 8, 1000, 40000))
        # Pickled objects give regular collectives different sizes, too.
        uneven = op in IRREGULAR or random.random() < 0.2
        how = random_manner(random)
        for rank in comm.group:
            mine = random.choice(_SIZES) if uneven else nbytes
            extras = [random.choice(_SIZES) for _ in comm.group] if op is Op.ALLTOALLV else ()
            builder = self.builder[rank]
            if nonblocking:
                self.open[rank].append(builder.icollective(op, mine, root, comm.index, extras, **how))
            else:
                builder.collective(op, mine, root, comm.index, extras, **how)

    def neighbors(self) -> None:
        """Add a neighbourhood collective on a ring or a random graph with loops, double edges and isolated ranks."""
        random = self.random
        comm = random.choice(self.comms)
        size, nbytes = len(comm.group), random.choice(_SIZES)
        edges = [(at, (at + step) % size) for at in range(size) for step in (-1, 1)]
        if random.random() < 0.5:
            edges = [(random.randrange(size), random.randrange(size)) for _ in range(random.randrange(2 * size))]
        nonblocking = random.random() < 0.3
        for position, rank in enumerate(comm.group):
            dests = [dest for source, dest in edges if source == position]
            sources = [source for source, dest in edges if dest == position]
            entries = (len(dests), *dests, *(nbytes for _ in dests), len(sources), *sources)
            if nonblocking:
                self.open[rank].append(self.builder[rank].icollective(Op.NEIGHBOR, 0, 0, comm.index, entries))
            else:
                self.builder[rank].collective(Op.NEIGHBOR, 0, 0, comm.index, entries)

    def remote(self) -> None:
        """Add one-sided operations: of all members between fences, of one under locks, or left open."""
        comm = self.random.choice(self.comms)
        way = self.random.randrange(4)
        if way == 0:
            for rank in comm.group:
                self.builder[rank].wait(*self.accesses(rank, comm))
                self.builder[rank].collective(Op.BARRIER, comm=comm.index)
            return
        rank = self.random.choice(comm.group)
        if way == 1:
            self.open[rank] += self.accesses(rank, comm)
            return
        size, builder = len(comm.group), self.builder[rank]
        targets = range(size) if way == 2 else [self.random.randrange(size)]
        lock = Access.SHARED_LOCK if way == 2 else self.random.choice((Access.SHARED_LOCK, Access.EXCLUSIVE_LOCK))
        builder.wait(*(builder.rma(each, 0, 0, lock, comm.index) for each in targets))
        if self.random.random() < 0.5:
            builder.compute(_TICK)
        done = self.accesses(rank, comm)
        builder.wait(*done, *(builder.rma(each, 0, 0, Access.UNLOCK, comm.index) for each in targets))

    def accesses(self, rank: int, comm: Comm) -> list[int]:
        """Add some operations on the memory of members or of nobody; return their requests.

        A few release a lock that they may not hold.
        """
        random, targets = self.random, (*range(len(comm.group)), PROC_NULL)
        return [
            self.builder[rank].rma(
                random.choice(targets),
                random.choice(_SIZES),
                random.choice(_SIZES),
                random.choice((*[Access.DATA] * 6, *[Access.DIRECT] * 4, Access.UNLOCK)),
                comm.index,
            )
            for _ in range(random.randrange(1, 4))
        ]

    def sendrecv(self) -> None:
        """Add a cyclic shift in a communicator."""
        comm = self.random.choice(self.comms)
        nbytes, size = self.random.choice(_SIZES), len(comm.group)
        for position, rank in enumerate(comm.group):
            dest, source = (position + 1) % size, (position - 1) % size
            self.builder[rank].sendrecv(dest, nbytes, source, comm=comm.index)

    def wait(self) -> None:
        """Add a wait for some of a rank's requests."""
        rank = self.random.choice(self.alive)
        open_ = self.open[rank]
        if open_:
            some = self.random.sample(open_, self.random.randrange(1, len(open_) + 1))
            self.open[rank] = [each for each in open_ if each not in some]
            self.builder[rank].wait(*some)

    def odds(self) -> None:
        """Add a rare op: polls, packing, null partners, cancelled or unresolved receives, calls that cost nothing."""
        random = self.random
        builder = self.builder[random.choice(self.alive)]
        peer = random.randrange(len(self.comms[0].group))
        way = random.randrange(11)
        if way == 0:
            builder.add(Op.POLL, peer=peer)
        elif way == 1:
            builder.add(Op.POLL, peer=ANY)
        elif way == 2:
            builder.add(Op.PACK, nbytes=random.choice(_SIZES))
        elif way == 3:
            builder.send(PROC_NULL, 1000)
            builder.recv(PROC_NULL)
        elif way == 4:
            builder.add(Op.IRECV, peer=random.choice((peer, ANY)), request=_CANCELLED_REQUEST, flags=Flag.CANCELLED)
            builder.wait(_CANCELLED_REQUEST)
        elif way == 5:
            builder.add(random.choice((Op.RECV, Op.PROBE)), peer=ANY, tag=ANY, flags=Flag.ANY_SOURCE)
        elif way == 6:
            builder.wait(builder.irecv(ANY, flags=Flag.ANY_SOURCE))
        elif way == 7:
            # The children were not recorded.
            builder.add(Op.SPAWN, nbytes=1, extras=random.choice(((), (0,), (7,))))
        elif way == 8:
            builder.add(Op.OTHER, call="Win.Put", took=random.randrange(1000))
        elif way == 9:
            builder.add(Op.SLEEP, nbytes=random.randrange(5_000_000))
        else:
            builder.add(Op.LOCAL)


def random_trace(random: Random, *, ties: bool, spoilt: bool = False) -> Trace:
    """Return a random program.

    Args:
        random: The source of all choices.
        ties: Whether many events fall on equal times.
        spoilt: Whether one op is left out, so that the program may deadlock.
    """
    maker = ProgramMaker(random, random.choice((1, 2, 2, 3, 4, 5, 8)), ties)
    if spoilt:
        maker.make(random.randrange(5, 25))
        rows = maker.builder[random.choice(maker.alive)].rows
        kept = [row for row in rows if row[-1] in {Op.SEND, Op.RECV, Op.SPAWN, Op.RMA}]
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
    link = Link(_curve(random, ties), _curve(random, ties), _delay(random, ties), limit)
    return replace(
        link,
        # The busy time may be longer or shorter than the message's travel.
        busy=random.choice((None, None, _curve(random, ties), Curve.line(_TICK, 2.0**-18))),
        send_overhead=random.choice((None, None, Curve.line(0.0), Curve.line(_delay(random, ties)))),
        receive_overhead=random.choice((None, None, 0.0, 3 * _delay(random, ties))),
        acknowledged_from=random.choice((None, None, 0, 1, 1000, 2000)),
        bucket=random.choice((0.0, 0.0, 1500.0, 20_000.0)),
        copy_time=random.choice((None, None, _curve(random, ties))),
        rendezvous=random.choice((Rendezvous.WRITE, Rendezvous.READ)),
    )


#: Small blocks run at half the speed.
_BY_SIZE = SpeedCurve.through([(2.0**18, 2.0**29), (2.0**24, 2.0**30)])


def _node_type(random: Random, name: str, ties: bool, plain: bool) -> NodeType:
    domains = random.choice((1, 1, 2))
    factor = random.choice((0, 0.5, 1, 2)) if ties else random.choice((0, 1, 0.3 + random.random()))
    shared = (
        {}
        if plain
        else {
            "memory_contention": random.choice(({}, {2: {"": 0.75}, 3: {"": 0.5, "solve": 0.9}})),
            "background_load": random.choice((0.0, 0.0, 1.0, 0.5)),
            # Files cannot state slices so short that a burst has more of them than a float can count.
            "time_slice": random.choice((0.0, _TICK if ties else 1e-9 + 1e-3 * random.random())),
            "waiting": random.choice((Waiting.YIELD, Waiting.YIELD, Waiting.POLL)),
        }
    )
    return NodeType(
        name,
        processors=random.choice((2, 4)) if domains > 1 else random.choice((1, 2, 4)),
        domains=domains,
        performance_factor=factor,
        performance_factors=random.choice(({}, {"solve": 0.25})),
        packing_delay=random.choice((0.0, 2.0**-24)),
        reduction_delay=random.choice((0.0, 2.0**-24, 1e-9)),
        speeds=random.choice(({}, {}, {"assemble": 2.0**30}, {"assemble": _BY_SIZE})),
        cold_start=ColdStart() if plain else _cold_start(random, ties),
        copy_bandwidth=None if plain else random.choice((None, None, 2.0**18, 2.0**22)),
        spawn_delay=_delay(random, ties),
        initialisation_delay=_delay(random, ties),
        **shared,  # type: ignore[arg-type]
    )


def _cold_start(random: Random, ties: bool) -> ColdStart:
    wait = _delay(random, ties)
    # No file states a wait so short that the slope is infinite.
    points = [(wait if wait > 1e-30 else 0.0, 0.5 * _TICK), (0.02, _TICK + _delay(random, ties))]
    return random.choice((ColdStart(), ColdStart(), ColdStart.through(points, random.choice((0.25, 1.0, 4.0)))))


def _contention(random: Random, kind: str) -> Contention:
    models: dict[str, Callable[[], Contention]] = {
        "none": NoContention,
        "factor": lambda: FactorTable(
            random.choice((((1, 1.0), (3, 2.0)), ((1, 1.0), (2, 1.3), (5, 1.9)), ((1, 1.0),)))
        ),
        "ports": lambda: Ports(random.choice((None, None, Curve.line(0.001, 1e-7)))),
        "flows": lambda: Flows(_topology(random), random.random() < 0.5),
    }
    return models[kind]()


def _topology(random: Random) -> Topology:
    """Return a network with room for eight nodes."""
    bandwidth = random.choice((1e5, 1e6, 3e6))
    return random.choice(
        (
            Switch(bandwidth),
            Switches(random.choice((1, 2, 3)), bandwidth, random.choice((1.0, 2.0)), random.choice((0.0, 0.0, 0.001))),
            FatTree((4, 2), (1, 2), (1, 1), (bandwidth, 2 * bandwidth)),
            Torus(random.choice(((8,), (3, 3), (2, 2, 2))), bandwidth),
            Dragonfly(2, 2, 2, bandwidth, 2 * bandwidth, 1.5 * bandwidth),
        )
    )


def random_machine(random: Random, kind: str, *, ties: bool, plain: bool = False) -> Machine:
    """Return a random machine.

    Args:
        random: The source of all choices.
        kind: Model of contention: none, factor, ports or flows.
        ties: Whether many events fall on equal times.
        plain: Whether ranks are coupled by messages only, and nothing changes over time.
    """
    names = ("fast", "slow")[: random.randrange(1, 3)]
    contention = _contention(random, kind)
    library = random.choice(("mpich", "openmpi"))
    progress = random.choice((Progress.ASYNCHRONOUS, Progress.ASYNCHRONOUS, Progress.CALLS))

    def state() -> dict[str, NodeType]:
        return {name: _node_type(random, name, ties, plain) for name in names}

    def network() -> Network:
        between = _link(random, ties)
        pairs = {}
        if len(names) == 2 and random.random() < 0.5:
            pairs = {("fast", "slow"): _link(random, ties)}
        table = _contention(random, kind) if kind == "factor" else contention
        stated = random.choice(({}, {"allreduce": "ring"}, {"bcast": "root_node_first", "scan": "node_leaders"}))
        choices = {name: AlgorithmChoice(((float("inf"), algorithm),)) for name, algorithm in stated.items()}
        across = random.choice((None, _link(random, ties)))
        return Network(between, _link(random, ties), pairs, {}, table, choices, library, progress, across)

    types = state()
    order = tuple(random.choice(names) for _ in range(random.choice((1, 2, 3, 5, 8))))
    changes = []
    base = network()
    for i in range(0 if plain else random.choice((0, 0, 0, 1, 2))):
        changed = state()
        changed = {
            name: replace(each, processors=types[name].processors, domains=types[name].domains)
            for name, each in changed.items()
        }
        later = replace(network(), within={}, collectives=base.collectives)
        changes.append((0.004 * (i + 1), Machine("later", tuple(changed[name] for name in order), later)))
    return Machine("random", tuple(types[name] for name in order), base, tuple(changes))


def random_placement(random: Random, machine: Machine, ranks: int) -> list[int]:
    """Return a random node for each rank; several ranks may share a processor."""
    return [random.randrange(len(machine.nodes)) for _ in range(ranks)]
