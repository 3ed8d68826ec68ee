"""The work that replaces computation: bursts, mixes of work, and the times of pieces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import cycle, islice
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clue.errors import UsageError
from clue.skeleton import kernels
from clue.skeleton.calibration import calibrated, calibrated_c
from clue.skeleton.lowering import lower
from clue.skeleton.work import UNKNOWN, characters, kept_of, most_of
from clue.trace import Op, Trace, TraceBuilder

BURSTS = st.lists(st.integers(0, 10**12), min_size=1, max_size=400)


@given(BURSTS, BURSTS)
def test_bursts_keep_their_sum(one: Sequence[int], other: Sequence[int]) -> None:
    """The kept bursts have the same sum as the originals on each rank, and are limited in number."""
    bursts = {3: one, 0: other}
    few = kept_of(bursts)
    assert list(few) == [3, 0]
    for rank, own in bursts.items():
        assert len(few[rank]) <= most_of(2)
        assert sum(islice(cycle(few[rank]), len(own))) == pytest.approx(sum(own), rel=1e-12)


def test_few_bursts_stay_as_they_are() -> None:
    """Few bursts are kept in order; equal bursts become one."""
    assert kept_of({0: [5, 1, 3], 7: [7] * 100}) == {0: (5.0, 1.0, 3.0), 7: (7.0,)}


@given(st.integers(2, 64), st.integers(3, 20), st.randoms(use_true_random=False))
def test_bursts_that_repeat_themselves_are_kept(period: int, times: int, random: Random) -> None:
    """Bursts that repeat with a period of up to 64, as in a multigrid cycle, are kept on each rank."""
    bursts = {
        rank: [float(random.randrange(1, 1000)) for _ in range(period)] * (64 // period + times) for rank in (0, 1)
    }
    for rank, few in kept_of(bursts).items():
        assert list(islice(cycle(few), len(bursts[rank]))) == pytest.approx(bursts[rank], rel=1e-9)


def test_bursts_of_ranks_stay_beside_each_other() -> None:
    """Two ranks are slow in turn; the kept bursts keep this, so one rank waits for the other in each iteration."""
    drawn = np.random.default_rng(1).uniform(1, 100, 1000)
    few = kept_of({0: drawn, 1: 101 - drawn})
    one, other = map(np.array, few.values())
    assert len(one) == len(other) > 30
    assert np.corrcoef(one, other)[0, 1] == pytest.approx(-1)
    assert np.std(one) == pytest.approx(np.std(drawn), rel=0.2)


def test_rare_bursts_are_spread() -> None:
    """If no typical stretch contains the rare burst, all bursts get the mean."""
    rare = [0] * 1000 + [500]
    assert kept_of({0: rare}) == {0: (500 / 1001,)}


def test_many_ranks_keep_fewer_bursts() -> None:
    """With more ranks fewer bursts are kept, so that the program stays readable."""
    assert [most_of(ranks) for ranks in (1, 32, 64, 128, 4096)] == [64, 64, 32, 16, 16]


def worked(flops: float = 0.0) -> Trace:
    """Return a trace with a region, which declares this many operations."""
    built = TraceBuilder(1, "app.py")
    built[0].compute(2.0, "solve")
    built[0].collective(Op.BARRIER)
    built.declare(0, region="solve", flops=flops)
    return built.build()


def test_a_region_is_what_is_stated_else_what_it_declares() -> None:
    """A mix stated for a region comes first, then one stated for all, then declared work.

    Declared work of 1 Gflop/s and more is core work, less is memory work.
    """
    assert characters(worked())["solve"].mix == UNKNOWN
    assert dict(UNKNOWN) == pytest.approx({"core": 4 / 9, "memory": 5 / 9})
    assert characters(worked(4e9))["solve"].mix == {"core": 1.0}
    assert characters(worked(1e9))["solve"].mix == {"memory": 1.0}
    assert characters(worked(4e9), ["cache"])["solve"].mix == {"cache": 1.0}
    stated = characters(worked(), ["cache", "solve=core:memory=0.6"])
    assert stated["solve"].mix == pytest.approx({"core": 0.6, "memory": 0.4})
    assert stated[""].mix == {"cache": 1.0}


def test_zero_operations_declare_nothing() -> None:
    """A region with zero operations, which other recorders may write, is as unknown as one without a declaration."""
    trace = worked(4e9)
    (rank,) = trace.head.rank_heads
    zero = replace(rank, flops=dict.fromkeys(rank.flops, 0.0))
    found = characters(replace(trace, head=replace(trace.head, rank_heads=(zero,))))["solve"]
    assert (found.mix, found.unsure) == (UNKNOWN, True)


@pytest.mark.parametrize("text", ["", "fast", "solve=", "solve=disk", "core:core=0.5", "core:memory=2", "core:memory"])
def test_a_mix_that_means_nothing_is_refused(text: str) -> None:
    """A mix that cannot be interpreted is refused with the valid forms."""
    with pytest.raises(UsageError, match="--work must be core, cache or memory"):
        characters(worked(), [text])


@pytest.mark.parametrize("stated", [["core", "memory"], ["solve=core", "solve=core"]])
def test_a_mix_is_stated_once(stated: list[str]) -> None:
    """Two mixes for the same region, or for all regions, are refused."""
    with pytest.raises(UsageError, match="--work must be stated once for each region and once for all, got "):
        characters(worked(), stated)


def test_a_region_that_is_not_there_is_refused() -> None:
    """An unknown region is refused with the known ones."""
    with pytest.raises(UsageError, match=r"--work must name a region of the trace \(solve\), got setup"):
        characters(worked(), ["setup=core"])


def test_pieces_are_timed_where_a_recording_has_no_readings() -> None:
    """Without readings in the recording, pieces are timed on this host, and the source says so."""
    for found in (calibrated(worked()), calibrated_c(worked())):
        assert min(found.times.values()) > 0
        assert "no readings" in found.source


def test_whole_pieces_are_done_and_what_is_left_is_owed() -> None:
    """Fractions of pieces add up: 100 times 0.4 pieces are 40; after a surplus nothing is done until it is used up."""
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


def test_short_bursts_are_done_with_the_next() -> None:
    """Short bursts are added to the next burst of the rank.

    Rank 0 computes 100, 1 and 50 us before three calls in turn: the 1 us join the 50 us; the last burst stays.
    """
    built = TraceBuilder(2, "app.py")
    one, other = built
    for _ in range(3):
        one.compute(100e-6)
        one.send(1, 8)
        one.compute(1e-6)
        one.collective(Op.BARRIER)
        one.compute(50e-6)
        one.collective(Op.ALLREDUCE, 8)
        other.recv(0)
        other.collective(Op.BARRIER)
        other.collective(Op.ALLREDUCE, 8)
    one.compute(0.5e-6)
    lowered = lower(built.build())
    first = lowered.bursts[slice(*lowered.trace.head.offsets[:2])].tolist()
    assert first == [100_000, 0, 51_000] * 3 + [500]
    assert lowered.bursts.sum() == 453_500
