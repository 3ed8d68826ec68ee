"""Caveats: what a reader must know besides the figures, stated once for all simulations that they hold for.

A simulation has caveats about its machine, its program and its engine. A comparison makes hundreds of simulations,
whose caveats are the same for several options and workloads, or differ only in figures: :func:`gathered` merges these
into one line, with the reader's names and the worst of the figures.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import TypeAlias

_Words: TypeAlias = Mapping[str, object]
_NOTHING: _Words = MappingProxyType({})
#: A whole number, with or without commas between thousands.
_WHOLE = r"(?<![\w.])[0-9]+(?:,[0-9]{3}(?![0-9]))*"
_NUMBER = re.compile(rf"(?<!to size ){_WHOLE}(?:\.[0-9]+)*(?:e[+-]?[0-9]+)?(?!\w)")
#: A measured number with a unit, or a count at the beginning of a text, also behind the ranks that it is about.
_AMOUNT = re.compile(
    rf"{_WHOLE}(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?(?:(?=%| s\b| times the ranks)| (?P<prefix>[KMGTPE]?)B\b)"
    rf"|(?:^|(?<=: )|(?<=: up to )){_WHOLE}(?= (?!times))"
)
#: Decimal prefixes of bytes, each 1,000 times the one before.
_PREFIXES = " KMGTPE"
#: Maximum number of names in a line.
_NAMES = 3


class About(Enum):
    """What a caveat is about."""

    MACHINE = "machine"
    PROGRAM = "program"
    ENGINE = "engine"


class Count(int):
    """A number in a text that has words for one and for several: ``"{count:message was|messages were} late"``."""

    def __format__(self, words: str) -> str:
        """Return the number, with the words that suit it."""
        one, _, several = words.partition("|")
        return f"{int(self):,} {one if self == 1 else several}".rstrip()


class _UpTo(str):
    """The largest of several figures."""

    __slots__ = ()
    bound = "up to"

    def __format__(self, words: str) -> str:
        return f"{self.bound} {self!s} {words.partition('|')[2]}".rstrip()


class _DownTo(_UpTo):
    """The smallest of several figures."""

    __slots__ = ()
    bound = "down to"


class Caveat(str):
    """A caveat: its text, and what is needed to merge it with those of other machines and programs.

    Args:
        about: What it is about.
        name: Name of that.
        text: Its text, with placeholders for words and figures: ``"{count} of {all} receives …"``; :class:`Count` has
            words for one and for several.
        words: Words by placeholder; caveats with different words stay separate.
        figures: Figures by placeholder, the most important first; if caveats differ only in figures, one of them is
            stated.
        size: Magnitude of the most important figure.
        least: Whether the smallest of several figures is stated, not the largest.
    """

    about: About
    said: str
    worst: str
    size: float
    _given: tuple[object, ...]

    def __new__(  # noqa: PLR0917 - unpickling passes them by position
        cls, about: About, name: str, text: str, words: _Words = _NOTHING, figures: _Words = _NOTHING,
        size: float = 0.0, least: bool = False,
    ) -> Caveat:  # fmt: skip
        """Make a caveat."""
        said = text.format(**words, **figures)
        caveat = super().__new__(cls, f"{name}: {said}")
        caveat.about, caveat.said, caveat.size = about, said, -size if least else size
        bound = _DownTo if least else _UpTo
        worst = {place: bound(f"{figure}") for place, figure in list(figures.items())[:1]}
        # The note of an extrapolated trace may state the largest of several figures already.
        caveat.worst = text.format(**{**words, **figures, **worst}).replace("up to up to ", "up to ")
        caveat._given = (about, name, text, dict(words), dict(figures), size, least)
        return caveat

    def __getnewargs__(self) -> tuple[object, ...]:  # type: ignore[override]
        return self._given

    @property
    def kind(self) -> tuple[object, ...]:
        """Key that is equal for caveats that differ only in their names and figures."""
        about, _, text, words, *_ = self._given
        assert isinstance(words, dict)
        return about, text, tuple(words.items())


def note(about: About, name: str, text: str) -> Caveat:
    """Return a caveat with a fixed text."""
    return Caveat(about, name, "{note}", {"note": text})


def counted(name: str, text: str, count: int) -> Caveat:
    """Return a caveat on a program whose only figure is the ``{count:one|several}`` in its text."""
    return Caveat(About.PROGRAM, name, text, figures={"count": Count(count)}, size=count)


def note_of_recording(name: str, text: str) -> Caveat:
    """Return a caveat with a recorder's text, in which numbers are figures, except the size of an extrapolated trace.

    Recordings of one program with different numbers of ranks give the same text with different numbers; the first
    share, time, number of bytes, multiple of the ranks or count decides which is the largest.
    """
    amount = _AMOUNT.search(text)
    figures = {"amount": ""}
    template, end = "", 0
    for number in _NUMBER.finditer(text):
        if amount and amount.start() == number.start():
            place, figure = "amount", amount
        else:
            place, figure = f"number{len(figures)}", number
        figures[place] = figure.group()
        template += f"{_literal(text[end : number.start()])}{{{place}}}"
        end = figure.end()
    size = 0.0
    if amount:
        value = amount.group().replace(",", "").partition(" ")[0]
        size = float(value) * 1000.0 ** _PREFIXES.index(amount["prefix"] or " ")
    return Caveat(About.PROGRAM, name, template + _literal(text[end:]), figures=figures, size=size)


def _literal(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


@dataclass(frozen=True, slots=True)
class Said:
    """A caveat of a simulation, with the reader's names of machine and program.

    Attributes:
        caveat: The caveat, or a line that begins with a name.
        machine: The machine, or the option to buy.
        program: The program, or the workload.
    """

    caveat: str
    machine: str
    program: str


@dataclass(slots=True)
class _Line:
    """Caveats of one kind."""

    caveat: Caveat
    sizes: set[float] = field(default_factory=set)
    machines: dict[str, None] = field(default_factory=dict)
    programs: dict[str, None] = field(default_factory=dict)

    def add(self, said: Said, caveat: Caveat) -> None:
        self.caveat = max(self.caveat, caveat, key=lambda each: each.size)
        self.sizes.add(caveat.size)
        self.machines[said.machine] = None
        self.programs[said.program] = None


def gathered(said: Iterable[Said], machines: Collection[str], kind: str) -> Iterator[str]:
    """Yield each caveat once.

    Args:
        said: Caveats of simulations.
        machines: The reader's names of all machines; a caveat that holds for all of them names none.
        kind: Plural noun for the machines: ``"options"``.
    """
    lines: dict[object, _Line] = {}
    for each in said:
        caveat = each.caveat if isinstance(each.caveat, Caveat) else _line(each.caveat)
        lines.setdefault(caveat.kind, _Line(caveat)).add(each, caveat)
    for line in lines.values():
        text = line.caveat.said if len(line.sizes) == 1 else line.caveat.worst
        yield f"{_subject(line, machines, kind)}: {text}"


def _line(text: str) -> Caveat:
    name, _, said = text.partition(": ")
    return note(About.MACHINE, name, said)


def _subject(line: _Line, machines: Collection[str], kind: str) -> str:
    if line.caveat.about is About.ENGINE:
        return "engine"
    everywhere = len(machines) > 1 and line.machines.keys() >= set(machines)
    where = f"all {kind}" if everywhere else named(list(line.machines), kind)
    if line.caveat.about is About.MACHINE:
        return where
    program = named(list(line.programs))
    return program if everywhere or len(machines) < 2 else f"{program} on {where}"


def named(names: list[str], kind: str = "") -> str:
    """Join names; if there are many, only the first few, with the number of all if ``kind`` is given."""
    if len(names) <= _NAMES + 1:
        return ", ".join(names)
    first = ", ".join(names[:_NAMES])
    return f"{len(names)} {kind} ({first}, …)" if kind else f"{first} and {len(names) - _NAMES} more"
