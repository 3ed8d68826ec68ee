"""What stands for computation: bursts, the mix of work, what pieces take."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle, islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clue.errors import UsageError
from clue.skeleton import kernels
from clue.skeleton.calibration import calibrated, calibrated_c
from clue.skeleton.work import MOST, UNKNOWN, characters, spread
from clue.trace import Op, Trace, TraceBuilder

BURSTS = st.lists(st.integers(0, 10**12), min_size=1, max_size=400)


@given(BURSTS)
def test_bursts_keep_their_sum(bursts: Sequence[int]) -> None:
    """However many there are: those that are done once more have the mean of as many more."""
    few = spread(bursts, seed=(1, 2))
    assert len(few) <= MOST
    assert sum(islice(cycle(few), len(bursts))) == pytest.approx(sum(bursts), rel=1e-12)


@given(BURSTS)
def test_bursts_keep_their_distribution(bursts: Sequence[int]) -> None:
    """Each quantile has its mean, so the order of quantiles and the range stay."""
    few = sorted(spread(bursts, seed=(0,)))
    assert min(bursts) <= few[0] * (1 + 1e-12)
    assert few[-1] <= max(bursts) * (1 + 1e-12)
    if len(bursts) > MOST and len(bursts) % MOST == 0 and len(few) == MOST:
        assert few == pytest.approx(np.sort(bursts).reshape(MOST, -1).mean(axis=1).tolist(), rel=1e-12)


def test_few_bursts_stay_as_they_are() -> None:
    """In their order."""
    assert spread([5, 1, 3], seed=(0,)) == (5.0, 1.0, 3.0)
    assert spread([7] * 100, seed=(0,)) == (7.0,)


def worked(flops: float = 0.0) -> Trace:
    """Return a trace with a region, and what it declares."""
    built = TraceBuilder(1, "app.py")
    built[0].compute(2.0, "solve")
    built[0].collective(Op.BARRIER)
    built.declare(0, region="solve", flops=flops)
    return built.build()


def test_a_region_is_what_is_stated_else_what_it_declares() -> None:
    """A mix for all regions gives way to one of a region; declared work of 1 Gflop/s and more is a core's."""
    assert characters(worked())["solve"].mix == UNKNOWN
    assert dict(UNKNOWN) == pytest.approx({"core": 4 / 9, "memory": 5 / 9})
    assert characters(worked(4e9))["solve"].mix == {"core": 1.0}
    assert characters(worked(1e9))["solve"].mix == {"memory": 1.0}
    assert characters(worked(4e9), ["cache"])["solve"].mix == {"cache": 1.0}
    stated = characters(worked(), ["cache", "solve=core:memory=0.6"])
    assert stated["solve"].mix == pytest.approx({"core": 0.6, "memory": 0.4})
    assert stated[""].mix == {"cache": 1.0}


@pytest.mark.parametrize("text", ["", "fast", "solve=", "solve=disk", "core:core=0.5", "core:memory=2", "core:memory"])
def test_a_mix_that_means_nothing_is_refused(text: str) -> None:
    """With what it may be."""
    with pytest.raises(UsageError, match="--work must be core, cache or memory"):
        characters(worked(), [text])


def test_a_region_that_is_not_there_is_refused() -> None:
    """With those that are."""
    with pytest.raises(UsageError, match=r"--work must name a region of the trace \(solve\), got setup"):
        characters(worked(), ["setup=core"])


def test_pieces_are_timed_where_a_recording_has_no_readings() -> None:
    """And that is said."""
    for found in (calibrated(worked()), calibrated_c(worked())):
        assert min(found.times.values()) > 0
        assert "no readings" in found.source


def test_whole_pieces_are_done_and_what_is_left_is_owed() -> None:
    """Of 0.4 pieces each, 40 of 100; below 0 nothing is done until it is made up for."""
    done: list[int] = []
    kernels.OWED[done.append] = 0.0
    try:
        bursts = cycle([((done.append, 0.4),)])
        for _ in range(100):
            kernels.compute(bursts)
        assert sum(done) == pytest.approx(40, abs=1)
        kernels.OWED[done.append] = -2.5
        done.clear()
        for _ in range(10):
            kernels.compute(cycle([((done.append, 1.0),)]))
        assert done == [0, 0, 0, 1, 1, 1, 1, 1, 1, 1]
    finally:
        del kernels.OWED[done.append]
