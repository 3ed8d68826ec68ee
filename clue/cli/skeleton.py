"""``clue skeleton``: make a short program that stands for a long one from its trace."""

from __future__ import annotations

import argparse
import datetime
import hashlib
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from clue.cli.terminal import check_different, output_file, output_trace, progress, say, show, show_json
from clue.config import load_machine
from clue.errors import UsageError
from clue.files import exists, open_file, write_texts
from clue.kernel import simulate
from clue.machine import Machine
from clue.report.skeleton.document import Replayed, Written, skeleton_document
from clue.report.skeleton.text import skeleton_text
from clue.skeleton.c import c_program, compiling
from clue.skeleton.calibration import calibrated, calibrated_c
from clue.skeleton.construction import Skeleton, construct
from clue.skeleton.events import Events
from clue.skeleton.python import python_program
from clue.skeleton.statements import Statements
from clue.skeleton.tree import statements_of
from clue.skeleton.words import About, is_skeleton
from clue.skeleton.work import Character, characters
from clue.trace import Trace

_PYTHON, _C = "python", "c"
#: Bytes of a file that tell whether it is a skeleton.
_BEGIN = 4096


def run(arguments: argparse.Namespace) -> int:
    """Make a skeleton from a trace, and write it as a program."""
    read = (arguments.trace, *arguments.machine)
    written_to = (("-o", arguments.output), ("--trace", arguments.trace_out))
    check_different((option, Path(name)) for option, name in written_to if name is not None)
    target = output_file(arguments.output, read)
    kept = None if arguments.trace_out is None else output_trace(arguments.trace_out, read)
    _check_replaced(target)
    machines = [load_machine(name) for name in arguments.machine]
    names = [each.name for each in machines]
    if len(set(names)) < len(names):
        raise UsageError(f"--machine must name machines with different names, got {', '.join(names)}")
    language = arguments.language or (_C if target.suffix == ".c" else _PYTHON)
    with progress() as tell:
        tell(f"reading {arguments.trace}")
        application = Trace.open(arguments.trace)
        works = characters(application, arguments.work)
        tell(f"making a skeleton of {application.name}")
        made = construct(application, scale=arguments.scale, seconds=arguments.seconds, shortest=arguments.shortest)
        program = statements_of(made.trace)
        about = _about(made, application, language, works, arguments)
        tell(f"writing {target}")
        write_texts({target: (c_program if language == _C else python_program)(program, about)})
        written = [target, *([] if kept is None else [made.trace.save(kept)])]
        replayed = []
        # Polls are no part of any skeleton, however long, so what they take is not an error of scaling.
        events = Events.of(application).trace if machines else application
        for i, machine in enumerate(machines):
            tell(f"replaying {application.name} on {machine.name}", i, len(machines))
            replayed.append(_replay(events, made, machine))
    shown = Written(made, about.identity, str(target), _length(program), works, replayed)
    if arguments.json:
        say(made.caveats, prefix="clue: warning: ")
        show_json(skeleton_document(shown))
    else:
        show(skeleton_text(shown, _command(target, language, program.ranks)))
    say([f"wrote {path}" for path in written])
    return 0


def _check_replaced(target: Path) -> None:
    """Check that a program replaces only one that this command made: any other may be the user's own."""
    if not exists(target):
        return
    with open_file(target) as file:
        begin = file.read(_BEGIN).decode(errors="replace")
    if begin and not is_skeleton(begin):
        raise UsageError(f"{target}: skeleton must be a new file or replace a skeleton, got another file")


def _about(
    made: Skeleton, application: Trace, language: str, works: Mapping[str, Character], arguments: argparse.Namespace
) -> About:
    head = application.head
    recorded = ", ".join(filter(None, (head.recorded, head.processor)))
    return About(
        file=Path(arguments.output).name,
        identity=_identity(made.identity, language, arguments.work, arguments.memory),
        recording=made.recording,
        program=shlex.join((Path(head.program).name, *head.arguments)),
        recorded=recorded,
        made=datetime.date.today().isoformat(),
        scale=made.scale,
        application=made.application,
        caveats=[each.said for each in made.caveats],
        characters=works,
        pieces=(calibrated_c if language == _C else calibrated)(application),
        memory=[each.peak_memory for each in head.rank_heads] if arguments.memory else (),
    )


def _identity(identity: str, language: str, work: Sequence[str], memory: bool) -> str:
    """Return the identity of a program: that of its skeleton, plus options that are not the default."""
    if language == _PYTHON and not work and not memory:
        return identity
    return hashlib.sha256(repr((identity, language, sorted(work), memory)).encode()).hexdigest()[:16]


def _replay(events: Trace, made: Skeleton, machine: Machine) -> Replayed:
    long, short = (simulate(each, machine).makespan for each in (events, made.trace))
    return Replayed(machine.name, long, short, made.scale)


def _length(program: Statements) -> int:
    return sum(1 for _ in program.walk())


def _command(target: Path, language: str, ranks: int) -> str:
    if language == _PYTHON:
        return f"mpiexec -n {ranks} python {shlex.quote(str(target))}"
    compiled = str(target.with_suffix("" if target.suffix else ".out"))
    started = shlex.quote(compiled if "/" in compiled else f"./{compiled}")
    return f"{compiling(str(target), compiled)}; mpiexec -n {ranks} {started}"
