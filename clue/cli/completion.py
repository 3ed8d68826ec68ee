"""Shell completion: the shell code that enables it, and its answers. argcomplete does the work.

Once it is enabled, the shell runs ``clue`` at each Tab with ``_ARGCOMPLETE`` in its environment, and reads the
completions from file descriptor 8: commands, options, their choices, shipped names and files.
"""

from __future__ import annotations

import argparse
import glob
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TextIO

import argcomplete
from argcomplete.shell_integration import shellcode

from clue.cli.arguments import command_line
from clue.cli.skeleton_arguments import KINDS, MAKE
from clue.config import shipped

#: Kinds of shipped files that an argument may name, by the argument's name in the usage.
_SHIPPED = {
    "MACHINE": ("machines",),
    "TRACE|MACHINE|CONFIG": ("machines", "scenarios"),
    "CONFIG.yaml | PROGRAM.py ARGS…": ("scenarios",),
}
#: Commands whose configuration may be a shipped scenario.
_SCENARIOS = ("clue simulate", "clue serve")
_CONFIG = "CONFIG.yaml"
_ROUTINE = "ROUTINE"
#: A command line without the name of the action of ``clue skeleton``.
_SKELETON = re.compile(r"(\s*\S+\s+skeleton\s+)(?=([^\s-]\S*)\s)")

Completer = Callable[..., list[str]]


def run(arguments: argparse.Namespace) -> int:
    """Print the shell code that enables completion."""
    print(shellcode(["clue"], shell=arguments.shell))
    return 0


def answer(output: TextIO | None = None, leave: Callable[[int], object] = os._exit) -> None:
    """Answer the shell's request in the environment, and end the process.

    Args:
        output: Where the answer goes; default: file descriptor 8.
        leave: Ends the process.
    """
    _name_what_skeleton_does()
    parser = command_line()
    for command, argument in _arguments(parser):
        argument.completer = _completer(command, argument)  # type: ignore[attr-defined]
    argcomplete.autocomplete(parser, always_complete_options=False, exit_method=leave, output_stream=output)


def _arguments(parser: argparse.ArgumentParser) -> Iterator[tuple[argparse.ArgumentParser, argparse.Action]]:
    """Yield all arguments that take values, each with its command."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _arguments(command)
        elif action.choices is None and action.nargs != 0:
            yield parser, action


def _completer(command: argparse.ArgumentParser, argument: argparse.Action) -> Completer:
    name = argument.metavar
    kinds = _SHIPPED.get(str(name), ())
    if name == _CONFIG and command.prog in _SCENARIOS:
        kinds = ("scenarios",)
    if name == _ROUTINE:
        return _routines
    if kinds:
        return lambda prefix, **_: [*_names(kinds, prefix), *_files(prefix)]
    # Nothing completes a number or a time.
    return _files if argument.type is None else lambda **_: []


def _names(kinds: tuple[str, ...], prefix: str) -> list[str]:
    return [name for kind in kinds for name in shipped(kind) if name.startswith(prefix)]


def _routines(prefix: str, **_: object) -> list[str]:
    from clue.forecasting.shipped import TERMS  # noqa: PLC0415 - numpy

    return [name for name in TERMS if name.startswith(prefix)]


def _files(prefix: str, **_: object) -> list[str]:
    """Return the files and folders whose names have a prefix; names of folders end in a slash."""
    above, slash, begin = prefix.rpartition("/")
    found = Path(f"{above}{slash}").glob(f"{glob.escape(begin)}*")
    seen = (path for path in found if begin.startswith(".") or not path.name.startswith("."))
    return sorted(f"{above}{slash}{path.name}{'/' * (path.is_dir() and path.suffix != '.clue')}" for path in seen)


def _name_what_skeleton_does() -> None:
    """Treat ``clue skeleton TRACE`` as ``clue skeleton make TRACE``, as the command line does."""
    line = os.environ.get("COMP_LINE", "")
    found = _SKELETON.match(line)
    if found and found[2] not in KINDS:
        os.environ["COMP_LINE"] = f"{found[1]}{MAKE} {line[found.end() :]}"
        os.environ["COMP_POINT"] = str(int(os.environ.get("COMP_POINT", "0")) + len(MAKE) + 1)
