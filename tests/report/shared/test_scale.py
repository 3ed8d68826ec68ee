"""Units for axes and columns."""

from __future__ import annotations

import pytest

from clue.report.shared.scale import time_scale


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
