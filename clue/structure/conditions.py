"""Conditions on samples: comparisons of atoms, and the samples on which they hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from clue.structure.atoms import OWNER, TURN, Atom, Integers
from clue.structure.forms import COMPARE, ZERO, Comparison, Predicate, lightest

#: Greatest weight of a condition that divides samples into cases, and number of conditions that are combined in pairs.
_LIGHT, _JOINED = 3, 200
#: Numbers with which each atom is compared.
_NUMBERS = (0, 1, 2, -1)
#: Number of values that are compared at once: as many as a cache holds.
_AT_ONCE = 1 << 17
#: Weight of a comparison of two atoms: of one family, and of different ones.
_PAIRED, UNLIKE = 8, 4


def _comparable(atoms: Sequence[Atom]) -> npt.NDArray[np.bool_]:
    """Tell which pairs of atoms programs compare."""
    weights = np.array([atom.weight for atom in atoms])
    known: dict[str, int] = {"": 0}
    family = np.array([known.setdefault(atom.family, len(known)) for atom in atoms])
    turns = np.array([atom.family.startswith(TURN) for atom in atoms])
    alike = family[:, None] == family
    most = np.where(alike & (family != 0), _PAIRED, UNLIKE)
    found: npt.NDArray[np.bool_] = (weights[:, None] + weights <= most) & (alike | ~(turns[:, None] | turns))
    return found


#: Samples as bits, in whole words: shape (…, words).
_Bits: TypeAlias = "npt.NDArray[np.uint64]"
_SIGNS = tuple(COMPARE)


def _bits(holds: npt.NDArray[np.bool_]) -> _Bits:
    """Return as bits on which samples conditions hold, shape (conditions, samples); bits after the last are 0."""
    packed = np.packbits(holds, axis=1)
    whole = np.zeros((len(packed), -(-packed.shape[1] // 8) * 8), np.uint8)
    whole[:, : packed.shape[1]] = packed
    return whole.view(np.uint64)


def _unpacked(bits: _Bits, length: int) -> npt.NDArray[np.bool_]:
    """Return the truth values that :func:`_bits` packed, given the number of samples."""
    return np.unpackbits(bits.view(np.uint8), axis=1, count=length).view(np.bool_)


def _compared(
    values: Integers, ones: npt.NDArray[np.int64], others: npt.NDArray[np.int64], constants: tuple[int, ...]
) -> Iterator[tuple[npt.NDArray[np.int64], _Bits]]:
    """Yield comparisons, shape (comparisons, 4), of pairs of atoms that differ by constants, and where they hold."""
    length = values.shape[1]
    full = _bits(np.ones((1, length), bool))
    size = max(_AT_ONCE // (length + 1), 1)
    for start in range(0, len(ones), size):
        one, other = ones[start : start + size], others[start : start + size]
        apart = (values[one] - values[other])[:, None]
        added = np.array(constants)[:, None]
        equal, less = (
            _bits(where.reshape(len(one) * len(constants), length)) for where in (apart == added, apart < added)
        )
        made = np.zeros((len(equal), 4), np.int64)
        made[:, 0], made[:, 2] = one.repeat(len(constants)), other.repeat(len(constants))
        made[:, 3] = np.resize(constants, len(made))
        for sign, where in (("==", equal), ("<", less), (">=", less ^ full)):
            made[:, 1] = _SIGNS.index(sign)
            yield made, where


@dataclass(frozen=True, slots=True, eq=False)
class Conditions:
    """Conditions on samples, the lightest first.

    Attributes:
        atoms: The atoms that are compared; the last is the number zero.
        parts: The comparisons, shape (comparisons, 4): an atom, a sign, another atom and a number.
        weights: The complexity of each.
        holds: Where each holds.
        length: Number of samples.
    """

    atoms: tuple[Atom, ...]
    parts: npt.NDArray[np.int64]
    weights: npt.NDArray[np.int64]
    holds: _Bits
    length: int

    @classmethod
    def among(
        cls, sides: Sequence[tuple[Atom, Integers]], turns: Sequence[tuple[Atom, Integers]], length: int
    ) -> Conditions:
        """Compare atoms with small numbers and with each other; atoms of turns are compared for equality only."""
        atoms = (*(atom for atom, _ in (*sides, *turns)), ZERO)
        values = np.array([*(column for _, column in (*sides, *turns)), np.zeros(length, np.int64)], np.int64)
        comparable = _comparable(atoms[:-1])[:, : len(sides)]
        one, other = np.nonzero(np.triu(comparable[: len(sides)], 1))
        turn, side = np.nonzero(comparable[len(sides) :])
        lone = np.arange(len(atoms) - 1)
        full = _bits(np.ones((1, length), bool))
        parts, holds = [np.zeros((0, 4), np.int64)], [_bits(np.zeros((0, length), bool))]
        for made, where in chain(
            _compared(values, lone, np.full(len(lone), len(lone)), _NUMBERS),
            _compared(values, one, other, (0, -1, 1)),
            _compared(values, len(sides) + turn, side, (0,)),
        ):
            kept = where.any(axis=1) & (where != full).any(axis=1)
            kept &= (made[:, 0] < len(sides)) | (made[:, 1] == _SIGNS.index("=="))
            parts.append(made[kept])
            holds.append(where[kept])
        every = np.concatenate(parts)
        own = np.array([atom.weight for atom in atoms], np.int64)
        weights = own[every[:, 0]] + own[every[:, 2]] + np.abs(every[:, 3])
        order = np.lexsort((every[:, 1], every[:, 0], weights))
        return cls(atoms, every[order], weights[order], np.concatenate(holds)[order], length)

    def part(self, number: int) -> Comparison:
        """Return one of the comparisons."""
        one, sign, other, constant = self.parts[number].tolist()
        return Comparison(self.atoms[one], _SIGNS[sign], self.atoms[other], constant)

    def different(self, most: int) -> Iterator[npt.NDArray[np.bool_]]:
        """Yield the samples on which light conditions hold, once for each division of the samples.

        Conditions that a rank is the owner of an index come first.
        """
        seen: set[bytes] = set()
        owned = [
            (one, other)
            for one, owner in enumerate(self.atoms)
            if owner.family.startswith(OWNER)
            for other, atom in enumerate(self.atoms)
            if owner.family == f"{OWNER}{atom.name}"
        ]
        first = [np.flatnonzero((self.parts[:, [0, 2]] == each).all(axis=1)) for each in owned]
        light = np.arange(np.searchsorted(self.weights, _LIGHT, side="right"))
        for i in np.concatenate([np.sort(np.concatenate(first)), light] if first else [light]).tolist():
            where = _unpacked(self.holds[[i]], self.length)[0]
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
            holds = _bits(_unpacked(self.holds, self.length)[:, among])
            return Conditions(self.atoms, self.parts, self.weights, holds, int(among.sum())).just(mask[among])
        fits = [
            Predicate((self.part(i),), negated)
            for negated in (False, True)
            for i in self._agreeing(_bits((mask ^ negated)[None]), _bits(np.ones((1, self.length), bool)))
        ]
        return lightest(fits) or lightest(
            [p for negated in (False, True) for p in self._joined(mask ^ negated, negated)]
        )

    def _agreeing(self, mask: _Bits, there: _Bits) -> list[int]:
        """Return the conditions that agree with a mask on these samples, both of shape (1, words)."""
        first = (self.holds[:, :1] ^ mask[:, :1]) & there[:, :1]  # most differ in the first word
        near = np.flatnonzero((first == 0).all(axis=1))
        found: list[int] = near[((self.holds[near] ^ mask) & there == 0).all(axis=1)].tolist()
        return found

    def _joined(self, mask: npt.NDArray[np.bool_], negated: bool) -> Iterator[Predicate]:
        """Yield pairs of conditions whose conjunction holds on exactly these samples."""
        within = _bits(mask[None])
        above: dict[bytes, int] = {}
        for i in self._agreeing(within, within):
            above.setdefault(self.holds[i].tobytes(), i)
            if len(above) == _JOINED:
                break
        outside = self.holds[list(above.values())] & ~within
        parts = [self.part(i) for i in above.values()]
        for i, part in enumerate(parts):
            both = (outside[i] & outside[i + 1 :]).any(axis=1)
            for k in np.flatnonzero(~both).tolist():
                yield Predicate((part, parts[i + 1 + k]), negated)
