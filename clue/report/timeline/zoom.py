"""Choice of a stretch of a timeline to enlarge: one that is typical of where activities are too dense to be seen."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log10

import numpy as np
import numpy.typing as npt

from clue.report.shared.scale import Window
from clue.report.timeline.shares import Shares

#: Number of segments of a rank within a stretch.
_SEGMENTS = 48
#: Longest stretch, as a share of the whole: a longer one would show no more than the whole.
_MOST = 0.25
#: Columns whose distance from the mean exceeds that of the best by less than this (sum over activities) count as good.
_AS_GOOD = 0.02


def representative(
    found: Shares, dense: npt.NDArray[np.bool_], pieces: Sequence[npt.NDArray[np.void]], whole: Window
) -> Window | None:
    """Return a stretch whose shares of activities are close to the mean of all dense stretches.

    Args:
        found: Shares of each column of each band, shape (bands, columns, kinds).
        dense: Where activities alternate too fast to be seen, shape (bands, columns).
        pieces: The segments of a rank of each band.
        whole: The interval that the columns divide.

    Returns:
        Among the equally good stretches, the one nearest to the middle; ``None`` if nothing is dense, or if the stretch
        would be as good as the whole.
    """
    if not dense.any():
        return None
    columns = dense.shape[1]
    begin = whole.begin + whole.length * _typical(found, dense) / columns
    busy = [piece for piece, where in zip(pieces, dense, strict=True) if where.any() and len(piece)]
    length = _median_length(busy, begin) if busy else 0.0
    if not 0 < length <= _MOST * whole.length:
        return None
    return _rounded(min(begin, whole.end - length), length, whole)


def _typical(found: Shares, dense: npt.NDArray[np.bool_]) -> int:
    """Return the column that is most like the mean of the dense ones, in as many bands as possible."""
    counts = np.maximum(dense.sum(axis=1), 1)
    means = (found * dense[:, :, None]).sum(axis=1) / counts[:, None]
    # The largest possible distance where a band is not dense.
    off = np.where(dense, np.abs(found - means[:, None, :]).sum(axis=2), 2.0)[dense.any(axis=1)].mean(axis=0)
    good = np.flatnonzero(off <= off.min() + _AS_GOOD)
    return int(good[np.argmin(np.abs(good - off.size // 2))])


def _median_length(pieces: Sequence[npt.NDArray[np.void]], begin: float) -> float:
    """Return the duration of the next segments after a time in the median rank."""
    lengths = []
    for piece in pieces:
        first = int(np.searchsorted(piece["end"], begin, "right"))
        few = piece[min(first, max(len(piece) - _SEGMENTS, 0)) :][:_SEGMENTS]
        lengths.append(float(few["end"][-1] - few["begin"][0]) * _SEGMENTS / len(few))
    return float(np.median(lengths))


def _rounded(begin: float, length: float, whole: Window) -> Window:
    """Return a stretch whose ends have few digits."""
    step = 10.0 ** floor(log10(length)) / 10
    return Window(max(floor(begin / step) * step, whole.begin), min(ceil((begin + length) / step) * step, whole.end))
