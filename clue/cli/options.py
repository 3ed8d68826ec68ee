"""Options of several commands, each defined once, and the types of their values."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import NoReturn, TypeAlias, TypeVar

from clue.errors import UsageError
from clue.printable import printable
from clue.units import Quantity, parse_quantity

_Value = TypeVar("_Value")


class Parser(argparse.ArgumentParser):
    """A parser of arguments whose errors show the given text escaped, so that control characters have no effect."""

    def error(self, message: str) -> NoReturn:
        """Print an error and end."""
        super().error(printable(message))


Commands: TypeAlias = "argparse._SubParsersAction[Parser]"
#: Argument of ``clue schema`` that means all kinds of files.
ALL_FORMS = "all"
#: Runs a command with its arguments; returns the exit status.
Command = Callable[[argparse.Namespace], int]


def add_json(to: Parser, what: str = "print one JSON document and nothing else") -> None:
    """Add ``--json``."""
    to.add_argument("--json", action="store_true", help=what)


def add_plots(to: Parser, what: str = "write plots into this folder") -> None:
    """Add ``--plots``."""
    to.add_argument("--plots", metavar="DIR", help=what)


def add_window(to: Parser) -> None:
    """Add ``--window``, which goes with ``--plots``."""
    to.add_argument(
        "--window",
        type=window,
        metavar="FROM:TO",
        help="with --plots: interval of virtual time that the timeline also shows enlarged, such as 1.2s:1.25s "
        "(default: a representative one, if there is more than can be seen at once)",
    )


def add_engine(to: Parser) -> None:
    """Add ``--engine``."""
    to.add_argument(
        "--engine",
        choices=("auto", "reference", "fast"),
        default="auto",
        help="simulation engine; all give the same figures (default: auto, the one that finishes first)",
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
        help="seed of the random numbers; the same seed gives the same figures (default: 0)",
    )


def add_repeats(to: Parser) -> None:
    """Add ``--repeats`` to a command that records scripts on their first use."""
    to.add_argument(
        "--repeats",
        type=positive,
        metavar="N",
        help="number of recordings of a script on its first use; their differences are the noise that --samples draws "
        "(default: 3 if one takes less than a minute, else 1)",
    )


def add_mpiexec(to: Parser, what: str = "launcher of MPI programs, with options") -> None:
    """Add ``--mpiexec``."""
    to.add_argument("--mpiexec", metavar="COMMAND", help=what)


def add_volume(to: Parser) -> None:
    """Add ``-v`` and ``-q``."""
    volume = to.add_mutually_exclusive_group()
    volume.add_argument(
        "-v", "--verbose", action="store_true", help="report each step on standard error, with its reason"
    )
    volume.add_argument(
        "-q", "--quiet", action="store_true", help="print only errors on standard error (--json has the warnings)"
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
    """Read the number of a port; 0 stands for any free one."""
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


#: Largest number of digits of a whole number: Python limits them as well, and no count needs more.
_MOST_DIGITS = 18


def counted(text: str) -> int | None:
    """Return the whole number that a text of digits states; ``None`` if it is not one, or is too large."""
    return int(text) if text.isdecimal() and text.isascii() and len(text) <= _MOST_DIGITS else None


def _at_least(least: int, text: str) -> int:
    number = counted(text)
    if number is None or number < least:
        digits = f" and up to {_MOST_DIGITS} digits" if text.isdecimal() and len(text) > _MOST_DIGITS else ""
        raise argparse.ArgumentTypeError(f"must be a whole number of at least {least}{digits}, got {text!r}")
    return number


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def pairs(option: str, texts: Sequence[str], rule: str, parse: Callable[[str], _Value]) -> dict[str, _Value]:
    """Read the values of an option that is given several times as ``KEY=VALUE``, each key once.

    Args:
        option: The option as it is written.
        texts: Its values.
        rule: What each must be, for messages.
        parse: Reads the text after the first ``=``.

    Raises:
        UsageError: If one has another form, a key is given twice, or ``parse`` raises a ValueError.
    """
    found: dict[str, _Value] = {}
    for text in texts:
        key, equals, rest = text.partition("=")
        key = key.strip()
        try:
            if not equals or not key or key in found:
                raise ValueError(f"{rule}, got {text!r}")
            found[key] = parse(rest)
        except ValueError as error:
            raise UsageError(f"{option} {error}") from None
    return found
