"""Command lines of programs, as for ``python``: a file, ``-m MODULE`` or ``-c CODE``, and arguments."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from clue.errors import UsageError, no_such_program
from clue.files import is_file

#: Options that may replace a program's file.
OPTIONS = ("-m", "-c")


def check_program(command: Sequence[str]) -> None:
    """Check that a command line names a program.

    Raises:
        UsageError: If a module or code is missing, or there is no such file.
    """
    if command[0] in OPTIONS:
        if len(command) < 2:
            raise UsageError(f"{command[0]} must be followed by a module or code, got nothing")
    elif not is_file(Path(command[0])):
        raise no_such_program(command[0])


def program_title(command: Sequence[str]) -> str:
    """Return a program in messages: its path as given, its module or ``code``."""
    if command[0] == "-m" and len(command) > 1:
        return command[1]
    return "code" if command[0] == "-c" else command[0]


def program_name(command: Sequence[str]) -> str:
    """Return a program in messages without the folders of its path."""
    return Path(program_title(command)).name
