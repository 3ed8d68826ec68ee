"""Topologies: coordinates, neighbours and edges of ranks."""

from __future__ import annotations

from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clue.trace import PROC_NULL
from virtual_layer.substitutes.shapes import Adjacency, Graph, Grid, adjacency, edges_of

grids = st.lists(st.tuples(st.integers(1, 4), st.booleans()), min_size=1, max_size=4).map(
    lambda axes: Grid(tuple(extent for extent, _ in axes), tuple(periodic for _, periodic in axes))
)


@given(grids)
def test_every_rank_of_a_grid_has_a_place_of_its_own(grid: Grid) -> None:
    """Coordinates convert back to the same rank, and there are as many places as ranks."""
    assert grid.size == prod(grid.dims)
    assert [grid.rank(grid.coords(rank)) for rank in range(grid.size)] == list(range(grid.size))


@given(grids, st.data())
def test_who_sends_along_a_dimension_is_received_from(grid: Grid, data: st.DataObject) -> None:
    """In a shift, the destination's source is the sender."""
    rank = data.draw(st.integers(0, grid.size - 1))
    direction, steps = data.draw(st.integers(0, len(grid.dims) - 1)), data.draw(st.integers(-3, 3))
    _, dest = grid.shift(rank, direction, steps)
    if dest != PROC_NULL:
        assert grid.shift(dest, direction, steps)[0] == rank


@given(grids, st.data())
def test_slices_of_a_grid_share_it_among_them(grid: Grid, data: st.DataObject) -> None:
    """Each rank belongs to its own slice, slices have the size of the subgrid, and they do not overlap."""
    kept = data.draw(st.lists(st.booleans(), min_size=len(grid.dims), max_size=len(grid.dims)))
    slices = [tuple(grid.slice_of(rank, kept)) for rank in range(grid.size)]
    assert all(rank in part and len(part) == grid.sub(kept).size for rank, part in enumerate(slices))
    assert sorted(rank for part in set(slices) for rank in part) == list(range(grid.size))


def test_the_ends_of_a_line_have_one_neighbour() -> None:
    """The ends of a line without periods have one neighbour; coordinates beyond the ends are refused."""
    line = Grid((3,), (False,))
    assert [line.neighbors(rank)[0] for rank in range(3)] == [[PROC_NULL, 1], [0, 2], [1, PROC_NULL]]
    with pytest.raises(IndexError):
        line.rank([3])
    with pytest.raises(IndexError):
        line.coords(3)


def test_a_graph_is_told_by_running_numbers_of_edges() -> None:
    """A graph given by cumulative degrees (2, 3, 3): rank 0 has neighbours 1 and 2, rank 1 has 0, rank 2 none."""
    graph = Graph((2, 3, 3), (1, 2, 0))
    assert [graph.beside(rank) for rank in range(3)] == [[1, 2], [0], []]


def test_edges_of_a_distributed_graph_come_from_any_rank() -> None:
    """Edges that any rank gives reach the two ranks that they connect, with their weights if the graph has weights."""
    edges = edges_of([0, 1], [2, 1], [1, 2, 2], [5, 6, 7])
    assert edges == [(0, 1, 5), (0, 2, 6), (1, 2, 7)]
    assert adjacency(edges, 2, weighted=True) == Adjacency((0, 1), (), ((6, 7), ()))
    assert adjacency(edges, 0, weighted=False) == Adjacency((), (1, 2), None)
