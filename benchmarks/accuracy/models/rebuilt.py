"""Kishimoto's study on an emulated cluster: real runs of an LU, models of them, and real runs of all candidates.

``python -m benchmarks.accuracy.models.rebuilt FOLDER [-o FILE.md] [--smoke]`` (root; some 20 minutes)

One fast node and four slow ones with two processors each (``benchmarks/testbed/machines/one-fast-four-dual.yaml``) run
``benchmarks/accuracy/programs/lu.py`` with MPICH over TCP. Models are fitted to the sets Basic, NL and NS. They choose
processors and the number of processes on each at the largest size of the first two sets, and at one size beyond all
sets. Every candidate is also run at these sizes, and replays of recordings choose as well. The page shows what ``clue
model best`` prints beside these runs. Results in FOLDER are not measured again. ``--smoke`` does everything with a few
tiny runs, whose figures are meaningless.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from pathlib import Path

from benchmarks.accuracy.models.kishimoto import table
from benchmarks.accuracy.validate.cases import MACHINES, PROGRAMS
from benchmarks.accuracy.validate.figures import tau_text
from benchmarks.accuracy.validate.measured import MeasurementFolder
from benchmarks.accuracy.validate.predicting import FACTOR, said_by
from benchmarks.accuracy.validate.sections import section
from benchmarks.command import with_status
from benchmarks.page import ROOT, markdown_table, processor, revision, write_page
from benchmarks.progress import tell
from benchmarks.testbed import launch
from benchmarks.testbed.description import Host, hosts_of
from clue.config import load_machine
from clue.errors import UsageError
from clue.kernel import Program, compile_program, simulate
from clue.machine import Machine, NodeType, Placement
from clue.models import ClusterModel, Composition, Configuration, Method, Run, Use, best, fit_cluster, ranks_of
from clue.models.cluster_fit import COMMUNICATE, COMPUTE
from clue.models.terms import RANKS, SIZE
from clue.report.model.text import configuration_text
from clue.trace import Trace
from clue.validation.figures import kendall_tau

FAST, SLOW = "fast", "slow"
MACHINE = MACHINES / "one-fast-four-dual.yaml"
SLOW_PROCESSORS = 8
#: The fast kind has too few measurements: its models are those of the slow one, scaled by their computation alone.
LIKE_SLOW = Composition(SLOW, {COMMUNICATE: 1.0})
#: Candidates that are chosen, or within this share of the best in one run, are run this often; the median counts.
TURNS, CLOSE = 3, 0.1
#: Number of configurations from the output of ``clue model best`` that the page shows.
SHOWN = 10


@dataclass(frozen=True, slots=True)
class Plan:
    """The runs of the study.

    Attributes:
        sets: Sizes by set, at least four each.
        processes: Largest number of processes on a processor.
        processors: Measured numbers of slow processors, by number of processes.
        candidates: Largest number of slow processors of candidates. The fast one has between no process and the largest
            measured number of processes.
        asked: Sizes at which all candidates are run.
    """

    sets: Mapping[str, tuple[int, ...]]
    processes: tuple[int, ...]
    processors: Mapping[int, tuple[int, ...]]
    candidates: int
    asked: tuple[int, ...]

    def measured(self, name: str) -> Iterator[tuple[int, Configuration]]:
        """Yield the sizes and configurations of a set, each on one kind of processor alone."""
        sizes = self.sets[name]
        for m in self.processes:
            yield from ((size, {FAST: Use(1, m)}) for size in sizes)
            yield from ((size, {SLOW: Use(p, m)}) for size in sizes for p in self.processors[m])

    def adjusting(self, name: str) -> Iterator[tuple[int, Configuration]]:
        """Yield the runs by which the models of a set are adjusted, at its largest size.

        They have the most processes on the fast processor, and half and all of the slow ones.
        """
        for p in sorted({self.candidates // 2, self.candidates} - {0}):
            yield max(self.sets[name]), {FAST: Use(1, max(self.processes)), SLOW: Use(p)}

    def choices(self) -> Iterator[Configuration]:
        """Yield the candidates."""
        for m in (0, *self.processes):
            for p in range(self.candidates + 1):
                if m or p:
                    yield {**({FAST: Use(1, m)} if m else {}), **({SLOW: Use(p)} if p else {})}


#: The paper's sets have 9, 4 and 4 sizes, up to 6 processes, and 62 candidates; it asks at sizes within and beyond.
FULL = Plan(
    {"Basic": (192, 256, 320, 384, 512, 640, 768), "NL": (384, 512, 640, 768), "NS": (192, 256, 320, 384)},
    (1, 2, 3),
    {1: (1, 2, 4, 8), 2: (1, 2, 3, 4), 3: (1, 2, 3, 4)},
    SLOW_PROCESSORS,
    (768, 1024),
)
SMOKE = Plan({"NL": (96, 128, 160, 192)}, (1,), {1: (1, 2)}, 1, (192,))


@dataclass
class Cluster:
    """Real runs, each made only once.

    Attributes:
        folder: Keeps the times of the runs.
    """

    folder: MeasurementFolder
    _standing: ExitStack = field(default_factory=ExitStack)
    _built: dict[tuple[int, int], tuple[str, tuple[Host, ...]]] = field(default_factory=dict)

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        self._standing.close()

    def run(self, size: int, uses: Configuration, turn: int = 0) -> Run:
        """Return a run: the time of its measured section, divided into the mean computation of a rank, and the rest."""
        name = f"lu-{size}-" + "-".join(f"{kind}-{use.processors}x{use.processes}" for kind, use in uses.items())
        kept = self.folder.get(f"{name}-again-{turn}" if turn else name, partial(self._measure, size, uses))
        parts = {COMPUTE: kept["compute"], COMMUNICATE: max(kept["seconds"] - kept["compute"], 0.0)}
        return Run(float(size), uses, kept["seconds"], parts if len(uses) == 1 else {})

    def median(self, size: int, uses: Configuration) -> Run:
        """Return the run with the median time among several."""
        runs = sorted((self.run(size, uses, turn) for turn in range(TURNS)), key=lambda run: run.seconds)
        return runs[TURNS // 2]

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

    A processor that M processes share becomes M processors of an M-th of its speed: when one is idle, the others cannot
    use its time.
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
    """Recordings of the program, made on one host of this computer that runs all ranks; and replays of them."""

    folder: Path
    programs: dict[tuple[int, int], Program] = field(default_factory=dict)

    def seconds(self, size: int, uses: Configuration) -> float:
        """Return the time of a replay on the stated links and processors of exactly their factor, seconds."""
        key = size, ranks_of(uses)
        if key not in self.programs:
            self.programs[key] = compile_program(section(self._trace(*key)))
        machine, placement = placed(uses)
        return simulate(self.programs[key], machine, placement).makespan

    def _trace(self, size: int, ranks: int) -> Trace:
        file = self.folder / f"lu-{size}-{ranks}.clue"
        if not file.exists():
            tell(f"recording lu {size} on {ranks} ranks")
            draft = file.with_suffix(".draft")
            shutil.rmtree(draft, ignore_errors=True)
            host = Host(index=0, factor=FACTOR, processors=ranks, background=0, bandwidth=None)
            layer = [sys.executable, "-m", "virtual_layer", "-o", str(draft.resolve())]
            with launch.standing("recording", [host]) as testbed:
                command = [*layer, str(PROGRAMS / "lu.py"), str(size)]
                launch.run(testbed, [host] * ranks, command, timeout=300)
            draft.rename(file)
        return Trace.open(file)


@dataclass(frozen=True, slots=True)
class Choice:
    """The choice of a predictor at a size at which all candidates were run.

    Attributes:
        by: The set and the method, or replays.
        uses: The chosen configuration.
        predicted: Its predicted time, seconds.
        outside: Why the choice is outside of the fitted range; empty if it is inside.
        said: Predicted times of the candidates that the predictor can predict, seconds.
        searched: CPU time of a model's search, seconds.
    """

    by: str
    uses: Configuration
    predicted: float
    outside: tuple[str, ...]
    said: Mapping[str, float]
    searched: float = 0.0

    @property
    def beyond(self) -> str:
        """The features that the predictor reports as outside of the fitted range."""
        return ", ".join(name for name in (SIZE, RANKS) if any(f": {name} must" in line for line in self.outside))


@dataclass(frozen=True, slots=True)
class Question:
    """The question which configuration is best at a size, with choices and real runs.

    Attributes:
        size: The size.
        choices: The choices of the predictors.
        ran: Runs of all candidates, the best first.
    """

    size: int
    choices: tuple[Choice, ...]
    ran: tuple[Run, ...]

    def measured(self, choice: Choice) -> float:
        """Return the measured time of a chosen configuration, seconds."""
        return next(run.seconds for run in self.ran if run.uses == choice.uses)

    def loss(self, choice: Choice) -> float:
        """Return the extra time of a chosen configuration, relative to the best candidate."""
        return self.measured(choice) / self.ran[0].seconds - 1

    def tau(self, choice: Choice) -> float | None:
        """Return Kendall's tau-b between predicted and measured times of the candidates."""
        named = ((configuration_text(run.uses), run.seconds) for run in self.ran)
        return kendall_tau([(choice.said[name], seconds) for name, seconds in named if name in choice.said])


