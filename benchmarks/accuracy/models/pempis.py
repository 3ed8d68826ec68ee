"""PEMPIs-Het's programs Heat and PGF rebuilt: composed models, fitted to small runs, evaluated at large ones.

``python -m benchmarks.accuracy.models.pempis FOLDER [-o benchmarks/accuracy/models/pempis.csv]``

Both programs are recorded three times in turn at the paper's sizes and numbers of ranks for fitting, and at larger
ones. Replays of the recordings on nodes like the paper's are both the fitted data and the truth, so the figures judge
only the models, not the descriptions of machines. FOLDER keeps recordings; existing ones are not made again.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from pathlib import Path

from benchmarks.accuracy.extrapolate.experiment import raw
from benchmarks.command import with_status
from benchmarks.page import markdown_table, processor, revision, rows, typed_command, write_rows
from benchmarks.progress import tell
from clue.balance import relative_performance, vector_at
from clue.composition import ComposedModel, Fit, compose, on_critical_path
from clue.config import load_machine
from clue.extrapolation import Family, Pattern, Recording
from clue.extrapolation.recordings import REPEATS, save_recordings
from clue.kernel import simulate
from clue.machine import Machine
from clue.models import fit, fit_in_turn
from clue.recording import Launch, Request, recordings_of
from clue.structure import Graph, examples_of
from clue.trace import Trace

_PROGRAMS = Path(__file__).parent / "programs"
Place = tuple[int, int]
#: Nodes of a kind: enough for one rank per node.
_NODES = 16
KINDS = ("intel", "bio", "taurus")
#: All plausible models, as in clue; and plain least squares in n, then in P, as in the paper.
FITS: dict[str, Fit] = {"plausible": fit, "in turn": fit_in_turn}
#: Relative error up to which a prediction is good.
_GOOD = 0.1


@dataclass(frozen=True, slots=True)
class Study:
    """A program of the paper.

    Attributes:
        name: Name of its file.
        fitted: Numbers of ranks of fitted recordings, at sizes from 500 to 2000.
        asked: Numbers of ranks of the targets, at sizes from 2000 to 4000.
        kind: The nodes used in the paper.
    """

    name: str
    fitted: tuple[int, ...]
    asked: tuple[int, ...]
    kind: str

    @property
    def recorded(self) -> list[Place]:
        """Sizes and numbers of ranks of the fitted recordings."""
        return [(size, ranks) for size in range(500, 2001, 250) for ranks in self.fitted]

    @property
    def targets(self) -> list[Place]:
        """Sizes and numbers of ranks of the targets; none of them is fitted."""
        wanted = [(size, ranks) for size in range(2000, 4001, 500) for ranks in self.asked]
        return [place for place in wanted if place not in self.recorded]


STUDIES = (Study("heat", (4, 5, 6), (6, 8, 10, 12), "bio"), Study("gravity", (2, 3, 4), (4, 6, 8, 10), "intel"))


@dataclass(frozen=True, slots=True)
class Case:
    """A program at a size and number of ranks on nodes of a kind; times in seconds.

    Attributes:
        program: Its name.
        kind: The nodes.
        size: The size.
        ranks: The ranks.
        fit: The method of fitting.
        truth: Makespan of a replay of the recording.
        predicted: The model's prediction.
        low: The low end of its interval.
        high: The high end.
        spread: Half the range of replays of single recordings, as a share of the truth.
    """

    program: str
    kind: str
    size: int
    ranks: int
    fit: str
    truth: float
    predicted: float
    low: float
    high: float
    spread: float

    @property
    def error(self) -> float:
        """The model's error relative to the truth."""
        return self.predicted / self.truth - 1


@with_status
def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy.models.pempis", description=__doc__)
    parser.add_argument("folder", type=Path, help="keep recordings there")
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("pempis.csv"), help="the table; its page lies beside it"
    )
    asked = parser.parse_args()
    cases: list[Case] = []
    models: dict[tuple[str, str], ComposedModel] = {}
    for study in STUDIES:
        family = record(study, asked.folder)
        for kind in KINDS:
            tell(f"{study.name} on {kind}")
            cases += judged(study, family, kind, models)
    vectors = list(_vectors(Family.open(_pattern(STUDIES[1], asked.folder)), models))
    write_csv(asked.output, cases)
    command = typed_command("benchmarks.accuracy.models.pempis")
    asked.output.with_suffix(".md").write_text(page(cases, vectors, command))


def _pattern(study: Study, folder: Path) -> str:
    return str(folder / f"{study.name}-{{size}}-{{ranks}}.clue")


def record(study: Study, folder: Path) -> Family:
    """Return the recordings of a program; make missing ones."""
    pattern = Pattern(_pattern(study, folder))
    missing = [place for place in (*study.recorded, *study.targets) if not pattern.path(*place).exists()]
    script = _PROGRAMS / f"{study.name}.py"
    requests = [Request(Launch(script, (str(size),), ranks)) for size, ranks in missing]
    found = recordings_of(requests, REPEATS, lambda what, *_: tell(what)) if requests else []
    for place, traces in zip(missing, found, strict=True):
        save_recordings(traces[:REPEATS], partial(pattern.path, *place))
    return Family.open(pattern.text)


