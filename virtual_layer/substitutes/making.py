"""Constructors of communicators in a rank process: members agree on the new one through the kernel, in virtual time.

The program gets a real communicator of one process, of the right class, in place of the virtual one, so that the
library itself handles attributes and their callbacks, names, error handlers and info. An intercommunicator has the
handle of a real intracommunicator, because one process alone cannot make an intercommunicator.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from clue.trace.ops import Flag, Op
from virtual_layer.communicators import derive_key
from virtual_layer.substitutes.factories import Factory, of_comm, of_layer
from virtual_layer.substitutes.meeting import alone, meeting
from virtual_layer.substitutes.shapes import Adjacency, Grid, Shape, adjacency, edges_of
from virtual_layer.substitutes.topologies import as_graph, as_grid, check_places

if TYPE_CHECKING:
    from virtual_layer.substitutes.comms import LiveComm
    from virtual_layer.substitutes.layer import Layer

Members = Sequence[int]

_NONBLOCKING = int(Flag.NONBLOCKING)
_COMM, _ISEND, _RECV, _WAIT = int(Op.COMM), int(Op.ISEND), int(Op.RECV), int(Op.WAIT)


def made_key(parent: LiveComm, group: Members, remote: Members | None) -> str:
    """Derive the key of a communicator that a collective call on its parent makes, as the recorder does."""
    return derive_key(parent.key, parent.made, min(group[0], remote[0]) if remote else group[0])


def register(
    layer: Layer, parent: LiveComm, real: Any, group: Members, remote: Members | None = None, shape: Shape | None = None
) -> Any:
    """Make a real communicator, or a null one, stand for the virtual one of these members; return it."""
    if real:
        comm = layer.add(real, made_key(parent, group, remote), group, remote)
        comm.shape = shape
    parent.made += 1
    return real


def agree(layer: Layer, comm: LiveComm, said: object = None) -> tuple[list[Any], list[Any]]:
    """Exchange a value among all members; return those of the local and of the remote members, in order."""
    if alone(comm):
        return [said], []
    place = meeting(layer, comm)
    answers = layer.port.ask(_COMM, context=place.comm.context, payload=said)
    return [answers[at] for at in place.local], [answers[at] for at in place.remote]


def _constructor(build: Callable[..., Any], *, real_alone: bool = False) -> Factory:
    """Make the factory of a constructor of (layer, original, communicator object, virtual communicator, arguments).

    With ``real_alone`` the real constructor does everything on a communicator of one process. Groups and topologies are
    ours even there.
    """

    def make(layer: Layer, original: Any) -> Any:
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            parent = layer.comms.get(self.handle)
            if parent is None:
                return original(self, *args, **kwargs)
            if real_alone and alone(parent):
                return register(layer, parent, original(self, *args, **kwargs), parent.group, parent.remote)
            return build(layer, original, self, parent, *args, **kwargs)

        return call

    return make


def _dup(layer: Layer, original: Any, self: Any, parent: LiveComm, *args: Any, **kwargs: Any) -> Any:
    real = original(self, *args, **kwargs)
    agree(layer, parent)
    return register(layer, parent, real, parent.group, parent.remote, parent.shape)


def _idup(layer: Layer, original: Any, self: Any, parent: LiveComm, *args: Any, **kwargs: Any) -> Any:
    real, done = original(self, *args, **kwargs)
    layer.original("Request", "Wait")(done)
    register(layer, parent, real, parent.group, parent.remote, parent.shape)
    request, serial = layer.requests.begin(None)
    context = meeting(layer, parent).comm.context
    layer.port.tell(_COMM, context=context, request=serial, flags=_NONBLOCKING)
    return real, request


def _idup_alone(layer: Layer, original: Any) -> Any:
    several = _constructor(_idup)(layer, original)

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        parent = layer.comms.get(self.handle)
        if parent is None or not alone(parent):
            return several(self, *args, **kwargs)
        real, request = original(self, *args, **kwargs)
        return register(layer, parent, real, parent.group, parent.remote, parent.shape), request

    return call


def _split(layer: Layer, original: Any, self: Any, parent: LiveComm, color: int = 0, key: int = 0) -> Any:
    real = original(self, color, key)
    return _partition(layer, parent, real, int(color), key)


def _partition(layer: Layer, parent: LiveComm, real: Any, color: object, key: int) -> Any:
    """Register the members of one colour, ordered by key, then by rank."""
    local, remote = agree(layer, parent, (color, int(key)))
    group = _of_color(parent.group, local, color)
    others = None if parent.remote is None else _of_color(parent.remote, remote, color)
    if real and others is not None and not others:
        layer.original("Comm", "Free")(real)
    return register(layer, parent, real, group, others)


def _of_color(members: Members, said: Sequence[tuple[object, int]], color: object) -> list[int]:
    chosen = [(key, rank) for rank, (its, key) in enumerate(said) if its == color]
    return [members[rank] for _, rank in sorted(chosen)]


def _split_type(
    layer: Layer, original: Any, self: Any, parent: LiveComm, split_type: int, key: int = 0, info: Any = None
) -> Any:
    mpi = layer.mpi
    real = original(self, split_type, key, mpi.INFO_NULL if info is None else info)
    # Ranks of a node share memory. The model has no smaller parts of a node, so every split type means the node.
    color = (int(split_type), layer.node if real else -1)
    return _partition(layer, parent, real, color, key)


def _create(layer: Layer, original: Any, self: Any, parent: LiveComm, group: Any) -> Any:
    members = layer.groups.members(group)
    if any(member not in parent.group for member in members):
        raise layer.mpi.Exception(layer.mpi.ERR_GROUP)
    _, remote = agree(layer, parent, members)
    others = None if parent.remote is None else next((each for each in remote if each), ())
    among = layer.port.rank in members and (others is None or len(others) > 0)
    real = original(self, _real_group(layer, self) if among else layer.mpi.GROUP_EMPTY)
    return register(layer, parent, real, members, others)


def _real_group(layer: Layer, self: Any) -> Any:
    return layer.original("Comm", "Get_group")(self)


def _create_group(layer: Layer, original: Any, self: Any, parent: LiveComm, group: Any, tag: int = 0) -> Any:
    members = layer.groups.members(group)
    if layer.port.rank not in members:
        return layer.mpi.Intracomm()
    real = original(self, _real_group(layer, self), tag)
    comm = layer.add(real, shared_key(layer, "Create_group", parent.key, int(tag), members), members)
    agree(layer, comm)
    return real


def _create_from_group(
    layer: Layer, cls: type, group: Any, stringtag: str = "org.mpi4py", info: Any = None, errhandler: Any = None
) -> Any:
    members = layer.groups.members(group)
    if layer.port.rank not in members:
        raise layer.mpi.Exception(layer.mpi.ERR_GROUP)
    real = layer.real_comm()
    comm = layer.add(real, shared_key(layer, "Create_from_group", stringtag, members), members)
    if errhandler is not None:
        real.Set_errhandler(errhandler)
    agree(layer, comm)
    return real


def shared_key(layer: Layer, *shared: object) -> str:
    """Derive a key from what the makers of a communicator share, and from a serial number of it."""
    return derive_key(shared, layer.next_serial(*shared))


def _create_cart(
    layer: Layer, original: Any, self: Any, parent: LiveComm, dims: Any, periods: Any = None, reorder: bool = False
) -> Any:
    grid = as_grid(layer.mpi, dims, periods)
    check_places(layer, parent, grid.size)
    agree(layer, parent)
    among = parent.rank < grid.size
    real = original(self, [1] * len(grid.dims), list(grid.periods)) if among else layer.mpi.Cartcomm()
    return register(layer, parent, real, parent.group[: grid.size], shape=grid)


def _create_graph(
    layer: Layer, original: Any, self: Any, parent: LiveComm, index: Any, edges: Any, reorder: bool = False
) -> Any:
    graph = as_graph(index, edges)
    check_places(layer, parent, graph.size)
    agree(layer, parent)
    among = parent.rank < graph.size
    # With one place the real library does everything on it; else the real graph only has the right class.
    one_place = graph.size == 1
    index, edges = ([0, graph.index[0]], graph.edges[: graph.index[0]]) if one_place else ([1], [0])
    real = original(self, index, edges) if among else layer.mpi.Graphcomm()
    return register(layer, parent, real, parent.group[: graph.size], shape=graph)


def _create_adjacent(
    layer: Layer, original: Any, self: Any, parent: LiveComm, sources: Any, destinations: Any,
    sourceweights: Any = None, destweights: Any = None, info: Any = None, reorder: bool = False,
) -> Any:  # fmt: skip
    ins, outs = (_ranks(layer, parent, () if each is None else each) for each in (sources, destinations))
    weights = _weights(layer.mpi, sourceweights, len(ins)), _weights(layer.mpi, destweights, len(outs))
    weighted = weights[0] is not None or weights[1] is not None
    given = (tuple(weights[0] or ()), tuple(weights[1] or ())) if weighted else None
    agree(layer, parent)
    return _distributed(layer, original, self, parent, Adjacency(tuple(ins), tuple(outs), given))


def _create_distributed(
    layer: Layer, _original: Any, self: Any, parent: LiveComm, sources: Any, degrees: Any, destinations: Any,
    weights: Any = None, info: Any = None, reorder: bool = False,
) -> Any:  # fmt: skip
    degrees = list(map(operator.index, degrees))
    dests = _ranks(layer, parent, destinations)
    if len(degrees) != len(sources) or len(dests) != sum(degrees):
        raise ValueError(f"expecting {sum(degrees)} items, got {len(dests)}")
    given = _weights(layer.mpi, weights, len(dests))
    edges = edges_of(_ranks(layer, parent, sources), degrees, dests, given)
    said, _ = agree(layer, parent, (edges, given is not None))
    shape = adjacency([edge for each, _ in said for edge in each], parent.rank, weighted=any(w for _, w in said))
    original = layer.original("Intracomm", "Create_dist_graph_adjacent")
    return _distributed(layer, original, self, parent, shape)


def _distributed(layer: Layer, original: Any, self: Any, parent: LiveComm, shape: Adjacency) -> Any:
    return register(layer, parent, original(self, [], []), parent.group, shape=shape)


def _ranks(layer: Layer, parent: LiveComm, ranks: Sequence[int]) -> list[int]:
    found = list(map(operator.index, ranks))
    if any(not 0 <= rank < len(parent.group) for rank in found):
        raise layer.mpi.Exception(layer.mpi.ERR_RANK)
    return found


def _weights(mpi: Any, weights: Any, degree: int) -> list[int] | None:
    if weights is None or (isinstance(weights, int) and weights == mpi.UNWEIGHTED):
        return None
    if isinstance(weights, int) and weights == mpi.WEIGHTS_EMPTY:
        if degree:
            raise ValueError("empty weights but nonzero degree")
        return []
    if len(weights) != degree:
        raise ValueError(f"expecting {degree} items, got {len(weights)}")
    return list(map(operator.index, weights))


def _sub(layer: Layer, original: Any, self: Any, parent: LiveComm, remain_dims: Any) -> Any:
    grid, kept = parent.shape, [bool(each) for each in remain_dims]
    assert isinstance(grid, Grid)
    if len(kept) != len(grid.dims):
        raise ValueError(f"expecting {len(grid.dims)} items, got {len(kept)}")
    real = original(self, kept)
    agree(layer, parent)
    group = [parent.group[rank] for rank in grid.slice_of(parent.rank, kept)]
    return register(layer, parent, real, group, shape=grid.sub(kept))


# -- the end of a communicator -------------------------------------------------------------------------------


def _free(layer: Layer, original: Any) -> Any:
    def call(self: Any) -> None:
        handle = self.handle
        if handle in layer.comms and layer.requests.hold(self):
            layer.set_handle(self, layer.mpi.COMM_NULL)
        else:
            original(self)
        if not self:
            layer.forget(handle)

    return call


# -- queries -------------------------------------------------------------------------------------------------


def _compare(layer: Layer, original: Any) -> Any:
    mpi, groups = layer.mpi, layer.groups

    def call(self: Any, comm: Any) -> int:
        one, other = layer.comms.get(self.handle), layer.comms.get(comm.handle)
        if one is None or other is None:
            return int(original(self, comm))
        if one is other:
            return int(mpi.IDENT)
        if (one.remote is None) != (other.remote is None):
            return int(mpi.UNEQUAL)
        alike = {groups.compare(one.group, other.group), groups.compare(one.remote or (), other.remote or ())}
        if alike == {mpi.IDENT}:
            return int(mpi.CONGRUENT)
        return int(mpi.UNEQUAL if mpi.UNEQUAL in alike else mpi.SIMILAR)

    return call


_DUP, _IDUP = _constructor(_dup), _idup_alone

CALLS: dict[tuple[str, str], Factory] = {
    ("Comm", "Clone"): _DUP,
    ("Comm", "Dup"): _DUP,
    ("Comm", "Dup_with_info"): _DUP,
    ("Comm", "Idup"): _IDUP,
    ("Comm", "Idup_with_info"): _IDUP,
    ("Comm", "Split"): _constructor(_split, real_alone=True),
    ("Comm", "Split_type"): _constructor(_split_type, real_alone=True),
    ("Comm", "Create"): _constructor(_create),
    ("Intracomm", "Create_group"): _constructor(_create_group),
    ("Intracomm", "Create_cart"): _constructor(_create_cart),
    ("Intracomm", "Create_graph"): _constructor(_create_graph),
    ("Intracomm", "Create_dist_graph_adjacent"): _constructor(_create_adjacent),
    ("Intracomm", "Create_dist_graph"): _constructor(_create_distributed),
    ("Cartcomm", "Sub"): _constructor(_sub),
    ("Comm", "Free"): _free,
    ("Comm", "Disconnect"): _free,
    ("Intracomm", "Create_from_group"): of_layer(_create_from_group),
}

QUERIES: dict[tuple[str, str], Factory] = {
    ("Comm", "Get_group"): of_comm(lambda layer, comm: layer.groups.make(comm.group)),
    ("Comm", "Compare"): _compare,
    ("Comm", "Is_inter"): of_comm(lambda _layer, comm: comm.remote is not None),
}
