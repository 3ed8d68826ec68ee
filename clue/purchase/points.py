"""Points as in the CLUE paper, section 5: the fastest gets all, the others in proportion to their performance."""

from __future__ import annotations

#: Points of the fastest option in one workload of average weight (Table 3).
FULL_POINTS = 100.0


def points_for(rate: float, best: float, most: float = FULL_POINTS) -> float:
    """Return the points of a performance (a rate: more is better), given the best of all."""
    return most * (rate / best) if best > 0 else 0.0
