"""Measurements of a link: medians with confidence intervals, and the merging of several sources."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clue.calibration.measurement import Estimate, Measurement, SizeRow, median_of, merged
from clue.errors import UsageError


def test_the_interval_of_a_median_is_that_of_the_binomial() -> None:
    """Of 10 samples, the 2nd and the 9th enclose the median with 1 - 2 (1 + 10) / 2^10 = 97.9 %.

    The next ones inside enclose it with 89.1 % only.
    """
    estimate = median_of([float(k) for k in range(1, 11)], 0.95)
    assert (estimate.value, estimate.low, estimate.high, estimate.repetitions) == (5.5, 2.0, 9.0, 10)


def test_few_samples_give_their_whole_range() -> None:
    """Of 5 samples, even the extremes enclose the median with only 1 - 2 / 2^5 = 93.75 %, so they are the interval."""
    assert median_of([3.0, 1.0, 2.0, 5.0, 4.0]) == Estimate(3.0, 1.0, 5.0, 5)


@given(st.integers(6, 400), st.sampled_from([0.8, 0.9, 0.95, 0.99]))
def test_an_interval_has_at_least_the_confidence_asked_for(n: int, confidence: float) -> None:
    """The exact probability that the median lies outside the interval is at most 1 - confidence."""
    estimate = median_of([float(k) for k in range(n)], confidence)
    below = int(estimate.low)
    assert estimate.high == n - 1 - below
    outside = 2 * sum(math.comb(n, k) for k in range(below + 1)) / 2**n
    assert outside <= 1 - confidence or below == 0


@given(st.lists(st.floats(1e-6, 1.0), min_size=20, max_size=60), st.floats(10.0, 1e6))
def test_an_outlier_hardly_moves_a_median(samples: list[float], outlier: float) -> None:
    """However large an outlier is, the median stays among the other samples."""
    assert min(samples) <= median_of([*samples, outlier]).value <= max(samples)


def test_no_samples_are_an_error() -> None:
    """The median of no samples is an error."""
    with pytest.raises(ValueError, match="must not be empty"):
        median_of([])


def test_measurements_of_one_link_complete_each_other() -> None:
    """Latencies and bandwidths are merged by size; two values give their median, and a contradiction is noted."""
    one, two, three = (Estimate.alone(float(k)) for k in (1, 2, 3))
    latencies = Measurement((SizeRow(0, one_way=one), SizeRow(8, one_way=two)), source="latency.txt", mpi="MPICH")
    bandwidths = Measurement((SizeRow(8, one_way=three, gap=one, window=64),), source="bw.txt", date="2026-01-01")
    both = merged([latencies, bandwidths])
    assert both.rows == (SizeRow(0, one_way=one), SizeRow(8, one_way=Estimate(2.5, 2.0, 3.0), gap=one, window=64))
    assert len(both.notes) == 1
    assert "half round trips are given several times and differ by up to 20% from their median: 8 B" in both.notes[0]
    assert (both.source, both.mpi, both.date) == ("latency.txt, bw.txt", "MPICH", "2026-01-01")


def test_sizes_must_rise() -> None:
    """A size that occurs twice is refused."""
    with pytest.raises(UsageError, match="sizes must rise"):
        Measurement((SizeRow(8), SizeRow(8)))


def test_contradictions_between_simultaneous_pairs_are_noted_by_size() -> None:
    """Streams of four pairs take 1 and 3 us per message of 8 B: a median of 2 us, 50 % off. Those of 8 pairs agree."""
    rows = [Measurement((), shared=(stream(4, time), stream(8, 2.0)), source="mbw.txt") for time in (1.0, 3.0)]
    both = merged(rows)
    assert [(row.pairs, row.gap.value) for row in both.shared if row.gap] == [(4, 2.0), (8, 2.0)]
    (note,) = both.notes
    assert note == (
        "times per message of a stream of several pairs or both directions are given several times and differ by up to "
        "50% from their median: 8 B"
    )


def stream(pairs: int, seconds: float) -> SizeRow:
    """Return the time per message of 8 B of simultaneous streams."""
    return SizeRow(8, gap=Estimate.alone(seconds), window=64, pairs=pairs)
