"""Atoms and their products; their values are computed once, for searches in any part of the samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement, compress

import numpy as np
import numpy.typing as npt

from clue.structure.atoms import Atom, Integers, Surroundings, padded, variable

#: Largest weight of two atoms that are multiplied, and largest number of such pairs.
_MULTIPLIED, _MOST_PAIRS = 5, 2000
#: Prefixes of atoms that may be stored with a halo row on either side.
_WIDE = ("share ", "first_larger ", "last_smaller ", "last_larger ", "floor ", "ceil ")
_WHOLE = padded(variable("n")).name
_MIXED = np.random.default_rng(0)


class _Seen(dict[str, Integers]):
    """Surroundings that note which variables are read."""

    def __init__(self, v: Surroundings) -> None:
        super().__init__(v)
        self.used: set[str] = set()

    def __getitem__(self, name: str) -> Integers:
        self.used.add(name)
        return super().__getitem__(name)


@dataclass(frozen=True, eq=False)
class Pool:
    """Atoms with their values.

    Attributes:
        atoms: The atoms, the lightest first.
        values: Value of each atom in each sample, shape (atoms, samples).
    """

    atoms: tuple[Atom, ...]
    values: Integers

    @classmethod
    def of(cls, atoms: Sequence[Atom], v: Surroundings, frozen: frozenset[str] = frozenset()) -> Pool:
        """Compute the atoms, except those that depend on frozen surroundings."""
        known = []
        with np.errstate(all="ignore"):
            for atom in sorted(atoms, key=lambda atom: atom.weight):
                seen = _Seen(v)
                values = atom.values(seen)
                if not seen.used & frozen:
                    known.append((atom, values))
        length = len(next(iter(v.values())))
        return cls(
            tuple(atom for atom, _ in known), np.array([values for _, values in known], np.int64).reshape(-1, length)
        )

    def __len__(self) -> int:
        return len(self.atoms)

    def pairs(self) -> list[tuple[Atom, Integers]]:
        """Return each atom with its values."""
        return list(zip(self.atoms, self.values, strict=True))

    @cached_property
    def weights(self) -> Integers:
        """The weight of each."""
        return np.array([atom.weight for atom in self.atoms], np.int64)

    def varying(self, rows: npt.NDArray[np.int64]) -> Pool:
        """Return the atoms that vary in these samples, with their values there."""
        values = self.values[:, rows]
        return self._only((values != values[:, :1]).any(axis=1), values)

    def _only(self, kept: npt.NDArray[np.bool_], values: Integers) -> Pool:
        if kept.all():
            return Pool(self.atoms, values)
        return Pool(tuple(compress(self.atoms, kept.tolist())), values[kept])

    def multiplied(self) -> npt.NDArray[np.int64]:
        """Return the pairs of atoms that programs multiply, the lightest first."""
        pairs = _pairs(np.arange(len(self)))
        weights = self.weights[pairs].sum(axis=1)
        kept = (weights <= _MULTIPLIED) | _same_family(self.atoms, pairs)
        light: npt.NDArray[np.int64] = pairs[kept][np.argsort(weights[kept], kind="stable")][:_MOST_PAIRS]
        return light


@dataclass(frozen=True, slots=True, eq=False)
class Product:
    """A product of atoms.

    Attributes:
        atoms: The atoms.
        values: Values of the product.
        alike: The products with equal values in these samples, this one included.
    """

    atoms: tuple[Atom, ...]
    values: Integers
    alike: tuple[tuple[Atom, ...], ...]


@dataclass(frozen=True, eq=False)
class Products:
    """Products of up to three atoms; products with equal values form a group.

    Attributes:
        factors: The atoms.
        every: Factors of all products, shape (products, 3); -1 for none.
        group: Number of the group of each product.
        first: First product of each group.
        values: Values of each group, shape (groups, samples).
    """

    factors: tuple[Atom, ...]
    every: npt.NDArray[np.int64]
    group: npt.NDArray[np.int64]
    first: npt.NDArray[np.int64]
    values: Integers

    @classmethod
    def of(cls, pool: Pool, rows: npt.NDArray[np.int64]) -> Products:
        """Multiply light atoms, atoms of one family, and shares with a halo row on either side."""
        widths = [i for i, atom in enumerate(pool.atoms) if atom.family.startswith(_WIDE)]
        widths += [i for i, atom in enumerate(pool.atoms) if atom.name == "n"]
        factors = (*pool.atoms, *(padded(pool.atoms[i]) for i in widths))
        values = pool.values[:, rows]
        values = np.concatenate([values, values[widths] + 2])
        wide = _pairs(np.arange(len(pool), len(factors)))
        whole = np.array([atom.name == _WHOLE for atom in factors], bool)
        wide = wide[_same_family(factors, wide) | whole[wide].any(axis=1)]
        cubes = np.flatnonzero(whole)[:, None].repeat(3, axis=1)
        light = np.flatnonzero(pool.weights <= 1)
        triples = np.array(list(combinations_with_replacement(light.tolist(), 3)), np.int64).reshape(-1, 3)
        lone = np.arange(len(pool))[:, None]
        return cls._different(factors, values, [lone, wide, cubes, pool.multiplied(), triples])

    @classmethod
    def lone(cls, pool: Pool, rows: npt.NDArray[np.int64]) -> Products:
        """Take each atom as a product with one factor."""
        return cls._different(pool.atoms, pool.values[:, rows], [np.arange(len(pool))[:, None]])

    @classmethod
    def in_units(cls, pool: Pool, rows: npt.NDArray[np.int64]) -> Products:
        """Take shares in units; multiply them by the size, and by each other if they are of one family."""
        size = np.array([atom.name == "n" for atom in pool.atoms], bool)
        lone = np.flatnonzero(~size)[:, None]
        pairs = _pairs(np.arange(len(pool)))
        pairs = pairs[(size[pairs].sum(axis=1) == 1) | _same_family(pool.atoms, pairs)]
        return cls._different(pool.atoms, pool.values[:, rows], [lone, pairs])

    @classmethod
    def _different(cls, factors: tuple[Atom, ...], values: Integers, made: Sequence[npt.NDArray[np.int64]]) -> Products:
        every = np.concatenate(
            [np.concatenate([each, np.full((len(each), 3 - each.shape[1]), -1)], axis=1) for each in made]
        )
        # Many factors have equal values: their products are computed once.
        first, alike = _first_seen(_told_apart(values))
        numbers = np.sort(np.append(alike, -1)[every], axis=1)
        codes = (numbers + 1) @ (len(first) + 1) ** np.arange(3)
        made_first, code = _first_seen(codes)
        products = _multiplied(values[first], numbers[made_first])
        first, group = _first_seen(_told_apart(products))
        return cls(factors, every, group[code], made_first[first], products[first])

    def __len__(self) -> int:
        return len(self.first)

    def __getitem__(self, number: int) -> Product:
        """Return one of them."""
        alike = tuple(self._atoms(each) for each in np.flatnonzero(self.group == number).tolist())
        return Product(alike[0], self.values[number], alike)

    def _atoms(self, number: int) -> tuple[Atom, ...]:
        return tuple(self.factors[i] for i in self.every[number].tolist() if i >= 0)

    @cached_property
    def weights(self) -> Integers:
        """The weight of each."""
        weights = np.array([*(atom.weight for atom in self.factors), 0], np.int64)
        found: Integers = weights[self.every[self.first]].sum(axis=1)
        return found


def _multiplied(values: Integers, numbers: npt.NDArray[np.int64]) -> Integers:
    """Return the products of the values with these numbers, shape (products, 3); -1, in front, for none."""
    factors = np.concatenate([values, np.ones((1, values.shape[1]), np.int64)])
    product: Integers = factors[numbers[:, 2]]
    product *= factors[numbers[:, 1]]
    more = np.flatnonzero(numbers[:, 0] >= 0)
    product[more] *= factors[numbers[more, 0]]
    return product


def _told_apart(values: Integers) -> Integers:
    """Return a key for each row: sums of random numbers modulo 2^64 tell rows apart."""
    keys: Integers = values @ _MIXED.integers(-(1 << 62), 1 << 62, values.shape[1])
    return keys


def _first_seen(keys: Integers) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return where each different key is first, in this order, and the number of each key among these."""
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return first[order], place[group.ravel()]


def _pairs(numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return all pairs of numbers, in order, and each with itself."""
    one, other = np.triu_indices(len(numbers))
    return np.stack([numbers[one], numbers[other]], axis=1)


def _same_family(atoms: Sequence[Atom], pairs: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Tell which pairs of atoms are of one family."""
    known: dict[str, int] = {"": -1}
    family = np.array([known.setdefault(atom.family, len(known)) for atom in atoms], np.int64)[pairs]
    same: npt.NDArray[np.bool_] = (family[:, 0] == family[:, 1]) & (family[:, 0] >= 0)
    return same
