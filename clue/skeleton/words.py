"""Text that both languages of skeletons share: figures, safe names and comments, sums, values of numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap

from clue.skeleton.calibration import Pieces
from clue.skeleton.statements import ByRank, Expression, Listed, Next, Own, Place, Statements, Sum
from clue.skeleton.work import Character
from clue.units import count_of, format_time

#: Maximum line length, columns.
WIDTH = 110
#: Maximum length of a name from a trace, characters.
_LETTERS = 200
#: How the first two paragraphs of a skeleton begin.
_BEGIN, _MADE = "A skeleton of ", "Made by clue on "


def is_skeleton(text: str) -> bool:
    """Tell whether a text, or its beginning, is that of a program made by ``clue skeleton``."""
    return text.lstrip('"/* \n').startswith(_BEGIN) and _MADE in text


@dataclass(frozen=True, slots=True)
class About:
    """Description of a skeleton program in its own header.

    Attributes:
        file: Name of the program.
        identity: Identity of the skeleton: 16 hexadecimal digits.
        recording: Identity of the recording that it was made from, likewise.
        program: The application and its arguments.
        recorded: When and where it was recorded, if known.
        made: Date of the skeleton.
        scale: K, the ratio of the application's time to the skeleton's.
        application: Its recorded elapsed time, seconds.
        caveats: What a reader should know.
        characters: Mix of work of each region.
        pieces: Times of pieces of work.
        memory: Bytes that each rank touches before the clock starts; none unless requested.
    """

    file: str
    identity: str
    recording: str
    program: str
    recorded: str
    made: str
    scale: float
    application: float
    caveats: Sequence[str]
    characters: Mapping[str, Character]
    pieces: Pieces
    memory: Sequence[int] = ()

    def head(self, ranks: int, command: str, places: Sequence[Place]) -> list[str]:
        """Return the header of the program, line by line."""
        long, short = format_time(self.application), format_time(self.application / self.scale)
        recorded = f" from a recording of {plain(self.recorded)}" if self.recorded else ""
        paragraphs = [
            [f"{_BEGIN}{plain(self.program)} on {count_of(ranks)}: {short} that stand for {long}."],
            wrap(
                f"{_MADE}{self.made}{recorded}. "
                "It makes the calls of MPI that the application makes, in the same order, but fewer of them "
                f"(1 of {self.scale:.4g}), and computes between them. What it sends and what it computes mean nothing. "
                "It measures how long that takes, and tells how long the application would:",
                WIDTH,
            ),
            [f"    {command}"],
            ["What stands for computation:", *self._works(places)],
            ["What a reader should know:", *(line for each in self.caveats for line in item(each))],
        ]
        return [line for each in paragraphs if each[1:] or each is not paragraphs[-1] for line in (*each, "")][:-1]

    def _works(self, places: Sequence[Place]) -> list[str]:
        regions = dict.fromkeys(place.region for place in places)
        lines = [
            line
            for each in regions
            for line in item(f"{_region(each)}: {self.characters[each].text} ({self.characters[each].why})")
        ]
        memory = ["each rank touches as much memory as the application had"] if self.memory else []
        return [*lines, *(line for each in (f"pieces of work: {self.pieces.source}", *memory) for line in item(each))]


def _region(name: str) -> str:
    return f"region {plain(name)}" if name else "outside any region"


def item(text: str) -> list[str]:
    """Return an item of a list."""
    return wrap(plain(text, len(text)), WIDTH, initial_indent="- ", subsequent_indent="  ", break_long_words=False)


def plain(text: str, letters: int = _LETTERS) -> str:
    """Return a name that is safe in a comment of any language: nothing in it ends the comment."""
    told = text.replace("×", "x").replace("–", "-").replace("…", "...")
    shown = "".join(each if " " <= each <= "~" and each not in '\\"' else "?" for each in told)
    return shown.replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?")[:letters]


def groups_text(ranks: Sequence[int]) -> str:
    """Return a name for some ranks: ``"rank_0"``, ``"ranks_1_to_6"``."""
    first, last = ranks[0], ranks[-1]
    if len(ranks) == 1:
        return f"rank_{first}"
    if len(ranks) == last - first + 1:
        return f"ranks_{first}_to_{last}"
    return f"ranks_{first}_and_{len(ranks) - 1}_more"


def burst_text(place: Place) -> str:
    """Return the length of a burst as text."""
    return f"{format_time(place.mean)}{f' in {plain(place.region)}' if place.region else ''}"


def decimal(value: object) -> str:
    """Return ns to a thousandth."""
    return f"{value:.3f}".rstrip("0").rstrip(".")


def sum_text(expression: Sum, shown: Callable[[int], str], modulo: Callable[[str, str], str]) -> str:
    """Return the text of a sum in a language, given how that writes numbers and remainders."""
    terms = [
        (factor, name if abs(factor) == 1 else f"{shown(abs(factor))} * {name}") for name, factor in expression.terms
    ]
    base = expression.base - (expression.least if expression.modulus else 0)
    if base or not terms:
        terms.append((base, shown(abs(base))))
    terms.sort(key=lambda term: term[0] < 0)
    text = "".join(f" {'-' if factor < 0 else '+'} {term}" for factor, term in terms)
    text = text.removeprefix(" + ").replace(" - ", "-", 1) if text.startswith(" - ") else text.removeprefix(" + ")
    if not expression.modulus:
        return text
    text, least = modulo(text, shown(expression.modulus)), expression.least
    return f"{text} {'-' if least < 0 else '+'} {shown(abs(least))}" if least else text


def values_of(expression: Expression, program: Statements) -> Iterator[int]:
    """Yield all possible values of an expression of constants and tables."""
    if isinstance(expression, Sum):
        yield expression.base
    elif isinstance(expression, Listed):
        yield from expression.values
    elif isinstance(expression, ByRank):
        for _, each in expression.cases:
            yield from values_of(each, program)
    elif isinstance(expression, Own | Next):
        table = program.own if isinstance(expression, Own) else program.tables
        for row in table[expression.table].values():
            yield from _flat(row)


def _flat(value: object) -> Iterator[int]:
    if isinstance(value, tuple):
        for each in value:
            yield from _flat(each)
    elif isinstance(value, int):
        yield value
