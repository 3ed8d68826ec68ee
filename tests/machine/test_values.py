"""Machines as values: curves, contention, factors and placements, with figures that a reader can add up."""

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clue.errors import UsageError
from clue.machine import AlgorithmChoice, Curve, FactorTable, Link, Machine, Network, NodeType, Placement

LINK = Link(Curve.line(1e-6), Curve.line(1e-6))
OTHER = Link(Curve.line(2e-6), Curve.line(2e-6))


def machine(*processors: int) -> Machine:
    """Return a machine with one node for each number of processors."""
    types = {n: NodeType(f"p{n}", processors=n) for n in processors}
    return Machine("m", tuple(types[n] for n in processors), Network(LINK, LINK))


def test_a_line_is_latency_plus_size_over_bandwidth() -> None:
    """10 us and 1 GB/s: 1000 B take 11 us."""
    assert Curve.line(10e-6, 1e-9)(1000) == pytest.approx(11e-6)


def test_points_are_joined_by_straight_lines() -> None:
    """Between two points a curve is a straight line; at a point it has the point's time."""
    curve = Curve.through([(0, 40e-6), (1000, 50e-6), (1_000_000, 9e-3)])
    assert curve(500) == pytest.approx(45e-6)
    assert curve(1000) == 50e-6
    assert curve(1_000_000) == 9e-3


def test_a_curve_goes_on_with_its_last_slope() -> None:
    """Beyond the last point a curve keeps its slope: from 1 us at 1 KB and 3 us at 2 KB follow 5 us at 3 KB."""
    assert Curve.through([(1000, 1e-6), (2000, 3e-6)])(3000) == pytest.approx(5e-6)


def test_a_curve_is_constant_below_its_first_point() -> None:
    """Below the first point a curve is constant; a single point is a constant."""
    assert Curve.through([(1000, 1e-6), (2000, 3e-6)])(0) == 1e-6
    assert Curve.through([(1000, 1e-6)])(5000) == 1e-6


@given(
    st.lists(
        st.tuples(st.integers(0, 10**9), st.floats(0, 10)), min_size=1, max_size=8, unique_by=lambda point: point[0]
    )
)
def test_a_curve_passes_through_all_its_points(points: list[tuple[int, float]]) -> None:
    """A curve meets each of its points exactly."""
    points.sort()
    curve = Curve.through(points)
    assert all(curve(size) == time for size, time in points)


def test_contention_is_linear_between_entries_and_constant_beyond() -> None:
    """With factors 1.0 at 1 and 3.0 at 5, 3 communications have a factor of 2.0 and 100 have 3.0."""
    contention = FactorTable(((1, 1.0), (5, 3.0)))
    assert [contention.factor(n) for n in (1, 3, 5, 100)] == [1.0, 2.0, 3.0, 3.0]
    assert contention.measured_up_to == 5


def test_an_algorithm_is_chosen_by_size() -> None:
    """The algorithm for sizes up to a limit includes the limit."""
    choice = AlgorithmChoice(((2000.0, "small"), (math.inf, "large")))
    assert [choice.algorithm(n) for n in (0, 2000, 2001)] == ["small", "small", "large"]


def test_a_factor_of_zero_leaves_the_time_as_recorded() -> None:
    """A factor of 0 means "as recorded" (the paper's "real" machine); a region's own factor takes precedence."""
    node = NodeType("n", performance_factor=0, performance_factors={"a": 2.0, "b": 0})
    assert [node.factor(region) for region in ("", "a", "b")] == [1.0, 2.0, 1.0]


def test_busy_processors_keep_a_share_of_their_speed() -> None:
    """The entry of the largest number not above the busy ones that has the region holds; else no speed is lost."""
    node = NodeType("n", processors=4, memory_contention={2: {"": 0.9, "a": 0.8}, 4: {"a": 0.5}})
    assert [node.share_kept(busy, "a") for busy in (1, 2, 3, 4)] == [1.0, 0.8, 0.8, 0.5]
    assert [node.share_kept(busy, "b") for busy in (1, 3, 4)] == [1.0, 0.9, 0.9]
    region_first = NodeType("n", processors=4, memory_contention={4: {"": 0.5}, 2: {"a": 0.8}})
    assert [region_first.share_kept(busy, "a") for busy in (2, 4)] == [0.8, 0.5]
    assert [region_first.share_kept(busy, "b") for busy in (2, 4)] == [1.0, 0.5]


