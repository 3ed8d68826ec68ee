"""Static shares by relative performance: the units of a total that each processor gets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from clue.balance.checking import whole
from clue.balance.vector import check_vector
from clue.errors import UsageError


def unit_load(total: float, vector: Sequence[float]) -> float:
    """Return the load of a processor whose relative performance is 1: ul = τ / Σ φ (PEMPIs-Het, equation 3).

    Raises:
        UsageError: If the vector is empty or has an entry that is not positive and finite, or the total is negative
            or not finite.
    """
    check_vector(vector)
    if not 0 <= total < math.inf:
        raise UsageError(f"balance: total must be at least 0 and finite, got {total}")
    return total / math.fsum(vector)


def loads(total: int, vector: Sequence[float]) -> tuple[int, ...]:
    """Return the loads Δ_i = ⌈ul φ_i⌉ as PEMPIs-Het states them (equation 4).

    Each load is rounded up, so that their sum may exceed the total by less than one unit for each processor. The loads
    of :func:`shares` add up exactly.
    """
    unit = unit_load(whole("total", total, 0), vector)
    return tuple(math.ceil(unit * phi) for phi in vector)


def shares(total: int, vector: Sequence[float]) -> tuple[int, ...]:
    """Return whole shares of a total in proportion to relative performance, which add up to it.

    Each differs from ul φ_i by less than one unit, and none is larger than that of a faster processor: all are rounded
    down, and the remainder goes, one unit each, to those with the largest fractional parts (the first of equals).
    """
    total = whole("total", total, 0)
    check_vector(vector)
    exact = [Fraction(phi) for phi in vector]
    together = sum(exact)
    quotas = [total * phi / together for phi in exact]
    rounded = [math.floor(quota) for quota in quotas]
    by_loss = sorted(range(len(quotas)), key=lambda i: rounded[i] - quotas[i])
    for i in by_loss[: total - sum(rounded)]:
        rounded[i] += 1
    return tuple(rounded)
