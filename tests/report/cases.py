"""Results, rankings and machines with round figures, written by hand."""

from __future__ import annotations

import csv
from dataclasses import replace
from io import StringIO

import numpy as np
from rich.console import Console, RenderableType

from clue.analysis.scaling import Series
from clue.machine import ColdStart, Curve, FactorTable, Link, Machine, Network, NodeType
from clue.predict.prediction import Prediction
from clue.purchase import ComponentOutcome, Criterion, Entry, Ranking, WorkloadOutcome
from clue.result import SEGMENT, Activity, RankResult, Result, Timeline, Traffic, Unmodelled
from clue.trace import Op, Trace, TraceBuilder
from clue.units import Money

BUDGET = Money(300_000, "ATS")


def timeline() -> Timeline:
    """Return the timeline of :func:`result`: rank 0 computes, sends and waits, rank 1 computes and waits."""
    segments = [
        (0, Activity.COMPUTE, 0, 0, 0.0, 2.0),
        (0, Activity.SEND, 0, 0, 2.0, 3.0),
        (0, Activity.WAIT, 0, 0, 3.0, 4.0),
        (1, Activity.COMPUTE, 1, 0, 0.0, 1.0),
        (1, Activity.WAIT, 0, 0, 1.0, 3.0),
    ]
    return Timeline(np.array(segments, SEGMENT), ("", "solve"))


def result() -> Result:
    """Return a result of two ranks that compute, communicate and wait: 4 s = 2 + 1 + 1 and 3 s = 1 + 0 + 2."""
    return Result(
        makespan=4.0,
        engine="reference",
        ranks=(RankResult(0, 0, 4.0, 2.0, 1.0, 1.0), RankResult(1, 1, 3.0, 1.0, 0.0, 2.0)),
        warnings=("pair: no contention is stated",),
        unmodelled=(Unmodelled("Win.Put", 3, 0.5),),
        compute_by_region={"": 2.0, "solve": 1.0},
        ops=7,
        timeline=timeline(),
        traffic=Traffic(np.array([[0, 5], [0, 0]]), np.array([[0, 4000], [0, 0]])),
    )


def many_ranks(ranks: int) -> Result:
    """Return a result whose rank r computes for r + 1 s and does nothing else."""
    times = [rank + 1.0 for rank in range(ranks)]
    segments = np.array([(r, Activity.COMPUTE, 0, 0, 0.0, time) for r, time in enumerate(times)], SEGMENT)
    nbytes = np.full((ranks, ranks), 1000)
    return Result(
        makespan=float(ranks),
        engine="reference",
        ranks=tuple(RankResult(r, r, time, time, 0.0, 0.0) for r, time in enumerate(times)),
        timeline=Timeline(segments, ("",)),
        traffic=Traffic(np.ones_like(nbytes), nbytes),
    )


def workload(name: str, points: float | None = 50.0, kernels: tuple[str, ...] = ("solve",)) -> WorkloadOutcome:
    """Return an outcome of kernels that take two turns of 4 s each, on 3 × 6 processors with 2 idle."""
    each = None if points is None else points / len(kernels)
    return WorkloadOutcome(
        workload=name,
        makespan=8.0 * len(kernels),
        throughput=6 / (8.0 * len(kernels)),
        side_by_side=3,
        ranks=6,
        turns=2,
        idle=2,
        points=points,
        components=tuple(ComponentOutcome(kernel, 8.0, each, Prediction.of(result())) for kernel in kernels),
    )


def entry(option: str, position: int, score: float, price: float) -> Entry:
    """Return an option with a position; the points of its two workloads add up to its score."""
    workloads = (workload("small", score / 4), workload("large", score * 3 / 4, ("cholesky", "reduce")))
    return Entry(option, f"{option} machine", Money(price, "ATS"), True, position, score, "", workloads)