def questions(plan: Plan, cluster: Cluster, replays: Replays) -> list[Question]:
    """Return the choices of models and replays at all evaluated sizes, and the runs of the candidates."""
    fitted = list(_models(plan, cluster))
    return [_question(plan, size, fitted, cluster, replays) for size in plan.asked]


def _question(
    plan: Plan, size: int, fitted: Sequence[tuple[str, ClusterModel]], cluster: Cluster, replays: Replays
) -> Question:
    candidates = list(plan.choices())
    found = [_by_model(name, model, plan, size) for name, model in fitted]
    found.append(_by_replays(replays, size, candidates))
    ran = {configuration_text(uses): cluster.run(size, uses) for uses in candidates}
    limit = (1 + CLOSE) * min(run.seconds for run in ran.values())
    chosen = {configuration_text(each.uses) for each in found}
    # The minimum over many single runs would be too small by luck.
    runs = [
        cluster.median(size, run.uses) if name in chosen or run.seconds <= limit else run for name, run in ran.items()
    ]
    return Question(size, tuple(found), tuple(sorted(runs, key=lambda run: run.seconds)))


def _models(plan: Plan, cluster: Cluster) -> Iterator[tuple[str, ClusterModel]]:
    """Yield models of all sets, fitted in plain least squares as in the paper, and in relative ones as in clue."""
    for name in plan.sets:
        runs = _runs(plan, cluster, name)
        for plain, how in ((True, "plainly"), (False, "relatively, not below 0")):
            model = fit_cluster(runs, Method(plain=plain), compositions={FAST: LIKE_SLOW}, adjusted=FAST)
            yield f"{name}, {how}", model


