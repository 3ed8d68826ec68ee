"""What the topology of a communicator answers to queries: grids, graphs, distributed graphs.

The communicators are real topologies of one process, so that their types are right; their shapes are ours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from clue.trace.ops import PROC_NULL
from virtual_layer.substitutes.shapes import Adjacency, Graph, Grid

if TYPE_CHECKING:
    from virtual_layer.substitutes.layer import Layer

Factory = Callable[["Layer", Any], Any]


def _query(answer: Callable[..., Any]) -> Factory:
    """Make a call's factory of a function of (MPI, what is known of the communicator, its arguments).

    On a communicator of one process the real topology is the right one.
    """

    def make(layer: Layer, original: Any) -> Any:
        mpi = layer.mpi

        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            comm = layer.comms.get(self.handle)
            if comm is None or comm.shape is None:
                return original(self, *args, **kwargs)
            return answer(mpi, comm, *args, **kwargs)

        return call

    return make


def as_grid(mpi: Any, dims: Sequence[int], periods: Any) -> Grid:
    """Return the grid that the arguments of Create_cart describe.

    Raises:
        ValueError: If there are not as many periods as dimensions.
    """
    dims = [int(extent) for extent in dims]
    if periods is None or isinstance(periods, bool):
        periods = [bool(periods)] * len(dims)
    if len(periods) != len(dims):
        raise ValueError(f"expecting {len(dims)} items, got {len(periods)}")
    if any(extent <= 0 for extent in dims):
        raise mpi.Exception(mpi.ERR_DIMS)
    return Grid(tuple(dims), tuple(bool(each) for each in periods))


def as_graph(index: Sequence[int], edges: Sequence[int]) -> Graph:
    """Return the graph that the arguments of Create_graph describe; as in mpi4py, the index may begin with 0."""
    index, edges = [int(each) for each in index], [int(each) for each in edges]
    if index and index[0] == 0 and index[-1] == len(edges):
        index = index[1:]
    return Graph(tuple(index), tuple(edges))


def _null(mpi: Any, rank: int) -> int:
    return int(mpi.PROC_NULL) if rank == PROC_NULL else rank


def _cart_dim(_mpi: Any, comm: Any) -> int:
    return len(comm.shape.dims)


def _cart_topo(_mpi: Any, comm: Any) -> tuple[list[int], list[int], list[int]]:
    grid: Grid = comm.shape
    return list(grid.dims), [int(each) for each in grid.periods], grid.coords(comm.rank)


def _cart_rank(mpi: Any, comm: Any, coords: Sequence[int]) -> int:
    grid: Grid = comm.shape
    if len(coords) != len(grid.dims):
        raise ValueError(f"expecting {len(grid.dims)} items, got {len(coords)}")
    try:
        return grid.rank([int(at) for at in coords])
    except IndexError:
        raise mpi.Exception(mpi.ERR_ARG) from None


def _cart_coords(mpi: Any, comm: Any, rank: int) -> list[int]:
    try:
        return list(comm.shape.coords(rank))
    except IndexError:
        raise mpi.Exception(mpi.ERR_RANK) from None


def _cart_shift(mpi: Any, comm: Any, direction: int, disp: int) -> tuple[int, int]:
    if not 0 <= direction < len(comm.shape.dims):
        raise mpi.Exception(mpi.ERR_ARG)
    source, dest = comm.shape.shift(comm.rank, direction, disp)
    return _null(mpi, source), _null(mpi, dest)


def _graph_dims(_mpi: Any, comm: Any) -> tuple[int, int]:
    return len(comm.shape.index), len(comm.shape.edges)


def _graph_topo(_mpi: Any, comm: Any) -> tuple[list[int], list[int]]:
    return list(comm.shape.index), list(comm.shape.edges)


def _graph_neighbors(mpi: Any, comm: Any, rank: int) -> list[int]:
    try:
        return list(comm.shape.beside(rank))
    except IndexError:
        raise mpi.Exception(mpi.ERR_RANK) from None


def _graph_neighbors_count(mpi: Any, comm: Any, rank: int) -> int:
    return len(_graph_neighbors(mpi, comm, rank))


def _dist_count(_mpi: Any, comm: Any) -> tuple[int, int, bool]:
    shape: Adjacency = comm.shape
    return len(shape.sources), len(shape.destinations), shape.weights is not None


def _dist_neighbors(mpi: Any, comm: Any) -> tuple[list[int], list[int], tuple[list[int], list[int]] | None]:
    shape: Adjacency = comm.shape
    weights = None if shape.weights is None else (list(shape.weights[0]), list(shape.weights[1]))
    return [_null(mpi, each) for each in shape.sources], [_null(mpi, each) for each in shape.destinations], weights


def _map(size_of: Callable[..., int]) -> Factory:
    """Make the factory of a call that says where a rank would stand: where it stands, or nowhere."""

    def make(layer: Layer, _original: Any) -> Any:
        def call(self: Any, *args: Any, **kwargs: Any) -> int:
            comm, size = layer.comm_of(self), size_of(layer.mpi, *args, **kwargs)
            if size > len(comm.group):
                raise layer.mpi.Exception(layer.mpi.ERR_ARG)
            return comm.rank if comm.rank < size else int(layer.mpi.UNDEFINED)

        return call

    return make


def _cart_size(mpi: Any, dims: Sequence[int], periods: Any = None) -> int:
    return as_grid(mpi, dims, periods).size


def _graph_size(_mpi: Any, index: Sequence[int], edges: Sequence[int]) -> int:
    return as_graph(index, edges).size


#: What stands in the place of the queries of topologies.
QUERIES: dict[tuple[str, str], Factory] = {
    ("Cartcomm", "Get_dim"): _query(_cart_dim),
    ("Cartcomm", "Get_topo"): _query(_cart_topo),
    ("Cartcomm", "Get_cart_rank"): _query(_cart_rank),
    ("Cartcomm", "Get_coords"): _query(_cart_coords),
    ("Cartcomm", "Shift"): _query(_cart_shift),
    ("Graphcomm", "Get_dims"): _query(_graph_dims),
    ("Graphcomm", "Get_topo"): _query(_graph_topo),
    ("Graphcomm", "Get_neighbors_count"): _query(_graph_neighbors_count),
    ("Graphcomm", "Get_neighbors"): _query(_graph_neighbors),
    ("Distgraphcomm", "Get_dist_neighbors_count"): _query(_dist_count),
    ("Distgraphcomm", "Get_dist_neighbors"): _query(_dist_neighbors),
    ("Intracomm", "Cart_map"): _map(_cart_size),
    ("Intracomm", "Graph_map"): _map(_graph_size),
}
