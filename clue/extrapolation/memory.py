"""Memory of a rank at a target, from the peaks of smaller recordings."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from clue.extrapolation.family import Family

#: Terms that a peak may contain in addition to a constant: a rank's share of the problem, or data that all ranks hold.
_GROWTH: Mapping[str, tuple[int, int]] = {
    "size / ranks": (1, 1),
    "size^2 / ranks": (2, 1),
    "size^3 / ranks": (3, 1),
    "size": (1, 0),
    "size^2": (2, 0),
}
#: Relative noise of peaks from run to run.
_NOISE = 1e-3


def peak_memory(family: Family, size: int, ranks: int) -> tuple[float, str]:
    """Return the peak of a rank at a target, bytes, and its growth term; 0 and ``""`` if no recording has peaks.

    The largest peak of each recording is fitted by a constant plus a multiple of one term, chosen by least squares. If
    no term grows, the result is the largest peak of all.
    """
    known = [
        (each.size, each.ranks, max(head.peak_memory for head in each.typical.head.rank_heads))
        for each in family.recordings
    ]
    if not all(peak for *_, peak in known):
        return 0.0, ""
    sizes, counts, peaks = (np.array(column, np.float64) for column in zip(*known, strict=True))
    best, found, name = np.inf, float(peaks.max()), ""
    for form, (power, shared) in _GROWTH.items():
        data = sizes**power / counts**shared
        if not np.ptp(data):  # one value shows no growth
            continue
        columns = np.column_stack([np.ones_like(data), data / data.max()])
        (constant, slope), *_ = np.linalg.lstsq(columns, peaks, rcond=None)
        left = float(np.square(columns @ (constant, slope) - peaks).sum())
        if slope > _NOISE * peaks.max() and constant >= 0 and left < best:
            best, name = left, form
            found = float(constant + slope * (size**power / ranks**shared) / data.max())
    return found, name
