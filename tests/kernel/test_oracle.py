"""Both engines against the oracle: finish, computation and communication of ranks in random programs and machines."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from math import isclose
from random import Random

import pytest

import clue
from clue.errors import DeadlockError
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
)
from clue.machine.contention.topology import Switch, Switches
from clue.trace import Flag, Op, Trace, TraceBuilder
from tests.kernel.oracle import Oracle, Step, StuckError
from tests.properties import examples

#: Programs for each model of contention. ``CLUE_ORACLE_CASES=3000 pytest tests/kernel/test_oracle.py`` asks for more.
CASES = examples(int(os.environ.get("CLUE_ORACLE_CASES", "100")))
MODELS = ("none", "factor", "ports", "flows")
_MODES = {"": 0, "synchronous": Flag.SYNCHRONOUS, "buffered": Flag.BUFFERED}
_SIZES = (0, 1, 500, 1000, 3000, 8000, 20000)
_BARRIER = {"barrier": AlgorithmChoice(((float("inf"), "dissemination"),))}

Program = list[list[Step]]


# -- machines: generic times, so that no two events coincide ---------------------------------------------------------


def random_curve(random: Random, most: float, *, empty: bool | None = None) -> Curve:
    """Return a rising curve, either a line or one through points, of about *most* seconds at 20 KB.

    *empty* decides whether an empty message takes any time; by default this is random.
    """
    start = (random.random() < 0.5 if empty is None else empty) * (0.01 + random.random()) * most / 5
    if random.random() < 0.5:
        return Curve.line(start, random.random() * most / 20000)
    steps = [random.random() * most / 4 for _ in range(3)]
    return Curve.through(
        [(0, start), (800, start + steps[0]), (4000, start + sum(steps[:2])), (9000, start + sum(steps))]
    )


def random_link(random: Random, most: float = 0.01) -> Link:
    """Return a random link as it may be within a node."""
    receive_delay = (0.01 + random.random()) * most / 10
    overheads = (0.0, random.random() * receive_delay, 3 * random.random() * receive_delay, 2 * random.random() * most)
    return Link(
        random_curve(random, most),
        random_curve(random, most, empty=True),
        receive_delay,
        random.choice((None, 0, 900, 5000)),
        send_overhead=random.choice((None, None, random_curve(random, most / 10), random_curve(random, 3 * most))),
        acknowledged_from=random.choice((None, None, 0, 700, 2000)),
        bucket=random.choice((0.0, 0.0, 0.0, random.uniform(1000, 2000), random.uniform(1.5e4, 2.5e4))),
        receive_overhead=random.choice((None, None, *overheads)),
        copy_time=random.choice((None, None, random_curve(random, most))),
        rendezvous=random.choice(list(Rendezvous)),
    )


def random_link_between(random: Random) -> Link:
    """Return a link between nodes, which may also state a busy time and a bucket."""
    busy = (None, None, Curve.line(0.0), *(random_curve(random, most) for most in (0.01, 0.03, 0.06)))
    depths = (0.0, random.uniform(1000, 2000), random.uniform(15_000, 25_000))
    return replace(random_link(random), busy=random.choice(busy), bucket=random.choice((0.0, 0.0, *depths)))


def random_cold_start(random: Random) -> ColdStart:
    """Return either no cold start or one through random points."""
    if random.random() < 0.5:
        return ColdStart()
    first, second = random.random() * 1e-3, random.random() * 1e-3
    points = [(random.random() * 0.002, first), (0.003 + random.random() * 0.02, first + second)]
    return ColdStart.through(points, random.choice((0.1, 0.5, 3.0)))


def random_node_type(random: Random, name: str) -> NodeType:
    """Return a node type with a processor for each rank."""
    return NodeType(
        name,
        processors=6,
        domains=random.choice((1, 2, 3)),
        performance_factor=random.choice((0.0, 0.5 + random.random())),
        performance_factors=random.choice(({}, {"solve": 0.3 + random.random()})),
        cold_start=random_cold_start(random),
        copy_bandwidth=random.choice((None, (0.1 + random.random()) * 3e7)),
    )


def random_contention(random: Random, model: str) -> Contention:
    """Return a contention model of this name with random figures."""
    if model == "factor":
        return FactorTable(((1, 1.0), (2, 1.0 + random.random()), (4, 2.0 + random.random())))
    if model == "ports":
        return Ports(random.choice((None, None, random_curve(random, 0.02))))
    if model == "flows":
        rate = (0.3 + random.random()) * 3e6
        apart = (random.random() < 0.7) * (0.002 + 0.01 * random.random())
        racks = Switches(random.choice((1, 2)), rate, random.choice((1.0, 1.5 + 8 * random.random())), apart)
        return Flows(random.choice((Switch(rate), racks, racks)), random.random() < 0.5)
    return NoContention()


def random_machine(random: Random, model: str) -> Machine:
    """Return a machine of two to four nodes of one or two types."""
    types = [random_node_type(random, name) for name in ("fast", "slow")]
    pairs = {
        pair: random_link_between(random) for pair in (("fast", "slow"), ("slow", "fast")) if random.random() < 0.4
    }
    network = Network(
        random_link_between(random), random_link(random, 0.001), pairs, {},
        random_contention(random, model), _BARRIER,
        progress=random.choice(list(Progress)),
        across_domains=random.choice((None, random_link(random, 0.002))),
    )  # fmt: skip
    nodes = tuple(random.choice(types[: random.choice((1, 2))]) for _ in range(random.choice((2, 2, 3, 4))))
    return Machine("random", nodes, network)


# -- programs --------------------------------------------------------------------------------------------------------


class ProgramMaker:
    """Writes random programs, step by step for all ranks."""

    def __init__(self, random: Random, ranks: int) -> None:
        self.random = random
        self.program: Program = [[] for _ in range(ranks)]
        self.open: list[list[int]] = [[] for _ in range(ranks)]
        self.requests = 0

    def make(self, steps: int) -> Program:
        """Return a program of this many steps."""
        ways = [self.compute, self.compute, self.sleep, self.message, self.message, self.message, self.exchange]
        for _ in range(steps):
            self.random.choice([*ways, self.wait, self.wait, self.barrier])()
        for rank, requests in enumerate(self.open):
            if requests and self.random.random() < 0.8:
                self.program[rank].append(Step("wait", requests=tuple(requests)))
            self.compute(rank)
        return self.program

    def someone(self) -> int:
        """Choose a rank."""
        return self.random.randrange(len(self.program))

    def compute(self, rank: int | None = None) -> None:
        """Add a burst, but not two in a row in one region, which would count as one."""
        steps = self.program[self.someone() if rank is None else rank]
        region = self.random.choice(("", "solve"))
        if not steps or (steps[-1].kind, steps[-1].region) != ("compute", region):
            nanoseconds = self.random.randrange(1, self.random.choice((10**5, 2 * 10**7)))
            steps.append(Step("compute", nanoseconds=nanoseconds, region=region))

    def sleep(self) -> None:
        """Add a sleep."""
        self.program[self.someone()].append(Step("sleep", nanoseconds=self.random.randrange(1, 10**7)))

    def request(self, rank: int) -> tuple[int, ...]:
        """Return a new request of a rank."""
        self.requests += 1
        self.open[rank].append(self.requests)
        return (self.requests,)

    def message(self) -> None:
        """Add a message whose send comes before its receive in the program's order."""
        source, dest = self.someone(), self.someone()
        self.send(source, dest)
        self.receive(dest, source)

    def exchange(self) -> None:
        """Add an exchange of two ranks that both send before they receive; on some machines this deadlocks."""
        if len(self.program) > 1:
            first, second = self.random.sample(range(len(self.program)), 2)
            size = self.random.choice(_SIZES)
            for here, there in ((first, second), (second, first)):
                blocking = self.random.random() < 0.3
                self.send(here, there, size, blocking=blocking, mode="")
            for here, there in ((first, second), (second, first)):
                self.receive(here, there)

    def send(
        self,
        source: int,
        dest: int,
        nbytes: int | None = None,
        *,
        blocking: bool | None = None,
        mode: str | None = None,
    ) -> None:
        """Add a send in any mode; a send to the same rank never blocks, as it might wait for ever."""
        random = self.random
        size = random.choice(_SIZES) if nbytes is None else nbytes
        how = random.choice(("", "", "", *_MODES)) if mode is None else mode
        blocks = source != dest and (random.random() < 0.6 if blocking is None else blocking)
        tag = random.randrange(2) if nbytes is None else 9
        requests = () if blocks else self.request(source)
        self.program[source].append(Step("send" if blocks else "isend", dest, size, tag, how, requests))
        self.last = tag

    def receive(self, dest: int, source: int) -> None:
        """Add a receive of the message sent last, sometimes after a probe."""
        if self.random.random() < 0.2:
            self.program[dest].append(Step("probe", source, tag=self.last))
        if self.random.random() < 0.6:
            self.program[dest].append(Step("recv", source, tag=self.last))
        else:
            self.program[dest].append(Step("irecv", source, tag=self.last, requests=self.request(dest)))

    def wait(self) -> None:
        """Add a wait for some requests of one rank."""
        rank = self.someone()
        if self.open[rank]:
            some = self.random.sample(self.open[rank], self.random.randrange(1, len(self.open[rank]) + 1))
            self.open[rank] = [each for each in self.open[rank] if each not in some]
            self.program[rank].append(Step("wait", requests=tuple(some)))

    def barrier(self) -> None:
        """Sometimes add a barrier of all ranks."""
        if self.random.random() < 0.3:
            for steps in self.program:
                steps.append(Step("barrier"))


