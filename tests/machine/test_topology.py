"""Topologies: routes by hand, closed forms, and routes compared with a graph built from the documentation."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clue.errors import UsageError
from clue.machine.contention.topology import Dragonfly, FatTree, Switch, Switches, Topology, Torus
from tests.properties import examples

#: The two ends of a directed link: names of places, switches or routers.
Ends = tuple[object, object]


def route(topology: Topology, nodes: int, source: int, dest: int) -> list[int]:
    """Return the links of one route without padding."""
    links = topology.routes(nodes, np.array([source]), np.array([dest]))[0]
    return [int(link) for link in links if link >= 0]


# --- by hand ---


def test_a_switch_has_a_link_up_and_a_link_down_for_each_node() -> None:
    """With four nodes, 1 sends to 3 over link 1 and link 4 + 3."""
    switch = Switch(1e9)
    assert route(switch, 4, 1, 3) == [1, 7]
    assert (switch.links(4), switch.room, switch.bisection(4)) == (8, None, 2e9)
    assert switch.capacities(4).tolist() == [1e9] * 8


def test_switches_share_an_uplink_between_them_only() -> None:
    """Five nodes on switches of two: 0 and 1 share one, 0 and 4 do not.

    Over-subscription of 2:1 gives uplinks of 1 GB/s.
    """
    switches = Switches(2, 1e9, 2.0)
    assert route(switches, 5, 0, 1) == [0, 6]
    assert route(switches, 5, 0, 4) == [0, 10, 15, 9]
    assert switches.capacities(5).tolist() == [1e9] * 16
    assert Switches(2, 1e9, 4.0).capacities(5).tolist() == [1e9] * 10 + [0.5e9] * 6
    assert (switches.links(5), switches.bisection(8), switches.bisection(2)) == (16, 2e9, 1e9)
    # The second of two switches has one node: four nodes send to the others.
    assert (Switches(8, 1e9).bisection(9), Switches(8, 1e9, 4.0).bisection(9)) == (4e9, 2e9)


def test_switches_may_be_far_apart() -> None:
    """Five nodes on switches of two that are 0.6 ms apart; a single switch has no latency of this kind."""
    switches = Switches(2, 1e9, 2.0, 6e-4)
    assert (switches.further, switches.parts(5).tolist()) == (6e-4, [0, 0, 1, 1, 2])
    assert switches.shape.endswith("uplinks of 1 GB/s (2:1), 600 us apart")
    assert (Switch(1e9).further, Switch(1e9).parts(2).tolist()) == (0.0, [0, 0])


def test_a_fat_tree_spreads_destinations_over_the_switches_above() -> None:
    """Two levels with four nodes per leaf and two upper switches: even destinations use one, odd ones the other."""
    tree = FatTree((4, 4), (1, 2), (1, 1), (1e9, 1e9))
    assert (tree.room, tree.members(1), tree.members(2), tree.links(16)) == (16, 4, 2, 2 * 16 + 2 * 8)
    assert route(tree, 16, 0, 1) == [0, 16 + 1]
    # Links 0 to 31 are of nodes, up and down; leaf c goes up over 32 + 2 c and 33 + 2 c, and down over 40 + 2 c and 41
    # + 2 c.
    assert route(tree, 16, 0, 4) == [0, 32, 40 + 2, 16 + 4]
    assert route(tree, 16, 0, 5) == [0, 33, 41 + 2, 16 + 5]
    assert route(tree, 16, 15, 2) == [15, 38, 40, 16 + 2]


def test_a_fat_tree_takes_parallel_cables_in_turn() -> None:
    """With one upper switch and two cables to it, destinations 2 and 3 use cables 0 and 1, in both directions."""
    tree = FatTree((2, 2), (1, 1), (1, 2), (1e9, 2e9))
    assert route(tree, 4, 0, 2) == [0, 8, 12 + 2, 6]
    assert route(tree, 4, 0, 3) == [0, 9, 13 + 2, 7]
    assert tree.capacities(4).tolist() == [1e9] * 8 + [2e9] * 8
    assert tree.bisection(4) == min(2 * 1e9, 2 * 2e9)


def test_a_torus_goes_the_shorter_way_round_dimension_by_dimension() -> None:
    """Routes take the shorter way in each dimension: in a ring of five, and in 4 × 3 from the origin to (3, 2).

    The latter is one step down in each dimension, over wrap-around links.
    """
    ring = Torus((5,), 1e9)
    assert route(ring, 5, 0, 2) == [0, 1]
    assert route(ring, 5, 0, 3) == [5 + 0, 5 + 4]
    grid = Torus((4, 3), 1e9)
    assert grid.links(12) == 12 * 4
    assert route(grid, 12, 0, 11) == [12 + 0, 36 + 3]


def test_ties_on_a_torus_go_towards_rising_coordinates() -> None:
    """Half way round a ring of four, routes go towards rising coordinates; a dimension of two has one link per node."""
    assert route(Torus((4,), 1e9), 4, 0, 2) == [0, 1]
    assert route(Torus((4,), 1e9), 4, 2, 0) == [2, 3]
    pair = Torus((2, 2), 1e9)
    assert pair.links(4) == 8
    assert route(pair, 4, 3, 0) == [3, 4 + 2]


def test_a_torus_is_cut_where_the_fewest_links_cross() -> None:
    """In 3 × 2 places, three links join the halves of three; across the longer dimension, four join two and four.

    A single place has no halves.
    """
    assert Torus((3, 2), 1e9).bisection(6) == Torus((2, 3), 1e9).bisection(6) == 3e9
    assert Torus((4, 3), 1e9).bisection(12) == 3 * 2 * 1e9
    assert Torus((1, 1), 1e9).bisection(1) == 0


def test_a_dragonfly_leaves_a_group_at_the_router_that_has_the_link() -> None:
    """Three groups of two single-node routers: group 0 reaches group 1 from its router 0 and group 2 from router 1."""
    dragonfly = Dragonfly(3, 2, 1, 4e9, 2e9, 1e9)
    assert (dragonfly.room, dragonfly.links(6)) == (6, 12 + 6 + 6)
    assert dragonfly.capacities(6).tolist() == [4e9] * 12 + [2e9] * 6 + [1e9] * 6
    # Group 0 is the second group after group 1, so the link back is at router 1 of group 1, which is node 3.
    assert route(dragonfly, 6, 0, 3) == [0, 18, 6 + 3]
    assert route(dragonfly, 6, 0, 2) == [0, 18, 12 + 3, 6 + 2]
    assert route(dragonfly, 6, 1, 2) == [1, 12 + 1, 18, 12 + 3, 6 + 2]
    assert route(dragonfly, 6, 0, 1) == [0, 12, 6 + 1]


@pytest.mark.parametrize(
    ("topology", "links", "bisection"),
    [
        (Switch(1.0), 2 * 64, 32),
        (Switches(16, 1.0, 4.0), 2 * 64 + 2 * 4, 2 * 4),
        (Switches(16, 1.0, 0.5), 2 * 64 + 2 * 4, 32),
        # A k-ary n-tree has n levels of k^n links each way, and full bisection.
        (FatTree((4, 4, 4), (1, 4, 4), (1, 1, 1), (1.0,) * 3), 2 * 3 * 64, 32),
        (FatTree((8, 8), (1, 4), (1, 1), (1.0,) * 2), 2 * 64 + 2 * 8 * 4, 16),
        # One leaf below one switch: 32 of its nodes send to the others; nothing crosses its uplink.
        (FatTree((64, 1), (1, 1), (1, 1), (1.0,) * 2), 2 * 64 + 2, 32),
        # A k-ary n-cube has 2 n links from each node, and 2 k^(n-1) links cross its bisection.
        (Torus((4, 4, 4), 1.0), 6 * 64, 2 * 16),
        (Torus((2,) * 6, 1.0), 6 * 64, 32),
        (Torus((64,), 1.0), 2 * 64, 2),
        (Dragonfly(8, 4, 2, 1.0, 1.0, 1.0), 2 * 64 + 8 * 4 * 3 + 8 * 7, 16),
        (Dragonfly(8, 4, 2, 0.25, 1.0, 1.0), 2 * 64 + 8 * 4 * 3 + 8 * 7, 8),
        # In one group, each router of one half has a link to each of the 4 routers of the other half.
        (Dragonfly(1, 8, 8, 1.0, 1.0, 1.0), 2 * 64 + 8 * 7, 16),
        (Dragonfly(1, 8, 8, 0.25, 1.0, 1.0), 2 * 64 + 8 * 7, 8),
        (Dragonfly(1, 1, 64, 1.0, 1.0, 1.0), 2 * 64, 32),
    ],
)
def test_links_and_bisection_have_closed_forms(topology: Topology, links: int, bisection: float) -> None:
    """The numbers of links and the bisection of 64 nodes on each topology have closed forms, with links of 1 B/s."""
    assert topology.links(64) == links
    assert len(topology.capacities(64)) == links
    assert topology.bisection(64) == bisection


@pytest.mark.parametrize(
    ("topology", "room"),
    [
        (FatTree((2, 3), (1, 2), (1, 1), (1.0, 1.0)), 6),
        (Torus((3, 2), 1.0), 6),
        (Dragonfly(3, 2, 2, 1.0, 1.0, 1.0), 12),
    ],
)
def test_more_nodes_than_places_are_refused(topology: Topology, room: int) -> None:
    """Capacities and routes refuse more nodes than a topology has places; fewer leave places empty."""
    assert topology.room == room
    topology.capacities(room - 1)
    for ask in (topology.capacities, lambda nodes: route(topology, nodes, 0, 1)):
        with pytest.raises(UsageError, match=f"topology: nodes must be at most {room}, got {room + 1}"):
            ask(room + 1)


# --- against a graph ---


def switch_ends(nodes: int) -> Iterator[Ends]:
    """Yield the ends of the links of a switch in the order of their numbers, as documented."""
    yield from ((i, "switch") for i in range(nodes))
    yield from (("switch", i) for i in range(nodes))


def switches_ends(topology: Switches, nodes: int) -> Iterator[Ends]:
    """Yield the ends of the links of several switches in order."""
    yield from ((i, ("switch", i // topology.per_switch)) for i in range(nodes))
    yield from ((("switch", i // topology.per_switch), i) for i in range(nodes))
    yield from ((("switch", j), "core") for j in range(topology.switches(nodes)))
    yield from (("core", ("switch", j)) for j in range(topology.switches(nodes)))


def tree_ends(tree: FatTree) -> Iterator[Ends]:
    """Yield the ends of the links of a fat tree in order: relatives differ only in the digit of their level."""
    for level in range(tree.levels):
        up = []
        for member in range(tree.members(level)):
            digits = _digits(tree, level, member)
            for port in range(tree.up[level] * tree.cables[level]):
                parent = (*digits[:level], port % tree.up[level], *digits[level + 1 :])
                up.append((_named(level, digits), _named(level + 1, parent)))
        yield from up
        yield from ((parent, child) for child, parent in up)


def _digits(tree: FatTree, level: int, member: int) -> tuple[int, ...]:
    radices = (*tree.up[:level], *tree.down[level:])
    digits = []
    for radix in radices:
        member, digit = divmod(member, radix)
        digits.append(digit)
    return tuple(digits)


def _named(level: int, digits: tuple[int, ...]) -> object:
    return ("node" if level == 0 else level, digits)


def torus_ends(torus: Torus) -> Iterator[Ends]:
    """Yield the ends of the links of a torus in order, by coordinates."""
    places = [tuple(reversed(p)) for p in product(*map(range, reversed(torus.dimensions)))]
    for dimension, size in enumerate(torus.dimensions):
        for step in (1, -1)[: min(size - 1, 2)]:
            for place in places:
                there = list(place)
                there[dimension] = (there[dimension] + step) % size
                yield place, tuple(there)


def dragonfly_ends(topology: Dragonfly) -> Iterator[Ends]:
    """Yield the ends of the links of a dragonfly in order."""
    routers = [(g, r) for g in range(topology.groups) for r in range(topology.routers)]
    nodes = [(router, ("node", i)) for i, router in enumerate(r for r in routers for _ in range(topology.per_router))]
    yield from ((node, router) for router, node in nodes)
    yield from nodes
    for group, router in routers:
        yield from (((group, router), (group, other)) for other in range(topology.routers) if other != router)
    for group in range(topology.groups):
        for other in range(topology.groups):
            if other != group:
                yield _gate(topology, group, other), _gate(topology, other, group)


def _gate(topology: Dragonfly, group: int, other: int) -> tuple[int, int]:
    after = next(k for k in range(1, topology.groups) if (group + k) % topology.groups == other)
    return group, (after - 1) % topology.routers


def hops(links: list[Ends], source: object) -> dict[object, int]:
    """Return the fewest links from one vertex to every other, by breadth-first search."""
    found, ways = {source: 0}, deque([source])
    while ways:
        here = ways.popleft()
        for begin, end in links:
            if begin == here and end not in found:
                found[end] = found[here] + 1
                ways.append(end)
    return found


def check(topology: Topology, nodes: int, links: list[Ends], places: list[object]) -> dict[tuple[int, int], int]:
    """Check that the number of links is as stated and that each route leads to its destination; return hops by pair."""
    assert topology.links(nodes) == len(links) == len(topology.capacities(nodes))
    source, dest = np.nonzero(~np.eye(nodes, dtype=bool))
    routes = topology.routes(nodes, source, dest)
    assert routes.dtype == np.int32
    found = {}
    for one, other, padded in zip(source.tolist(), dest.tolist(), routes.tolist(), strict=True):
        taken = [link for link in padded if link >= 0]
        assert padded == taken + [-1] * (len(padded) - len(taken))
        # Each link begins where the previous one ends, the first one at the source.
        walk = [places[one], *(links[link][1] for link in taken)]
        assert [links[link][0] for link in taken] == walk[:-1]
        assert walk[-1] == places[other]
        assert len(set(walk)) == len(walk)
        found[one, other] = len(taken)
    return found


def check_shortest(topology: Topology, nodes: int, links: list[Ends], places: list[object]) -> None:
    """Check that each route leads to its destination over as few links as possible."""
    found = check(topology, nodes, links, places)
    for one in range(nodes):
        fewest = hops(links, places[one])
        assert all(found[one, other] == fewest[places[other]] for other in range(nodes) if other != one)


SMALL = st.integers(1, 4)
SETTINGS = settings(max_examples=examples(40), deadline=None)


@SETTINGS
@given(st.integers(2, 9), st.integers(1, 4))
def test_switches_route_by_the_shortest_way(nodes: int, per_switch: int) -> None:
    """Routes over one or several switches, full or not, are shortest ways."""
    check_shortest(Switch(1.0), nodes, list(switch_ends(nodes)), list(range(nodes)))
    switches = Switches(per_switch, 1.0)
    check_shortest(switches, nodes, list(switches_ends(switches, nodes)), list(range(nodes)))


@SETTINGS
@given(st.lists(st.tuples(SMALL, st.integers(1, 3), st.integers(1, 2)), min_size=1, max_size=3), st.data())
def test_a_fat_tree_routes_by_the_shortest_way(levels: list[tuple[int, int, int]], data: st.DataObject) -> None:
    """Routes in fat trees with any numbers of children, parents and cables, and empty places, are shortest ways."""
    down, up, cables = zip(*levels, strict=True)
    tree = FatTree(down, up, cables, (1.0,) * len(levels))
    nodes = data.draw(st.integers(1, min(prod(down), 16)))
    places = [_named(0, _digits(tree, 0, node)) for node in range(nodes)]
    check_shortest(tree, nodes, list(tree_ends(tree)), places)


@SETTINGS
@given(st.lists(st.integers(1, 5), min_size=1, max_size=3), st.data())
def test_a_torus_routes_by_the_shortest_way(dimensions: list[int], data: st.DataObject) -> None:
    """Routes in tori of any dimensions, also of one and two places, are shortest ways."""
    torus = Torus(tuple(dimensions), 1.0)
    nodes = data.draw(st.integers(1, min(prod(dimensions), 20)))
    places: list[object] = [tuple(reversed(p)) for p in product(*map(range, reversed(dimensions)))]
    check_shortest(torus, nodes, list(torus_ends(torus)), places)


@SETTINGS
@given(st.integers(1, 5), SMALL, st.integers(1, 2))
def test_a_dragonfly_routes_by_the_minimal_way(groups: int, routers: int, per_router: int) -> None:
    """Routes in dragonflies have as few links between groups as possible, and then as few links as possible."""
    topology = Dragonfly(groups, routers, per_router, 1.0, 1.0, 1.0)
    links = list(dragonfly_ends(topology))
    found = check(topology, topology.room, links, [("node", i) for i in range(topology.room)])
    for one in range(topology.room):
        fewest = cheapest(links, ("node", one))
        for other in range(topology.room):
            assert other == one or found[one, other] == fewest["node", other]


def cheapest(links: list[Ends], source: object) -> dict[object, int]:
    """Return the links of the way with fewest links between groups from a node to each vertex, by Dijkstra."""
    found: dict[object, int] = {}
    ways: list[tuple[int, int, str, object]] = [(0, 0, "", source)]
    while ways:
        between, count, _, here = heappop(ways)
        if here in found:
            continue
        found[here] = count
        for begin, end in links:
            if begin == here:
                leaves = "node" not in (begin[0], end[0]) and begin[0] != end[0]  # type: ignore[index]
                heappush(ways, (between + leaves, count + 1, repr(end), end))
    return found


@SETTINGS
@given(st.integers(1, 4), st.integers(1, 3), st.integers(1, 3))
def test_a_k_ary_tree_gives_every_destination_a_way_of_its_own(arity: int, levels: int, shift: int) -> None:
    """On a full k-ary n-tree a shift by any number of nodes uses no link twice (Zahavi's theorem)."""
    tree = FatTree((arity,) * levels, (1,) + (arity,) * (levels - 1), (1,) * levels, (1.0,) * levels)
    source = np.arange(tree.room)
    dest = (source + shift) % tree.room
    apart = source != dest
    taken = tree.routes(tree.room, source[apart], dest[apart])
    assert np.bincount(taken[taken >= 0], minlength=1).max(initial=0) <= 1
