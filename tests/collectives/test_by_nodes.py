"""Collectives composed among nodes and within them: messages between nodes, numbers of steps, and their order."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clue.collectives import (
    BY_NODES,
    COLLECTIVE_NAMES,
    LIBRARIES,
    LIBRARIES_BY_NODES,
    Collective,
    Manner,
    default_choice,
    lower_all,
)
from tests.collectives.execution import Cost, execute, matched, reduced
from tests.collectives.strategies import collectives, regular
from tests.properties import examples

EVERY = [(name, algorithm) for name, algorithms in BY_NODES.items() for algorithm in algorithms]
#: Two nodes of four ranks, in block and in cyclic placement.
BLOCK, CYCLIC = (0, 0, 0, 0, 1, 1, 1, 1), (0, 1, 0, 1, 0, 1, 0, 1)


def on_nodes(name: str, nbytes: int, nodes: tuple[int, ...] = BLOCK, root: int = 0, **how: bool) -> Collective:
    """Return a collective of ranks on these nodes."""
    return Collective(name, len(nodes), (nbytes,) * len(nodes), root, Manner(**how), nodes)


def crossing(collective: Collective, algorithm: str) -> list[tuple[int, int, int]]:
    """Return the messages between nodes: source, destination, bytes."""
    messages = matched(lower_all(collective, algorithm), Cost())
    nodes = collective.nodes
    return sorted((m.source, m.dest, m.nbytes) for m in messages if nodes[m.source] != nodes[m.dest])


def within(collective: Collective, algorithm: str) -> list[tuple[int, int, int]]:
    """Return the messages within nodes: source, destination, bytes."""
    messages = matched(lower_all(collective, algorithm), Cost())
    nodes = collective.nodes
    return sorted((m.source, m.dest, m.nbytes) for m in messages if nodes[m.source] == nodes[m.dest])


@pytest.mark.parametrize("nodes", [BLOCK, CYCLIC])
@pytest.mark.parametrize("algorithm", BY_NODES["bcast"])
@pytest.mark.parametrize("root", range(8))
def test_a_broadcast_crosses_between_two_nodes_once(nodes: tuple[int, ...], algorithm: str, root: int) -> None:
    """A broadcast on two nodes sends one message between them, from leader to leader, for any root and placement."""
    other = 1 - nodes[root]
    here, there = nodes.index(1 - other), nodes.index(other)
    assert crossing(on_nodes("bcast", 131072, nodes, root), algorithm) == [(here, there, 131072)]


def test_a_root_that_does_not_lead_hands_its_data_over_or_broadcasts_first() -> None:
    """Root 1 of a node of ranks 0 to 2 first sends to its leader, or first broadcasts within its node.

    The other node has ranks 3 to 5.
    """
    collective = on_nodes("bcast", 100, (0, 0, 0, 1, 1, 1), root=1)
    there = [(3, 4, 100), (3, 5, 100)]
    assert within(collective, "node_leaders") == [(0, 1, 100), (0, 2, 100), (1, 0, 100), *there]
    assert within(collective, "root_node_first") == [(1, 0, 100), (1, 2, 100), *there]


def test_the_root_of_a_reduction_waits_for_its_own_node_last_or_for_rank_0() -> None:
    """Root 4 of a node of ranks 3 to 5 gets the result from its node's reduction, or from rank 0.

    The other node has ranks 0 to 2.
    """
    collective = on_nodes("reduce", 100, (0, 0, 0, 1, 1, 1), root=4)
    assert crossing(collective, "root_node_last") == [(0, 3, 100)]
    assert within(collective, "root_node_last") == [(1, 0, 100), (2, 0, 100), (3, 4, 100), (5, 4, 100)]
    assert crossing(collective, "node_leaders") == [(0, 4, 100), (3, 0, 100)]
    assert within(collective, "node_leaders") == [(1, 0, 100), (2, 0, 100), (4, 3, 100), (5, 3, 100)]


def test_an_allreduce_crosses_once_each_way() -> None:
    """In an allreduce on two nodes, only the leaders exchange their nodes' results, one message each way."""
    for nodes in (BLOCK, CYCLIC):
        leader = nodes.index(1)
        assert crossing(on_nodes("allreduce", 8, nodes), "node_leaders") == [(0, leader, 8), (leader, 0, 8)]


def test_a_barrier_releases_nodes_by_one_byte() -> None:
    """On two nodes of two ranks, each pair synchronises, then the leaders do; each releases its neighbour by 1 B."""
    collective = on_nodes("barrier", 0, (0, 0, 1, 1))
    assert crossing(collective, "node_leaders") == [(0, 2, 0), (2, 0, 0)]
    pair = [(0, 1, 0), (0, 1, 1), (1, 0, 0)]
    assert within(collective, "node_leaders") == sorted(pair + [(a + 2, b + 2, n) for a, b, n in pair])


