"""Points as in the CLUE paper, section 5: the fastest gets the most, the others in proportion to their performance."""

from __future__ import annotations

from collections.abc import Mapping

#: Points of the fastest option in one workload of average weight (Table 3).
FULL_POINTS = 100.0


def points_for(rate: float, best: float, most: float = FULL_POINTS) -> float:
    """Return the points of a performance (a rate: more is better) beside the best of all."""
    return most * (rate / best) if best > 0 else 0.0


def award_points(performance: Mapping[str, float], most: float = FULL_POINTS) -> dict[str, float]:
    """Award points for performances, by option.

    The best gets ``most``, another ``most · performance / best`` (Table 3: a case split into two kernels gives at most
    50 points for each).
    """
    best = max(performance.values(), default=0.0)
    return {option: points_for(rate, best, most) for option, rate in performance.items()}
