"""Load the input of ``clue validate``: measured run times, their programs and machines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath

from clue.config.document import Path, format_value
from clue.config.faults import did_you_mean
from clue.config.machines import build_machine_apart
from clue.config.reading import Reading
from clue.config.references import build_application, number_of_ranks, refer_to_machine
from clue.config.run_schema import OrderForm, ProgramForm
from clue.config.simulation import PlacementChoice
from clue.config.skeleton_runs import check_recording, measured_by
from clue.config.sources import Source, folder_of, read_source
from clue.config.tables import read_table
from clue.config.validation_schema import COLUMNS, CaseForm, RowForm, TableForm, ValidationForm, row_of
from clue.errors import ConfigError, UsageError
from clue.files import is_file
from clue.formats.extrap import Measurement
from clue.machine import Machine
from clue.predict.application import PLACEHOLDER, Application

#: A size that is a whole number.
_NUMBER = re.compile("[1-9][0-9]{0,17}")


@dataclass(frozen=True, slots=True)
class MeasuredCase:
    """A real run of a program, as a file describes it.

    Attributes:
        program_name: Name of the program.
        machine_name: Name of the machine.
        size: Size of the problem; ``""`` if not stated.
        program: The program; its trace, if any, may be for any number of ranks.
        machine: The machine.
        ranks: Number of ranks; ``None`` if only the trace states it.
        placement: Where the ranks ran.
        instances: Independent copies that ran side by side.
        runs: Times of the runs, seconds.
        spread: Half the difference between the slowest and the fastest run, if stated; seconds.
    """

    program_name: str
    machine_name: str
    size: str
    program: Application
    machine: Machine
    ranks: int | None
    placement: PlacementChoice
    instances: int
    runs: tuple[float, ...]
    spread: float | None = None


@dataclass(frozen=True, slots=True)
class ValidationConfig:
    """The real runs of a validation.

    Attributes:
        name: Its name.
        cases: At least one.
    """

    name: str
    cases: tuple[MeasuredCase, ...]


def load_validation(source: Source, *, relative_to: FilePath | str | None = None) -> ValidationConfig:
    """Load measured run times.

    Args:
        source: A path, or the mapping itself.
        relative_to: Base directory of a relative path; default: the current one.

    Raises:
        ConfigError: With all faults of the file.
    """
    document, path = read_source(source, ("validations",), relative_to)
    base = folder_of(path, relative_to)
    reading = Reading(document, base)
    config = _validation(reading, path.stem if path is not None else "validation")
    reading.check()
    assert config is not None
    return config


def _validation(reading: Reading, name: str) -> ValidationConfig | None:
    form = reading.form(ValidationForm)
    if form is None:
        _check_machines(reading)
        return None
    builder = _Builder(reading, form)
    written = list(_cases(reading, form))
    if not written and not reading.faults:
        if form.table is None:
            reading.fault((), "must have measured times, cases or a table, got none")
        else:
            reading.fault(("table",), f"must be a file with rows, got none in {format_value(form.table)}")
    cases = [case for each in written if (case := builder.case(*each)) is not None]
    return ValidationConfig(form.name or name, _together(cases))


def _check_machines(reading: Reading) -> None:
    """Add the faults of the machines at the top of a file whose cases cannot be built because of other faults."""
    top = reading.document.value if isinstance(reading.document.value, dict) else {}
    machines, machine = top.get("machines"), top.get("machine")
    named = machines if isinstance(machines, dict) else {}
    paths: list[Path] = [("machines", name) for name in named]
    if isinstance(machine, dict) or (isinstance(machine, str) and machine not in named):
        paths.append(("machine",))
    for path in paths:
        referred = refer_to_machine(reading, path)
        if referred is not None:
            build_machine_apart(reading, *referred)


#: A case: its file, its path there, and its form.
_Written = tuple[Reading, Path, CaseForm]


def _cases(reading: Reading, form: ValidationForm) -> Iterator[_Written]:
    """Yield the cases of a file: the one at its top, those listed, and the rows of its table."""
    if form.measured is not None:
        yield reading, (), form
    for i, case in enumerate(form.cases or ()):
        yield reading, ("cases", i), case
    if form.table is not None:
        yield from _rows(reading, form.table)


def load_measurements(table: FilePath) -> list[Measurement]:
    """Return the run times of a table whose rows have a size and a number of ranks.

    Raises:
        ConfigError: With all faults of the table.
    """
    reading = Reading(read_table(table, COLUMNS, row_of), table.parent)
    form = reading.form(TableForm)
    found: dict[tuple[str, int, int], tuple[float, ...]] = {}
    for i, row in enumerate(form.rows if form is not None else ()):
        callpath = "->".join(str(each) for each in (row.program, row.machine) if isinstance(each, str)) or "main"
        size = row.size if row.size is not None and _NUMBER.fullmatch(row.size) else None
        for key, known in (("size", size), ("ranks", row.ranks), ("measured", _runs(row))):
            if not known:
                got = format_value(getattr(row, key))
                reading.fault(("rows", i, key), f"must be {_NEEDED[key]}, got {got}")
        if size is not None and row.ranks is not None:
            at = callpath, int(size), row.ranks
            found[at] = (*found.get(at, ()), *_runs(row))
    if form is not None and not form.rows:
        reading.fault(("rows",), "must have rows, got none")
    reading.check()
    return [
        Measurement({"size": size, "ranks": ranks}, path, "time", runs) for (path, size, ranks), runs in found.items()
    ]


#: Cells that a row must have to be a measurement, with the words for them in messages.
_NEEDED = {"size": "a whole number", "ranks": "a number of ranks", "measured": "a run time"}


def _rows(reading: Reading, name: str) -> Iterator[_Written]:
    file = reading.base / name
    if not is_file(file):
        reading.fault(("table",), f"must be a file that exists, got {format_value(name)}")
        return
    try:
        table = reading.of(read_table(file, COLUMNS, row_of))
    except ConfigError as error:
        reading.faults.take(error)
        return
    rows = table.form(TableForm)
    for i, row in enumerate(rows.rows if rows is not None else ()):
        yield table, ("rows", i), row


def _together(cases: list[MeasuredCase]) -> tuple[MeasuredCase, ...]:
    """Combine the runs of equal cases: a row of a table may be a single run."""
    found: dict[object, MeasuredCase] = {}
    for case in cases:
        what = (case.program_name, case.program, case.size, case.ranks)
        key = (*what, case.machine_name, id(case.machine), case.placement, case.instances)
        known = found.get(key)
        found[key] = case if known is None else replace(known, runs=known.runs + case.runs)
    return tuple(found.values())


@dataclass(frozen=True, slots=True)
class _Builder:
    """Builds cases from the programs and machines that they name.

    Attributes:
        top: The file.
        form: Its form.
        machines: Machines built so far, by name; ``None`` for those with faults.
    """

    top: Reading
    form: ValidationForm
    machines: dict[str, Machine | None] = field(default_factory=dict)

    def case(self, reading: Reading, path: Path, form: CaseForm) -> MeasuredCase | None:
        """Build a case, or add its faults and return ``None``."""
        runs = _runs(form)
        if not runs:
            reading.fault((*path, "measured"), "must be given, got nothing")
        size, ranks = form.size or self.form.size or "", form.ranks or self.form.ranks
        if form.measured_skeleton is None:
            program = self._program(reading, path, form, size, ranks)
        else:
            program = self._by_skeleton(reading, (*path, "measured_skeleton"), form, ranks)
        machine = self._machine(reading, path, form)
        if program is None or machine is None or not runs:
            return None
        placement = _placement(form) or _placement(self.form) or PlacementChoice()
        instances = form.instances or self.form.instances or 1
        case = MeasuredCase(
            program_name=program[0],
            machine_name=machine[0],
            size=size,
            program=program[1],
            machine=machine[1],
            ranks=program[2],
            placement=placement,
            instances=instances,
            runs=runs,
            spread=form.spread,
        )
        _check_room(reading, path, form, case)
        return case

    def _program(
        self, reading: Reading, path: Path, form: CaseForm, size: str, ranks: int | None
    ) -> tuple[str, Application, int | None] | None:
        """Return the name of a case's program, the program for its size, and its number of ranks, if known."""
        source = form.program or self.form.program
        if source is None:
            reading.fault((*path, "program"), "must be given for the case or the whole file, got nothing")
            return None
        within, place = (reading, (*path, "program")) if form.program is not None else (self.top, ("program",))
        name = _name(source) if isinstance(source, ProgramForm) else source
        if isinstance(source, str):
            programs = self.form.programs or {}
            if source not in programs:
                known = f" ({', '.join(programs)})" if programs else ""
                near = did_you_mean(source, programs)
                within.fault(place, f"must be a name under programs{known}, got {format_value(source)}{near}")
                return None
            within, place, source = self.top, ("programs", name), programs[name]
        ranks = number_of_ranks(within, place, source, ranks)
        if ranks is None and (source.trace is None or PLACEHOLDER in source.trace):
            reading.fault((*path, "ranks"), "must be given if no trace states it, got nothing")
            return None
        filled = _filled(source, size, ranks)
        if "{size}" in str(filled.model_copy(update={"extrapolate": None})):
            reading.fault((*path, "size"), f"must be given if program {name} has {{size}}, got nothing")
            return None
        return name, build_application(within, place, filled), ranks

    def _by_skeleton(
        self, reading: Reading, path: Path, form: CaseForm, ranks: int | None
    ) -> tuple[str, Application, int | None] | None:
        """Return the name of a case's program, the program as measured by its skeleton, and its number of ranks."""
        source = form.program or self.form.program
        assert form.measured_skeleton is not None
        measured = measured_by(reading, path, form.measured_skeleton)
        if measured is None:
            return None
        if ranks not in {None, measured.ranks}:
            reading.fault(path, f"must have {ranks} ranks like the case, got {measured.ranks}")
        if (form.instances or self.form.instances or 1) > 1:
            reading.fault(path, "must be a case with 1 instance, as skeletons have, got several", of_key=True)
        if isinstance(source, str):
            name, base, program = source, self.top.base, (self.form.programs or {}).get(source)
        else:
            name, program = "program" if source is None else _name(source), source
            base = (self.top if form.program is None else reading).base
        if program is not None and ranks in {None, measured.ranks}:
            filled = _filled(program, form.size or self.form.size or "", measured.ranks)
            traces = [str(base / each) for each in (filled.trace, *filled.repeats) if each is not None]
            measured = check_recording(reading, path, measured, traces)
        return name, Application(measured=measured), measured.ranks

    def _machine(self, reading: Reading, path: Path, form: CaseForm) -> tuple[str, Machine] | None:
        """Return the name of a case's machine, and the machine."""
        source = form.machine if form.machine is not None else self.form.machine
        if source is None:
            reading.fault((*path, "machine"), "must be given for the case or the whole file, got nothing")
            return None
        within, place = (reading, (*path, "machine")) if form.machine is not None else (self.top, ("machine",))
        if not isinstance(source, str):
            built = self._built(f"{place}", within, place)
            return None if built is None else (str(source.get("name", "machine")), built)
        if source in (self.form.machines or {}):
            within, place = self.top, ("machines", source)
        built = self._built(source, within, place)
        return None if built is None else (source, built)

    def _built(self, key: str, reading: Reading, place: Path) -> Machine | None:
        if key not in self.machines:
            referred = refer_to_machine(reading, place)
            if referred is None:
                self.machines[key] = None
            else:
                # A machine written under machines keeps its name there.
                title = key if place[0] == "machines" else referred[1]
                self.machines[key] = build_machine_apart(reading, referred[0], title)
        return self.machines[key]


