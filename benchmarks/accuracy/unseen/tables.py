"""The results as a table for machines (CSV) and a page for readers (Markdown)."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.accuracy.unseen.figures import (
    COLUMNS,
    LATE,
    UnseenCase,
    Worth,
    are_distinct,
    close_pairs,
    repeatability,
    with_cores,
)
from benchmarks.accuracy.unseen.predicting import Figures
from benchmarks.accuracy.validate.figures import tau_text
from benchmarks.page import rows, write_rows
from clue.units import count_of

_FIRST = ("program", "machine", "ranks", "size", "measured")
_LAST = ("low", "high", "message", "late", "kind", "live", "frozen", "runs", "commit", "dilation")
_MODEL = ("user", "calibrated", "hindsight")


def write_csv(file: Path, cases: Sequence[UnseenCase]) -> None:
    """Write one row per case; times in seconds, ``message`` in bytes."""
    write_rows(file, [[*_FIRST, *COLUMNS, "user_model", *_LAST], *map(_row, cases)])


def _row(case: UnseenCase) -> list[object]:
    predicted = [f"{column(case):.5f}" for column in COLUMNS.values()]
    told = [f"{case.low:.5f}", f"{case.high:.5f}", f"{case.message:.0f}", f"{case.late:.4f}"]
    flags = [case.kind, *("yes" if each else "no" for each in (case.live, case.frozen))]
    runs = " ".join(f"{run:.5f}" for run in case.runs)
    first = [case.program, case.machine, case.ranks, case.size, f"{case.measured:.5f}"]
    return [*first, *predicted, f"{case.by_user.model:.5f}", *told, *flags, runs, case.commit, case.dilation]


def read_csv(file: Path) -> list[UnseenCase]:
    """Return the cases of an earlier table, or no cases if there is no file."""
    return [_case(row) for row in rows(file)]


def _case(row: dict[str, str]) -> UnseenCase:
    def figures(model: str, prefix: str) -> Figures:
        names = (model, f"{prefix}none", f"{prefix}baseline", f"{prefix}computation")
        return Figures(*(float(row[name]) for name in names))

    user, low, high, message, late = (float(row[name]) for name in ("user", "low", "high", "message", "late"))
    return UnseenCase(
        program=row["program"], machine=row["machine"], ranks=int(row["ranks"]), size=row["size"],
        frozen=row["frozen"] == "yes", live=row["live"] == "yes", runs=tuple(map(float, row["runs"].split())),
        late=late, user=user, low=low, high=high, by_user=figures("user_model", "user_"),
        calibrated=figures("calibrated", "calibrated_"), hindsight=figures("hindsight", ""), message=message,
        commit=row["commit"], dilation=int(row.get("dilation", 1)),
    )  # fmt: skip


def page(cases: Sequence[UnseenCase], command: str, looks: Sequence[tuple[str, str]], remarks: Sequence[str]) -> str:
    """Return the page beside the table."""
    dilations = sorted({case.dilation for case in cases})
    equally = [[case for case in cases if case.dilation == dilation] for dilation in dilations]
    views = {"first measured": equally[0]}
    if len(equally) > 1:
        views["late ones dilated"] = with_cores(cases)
    shown = list(views.values())[-1]
    return "\n".join(
        [
            *_opening(cases, command, looks),
            *_goals(views),
            *(line for name, view in views.items() for line in _columns(name, view)),
            *_by("program", shown, lambda case: case.program),
            *_by("machine", shown, lambda case: case.machine),
            *_by("kind of case", shown, lambda case: case.kind),
            *_by("ranks without a core", cases, _lateness),
            *(line for each in equally for line in _matrix(each)),
            *remarks,
            "",
        ]
    )


def _opening(cases: Sequence[UnseenCase], command: str, looks: Sequence[tuple[str, str]]) -> Iterator[str]:
    frozen = all(case.frozen for case in cases)
    commits = ", ".join(dict.fromkeys(case.commit for case in cases))
    dilated = " or ".join(map(str, sorted({case.dilation for case in cases} - {1})))
    programs, machines = ({getattr(case, name) for case in cases} for name in ("program", "machine"))
    yield from ("# What a user gets" if frozen else "# Rehearsal of what a user gets", "")
    yield from (f"Written by `{command}` on {datetime.date.today().isoformat()}, with the model of {commits}.", "")
    if frozen:
        yield from (
            f"{len(programs)} programs on {len(machines)} machines that nobody looked at while the model was made.",
            f"Number of looks at them so far: {len(looks)} ({'; '.join(f'{date} with {at}' for date, at in looks)}).",
        )
    else:
        yield "Programs and machines for rehearsal: the model was mended by them, so these figures are favourable."
    yield from (
        "",
        "- **user**: one plain `clue record` on this computer at the target's number of ranks, nominal performance",
        "  factors, links as `clue calibrate network` measures them between two of the target's hosts;",
        "  `clue simulate --samples 100` (`clue run` for programs that take whatever message arrives first).",
        "- **calibrated**: the same, with a performance factor for each program, recorded on one node of the target.",
        "- **hindsight**: the same, with the CPU time that bursts took in the runs: the model of messages alone.",
        "  Programs that take whatever arrives first run live in all three columns, with one factor for all ranks.",
        "- **baseline**: max over ranks r of C(r) + max(S(r), R(r)): C is the computation of r; S and R are the sums",
        "  of L + m / B over the messages that r sends and receives, L being the time of an empty message over their",
        "  link, B its bandwidth from an empty message to 1 MiB. No simulation. **none**: `contention: none`.",
        "  **computation**: C(r) of the rank that computes longest. All three with hindsight's computation.",
        "",
        "Measured is the median of the runs on the emulated cluster, from MPI's initialisation to the end of the code,",
        "less what a program that only loads mpi4py takes there. Where a rank waits for a core of this computer, its",
        f"processor is slower than it should be; a case where one did so for over {LATE:.0%} of the time is *late*.",
        "",
    )
    if dilated:
        yield from (
            "Late cases were measured again on *dilated* clusters: processors and networks are",
            f"{dilated} times slower, so that ranks find cores, and are described and calibrated anew. Which are",
            "late depends on the runs alone, not on predictions. *Late ones dilated* has each case once; its pairs and",
            "choices are among equally dilated clusters. The tables by program, machine and kind are of it.",
            "",
        )


def _goals(views: Mapping[str, Sequence[UnseenCase]]) -> Iterator[str]:
    names = [f"{name} ({count_of(len(cases), 'case')})" for name, cases in views.items()]
    yield from (f"| figure | goal | {' | '.join(names)} |", f"| --- | --- |{' --- |' * len(views)}")
    for row in zip(*map(_reached, views.values()), strict=True):
        (figure, goal, _), *_ = row
        yield f"| {figure} | {goal} | {' | '.join(each for *_, each in row)} |"
    yield ""


def _reached(cases: Sequence[UnseenCase]) -> list[tuple[str, str, str]]:
    """Return each figure with its goal and what cases reach."""
    worth = {name: Worth.of(cases, column) for name, column in COLUMNS.items()}
    user, ratio = worth["user"], worth["hindsight"].mean / worth["baseline"].mean
    covered = sum(case.covered for case in cases) / len(cases)
    pairs = close_pairs(cases)
    ordered = f"{share_text(user.ordered)} of {len(pairs)}"
    distinct = f"{share_text(user.distinct)} of {sum(are_distinct(*pair) for pair in pairs)}"
    return [
        ("as a user: mean / 90th percentile", "≤ 12 % / ≤ 25 %", _pair(user)),
        ("calibrated processor: mean / 90th percentile", "≤ 7 % / ≤ 15 %", _pair(worth["calibrated"])),
        ("in hindsight: mean", "≤ 5 %", f"{worth['hindsight'].mean:.1%}"),
        ("against latency + size / bandwidth, same CPU times: ratio of mean errors", "≤ 0.5", f"{ratio:.2f}"),
        ("coverage of 80 % intervals by --samples alone", "70–90 %", f"{covered:.0%}"),
        ("as a user: pairs of machines within 25 %: right order", "≥ 85 %", ordered),
        ("of these, pairs whose runs do not overlap", "–", distinct),
        ("half of the runs in the order of the other half, all such pairs", "–", share_text(repeatability(pairs))),
        ("as a user: worst regret", "≤ 10 %", share_text(user.regret)),
        ("as a user: Kendall's tau-b, median of programs", "–", tau_text(user.tau)),
    ]


def _columns(name: str, cases: Sequence[UnseenCase]) -> Iterator[str]:
    head = ("mean absolute error", "90th percentile", "near pairs in the right order", "worst regret", "tau-b")
    yield f"| {name}: column | {' | '.join(head)} |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for column, of in COLUMNS.items():
        worth = Worth.of(cases, of)
        shares = share_text(worth.ordered), share_text(worth.regret)
        figures = (f"{worth.mean:.1%}", f"{worth.most:.1%}", *shares, tau_text(worth.tau))
        yield f"| {column.replace('_', ', ')} | {' | '.join(figures)} |"
    yield ""


def _by(what: str, cases: Sequence[UnseenCase], of: Callable[[UnseenCase], str]) -> Iterator[str]:
    shown = (*_MODEL, "baseline", "none", "computation")
    yield f"| {what} | cases | {' | '.join(shown)} | covered |"
    yield f"| --- | --- |{' --- |' * (len(shown) + 1)}"
    for name in dict.fromkeys(map(of, cases)):
        group = [case for case in cases if of(case) == name]
        means = (f"{Worth.of(group, COLUMNS[column]).mean:.1%}" for column in shown)
        covered = sum(case.covered for case in group) / len(group)
        yield f"| {name} | {len(group)} | {' | '.join(means)} | {covered:.0%} |"
    yield ""


def _lateness(case: UnseenCase) -> str:
    span = f"for more than {LATE:.0%} of the time" if case.is_late else f"for at most {LATE:.0%}"
    return f"{span}, dilated" if case.dilation > 1 else span


def _matrix(cases: Sequence[UnseenCase]) -> Iterator[str]:
    machines = list(dict.fromkeys(case.machine for case in cases))
    dilated = f", dilated {cases[0].dilation} times" * (cases[0].dilation > 1)
    yield from (f"Errors by case{dilated}, in %: {' / '.join(_MODEL)} (measured seconds):", "")
    yield f"| | {' | '.join(machines)} |"
    yield f"| --- |{' --- |' * len(machines)}"
    for program in dict.fromkeys(case.program for case in cases):
        cells = {case.machine: _cell(case) for case in cases if case.program == program}
        yield f"| {program} | {' | '.join(cells.get(name, '') for name in machines)} |"
    yield ""


def _cell(case: UnseenCase) -> str:
    errors = (f"{100 * (COLUMNS[column](case) / case.measured - 1):+.0f}" for column in _MODEL)
    return f"{' / '.join(errors)} ({case.measured:.2f})"


def _pair(worth: Worth) -> str:
    return f"{worth.mean:.1%} / {worth.most:.1%}"


def share_text(share: float | None) -> str:
    """Return a share as a percentage, or a dash if there is none."""
    return "–" if share is None else f"{share:.0%}"
