"""Bands of a timeline as an image: shares of activities become heights of colours."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from matplotlib.colors import to_rgb

from clue.report.timeline.shares import Shares

#: Least share of a column that counts as pure; largest number of columns that the eye sees as a line.
_PURE, _LINE = 0.97, 5
#: Rows of a band per row of the gap between bands.
_GAP = 8


def paint(found: Shares, colours: Sequence[str], rows: int) -> npt.NDArray[np.float32]:
    """Return the picture of bands: RGB in 0 … 1, shape (bands × rows, columns, 3), with ``rows`` per band and gap.

    From the bottom up, each kind takes its share of a band's height. It is blended where it ends within a row, and over
    the whole height where one activity passes into another. The part that no kind takes stays white.
    """
    gap = max(1, rows // _GAP)
    lower = np.arange(rows - gap)[::-1, None]
    image = np.ones((len(found), rows, found.shape[1], 3), np.float32)
    for band, of in zip(image, found, strict=True):
        tops, blended = np.cumsum(of, axis=1) * (rows - gap), _narrow(of)
        for kind, colour in enumerate(colours):
            bottoms = tops[:, kind] - of[:, kind] * (rows - gap)
            stacked = np.clip(tops[:, kind] - lower, 0, 1) - np.clip(bottoms - lower, 0, 1)
            part = np.where(blended, of[:, kind], stacked)
            band[gap // 2 : gap // 2 + rows - gap] -= part[:, :, None] * (1 - np.array(to_rgb(colour)))
    return np.clip(image.reshape(-1, *image.shape[2:]), 0.0, 1.0)


def _narrow(of: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Mark the columns in which one activity passes into another: the eye sees a line there, whatever its height."""
    mixed = of.max(axis=1, initial=0.0) < _PURE
    edges = np.concatenate(([0], np.flatnonzero(np.diff(mixed)) + 1, [len(mixed)]))
    found: npt.NDArray[np.bool_] = mixed & np.repeat(np.diff(edges) <= _LINE, np.diff(edges))
    return found
