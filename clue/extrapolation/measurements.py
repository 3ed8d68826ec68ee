"""Measurements of recordings for users who fit their own models: CPU time, calls and bytes sent by place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath

import numpy as np
import numpy.typing as npt

from clue.extrapolation.family import Family
from clue.formats.extrap import Measurement
from clue.trace import Op, Trace
from clue.trace.sites import Site
from clue.uncertainty.recordings import normalised_bursts

#: Metrics, each the mean over ranks: CPU seconds of bursts before calls, calls, and the bytes that ranks send in these.
TIME, CALLS, BYTES = "time", "calls", "bytes"
_ROOT = "main"


def measurements_of(family: Family) -> Iterator[Measurement]:
    """Yield the measurements of each recording for each call path; 0 for a path that the recording does not contain."""
    totals = {each: list(map(_totals, each.traces, normalised_bursts(each.traces))) for each in family.recordings}
    found = sorted({key for each in totals.values() for total in each for key in total})
    for each, repeats in totals.items():
        params = {"size": each.size, "ranks": each.ranks}
        for callpath, metric in found:
            values = tuple(total.get((callpath, metric), 0.0) for total in repeats)
            yield Measurement(params, callpath, metric, values)


def _totals(trace: Trace, bursts: npt.NDArray[np.int64]) -> dict[tuple[str, str], float]:
    """Return a trace's totals by call path and metric, each divided by the number of ranks; its bursts are in ns."""
    ops = trace.ops
    made = ops.are_first() & ~ops.are(Op.COMPUTE)
    metrics = {TIME: bursts * 1e-9, CALLS: made, BYTES: trace.sent}
    found: dict[tuple[str, str], float] = {}
    paths = [_path(site) for site in trace.head.sites]
    for metric, values in metrics.items():
        sums = np.bincount(ops.site, weights=values, minlength=len(paths)) / trace.ranks
        found[_ROOT, metric] = float(sums.sum())
        for path, total in zip(paths, sums.tolist(), strict=True):
            if path != _ROOT:
                found[path, metric] = found.get((path, metric), 0.0) + total
    return found


def _path(site: Site) -> str:
    """Return a call path as files and lines; the path of the unknown site is the whole program."""
    return "->".join([_ROOT, *(f"{PurePath(each.file).name}:{each.line}" for each in site.frames)])
