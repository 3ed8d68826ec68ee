"""Operations that a program declares in its regions, at a target, from those of smaller recordings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clue.extrapolation.family import Family
from clue.models import fit

#: Operations of all ranks, and the ends of an interval, by region, flop.
Operations = Mapping[str, tuple[float, float, float]]


def operations(family: Family, size: int, ranks: int) -> Operations:
    """Return the operations of each region at a target; without a region if no recording declares any.

    The mean of the ranks is fitted over size and ranks as bursts are. Operations have no noise, so that the right sum
    of terms fits them exactly and has nearly all the weight.
    """
    runs = [(each.size, each.ranks, each.typical.flops()) for each in family.recordings]
    features = {"n": [size for size, *_ in runs], "P": [count for _, count, _ in runs]}
    found = {}
    for region in sorted({region for *_, declared in runs for region in declared}):
        means = [declared.get(region, (0.0, 0.0))[0] / count for _, count, declared in runs]
        mean, low, high = (float(each[0]) for each in fit(features, means).predict({"n": [size], "P": [ranks]}))
        found[region] = (ranks * mean, ranks * low, ranks * high)
    return found


def remarks_on(found: Operations) -> Iterator[str]:
    """Yield a caveat for each region."""
    for region, (mean, low, high) in found.items():
        yield f"operations declared in region {region} are extrapolated: {mean:.4g} flop ({low:.3g} to {high:.3g})"


def remarks_on_loops(family: Family) -> Iterator[str]:
    """Yield a caveat if loops are replayed, whose bursts are drawn in the replay and give no speed of the host."""
    declared = sorted({region for each in family.recordings for region in each.typical.flops()})
    if declared:
        yield (
            f"operations declared in region {', '.join(declared)} are not extrapolated, as the program is replayed as "
            "loops: performance factors apply there, not speeds by region"
        )
