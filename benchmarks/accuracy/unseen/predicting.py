"""Predictions of a case by the model and by simpler baselines, each from the same computation."""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import yaml

from benchmarks.accuracy.unseen.buying import clue_command
from benchmarks.accuracy.unseen.cases import UnseenProgram
from clue.config import load_machine
from clue.config.model_errors import known_model_error
from clue.execution import run
from clue.kernel import compile_program, simulate
from clue.machine import ColdStart, Link, Machine, NoContention, Placement
from clue.result import Result
from clue.trace import Trace
from clue.uncertainty import typical_recording

_SAMPLES = 100
#: Message size at which the bandwidth of a link is taken, bytes.
_LARGE = 2**20


@dataclass(frozen=True, slots=True)
class Figures:
    """Predictions from one source of computation, seconds.

    Attributes:
        model: Prediction by clue.
        none: Prediction by clue without contention.
        baseline: Computation plus latency + size / bandwidth of messages, without a simulation.
        computation: Computation of the rank that computes longest.
    """

    model: float
    none: float
    baseline: float
    computation: float


@dataclass(frozen=True, slots=True)
class UserPrediction:
    """The prediction of ``clue simulate --samples`` or ``clue run``.

    Attributes:
        makespan: Predicted makespan, seconds.
        low: Lower end of its interval.
        high: Its upper end.
    """

    makespan: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Recorded:
    """A program as a user recorded it.

    Attributes:
        program: The program.
        paths: Paths of its recordings; the one that is used comes first.
    """

    program: UnseenProgram
    paths: tuple[Path, ...]

    @property
    def trace(self) -> Trace:
        """The typical recording."""
        return typical_recording([Trace.open(path) for path in self.paths])

    @property
    def cpu(self) -> npt.NDArray[np.float64]:
        """CPU time of each rank's bursts, seconds, shape (ranks,)."""
        return cpu_of(self.trace)


def cpu_of(trace: Trace) -> npt.NDArray[np.float64]:
    """Return the CPU time of each rank's bursts, seconds, shape (ranks,)."""
    return np.add.reduceat(trace.bursts, trace.head.offsets[:-1], dtype=np.float64) * 1e-9


def by_user(recorded: Recorded, machine: Path) -> UserPrediction:
    """Predict as a user does: with the command, from files."""
    program = recorded.program
    if program.decides:
        ranks = str(recorded.trace.ranks)
        said = clue_command("run", "--machine", str(machine), "-n", ranks, "--json", *program.command)
        makespan = float(json.loads(said)["makespan"])
        reach = known_model_error().of(None).reach
        return UserPrediction(makespan, makespan * math.exp(-reach), makespan * math.exp(reach))
    first, *repeats = (str(path.resolve()) for path in recorded.paths)
    config = machine.with_name(f"{machine.stem}-{program.name}.run.yaml")
    wanted = {"program": {"trace": first, "repeats": repeats} if repeats else {"trace": first}, "machine": machine.name}
    config.write_text(yaml.safe_dump(wanted))
    said = json.loads(clue_command("simulate", str(config), "--samples", str(_SAMPLES), "--engine", "fast", "--json"))
    interval = said["uncertainty"]["makespan"]
    return UserPrediction(said["makespan"], interval["low"], interval["high"])


def figures(recorded: Recorded, machine: Path, factors: npt.ArrayLike = 1.0, *, cold: bool = True) -> Figures:
    """Predict with each rank's bursts multiplied by a factor, relative to the recording and the machine's file.

    Programs that decide by arrival order run live, with bursts of their own: ranks do other work in each run, so these
    bursts are all multiplied by the ratio of total computation.

    Args:
        recorded: The recordings.
        machine: The machine's file.
        factors: Factors of bursts, by rank or for all.
        cold: Whether cold starts are added; bursts of real runs include them already.
    """
    on, trace = load_machine(machine), recorded.trace
    if not cold:
        on = on.map(lambda node: replace(node, cold_start=ColdStart()))
    placement = Placement.block(on, trace.ranks)
    longer = np.broadcast_to(np.asarray(factors, np.float64), trace.ranks)
    trace = _longer(trace, longer)
    slowdown = float(cpu_of(trace).sum() / recorded.cpu.sum())
    program = compile_program(trace)
    result = simulate(program, on, placement, traffic=True)
    free = replace(on, network=replace(on.network, contention=NoContention()))
    computing = cpu_of(trace) * [on.nodes[node].factor("") for node in placement.nodes]
    slower = on.map(lambda node: node.slower(slowdown))
    model = _live(recorded.program, slower, placement) if recorded.program.decides else result.makespan
    return Figures(
        model,
        simulate(program, free, placement).makespan,
        baseline(computing, result, on, placement),
        float(computing.max()),
    )


def _longer(trace: Trace, factors: npt.NDArray[np.float64]) -> Trace:
    counts = np.diff(trace.head.offsets)
    longer = np.rint(trace.bursts * np.repeat(factors, counts))
    bursts = np.where(trace.bursts > 0, np.maximum(longer, 1), 0).astype(np.int64)
    return replace(trace, ops=replace(trace.ops, cpu=bursts), typical=bursts)


def _live(program: UnseenProgram, machine: Machine, placement: Placement) -> float:
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        outcome = run(program.command, len(placement.nodes), machine, placement, stdout=nowhere.fileno())
    return outcome.result.makespan


def baseline(computing: npt.NDArray[np.float64], result: Result, machine: Machine, placement: Placement) -> float:
    """Return the baseline max over ranks r of C(r) + max(S(r), R(r)), as the package's docstring defines it.

    Args:
        computing: Computation of each rank, seconds.
        result: Result of a simulation, used only for the communication matrix.
        machine: The machine of that simulation.
        placement: Node of each rank.
    """
    assert result.traffic is not None
    ranks = range(len(computing))
    taken = np.zeros((len(computing), len(computing)))
    for sender in ranks:
        for receiver in ranks:
            messages = int(result.traffic.messages[sender, receiver])
            if messages:
                nodes = placement.nodes[sender], placement.nodes[receiver]
                link = _link(machine, *nodes)
                nbytes = float(result.traffic.nbytes[sender, receiver])
                taken[sender, receiver] = messages * link.one_way(0) + nbytes * _per_byte(link)
    messages_of = np.maximum(taken.sum(axis=1), taken.sum(axis=0))
    return float((computing + messages_of).max())


def _link(machine: Machine, one: int, other: int) -> Link:
    names = machine.nodes[one].name, machine.nodes[other].name
    return machine.network.link(*names, same_node=one == other)


def _per_byte(link: Link) -> float:
    return (link.one_way(_LARGE) - link.one_way(0)) / _LARGE
