"""The numbers of a place as an affine expression of the iterations around it if one exists, or else as a table.

The levels of a place are the repetition counts of the loops around it, outermost first, and of the place itself. A
level has one count for each time that it is reached, that is, for each repetition of the level before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from clue.structure.loops.places import Integers
from clue.trace.columns import within

Levels = Sequence[Integers]
#: Values below this are codes, not numbers: there is no arithmetic on them.
NO_NUMBER = -(1 << 39)
#: Largest number of pieces at which a table is simpler than a modulus.
_FEW = 2


@dataclass(frozen=True, slots=True)
class Affine:
    """``base + steps · iteration``, modulo ``modulus`` if that is not 0.

    Attributes:
        base: Value in the first iterations, of rank 0.
        steps: Increment for each further iteration of a level, outermost first.
        modulus: Values are in ``least`` … ``least + modulus - 1``; 0 if they are not bounded.
        least: The smallest of these values.
        per_rank: Increment for each further rank.
    """

    base: int
    steps: tuple[int, ...] = ()
    modulus: int = 0
    least: int = 0
    per_rank: int = 0

    @property
    def tokens(self) -> int:
        """Its size, in tokens, in addition to that of its place."""
        return 0

    def values(self, levels: Levels, rank: int) -> Integers:
        """Return its values in all iterations of some levels."""
        values = np.full(1, self.base + self.per_rank * rank, np.int64)
        for counts, step in zip(levels, self.steps or (0,) * len(levels), strict=True):
            values = np.repeat(values, counts)
            if step:
                values = values + step * within(counts)
        return (values - self.least) % self.modulus + self.least if self.modulus else values


@dataclass(frozen=True, slots=True)
class Table:
    """A sequence of values that is repeated.

    Attributes:
        pieces: Arithmetic sequences, each given by its length, first value and increment.
    """

    pieces: tuple[tuple[int, int, int], ...]

    @property
    def tokens(self) -> int:
        """Its size, in tokens, in addition to that of its place."""
        return len(self.pieces)

    def values(self, levels: Levels, rank: int) -> Integers:  # noqa: ARG002 - as of other expressions
        """Return its values in all iterations of some levels."""
        counts, firsts, steps = np.array(self.pieces, np.int64).T
        entries = np.repeat(firsts, counts) + np.repeat(steps, counts) * within(counts)
        return np.resize(entries, int(levels[-1].sum()) if levels else 1)


Expression = Affine | Table


def expression_of(values: Integers, levels: Levels) -> Expression:
    """Return the expression of a place's values in terms of its levels."""
    if not len(values) or (values == values[0]).all():
        return Affine(int(values[0]) if len(values) else 0)
    if values.min() < NO_NUMBER or not all(counts.all() for counts in levels):
        return _table(values, levels)
    found = _affine(values, levels, 0)
    if isinstance(found, Affine):
        return found
    table, least, modulus = _table(values, levels), int(values.min()), found
    if modulus and table.tokens > _FEW and values.max() < least + modulus:
        found = _affine(values, levels, modulus)
        if isinstance(found, Affine):
            return replace(found, least=least)
    return table


def _affine(values: Integers, levels: Levels, modulus: int) -> Affine | int:
    """Return the affine expression modulo ``modulus``, or else the difference between steps on the innermost level."""
    steps: list[int] = []
    for counts in reversed(levels):
        firsts = np.cumsum(counts) - counts
        inside = np.ones(len(values), bool)
        inside[firsts] = False
        differences = (values[1:] - values[:-1])[inside[1:]]
        if modulus:
            differences %= modulus
        step = int(differences[0]) if len(differences) else 0
        other = differences[differences != step]
        if len(other):
            return 0 if modulus or (other != other[0]).any() else abs(int(other[0]) - step)
        steps.insert(0, step)
        values = values[firsts]
    return Affine(int(values[0]), tuple(steps) if any(steps) else (), modulus)


def _table(values: Integers, levels: Levels) -> Table:
    """Return a table of a place's values; values that repeat in all iterations of outer loops are stored once."""
    for level in range(len(levels) - 1, -1, -1):
        times = len(levels[level])
        if len(values) % times == 0:
            rows = values.reshape(times, -1)
            if (rows == rows[0]).all():
                return Table(_pieces(rows[0]))
    return Table(_pieces(values))


def _pieces(values: Integers) -> tuple[tuple[int, int, int], ...]:
    """Cut values into arithmetic sequences, each as long as possible."""
    steps = np.diff(values)
    ends = [*(np.flatnonzero(np.diff(steps)) + 1).tolist(), len(values) - 1]  # of values after which the step changes
    found: list[tuple[int, int, int]] = []
    at = 0
    for end in ends:
        if end > at:
            found.append((end - at + 1, int(values[at]), int(steps[at])))
            at = end + 1
    if at < len(values):
        found.append((1, int(values[at]), 0))
    return tuple(found)
