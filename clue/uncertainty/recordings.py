"""Several recordings of one program: its typical bursts, and their variation from run to run.

If recordings have the same calls, the bursts of a recording in a region have a common level, for instance because of
another clock frequency or other load on the computer. Single bursts deviate from this level. These deviations are
weighted by the length of bursts, so that the large relative deviations of bursts of microseconds do not count as those
of bursts of seconds. Recordings with different calls (for instance another number of unsuccessful Tests) are compared
only by their totals.

The repeats of an extrapolated trace are not recordings, but the ends of an interval that contains four of five levels.

If readings show how fast the host was, bursts are those at its best speed (:mod:`clue.trace.speed`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath

import numpy as np
import numpy.typing as npt

from clue.errors import UsageError
from clue.trace import Trace
from clue.trace.head import EXTRAPOLATED, Typical
from clue.trace.speed import normalised
from clue.uncertainty.bursts import BurstNoise
from clue.uncertainty.spread import TAIL

Doubles = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]


def normalised_bursts(traces: Sequence[Trace]) -> list[Longs]:
    """Return the bursts of several recordings of one run at the best speed of their host, ns."""
    if len(traces) == 1:
        return [traces[0].bursts]
    return [normalised(trace) for trace in traces]


def typical_recording(traces: Sequence[Trace]) -> Trace:
    """Return a recording with the median of each burst; if calls differ, the recording with median computation.

    The header of a recording with medians states the number of recordings and their variation.

    Raises:
        UsageError: If they are not of one program at one number of ranks.
    """
    _check(traces)
    if len(traces) == 1:
        return traces[0]
    bursts = normalised_bursts(traces)
    computing = [int(each.sum()) for each in bursts]
    if not same_calls(traces):
        return traces[sorted(range(len(traces)), key=computing.__getitem__)[(len(traces) - 1) // 2]]
    medians = np.median(bursts, axis=0)
    # A burst that is nonzero in any recording stays nonzero.
    ever = np.any([each > 0 for each in bursts], axis=0)
    cpu = np.where(ever, np.maximum(np.rint(medians), 1), 0).astype(np.int64)
    return _with_typical(traces[0], cpu, computing)


def _with_typical(trace: Trace, bursts: Longs, computing: Sequence[int]) -> Trace:
    middle = float(np.median(computing))
    spread = (max(computing) - min(computing)) / 2 / middle if middle else 0.0
    return replace(trace, head=replace(trace.head, typical=Typical(len(computing), spread)), typical=bursts)


def noise_of_recordings(traces: Sequence[Trace]) -> BurstNoise | None:
    """Return the variation between the bursts of several recordings of one program; ``None`` for a single recording.

    Raises:
        UsageError: If they are not of one program at one number of ranks.
    """
    _check(traces)
    if len(traces) < 2:
        return None
    aligned, bursts = same_calls(traces), normalised_bursts(traces)
    if all(trace.head.clock == EXTRAPOLATED for trace in traces):
        return _between_ends(traces, bursts)
    single, common = {}, {}
    levels: list[dict[str, float]] = [{} for _ in traces]
    for region in traces[0].head.regions:
        of_ranks = np.array([_totals_of_ranks(*each, region) for each in zip(traces, bursts, strict=True)])
        totals = of_ranks.sum(axis=1)
        if (totals <= 0).any():
            continue
        logs = np.log(totals)
        variance = float(logs.var(ddof=1))
        if aligned:
            level = logs - logs.mean()
            for each, value in zip(levels, level, strict=True):
                each[region] = float(value)
            variance -= _explained(of_ranks / np.exp(level)[:, None])
            inside = traces[0].ops.region == _number(traces[0], region)
            single[region] = float(np.sqrt(_single_variance(np.array(bursts, np.float64)[:, inside])))
        common[region] = float(np.sqrt(max(variance, 0.0)))
    if not aligned:
        return BurstNoise(common, len(traces))
    return BurstNoise(common, len(traces), tuple(bursts), tuple(levels), single)


def _between_ends(traces: Sequence[Trace], bursts: Sequence[Longs]) -> BurstNoise:
    """Return the variation of an extrapolated trace: its repeats are the ends, where all ranks are short or long."""
    common = {}
    for region in traces[0].head.regions:
        totals = [float(_totals_of_ranks(*each, region).sum()) for each in zip(traces, bursts, strict=True)]
        if min(totals) > 0:
            common[region] = float(np.log(max(totals) / min(totals))) / (2 * TAIL)
    return BurstNoise(common, len(traces), estimated=False)


def _totals_of_ranks(trace: Trace, bursts: Longs, region: str) -> Doubles:
    """Return the computation of each rank in a region, ns, shape (ranks,)."""
    cpu = np.where(trace.ops.region == _number(trace, region), bursts, 0)
    up_to: Doubles = np.concatenate([[0], np.cumsum(cpu)])[list(trace.head.offsets)].astype(np.float64)
    totals: Doubles = np.diff(up_to)
    return totals


def _explained(of_ranks: Doubles) -> float:
    """Return the variance of the total's logarithm if each rank has any recording's, shape (recordings, ranks)."""
    return float(of_ranks.var(axis=0).sum() / of_ranks.sum(axis=1).mean() ** 2)


def _number(trace: Trace, region: str) -> int:
    return trace.head.regions.index(region) if region in trace.head.regions else -1


def _check(traces: Sequence[Trace]) -> None:
    first = traces[0]
    for i, trace in enumerate(traces[1:], 1):
        for what, wanted, got in (
            ("ranks", first.ranks, trace.ranks),
            ("program", PurePath(first.head.program).name, PurePath(trace.head.program).name),
            ("arguments", " ".join(first.head.arguments), " ".join(trace.head.arguments)),
        ):
            if got != wanted:
                raise UsageError(
                    f"{trace.name}: {what} of a repeated recording must be {wanted or 'none'}, as of {first.name}, "
                    f"got {got or 'none'}"
                )
        if trace.head.clock == EXTRAPOLATED:  # the ends of a narrow interval may be equal in whole ns
            continue
        if any(np.array_equal(trace.ops.cpu, other.ops.cpu) and trace.ops.cpu.any() for other in traces[:i]):
            raise UsageError(f"{trace.name}: repeated recording must be another one, got the same bursts twice")


def same_calls(traces: Sequence[Trace]) -> bool:
    """Tell whether recordings made the same calls, so that their bursts correspond one to one."""
    first = traces[0]
    return all(
        trace.head.offsets == first.head.offsets
        and trace.head.regions == first.head.regions
        and np.array_equal(trace.ops.op, first.ops.op)
        and np.array_equal(trace.ops.region, first.ops.region)
        for trace in traces[1:]
    )


def _single_variance(bursts: Doubles) -> float:
    """Return the variance of bursts' logarithms about the run's level and their typical value, shape (runs, bursts)."""
    bursts = bursts[:, (bursts > 0).all(axis=0)]
    runs, count = bursts.shape
    if count < 2:
        return 0.0
    logs, weights = np.log(bursts), bursts.mean(axis=0)
    weights = weights / weights.sum()
    left = logs - logs.mean(axis=0)
    left -= (left @ weights)[:, None]
    # The burst's own mean takes one degree of freedom, and the run's level the burst's weight.
    shares = 1 - weights
    return float((left**2 * weights).sum() / ((runs - 1) * max((weights * shares).sum(), 1e-300)))