def _check_room(reading: Reading, path: Path, form: CaseForm, case: MeasuredCase) -> None:
    """Check that the ranks fit, if their number is known before the trace is read."""
    if case.ranks is None:
        return
    try:
        case.placement.place(case.machine, case.ranks * case.instances)
    except UsageError as error:
        key = "placement" if form.placement is not None else "ranks"
        reading.fault((*path, key), str(error).removeprefix("placement: ").removeprefix("ranks "))


def _runs(form: CaseForm) -> tuple[float, ...]:
    """Return the run times of a case; empty if there are none."""
    runs = form.runs if isinstance(form, RowForm) and form.runs is not None else form.measured
    if runs is None:
        return ()
    return tuple(runs) if isinstance(runs, list) else (runs,)


def _placement(form: CaseForm) -> PlacementChoice | None:
    placement = form.placement
    if isinstance(placement, OrderForm):
        return PlacementChoice(placement.order, placement.ranks_per_processor)
    if isinstance(placement, list):
        return PlacementChoice(nodes=tuple(placement))
    return None if placement is None else PlacementChoice(placement)


def _name(form: ProgramForm) -> str:
    """Return the name of a program that states none: its file, without extension and placeholders."""
    stem = FilePath(form.script or form.trace or "").stem
    return re.sub(r"[-_.]*\{\w+\}", "", stem) or stem or "program"


def _filled(form: ProgramForm, size: str, ranks: int | None) -> ProgramForm:
    """Return the form of a program with its placeholders replaced by the size and ranks of a case."""

    def fill(text: str) -> str:
        if size:
            text = text.replace("{size}", size)
        return text if ranks is None else text.replace(PLACEHOLDER, str(ranks))

    extrapolate = form.extrapolate
    if extrapolate is not None and extrapolate.size is None and _NUMBER.fullmatch(size):
        extrapolate = extrapolate.model_copy(update={"size": int(size)})
    return form.model_copy(
        update={
            "extrapolate": extrapolate,
            "trace": None if form.trace is None else fill(form.trace),
            "args": [fill(each) for each in form.args],
            "repeats": [fill(each) for each in form.repeats],
            "inputs": [fill(each) for each in form.inputs],
        }
    )
