"""Options without effect are refused, before anything is done."""

from __future__ import annotations

import argparse
import shlex
import shutil
from collections.abc import Iterable

from clue.errors import UsageError

#: Attribute names of options that are not stored under their own names.
_NAMES = {"-n": "ranks", "-o": "output", "--from": "source_format", "--to": "target_format", "--run": "carry_out"}


def refuse(arguments: argparse.Namespace, options: Iterable[str], rule: str, got: str, place: str = "") -> None:
    """Refuse options that were given but have no effect: a user who gives an option expects an effect.

    Args:
        arguments: The parsed arguments; an option that was not given is ``None``, false or empty.
        options: Options as they are written: ``"--top"``.
        rule: What they must go with, or without: ``"with --samples"``.
        got: What was given instead.
        place: The file concerned.

    Raises:
        UsageError: If any of them was given; the message names all of them.
    """
    given = [option for option in options if is_given(arguments, option)]
    if given:
        raise UsageError(f"{f'{place}: ' if place else ''}{' and '.join(given)} must go {rule}, got {got}")


def fill(arguments: argparse.Namespace, **defaults: object) -> None:
    """Set options that were not given, by attribute name."""
    for name, value in defaults.items():
        if getattr(arguments, name) is None:
            setattr(arguments, name, value)


def is_given(arguments: argparse.Namespace, option: str) -> bool:
    """Tell whether an option was given."""
    value = getattr(arguments, _NAMES.get(option) or option.removeprefix("--").replace("-", "_"))
    return value is not None and value is not False and value != []


def mpiexec_words(text: str) -> list[str]:
    """Split the value of ``--mpiexec`` into words.

    Raises:
        UsageError: If there is no such command.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"--mpiexec must be a command line in shell syntax, got {text} ({error})") from None
    if not words or shutil.which(words[0]) is None:
        raise UsageError(f"--mpiexec must be a command that can be run, got {text or 'nothing'}")
    return words
