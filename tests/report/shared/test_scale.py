"""Units for axes and columns."""

from __future__ import annotations

import pytest

from clue.report.shared.scale import log_ticks, log_time_ticks, time_scale
from clue.units import format_time


@pytest.mark.parametrize(
    ("longest", "unit", "shown"),
    [
        (0.0, "s", "0.0000"),
        (5e-9, "ns", "5.0000"),
        (12.5e-6, "us", "12.500"),
        (0.25, "ms", "250.00"),
        (61.0, "s", "61.000"),
        (1200.0, "min", "20.000"),
        (36000.0, "h", "10.000"),
        (3.6e9, "h", "1,000,000"),
        (3.6e303, "h", "1.0000e+300"),
        (1e-300, "ns", "1.0000e-291"),
    ],
)
def test_the_unit_suits_the_longest_time(longest: float, unit: str, shown: str) -> None:
    """The unit suits the longest time, which gets about five digits."""
    scale = time_scale(longest)
    assert scale.unit == unit
    assert scale.format(longest) == shown


def test_ticks_of_a_logarithmic_axis_are_round() -> None:
    """Sizes from 1,400 to 11,000 have figures between the powers of ten; wide ranges have powers only."""
    assert log_ticks(1400.0, 11_000.0) == [1500.0, 2000.0, 3000.0, 5000.0, 7000.0, 10_000.0]
    assert log_ticks(1.0, 1e6) == [10.0**power for power in range(7)]


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        (2.0, 3000.0, ["3 s", "10 s", "30 s", "100 s", "300 s", "30 min"]),
        (0.02, 0.5, ["20 ms", "50 ms", "100 ms", "200 ms", "500 ms"]),
        (3000.0, 90_000.0, ["50 min", "100 min", "5 h", "10 h", "20 h"]),
    ],
)
def test_ticks_of_times_are_round_in_their_units(low: float, high: float, shown: list[str]) -> None:
    """A thousand seconds are 16.67 min, which is not round; 10 min after 300 s, or 2 h after 100 min, is too close."""
    assert [format_time(each) for each in log_time_ticks(low, high)] == shown