def test_a_link_is_found_by_types_and_node() -> None:
    """Pairs of types hold between nodes, entries within a type within nodes, and the general links otherwise."""
    network = Network(LINK, LINK, pairs={("a", "b"): OTHER, ("b", "a"): OTHER}, within={"a": OTHER})
    assert network.link("a", "b", same_node=False) is OTHER
    assert network.link("a", "a", same_node=False) is LINK
    assert network.link("a", "a", same_node=True) is OTHER
    assert network.link("b", "b", same_node=True) is LINK


def test_block_fills_node_after_node() -> None:
    """Block placement fills nodes of 2 and 1 processors with ranks 0, 1 and 2 in order."""
    assert Placement.block(machine(2, 1), 3).nodes == (0, 0, 1)
    assert Placement.block(machine(2, 1), 5, per_processor=2).nodes == (0, 0, 0, 0, 1)


def test_cyclic_deals_ranks_out_in_turn() -> None:
    """Cyclic placement skips full nodes."""
    assert Placement.cyclic(machine(2, 1, 2), 5).nodes == (0, 1, 2, 0, 2)


def test_more_ranks_than_processors_are_refused() -> None:
    """Too many ranks are refused with the machine and the limit."""
    with pytest.raises(UsageError, match=r"must be at most 3 on m \(2 nodes, 3 processors\), got 4"):
        Placement.block(machine(2, 1), 4)


@pytest.mark.parametrize(("nodes", "rule"), [((0,), "one node per rank"), ((0, 2), "must be from 0 to 1, got 2")])
def test_a_listed_placement_names_a_node_for_each_rank(nodes: tuple[int, ...], rule: str) -> None:
    """A listed placement needs one existing node per rank."""
    assert Placement.listed(machine(1, 1), (1, 1), 2).nodes == (1, 1)
    with pytest.raises(UsageError, match=rule):
        Placement.listed(machine(1, 1), nodes, 2)


@pytest.mark.parametrize("place", [Placement.block, Placement.cyclic])
def test_what_cannot_be_placed_is_refused(place: Any) -> None:
    """Ranks are whole numbers, and their number on each processor is, too; a name is no machine."""
    for arguments, rule in (
        ((machine(2), 2.0), "ranks must be a whole number of at least 0, got 2.0"),
        ((machine(2), "2"), "ranks must be a whole number of at least 0, got '2'"),
        ((machine(2), -1), "ranks must be a whole number of at least 0, got -1"),
        ((machine(2), 1, 0.5), "ranks on each processor must be a whole number of at least 1, got 0.5"),
        ((machine(2), 1, 0), "ranks on each processor must be a whole number of at least 1, got 0"),
        (("two-hosts", 2), "machine must be one that clue.load_machine returned, got 'two-hosts'"),
    ):
        with pytest.raises(UsageError, match=rule):
            place(*arguments)


@given(st.lists(st.integers(1, 4), min_size=1, max_size=5), st.integers(1, 3), st.data())
def test_no_order_puts_more_on_a_node_than_it_takes(processors: list[int], each: int, data: st.DataObject) -> None:
    """Block and cyclic placement put at most processors × ranks per processor on each node."""
    where = machine(*processors)
    ranks = data.draw(st.integers(1, sum(processors) * each))
    for place in (Placement.block, Placement.cyclic):
        nodes = place(where, ranks, each).nodes
        assert len(nodes) == ranks
        assert all(nodes.count(i) <= n * each for i, n in enumerate(processors))


def test_processors_that_no_rank_uses_cost_nothing() -> None:
    """Placement does not enumerate unused processors, so a billion of them cost nothing."""
    huge = machine(10**9, 2, 10**9)
    assert Placement.block(huge, 5).nodes == (0, 0, 0, 0, 0)
    assert Placement.cyclic(huge, 8).nodes == (0, 1, 2, 0, 1, 2, 0, 2)
    assert Placement.cyclic(machine(1, 10**9), 4, 2).nodes == (0, 1, 0, 1)
    assert Placement.block(machine(10**30), 2).nodes == (0, 0)


@pytest.mark.parametrize("place", [Placement.block, Placement.cyclic])
def test_more_ranks_than_any_computer_has_processes_are_refused(
    place: Callable[[Machine, int], Placement],
) -> None:
    """More ranks than any computer can have are refused, even if there are enough processors."""
    with pytest.raises(UsageError, match="ranks of all instances must be at most 16777216, got 1000000000"):
        place(machine(10**9), 10**9)
