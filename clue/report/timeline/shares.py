"""Shares of activities in each column of time: the figures from which a timeline is painted.

A column gets shares, not the activity that happened to be drawn last, so that short activities do not hide behind long
ones. Segments are processed a million at a time, so that memory does not grow with their number.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from clue.report.shared.scale import Window
from clue.result import Activity, Timeline

Shares = npt.NDArray[np.float64]

#: Segments processed at a time.
_AT_A_TIME = 1 << 20
#: Least visible change of a share from one column to the next.
_SEEN = 0.1
#: Columns that share a mean where activities alternate too fast to be seen; such a stretch has at least twice as many.
AVERAGED = 48
#: Number of changes of direction (from rising to falling, or back) around a column from which the eye cannot follow.
_TURNS = 16
#: Columns without a change of direction that are visible by themselves.
_VISIBLE = 24


def shares(
    timeline: Timeline, kinds: npt.NDArray[np.intp], bands: npt.NDArray[np.intp], window: Window, columns: int
) -> Shares:
    """Return the share that each kind of activity has of each column of each band.

    Args:
        timeline: The timeline of all ranks.
        kinds: Index of the kind, by activity and region, from 0; shape (activities, regions).
        bands: Index of the band of each rank, from 0; negative for a rank in no band. Each band has at least one rank.
        window: The interval that the columns divide.
        columns: Number of equal columns.

    Returns:
        Means over the ranks of a band, shape (bands, columns, kinds). The remainder to 1 is the time after ranks have
        ended.
    """
    shape = (int(bands.max(initial=-1)) + 1, columns + 1, int(kinds.max(initial=-1)) + 1)
    whole, borders = np.zeros(np.prod(shape)), np.zeros(np.prod(shape))
    scale = columns / window.length if window.length > 0 else 0.0
    for part in _parts(timeline, bands, window):
        begin, end = (np.clip((part[each] - window.begin) * scale, 0.0, columns) for each in ("begin", "end"))
        first, last = (np.minimum(each.astype(np.intp), columns - 1) for each in (begin, end))
        row, kind = bands[part["rank"]] * shape[1], kinds[part["activity"], part["region"]]
        here, there = (row + first) * shape[2] + kind, (row + last) * shape[2] + kind
        # A segment covers its first column from its start on, then whole columns, and its last one up to its end:
        # as if it covered the whole of [first, last), corrected at both borders.
        whole += np.bincount(here, minlength=whole.size)
        whole -= np.bincount(there, minlength=whole.size)
        borders += np.bincount(there, end - last, whole.size)
        borders -= np.bincount(here, begin - first, whole.size)
    covered = np.cumsum(whole.reshape(shape), axis=1) + borders.reshape(shape)
    ranks = np.bincount(bands[bands >= 0], minlength=shape[0])
    found: Shares = np.clip(covered[:, :columns] / ranks[:, None, None], 0.0, 1.0)
    return found


def _parts(timeline: Timeline, bands: npt.NDArray[np.intp], window: Window) -> Iterator[npt.NDArray[np.void]]:
    segments = timeline.segments
    for start in range(0, len(segments), _AT_A_TIME):
        part = segments[start : start + _AT_A_TIME]
        yield part[(bands[part["rank"]] >= 0) & (part["end"] > window.begin) & (part["begin"] < window.end)]


def seconds_by_kind(timeline: Timeline) -> npt.NDArray[np.float64]:
    """Return the seconds of each activity in each region, over all ranks, shape (activities, regions)."""
    shape = (len(Activity), max(len(timeline.regions), 1))
    found = np.zeros(shape[0] * shape[1])
    for start in range(0, len(timeline.segments), _AT_A_TIME):
        part = timeline.segments[start : start + _AT_A_TIME]
        key = part["activity"].astype(np.intp) * shape[1] + part["region"]
        found += np.bincount(key, part["end"] - part["begin"], found.size)
    return found.reshape(shape)


def averaged(found: Shares) -> tuple[Shares, npt.NDArray[np.bool_]]:
    """Replace columns between which activities alternate too fast to be seen by their mean.

    Visible stretches are unchanged, and so is the time of each activity in each band.

    Args:
        found: Shares, shape (bands, columns, kinds).

    Returns:
        The shares, and where they are means; shape (bands, columns).
    """
    smooth, where = found.copy(), np.zeros(found.shape[:2], bool)
    for band, of in enumerate(found):
        starts = [np.arange(len(of))]
        for begin, end in _restless(of):
            where[band, begin:end] = True
            starts.append(np.linspace(begin, end, round((end - begin) / AVERAGED), endpoint=False).astype(np.intp))
        starts[0] = starts[0][~where[band]]
        begins = np.sort(np.concatenate(starts))
        lengths = np.diff(np.append(begins, len(of)))
        smooth[band] = np.repeat(np.add.reduceat(of, begins, axis=0) / lengths[:, None], lengths, axis=0)
    return smooth, where


def _restless(of: npt.NDArray[np.float64]) -> Iterator[tuple[int, int]]:
    """Yield the stretches of a band's columns in which activities alternate too fast for the eye."""
    if len(of) < 2 * AVERAGED:
        return
    change = np.diff(of, axis=0)
    # A share counts as rising or falling until it visibly changes direction.
    last = np.maximum.accumulate(np.where(np.abs(change) > _SEEN, np.arange(len(change))[:, None], 0), axis=0)
    way = np.sign(np.take_along_axis(change, last, axis=0))
    turns = np.zeros(len(of), bool)
    turns[1:-1] = (way[1:] * way[:-1] < 0).any(axis=1)
    around = np.ones(AVERAGED)
    restless = np.convolve(np.convolve(turns, around, "same") >= _TURNS, around, "same") > 0
    lengths = np.diff(np.concatenate(([0], np.flatnonzero(turns), [len(of)])))
    restless &= np.repeat(lengths < _VISIBLE, lengths)
    ends = np.concatenate(([0], np.flatnonzero(np.diff(restless)) + 1, [len(of)])).tolist()
    yield from ((begin, end) for begin, end in pairwise(ends) if restless[begin] and end - begin >= 2 * AVERAGED)
