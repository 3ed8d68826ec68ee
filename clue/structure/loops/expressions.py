"""Numbers of a place as an expression of the iterations around it, if there is one, or as a table.

The levels of a place are the counts of the loops around it, outermost first, and its own: level k says how often it is
repeated each time that it is reached, so it has as many entries as the level before has repetitions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from clue.structure.loops.places import Integers
from clue.trace.columns import within

Levels = Sequence[Integers]
#: What is less stands for something else than a number, so it is not computed with.
NO_NUMBER = -(1 << 39)
#: A table of so few pieces is simpler than a modulus.
_FEW = 2


@dataclass(frozen=True, slots=True)
class Affine:
    """``base + steps · iteration``, modulo something where ``modulus`` is not 0.

    Attributes:
        base: In the first iterations, of rank 0.
        steps: What each further iteration of a level adds, outermost first.
        modulus: Values are from ``least`` up to ``least + modulus`` (without); 0 if they are not bounded.
        least: The least of these values.
        per_rank: What each further rank adds.
    """

    base: int
    steps: tuple[int, ...] = ()
    modulus: int = 0
    least: int = 0
    per_rank: int = 0

    @property
    def tokens(self) -> int:
        """How much it takes beside its place."""
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
    """Values one after the other, again and again.

    Attributes:
        pieces: How many, the first of them, and what each further one adds.
    """

    pieces: tuple[tuple[int, int, int], ...]

    @property
    def tokens(self) -> int:
        """How much it takes beside its place."""
        return len(self.pieces)

    def values(self, levels: Levels, rank: int) -> Integers:  # noqa: ARG002 - as of other expressions
        """Return its values in all iterations of some levels."""
        counts, firsts, steps = np.array(self.pieces, np.int64).T
        entries = np.repeat(firsts, counts) + np.repeat(steps, counts) * within(counts)
        return np.resize(entries, int(levels[-1].sum()) if levels else 1)


Expression = Affine | Table


def expression_of(values: Integers, levels: Levels) -> Expression:
    """Return what values of a place are in terms of its levels."""
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
    """Return the affine expression modulo something, or by what steps differ on the innermost level where they do."""
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
    """Return the values of a place, once where they are the same in all iterations of outer loops."""
    for level in range(len(levels) - 1, -1, -1):
        times = len(levels[level])
        if len(values) % times == 0:
            rows = values.reshape(times, -1)
            if (rows == rows[0]).all():
                return Table(_pieces(rows[0]))
    return Table(_pieces(values))


def _pieces(values: Integers) -> tuple[tuple[int, int, int], ...]:
    """Cut values into pieces of equal steps, each as long as it can be."""
    steps = np.diff(values)
    ends = [*(np.flatnonzero(np.diff(steps)) + 1).tolist(), len(values) - 1]  # of values whose next step is another one
    found: list[tuple[int, int, int]] = []
    at = 0
    for end in ends:
        if end > at:
            found.append((end - at + 1, int(values[at]), int(steps[at])))
            at = end + 1
    if at < len(values):
        found.append((1, int(values[at]), 0))
    return tuple(found)
