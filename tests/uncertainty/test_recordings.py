"""What repeated recordings say, against recordings that were drawn with known noise."""

from __future__ import annotations

import math

import numpy as np
import pytest

from clue.errors import UsageError
from clue.trace import Trace, TraceBuilder
from clue.uncertainty import noise_of_recordings, typical_recording


def recording(*seconds: float, region: str = "", ranks: int = 1, more: int = 0) -> Trace:
    """Return a recording of one rank that computes these bursts, of ``ranks``; ``more`` calls without computation."""
    trace = TraceBuilder(ranks)
    for each in seconds:
        trace[0].compute(each, region)
        trace[0].send(-2, 0)
    for _ in range(more):
        trace[0].send(-2, 0)
    return trace.build()


def test_a_single_recording_is_itself_and_says_nothing_of_noise() -> None:
    """There is nothing to compare it with."""
    trace = recording(1.0, 2.0)
    assert typical_recording([trace]) is trace
    assert noise_of_recordings([trace]) is None


def test_each_burst_takes_its_median() -> None:
    """Whichever recording has it; a burst that was there in one recording stays one."""
    recordings = [recording(1.0, 6.0, 0.0), recording(3.0, 4.0, 0.0), recording(2.0, 5.0, 1.0)]
    assert typical_recording(recordings).ops.cpu.tolist() == [2_000_000_000, 5_000_000_000, 1]


def test_what_runs_have_in_common_and_what_bursts_have_alone_are_told_apart() -> None:
    """Twenty runs of 2000 bursts whose logarithms deviate by 0.05 together and by 0.2 each."""
    random = np.random.default_rng(3)
    typical = random.uniform(0.5, 1.5, 2000)
    together = 0.05 * random.standard_normal(20)
    each = 0.2 * random.standard_normal((20, 2000))
    noise = noise_of_recordings([recording(*row) for row in typical * np.exp(together[:, None] + each)])
    assert noise is not None
    assert noise.recordings == 20
    assert noise.single[""] == pytest.approx(0.2, rel=0.03)
    # 19 degrees of freedom: five standard errors of a deviation, and what single bursts leave in the totals.
    assert noise.common[""] == pytest.approx(float(together.std(ddof=1)), rel=0.1)


def test_independent_bursts_have_nothing_in_common() -> None:
    """What single bursts explain of the totals is not counted twice: little is left of 0.2 / sqrt(400) at most."""
    random = np.random.default_rng(4)
    noise = noise_of_recordings([recording(*np.exp(0.2 * random.standard_normal(400))) for _ in range(20)])
    assert noise is not None
    assert noise.common[""] < 0.01


def test_long_bursts_count_more_than_short_ones() -> None:
    """Of bursts of 1 s that are steady and such of 1 us that double, the noise is that of the steady ones."""
    random = np.random.default_rng(5)
    long = np.exp(0.01 * random.standard_normal((6, 50)))
    short = 1e-6 * np.exp(math.log(2) * random.standard_normal((6, 50)))
    noise = noise_of_recordings([recording(*row) for row in np.concatenate([long, short], axis=1)])
    assert noise is not None
    assert noise.single[""] < 0.02


def test_regions_have_noise_of_their_own() -> None:
    """One region takes 1 s in both recordings, the other 1 s and e² s: deviations of 0 and of sqrt(2)."""
    recordings = []
    for seconds in (1.0, math.exp(2)):
        trace = TraceBuilder(1)
        for region, time in (("steady", 1.0), ("wild", seconds)):
            trace[0].compute(time, region)
            trace[0].send(-2, 0)
        recordings.append(trace.build())
    noise = noise_of_recordings(recordings)
    assert noise is not None
    assert noise.common["steady"] == 0.0
    assert noise.common["wild"] == pytest.approx(math.sqrt(2), rel=1e-6)


def test_recordings_that_made_other_calls_are_compared_by_their_totals() -> None:
    """One polled once more: the first's bursts are kept, and totals of 1 s and e s deviate by 1 / sqrt(2)."""
    recordings = [recording(1.0), recording(math.e, more=1)]
    noise = noise_of_recordings(recordings)
    assert noise is not None
    assert typical_recording(recordings) is recordings[0]
    assert noise.single[""] == 0.0
    assert noise.common[""] == pytest.approx(1 / math.sqrt(2), rel=1e-6)


def test_recordings_must_be_of_as_many_ranks() -> None:
    """What another number of ranks did says nothing of this one."""
    with pytest.raises(UsageError, match="must have 1 ranks like"):
        noise_of_recordings([recording(1.0), recording(1.0, ranks=2)])