def _runs(plan: Plan, cluster: Cluster, name: str) -> list[Run]:
    return [cluster.run(*each) for each in (*plan.measured(name), *plan.adjusting(name))]


def _by_model(name: str, model: ClusterModel, plan: Plan, size: int) -> Choice:
    begin = time.process_time()
    found = best(model, size, {FAST: 1, SLOW: plan.candidates}, processes={SLOW: (1,)}).best
    seconds = time.process_time() - begin
    said = {
        configuration_text(uses): model.predict(size, uses).seconds
        for uses in plan.choices()
        if model.answers(size, uses)
    }
    outside = model.outside(size, found.uses)
    return Choice(name, found.uses, found.forecast.seconds, outside, said, seconds)


def _by_replays(replays: Replays, size: int, candidates: Sequence[Configuration]) -> Choice:
    said = {configuration_text(uses): replays.seconds(size, uses) for uses in candidates}
    chosen = min(candidates, key=lambda uses: said[configuration_text(uses)])
    return Choice("replays", chosen, said[configuration_text(chosen)], (), said)


def printed(plan: Plan, cluster: Cluster, folder: Path) -> str:
    """Return the output of ``clue model fit`` and ``clue model best`` for the set NL, as a block of a page."""
    runs = _runs(plan, cluster, "NL")
    (folder / "lu.csv").write_text("\n".join(table(runs)) + "\n")
    alone = (cluster.run(max(plan.sets["NL"]), {kind: Use(1)}).parts[COMPUTE] for kind in (FAST, SLOW))
    factor = next(alone) / next(alone)
    fit = ["model", "fit", "lu.csv", "-o", "lu.yaml", "--compose", f"fast=slow:{factor:.3g}:1", "--adjust", "fast"]
    lines = [f"$ clue {' '.join(fit)}"]
    _clue(fit, folder)
    for size in plan.asked:
        ask = ["model", "best", "lu.yaml", "--machine", MACHINE.name, "--size", f"{size}"]
        ask += ["--processes", "slow=1", "--top", f"{SHOWN}"]
        shutil.copy(MACHINE, folder)
        lines += ["", f"$ clue {' '.join(ask)}", _clue(ask, folder).rstrip()]
    return "\n".join(["```", *lines, "```"])


def _clue(words: Sequence[str], folder: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "118", "NO_COLOR": "1"}
    command = [sys.executable, "-m", "clue", *words]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UsageError(f"clue {' '.join(words)}: command must succeed, got: {done.stderr.strip()}")
    return done.stdout


