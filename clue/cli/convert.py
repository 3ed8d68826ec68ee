"""``clue convert``: a trace from one form to another, or a machine to SimGrid's platform."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from clue.cli.effects import refuse
from clue.cli.terminal import output_file, output_trace, say
from clue.errors import UsageError
from clue.files import write_texts
from clue.trace import Trace
from clue.units import count_of

#: Forms by the ending of a file's name, where none is named.
_BY_SUFFIX = {".clue": "clue", ".zip": "clue", ".ti": "ti", ".goal": "goal", ".xml": "simgrid"}
#: Whose algorithms of collectives are taken where none is named.
_LIBRARY = "mpich"


def run(arguments: argparse.Namespace) -> int:
    """Convert; the names tell the forms where no options do."""
    source, target = Path(arguments.source), Path(arguments.target)
    if os.path.realpath(source) == os.path.realpath(target):
        raise UsageError(f"{target}: target must differ from the source")
    to = arguments.target_format or _by_name(target)
    if to != "clue":
        output_file(target)
    origin = "simgrid" if to == "simgrid" else arguments.source_format or _by_name(source)
    _refuse_idle(arguments, origin, to)
    if to == "simgrid":
        _write_platform(arguments.source, target, _speed(arguments))
    else:
        _write(_read(source, origin, _speed(arguments)), target, to, arguments)
    return 0


def _refuse_idle(arguments: argparse.Namespace, origin: str, to: str) -> None:
    """Refuse options that this conversion has no use for."""
    if to == "simgrid":
        refuse(arguments, ["--from"], "with a trace", "a machine", arguments.source)
    if not {"ti", "simgrid"} & {origin, to}:
        refuse(arguments, ["--flops-per-second"], "with a form of SimGrid (ti, simgrid)", f"{origin} to {to}")
    if to not in {"ti", "goal"}:
        refuse(arguments, ["--lower", "--collectives"], "with a target of form ti or goal", to)


def _speed(arguments: argparse.Namespace) -> float:
    return 1e9 if arguments.flops_per_second is None else float(arguments.flops_per_second)


def _by_name(path: Path) -> str:
    return "clue" if path.is_dir() else _BY_SUFFIX.get(path.suffix, "clue")


def _read(source: Path, form: str, flops_per_second: float) -> Trace:
    if form == "simgrid":
        raise UsageError(f"{source}: source must be a trace, or a machine of clue, got a platform")
    if form == "clue":
        return Trace.open(source)
    from clue.formats import read_goal, read_ti  # noqa: PLC0415 - only for those forms

    converted = read_ti(source, flops_per_second=flops_per_second) if form == "ti" else read_goal(source)
    say(converted.remarks, prefix="note: ")
    return converted.trace


def _write(trace: Trace, target: Path, form: str, arguments: argparse.Namespace) -> None:
    if form == "clue":
        _save(trace, target)
        return
    from clue.formats import write_goal, write_ti  # noqa: PLC0415 - only for those forms

    say(trace.head.notes, prefix="note: ")  # which these forms cannot hold
    if form == "ti":
        written = write_ti(
            trace,
            target.name,
            flops_per_second=_speed(arguments),
            lower=arguments.lower,
            library=arguments.collectives or _LIBRARY,
        )
        say([f"computation is written at {_speed(arguments):g} flop/s of CPU time"], prefix="note: ")
    else:
        written = write_goal(trace, target.name, library=arguments.collectives or _LIBRARY)
    say(written.remarks, prefix="note: ")
    write_texts({target.parent / name: text for name, text in written.files.items()})
    beside = len(written.files) - 1
    say([f"wrote {target}" + (f" and {count_of(beside, 'file')} beside it" if beside else "")])


def _save(trace: Trace, target: Path) -> None:
    """Save in clue's own form; the name tells folder or compressed file."""
    trace.save(output_trace(target))
    say([f"wrote {target}"])


def _write_platform(machine: str, target: Path, flops_per_second: float) -> None:
    from clue.config import load_machine  # noqa: PLC0415 - only for machines
    from clue.formats import simgrid_platform  # noqa: PLC0415 - only for that form

    platform = simgrid_platform(load_machine(machine), flops_per_second=flops_per_second)
    hosts = target.with_suffix(".hosts")
    say(platform.remarks, prefix="note: ")
    write_texts({target: platform.xml, hosts: platform.hosts})
    say([f"wrote {target} and {hosts}; give smpirun these options too:", "  " + " ".join(platform.options)])