def nodes_of(kind: str) -> Machine:
    """Return a machine of one of the paper's kinds of nodes, with a node for each rank."""
    machine = load_machine("pempis-het")
    node = next(each for each in machine.nodes if each.name == kind)
    return replace(machine, name=kind, nodes=(node,) * _NODES)


def judged(study: Study, family: Family, kind: str, models: dict[tuple[str, str], ComposedModel]) -> Iterator[Case]:
    """Yield the predictions of a program's models on nodes of a kind for its targets; keep the plausible models."""
    where = nodes_of(kind)
    for name, fitted in FITS.items():
        model = composed(_at(family, study.recorded), where, fitted)
        models.setdefault((study.name, kind), model)
        for target in _at(family, study.targets):
            truth = _makespan(target.typical, where)
            runs = [_makespan(raw(trace), where) for trace in target.traces]
            said = model.time.predict({"n": [float(target.size)], "P": [float(target.ranks)]})
            predicted, low, high = (float(each[0]) for each in said)
            spread = (max(runs) - min(runs)) / 2 / truth
            yield Case(study.name, kind, target.size, target.ranks, name, truth, predicted, low, high, spread)


def _at(family: Family, places: Sequence[Place]) -> list[Recording]:
    return [found for place in places if (found := family.at(*place)) is not None]


def composed(recordings: Sequence[Recording], where: Machine, fitted: Fit) -> ComposedModel:
    """Return the model of a program on a machine."""
    sites, examples = examples_of([(each.size, each.ranks, each.typical) for each in recordings])
    times = [on_critical_path(each, len(sites), where) for each in examples]
    return compose(Graph.of(sites, examples), examples, times, fitted)


def _makespan(trace: Trace, where: Machine) -> float:
    return simulate(trace, where).makespan


def _vectors(family: Family, models: dict[tuple[str, str], ComposedModel]) -> Iterator[tuple[int, int, str, str]]:
    """Yield the relative performance of the kinds of nodes for gravity: by models, and by replays."""
    study = STUDIES[1]
    for target in _at(family, [place for place in study.targets if place[0] in (2500, 4000)]):
        of_kinds = [models[study.name, kind].time for kind in KINDS]
        said = vector_at(of_kinds, target.size, target.ranks)
        true = relative_performance([_makespan(target.typical, nodes_of(kind)) for kind in KINDS])
        by_models, by_replays = (", ".join(f"{phi:.2f}" for phi in each) for each in (said, true))
        yield target.size, target.ranks, by_models, by_replays


# --- the table and its page ---

COLUMNS = ("program", "kind", "size", "ranks", "fit", "truth", "predicted", "low", "high", "spread")


def write_csv(file: Path, cases: Sequence[Case]) -> None:
    """Write one row per case."""
    write_rows(file, [COLUMNS, *([_told(getattr(case, name)) for name in COLUMNS] for case in cases)])


