"""Trees, folds, halvings and blocks: the arithmetic behind the algorithms."""

from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clue.collectives.blocks import (
    MOST_SEGMENTS,
    SEGMENT,
    Circle,
    even_blocks,
    full_blocks,
    halved_blocks,
    rest_last,
    segments,
)
from clue.collectives.trees import (
    Fold,
    Node,
    binary,
    binomial,
    binomial_doubling,
    binomial_extent,
    chain,
    core_size,
    doublings,
    halvings,
    in_order_binary,
    is_power_of_two,
    knomial,
    swapped,
)

TREES = {
    "binomial": binomial,
    "4-nomial": partial(knomial, radix=4),
    "binary": binary,
    "chain": chain,
    "binomial doubling": binomial_doubling,
    "swapped": partial(swapped, binomial_doubling),
}
sizes = st.integers(1, 70)


@pytest.mark.parametrize("tree", TREES.values(), ids=TREES)
@given(size=sizes, data=st.data())
def test_trees_reach_everyone_once(tree: Callable[[int, int, int], Node], size: int, data: st.DataObject) -> None:
    """From the root down, a tree reaches every rank once, and each child names its parent."""
    root = data.draw(st.integers(0, size - 1))
    reached, level = [root], [root]
    assert tree(root, root, size).parent is None
    while level:
        for rank in level:
            assert all(tree(child, root, size).parent == rank for child in tree(rank, root, size).children)
        level = [child for rank in level for child in tree(rank, root, size).children]
        reached += level
    assert sorted(reached) == list(range(size))


def test_binomial_tree_of_eight_by_hand() -> None:
    """The children of rank 0 are 4, 2 and 1; those of rank 4 are 6 and 5; that of rank 6 is 7."""
    assert [binomial(rank, 0, 8).children for rank in (0, 4, 6, 7)] == [(4, 2, 1), (6, 5), (7,), ()]
    assert [binomial(rank, 0, 8).parent for rank in (4, 6, 7, 3)] == [0, 4, 6, 2]


def test_binary_tree_of_seven_by_hand() -> None:
    """In the tree that Open MPI builds, 0 has children 1 and 2, 1 has 3 and 5, 2 has 4 and 6."""
    assert [binary(rank, 0, 7).children for rank in range(4)] == [(1, 2), (3, 5), (4, 6), ()]


def test_binomial_doubling_tree_of_eight_by_hand() -> None:
    """The children of rank 0 are 1, 2 and 4; those of rank 1 are 3 and 5; rank 3 has 7, rank 2 has 6."""
    assert [binomial_doubling(rank, 0, 8).children for rank in range(5)] == [(1, 2, 4), (3, 5), (6,), (7,), ()]


def test_swapped_trees_exchange_the_root_with_rank_0() -> None:
    """With root 3 of five ranks, rank 3 has the children 1, 2 and 4 of rank 0, and rank 1 has 0 in place of 3."""
    tree = partial(swapped, binomial_doubling)
    assert [tree(rank, 3, 5).children for rank in range(5)] == [(), (0,), (), (1, 2, 4), ()]


def test_in_order_tree_of_seven_by_hand() -> None:
    """The root of each range is its last rank: 6 has children 5, the end of 3 to 5, and 2, the end of 0 to 2."""
    assert [in_order_binary(rank, 7).children for rank in (6, 5, 2)] == [(5, 2), (4, 3), (1, 0)]
    assert [in_order_binary(rank, 7).parent for rank in range(7)] == [2, 2, 6, 5, 5, 6, None]


@given(size=sizes)
def test_in_order_trees_reach_everyone_once(size: int) -> None:
    """Each rank but the last is the child of one other rank, which it names as its parent."""
    nodes = [in_order_binary(rank, size) for rank in range(size)]
    assert sorted(child for node in nodes for child in node.children) == list(range(size - 1))
    assert all(nodes[child].parent == rank for rank, node in enumerate(nodes) for child in node.children)


