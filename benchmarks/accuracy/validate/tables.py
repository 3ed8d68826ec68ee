"""The results as a table for machines (CSV) and a page for readers (Markdown)."""

from __future__ import annotations

import datetime
import os
import platform
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.accuracy.validate.cases import RECORDING_MACHINE
from benchmarks.accuracy.validate.figures import PredictedCase, in_hindsight, median_tau, regret, tau_text
from benchmarks.accuracy.validate.predicting import Prediction
from benchmarks.page import rows, write_rows
from clue.trace.computer import processor_name
from clue.validation.figures import kendall_tau, percentile

#: Columns, in seconds except ranks, size, ratios from ``error`` on, and a mean ``message`` in bytes.
#: ``runs`` lists all measured times.
COLUMNS = (
    "program", "machine", "ranks", "size", "predicted", "low", "high", "measured", "spread", "error", "covered", "late",
    "burst_ratio", "factor", "computation", "hindsight", "disturbed", "message", "runs",
)  # fmt: skip


def write_csv(file: Path, compared: Sequence[PredictedCase]) -> None:
    """Write one row per case."""
    write_rows(file, [COLUMNS, *map(_row, compared)])


def _row(each: PredictedCase) -> list[object]:
    prediction = each.prediction
    seconds = [prediction.predicted, prediction.low, prediction.high, each.measured, each.spread]
    ratios = [each.error, each.covered, each.late, each.burst_ratio, each.factor]
    told = [
        f"{prediction.compute:.5f}",
        f"{each.hindsight:.5f}",
        "yes" if each.disturbed else "no",
        f"{each.message:.0f}",
    ]
    runs = " ".join(f"{run:.5f}" for run in each.runs)
    case = [each.program, each.machine, each.ranks, each.size]
    return [*case, *(f"{x:.5f}" for x in seconds), *(f"{x:.4f}" for x in ratios), *told, runs]


def read_csv(file: Path) -> list[PredictedCase]:
    """Return the cases of an earlier table, or no cases if there is no file."""
    return [_case(row) for row in rows(file)]


def _case(row: dict[str, str]) -> PredictedCase:
    predicted, low, high, compute = (float(row[name]) for name in ("predicted", "low", "high", "computation"))
    late, ratio, factor, hindsight = (float(row[name]) for name in ("late", "burst_ratio", "factor", "hindsight"))
    prediction = Prediction(predicted, low, high, compute)
    runs = tuple(map(float, row["runs"].split()))
    case = (row["program"], row["machine"], int(row["ranks"]), int(row["size"]))
    return PredictedCase(*case, prediction, runs, late, ratio, factor, hindsight, float(row["message"]))


def page(compared: Sequence[PredictedCase], command: str, links: Sequence[str], remarks: Sequence[str]) -> str:
    """Return the page beside the table."""
    return "\n".join(
        [
            *_opening(command),
            *_summary(compared),
            *_by_program(compared),
            *_matrix(compared),
            *_links(links),
            *remarks,
            "",
        ]
    )


def _opening(command: str) -> Iterator[str]:
    yield from (
        "# Predicted and measured",
        "",
        f"Written by `{command}` on {datetime.date.today().isoformat()}; {_computer()}.",
        "To do it again: the same command as root, on a computer with `ip`, `tc`, a C compiler and MPICH, and little",
        "else to do.",
        "",
        "Every program was recorded on one host whose links are not shaped; every kind of link was calibrated, and",
        "for each program, on four or eight processors and each kind of network, what its bursts take longer than",
        "recorded, at a smaller size. Its section was predicted from that, and run for real on the emulated machines;",
        "nothing was fitted to the cases. Programs that take whatever arrives first are predicted live. Processors are",
        "emulated at one speed: CPU time of ranks counts at the speed that a core has at the moment, as a process of",
        "the lowest priority measures it all the time (`benchmarks/testbed/keeper.c`). All",
        "figures of the cases stand in the CSV file beside this page, in seconds; further columns are `error` =",
        "predicted / measured - 1; `covered`, the share of runs within the interval; `late`, the share of time by",
        "which this computer was late to give a rank its core (above some percent the measurement was disturbed);",
        "`burst_ratio`, the CPU time of the bursts when measured, relative to when recorded, and `factor` the same",
        "as predicted. A case is `disturbed` if half the range of its runs is more than 5 %, or ranks were late",
        "for more than 3 % of the time, or the two differ by more than 10 %. The last also leaves out cases whose",
        "computation was predicted wrongly for any other reason, so the column of undisturbed cases is a favourable",
        "selection: the one of all cases counts. *In hindsight* is what would have been predicted, had the CPU time of",
        "bursts been known as it was measured (`hindsight`): what is left is the model of messages and of waiting.",
        "",
    )


