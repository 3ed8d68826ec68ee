"""Bursts of a program, explained by local sizes, which may differ between ranks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clue.structure.atoms import Atom, Integers, rows_of
from clue.structure.rules import Search

Floats = npt.NDArray[np.float64]
#: Least share of the variance between bursts of a recording that a local size must explain; number of samples used.
_EXPLAINED, _LOOKED_AT = 0.3, 3000
#: Share of the bursts, at either end, that is winsorised: the first iterations of a loop are often slower.
_TAIL = 0.05


@dataclass(frozen=True, slots=True)
class LocalSize:
    """The local size of a rank at a place in its program: a product of atoms.

    Attributes:
        atoms: The atoms.
        slope: How much longer than the mean bursts are where the size is twice its mean: 1 if they are proportional.
    """

    atoms: tuple[Atom, ...]
    slope: float = 1.0

    def __call__(self, v: Mapping[str, Integers]) -> Floats:
        """Return its values."""
        product = np.ones(len(v["n"]))
        for atom in self.atoms:
            product = product * atom.values(v)
        return product

    def __str__(self) -> str:
        return " · ".join(atom.name for atom in self.atoms)


def local_size(
    v: Mapping[str, Integers], example: Integers, seconds: Floats, blocks: tuple[int, ...]
) -> LocalSize | None:
    """Return the local size that best explains how bursts of a recording differ by rank and iteration, if there is one.

    Args:
        v: Surroundings of each burst.
        example: Recording of each burst.
        seconds: Time of each burst.
        blocks: Block sizes by which the program distributes.
    """
    rows = np.unique(np.linspace(0, len(seconds) - 1, min(len(seconds), _LOOKED_AT)).astype(np.int64))
    v = rows_of(v, rows)
    example, seconds = example[rows], seconds[rows]
    _, of = np.unique(example, return_inverse=True)
    counts = np.bincount(of)
    means = np.bincount(of, seconds) / counts
    if not (means > 0).all():
        return None
    relative = seconds / means[of]
    rest = relative - 1.0
    # A local size need not explain outliers and warm-up: winsorise them. What a rank usually takes is neither, even if
    # few ranks do: the last one has the rest of a size that leaves a remainder.
    often = usual(of, v["rank"], rest)
    low, high = np.quantile(rest, (_TAIL, 1 - _TAIL))
    rest = np.clip(rest, np.minimum(low, often), np.maximum(high, often))
    rest -= (np.bincount(of, rest) / counts)[of]
    whole = float(rest @ rest)
    if whole <= len(rest) * _NOTHING:
        return None
    best, found = _EXPLAINED, None
    products = Search(v, blocks).products()
    for size_of in (LocalSize(products[i].atoms) for i in range(len(products))):
        values = size_of(v)
        if (values < 0).any():
            continue
        mean = np.bincount(of, values) / counts
        if not (mean > 0).all():
            continue
        shape = values / mean[of] - 1.0
        size = float(shape @ shape)
        if size <= len(rest) * _NOTHING:
            continue
        slope = float(shape @ rest) / size
        # With a constant term: bursts grow at most proportionally to the size.
        slope = min(max(slope, 0.0), 1.0)
        left = rest - slope * shape
        explained = 1.0 - float(left @ left) / whole - _HEAVY * sum(atom.weight for atom in size_of.atoms)
        if explained > best:
            best, found = explained, LocalSize(size_of.atoms, slope)
    return found


def usual(example: Integers, rank: Integers, bursts: Floats) -> Floats:
    """Return the median of each rank's bursts in a recording, for each burst; 0 if there are too few for a median."""
    result = np.zeros(len(bursts))
    order = np.lexsort((bursts, rank, example))
    begins = np.flatnonzero((np.diff(example[order]) != 0) | (np.diff(rank[order]) != 0)) + 1
    for mine in np.split(order, begins):
        if len(mine) >= _SEVERAL:
            result[mine] = bursts[mine[len(mine) // 2]]
    return result


#: Minimum number of a rank's bursts in a recording of which most are taken to be undisturbed.
_SEVERAL = 5
#: Variance of relative bursts that counts as zero; further share that a product must explain for each unit of weight.
_NOTHING, _HEAVY = 1e-4, 0.004
