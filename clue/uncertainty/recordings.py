"""Several recordings of one program: its typical bursts, and how much they differ from run to run.

Of recordings that made the same calls, burst i of run j is taken to be ``typical_i · exp(c_j + e_ij)``: c belongs to
the run (another clock frequency, other neighbours on the computer), e to the burst. A burst's noise is measured where
it matters: deviations are weighted by how long bursts take, so the large relative ones of microseconds do not pass for
those of seconds. Recordings that made other calls (how often a Test found nothing) are compared by their totals alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from clue.errors import UsageError
from clue.trace import Trace
from clue.uncertainty.bursts import BurstNoise

Doubles = npt.NDArray[np.float64]


def typical_recording(traces: Sequence[Trace]) -> Trace:
    """Return the first of several recordings, with the median of each burst if all made the same calls.

    Raises:
        UsageError: If they are not of one program at one number of ranks.
    """
    first = traces[0]
    _check(traces)
    if len(traces) == 1 or not _same_calls(traces):
        return first
    bursts = np.median([trace.ops.cpu for trace in traces], axis=0)
    # What took time in any recording takes some.
    ever = np.any([trace.ops.cpu > 0 for trace in traces], axis=0)
    cpu = np.where(ever, np.maximum(np.rint(bursts), 1), 0).astype(np.int64)
    return replace(first, ops=replace(first.ops, cpu=cpu))


def noise_of_recordings(traces: Sequence[Trace]) -> BurstNoise | None:
    """Return how much the bursts of several recordings of one program differ, by region; ``None`` for a single one.

    Raises:
        UsageError: If they are not of one program at one number of ranks.
    """
    _check(traces)
    if len(traces) < 2:
        return None
    regions = traces[0].head.regions
    aligned = _same_calls(traces)
    single, common = {}, {}
    for region in regions:
        bursts = [trace.ops.cpu[trace.ops.region == _number(trace, region)].astype(np.float64) for trace in traces]
        each = _single_variance(np.array(bursts)) if aligned else 0.0
        single[region] = float(np.sqrt(each))
        common[region] = float(np.sqrt(_common_variance(bursts, each)))
    return BurstNoise(single, common, len(traces))


def _number(trace: Trace, region: str) -> int:
    return trace.head.regions.index(region) if region in trace.head.regions else -1


def _check(traces: Sequence[Trace]) -> None:
    for trace in traces[1:]:
        if trace.ranks != traces[0].ranks:
            raise UsageError(
                f"{trace.name}: repeated recording must have {traces[0].ranks} ranks like {traces[0].name}, "
                f"got {trace.ranks}"
            )


def _same_calls(traces: Sequence[Trace]) -> bool:
    first = traces[0]
    return all(
        trace.head.offsets == first.head.offsets
        and trace.head.regions == first.head.regions
        and np.array_equal(trace.ops.op, first.ops.op)
        and np.array_equal(trace.ops.region, first.ops.region)
        for trace in traces[1:]
    )


def _single_variance(bursts: Doubles) -> float:
    """Return the variance of a burst's logarithm about its run and its typical value; bursts by run and burst."""
    bursts = bursts[:, (bursts > 0).all(axis=0)]
    runs, count = bursts.shape
    if count < 2:
        return 0.0
    logs, weights = np.log(bursts), bursts.mean(axis=0)
    weights = weights / weights.sum()
    left = logs - logs.mean(axis=0)
    left -= (left @ weights)[:, None]
    # Of the runs' deviations one is given away for the burst's own mean, and a burst's weight for the run's.
    shares = 1 - weights
    return float((left**2 * weights).sum() / ((runs - 1) * max((weights * shares).sum(), 1e-300)))


def _common_variance(bursts: Sequence[Doubles], single: float) -> float:
    """Return the variance of what a run's bursts have in common: of their totals, less what single ones explain."""
    totals = np.array([each.sum() for each in bursts])
    if (totals <= 0).any():
        return 0.0
    shares = bursts[0] / totals[0]
    explained = single * float((shares**2).sum())
    return max(float(np.log(totals).var(ddof=1)) - explained, 0.0)