def _computer() -> str:
    return f"{processor_name()}, {os.cpu_count()} cores, Linux {platform.release()}"


def _summary(compared: Sequence[PredictedCase]) -> Iterator[str]:
    """Summarise the accuracy over all cases, over the same cases in hindsight, and over undisturbed cases."""
    quiet = [each for each in compared if not each.disturbed]
    columns = [_reached(compared), _reached([in_hindsight(each) for each in compared]), _reached(quiet)]
    yield f"| figure | goal | all {len(compared)} cases | the same in hindsight | {len(quiet)} undisturbed |"
    yield "| --- | --- | --- | --- | --- |"
    for (figure, goal), *reached in zip(_GOALS, *columns, strict=True):
        yield f"| {figure} | {goal} | {' | '.join(reached)} |"
    yield ""


_GOALS = (
    ("mean absolute error", "≤ 5 %"),
    ("90th percentile", "≤ 12 %"),
    ("Kendall's tau-b of the machines' order, median of programs", "≥ 0.9"),
    ("regret of the chosen machine, worst of programs", "≤ 3.6 %"),
    ("runs within the 80 % interval", "70–90 %"),
    ("mean absolute error on the machine that recorded", "≤ 5 %"),
)


def _reached(compared: Sequence[PredictedCase]) -> list[str]:
    if not compared:
        return ["–"] * len(_GOALS)
    errors = [abs(each.error) for each in compared]
    several = [_pairs(group) for group in _grouped(compared).values() if len(group) > 1]
    own = [abs(each.error) for each in compared if each.machine == RECORDING_MACHINE]
    return [
        f"{statistics.mean(errors):.1%}",
        f"{percentile(errors, 0.9):.1%}",
        tau_text(median_tau(several)),
        f"{max(map(regret, several)):.1%}" if several else "–",
        f"{statistics.mean(each.covered for each in compared):.0%}",
        f"{statistics.mean(own):.1%}" if own else "–",
    ]


def _grouped(compared: Sequence[PredictedCase]) -> dict[str, list[PredictedCase]]:
    groups: dict[str, list[PredictedCase]] = {}
    for each in compared:
        groups.setdefault(each.program, []).append(each)
    return groups


def _pairs(group: Sequence[PredictedCase]) -> list[tuple[float, float]]:
    return [(each.prediction.predicted, each.measured) for each in group]


def _by_program(compared: Sequence[PredictedCase]) -> Iterator[str]:
    yield from ("| program | mean absolute error | worst | tau-b | regret |", "| --- | --- | --- | --- | --- |")
    for program, group in _grouped(compared).items():
        worst = max(group, key=lambda each: abs(each.error))
        mean = statistics.mean(abs(each.error) for each in group)
        pairs = _pairs(group)
        order = f"{tau_text(kendall_tau(pairs))} | {regret(pairs):.1%}" if len(pairs) > 1 else "– | –"
        yield f"| {program} | {mean:.1%} | {worst.error:+.1%} on {worst.machine} | {order} |"
    yield ""


def _matrix(compared: Sequence[PredictedCase]) -> Iterator[str]:
    machines = list(dict.fromkeys(each.machine for each in compared))
    yield from ("Error by case (measured seconds; * disturbed by other work of this computer):", "")
    yield f"| | {' | '.join(machines)} |"
    yield f"| --- |{' --- |' * len(machines)}"
    for program, group in _grouped(compared).items():
        cells = {
            each.machine: f"{each.error:+.1%} ({each.measured:.2f}){'*' if each.disturbed else ''}" for each in group
        }
        yield f"| {program} | {' | '.join(cells.get(name, '') for name in machines)} |"
    yield ""


def _links(links: Sequence[str]) -> Iterator[str]:
    yield from ("Links calibrated for the cases that this command predicted:", "", *(f"- {line}" for line in links), "")