def _told(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def read_csv(file: Path) -> list[Case]:
    """Return the cases of an existing table."""
    kinds: dict[str, Callable[[str], object]] = {"program": str, "kind": str, "size": int, "ranks": int, "fit": str}
    return [Case(**{name: kinds.get(name, float)(row[name]) for name in COLUMNS}) for row in rows(file)]  # type: ignore[arg-type]


def page(cases: Sequence[Case], vectors: Sequence[tuple[int, int, str, str]], command: str) -> str:
    """Return the page beside the table."""
    return "\n".join([*_opening(command), *_goals(cases), *_errors(cases), *_balance(vectors), *_MISPRINTS])


#: Findings of recomputing the paper's own figures; tests/models/test_pempis.py checks each of them.
_MISPRINTS = (
    "## The paper's own figures",
    "",
    "Recomputed from what it prints (`tests/models/test_pempis.py`):",
    "",
    "- Table 3 follows from Table 2 to all printed digits, but the sign of the constant of C2 is lost there",
    "  (−0.0005777; equation 14 has it), and equation 14 has −1.99 + 8.74/p for C1, where both tables give",
    "  18.57 − 39.20/p.",
    "- Equations 5 to 12 as printed are 2.9 to 3.8 % above Table 1, and rise with p where the table falls. With",
    "  −6.8114e-3 in equation 7 they fall with it, 2.8 % above; what is left is 1.066e-7 N² (2.9e-6 in equation 6 is a",
    "  rounded 2.793e-6) and 4 ms. With both, all 20 estimates agree within 3 ms.",
    "- Equations 15 to 17 cross at 1105, 2403 and 11922, where the text says 1115, 2400 and 11500.",
    "- Equation 1 has the ratio of times upside down: the slowest has 1, the others more (`clue.balance`).",
    "- Errors of Table 1 follow from its times within 0.016 percentage points. A quadratic in N fitted to what was",
    "  measured at 2000 to 3500 is 3 to 5 % off at 4000, where the table's estimates are 9 to 11 % off.",
    "",
)


def _opening(command: str) -> Iterator[str]:
    yield from (
        "# PEMPIs-Het: models composed of a program's nodes",
        "",
        f"Written by `{command}` on {date.today().isoformat()}, clue {revision()}; {processor()}.",
        "",
        "Heat and PGF (here gravity) as the paper describes them (`benchmarks/accuracy/models/programs`), recorded",
        "three times each, in turn: heat on 4, 5 and 6 ranks, gravity on 2, 3 and 4, at seven sizes from 500 to",
        "2000; and asked at up to 4000 on up to 12 and 10. **Replays of recordings stand for runs**, on nodes like",
        "the paper's (`machines/pempis-het.yaml`; 16 nodes of one kind, ranks by blocks: two share a node of intel",
        "or bio). What the critical path of a replay spends at each node of the structure graph is fitted; the",
        "truth is a replay of what was recorded at the target. So bursts of the truth are this computer's, with",
        "their noise (*spread*: half of what lies between three recordings, the median of targets), and nothing",
        "here was measured on a cluster.",
        "",
        "*Plausible*: all models that are plausible, with coefficients above 0 and relative errors",
        "(`clue.models.fit`). *In turn*: plain least squares in n, then in P, as the paper has it.",
        "",
    )


def _goals(cases: Sequence[Case]) -> Iterator[str]:
    yield from markdown_table(
        ("program, nodes as in the paper", "figure", "paper", "goal", "plausible", "in turn"),
        [
            [
                f"{study.name} on {study.kind}",
                figure,
                paper,
                goal,
                *(of(_of(cases, study, study.kind, how)) for how in FITS),
            ]
            for study in STUDIES
            for figure, paper, goal, of in _FIGURES
        ],
    )
    yield from ("", "The paper's worst error is that of heat, its share that of three matrix products.", "")


_FIGURES: tuple[tuple[str, str, str, Callable[[Sequence[Case]], str]], ...] = (
    ("worst error", "13.75 %", "≤ 10 %", lambda cases: f"{max(abs(case.error) for case in cases):.1%}"),
    ("share below 10 %", "86 %", "≥ 95 %", lambda cases: f"{statistics.mean(abs(c.error) < _GOOD for c in cases):.0%}"),
)


def _of(cases: Sequence[Case], study: Study, kind: str, how: str) -> list[Case]:
    return [case for case in cases if (case.program, case.kind, case.fit) == (study.name, kind, how)]


def _errors(cases: Sequence[Case]) -> Iterator[str]:
    yield from ("## On all kinds of nodes", "")
    table = []
    for study in STUDIES:
        for kind in KINDS:
            for how in FITS:
                mine = _of(cases, study, kind, how)
                errors = [abs(case.error) for case in mine]
                held = statistics.mean(case.low <= case.truth <= case.high for case in mine)
                spread = statistics.median(case.spread for case in mine)
                shares = (statistics.mean(errors), max(errors), spread)
                good = statistics.mean(error < _GOOD for error in errors)
                table.append(
                    [
                        study.name,
                        kind,
                        how,
                        str(len(mine)),
                        *(f"{each:.1%}" for each in shares),
                        f"{good:.0%}",
                        f"{held:.0%}",
                    ]
                )
    head = ("program", "nodes", "fit", "targets", "mean", "worst", "spread", "below 10 %", "within the interval")
    yield from markdown_table(head, table)
    yield from (
        "",
        "Heat on bio is nearly all messages (98 % at 2000 on 6 ranks), which replays time without noise: an easier",
        "test than the paper's. On intel and taurus computation counts for more, and there recordings themselves",
        "differ: a sweep took 4 ns a point at sizes up to 2000 and 1.8 to 2.4 beyond, and the master's first touch of",
        "the plate 1.4 to 18 ns a point, whatever the size. Why is not known; the computer was busy. Plain polynomials",
        "amplify that.",
        "",
        "Gravity on bio shows what no model over n and P can know: on 2 ranks all messages stay within a node, on 3",
        "and 4 some leave it, and what that costs goes on growing as far as models can tell. `clue model graph` warns",
        "of such parts. On intel the network is so much faster that it does not matter. The relative performance of",
        "bio on 6 and more ranks, below, is wrong for the same reason.",
        "",
    )


def _balance(vectors: Sequence[tuple[int, int, str, str]]) -> Iterator[str]:
    if not vectors:
        return
    yield from (
        "## Relative performance",
        "",
        f"Of {', '.join(KINDS)} for gravity, by `clue.balance.vector_at` of the composed models, and by replays there:",
        "",
    )
    yield from markdown_table(
        ("size", "ranks", "φ by models", "φ by replays"), [[str(n), str(p), said, true] for n, p, said, true in vectors]
    )
    yield ""


if __name__ == "__main__":
    sys.exit(main())
