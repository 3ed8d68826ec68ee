"""NERSC's figures, compared with published ones and computed by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clue.purchase.sustained import Reference, ReferenceSystem, geometric_mean, improvement, rate_per_node

FIGURES = st.lists(st.tuples(st.floats(1e-6, 1e6), st.floats(0.1, 10)), min_size=1, max_size=6)


@pytest.mark.parametrize(
    ("name", "tflop", "seconds", "rate"),
    [
        ("MiniFE", 1065, 92.4, 0.00563),
        ("MiniGhost", 3350, 96.0, 0.0170),
        ("AMG", 1365, 151, 0.00441),
        ("UMT", 18409, 1263, 0.00712),
    ],
)
def test_rates_of_hopper(name: str, tflop: float, seconds: float, rate: float) -> None:
    """Tflop/s per node of the Cray XE6 on 2,048 nodes, as published for the SSP of NERSC-8, to three digits."""
    assert rate_per_node(tflop, 2048, seconds) == pytest.approx(rate, rel=5e-3), name


def test_improvement_by_hand() -> None:
    """Half the nodes, a system twice as large, a third of the time, a problem 4 times as large: 2 · 2 · 3 · 4 = 48."""
    system = ReferenceSystem(100, {"solver": Reference(10, 600.0, 4.0)})
    assert improvement(system.workloads["solver"], system, 200, 5, 200.0) == pytest.approx(48.0)


def test_the_reference_system_is_no_improvement_of_itself() -> None:
    """The reference system's own figures give an improvement of 1."""
    system = ReferenceSystem(100, {"solver": Reference(10, 600.0)})
    assert improvement(system.workloads["solver"], system, 100, 10, 600.0) == 1.0


def test_a_weighted_mean() -> None:
    """2 with weight 2 and 16 with weight 1: the cube root of 64; a weight of zero does not count."""
    assert geometric_mean([(2.0, 2.0), (16.0, 1.0), (1e9, 0.0)]) == pytest.approx(4.0)
    assert geometric_mean([(0.0, 1.0), (3.0, 1.0)]) == 0.0


@given(FIGURES, st.floats(0.1, 10))
def test_a_mean_lies_between_and_grows_with_its_figures(figures: list[tuple[float, float]], factor: float) -> None:
    """The mean lies between the least and the largest figure, and scales with all of them."""
    mean = geometric_mean(figures)
    assert min(each for each, _ in figures) * 0.999 <= mean <= max(each for each, _ in figures) * 1.001
    assert geometric_mean([(factor * each, weight) for each, weight in figures]) == pytest.approx(factor * mean)
