"""``python -m virtual_layer [-q] [-o TRACE] PROGRAM.py [ARGS…]``: run a program under the layer, one process per rank.

With ``-q``, notes on the recording go into the trace only; with ``--unpacked`` after it, the caller packs the trace.
``--as NAME`` names the trace in messages, if the caller moves it there.
"""

from __future__ import annotations

import os
import sys

from virtual_layer.own_modules import without_current_folder

with without_current_folder(__name__ == "__main__"):
    from pathlib import Path

    from clue.errors import CANNOT_RECORD, NEVER_CALLED_MPI, ClueError, RecordError, UsageError, no_such_program
    from virtual_layer import programs
    from virtual_layer.scheduling import lengthen_slices
    from virtual_layer.session import Assignment, Session
    from virtual_layer.telling import tell

_USAGE = "python -m virtual_layer [-q] [-o TRACE] PROGRAM.py | -m MODULE | -c CODE [ARGS…]"


def main(words: list[str]) -> int:
    """Run a program and record it; return the exit status, unless the program exits by itself."""
    if words[:1] in (["-h"], ["--help"]):
        sys.stdout.write(
            f"usage: {_USAGE}\n\nRecord an mpi4py program; start it under mpiexec, one process per rank.\n"
        )
        return 0
    session = None
    try:
        quiet = words[:1] == ["-q"]
        words = words[quiet:]
        unpacked = words[:1] == ["--unpacked"]
        target, known_as, child, program = read_command_line(words[unpacked:])
        changes = programs.settings(os.environ)
        os.environ.update(changes)
        lengthen_slices()
        name, arguments = _name(program), _arguments(program)
        session = Session(Assignment(target, known_as, name, arguments, changes, child, quiet, unpacked))
        programs.run(program, session)
    except ClueError as error:
        if session is None or session.speaks:
            tell(str(error))
        return CANNOT_RECORD if isinstance(error, RecordError) else error.exit_status
    if not session.began:
        shown = session.below.shown()
        why = f"calls from C or Fortran are not recorded ({shown})" if shown else "nothing recorded"
        tell(f"{_name(program)}: program must initialise MPI by mpi4py, got none: {why}")
        return NEVER_CALLED_MPI
    return 0


def read_command_line(words: list[str]) -> tuple[Path, Path, Path | None, list[str]]:
    """Return the target, its name in messages, the announcement of a child's parents, and the program with arguments.

    Raises:
        UsageError: If there is no program.
    """
    given: dict[str, str] = {}
    while len(words) > 1 and words[0] in ("-o", "--as", "--child"):
        given[words[0]] = words[1]
        words = words[2:]
    if not words or (words[0] in ("-c", "-m") and len(words) < 2):
        raise UsageError(f"command line must name a program: {_USAGE}")
    if words[0] not in ("-c", "-m") and not Path(words[0]).exists():
        raise no_such_program(words[0])
    child = Path(given["--child"]) if "--child" in given else None
    target = Path(os.path.realpath(given.get("-o", f"{Path(_name(words)).stem}.clue")))
    if child is not None:
        target = child.parent.parent
    return target, Path(given.get("--as", target)), child, words


def _name(words: list[str]) -> str:
    return words[1] if words[0] == "-m" else "command" if words[0] == "-c" else words[0]


def _arguments(words: list[str]) -> tuple[str, ...]:
    return tuple(words[2:] if words[0] in ("-c", "-m") else words[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
