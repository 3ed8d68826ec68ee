"""Order of options over samples: the probability that each is the best, and options that are indistinguishable."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

#: Minimum share of the samples in which the order of two options must hold to be certain.
CERTAIN = 0.9

Doubles = npt.NDArray[np.float64]


def probability_of_best(scores: Doubles, *, higher_is_better: bool) -> Doubles:
    """Return the share of the samples in which each option is the best, shape (options,).

    Options that are tied in a sample share it, so the shares add up to 1, or to less if a sample has no finite score.

    Args:
        scores: Shape (options, samples); a column holds the same sample of all options. An option with the worst
            possible score in a sample, which is infinite, is not the best in it.
        higher_is_better: Whether a higher score is better.
    """
    best = scores.max(axis=0) if higher_is_better else scores.min(axis=0)
    wins = (scores == best) & np.isfinite(scores)
    shares: Doubles = (wins / np.maximum(wins.sum(axis=0), 1)).mean(axis=1)
    return shares


def shared_positions(scores: Doubles, *, higher_is_better: bool) -> list[int]:
    """Return the position of each option, from 1; indistinguishable options share a position.

    An option shares the position of the option before it, unless the first option at that position is better in at
    least 90 % of the samples. In this case a new position begins with the option, numbered as if none were shared. So
    the first option of a position is certainly better than the first of the next one, and no option is certainly worse
    than the first of its own position.

    Args:
        scores: Scores, in the order of the options without noise, shape (options, samples).
        higher_is_better: Whether a higher score is better.
    """
    positions: list[int] = []
    first = 0
    for place, score in enumerate(scores):
        better = scores[first] > score if higher_is_better else scores[first] < score
        if better.mean() >= CERTAIN:
            first = place
        positions.append(first + 1)
    return positions
