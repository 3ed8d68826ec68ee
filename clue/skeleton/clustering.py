"""Clusters of similar events (Sodhi, Subhlok, Xu, section 4.2): equal in everything but sizes, which are similar.

Both ends of a message are in the cluster of the message, and all members of a collective call are in that of the call,
so ranks never disagree. The difference of sizes a and b is |a - b| / max(a, b); that of two lists of sizes is the sum
of the absolute differences of their entries, divided by the larger sum. All events of a cluster differ from its
smallest by less than the similarity threshold; so do single sizes from each other, and lists by less than twice the
threshold. With a threshold of 0 all are equal. Each event gets the mean size of its cluster; lists get it entry by
entry, of those entries that are not 0. The order of events has no influence.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clue.skeleton.events import Integers
from clue.skeleton.parameters import Doubles, Parameters, Sizes
from clue.steady.cuts import scrambled

#: Maximum number of clusters that lists of one kind are put into; lists beyond them stay as they were.
_MOST = 64


@dataclass(frozen=True, slots=True, eq=False)
class Clusters:
    """Events in clusters.

    Attributes:
        threshold: Similarity threshold.
        of: Cluster of each unit, shape (units,).
        nbytes: Mean of each size within its cluster, in whole elements (see :class:`Sizes`).
    """

    threshold: float
    of: Integers
    nbytes: Integers

    @classmethod
    def at(cls, parameters: Parameters, threshold: float) -> Clusters:
        """Put events into clusters.

        Args:
            parameters: Kinds and sizes of the events.
            threshold: Similarity threshold, from 0 (only equal events) to below 1.
        """
        equal, first = _equal(parameters)
        cluster = equal if threshold == 0 else _similar(parameters, first, threshold)[equal]
        return cls(threshold, cluster, _means(parameters.sizes, cluster))


def _equal(parameters: Parameters) -> tuple[Integers, Integers]:
    """Return a number for each unit, the same for equal units, and one unit of each number."""
    sizes = parameters.sizes
    sums = scrambled(parameters.kind)
    np.add.at(sums, sizes.unit, scrambled(sizes.place, sizes.nbytes))
    _, first, equal = np.unique(sums, return_index=True, return_inverse=True)
    return equal.ravel().astype(np.int64), first.astype(np.int64)


def _similar(parameters: Parameters, units: Integers, threshold: float) -> Integers:
    """Return the cluster of each of some units, no two of which are equal."""
    sizes, kind = parameters.sizes, parameters.kind[units]
    total, even = _totals(sizes, len(parameters.kind))
    uneven = np.zeros(int(kind.max(initial=-1)) + 1, np.bool_)
    uneven[kind[~even[units]]] = True
    lists = uneven[kind]
    cluster = np.empty(len(units), np.int64)
    cluster[~lists] = _by_total(kind[~lists], total[units][~lists], threshold)
    begin = int(cluster[~lists].max(initial=-1)) + 1
    bounds = np.searchsorted(sizes.unit, np.arange(len(parameters.kind) + 1))
    for each in np.unique(kind[lists]).tolist():
        here = np.flatnonzero(kind == each)
        here = here[np.argsort(total[units[here]], kind="stable")]
        length = bounds[units[here[0]] + 1] - bounds[units[here[0]]]
        table = sizes.nbytes[bounds[units[here]][:, None] + np.arange(length)]
        cluster[here] = begin + _by_entries(table, threshold)
        begin = int(cluster[here].max()) + 1
    return cluster


def _totals(sizes: Sizes, units: int) -> tuple[Integers, npt.NDArray[np.bool_]]:
    """Return the sum of each unit's sizes, and whether these sizes are all equal."""
    total, even = np.zeros(units, np.int64), np.ones(units, np.bool_)
    np.add.at(total, sizes.unit, sizes.nbytes)
    differs = (sizes.unit[1:] == sizes.unit[:-1]) & (sizes.nbytes[1:] != sizes.nbytes[:-1])
    even[sizes.unit[1:][differs]] = False
    return total, even


def _by_total(kind: Integers, total: Integers, threshold: float) -> Integers:
    """Return clusters by a single size; the smallest size not yet in a cluster begins the next."""
    sizes, rank = np.unique(total, return_inverse=True)
    span = len(sizes) + 1
    keys = kind * span + rank.ravel()
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    # For each size, the first that is too far from it.
    beyond = np.searchsorted(sizes * (1 - threshold), sizes, side="left")
    begins = np.zeros(len(keys), np.bool_)
    leaders = np.flatnonzero(np.diff(keys // span, prepend=-1))
    while len(leaders):
        begins[leaders] = True
        of, size = keys[leaders] // span, keys[leaders] % span
        # A size of 0 is similar only to another 0.
        behind = np.searchsorted(keys, of * span + np.maximum(beyond[size], size + 1))
        some = behind < len(keys)
        leaders = behind[some][keys[behind[some]] // span == of[some]]
    cluster = np.empty(len(keys), np.int64)
    cluster[order] = np.cumsum(begins) - 1
    return cluster


def _by_entries(table: Integers, threshold: float) -> Integers:
    """Return clusters of lists, shape (lists, entries); the first list not yet in a cluster begins the next."""
    cluster = np.full(len(table), -1, np.int64)
    largest = table.sum(axis=1)
    for number in range(_MOST):
        left = np.flatnonzero(cluster < 0)
        if not len(left):
            return cluster
        leader = table[left[0]]
        apart = np.abs(table[left] - leader).sum(axis=1)
        near = apart < threshold * np.maximum(largest[left], leader.sum())
        near[0] = True
        cluster[left[near]] = number
    left = np.flatnonzero(cluster < 0)
    cluster[left] = _MOST + np.arange(len(left))
    return cluster


def _means(sizes: Sizes, cluster: Integers) -> Integers:
    """Return the mean of each size over all units of its cluster, place by place; sizes of 0 stay and do not count."""
    longest = int(sizes.place.max(initial=0)) + 1
    place = cluster[sizes.unit] * longest + sizes.place
    slot = np.unique(2 * place + (sizes.nbytes > 0), return_inverse=True)[1].ravel()
    mean: Doubles = np.bincount(slot, sizes.nbytes) / np.bincount(slot)
    return sizes.whole(mean[slot])