def trace_of(program: Sequence[Sequence[Step]]) -> Trace:
    """Return a program as a trace, which the engines replay."""
    builder = TraceBuilder(len(program))
    for rank, steps in enumerate(program):
        known: dict[int, int] = {}
        it = builder[rank]
        for step in steps:
            flags = int(_MODES[step.mode])
            match step.kind:
                case "compute":
                    it.compute(step.nanoseconds * 1e-9, step.region)
                case "sleep":
                    it.add(Op.SLEEP, nbytes=step.nanoseconds)
                case "send":
                    it.send(step.peer, step.nbytes, step.tag, flags=flags)
                case "isend":
                    known[step.requests[0]] = it.isend(step.peer, step.nbytes, step.tag, flags=flags)
                case "recv":
                    it.recv(step.peer, step.tag)
                case "irecv":
                    known[step.requests[0]] = it.irecv(step.peer, step.tag)
                case "probe":
                    it.add(Op.PROBE, peer=step.peer, tag=step.tag)
                case "wait":
                    it.wait(*(known[request] for request in step.requests))
                case "barrier":
                    it.collective(Op.BARRIER)
    return builder.build()


Figures = list[tuple[float, float, float]] | None


def by_oracle(program: Program, machine: Machine, nodes: Sequence[int], nudges: Random | None = None) -> Figures:
    """Return finish, computation and communication of each rank by the oracle, or None for a deadlock."""
    try:
        ranks = Oracle(program, machine, nodes, nudges).run()
    except StuckError:
        return None
    return [(rank.finish, rank.compute, rank.communicate) for rank in ranks]


