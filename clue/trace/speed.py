"""The speed of the host while it recorded a program, and the program's bursts at the host's best speed.

A host's speed varies, for instance because other processes use the second hardware thread of a core, or the memory.
Beside its ops, a rank may leave *readings*: the CPU time of two fixed pieces of work at a moment, one of them bound by
the core and one by memory. Bursts in a trace are raw. Simulations replay

    burst ÷ (slowdown of the core's piece at that moment) ^ RESPONSE

rounded to whole ns; a burst that took time takes at least 1 ns. Here

- the *reading at a moment* is interpolated between readings, each replaced by the median of :data:`WINDOW` readings:
  those around it, or at the ends the first or last ones, so that an outlier never counts. If there are fewer, it is the
  median of all, and of an even number the lower one, because disturbances only make readings longer; fewer than
  :data:`FEWEST` do not count. Interpolation is linear in the logarithms; before the first and after the last reading,
  the value is constant. The moment of a burst is its middle.
- the *best* is the time of a piece on the undisturbed host, from the head of the trace.
- the *slowdown* is the reading ÷ the best, unless it is small: a program's own ranks and messages make readings longer,
  too, on a host that does nothing else. Up to :data:`USUAL` it counts as 1, from the square of this on in full, and
  between them it is linear in the logarithms.

The memory's piece does not count here: the effect of the program itself on the caches makes it up to 1.4 times as long
on a quiet host, and neighbours that stream through memory hardly more (benchmarks/accuracy/host_speed.md).

Both pieces count in the *response* of a region's bursts. The response to a piece is the exponent with which the
slowdown of the piece enters that of the bursts: 1 if they slow down as much as the piece, 0 if not at all. It follows
from several recordings of the same run, namely from how much longer a rank computed when pieces took longer. For each
region there is one equation per rank and recording, with a standard error of :data:`MISSED`. The prior is
:data:`PRIOR` with a standard deviation of :data:`UNKNOWN`. The most likely response has a closed form (ridge
regression).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from clue.trace.columns import Ops
from clue.trace.head import Head
from clue.trace.pieces import PIECES

Doubles = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]

#: Number of readings in the window of the running median; and minimum number of a rank's readings that count, so that
#: none of them decides alone.
WINDOW, FEWEST = 9, 3
#: Exponent with which the slowdown of the core's piece enters that of a burst. Measured:
#: benchmarks/accuracy/host_speed.md.
RESPONSE = 0.7
#: Prior of the response to each piece, if both count: its mean and its standard deviation over programs.
PRIOR, UNKNOWN = np.array([0.4, 0.5]), np.array([0.25, 0.2])
#: Assumed standard error of an equation (in logarithms). The error of single recordings is 0.05, but its causes are
#: common to all ranks and slow the readings, too: with 0.05, three recordings of Cholesky were worse than without.
MISSED = 0.2
#: Time of the pieces beside the ranks of a program on an otherwise quiet host, relative to the best time. Measured:
#: benchmarks/accuracy/host_speed.md.
USUAL = np.array([1.15, 1.2])
#: Quantile of a recording's readings that counts as its best.
BEST = 0.1
_MOST = 5.0
_CORE = PIECES.index("core")


class Recording(Protocol):
    """The parts of a :class:`clue.trace.Trace` used here; the trace itself gets its bursts from this module."""

    @property
    def head(self) -> Head: ...  # noqa: D102
    @property
    def ops(self) -> Ops: ...  # noqa: D102
    @property
    def readings(self) -> Longs: ...  # noqa: D102


def best_of(readings: Sequence[Longs]) -> tuple[float, float]:
    """Return the best time of each piece in a recording, seconds; 0 for a piece that was never done.

    Args:
        readings: The readings of each rank, shape (readings, 1 + pieces).
    """
    smooth = [_smooth(each[:, 1:]) for each in readings if len(each)]
    if not smooth:
        return 0.0, 0.0
    core, memory = np.concatenate(smooth).T
    return _best(core), _best(memory)


def _best(times: Doubles) -> float:
    """Return the best time of a piece, seconds, from its readings; those of ranks that do not do it are 0."""
    done = times[times > 0]
    return float(np.quantile(done, BEST)) * 1e-9 if len(done) else 0.0


def slowdowns(trace: Recording) -> Doubles:
    """Return the slowdown of each piece at each burst, logarithms, shape (ops, pieces)."""
    logs = _against_best(trace)
    found: Doubles = _counting(logs, np.log(USUAL))
    return found


def longer_by(reading: float, best: float) -> float:
    """Return how much longer bursts take while the core's piece takes as long as a reading, relative to its best time.

    Without a best time it is 1.
    """
    log = np.log(max(reading / best, 1.0)) if best else 0.0
    return float(np.exp(RESPONSE * _counting(log, np.log(USUAL[_CORE]))))


def _counting(logs: Any, usual: Any) -> Any:
    """Return the slowdowns that count, as logarithms, from readings divided by the best."""
    return np.clip(2 * (logs - usual), 0.0, logs)


def _against_best(trace: Recording) -> Doubles:
    """Return the readings at each burst divided by the best, logarithms, shape (ops, pieces)."""
    found = np.zeros((len(trace.ops), len(PIECES)))
    probe = trace.head.probe
    if probe is None:
        return found
    best = np.array(probe.best) * 1e9
    for of_rank, of_readings in zip(pairwise(trace.head.offsets), pairwise(probe.offsets), strict=True):
        rows, readings = slice(*of_rank), trace.readings[slice(*of_readings)]
        if len(readings) >= FEWEST:
            middle = trace.ops.begin[rows] - trace.ops.cpu[rows] / 2
            for piece, logs in enumerate(_logs(_smooth(readings[:, 1:]), best).T):
                found[rows, piece] = np.interp(middle, readings[:, 0], logs)
    return found


def normalised(trace: Recording) -> Longs:
    """Return the time of each burst at the host's best speed, ns, or its recorded time if there are no readings."""
    if trace.head.probe is None:
        return trace.ops.cpu
    longer = np.exp(RESPONSE * slowdowns(trace)[:, _CORE])
    bursts: Longs = np.maximum(np.rint(trace.ops.cpu / longer), trace.ops.cpu > 0).astype(np.int64)
    return bursts


