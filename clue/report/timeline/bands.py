"""Groups of ranks that share a band of a timeline: ranks that do the same, those of a node, or neighbours.

A picture of a thousand ranks, or of sixty-four equal instances, is readable only if it shows fewer bands than there are
ranks. A label next to each band says what it represents.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

import numpy as np
import numpy.typing as npt

from clue.result import Result, Timeline

#: Largest number of bands of a picture; beyond it, the ranks of a node, or neighbouring ranks, share a band.
MOST_BANDS = 64
#: Number of bands into which neighbouring ranks are merged if there are too many.
_BLOCKS = 32
#: Largest difference of two times that counts as rounding, as a share of the makespan.
_ROUNDING = 1e-9

Ranks = Sequence[int]


@dataclass(frozen=True, slots=True)
class Band:
    """Ranks that share a band.

    Attributes:
        label: The label beside it.
        ranks: The ranks whose mean it shows.
    """

    label: str
    ranks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """The bands of a picture.

    Attributes:
        unit: What their labels refer to.
        bands: The bands from top to bottom.
        remark: A remark on the bands for the reader, or nothing.
        instances: The part of the remark on the instances that are shown, or nothing.
    """

    unit: str
    bands: tuple[Band, ...]
    remark: str = ""
    instances: str = ""

    def by_rank(self, ranks: int) -> npt.NDArray[np.intp]:
        """Return the band index of each rank, -1 if it has none."""
        found = np.full(ranks, -1, np.intp)
        for number, band in enumerate(self.bands):
            found[list(band.ranks)] = number
        return found


def layout(result: Result) -> Layout:
    """Decide which ranks of a result, which has a timeline, share a band."""
    assert result.timeline is not None
    groups = alike(result.timeline, len(result.ranks), result.makespan)
    instances = _instances(groups, result.instances)
    told = _about_instances(instances, result.instances)
    bands = tuple(band for copies, ranks in instances for band in _bands(copies, ranks, groups, result.instances))
    shown = [rank for _, ranks in instances for rank in ranks]
    if len(bands) > MOST_BANDS:
        unit, bands, remark = _merged(result, shown)
    else:
        unit, remark = "rank", "ranks that do the same at the same times share a band" * (len(bands) < len(shown))
    return Layout(unit, bands, "; ".join(filter(None, (told, remark))), told)


def sample(result: Result, of: Layout, count: int) -> Layout:
    """Return bands of a sample of single ranks, in the order of their waiting time."""
    ranks = sorted((rank for band in of.bands for rank in band.ranks), key=lambda rank: (result.ranks[rank].wait, rank))
    chosen = [ranks[i] for i in np.linspace(0, len(ranks) - 1, count).round().astype(int)]
    remark = f"{count} of {len(ranks):,} ranks, from the one that waits least to the one that waits most"
    return Layout("rank", tuple(Band(str(rank), (rank,)) for rank in chosen), remark)


# --- what is alike ---------------------------------------------------------------------------------------------------


def alike(timeline: Timeline, ranks: int, makespan: float) -> list[int]:
    """Return for each rank the index of one that does the same at the same times, up to rounding; maybe its own."""
    pieces = by_rank(timeline, ranks)
    found, tolerance = list(range(ranks)), _ROUNDING * makespan
    for members in _by_what(pieces).values():
        leader = members[0]
        # Sorted by their sums, equal ranks are neighbours, so each is compared once.
        for rank in sorted(members, key=lambda rank: float(pieces[rank]["end"].sum())):
            leader = leader if _same_times(pieces[leader], pieces[rank], tolerance) else rank
            found[rank] = leader
    return found


def by_rank(timeline: Timeline, ranks: int) -> list[npt.NDArray[np.void]]:
    """Return the segments of each rank."""
    first = np.searchsorted(timeline.segments["rank"], np.arange(ranks + 1)).tolist()
    return [timeline.segments[begin:end] for begin, end in pairwise(first)]


def _by_what(pieces: Sequence[npt.NDArray[np.void]]) -> dict[bytes, list[int]]:
    """Group ranks by their activities, whatever their times."""
    found: dict[bytes, list[int]] = {}
    for rank, piece in enumerate(pieces):
        digest = hashlib.blake2b(piece["activity"].tobytes())
        digest.update(piece["region"].tobytes())
        found.setdefault(digest.digest(), []).append(rank)
    return found


def _same_times(one: npt.NDArray[np.void], other: npt.NDArray[np.void], tolerance: float) -> bool:
    return all(float(np.abs(one[key] - other[key]).max(initial=0.0)) <= tolerance for key in ("begin", "end"))


def _instances(groups: Sequence[int], instances: int) -> list[tuple[list[int], Ranks]]:
    """Return the distinct instances: the indices of all that are alike, and the ranks of the first of them."""
    each = len(groups) // instances
    found: dict[tuple[int, ...], list[int]] = {}
    for number in range(instances):
        found.setdefault(tuple(groups[number * each : (number + 1) * each]), []).append(number)
    return [(copies, range(copies[0] * each, (copies[0] + 1) * each)) for copies in found.values()]


def _about_instances(found: Sequence[tuple[list[int], Ranks]], instances: int) -> str:
    if len(found) == instances:
        return ""
    if len(found) == 1:
        return f"{instances:,} instances, all alike: one shown"
    return f"{instances:,} instances, of which {len(found):,} differ: these are shown"


# --- what shares a band ----------------------------------------------------------------------------------------------


def _bands(copies: Sequence[int], ranks: Ranks, groups: Sequence[int], instances: int) -> Iterator[Band]:
    """Yield the bands of an instance: ranks that are alike share one. Ranks are numbered within the instance."""
    same: dict[int, list[int]] = {}
    for rank in ranks:
        same.setdefault(groups[rank], []).append(rank)
    which = "" if len(copies) == instances else f"instance {spans(copies)}, rank "
    for members in same.values():
        yield Band(which + spans([rank - ranks[0] for rank in members]), tuple(members))


def _merged(result: Result, shown: Ranks) -> tuple[str, tuple[Band, ...], str]:
    """Return bands of the ranks of a node if there are several nodes but not too many, else of neighbours."""
    nodes = sorted({result.ranks[rank].node for rank in shown})
    if 1 < len(nodes) <= MOST_BANDS:
        members: dict[int, list[int]] = {node: [] for node in nodes}
        for rank in shown:
            members[result.ranks[rank].node].append(rank)
        bands = tuple(Band(str(node), tuple(ranks)) for node, ranks in members.items())
        return "node", bands, "a band is the mean over the ranks of a node"
    blocks = [block.tolist() for block in np.array_split(np.array(shown), _BLOCKS)]
    remark = f"a band is the mean over {spans(sorted({len(block) for block in blocks}))} neighbouring ranks"
    return "ranks", tuple(Band(spans(block), tuple(block)) for block in blocks), remark


def spans(numbers: Sequence[int]) -> str:
    """Format rising numbers: ``"0–3, 7"``."""
    runs = [[number for _, number in run] for _, run in groupby(enumerate(numbers), lambda each: each[1] - each[0])]
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs)
