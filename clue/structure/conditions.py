"""Conditions on samples: comparisons of atoms, and the samples on which they hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clue.structure.atoms import OWNER, TURN, Atom, Integers
from clue.structure.forms import COMPARE, ZERO, Comparison, Predicate, lightest

#: Greatest weight of a condition that divides samples into cases, and number of conditions that are combined in pairs.
_LIGHT, _JOINED = 3, 200
#: Numbers with which each atom is compared.
_NUMBERS = (0, 1, 2, -1)
#: Weight of a comparison of two atoms: of one family, and of different ones.
_PAIRED, UNLIKE = 8, 4


def _comparable(atoms: Sequence[Atom]) -> npt.NDArray[np.bool_]:
    """Tell which atoms programs compare with which."""
    weights = np.array([atom.weight for atom in atoms])
    known: dict[str, int] = {"": 0}
    family = np.array([known.setdefault(atom.family, len(known)) for atom in atoms])
    turns = np.array([atom.family.startswith(TURN) for atom in atoms])
    alike = family[:, None] == family
    most = np.where(alike & (family != 0), _PAIRED, UNLIKE)
    found: npt.NDArray[np.bool_] = (weights[:, None] + weights <= most) & (alike | ~(turns[:, None] | turns))
    return found


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
        holds = [np.zeros((0, length), bool)]
        atoms = [atom for atom, _ in (*sides, *turns)]
        comparable = _comparable(atoms)
        columns = np.array([column for _, column in sides], np.int64).reshape(len(sides), length)
        for i, (atom, values) in enumerate((*sides, *turns)):
            first, constants = (i + 1, (0, -1, 1)) if i < len(sides) else (0, (0,))
            beside = first + np.flatnonzero(comparable[i, first : len(sides)])
            made = [(ZERO, constant) for constant in _NUMBERS]
            made += [(atoms[k], constant) for k in beside.tolist() for constant in constants]
            others = columns[beside][:, None] + np.array(constants)[:, None]
            numbers = np.array(_NUMBERS)[:, None].repeat(length, axis=1)
            right = np.concatenate([numbers, others.reshape(len(made) - len(numbers), length)])
            for sign, compare in COMPARE.items() if i < len(sides) else [("==", np.equal)]:
                where = compare(values, right)
                kept = np.flatnonzero(where.any(axis=1) & ~where.all(axis=1))
                parts += [Comparison(atom, sign, *made[k]) for k in kept.tolist()]
                holds.append(where[kept])
        order = sorted(range(len(parts)), key=lambda i: parts[i].weight)
        return cls(tuple(parts[i] for i in order), np.concatenate(holds)[np.array(order, np.int64)])

    def different(self, most: int) -> Iterator[npt.NDArray[np.bool_]]:
        """Yield the samples on which light conditions hold, once for each division of the samples.

        Whether a rank is the owner of an index comes first.
        """
        seen: set[bytes] = set()
        light = [i for i, part in enumerate(self.parts) if part.weight <= _LIGHT]
        owned = [i for i, part in enumerate(self.parts) if part.one.family == f"{OWNER}{part.other.name}"]
        for i in (*owned, *light):
            where = self.holds[i]
            if len(seen) >= 2 * most:
                return
            if where.tobytes() not in seen:
                seen.update((where.tobytes(), (~where).tobytes()))
                yield where

    def just(self, mask: npt.NDArray[np.bool_], among: npt.NDArray[np.bool_] | None = None) -> tuple[Predicate, ...]:
        """Return the lightest conditions that hold on exactly these samples.

        Args:
            mask: The samples on which they hold.
            among: The samples that count; by default all.
        """
        if among is not None:
            return Conditions(self.parts, self.holds[:, among]).just(mask[among])
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
