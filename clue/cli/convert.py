"""``clue convert``: traces to other formats, machines to SimGrid platforms, measurements to Extra-P's format."""

from __future__ import annotations

import argparse
import os
import zipfile
from collections.abc import Iterable
from pathlib import Path

from clue.cli.effects import refuse
from clue.cli.terminal import output_file, output_trace, say
from clue.errors import UsageError
from clue.files import noted, open_file, write_texts
from clue.formats import BY_NAME, FORMATS, OWN, Format, Kind, format_of
from clue.trace import Trace
from clue.units import count_of

#: Options and the keyword arguments of readers and writers that they set.
_OPTIONS = {"--flops-per-second": "flops_per_second", "--lower": "lower", "--collectives": "library"}


def run(arguments: argparse.Namespace) -> int:
    """Convert; if no options name the formats, the file names do."""
    source, target = Path(arguments.source), Path(arguments.target)
    if arguments.target_format is None and target.suffix and format_of(target) is None:
        endings = ", ".join(suffix for form in FORMATS for suffix in form.suffixes)
        raise UsageError(f"{target}: target must end in one of {endings}, or have --to, got {target.suffix}")
    to = _form(arguments.target_format, target)
    (output_trace if to is OWN else output_file)(target, _read(arguments.source, to))
    if to.kind is Kind.TRACE and arguments.source_format is None:
        _check_known(source)
    origin = _form(arguments.source_format, source) if to.kind is Kind.TRACE else None
    if to.kind is Kind.MACHINE and source.suffix and source.exists() and (other := format_of(source)):
        raise UsageError(f"{source}: source must be a machine for a target of form {to.name}, got {other.title}")
    _refuse_idle(arguments, origin, to)
    options = {
        "flops_per_second": arguments.flops_per_second,
        "lower": arguments.lower or None,
        "library": arguments.collectives,
    }
    with noted() as read:
        if origin is not None:
            subject: object = _trace(source, origin, to, options)
        else:
            subject = (_machine if to.kind is Kind.MACHINE else _measurements)(arguments.source)
        _write(subject, target, to, options, read)
    return 0


def _form(name: str | None, path: Path) -> Format:
    return BY_NAME[name] if name else format_of(path) or OWN


def _check_known(source: Path) -> None:
    """Check that the name of a file tells its format; a compressed trace of clue may have any name."""
    if format_of(source) is not None or not source.is_file():
        return
    with open_file(source) as file:
        if zipfile.is_zipfile(file):
            return
    endings = ", ".join(suffix for form in FORMATS if form.reader for suffix in form.suffixes)
    raise UsageError(f"{source}: source must end in one of {endings}, or have --from, got {source.suffix or 'none'}")


def _read(source: str, to: Format) -> list[str | Path]:
    """Return the files and folders that are read, as far as their names are known."""
    if to.kind is not Kind.MEASUREMENTS:
        return [source]
    from clue.cli.model_runs import read_by  # noqa: PLC0415 - only for measurements

    return read_by(source, None)


def _refuse_idle(arguments: argparse.Namespace, origin: Format | None, to: Format) -> None:
    """Refuse options that have no effect on this conversion."""
    if origin is None:
        refuse(arguments, ["--from"], "with a trace", to.kind.value, arguments.source)
    used = to.write_with | (origin.read_with if origin else frozenset())
    for option, keyword in _OPTIONS.items():
        if keyword not in used:
            read = [form.name for form in FORMATS if keyword in form.read_with]
            written = [form.name for form in FORMATS if keyword in form.write_with]
            rule = f"with {'a source of form ' + ' or '.join(read) + ' or ' if read else ''}a target of form "
            got = f"{origin.name} to {to.name}" if origin else to.name
            refuse(arguments, [option], rule + " or ".join(written), got)


def _trace(source: Path, form: Format, to: Format, options: dict[str, object]) -> Trace:
    converted = form.read(source, **options)
    # Other formats cannot hold the notes of a trace, among which are the remarks on reading it.
    say(converted.remarks if to is OWN else converted.trace.head.notes, prefix="note: ")
    return converted.trace


def _machine(source: str) -> object:
    from clue.config import load_machine  # noqa: PLC0415 - only for machines

    return load_machine(source)


def _measurements(source: str) -> object:
    """Return the measurements of recordings that a pattern names, or the run times of a table."""
    from clue.config.validations import load_measurements  # noqa: PLC0415 - only for measurements
    from clue.extrapolation import Family  # noqa: PLC0415 - the same
    from clue.extrapolation.measurements import measurements_of  # noqa: PLC0415 - the same

    if Path(source).suffix == ".csv":
        return load_measurements(Path(source))
    return list(measurements_of(Family.open(source)))


def _write(subject: object, target: Path, form: Format, options: dict[str, object], read: Iterable[Path]) -> None:
    if isinstance(subject, Trace) and form is OWN:
        subject.save(target)
        say([f"wrote {target}"])
        return
    written = form.write(subject, target.name, **options)
    files = {target.parent / name: text for name, text in written.files.items()}
    _check(files, read)
    say(written.remarks, prefix="note: ")
    say(written.hints, prefix="note: ")
    write_texts(files)
    beside = [name for name in written.files if name != target.name]
    named = beside[0] if len(beside) == 1 else f"{count_of(len(beside), 'file')} beside it"
    say([f"wrote {target}" + (f" and {named}" if beside else "")])


def _check(files: Iterable[Path], read: Iterable[Path]) -> None:
    """Check that each file may be written: those beside the target are known only once the source has been read."""
    inputs = {os.path.realpath(each): each for each in read}
    for path in files:
        lost = inputs.get(os.path.realpath(path))
        output_file(path, [] if lost is None else [lost])