def ranking() -> Ranking:
    """Return an unordered ranking: two options with a position, one that cannot run, one over the budget."""
    return Ranking(
        scenario="which-cluster",
        criterion=Criterion.POINTS,
        unit="points",
        higher_is_better=True,
        budget=BUDGET,
        entries=(
            Entry("Gold", "gold", Money(500_000, "ATS"), False, None, None, "costs more than the budget", ()),
            entry("Fine", 2, 83.0, 298_500.5),
            Entry("Small", "small", None, True, None, None, "large: a rank needs 900 MB", ()),
            entry("Cheap", 1, 195.0, 295_000),
        ),
        warnings=("Cheap: curve from published values",),
    )


def by_makespan() -> Ranking:
    """Return a ranking by makespan in seconds, without points or budget."""
    entries = tuple(
        Entry(name, name, None, True, i + 1, 8.0 + i, "", (workload("large", None),))
        for i, name in enumerate(("[red]first[/red]", "a $trange $ second with a name that does not fit on a line"))
    )
    return Ranking("by time", Criterion.MAKESPAN, "s", False, None, entries, ())


def machine() -> Machine:
    """Return a machine with two nodes of one type and one of another, and with every kind of link parameter.

    Its links have a line, points, pairs and an eager limit.
    """
    line = Link(Curve.line(10e-6, 1e-9), Curve.through([(0, 40e-6), (1000, 50e-6), (1_000_000, 9e-3)]), 5e-6, 64_000)
    zero = Link(Curve.line(0.0), Curve.line(0.0, 1e-9))
    pc = NodeType("pc", processors=2, memory=256e6, price=Money(20_000, "ATS"))
    big = replace(pc, name="big", performance_factor=0.0, memory_contention={2: {"": 0.8}}, background_load=0.5)
    big = replace(big, cold_start=ColdStart.through([(1e-4, 15e-6), (1e-2, 75e-6)], 0.5))
    pairs = {("pc", "big"): zero, ("big", "pc"): zero, ("big", "big"): line}
    contention = FactorTable(((1, 1.0), (4, 1.5)))
    return Machine(
        name="mixed",
        nodes=(pc, pc, big),
        network=Network(line, zero, pairs=pairs, within={"big": line}, contention=contention),
        changes=((10.0, Machine("later", (pc, pc, big), Network(zero, zero))),),
        price=Money(90_000, "ATS"),
        source="by hand",
        notes=("made up for a test",),
    )


def trace() -> Trace:
    """Return a trace of three ranks: a burst, a message, an exchange, an unmodelled call and an Alltoallv."""
    built = TraceBuilder(3, "program.py")
    built[0].compute(1.5, "solve")
    built[0].send(1, 1000)
    built[1].recv(0)
    for one, other in ((0, 1), (1, 0)):
        built[one].add(Op.IRECV, call="Sendrecv", peer=other, request=0, took=1_000_000)
        built[one].add(Op.ISEND, call="Sendrecv", peer=other, request=1, nbytes=500, flags=1, took=2_000_000)
        built[one].add(Op.WAIT, call="Sendrecv", extras=(0, 1), flags=1, took=3_000_000)
    built[2].add(Op.OTHER, call="Win.Put", took=500_000_000)
    built.communicator((0, 2), "Split")
    for rank in built:
        rank.collective(Op.ALLTOALLV, extras=(10, 20, 30))
    built.declare(0, region="solve", flops=3e9, peak_memory=100_000_000)
    return built.build()


def rendered(text: RenderableType | None, width: int = 100) -> str:
    """Return the text as written to a file, without trailing blanks."""
    file = StringIO()
    Console(file=file, width=width).print(text)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines())


def row(text: str, begin: str) -> str:
    """Return the first line that starts with *begin*, with single blanks."""
    return next(line for line in map(" ".join, map(str.split, text.splitlines())) if f"{line} ".startswith(f"{begin} "))


SCALING = (
    Series("Fast Ethernet", ((1, 8.0), (2, 5.0), (4, 2.5))),
    Series("SCI", ((2, 4.0), (4, 2.0))),
)


def read(text: str) -> list[dict[str, str]]:
    """Return the rows of a CSV text."""
    return list(csv.DictReader(StringIO(text)))