def page(plan: Plan, asked: Sequence[Question], shown: str, command: str) -> str:
    """Return the page.

    Args:
        plan: What was run.
        asked: The questions, with their answers.
        shown: What ``clue model best`` printed.
        command: The command that made the page.
    """
    candidates = len(list(plan.choices()))
    sets = "\n".join(f"- {name}: {', '.join(map(str, sizes))}" for name, sizes in plan.sets.items())
    lines = [
        "# Kishimoto's study on an emulated cluster",
        "",
        f"`{command}` wrote this page on {date.today().isoformat()}: {processor()}, clue {revision()}.",
        "",
        *_HEAD.format(candidates=candidates, sets=sets, turns=TURNS, close=f"{CLOSE:.0%}").splitlines(),
        "",
        *_losses(asked),
    ]
    for each in asked:
        lines += ["", f"## N = {each.size}", "", *_choices(each)]
    lines += ["", "## What `clue model best` prints for NL", "", shown]
    for each in asked:
        lines += ["", f"## All candidates at N = {each.size}, as they ran", "", *_candidates(each)]
    return "\n".join(lines) + "\n"


def _losses(asked: Sequence[Question]) -> Iterator[str]:
    """Yield the table of losses, with the paper's losses and the goals."""
    papers = {"Basic": ("0 to 3.6 %", "at most 3 %"), "NL": ("0 to 4.3 %", "at most 4 %"), "NS": ("28 to 82 %", "told")}
    rows = []
    for i, choice in enumerate(asked[0].choices):
        paper, goal = papers.get(choice.by.partition(",")[0], ("–", "–"))
        losses = (f"{each.loss(each.choices[i]):.1%}" for each in asked)
        told = [f"{each.size} ({each.choices[i].beyond})" for each in asked if each.choices[i].outside]
        rows.append((choice.by, *losses, ", ".join(told) or "none", paper, goal))
    sizes = (f"loss at N = {each.size}" for each in asked)
    return markdown_table(("chosen by", *sizes, "outside at", "paper's losses", "goal"), rows)


def _choices(question: Question) -> Iterator[str]:
    return markdown_table(
        ("chosen by", "processors", "predicted", "takes", "loss", "order (tau-b)", "search", "outside of the fit"),
        [
            (
                each.by, configuration_text(each.uses), f"{each.predicted:.3f} s", f"{question.measured(each):.3f} s",
                f"{question.loss(each):.1%}", tau_text(question.tau(each)),
                f"{each.searched * 1e3:.1f} ms" if each.searched else "–",
                "; ".join(each.outside) or "no",
            )
            for each in question.choices
        ],
    )  # fmt: skip


def _candidates(question: Question) -> Iterator[str]:
    names = [each.by for each in question.choices if "plainly" not in each.by]
    said = [each.said for each in question.choices if "plainly" not in each.by]
    rows = []
    for run in question.ran:
        name = configuration_text(run.uses)
        rows.append((name, f"{run.seconds:.3f} s", *(f"{of[name]:.3f} s" if name in of else "–" for of in said)))
    return markdown_table(("processors", "takes", *names), rows)


_HEAD = """\
One fast node (half of a core) and four slow ones of two processors (an eighth of a core each), 200 Mbit/s Ethernet,
MPICH over TCP, and an LU of complex elements: all runs are real. A processor that M processes share is M processors
of an M-th of its speed. Models are fitted to single runs of a set, on either kind of processor alone; where the fast
one was measured too little they are the slow one's, scaled by what both compute alone; and they are adjusted by two
runs on both, at the largest size of the set. The sets of sizes:

{sets}

At each size that is asked all {candidates} candidates were run, once; those within {close} of the best and those that
were chosen were run {turns} times, and the median counts. The loss is how much longer the choice takes than the best
of them. Replays are of one recording on this computer for each size and number of ranks, with nominal factors and
links. Choices outside in P have more ranks than were measured with one process on each processor.

LU communicates so much on this network that one fast processor is far ahead, so the choice is easy. The order of the
others (tau-b) is harder: models know how many ranks there are, not which of them share a node. Replays know both."""


@with_status
def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy.models.rebuilt", description=__doc__)
    parser.add_argument("folder", type=Path, help="keep runs and recordings there")
    parser.add_argument("-o", "--output", type=Path, help="the Markdown file (default: standard output)")
    parser.add_argument("--smoke", action="store_true", help="few and tiny runs, to see that it works")
    asked = parser.parse_args()
    plan = SMOKE if asked.smoke else FULL
    asked.folder.mkdir(parents=True, exist_ok=True)
    with Cluster(MeasurementFolder(asked.folder)) as cluster:
        found = questions(plan, cluster, Replays(asked.folder))
        shown = printed(plan, cluster, asked.folder)
    text = page(plan, found, shown, f"python -m benchmarks.accuracy.models.rebuilt FOLDER{' --smoke' * asked.smoke}")
    write_page(text, asked.output)


if __name__ == "__main__":
    sys.exit(main())
