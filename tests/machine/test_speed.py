"""Speeds that depend on the operations of a burst."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clue.machine import NodeType, SpeedCurve

#: 1 ms for 1 Mflop, 2 s for 4 Gflop.
CURVE = SpeedCurve.through([(1e6, 1e9), (4e9, 2e9)])


def test_a_speed_between_and_beyond_its_points() -> None:
    """Half way between two points in operations, the time is the mean of theirs; beyond them, speeds are constant."""
    assert [CURVE.at(flops) for flops in (1e3, 1e6, 4e9, 8e9)] == pytest.approx([1e9, 1e9, 2e9, 2e9])
    assert CURVE.at((1e6 + 4e9) / 2) == pytest.approx((1e6 + 4e9) / 2 / ((1e-3 + 2) / 2))
    assert CURVE.domain == (1e6, 4e9)
    assert CURVE.points == ((1e6, pytest.approx(1e9)), (4e9, pytest.approx(2e9)))


@given(st.floats(0.25, 4), st.floats(1, 1e12))
def test_a_multiple_of_a_speed(factor: float, flops: float) -> None:
    """A multiple of a speed curve is that multiple everywhere, and a slower node has the speed divided."""
    assert (CURVE * factor).at(flops) == pytest.approx(CURVE.at(flops) * factor)
    slower = NodeType("n", speeds={"b": CURVE}).slower(factor)
    assert slower.speed("b", flops) == pytest.approx(CURVE.at(flops) / factor)


def test_what_a_node_says_of_a_region() -> None:
    """A constant speed always holds; a curve only if the operations are known; other regions have none."""
    node = NodeType("n", speeds={"a": 8.0, "b": CURVE})
    assert [node.speed("a", flops) for flops in (0, 1e6)] == [8.0, 8.0]
    assert [node.speed("b", flops) for flops in (0, 1e6)] == [None, pytest.approx(1e9)]
    assert node.speed("c", 1e6) is None
