"""Noise from repeated recordings, compared with recordings drawn with known noise."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

from clue.errors import UsageError
from clue.kernel import compile_program
from clue.trace import PROC_NULL, Trace, TraceBuilder
from clue.trace.head import EXTRAPOLATED
from clue.uncertainty import Sampling, noise_of_recordings, typical_recording
from clue.uncertainty.bursts import draw_bursts


def recording(*seconds: float, region: str = "", ranks: int = 1, more: int = 0) -> Trace:
    """Return a recording whose rank 0 computes these bursts, with ``more`` further calls without computation."""
    trace = TraceBuilder(ranks)
    for each in seconds:
        trace[0].compute(each, region)
        trace[0].send(PROC_NULL, 0)
    for _ in range(more):
        trace[0].send(PROC_NULL, 0)
    return trace.build()


def two_ranks(*seconds: float) -> Trace:
    """Return a recording whose ranks compute one burst each."""
    return many_ranks(np.array(seconds))


def many_ranks(seconds: npt.NDArray[np.float64]) -> Trace:
    """Return a recording whose ranks compute one burst each, given as an array."""
    trace = TraceBuilder(len(seconds))
    for rank, each in zip(trace, seconds, strict=True):
        rank.compute(float(each))
        rank.send(PROC_NULL, 0)
    return trace.build()


def test_a_single_recording_is_itself_and_says_nothing_of_noise() -> None:
    """A single recording is typical itself and gives no noise."""
    trace = recording(1.0, 2.0)
    assert typical_recording([trace]) is trace
    assert noise_of_recordings([trace]) is None


def test_each_burst_takes_its_median() -> None:
    """The typical recording has the median of each burst; a burst that any recording has does not become 0."""
    recordings = [recording(1.0, 6.0, 0.0), recording(3.0, 4.0, 0.0), recording(2.0, 5.0, 1.0)]
    assert typical_recording(recordings).bursts.tolist() == [2_000_000_000, 5_000_000_000, 1]


def test_what_runs_have_in_common_and_what_bursts_have_alone_are_told_apart() -> None:
    """Twenty runs of 2000 bursts vary by 0.05 together and by 0.2 per burst: both deviations are found."""
    random = np.random.default_rng(3)
    typical = random.uniform(0.5, 1.5, 2000)
    together = 0.05 * random.standard_normal(20)
    each = 0.2 * random.standard_normal((20, 2000))
    noise = noise_of_recordings([recording(*row) for row in typical * np.exp(together[:, None] + each)])
    assert noise is not None
    assert noise.recordings == 20
    assert noise.single[""] == pytest.approx(0.2, rel=0.03)
    # The tolerance is five standard errors with 19 degrees of freedom, plus the effect of single bursts.
    assert noise.common[""] == pytest.approx(float(together.std(ddof=1)), rel=0.1)


def test_a_rank_has_the_bursts_of_one_recording_on_a_common_level() -> None:
    """Two ranks take 1 and 2 s in one recording, 2 and 4 s in another: both are equal on a common level.

    The common level is sqrt(2) s for the first rank.
    """
    recordings = [two_ranks(1.0, 2.0), two_ranks(2.0, 4.0)]
    noise = noise_of_recordings(recordings)
    assert noise is not None
    assert [level[""] for level in noise.levels] == pytest.approx([-math.log(2) / 2, math.log(2) / 2])
    assert noise.common[""] == pytest.approx(math.log(2) / math.sqrt(2))
    assert noise.single[""] == pytest.approx(0.0, abs=1e-12)
    program = compile_program(typical_recording(recordings))
    steady = replace(noise, common={})
    for sample in Sampling(20).each():
        drawn = draw_bursts(program, steady, np.zeros(2), sample)
        assert drawn[drawn > 0] * 1e-9 == pytest.approx([math.sqrt(2), 2 * math.sqrt(2)])


def test_ranks_are_drawn_one_by_one() -> None:
    """Ranks are drawn independently: from recordings (1, 3) and (3, 1) s all four combinations occur equally often."""
    recordings = [two_ranks(1.0, 3.0), two_ranks(3.0, 1.0)]
    noise, program = noise_of_recordings(recordings), compile_program(typical_recording(recordings))
    assert noise is not None
    assert noise.common[""] == 0.0
    drawn = Counter(
        tuple(round(each * 1e-9) for each in draw_bursts(program, noise, np.zeros(2), sample) if each)
        for sample in Sampling(400).each()
    )
    assert set(drawn) == {(1, 1), (1, 3), (3, 1), (3, 3)}
    # 100 of each are expected, with a standard deviation of 8.7.
    assert all(60 < count < 140 for count in drawn.values())


def test_ranks_that_differ_alone_have_nothing_in_common() -> None:
    """64 ranks that vary independently by 0.2 in 20 recordings have no common noise, as nothing is counted twice."""
    random = np.random.default_rng(4)
    recordings = [many_ranks(np.exp(0.2 * random.standard_normal(64))) for _ in range(20)]
    noise = noise_of_recordings(recordings)
    assert noise is not None
    # Totals deviate by 0.2 / sqrt(64) = 0.025, with 19 degrees of freedom; little of their variance remains.
    assert noise.common[""] < 0.015


def test_long_bursts_count_more_than_short_ones() -> None:
    """Noise is weighted by duration: steady bursts of 1 s outweigh bursts of 1 us that vary by a factor of 2.

    In two runs, two bursts of 1 s deviate by 1 % from their typical values, in opposite directions, so both runs have
    the same level. A burst's mean takes one of its two degrees of freedom, and the level takes half of the other, as
    each burst has half the weight: the variance is 2 * 0.01² / (1/2), and the noise 2 %.
    """
    long, short = (math.exp(0.01), math.exp(-0.01)), (2e-6, 0.5e-6)
    noise = noise_of_recordings([recording(*long, *short), recording(*long[::-1], *short[::-1])])
    assert noise is not None
    assert noise.single[""] == pytest.approx(0.02, rel=0.01)


def test_regions_have_noise_of_their_own() -> None:
    """One region takes 1 s in both recordings, the other 1 s and e² s: their deviations are 0 and sqrt(2)."""
    recordings = []
    for seconds in (1.0, math.exp(2)):
        trace = TraceBuilder(1)
        for region, time in (("steady", 1.0), ("wild", seconds)):
            trace[0].compute(time, region)
            trace[0].send(PROC_NULL, 0)
        recordings.append(trace.build())
    noise = noise_of_recordings(recordings)
    assert noise is not None
    assert noise.common["steady"] == 0.0
    assert noise.common["wild"] == pytest.approx(math.sqrt(2), rel=1e-6)


def test_recordings_that_made_other_calls_are_compared_by_their_totals() -> None:
    """If recordings made different calls, totals are compared: 1 s and e s deviate by 1 / sqrt(2)."""
    recordings = [recording(1.0), recording(math.e, more=1)]
    noise = noise_of_recordings(recordings)
    assert noise is not None
    assert typical_recording(recordings) is recordings[0]
    assert not noise.recorded
    assert noise.common[""] == pytest.approx(1 / math.sqrt(2), rel=1e-6)


def test_of_recordings_that_made_other_calls_that_in_the_middle_is_typical() -> None:
    """If recordings of 3, 1 and 2 s made different calls, the one with the median total, 2 s, is typical."""
    recordings = [recording(3.0), recording(1.0, more=1), recording(2.0, more=2)]
    assert typical_recording(recordings) is recordings[2]


def test_recordings_must_be_of_as_many_ranks() -> None:
    """Recordings with different numbers of ranks are refused."""
    with pytest.raises(UsageError, match="ranks of a repeated recording must be 1, as of built, got 2"):
        noise_of_recordings([recording(1.0), recording(1.0, ranks=2)])


def test_recordings_must_be_of_one_program_and_differ() -> None:
    """Recordings of another program or other arguments, and equal recordings, are refused."""
    one, other = recording(1.0), recording(2.0)
    for head, told in (
        (
            replace(other.head, program="folder/other.py"),
            "program of a repeated recording must be built, as of built, got other.py",
        ),
        (
            replace(other.head, arguments=("8",)),
            "arguments of a repeated recording must be none, as of built, got 8",
        ),
    ):
        with pytest.raises(UsageError, match=told):
            typical_recording([one, replace(other, head=head)])
    with pytest.raises(UsageError, match="must be another one, got the same bursts twice"):
        noise_of_recordings([one, other, recording(1.0)])


def test_repeats_of_an_extrapolated_trace_are_the_ends_of_its_interval() -> None:
    """If bursts of 1 s may take 0.8 to 1.25 s, a tenth of the samples is shorter and a tenth longer than these ends."""

    def ends(seconds: float) -> Trace:
        trace = two_ranks(seconds, seconds)
        return replace(trace, head=replace(trace.head, clock=EXTRAPOLATED))

    traces = [ends(seconds) for seconds in (1.0, 0.8, 1.25)]
    noise, program = noise_of_recordings(traces), compile_program(typical_recording(traces))
    assert noise is not None
    drawn = [draw_bursts(program, noise, np.zeros(2), sample) for sample in Sampling(2000).each()]
    levels = [each.sum() * 1e-9 / 2 for each in drawn]
    # All ranks are short or long together, so none waits for another.
    assert all(len(set(each[each > 0].tolist())) == 1 for each in drawn)
    # A tenth of 2,000 samples has a standard deviation of 13.4; the tolerance is four of them.
    assert sum(level < 0.8 for level in levels) == pytest.approx(200, abs=54)
    assert sum(level > 1.25 for level in levels) == pytest.approx(200, abs=54)
    assert np.median(levels) == pytest.approx(1.0, abs=0.02)


def test_the_ends_of_a_narrow_interval_may_be_equal() -> None:
    """Bursts of 100 us that are known to one millionth are equal in whole ns at both ends, and have no noise."""
    trace = two_ranks(1e-4, 1e-4)
    ends = [replace(trace, head=replace(trace.head, clock=EXTRAPOLATED)) for _ in range(3)]
    noise = noise_of_recordings(ends)
    assert typical_recording(ends).bursts.tolist() == trace.bursts.tolist()
    assert noise is not None and set(noise.common.values()) == {0.0}
