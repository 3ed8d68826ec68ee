"""From recordings to what a program does at any size and number of ranks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from clue import structure
from clue.errors import ClueError
from clue.extrapolation.bursts import Bursts, Integers, outside_remarks
from clue.extrapolation.family import Family
from clue.structure import Columns, Example, Generator, Learner, Refusal, Tables
from clue.trace import Trace
from clue.trace.builder import RankColumns, trace_of
from clue.trace.sites import UNKNOWN, Site, Sites


class RefusedError(ClueError):
    """Report a program that follows no rules in size and ranks: what it does elsewhere is not guessed.

    Args:
        refusals: At least one; one for each call that is refused.
        name: What was to be extrapolated.
    """

    def __init__(self, refusals: tuple[Refusal, ...], name: str = "") -> None:
        self.refusals = refusals
        place = f"{name}: " if name else ""
        super().__init__([f"{place}{each}" for each in refusals])


@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """A trace that was made.

    Attributes:
        trace: The trace.
        remarks: What a reader of results should know of it.
        repeats: The same ops with the bursts of other models: how sure they are, told as repeated recordings tell it.
            Simulations take the median of each burst, so there must be as many that are shorter as are longer.
    """

    trace: Trace
    remarks: tuple[str, ...] = ()
    repeats: tuple[Trace, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Structure:
    """What a program does, at any size and number of ranks.

    Attributes:
        program: Its calls as rules.
        bursts: Of each part of a call the bursts before it.
        name: What it was learned from.
        remarks: What a reader of results should know, whatever the target.
    """

    program: structure.Structure
    bursts: tuple[Bursts, ...]
    name: str
    remarks: tuple[str, ...] = ()

    def generate(self, size: int, ranks: int) -> Made:
        """Return the trace at a size and a number of ranks.

        Raises:
            RefusedError: If it cannot be told there.
        """
        generator = Generator(self.program, size, ranks)
        columns = generator.make()
        self.check(generator.refusals)
        drawn = np.zeros((4, len(columns.columns["op"])))
        for bursts, (v, rows) in zip(self.bursts, columns.surroundings, strict=True):
            drawn[:, rows] = bursts.draw(v, columns.columns["peer"][rows])
        middle, low, high = (np.round(each * 1e9).astype(np.int64) for each in drawn[:3])
        trace = self.trace(columns, middle)
        repeats = tuple(replace(trace, ops=replace(trace.ops, cpu=each)) for each in (low, high))
        return Made(trace, (*self.remarks, *outside_remarks(drawn[0], drawn[3])), repeats)

    def check(self, refusals: Iterable[Refusal]) -> None:
        """Raise an error that names the sites that are refused, if any are."""
        found = tuple(dict.fromkeys(refusals))
        if found:
            raise RefusedError(found, self.name)

    def trace(self, columns: Columns, bursts: Integers) -> Trace:
        """Return the trace of all rows."""
        every = columns.columns | {"cpu": bursts, "extra": _places(columns)}
        ends = np.concatenate([[0], np.cumsum(columns.columns["count"])])
        ranks = [
            RankColumns(
                {name: column[first:end] for name, column in every.items()}, columns.extras[ends[first] : ends[end]]
            )
            for first, end in zip(columns.offsets[:-1].tolist(), columns.offsets[1:].tolist(), strict=True)
        ]
        return trace_of(
            ranks,
            self.name,
            calls=columns.calls,
            regions=columns.regions,
            communicators=columns.communicators,
            sites=Sites.of(self.program.sites),
        )


def infer(family: Family) -> Structure:
    """Tell what the program does from its recordings.

    Raises:
        RefusedError: If a call follows no rule.
    """
    numbers: dict[Site, int] = {UNKNOWN: 0}
    examples = [
        Example(each.size, each.ranks, each.typical, _numbered(each.typical, numbers)) for each in family.recordings
    ]
    learner = Learner(tuple(numbers), Tables.of(tuple(numbers), examples))
    program = learner.learn()
    if learner.refusals:
        raise RefusedError(tuple(dict.fromkeys(learner.refusals)), family.name)
    return Structure(program, _bursts(family, learner, program), family.name, tuple(learner.remarks))


def _numbered(trace: Trace, numbers: dict[Site, int]) -> Integers:
    """Return the site of each row by its number in the family."""
    own = np.array([numbers.setdefault(site, len(numbers)) for site in trace.head.sites], np.int64)
    found: Integers = own[trace.ops.site]
    return found


def _bursts(family: Family, learner: Learner, program: structure.Structure) -> tuple[Bursts, ...]:
    """Return the bursts of each part of the program."""
    result = []
    for rules, (v, row) in zip(program.parts, learner.seen, strict=True):
        example = v["example"]
        peer, seconds = np.zeros(len(row), np.int64), np.zeros(len(row))
        for number, each in enumerate(family.recordings):
            mine = example == number
            peer[mine] = each.typical.ops.peer[row[mine]]
            seconds[mine] = each.typical.bursts[row[mine]] * 1e-9
        surroundings = {name: column for name, column in v.items() if name != "example"}
        part = rules.part
        name = f"{program.sites[part.site].name} {part.call} {part.op} {part.which}"
        result.append(Bursts.learn(name, surroundings, peer, example, seconds, learner.blocks))
    return tuple(result)


def _places(columns: Columns) -> Integers:
    """Return where the list of each row begins among those of its rank."""
    counts = columns.columns["count"]
    before = np.concatenate([[0], np.cumsum(counts)])
    first = np.repeat(before[columns.offsets[:-1]], np.diff(columns.offsets))
    places: Integers = np.where(counts > 0, before[:-1] - first, 0)
    return places
