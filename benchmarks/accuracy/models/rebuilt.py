"""Kishimoto's study on an emulated cluster: real runs of an LU, models of them, and real runs of all candidates.

``python -m benchmarks.accuracy.models.rebuilt FOLDER [-o FILE.md] [--smoke]`` (root; some 12 minutes)

One fast node and four slow ones with two processors each (``benchmarks/testbed/machines/one-fast-four-dual.yaml``) run
``benchmarks/accuracy/programs/lu.py`` with MPICH over TCP. Models are fitted to the sets Basic and NL, and choose
processors and processes on each at the largest size, where every candidate is also run; replays of recordings choose
as well. Results in FOLDER are not measured again. ``--smoke`` does everything with a few tiny runs, whose figures are
meaningless.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from pathlib import Path

from benchmarks.accuracy.validate.cases import MACHINES, PROGRAMS
from benchmarks.accuracy.validate.figures import kendall
from benchmarks.accuracy.validate.measured import MeasurementFolder
from benchmarks.accuracy.validate.predicting import FACTOR, said_by
from benchmarks.accuracy.validate.sections import section
from benchmarks.page import markdown_table, processor, revision
from benchmarks.progress import tell
from benchmarks.testbed import launch
from benchmarks.testbed.description import Host, hosts_of
from clue.config import load_machine
from clue.errors import ClueError
from clue.kernel import Program, compile_program, simulate
from clue.machine import Machine, NodeType, Placement
from clue.models import ClusterModel, Composition, Configuration, Method, Run, Use, best, fit_cluster, ranks_of
from clue.models.cluster_fit import COMMUNICATE, COMPUTE
from clue.report.model.text import configuration_text
from clue.trace import Trace

FAST, SLOW = "fast", "slow"
MACHINE = MACHINES / "one-fast-four-dual.yaml"
SLOW_PROCESSORS = 8
#: Models of the fast kind where it has too few measurements: those of the slow one, scaled by their computation alone.
LIKE_SLOW = Composition(SLOW, {COMMUNICATE: 1.0})


@dataclass(frozen=True, slots=True)
class Plan:
    """The runs of the study.

    Attributes:
        sets: Sizes by set, at least four each.
        processes: Largest number of processes on a processor.
        processors: Measured numbers of slow processors, by number of processes.
        candidates: Largest number of slow processors of candidates; the fast one has from none up to the measured
            number of processes.
    """

    sets: Mapping[str, tuple[int, ...]]
    processes: tuple[int, ...]
    processors: Mapping[int, tuple[int, ...]]
    candidates: int

    @property
    def asked(self) -> int:
        """The size at which all candidates are run: the largest."""
        return max(max(sizes) for sizes in self.sets.values())

    def measured(self, name: str) -> Iterator[tuple[int, Configuration]]:
        """Yield the sizes and configurations of a set: on either kind alone."""
        sizes = self.sets[name]
        for m in self.processes:
            yield from ((size, {FAST: Use(1, m)}) for size in sizes)
            yield from ((size, {SLOW: Use(p, m)}) for size in sizes for p in self.processors[m])

    def adjusting(self) -> Iterator[tuple[int, Configuration]]:
        """Yield those that models are adjusted by: most processes on the fast one, half and all slow ones beside."""
        for p in {self.candidates // 2, self.candidates} - {0}:
            yield self.asked, {FAST: Use(1, max(self.processes)), SLOW: Use(p)}

    def choices(self) -> Iterator[Configuration]:
        """Yield the candidates."""
        for m in (0, *self.processes):
            for p in range(self.candidates + 1):
                if m or p:
                    yield {**({FAST: Use(1, m)} if m else {}), **({SLOW: Use(p)} if p else {})}


#: The paper's sets have 9 and 4 sizes, up to 6 processes, and 62 candidates.
FULL = Plan(
    {"Basic": (192, 256, 384, 512, 640, 768), "NL": (384, 512, 640, 768)},
    (1, 2, 3),
    {1: (1, 2, 4, 8), 2: (1, 2, 3, 4), 3: (1, 2, 3, 4)},
    SLOW_PROCESSORS,
)
SMOKE = Plan({"NL": (96, 128, 160, 192)}, (1,), {1: (1, 2)}, 1)


@dataclass
class Cluster:
    """Real runs, each made once.

    Attributes:
        folder: Keeps their times.
    """

    folder: MeasurementFolder
    _standing: ExitStack = field(default_factory=ExitStack)
    _built: dict[tuple[int, int], tuple[str, tuple[Host, ...]]] = field(default_factory=dict)

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        self._standing.close()

    def run(self, size: int, uses: Configuration) -> Run:
        """Return a run: the time of its section, divided into the mean computation of a rank, and the rest."""
        name = f"lu-{size}-" + "-".join(f"{kind}-{use.processors}x{use.processes}" for kind, use in uses.items())
        kept = self.folder.get(name, partial(self._measure, size, uses))
        parts = {COMPUTE: kept["compute"], COMMUNICATE: max(kept["seconds"] - kept["compute"], 0.0)}
        return Run(float(size), uses, kept["seconds"], parts if len(uses) == 1 else {})

    def _measure(self, size: int, uses: Configuration) -> dict[str, float]:
        tell(f"running lu {size} on {configuration_text(uses)}")
        where, placement = placed(uses)
        name, hosts = self._testbed(where, uses)
        command = [sys.executable, str(PROGRAMS / "lu.py"), str(size)]
        outcome = launch.run(name, [hosts[node] for node in placement.nodes], command, timeout=300)
        compute = statistics.fmean(rank.burst_wall for rank in outcome.ranks)
        return {"seconds": float(said_by(outcome)["seconds"]), "compute": compute}

    def _testbed(self, where: Machine, uses: Configuration) -> tuple[str, tuple[Host, ...]]:
        """Return a testbed with its processors divided as requested; only one exists at a time."""
        fast, slow = (uses[kind].processes if kind in uses else 1 for kind in (FAST, SLOW))
        key = fast, slow
        if key not in self._built:
            self._standing.close()
            self._built.clear()
            hosts = hosts_of(where)
            self._built[key] = self._standing.enter_context(launch.standing("one_fast_four_dual", hosts)), hosts
        return self._built[key]


def placed(uses: Configuration) -> tuple[Machine, Placement]:
    """Return the machine with its processors divided among their processes, and the node of each rank.

    A processor that M processes share becomes M processors of an M-th of its speed: idle time of one is not available
    to the others.
    """

    def divided(node: NodeType) -> NodeType:
        m = uses[node.name].processes if node.name in uses else 1
        return replace(node, processors=node.processors * m, performance_factor=node.performance_factor * m)

    machine = load_machine(MACHINE)
    left = {kind: use.processors for kind, use in uses.items()}
    nodes: list[int] = []
    for i, node in enumerate(machine.nodes):
        taken = min(left.get(node.name, 0), node.processors)
        if taken:
            left[node.name] -= taken
            nodes += [i] * (taken * uses[node.name].processes)
    return machine.map(divided), Placement(tuple(nodes))


@dataclass(frozen=True, slots=True)
class Replays:
    """Recordings of the program at a size, on one host of this computer that takes all ranks; and replays of them."""

    folder: Path
    size: int
    programs: dict[int, Program] = field(default_factory=dict)

    def seconds(self, uses: Configuration) -> float:
        """Return the time of a replay there, with the stated links and processors of exactly their factor, seconds."""
        ranks = ranks_of(uses)
        if ranks not in self.programs:
            self.programs[ranks] = compile_program(section(self._trace(ranks)))
        machine, placement = placed(uses)
        return simulate(self.programs[ranks], machine, placement).makespan

    def _trace(self, ranks: int) -> Trace:
        file = self.folder / f"lu-{self.size}-{ranks}.clue"
        if not file.exists():
            tell(f"recording lu {self.size} on {ranks} ranks")
            draft = file.with_suffix(".draft")
            shutil.rmtree(draft, ignore_errors=True)
            host = Host(index=0, factor=FACTOR, processors=ranks, background=0, bandwidth=None)
            layer = [sys.executable, "-m", "virtual_layer", "-o", str(draft.resolve())]
            with launch.standing("recording", [host]) as testbed:
                command = [*layer, str(PROGRAMS / "lu.py"), str(self.size)]
                launch.run(testbed, [host] * ranks, command, timeout=300)
            draft.rename(file)
        return Trace.open(file)


@dataclass(frozen=True, slots=True)
class Choice:
    """The choice of a predictor at the size at which all candidates were run.

    Attributes:
        by: The set and the method, or replays.
        uses: Its choice.
        predicted: Its predicted time, seconds.
        measured: Its measured time, seconds.
        loss: Extra time relative to the best candidate.
        tau: Kendall's tau of predicted and measured times of candidates.
        inside: Whether it reports its choice as within its fitted range.
    """

    by: str
    uses: Configuration
    predicted: float
    measured: float
    loss: float
    tau: float
    inside: bool


def choices(plan: Plan, cluster: Cluster, replays: Replays) -> tuple[list[Choice], list[Run]]:
    """Return the choices of models and replays, and the candidates, the best first."""
    fitted = list(_models(plan, cluster))
    ran = sorted((cluster.run(plan.asked, uses) for uses in plan.choices()), key=lambda run: run.seconds)
    found = [_by_model(name, model, plan, ran) for name, model in fitted]
    return [*found, _by_replays(replays, ran)], ran


def _models(plan: Plan, cluster: Cluster) -> Iterator[tuple[str, ClusterModel]]:
    """Yield models of all sets, fitted plainly as in the paper, and relatively as in clue."""
    adjusting = [cluster.run(*each) for each in plan.adjusting()]
    for name in plan.sets:
        runs = [*(cluster.run(*each) for each in plan.measured(name)), *adjusting]
        for plain, how in ((True, "plainly"), (False, "relatively, not below 0")):
            model = fit_cluster(runs, Method(plain=plain), compositions={FAST: LIKE_SLOW}, adjusted=FAST)
            yield f"{name}, {how}", model


def _by_model(name: str, model: ClusterModel, plan: Plan, ran: Sequence[Run]) -> Choice:
    available = {FAST: 1, SLOW: plan.candidates}
    found = best(model, plan.asked, available, processes={SLOW: (1,)}).best
    said = [
        (model.predict(run.size, run.uses).seconds, run.seconds) for run in ran if model.answers(run.size, run.uses)
    ]
    measured = next(run.seconds for run in ran if run.uses == found.uses)
    return Choice(
        name, found.uses, found.forecast.seconds, measured, measured / ran[0].seconds - 1, kendall(said),
        found.forecast.inside,
    )  # fmt: skip


def _by_replays(replays: Replays, ran: Sequence[Run]) -> Choice:
    said = [(replays.seconds(run.uses), run.seconds) for run in ran]
    predicted, measured = min(said)
    chosen = ran[said.index((predicted, measured))]
    return Choice("replays", chosen.uses, predicted, measured, measured / ran[0].seconds - 1, kendall(said), True)


def page(plan: Plan, found: Sequence[Choice], ran: Sequence[Run], command: str) -> str:
    """Return the page."""
    lines = [
        "# Kishimoto's study on an emulated cluster",
        "",
        f"`{command}` wrote this page on {date.today().isoformat()}: {processor()}, clue {revision()}.",
        "",
        *_HEAD.format(size=plan.asked, candidates=len(ran)).splitlines(),
        "",
        *markdown_table(
            ("chosen by", "processors", "predicted", "takes", "loss", "order (tau)", "inside of what was fitted"),
            [
                (
                    each.by, configuration_text(each.uses), f"{each.predicted:.2f} s", f"{each.measured:.2f} s",
                    f"{each.loss:.1%}", f"{each.tau:.2f}", "yes" if each.inside else "no",
                )
                for each in found
            ],
        ),
        "",
        f"## All candidates at N = {plan.asked}",
        "",
        *markdown_table(
            ("processors", "takes"), [(configuration_text(run.uses), f"{run.seconds:.2f} s") for run in ran]
        ),
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


_HEAD = """\
One fast node (half of a core) and four slow ones of two processors (an eighth of a core each), 200 Mbit/s Ethernet,
MPICH over TCP, and an LU of complex elements: all runs are real. A processor that M processes share is M processors
of an M-th of its speed. Models are fitted to single runs of the sets, on either kind of processor alone; where the
fast one was measured too little they are the slow one's, scaled by what both compute alone; and they are adjusted
by two runs on both. At N = {size} all {candidates} candidates were run, once: the loss is how much longer the
choice takes than the best of them. Replays are of one recording on this computer for each number of ranks, with
nominal factors and links."""


def main() -> int:
    """Run the study; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy.models.rebuilt", description=__doc__)
    parser.add_argument("folder", type=Path, help="keep runs and recordings there")
    parser.add_argument("-o", "--output", type=Path, help="the Markdown file (default: standard output)")
    parser.add_argument("--smoke", action="store_true", help="few and tiny runs, to see that it works")
    asked = parser.parse_args()
    plan = SMOKE if asked.smoke else FULL
    asked.folder.mkdir(parents=True, exist_ok=True)
    try:
        with Cluster(MeasurementFolder(asked.folder)) as cluster:
            found, ran = choices(plan, cluster, Replays(asked.folder, plan.asked))
    except ClueError as error:
        print(error, file=sys.stderr)
        return error.exit_status
    text = page(plan, found, ran, f"python -m benchmarks.accuracy.models.rebuilt FOLDER{' --smoke' * asked.smoke}")
    if asked.output is None:
        print(text)
    else:
        asked.output.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
