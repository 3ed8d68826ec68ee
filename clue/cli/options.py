"""Options that several commands have, each worded once, and the types of their values."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import NoReturn, TypeAlias

from clue.report.shared.printable import printable
from clue.units import Quantity, parse_quantity


class Parser(argparse.ArgumentParser):
    """A parser of arguments, whose errors show what was given without obeying it."""

    def error(self, message: str) -> NoReturn:
        """Print an error and end."""
        super().error(printable(message))


Commands: TypeAlias = "argparse._SubParsersAction[Parser]"
#: What ``clue schema`` takes for all forms of files.
ALL_FORMS = "all"
#: What a command does with its arguments; returns the exit status.
Command = Callable[[argparse.Namespace], int]


def add_json(to: Parser, what: str = "print one JSON document and nothing else") -> None:
    """Add ``--json``."""
    to.add_argument("--json", action="store_true", help=what)


def add_plots(to: Parser, what: str = "draw pictures into this folder") -> None:
    """Add ``--plots``."""
    to.add_argument("--plots", metavar="DIR", help=what)


def add_window(to: Parser) -> None:
    """Add ``--window``, which goes with ``--plots``."""
    to.add_argument(
        "--window",
        type=window,
        metavar="FROM:TO",
        help="with --plots: the stretch of virtual time that the timeline also shows enlarged, such as 1.2s:1.25s "
        "(default: one that stands for the others, where there is more than can be seen at once)",
    )


def add_engine(to: Parser) -> None:
    """Add ``--engine``."""
    to.add_argument(
        "--engine",
        choices=("auto", "reference", "fast"),
        default="auto",
        help="which engine simulates; all give the same figures (default: auto, whichever is done first)",
    )


def add_full(to: Parser) -> None:
    """Add ``--full``."""
    to.add_argument("--full", action="store_true", help="use the scenario's full sizes instead of the reduced ones")


def add_workers(to: Parser, who: str) -> None:
    """Add ``--workers``."""
    to.add_argument("--workers", type=positive, metavar="N", help=f"{who} (default: one per core)")


def add_seed(to: Parser) -> None:
    """Add ``--seed``."""
    to.add_argument(
        "--seed",
        type=whole,
        metavar="S",
        help="what samples are drawn from; the same give the same figures (default: 0)",
    )


def add_repeats(to: Parser) -> None:
    """Add ``--repeats`` to a command that records scripts on their first use."""
    to.add_argument(
        "--repeats",
        type=positive,
        metavar="N",
        help="how often a script is recorded on its first use; how much recordings differ is the noise that "
        "--samples draws (default: 3 times where one takes less than a minute, else once)",
    )


def add_mpiexec(to: Parser, what: str = "what starts MPI programs, with its options") -> None:
    """Add ``--mpiexec``."""
    to.add_argument("--mpiexec", metavar="COMMAND", help=what)


def add_volume(to: Parser) -> None:
    """Add ``-v`` and ``-q``."""
    volume = to.add_mutually_exclusive_group()
    volume.add_argument(
        "-v", "--verbose", action="store_true", help="say on standard error what is done at each step, and why"
    )
    volume.add_argument(
        "-q", "--quiet", action="store_true", help="say nothing on standard error but errors (--json has the warnings)"
    )


def positive(text: str) -> int:
    """Read a whole number of at least 1."""
    return _at_least(1, text)


def whole(text: str) -> int:
    """Read a whole number of at least 0."""
    return _at_least(0, text)


def above_zero(text: str) -> float:
    """Read a finite number above 0."""
    number = _number(text)
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a number above 0, got {text!r}")
    return number


def window(text: str) -> tuple[float, float]:
    """Read two times, the first before the second; in seconds."""
    first, colon, last = text.partition(":")
    try:
        begin, end = parse_quantity(first, Quantity.TIME), parse_quantity(last, Quantity.TIME)
    except ValueError as error:
        fault = str(error) if colon else f"must be two times such as 1.2s:1.25s, got {text!r}"
        raise argparse.ArgumentTypeError(fault) from None
    if begin >= end:
        raise argparse.ArgumentTypeError(f"must begin before it ends, got {text!r}")
    return begin, end


def port(text: str) -> int:
    """Read the number of a port; 0 stands for any that is free."""
    number = counted(text)
    if number is None or number >= 2**16:
        raise argparse.ArgumentTypeError(f"must be a whole number from 0 to {2**16 - 1:,}, got {text!r}")
    return number


def share(text: str) -> float:
    """Read a number between 0 and 1, both excluded."""
    number = _number(text)
    if not 0 < number < 1:
        raise argparse.ArgumentTypeError(f"must be between 0 and 1, got {text!r}")
    return number


#: Digits of a whole number at most: Python does not read any number of them, and nothing is counted so far.
_MOST_DIGITS = 18


def counted(text: str) -> int | None:
    """Return the whole number that a text is, written in digits alone; ``None`` if it is none, or beyond counting."""
    return int(text) if text.isdecimal() and text.isascii() and len(text) <= _MOST_DIGITS else None


def _at_least(least: int, text: str) -> int:
    number = counted(text)
    if number is None or number < least:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least {least}, got {text!r}")
    return number


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")
