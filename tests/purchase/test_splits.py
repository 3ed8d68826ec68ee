"""Placement of ranks: nodes of each layout by hand, and the layouts tried in a search."""

from __future__ import annotations

import pytest

from clue.errors import UsageError
from clue.machine import Machine, Network, NodeType
from clue.purchase import Workload
from clue.purchase.scenario import Layout
from clue.purchase.splits import Misfit, Split, allowed_splits, layouts_on
from tests.kernel.cases import LINK, LOCAL_LINK
from tests.purchase.test_ranking import workload

NETWORK = Network(LINK, LOCAL_LINK)
QUAD, DUAL = NodeType("quad", processors=4), NodeType("dual", processors=2)
TWO = Machine("two", (QUAD, QUAD), NETWORK)
MIXED = Machine("mixed", (QUAD, DUAL), NETWORK)
DUALS = Machine("duals", (DUAL, DUAL), NETWORK)


def places(of: Workload, on: Machine) -> dict[str, tuple[int, ...]]:
    """Return the node of each rank, by layout."""
    found = allowed_splits(of, on, [[0.0] * ranks for ranks in of.ranks])
    return {str(each.layout): each.placement.nodes for each in found if isinstance(each, Split)}


@pytest.mark.parametrize(
    ("layout", "nodes"),
    [
        (Layout("block"), (0, 0, 0, 0)),
        (Layout("cyclic"), (0, 1, 0, 1)),
        (Layout("block", ranks_per_node=3), (0, 0, 0, 1)),
        (Layout("block", ranks_per_node=2, backwards=True), (1, 1, 0, 0)),
        (Layout("cyclic", backwards=True), (1, 0, 1, 0)),
    ],
    ids=str,
)
def test_who_sits_where(layout: Layout, nodes: tuple[int, ...]) -> None:
    """Four ranks on two nodes of four processors each."""
    assert places(workload(ranks=(4,), layouts=(layout,)), TWO) == {str(layout): nodes}


@pytest.mark.parametrize(
    ("order", "ranks", "idle"), [("block", 2, 2), ("block", 4, 2), ("block", 6, 0), ("cyclic", 2, 2), ("cyclic", 4, 0)]
)
def test_ranks_share_a_processor_only_where_a_node_has_too_few(order: str, ranks: int, idle: int) -> None:
    """Two nodes of two processors take 8 ranks; the j-th rank of a node is on its processor j mod 2.

    By blocks, the first node has up to 4 ranks; in turn, 4 ranks have 4 processors.
    """
    shared = workload(ranks=(ranks,), layouts=(Layout(order, ranks_per_processor=2),))
    (found,) = allowed_splits(shared, DUALS, [[0.0] * ranks])
    assert isinstance(found, Split)
    assert (found.side_by_side, found.idle) == (1, idle)


def test_a_layout_is_told_in_words() -> None:
    """The text is the one that tables show."""
    assert str(Layout("cyclic", 2, 3, backwards=True)) == "cyclic, 2 a processor, 3 a node, last nodes first"


def test_all_placements_that_differ_are_tried_once() -> None:
    """On equal nodes, placements that coincide are tried once.

    With one rank per node, block equals cyclic; a limit of 4 per node equals no limit.
    """
    found = places(workload(ranks=(2,), layouts_searched=True), TWO)
    assert found == {"block": (0, 0), "cyclic": (0, 1)}
    found = places(workload(ranks=(4,), layouts_searched=True), TWO)
    assert found == {"block": (0, 0, 0, 0), "cyclic": (0, 1, 0, 1), "block, 2 a node": (0, 0, 1, 1)}


def test_of_two_kinds_of_nodes_either_comes_first() -> None:
    """Two ranks on a quad and a dual node: together on either node, or apart in either order."""
    found = places(workload(ranks=(2,), layouts_searched=True), MIXED)
    assert set(found.values()) == {(0, 0), (0, 1), (1, 1), (1, 0)}


def test_what_is_searched_holds_what_is_stated() -> None:
    """A stated layout is tried first."""
    stated = (Layout("cyclic", ranks_per_node=3),)
    assert layouts_on(workload(ranks=(4,), layouts=stated, layouts_searched=True), TWO)[0] == stated[0]


def test_too_many_ranks_for_so_few_on_a_node_are_told() -> None:
    """Eight ranks do not fit on two nodes with at most three each; the misfit says so."""
    (found,) = allowed_splits(workload(ranks=(8,), layouts=(Layout(ranks_per_node=3),)), TWO, [[0.0] * 8])
    assert found == Misfit(8, "8 ranks need as many processors, the machine has 8, with at most 3 on a node")


def test_ranks_that_share_processors_need_fewer() -> None:
    """At two ranks on each processor, nine ranks need five processors; two dual nodes have four."""
    (found,) = allowed_splits(workload(ranks=(9,), layouts=(Layout(ranks_per_processor=2),)), DUALS, [[0.0] * 9])
    assert found == Misfit(9, "9 ranks, 2 a processor, need 5 processors, the machine has 4")


def test_an_order_that_nobody_knows_is_refused() -> None:
    """An unknown order is refused."""
    with pytest.raises(UsageError, match="placement must be block or cyclic in a comparison, got random"):
        list(allowed_splits(workload(ranks=(2,), order="random"), TWO, [[0.0] * 2]))
