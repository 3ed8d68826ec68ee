"""Queries of a communicator's topology: grids, graphs, distributed graphs.

The communicators are real topologies of one process, so that their types are right; the layer keeps their shapes.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from clue.trace.ops import PROC_NULL
from virtual_layer.substitutes.factories import Factory, of_comm, of_layer
from virtual_layer.substitutes.shapes import Adjacency, Graph, Grid

if TYPE_CHECKING:
    from virtual_layer.substitutes.comms import LiveComm
    from virtual_layer.substitutes.layer import Layer


def as_grid(mpi: Any, dims: Sequence[int], periods: Any) -> Grid:
    """Return the grid that the arguments of Create_cart describe.

    Raises:
        ValueError: If there are not as many periods as dimensions.
    """
    dims = list(map(operator.index, dims))
    if periods is None or isinstance(periods, bool):
        periods = [bool(periods)] * len(dims)
    if len(periods) != len(dims):
        raise ValueError(f"expecting {len(dims)} items, got {len(periods)}")
    if any(extent <= 0 for extent in dims):
        raise mpi.Exception(mpi.ERR_DIMS)
    return Grid(tuple(dims), tuple(bool(each) for each in periods))


def as_graph(index: Sequence[int], edges: Sequence[int]) -> Graph:
    """Return the graph that the arguments of Create_graph describe; as in mpi4py, the index may begin with 0."""
    index, edges = list(map(operator.index, index)), list(map(operator.index, edges))
    if index and index[0] == 0 and index[-1] == len(edges):
        index = index[1:]
    return Graph(tuple(index), tuple(edges))


def check_places(layer: Layer, comm: LiveComm, places: int) -> None:
    """Check that a topology has a process for each of its places.

    Raises:
        MPI.Exception: If it has not.
    """
    size = len(comm.group)
    if places > size:
        text = f"places of a topology must be at most as many as processes of its communicator, {size}, got {places}"
        raise layer.error(layer.mpi.ERR_ARG, text)


def _query(answer: Callable[..., Any]) -> Factory:
    """Make the factory of a query of a topology; on a communicator of one process the real query is right."""
    return of_comm(answer, lambda comm: comm.shape is not None)


def _null(layer: Layer, rank: int) -> int:
    return int(layer.mpi.PROC_NULL) if rank == PROC_NULL else rank


def _cart_topo(_layer: Layer, comm: Any) -> tuple[list[int], list[int], list[int]]:
    grid: Grid = comm.shape
    return list(grid.dims), [int(each) for each in grid.periods], grid.coords(comm.rank)


def _cart_rank(layer: Layer, comm: Any, coords: Sequence[int]) -> int:
    grid: Grid = comm.shape
    if len(coords) != len(grid.dims):
        raise ValueError(f"expecting {len(grid.dims)} items, got {len(coords)}")
    try:
        return grid.rank(list(map(operator.index, coords)))
    except IndexError:
        raise layer.mpi.Exception(layer.mpi.ERR_ARG) from None


def _cart_coords(layer: Layer, comm: Any, rank: int) -> list[int]:
    try:
        return list(comm.shape.coords(int(rank)))
    except IndexError:
        raise layer.mpi.Exception(layer.mpi.ERR_RANK) from None


def _cart_shift(layer: Layer, comm: Any, direction: int, disp: int) -> tuple[int, int]:
    direction, disp = int(direction), int(disp)
    if not 0 <= direction < len(comm.shape.dims):
        raise layer.mpi.Exception(layer.mpi.ERR_ARG)
    source, dest = comm.shape.shift(comm.rank, direction, disp)
    return _null(layer, source), _null(layer, dest)


def _graph_neighbors(layer: Layer, comm: Any, rank: int) -> list[int]:
    try:
        return list(comm.shape.beside(int(rank)))
    except IndexError:
        raise layer.mpi.Exception(layer.mpi.ERR_RANK) from None


def _graph_neighbors_count(layer: Layer, comm: Any, rank: int) -> int:
    return len(_graph_neighbors(layer, comm, rank))


def _dist_count(_layer: Layer, comm: Any) -> tuple[int, int, bool]:
    shape: Adjacency = comm.shape
    return len(shape.sources), len(shape.destinations), shape.weights is not None


def _dist_neighbors(layer: Layer, comm: Any) -> tuple[list[int], list[int], tuple[list[int], list[int]] | None]:
    shape: Adjacency = comm.shape
    weights = None if shape.weights is None else (list(shape.weights[0]), list(shape.weights[1]))
    return (
        [_null(layer, each) for each in shape.sources],
        [_null(layer, each) for each in shape.destinations],
        weights,
    )


def _map(size_of: Callable[..., int]) -> Factory:
    """Make the factory of a call that returns a rank's new place: its present one, or none."""

    def call(layer: Layer, self: Any, *args: Any, **kwargs: Any) -> int:
        comm, size = layer.comm_of(self), size_of(layer.mpi, *args, **kwargs)
        check_places(layer, comm, size)
        return comm.rank if comm.rank < size else int(layer.mpi.UNDEFINED)

    return of_layer(call)


QUERIES: dict[tuple[str, str], Factory] = {
    ("Cartcomm", "Get_dim"): _query(lambda _layer, comm: len(comm.shape.dims)),
    ("Cartcomm", "Get_topo"): _query(_cart_topo),
    ("Cartcomm", "Get_cart_rank"): _query(_cart_rank),
    ("Cartcomm", "Get_coords"): _query(_cart_coords),
    ("Cartcomm", "Shift"): _query(_cart_shift),
    ("Graphcomm", "Get_dims"): _query(lambda _layer, comm: (len(comm.shape.index), len(comm.shape.edges))),
    ("Graphcomm", "Get_topo"): _query(lambda _layer, comm: (list(comm.shape.index), list(comm.shape.edges))),
    ("Graphcomm", "Get_neighbors_count"): _query(_graph_neighbors_count),
    ("Graphcomm", "Get_neighbors"): _query(_graph_neighbors),
    ("Distgraphcomm", "Get_dist_neighbors_count"): _query(_dist_count),
    ("Distgraphcomm", "Get_dist_neighbors"): _query(_dist_neighbors),
    ("Intracomm", "Cart_map"): _map(lambda mpi, dims, periods=None: as_grid(mpi, dims, periods).size),
    ("Intracomm", "Graph_map"): _map(lambda _mpi, index, edges: as_graph(index, edges).size),
}
