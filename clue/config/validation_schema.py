"""The form of a validation: what was run for real, where, and how long it took. Pydantic models only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field

from clue.config.forms import Form, Name, OneOrList, OneOrTable
from clue.config.quantities import PositiveInt, RunTime
from clue.config.run_schema import Argument, MachineSource, MeasuredSkeleton, ProgramForm, RunPlacement
from clue.config.schema import Ranks

Measured = OneOrList[RunTime, RunTime]
ProgramSource = OneOrTable[Name, ProgramForm]


class CaseForm(Form):
    """A program that was run for real; what is left out is as at the top of the file."""

    program: ProgramSource | None = Field(None, description="A name under programs, or the program itself.")
    machine: MachineSource | None = Field(
        None, description="A name under machines, a path, the name of a shipped machine, or the machine itself."
    )
    ranks: Ranks | None = Field(None, description="Number of ranks; left out: as many as the trace has.")
    size: Argument | None = Field(
        None, description="What was solved: stands for {size} in the program's trace and arguments."
    )
    placement: RunPlacement | None = Field(
        None, description="block, cyclic, one of them with ranks_per_processor, or a list of a node for each rank."
    )
    instances: PositiveInt | None = Field(None, description="Independent copies that ran side by side.")
    measured: Measured | None = Field(None, description="Run times in seconds, or with a unit: one, or a list of runs.")
    spread: RunTime | None = Field(
        None, description="Half of what lies between fastest and slowest run, where measured is their median."
    )
    measured_skeleton: MeasuredSkeleton | None = Field(
        None,
        description="What the program's skeleton printed with --json there, as a file; or that with further runs. It "
        "is held against measured instead of a simulation.",
    )


class ValidationForm(CaseForm):
    """Run times that were measured, beside the description of what ran where."""

    name: Name | None = Field(None, description="Its name; left out: that of the file.")
    programs: Annotated[dict[str, ProgramForm], Field(min_length=1)] | None = Field(
        None, description="Programs by name; {ranks} and {size} stand for those of a case."
    )
    machines: Annotated[dict[str, MachineSource], Field(min_length=1)] | None = Field(
        None, description="Machines by name: a path, the name of a shipped one, or the machine itself."
    )
    cases: Annotated[list[CaseForm], Field(min_length=1)] | None = Field(None, description="What was run.")
    table: Name | None = Field(
        None,
        description="A CSV file of what was run, relative to this one: columns program, machine, ranks, size, measured "
        "(or runs: several times with blanks between them), spread, measured_skeleton; others do not matter.",
    )


class RowForm(CaseForm):
    """A row of a CSV file."""

    runs: Annotated[list[RunTime], Field(min_length=1)] | None = None


class TableForm(Form):
    """The rows of a CSV file."""

    rows: list[RowForm]


#: The columns of a CSV file that count.
COLUMNS = ("program", "machine", "ranks", "size", "measured", "runs", "spread", "measured_skeleton")


def row_of(
    cells: dict[str, str],
    columns: Sequence[str] = COLUMNS,
    numbers: Sequence[str] = ("measured", "spread", "ranks"),
) -> dict[str, Any]:
    """Return a row of a CSV file as a case is written: numbers as such, several runs as a list, no empty cells."""
    row: dict[str, Any] = {key: text for key, text in cells.items() if text and key in columns}
    if "runs" in row:
        row["runs"] = [_number(run) for run in row["runs"].split()]
        row.pop("measured", None)
    for key in numbers:
        if isinstance(row.get(key), str):
            row[key] = _number(row[key])
    return row


def _number(text: str) -> object:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
