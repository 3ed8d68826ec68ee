"""Fastest lines and crossovers. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from benchmarks.accuracy.self_scheduling.times import Time

#: Seconds by line and size.
Curves = Mapping[str, Mapping[int, float]]


def curves(times: Sequence[Time], machine: str, kind: str = "live") -> dict[str, dict[int, float]]:
    """Return seconds by line and size of one machine."""
    found: dict[str, dict[int, float]] = {}
    for each in times:
        if (each.machine, each.kind) == (machine, kind):
            found.setdefault(each.line, {})[each.n] = each.seconds
    return found


def fastest(of: Curves, n: int) -> str:
    """Return the line that is the fastest at a size."""
    return min(of, key=lambda line: of[line][n])


def crossings(one: Mapping[int, float], other: Mapping[int, float]) -> list[float]:
    """Return the sizes at which two lines cross, with linear interpolation between sizes.

    A tie at a size is a crossover only if the sign differs on both sides.
    """
    gaps = [(n, one[n] - other[n]) for n in sorted(one.keys() & other.keys()) if one[n] != other[n]]
    return [
        low + (high - low) * before / (before - after)
        for (low, before), (high, after) in pairwise(gaps)
        if (before < 0) != (after < 0)
    ]
