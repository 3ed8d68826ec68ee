"""The form of a validation: real runs, their machines and their times. Pydantic models only."""

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
    """A real run of a program; keys left out are those at the top of the file."""

    program: ProgramSource | None = Field(None, description="A name under programs, or the program itself.")
    machine: MachineSource | None = Field(
        None, description="A name under machines, a path, the name of a shipped machine, or the machine itself."
    )
    ranks: Ranks | None = Field(None, description="Number of ranks; default: that of the trace.")
    size: Argument | None = Field(
        None, description="Size of the problem: replaces {size} in the program's trace and arguments."
    )
    placement: RunPlacement | None = Field(
        None, description="block, cyclic, one of them with ranks_per_processor, or a list with the node of each rank."
    )
    instances: PositiveInt | None = Field(None, description="Independent copies that ran side by side.")
    measured: Measured | None = Field(None, description="Run times in seconds, or with a unit: one, or a list of runs.")
    spread: RunTime | None = Field(
        None, description="Half the difference between the slowest and the fastest run, if measured is their median."
    )
    measured_skeleton: MeasuredSkeleton | None = Field(
        None,
        description="File with the output of the program's skeleton (--json) there, or that with further runs. Its "
        "estimate is compared with measured instead of a simulation.",
    )


class ValidationForm(CaseForm):
    """Measured run times, and the description of programs and machines."""

    name: Name | None = Field(None, description="Its name; default: that of the file.")
    programs: Annotated[dict[str, ProgramForm], Field(min_length=1)] | None = Field(
        None, description="Programs by name; {ranks} and {size} stand for those of a case."
    )
    machines: Annotated[dict[str, MachineSource], Field(min_length=1)] | None = Field(
        None, description="Machines by name: a path, the name of a shipped one, or the machine itself."
    )
    cases: Annotated[list[CaseForm], Field(min_length=1)] | None = Field(None, description="The real runs.")
    table: Name | None = Field(
        None,
        description="A CSV file of real runs, relative to this one: columns program, machine, ranks, size, measured "
        "(or runs: several times separated by blanks), spread, measured_skeleton; others are ignored.",
    )


class RowForm(CaseForm):
    """A row of a CSV file."""

    runs: Annotated[list[RunTime], Field(min_length=1)] | None = None


class TableForm(Form):
    """The rows of a CSV file."""

    rows: list[RowForm]


#: The columns of a CSV file that are read.
COLUMNS = ("program", "machine", "ranks", "size", "measured", "runs", "spread", "measured_skeleton")


def row_of(
    cells: dict[str, str],
    columns: Sequence[str] = COLUMNS,
    numbers: Sequence[str] = ("measured", "spread", "ranks"),
) -> dict[str, Any]:
    """Return a row of a CSV file in the form of a case: numbers as such, several runs as a list, no empty cells."""
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