def test_a_scan_passes_prefixes_from_node_to_node() -> None:
    """On three nodes of two ranks, a scan passes sums and prefixes between leaders.

    Messages within a node are the scan, the sum to the leader, the notice, and on later nodes the prefix.
    """
    collective = on_nodes("scan", 100, (0, 0, 1, 1, 2, 2))
    doubling = [(0, 2, 100), (2, 0, 100), (0, 4, 100), (4, 0, 100)]
    assert crossing(collective, "node_leaders") == sorted([*doubling, (0, 2, 100), (2, 4, 100)])
    node = [(0, 1, 100), (1, 0, 100), (1, 0, 100), (0, 1, 4)]
    later = [(a + first, b + first, n) for first in (2, 4) for a, b, n in [*node, (0, 1, 100)]]
    assert within(collective, "node_leaders") == sorted(node + later)
    # Of two ranks that scan, one combines n bytes, the other 2 n: in each node, and twice among leaders. Finally, four
    # ranks combine a prefix.
    assert reduced(lower_all(collective, "node_leaders")) == 100 * (3 * 3 + 2 * 3 + 4)


def test_a_nonblocking_scan_gives_no_notice() -> None:
    """A nonblocking scan sends no notice, as a rank's place tells whether a prefix comes."""
    told = within(on_nodes("scan", 100, (0, 0, 1, 1), nonblocking=True), "node_leaders")
    assert told == [(0, 1, 100), (1, 0, 100), (1, 0, 100), (2, 3, 100), (2, 3, 100), (3, 2, 100), (3, 2, 100)]


def test_nonblocking_parts_follow_the_nonblocking_rules() -> None:
    """A broadcast of 100,000 B among 8 leaders is scattered; the nonblocking one sends more bytes between nodes.

    Blocks have 12,500 B. Leader 0 sends 4, 2 and 1 of them, leader 4 sends 2 and 1, leaders 2 and 6 send 1: 12 blocks.
    In the nonblocking one, leader 2 sends all five from its child's on, of which it has one: 16 blocks. Then each of 8
    leaders receives the 7 blocks of the others.
    """
    nodes = tuple(rank // 2 for rank in range(16))
    both = (on_nodes("bcast", 100_000, nodes, nonblocking=flag) for flag in (False, True))
    sent = [sum(n for *_, n in crossing(each, "node_leaders")) for each in both]
    assert sent == [(12 + 8 * 7) * 12_500, (16 + 8 * 7) * 12_500]


@pytest.mark.parametrize(("name", "algorithm"), EVERY)
@pytest.mark.parametrize("size", [2, 3, 8, 9])
@pytest.mark.parametrize("nbytes", [100, 20_000])
def test_without_shared_nodes_it_is_one_among_all(name: str, algorithm: str, size: int, nbytes: int) -> None:
    """If each rank has a node of its own, the schedule is that of MPICH's default algorithm, for root 0."""
    collective = regular(name, size, 0 if name == "barrier" else nbytes, root=0)
    assert lower_all(collective, algorithm) == lower_all(collective, default_choice("mpich", collective))


@pytest.mark.parametrize("nodes", [CYCLIC, (0,) * 8])
def test_a_scan_of_ranks_that_do_not_lie_node_by_node_knows_no_nodes(nodes: tuple[int, ...]) -> None:
    """A scan over cyclic ranks or one node uses recursive doubling, as in MPICH, even if node_leaders is stated."""
    expected = lower_all(regular("scan", 8, 100), "recursive_doubling")
    assert lower_all(on_nodes("scan", 100, nodes), "node_leaders") == expected


@pytest.mark.parametrize(("name", "algorithm"), [pair for pair in EVERY if pair[0] != "scan"])
@settings(max_examples=examples(25), deadline=None)
@given(data=st.data())
def test_what_crosses_crosses_between_leaders(name: str, algorithm: str, data: st.DataObject) -> None:
    """Only the first ranks of nodes send to other nodes, except that rank 0 sends a reduction's result to the root."""
    collective = data.draw(collectives(name))
    if not collective.nodes:
        return
    leaders = {collective.nodes.index(node) for node in set(collective.nodes)}
    for source, dest, _ in crossing(collective, algorithm):
        handed_on = (name, algorithm, source, dest) == ("reduce", "node_leaders", 0, collective.root)
        assert handed_on or {source, dest} <= leaders


@pytest.mark.parametrize(
    ("algorithm", "finish"), [("node_leaders", [3.0, 3.0, 3.0, 3.0]), ("root_node_first", [2.0, 1.0, 3.0, 3.0])]
)
def test_a_broadcast_takes_as_long_as_its_parts(algorithm: str, finish: list[float]) -> None:
    """A broadcast from rank 1 of two nodes of two ranks takes one step to its leader, one across, one within nodes.

    With ``root_node_first``, the step to the leader is that within the root's node.
    """
    collective = on_nodes("bcast", 100, (0, 0, 1, 1), root=1)
    assert execute(lower_all(collective, algorithm), Cost(latency=1.0)).finish == finish


@settings(max_examples=examples(300))
@given(data=st.data(), library=st.sampled_from(sorted(set(LIBRARIES) - LIBRARIES_BY_NODES)))
def test_libraries_without_regard_to_nodes_choose_alike_on_any(data: st.DataObject, library: str) -> None:
    """The engine chooses once for all placements with these libraries."""
    collective = data.draw(collectives(data.draw(st.sampled_from(COLLECTIVE_NAMES))))
    assert default_choice(library, collective) == default_choice(library, replace(collective, nodes=()))