def fitted_response(traces: Sequence[Recording]) -> dict[str, tuple[float, ...]]:
    """Return each region's response, fitted to recordings of the same run; empty if none has readings."""
    if all(trace.head.probe is None for trace in traces):
        return {}
    logs = [slowdowns(trace) for trace in traces]
    return {region: _response(traces, logs, region) for region in traces[0].head.regions}


def _response(traces: Sequence[Recording], logs: Sequence[Doubles], region: str) -> tuple[float, ...]:
    levels = [_levels(trace, each, region) for trace, each in zip(traces, logs, strict=True)]
    took, longer = np.array([level[0] for level in levels]), np.array([level[1] for level in levels])
    there = (took > 0).all(axis=0)  # shape (ranks,)
    weights = took[:, there].sum(axis=0)
    if not there.any():
        return tuple(PRIOR.tolist())
    share = np.tile(weights / weights.mean(), len(traces))
    y = np.log(took[:, there])
    y, x = (y - y.mean(axis=0)).ravel(), (longer[:, there] - longer[:, there].mean(axis=0)).reshape(-1, len(PIECES))
    precision = np.diag(UNKNOWN**-2.0)
    normal = (x.T * share) @ x / MISSED**2 + precision
    response = np.linalg.solve(normal, (x.T * share) @ y / MISSED**2 + precision @ PRIOR)
    return tuple(np.clip(response, 0.0, _MOST).tolist())


def _levels(trace: Recording, logs: Doubles, region: str) -> tuple[Doubles, Doubles]:
    """Return each rank's computation in a region, ns, and the mean slowdown of the pieces meanwhile, logarithms."""
    regions = trace.head.regions
    inside = trace.ops.region == (regions.index(region) if region in regions else -1)
    cpu = np.where(inside, trace.ops.cpu, 0).astype(np.float64)
    sums = np.concatenate([np.zeros((1, 1 + len(PIECES))), np.cumsum(np.c_[cpu, logs * cpu[:, None]], axis=0)])
    of_ranks = np.diff(sums[list(trace.head.offsets)], axis=0)
    return of_ranks[:, 0], of_ranks[:, 1:] / np.maximum(of_ranks[:, :1], 1.0)


def speeds(trace: Recording) -> dict[str, tuple[float, float]]:
    """Return the range of the host's speed in each piece during bursts, relative to the best; empty without readings.

    The range is that of the 5 % and 95 % quantiles over the CPU time of bursts.
    """
    spent = trace.ops.cpu
    if trace.head.probe is None or not spent.any():
        return {}
    return {piece: _middle(np.exp(-logs), spent) for piece, logs in zip(PIECES, _against_best(trace).T, strict=True)}


def _middle(values: Doubles, weights: Longs) -> tuple[float, float]:
    order = np.argsort(values)
    up_to = np.cumsum(weights[order]) / weights.sum()
    at = np.minimum(np.searchsorted(up_to, (0.05, 0.95)), len(order) - 1)
    low, high = values[order][at].tolist()
    return low, high


def _smooth(columns: Longs) -> Doubles:
    """Return the running median of the readings, in windows that lie within them; the lower of two middle values."""
    width = min(WINDOW, len(columns))
    windows = np.lib.stride_tricks.sliding_window_view(columns, width, axis=0)
    medians = np.partition(windows, (width - 1) // 2, axis=-1)[..., (width - 1) // 2]
    before = min(WINDOW // 2, len(columns) - len(medians))
    after = len(columns) - len(medians) - before
    return np.pad(medians.astype(np.float64), ((before, after), (0, 0)), mode="edge")


def _logs(smooth: Doubles, best: Doubles) -> Doubles:
    """Return the logarithms of readings divided by the best; 0 where either is unknown."""
    known = (smooth > 0) & (best > 0)
    ratio = np.divide(smooth, best, out=np.ones_like(smooth), where=known)
    return np.log(np.maximum(ratio, 1.0))
