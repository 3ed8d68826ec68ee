"""The results as a table for machines (CSV) and a page for readers (Markdown)."""

from __future__ import annotations

import datetime
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.accuracy.extrapolate.experiment import Case
from benchmarks.accuracy.validate.figures import regret
from benchmarks.page import markdown_table, processor, revision, rows, write_rows
from clue.validation.figures import percentile

#: Columns, in seconds except ``size``, ``ranks``, ``recordings`` and the ratios from ``error`` on. ``runs`` lists all
#: true makespans.
COLUMNS = (
    "program", "size", "ranks", "recordings", "structure", "machine", "truth", "predicted", "low", "high", "fitted",
    "error", "rival", "spread", "covered", "runs",
)  # fmt: skip
_SECONDS = ("truth", "predicted", "low", "high", "fitted")
_EXACT = "exact"


def write_csv(file: Path, cases: Sequence[Case]) -> None:
    """Write one row per case."""
    write_rows(file, [COLUMNS, *map(_row, cases)])


def _row(case: Case) -> list[object]:
    told: list[object] = [case.program, case.size, case.ranks, case.recordings, case.structure, case.machine]
    if not case.machine:
        return told
    seconds = [f"{getattr(case, name):.6f}" for name in _SECONDS]
    ratios = [f"{each:.4f}" for each in (case.error, case.rival, case.spread, case.covered)]
    return [*told, *seconds, *ratios, " ".join(f"{run:.6f}" for run in case.runs)]


def read_csv(file: Path) -> list[Case]:
    """Return the cases of an existing table, or no cases if there is no file."""
    return [_case(row) for row in rows(file)]


def _case(row: dict[str, str]) -> Case:
    truth, predicted, low, high, fitted = (float(row[name] or 0) for name in _SECONDS)
    return Case(
        row["program"], int(row["size"]), int(row["ranks"]), int(row["recordings"]), row["structure"], row["machine"],
        truth, tuple(map(float, row["runs"].split())) if row["runs"] else (), predicted, low, high, fitted,
    )  # fmt: skip


def page(cases: Sequence[Case], command: str, notes: Sequence[str] = ()) -> str:
    """Return the page beside the table, with the notes at its end."""
    return "\n".join([*_opening(command), *_summary(cases), *_structures(cases), *_errors(cases), *notes])


def _opening(command: str) -> Iterator[str]:
    yield from (
        "# Recorded small, predicted large",
        "",
        f"Written by `{command}` on {datetime.date.today().isoformat()}, clue {revision()}; {processor()}.",
        "",
        "Every program was recorded as `clue extrapolate --plan` says for its target: three times each, in turn, at up",
        "to half the target's size on up to 27 ranks. The target itself was recorded three times as well; what these",
        "take on a machine is the truth here, so that figures judge extrapolation alone, not the model of machines.",
        "*Structure* is exact if every op of every rank has the same kind, size, partner, tag, communicator and",
        "request as when recorded. *Fit* is the rival: makespans of the small recordings on that machine, fitted in",
        "performance model normal form (`benchmarks/accuracy/extrapolate/pmnf.py`). All figures stand in the CSV file",
        "beside this page, the machines in `benchmarks/accuracy/extrapolate/machines`.",
        "",
    )


def _summary(cases: Sequence[Case]) -> Iterator[str]:
    programs = {each.program: each.structure for each in cases}
    predicted = [each for each in cases if each.machine]
    exact = sum(structure == _EXACT for structure in programs.values())
    reached = [f"{exact} of {len(programs)}", *(_figures(predicted) if predicted else ["–"] * 5)]
    yield from markdown_table(("figure", "goal", "reached"), zip(*zip(*_GOALS, strict=True), reached, strict=True))
    yield ""


_GOALS = (
    ("structure exact, others refused by site", "9 of 12"),
    ("makespan: mean absolute error", "≤ 8 %"),
    ("makespan: 90th percentile", "≤ 15 %"),
    ("true makespans within the interval", "70–90 %"),
    ("regret of the chosen machine, worst of programs", "≤ 3.6 %"),
    ("mean error relative to that of fits of makespans", "≤ a third"),
)


def _figures(cases: Sequence[Case]) -> list[str]:
    errors, rivals = ([abs(getattr(each, name)) for each in cases] for name in ("error", "rival"))
    groups = [[(each.predicted, each.truth) for each in group] for group in _by_program(cases).values()]
    return [
        f"{statistics.mean(errors):.1%}",
        f"{percentile(errors, 0.9):.1%}",
        f"{statistics.mean(each.covered for each in cases):.0%}",
        f"{max(map(regret, groups)):.1%}",
        f"{statistics.mean(errors) / statistics.mean(rivals):.2f}",
    ]


def _by_program(cases: Sequence[Case]) -> dict[str, list[Case]]:
    groups: dict[str, list[Case]] = {}
    for each in cases:
        groups.setdefault(each.program, []).append(each)
    return groups


def _structures(cases: Sequence[Case]) -> Iterator[str]:
    head = ("program", "size", "ranks", "recordings", "structure")
    yield from markdown_table(
        head, ([str(getattr(group[0], name)) for name in head] for group in _by_program(cases).values())
    )
    yield ""


def _errors(cases: Sequence[Case]) -> Iterator[str]:
    predicted = [each for each in cases if each.machine]
    if not predicted:
        return
    yield from ("Error of the makespan, and of its fit in brackets; ± is how much the true ones differ:", "")
    machines = list(dict.fromkeys(each.machine for each in predicted))
    groups = _by_program(predicted)
    yield from markdown_table(
        ("", *machines), ([program, *(_cell(group, name) for name in machines)] for program, group in groups.items())
    )
    yield ""


def _cell(group: Sequence[Case], machine: str) -> str:
    return ", ".join(
        f"{each.error:+.1%} ({each.rival:+.0%}) ± {each.spread:.1%}" for each in group if each.machine == machine
    )