@given(size=sizes, data=st.data())
def test_binomial_extents_count_subtrees(size: int, data: st.DataObject) -> None:
    """The extent of a rank's subtree is 1 plus the extents of its children's subtrees."""
    root = data.draw(st.integers(0, size - 1))
    for rank in range(size):
        below = sum(binomial_extent(child, root, size) for child in binomial(rank, root, size).children)
        assert binomial_extent(rank, root, size) == 1 + below


@given(size=sizes, keeper=st.sampled_from([0, 1]))
def test_folds_leave_a_power_of_two(size: int, keeper: int) -> None:
    """Ranks that do not stand by are numbered 0, 1, … up to a power of two, and each number maps back to its rank."""
    fold = Fold(size, keeper)
    active = [rank for rank in range(size) if not fold.stands_by(rank)]
    assert is_power_of_two(fold.core)
    assert [fold.number(rank) for rank in active] == list(range(fold.core))
    assert [fold.rank(number) for number in range(fold.core)] == active
    assert len(active) == core_size(size) <= size < 2 * core_size(size)


@pytest.mark.parametrize("core", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("backwards", [False, True])
def test_halvings_agree_between_partners(core: int, backwards: bool) -> None:
    """Each partner gives the blocks that the other keeps; in the end each number has one block, all different."""
    bits = doublings(core)[::-1] if backwards else doublings(core)
    steps = [list(halvings(number, core, bits)) for number in range(core)]
    for number in range(core):
        for i, step in enumerate(steps[number]):
            assert steps[step.partner][i].partner == number
            assert steps[step.partner][i].kept == step.given
    if core > 1:
        assert {steps[number][-1].kept for number in range(core)} == {(i, i + 1) for i in range(core)}
    if backwards:
        assert all(own[-1].kept[0] == number for number, own in enumerate(steps) if own)


@given(units=st.integers(0, 10**10), count=st.integers(1, 100), unit=st.sampled_from([1, 8, 24]))
def test_blocks_add_up(units: int, count: int, unit: int) -> None:
    """The blocks of a message are whole units, add up to its size, and none is longer than the rounded-up share."""
    for cut in (full_blocks, even_blocks):
        blocks = cut(units * unit, count, unit)
        assert (len(blocks), sum(blocks)) == (count, units * unit)
        assert 0 <= min(blocks) <= max(blocks) == -(-units // count) * unit
        assert not any(block % unit for block in blocks)


def test_blocks_by_hand() -> None:
    """Seven units of 8 B in four blocks, by each of the libraries' cuts."""
    assert full_blocks(56, 4, 8) == even_blocks(56, 4, 8) == [16, 16, 16, 8]
    assert rest_last(56, 4, 8) == [8, 8, 8, 32]
    assert halved_blocks(56, 4, 8) == [8, 16, 16, 16]  # 7 = 3 + 4, 3 = 1 + 2


@given(nbytes=st.integers(0, 10**10))
def test_segments_are_few_and_full(nbytes: int) -> None:
    """A pipeline has at most 1,024 segments, of at most 128 KiB unless the message is too long for that."""
    cut = segments(nbytes)
    assert sum(cut) == nbytes
    assert 1 <= len(cut) <= MOST_SEGMENTS
    assert nbytes > MOST_SEGMENTS * SEGMENT or max(cut) <= SEGMENT


@given(blocks=st.lists(st.integers(0, 100), min_size=1, max_size=20), data=st.data())
def test_circles_add_neighbours(blocks: list[int], data: st.DataObject) -> None:
    """A span is the sum of its blocks, also around the end of the circle."""
    start = data.draw(st.integers(-50, 50))
    count = data.draw(st.integers(0, len(blocks)))
    expected = sum(blocks[(start + i) % len(blocks)] for i in range(count))
    assert Circle(blocks).span(start, count) == expected
