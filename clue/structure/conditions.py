"""Conditions on samples: comparisons of atoms, and the samples on which they hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clue.structure.atoms import TURN, Atom, Integers
from clue.structure.forms import COMPARE, ZERO, Comparison, Predicate, lightest

#: Greatest weight of a condition that divides samples into cases, and number of conditions that are combined in pairs.
_LIGHT, _JOINED = 3, 200
#: Weight of a comparison of two atoms: of one family, and of different ones.
_PAIRED, UNLIKE = 8, 4


def _comparable(one: Atom, other: Atom) -> bool:
    """Tell whether programs compare these two atoms."""
    alike = one.family == other.family
    if not alike and (one.family.startswith(TURN) or other.family.startswith(TURN)):
        return False
    return one.weight + other.weight <= (_PAIRED if alike and one.family else UNLIKE)


@dataclass(frozen=True, slots=True)
class Conditions:
    """Conditions on samples, the lightest first.

    Attributes:
        parts: The comparisons.
        holds: Where each holds, shape (comparisons, samples).
    """

    parts: tuple[Comparison, ...]
    holds: npt.NDArray[np.bool_]

    @classmethod
    def among(
        cls, sides: Sequence[tuple[Atom, Integers]], turns: Sequence[tuple[Atom, Integers]], length: int
    ) -> Conditions:
        """Compare atoms with small numbers and with each other; atoms of turns are compared for equality only."""
        parts: list[Comparison] = []
        holds: list[npt.NDArray[np.bool_]] = []
        for i, (atom, values) in enumerate((*sides, *turns)):
            beside: list[tuple[Atom, Integers, tuple[int, ...]]] = [(ZERO, np.zeros(length, np.int64), (0, 1, 2, -1))]
            beside += [
                (other, column, (0, -1, 1) if i < len(sides) else (0,))
                for other, column in sides[i + 1 if i < len(sides) else 0 :]
                if _comparable(atom, other)
            ]
            made = [(other, constant) for other, _, constants in beside for constant in constants]
            right = np.array([column + constant for _, column, constants in beside for constant in constants])
            for sign, compare in COMPARE.items() if i < len(sides) else [("==", np.equal)]:
                where = compare(values, right)
                for k in np.flatnonzero(where.any(axis=1) & ~where.all(axis=1)).tolist():
                    parts.append(Comparison(atom, sign, *made[k]))
                    holds.append(where[k])
        order = sorted(range(len(parts)), key=lambda i: parts[i].weight)
        return cls(
            tuple(parts[i] for i in order), np.array([holds[i] for i in order], bool).reshape(len(order), length)
        )

    def different(self, most: int) -> Iterator[npt.NDArray[np.bool_]]:
        """Yield the samples on which light conditions hold, once for each division of the samples."""
        seen: set[bytes] = set()
        for part, where in zip(self.parts, self.holds, strict=True):
            if part.weight > _LIGHT or len(seen) >= 2 * most:
                return
            if where.tobytes() not in seen:
                seen.update((where.tobytes(), (~where).tobytes()))
                yield where

    def just(self, mask: npt.NDArray[np.bool_]) -> tuple[Predicate, ...]:
        """Return the lightest conditions that hold on exactly these samples."""
        fits = [
            Predicate((self.parts[i],), negated)
            for negated in (False, True)
            for i in np.flatnonzero((self.holds == (mask ^ negated)).all(axis=1)).tolist()
        ]
        return lightest(fits) or lightest(
            [p for negated in (False, True) for p in self._joined(mask ^ negated, negated)]
        )

    def _joined(self, mask: npt.NDArray[np.bool_], negated: bool) -> Iterator[Predicate]:
        """Yield pairs of conditions whose conjunction holds on exactly these samples."""
        above = np.flatnonzero(self.holds[:, mask].all(axis=1))
        _, first = np.unique(self.holds[above], axis=0, return_index=True) if len(above) else (None, np.zeros(0, int))
        above = above[np.sort(first)][:_JOINED]
        outside = self.holds[above][:, ~mask]
        for i in range(len(above)):
            both = (outside[i] & outside[i + 1 :]).any(axis=1)
            for k in np.flatnonzero(~both).tolist():
                yield Predicate((self.parts[above[i]], self.parts[above[i + 1 + k]]), negated)
