"""Load a table of measured runs to which models are fitted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path as FilePath
from statistics import median
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from clue.config.document import Path, format_value
from clue.config.forms import Form, Name
from clue.config.quantities import PositiveInt, RunTime, run_time
from clue.config.reading import Reading
from clue.config.tables import read_table
from clue.config.validation_schema import row_of
from clue.models import Run, Use
from clue.models.cluster_fit import COMMUNICATE, COMPUTE, REGION, ROUNDED, parts_of
from clue.models.model import ANY
from clue.units import Quantity, count_of, format_exact, parse_quantity

#: The columns that are read, besides ``region:NAME``. ``per_processor`` is another name for ``processes``.
COLUMNS = (
    *("size", "measured", "runs", "ranks", "processor", "processors", "processes", "per_processor"),
    *("compute", "communicate", "program", "machine"),
)
#: Those that are times; the others tell which case a run is of.
_TIMES = ("measured", "runs", "compute", "communicate")
#: Share of the time of a run by which its parts may miss it without a warning.
_MISSED = 0.05
#: Separator between kinds of processors, and between their numbers, for a run on several kinds.
AND = "+"


def _part(value: object) -> float:
    """Return the seconds of a part, which may take no time."""
    none = parse_quantity(value, Quantity.TIME) == 0 if isinstance(value, str) else value == 0
    return 0.0 if none else run_time(value)


_Part = Annotated[float, BeforeValidator(_part)]


class RowForm(Form):
    """A row: a run, or several runs of the same case."""

    size: Annotated[float, Field(gt=0)]
    measured: RunTime | None = None
    runs: Annotated[list[RunTime], Field(min_length=1)] | None = None
    ranks: PositiveInt | None = None
    processor: Name | None = None
    processors: Name | None = None
    processes: Name | None = None
    compute: _Part | None = None
    communicate: _Part | None = None
    regions: dict[Name, _Part] = Field(default={}, description="Time of each region, seconds.")
    program: Name | None = None
    machine: Name | None = None


class RunsForm(Form):
    """The rows of a table."""

    rows: list[RowForm]


def load_runs(file: FilePath, tell: Callable[[str], None] = lambda _: None) -> tuple[Run, ...]:
    """Return the runs of a table.

    Args:
        file: The table.
        tell: Is called with a warning for each column that is not read although runs of one case differ in it, for each
            part that cannot be fitted because some runs lack it, and for parts that do not sum to the time of a run.

    Raises:
        ConfigError: With all faults of the table.
    """
    written = list[dict[str, str]]()

    def row(cells: dict[str, str]) -> dict[str, Any]:
        written.append(cells)
        return _row(cells)

    reading = Reading(read_table(file, COLUMNS, row), file.parent)
    form = reading.form(RunsForm)
    rows = form.rows if form else []
    if any(row.ranks is not None for row in rows):
        _check_ranks(reading, rows)
    runs = [run for i, row in enumerate(rows) for run in _runs(reading, ("rows", i), row)]
    if form is not None and not form.rows:
        reading.fault(("rows",), "must have rows, got none")
    programs = sorted({row.program for row in rows if row.program})
    if len(programs) > 1:
        reading.fault(("rows",), f"must be of one program, got {', '.join(programs)}")
    reading.check()
    for column in _unread(written):
        tell(f"{file}: column {column} is not read, so runs that differ in it alone count as repeats of one case")
    for doubt in _doubts([run for run in runs if len(run.uses) == 1]):
        tell(f"{file}: {doubt}")
    return tuple(runs)


def _doubts(runs: Sequence[Run]) -> Iterator[str]:
    """Yield what a reader must know of the parts of runs on one kind of processor, to which models are fitted."""
    fitted = parts_of(runs) if runs else ()
    for part in dict.fromkeys(part for run in runs for part in run.parts if part not in fitted):
        lacking = f"{COMPUTE} and {COMMUNICATE}" if part in {COMPUTE, COMMUNICATE} else "it"
        yield f"{part} is not a part of the model, because not all runs on one kind of processor have {lacking}"
    if COMMUNICATE not in fitted:
        return
    cases: dict[tuple[float, int, tuple[tuple[str, Use], ...]], list[Run]] = {}
    for run in runs:
        cases.setdefault((run.size, run.ranks, tuple(run.uses.items())), []).append(run)
    found = []
    for (size, ranks, _), of in cases.items():
        parts = sum(median(run.parts[part] for run in of) for part in (COMPUTE, COMMUNICATE))
        found.append((parts / median(run.seconds for run in of), size, ranks))
    missed = [each for each in found if abs(each[0] - 1) > _MISSED]
    if missed:
        share, size, ranks = max(missed, key=lambda each: abs(each[0] - 1))
        where = f"n = {format_exact(size)} on {count_of(ranks)}"
        often = f"{len(missed)} of {count_of(len(cases), 'case')}"
        yield (
            f"{COMPUTE} and {COMMUNICATE} sum to {share:.0%} of measured at {where}, and miss it by more than "
            f"{_MISSED:.0%} in {often}: the model predicts their sum"
        )


def _unread(rows: Sequence[dict[str, str]]) -> list[str]:
    """Return the columns that are not read and have several values in one case."""
    values: dict[tuple[str, ...], set[str]] = {}
    for cells in rows:
        case = tuple(cells.get(column, "") for column in COLUMNS if column not in _TIMES)
        for column, cell in cells.items():
            if column not in COLUMNS and not column.startswith(REGION):
                values.setdefault((column, *case), set()).add(cell)
    return list(dict.fromkeys(column for (column, *_), found in values.items() if len(found) > 1))


def _row(cells: dict[str, str]) -> dict[str, Any]:
    """Return a row as its form expects it: sizes and parts as numbers, possible lists of kinds as text."""
    regions = [column for column in cells if column.startswith(REGION)]
    numbers = ("measured", "ranks", "size", "compute", "communicate", *regions)
    row = row_of(cells, (*COLUMNS, *regions), numbers)
    row["regions"] = {column.removeprefix(REGION): row.pop(column) for column in regions if column in row}
    if "per_processor" in row:
        row.setdefault("processes", row.pop("per_processor"))
    if isinstance(row.get("size"), int):
        with suppress(OverflowError):  # the form refuses it
            row["size"] = float(row["size"])
    return row


def _check_ranks(reading: Reading, rows: Sequence[RowForm]) -> None:
    """Check that no row lacks ranks that others have: it would count as a run of one process."""
    for i, row in enumerate(rows):
        several = AND in (row.processor or row.machine or "")  # which must have processors in any case
        if row.ranks is None and row.processors is None and not several:
            rule = "must be given if other runs have them, or processors in their place, got nothing"
            reading.fault(("rows", i, "ranks"), rule)


def _runs(reading: Reading, path: Path, row: RowForm) -> Iterator[Run]:
    """Yield the runs of a row, or add its faults."""
    measured = row.runs or ([row.measured] if row.measured is not None else [])
    if not measured:
        reading.fault((*path, "measured"), "must be given, got nothing")
    # Repeats count by their median, and so do their parts.
    parts = _parts(reading, path, row, median(measured)) if measured else {}
    uses = _uses(reading, path, row)
    if uses is not None:
        yield from (Run(row.size, uses, seconds, parts) for seconds in measured)


def _parts(reading: Reading, path: Path, row: RowForm, measured: float) -> dict[str, float]:
    """Return the times of the parts in a row, seconds, or add its faults."""
    of = "compute" if row.compute is not None else "measured" if row.runs is None else "the median of runs"
    whole = measured if row.compute is None else row.compute
    if (taken := sum(row.regions.values())) > whole * (1 + ROUNDED):
        reading.fault((*path, "regions"), f"must sum to at most {of}, {whole:g} s, got {taken:g} s")
    stated = {COMPUTE: row.compute, COMMUNICATE: row.communicate}
    regions = {f"{REGION}{name}": seconds for name, seconds in row.regions.items()}
    return {part: seconds for part, seconds in stated.items() if seconds is not None} | regions


def _uses(reading: Reading, path: Path, row: RowForm) -> dict[str, Use] | None:
    """Return the processors that a row's runs used."""
    column = "processor" if row.processor else "machine"
    text = row.processor or row.machine or ANY
    kinds = text.split(AND)
    if len(set(kinds)) < len(kinds):
        reading.fault((*path, column), f"must name each kind of processor once, got {format_value(text)}")
        return None
    processes = _counts(reading, (*path, "processes"), row.processes, kinds)
    processors = _counts(reading, (*path, "processors"), row.processors, kinds)
    if processes is None or (row.processors is not None and processors is None):
        return None
    if row.processors is None:
        if len(kinds) > 1:
            reading.fault((*path, "processors"), f"must be given for each of {len(kinds)} kinds, got nothing")
            return None
        ranks = row.ranks or processes[0]
        if ranks % processes[0]:
            rule = f"must be a multiple of the processes of each processor ({processes[0]}), got {ranks}"
            reading.fault((*path, "ranks"), rule)
            return None
        processors = [ranks // processes[0]]
    assert processors is not None
    total = sum(p * m for p, m in zip(processors, processes, strict=True))
    if row.ranks not in (None, total):
        reading.fault((*path, "ranks"), f"must be {total}, all processes of all processors, got {row.ranks}")
    return {kind: Use(p, m) for kind, p, m in zip(kinds, processors, processes, strict=True)}


def _counts(reading: Reading, path: Path, text: str | None, kinds: list[str]) -> list[int] | None:
    """Return a whole number for each kind; 1 if there is none."""
    if text is None:
        return [1] * len(kinds)
    words = text.split(AND)
    if len(words) == len(kinds) and all(word.isdecimal() and 0 < int(word) < 10**9 for word in words):
        return list(map(int, words))
    rule = (
        "must be a whole number above 0"
        if len(kinds) == 1
        else f"must be {len(kinds)} whole numbers above 0, joined by {AND}"
    )
    reading.fault(path, f"{rule}, got {format_value(text)}")
    return None
