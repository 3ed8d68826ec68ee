"""Scaled costs: by hand, and compared with the kernel's occupation of a link."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clue.kernel.model.costs import occupation
from clue.machine import Curve, FactorTable, Flows, Link, NoContention, NodeType, Ports
from clue.machine.contention.topology import FatTree, Switch, Switches

#: 2 s for an empty message; the curve jumps to 7 s at 10 B.
CURVE = Curve((0.0, 10.0), (2.0, 7.0), (0.1, 0.5))


def test_parts_of_a_curve_scale_alone() -> None:
    """A curve of 2 s at 0 B and 5 s of growth at 10 B is doubled as a whole, at its start, and in its growth."""
    assert [CURVE.scaled(2.0)(nbytes) for nbytes in (0, 10, 12)] == pytest.approx([4.0, 14.0, 16.0])
    assert [CURVE.start_scaled(2.0)(nbytes) for nbytes in (0, 10, 12)] == pytest.approx([4.0, 9.0, 10.0])
    assert [CURVE.growth_scaled(2.0)(nbytes) for nbytes in (0, 10, 12)] == pytest.approx([2.0, 12.0, 14.0])
    assert [CURVE.growth(nbytes) for nbytes in (0, 10, 12)] == pytest.approx([0.0, 5.0, 6.0])


def test_no_delay_is_scaled_below_zero() -> None:
    """Where small messages are faster than empty ones, delays end at 0.

    An empty message takes 10 s, 100 B take 8 s, and 200 B take 20 s. A start of 1/16 is 9.375 s shorter; 16 times the
    growth is that of -2 s and 10 s.
    """
    curve = Curve.through([(0, 10.0), (100, 8.0), (200, 20.0)])
    start, growth = curve.start_scaled(1 / 16), curve.growth_scaled(16.0)
    assert [start(nbytes) for nbytes in (0, 50, 100, 150, 200)] == pytest.approx([0.625, 0.0, 0.0, 4.625, 10.625])
    assert [growth(nbytes) for nbytes in (0, 100, 150, 200)] == pytest.approx([10.0, 0.0, 74.0, 170.0])
    assert min(each(nbytes) for each in (start, growth) for nbytes in range(300)) > -1e-12


TIMES = st.floats(0, 10)


@given(st.lists(st.tuples(st.integers(0, 10**6), TIMES), min_size=1, max_size=4, unique_by=lambda point: point[0]))
def test_a_factor_of_1_changes_no_bit(points: list[tuple[int, float]]) -> None:
    """A factor of 1 leaves any curve equal to the last bit, also one that does not begin at 0 B."""
    curve = Curve.through(sorted(points))
    assert curve.scaled(1.0) == curve.start_scaled(1.0) == curve.growth_scaled(1.0) == curve


@given(TIMES, TIMES)
def test_growth_that_is_scaled_to_nothing_leaves_no_negative_time(start: float, growth: float) -> None:
    """If growth is scaled to 0, the empty message's time remains, up to rounding, and is never negative."""
    (left,) = {*Curve.through([(0, start), (8, start + growth)]).growth_scaled(0.0).times[1:]}
    assert left >= 0 and left == pytest.approx(start, abs=1e-14)


def test_the_upper_of_two_crossing_lines() -> None:
    """3 s and a line from 1 s with 1 s/B cross at 2 B; the upper of both has its corner there."""
    upper = Curve.upper([Curve.line(3.0), Curve.line(1.0, 1.0)])
    assert [upper(nbytes) for nbytes in (0, 1, 2, 3, 10)] == [3.0, 3.0, 3.0, 4.0, 11.0]
    assert upper.sizes == (0.0, 2.0)


