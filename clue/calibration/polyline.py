"""Piecewise-linear curves through measured times, with as few points as the data justify.

The points of a curve are at measured sizes. Dynamic programming selects these sizes, and for each size one of a few
values around the measured time, to minimise a cost. Each sample costs Huber's function of its distance from the curve
in units of its uncertainty; each point of the curve costs 2 ln n, as in the Bayesian information criterion with two
parameters per point (its place and its value) and known uncertainty. The values are then fitted by weighted least
squares, with less weight for outliers. This module knows nothing about links or messages.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

#: Values tried at a point: offsets from the measured time, in units of its uncertainty.
_LEVELS = np.array((-1.2, -0.6, 0.0, 0.6, 1.2))
#: Distance from which the cost grows only linearly, in units of the uncertainty.
_HUBER = 2.5
#: Number of reweighting rounds after the points have been chosen.
_ROUNDS = 8
#: Smallest ratio of two sizes from which growth is derived; the sizes of NetPIPE are closer together.
APART = 1.3


@dataclass(frozen=True, slots=True)
class Samples:
    """Times by size, with their uncertainties.

    Attributes:
        sizes: Message sizes, bytes, strictly rising, shape (n,).
        times: Times, seconds, shape (n,).
        uncertainty: Their standard deviations, seconds, all above 0, shape (n,).
    """

    sizes: Floats
    times: Floats
    uncertainty: Floats


def roughness(sizes: Sequence[float] | Floats, times: Sequence[float] | Floats) -> float:
    """Return the relative noise of times, estimated from the distance of each one from the line through its neighbours.

    It is the median over all sizes, which ignores corners and jumps of the curve, divided by two constants: the
    standard deviation of a point's distance from the mean of its neighbours under independent noise (``sqrt(3/2)``),
    and the median absolute value of a standard normal.
    """
    m, t = np.asarray(sizes, np.float64), np.asarray(times, np.float64)
    if len(m) < 5:
        return 0.0
    share = (m[1:-1] - m[:-2]) / (m[2:] - m[:-2])
    chord = t[:-2] + share * (t[2:] - t[:-2])
    scale = np.maximum(np.abs(t[1:-1]), 1e-300)
    return float(np.median(np.abs(t[1:-1] - chord) / scale)) / (0.6745 * math.sqrt(1.5))


def fit_points(
    samples: Samples, split: float | None = None, beyond: float | None = None
) -> tuple[tuple[float, float], ...]:
    """Return the points (bytes, seconds) of the curve through samples, by rising size; no time is below 0.

    Args:
        samples: The data to fit.
        split: A size that no line may cross: the curves up to it and beyond it are fitted separately. A line from the
            last size up to it to the first size beyond it joins them.
        beyond: Growth of times beyond the largest size, seconds per byte, if the last points do not show it; default:
            that of the whole range.

    Returns:
        Points at measured sizes; if the last ones do not show the growth of times, one more at twice the largest size.
    """
    if len(samples.sizes) == 1:
        return ((float(samples.sizes[0]), max(0.0, float(samples.times[0]))),)
    chosen = _choose(samples, split)
    values = np.maximum(_least_squares(samples, chosen), 0.0)
    points = list(zip(samples.sizes[chosen].tolist(), values.tolist(), strict=True))
    # The last slope continues beyond the last point. If it is negative, crosses the split, or is that of sizes close to
    # each other, whose noise it shows, it is not the cost of a byte; then another slope is used.
    first, before, last = points[0], points[-2], points[-1]
    crosses = split is not None and before[0] <= split < last[0]
    if last[1] < before[1] or crosses or last[0] < APART * before[0]:
        slope = max(0.0, (last[1] - first[1]) / (last[0] - first[0])) if beyond is None else beyond
        points.append((2 * last[0], last[1] + slope * last[0]))
    return tuple(points)


def _choose(samples: Samples, split: float | None) -> list[int]:
    """Return the indices of the samples at which the curve has its points: first, last, and the best between."""
    n = len(samples.sizes)
    values = samples.times[:, None] + samples.uncertainty[:, None] * _LEVELS
    own = _huber(np.broadcast_to(_LEVELS, values.shape)) + 2 * np.log(n)
    best = np.full(values.shape, np.inf)
    best[0] = own[0]
    came_from: dict[tuple[int, int], tuple[int, int]] = {}
    for j in range(1, n):
        for i in _starts(samples.sizes, j, split):
            total = best[i][:, None] + _chord_costs(samples, values, i, j)
            level = np.argmin(total, axis=0)
            least = total[level, np.arange(len(_LEVELS))] + own[j]
            for k in np.flatnonzero(least < best[j]).tolist():
                best[j, k] = least[k]
                came_from[j, k] = (i, int(level[k]))
    at = (n - 1, int(np.argmin(best[-1])))
    chosen = [at[0]]
    while at[0]:
        at = came_from[at]
        chosen.append(at[0])
    return chosen[::-1]


def _starts(sizes: Floats, j: int, split: float | None) -> range:
    """Return the samples at which a line that ends at sample j may start."""
    if split is None or sizes[j] <= split:
        return range(j)
    first_beyond = int(np.searchsorted(sizes, split, side="right"))
    return range(max(0, j - 1), j) if first_beyond == j else range(first_beyond, j)


def _chord_costs(samples: Samples, values: Floats, i: int, j: int) -> Floats:
    """Return the cost of the samples between the ends of a line, by level of its start and of its end."""
    levels = len(_LEVELS)
    if j == i + 1:
        return np.zeros((levels, levels))
    between = slice(i + 1, j)
    share = (samples.sizes[between] - samples.sizes[i]) / (samples.sizes[j] - samples.sizes[i])
    start, end = values[i][:, None, None], values[j][None, :, None]
    deviation = (start + (end - start) * share - samples.times[between]) / samples.uncertainty[between]
    cost: Floats = _huber(deviation).sum(axis=2)
    return cost


def _huber(deviation: Floats) -> Floats:
    size = np.abs(deviation)
    cost: Floats = np.where(size <= _HUBER, size**2, _HUBER * (2 * size - _HUBER))
    return cost


def _least_squares(samples: Samples, chosen: Sequence[int]) -> Floats:
    """Return the values at the chosen points that fit all samples best."""
    knots = samples.sizes[list(chosen)]
    hats = np.stack([np.interp(samples.sizes, knots, unit) for unit in np.eye(len(knots))], axis=1)
    scaled, target = hats / samples.uncertainty[:, None], samples.times / samples.uncertainty
    weight = np.ones(len(target))
    values: Floats = np.zeros(len(knots))
    for _ in range(_ROUNDS):
        root = np.sqrt(weight)
        values = np.asarray(np.linalg.lstsq(scaled * root[:, None], target * root, rcond=None)[0], np.float64)
        deviation = np.abs(scaled @ values - target)
        weight = np.where(deviation <= _HUBER, 1.0, _HUBER / np.maximum(deviation, _HUBER))
    return values
