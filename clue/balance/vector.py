"""The relative performance vector φ: how many times as fast as the slowest each processor is.

It comes from times of the same work: measured times, those of performance models for a problem size, or those of a
virtual machine (:mod:`clue.balance.factors`). PEMPIs-Het calls it static if it was found once, at one size, and dynamic
if it is evaluated at the current size; :func:`remeasured` goes further and takes it from the work just computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from clue.balance.checking import not_negative
from clue.errors import UsageError

#: A performance model δ(n, p): seconds that a problem of size n takes on p processors of a kind; a
#: :class:`clue.models.FittedTime` is one.
TimeModel = Callable[[float, int], float]


def relative_performance(times: Sequence[float]) -> tuple[float, ...]:
    """Return φ of some processors from the times that the same work takes on each; the slowest has 1.

    PEMPIs-Het, equations 1 and 2. Equation 1 is printed as φ_x = δ_x / δ_y, which would give slower processors more.
    But according to the text beside equation 2, the slowest has 1 and the others more. This requires φ_x = δ_y / δ_x,
    where y is the slowest.

    Raises:
        UsageError: If there is no time, or one that is not positive and finite.
    """
    if len(times) == 0 or not all(0 < time < math.inf for time in times):
        raise UsageError(f"balance: times must be one or more numbers > 0, got {list(times)}")
    slowest = max(times)
    return tuple(slowest / time for time in times)


def check_vector(vector: Sequence[float]) -> None:
    """Check a relative performance vector.

    Raises:
        UsageError: If it is empty or has an entry that is not positive and finite.
    """
    if len(vector) == 0 or not all(0 < phi < math.inf for phi in vector):
        raise UsageError(f"balance: relative performances must be one or more numbers > 0, got {list(vector)}")


def vector_at(models: Sequence[TimeModel], n: float, p: int) -> tuple[float, ...]:
    """Return φ from the performance models of some processors, for a problem of size n on p processors."""
    return relative_performance([model(n, p) for model in models])


def remeasured(vector: Sequence[float], done: Sequence[float], seconds: Sequence[float]) -> tuple[float, ...]:
    """Update φ from the work that each processor has done since the last update, and the time it took.

    A processor without work keeps the ratio of its φ to the sum over the processors with work.

    Args:
        vector: The vector so far.
        done: Units of work done by each.
        seconds: Time that each took for it.

    Raises:
        UsageError: If the three are not of one length, the vector has an entry that is not positive and finite, or
            another number is negative or not finite.
    """
    if not len(vector) == len(done) == len(seconds):
        got = f"{len(vector)}, {len(done)} and {len(seconds)}"
        raise UsageError(f"balance: vector, done and seconds must have an entry for each processor, got {got}")
    check_vector(vector)
    not_negative("done", done)
    not_negative("seconds", seconds)
    measured = [units > 0 and time > 0 for units, time in zip(done, seconds, strict=True)]
    if not any(measured):
        return tuple(vector)
    speeds = [units / time if known else 0.0 for units, time, known in zip(done, seconds, measured, strict=True)]
    unit = sum(speeds) / sum(phi for phi, known in zip(vector, measured, strict=True) if known)
    return relative_performance([1 / (speed or phi * unit) for speed, phi in zip(speeds, vector, strict=True)])