def test_a_slower_node_is_slower_everywhere() -> None:
    """In a node that is slower by 2, factors double, "as recorded" (0) becomes 2, and speeds halve."""
    node = NodeType("n", performance_factor=0.0, performance_factors={"a": 3.0}, speeds={"b": 8.0}).slower(2.0)
    assert (node.performance_factor, node.performance_factors, node.speeds) == (2.0, {"a": 6.0}, {"b": 4.0})


def test_a_slower_memory_copies_less() -> None:
    """Copying that takes twice as long halves the copy bandwidth; computation stays, as does an unstated bandwidth."""
    node = NodeType("n", performance_factor=3.0, copy_bandwidth=8.0)
    assert node.copying_longer(2.0) == NodeType("n", performance_factor=3.0, copy_bandwidth=4.0)
    assert node.slower(2.0).copy_bandwidth == 8.0
    assert NodeType("n").copying_longer(2.0) == NodeType("n")


def test_what_is_shared_is_kept_longer() -> None:
    """Twice as busy means double busy times of ports and half the bandwidth of links; other models stay the same."""
    assert Ports(Curve.line(1.0, 2.0)).busier(2.0) == Ports(Curve.line(2.0, 4.0))
    assert Flows(Switch(8.0)).busier(2.0) == Flows(Switch(4.0))
    far = Flows(Switches(2, 8.0, 2.0, 1.0))
    assert far.busier(2.0) == far.stronger(2.0) == Flows(Switches(2, 4.0, 2.0, 1.0))
    assert far.later(2.0) == Flows(Switches(2, 8.0, 2.0, 2.0))
    for stays in (NoContention(), Ports(), FactorTable(((1, 1.0), (2, 1.5)))):
        assert stays.busier(2.0) == stays
    for near in (NoContention(), Ports(Curve.line(1.0)), FactorTable(((1, 1.0), (2, 1.5))), Flows(Switch(8.0))):
        assert near.later(2.0) == near
    assert FactorTable(((1, 1.0), (2, 1.5))).stronger(2.0) == FactorTable(((1, 1.0), (2, 2.0)))


def test_bandwidths_of_a_topology_by_name() -> None:
    """The bandwidth of each level of a tree is a parameter; together they are scaled as a whole."""
    tree = FatTree((2, 2), (1, 1), (1, 1), (4.0, 6.0))
    assert list(Flows(tree).parameters) == ["bandwidth[0]", "bandwidth[1]"]
    assert Flows(tree).parameters["bandwidth[1]"](2.0) == Flows(FatTree((2, 2), (1, 1), (1, 1), (4.0, 12.0)))
    assert Flows(tree).busier(0.5) == Flows(FatTree((2, 2), (1, 1), (1, 1), (8.0, 12.0)))


SIZES = st.lists(st.integers(0, 20), min_size=1, max_size=4, unique=True).map(sorted)
FIGURES = st.lists(st.integers(0, 40), min_size=8, max_size=8)


@given(SIZES, SIZES, FIGURES, FIGURES)
def test_occupation_as_a_curve(here: list[int], there: list[int], times: list[int], slopes: list[int]) -> None:
    """At every size, the occupation curve equals the kernel's value, also where curves bend, jump and cross."""
    send, transmission = (
        # Times of 40 s and more, so that no segment falls below 0; the last one does not fall.
        Curve(tuple(map(float, sizes)), tuple(40.0 + each for each in times[at : at + len(sizes)]), tuple(rises))
        for sizes, at, rises in (
            (here, 0, [*(each / 8 - 2 for each in slopes[1 : len(here)]), slopes[0] / 8]),
            (there, 4, [*(each / 8 - 2 for each in slopes[5 : 4 + len(there)]), slopes[4] / 8]),
        )
    )
    link = Link(send, transmission)
    curve = link.occupation
    assert list(curve.sizes) == sorted(curve.sizes)
    for nbytes in range(40):
        # At a crossing of two lines, rounding decides which of them applies.
        assert curve(nbytes) == pytest.approx(occupation(Ports(), link, nbytes), rel=1e-9, abs=1e-9)