def by_engine(program: Program, machine: Machine, nodes: Sequence[int], engine: str) -> Figures:
    """Return finish, computation and communication of each rank by an engine, or None for a deadlock."""
    try:
        result = clue.simulate(trace_of(program), machine, nodes, engine)
    except DeadlockError:
        return None
    return [(rank.finish, rank.compute, rank.communicate) for rank in result.ranks]


def random_case(random: Random, model: str) -> tuple[Program, Machine, list[int]]:
    """Return a random program, a random machine, and the node of each rank."""
    machine = random_machine(random, model)
    ranks = random.choice((2, 2, 3, 4, 5))
    program = ProgramMaker(random, ranks).make(random.randrange(1, 16))
    return program, machine, [random.randrange(len(machine.nodes)) for _ in range(ranks)]


def same(got: Figures, expected: Figures) -> bool:
    """Tell whether two results agree except for rounding."""
    if got is None or expected is None:
        return got is expected
    pairs = zip(chain.from_iterable(got), chain.from_iterable(expected), strict=True)
    return all(isclose(mine, its, rel_tol=1e-9, abs_tol=1e-12) for mine, its in pairs)


@pytest.mark.parametrize("model", MODELS)
def test_engines_say_what_the_table_says(model: str) -> None:
    """Both engines give the figures and deadlocks of the oracle, an independent reading of the model's table."""
    for seed in range(CASES):
        case = random_case(Random(f"{model} {seed}"), model)
        expected = by_oracle(*case)
        for engine in ("reference", "fast"):
            got = by_engine(*case, engine)
            # Where events coincide, the oracle may agree in another of the possible orders.
            others = (by_oracle(*case, Random(i)) for i in range(50))
            assert same(got, expected) or any(same(got, each) for each in others), (seed, engine)
