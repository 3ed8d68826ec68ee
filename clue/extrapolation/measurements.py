"""What recordings measured, for those who fit models of their own: CPU time, calls and bytes by call."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from clue.extrapolation.family import Family
from clue.formats.extrap import Measurement
from clue.trace import Flag, Trace

#: Metrics, each the mean over ranks: CPU seconds of bursts before calls, calls, bytes handed to calls.
TIME, CALLS, BYTES = "time", "calls", "bytes"


def measurements_of(family: Family) -> Iterator[Measurement]:
    """Yield what each recording measured of each call path; what it never called took nothing."""
    totals = {each: [_totals(trace) for trace in each.traces] for each in family.recordings}
    found = sorted({key for each in totals.values() for total in each for key in total})
    for each, repeats in totals.items():
        params = {"size": each.size, "ranks": each.ranks}
        for callpath, metric in found:
            values = tuple(total.get((callpath, metric), 0.0) for total in repeats)
            yield Measurement(params, callpath, metric, values)


def _totals(trace: Trace) -> dict[tuple[str, str], float]:
    """Return the totals of a trace by call path and metric, each divided by the number of ranks."""
    ops = trace.ops
    metrics = {TIME: trace.bursts * 1e-9, CALLS: (ops.flags & Flag.CONTINUED) == 0, BYTES: ops.nbytes}
    found: dict[tuple[str, str], float] = {}
    for metric, values in metrics.items():
        sums = np.bincount(ops.call, weights=values, minlength=len(trace.head.calls)) / trace.ranks
        found["main", metric] = float(sums.sum())
        for call, total in zip(trace.head.calls, sums.tolist(), strict=True):
            found[f"main->{call}", metric] = found.get((f"main->{call}", metric), 0.0) + total
    return found
