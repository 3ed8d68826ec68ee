"""Polylines through measured times: few points, at the right places, and insensitive to outliers."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clue.calibration.polyline import Samples, fit_points, roughness

SIZES = np.array([0.0, *(2.0**k for k in range(25))])


def samples(times: np.ndarray, relative: float = 0.01) -> Samples:
    """Return times at all sizes with this relative uncertainty."""
    return Samples(SIZES, times, relative * times)


def curve(points: tuple[tuple[float, float], ...]) -> np.ndarray:
    """Return the times of a polyline at all sizes."""
    return np.array(np.interp(SIZES, [m for m, _ in points], [t for _, t in points]))


def test_a_line_needs_two_points() -> None:
    """A line of 10 us and 1 GB/s is fitted exactly by two points."""
    points = fit_points(samples(10e-6 + SIZES * 1e-9))
    assert [size for size, _ in points] == [0.0, 2.0**24]
    assert [time for _, time in points] == pytest.approx([10e-6, 10e-6 + 2**24 * 1e-9])


def test_a_corner_needs_a_third() -> None:
    """A corner at 64 KiB, where the slope falls to a third, needs a third point."""
    times = 10e-6 + np.minimum(SIZES, 65536) * 3e-9 + np.maximum(SIZES - 65536, 0) * 1e-9
    assert [size for size, _ in fit_points(samples(times))] == [0.0, 65536.0, 2.0**24]


def test_a_jump_needs_one_on_each_side() -> None:
    """A jump of 50 us between 8 and 16 KiB needs one point on each side."""
    times = 10e-6 + SIZES * 1e-9 + np.where(SIZES > 8192, 50e-6, 0.0)
    assert [size for size, _ in fit_points(samples(times))] == [0.0, 8192.0, 16384.0, 2.0**24]


def test_no_line_crosses_a_split() -> None:
    """At a split both sides get their own end points, even if the line is straight."""
    points = fit_points(samples(10e-6 + SIZES * 1e-9), split=1000)
    assert [size for size, _ in points] == [0.0, 512.0, 1024.0, 2.0**24]


@pytest.mark.parametrize("end", [0.0, 1e-3, 50e-3])
def test_one_size_beyond_a_split_is_kept_and_growth_beyond_it_is_that_of_the_whole(end: float) -> None:
    """A single size beyond a split keeps its time; beyond it, times grow as from the first to the last size, or not."""
    times = 10e-6 + SIZES * 1e-9
    times[-1] = end
    points = fit_points(Samples(SIZES, times, np.full(len(SIZES), 1e-7)), split=2.0**23)
    assert [size for size, _ in points] == [0.0, 2.0**23, 2.0**24, 2.0**25]
    growth = max(0.0, end - 10e-6)
    assert [time for _, time in points] == pytest.approx([10e-6, 10e-6 + 2**23 * 1e-9, end, end + growth])


def test_sizes_close_to_each_other_show_no_growth() -> None:
    """The last of NetPIPE's times is 10 % too long, 3 B beyond the size before: this rise does not go on.

    Times are 10 us + 1 ns/B. Twice the last size takes twice its time, less 10 us.
    """
    sizes = np.array([float((1 << k) + more) for k in range(4, 23) for more in (-3, 0, 3)])
    times = 10e-6 + sizes * 1e-9
    times[-1] *= 1.1
    points = fit_points(Samples(sizes, times, 0.015 * times))
    assert points[-2] == pytest.approx((sizes[-1], times[-1]), rel=0.01)
    assert points[-1] == pytest.approx((2 * sizes[-1], 2 * times[-1] - 10e-6), rel=0.01)


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(1e-7, 1e-3), st.floats(1e-11, 1e-7))
def test_noise_adds_no_points_to_a_line(seed: int, latency: float, per_byte: float) -> None:
    """1 % of noise on a line, with 2 % allowed, adds no points, and the curve stays within 2 % of the true one."""
    exact = latency + SIZES * per_byte
    noisy = exact * (1 + 0.01 * np.random.default_rng(seed).uniform(-1, 1, len(SIZES)))
    points = fit_points(samples(noisy, 0.02))
    assert len(points) == 2
    assert np.all(np.abs(curve(points) / exact - 1) < 0.02)


def test_an_outlier_moves_the_curve_little() -> None:
    """One of 26 times is 10 % too long: a point there would cost as much as the error, so the line gets none."""
    exact = 10e-6 + SIZES * 1e-9
    times = exact.copy()
    times[12] *= 1.1
    points = fit_points(samples(times, 0.03))
    assert len(points) == 2
    assert np.all(np.abs(curve(points) / exact - 1) < 0.02)


@settings(deadline=None)
@given(st.lists(st.floats(1e-7, 1.0), min_size=1, max_size=30))
def test_any_times_give_a_curve_that_the_simulator_takes(times: list[float]) -> None:
    """Any times give strictly rising sizes, no negative times, and a last segment that does not fall."""
    values = np.array(times, np.float64)
    sizes = np.arange(len(times), dtype=np.float64) * 100
    points = fit_points(Samples(sizes, values, 0.02 * values))
    assert all(b[0] > a[0] for a, b in pairwise(points))
    assert all(time >= 0 for _, time in points)
    assert len(points) == 1 or points[-1][1] >= points[-2][1]


def test_roughness_is_that_of_the_noise_not_of_the_curve() -> None:
    """Roughness is 0 for lines that bend or jump, and about 3 % for noise with a standard deviation of 3 %."""
    bent = 10e-6 + np.maximum(SIZES - 4096, 0) * 1e-9 + np.where(SIZES > 8192, 50e-6, 0.0)
    assert roughness(SIZES, bent) == pytest.approx(0, abs=1e-9)
    sizes = np.arange(2001, dtype=np.float64)
    noise = 1 + 0.03 * np.random.default_rng(1).standard_normal(2001)
    assert roughness(sizes, noise) == pytest.approx(0.03, rel=0.1)
