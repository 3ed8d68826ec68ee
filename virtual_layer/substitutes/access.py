"""Operations on windows in a rank process: their arguments, and the data that travel to the target and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from virtual_layer.substitutes.factories import Factory
from virtual_layer.substitutes.windows import (
    ACCUMULATE,
    GET,
    PUT,
    SWAP,
    Region,
    RemoteAccess,
    RemotePlace,
    Window,
    Windows,
    of_window,
)

if TYPE_CHECKING:
    from virtual_layer.substitutes.layer import Layer


# -- arguments --------------------------------------------------------------------------------------------------


def _aim(layer: Layer, window: Window, origin: Any, target_rank: int, target: Any) -> RemotePlace | None:
    """Return where an operation acts at its target; ``None`` if the target is MPI_PROC_NULL."""
    mpi, blocks = layer.mpi, layer.blocks
    if target_rank == mpi.PROC_NULL:
        return None
    if not 0 <= target_rank < len(window.comm.group):
        raise mpi.Exception(mpi.ERR_RANK)
    given = [] if target is None else list(target) if isinstance(target, list | tuple) else [target]
    if len(given) > 3:
        raise ValueError("target: expecting 3 items at most")
    kind = blocks.kind(origin)
    size = kind.Get_size()
    displacement = int(given[0]) if given else 0
    count = int(given[1]) if len(given) > 1 else (blocks.size(origin) // size if size else 0)
    if len(given) > 2:
        kind = given[2] if not isinstance(given[2], str) else mpi._typedict[given[2]]
    return _located(mpi, window.regions[target_rank], displacement, count, kind)


def _located(mpi: Any, region: Region, displacement: int, count: int, kind: Any) -> RemotePlace:
    begin = displacement * region.unit
    low, extent = kind.Get_true_extent()
    end = begin + low + extent + (count - 1) * kind.Get_extent()[1] if count else begin
    if displacement < 0 or end > region.room:
        raise mpi.Exception(mpi.ERR_RMA_RANGE)
    return RemotePlace(region.base + begin, count, kind)


def _operation(mpi: Any, op: Any) -> int:
    op = mpi.SUM if op is None else op
    if not op.is_predefined:
        raise mpi.Exception(mpi.ERR_OP)
    return int(op.handle)


def _check_single(layer: Layer, **buffers: Any) -> None:
    """Refuse what mpi4py refuses: atomics act on one element of one datatype."""
    kinds = []
    for name, buffer in buffers.items():
        kind = layer.blocks.kind(buffer)
        count = layer.blocks.size(buffer) // max(kind.Get_size(), 1)
        if count != 1:
            raise ValueError(f"{name}: expecting a single element, got {count}")
        kinds.append(kind)
    if any(kind != kinds[0] for kind in kinds):
        raise ValueError("mismatch in origin and result MPI datatypes")


# -- operations: each returns what to send, or None if there is no target ------------------------------------------


def _put(layer: Layer, window: Window, origin: Any, target_rank: int, target: Any = None) -> RemoteAccess | None:
    where = _aim(layer, window, origin, target_rank, target)
    return None if where is None else RemoteAccess(target_rank, PUT, where, layer.blocks.pack(origin))


def _get(layer: Layer, window: Window, origin: Any, target_rank: int, target: Any = None) -> RemoteAccess | None:
    where = _aim(layer, window, origin, target_rank, target)
    if where is None:
        return None
    return RemoteAccess(target_rank, GET, where, None, where.nbytes, lambda reply: layer.blocks.unpack(origin, reply))


def _accumulate(
    layer: Layer, window: Window, origin: Any, target_rank: int, target: Any = None, op: Any = None
) -> RemoteAccess | None:
    where = _aim(layer, window, origin, target_rank, target)
    if where is None:
        return None
    return RemoteAccess(target_rank, ACCUMULATE, where, layer.blocks.pack(origin), extra=_operation(layer.mpi, op))


def _get_accumulate(
    layer: Layer, window: Window, origin: Any, result: Any, target_rank: int, target: Any = None, op: Any = None
) -> RemoteAccess | None:
    where = _aim(layer, window, origin, target_rank, target)
    if where is None:
        return None
    return RemoteAccess(
        target_rank, ACCUMULATE, where, layer.blocks.pack(origin), where.nbytes,
        lambda reply: layer.blocks.unpack(result, reply), _operation(layer.mpi, op),
    )  # fmt: skip


def _fetch_and_op(
    layer: Layer, window: Window, origin: Any, result: Any, target_rank: int, target_disp: int = 0, op: Any = None
) -> RemoteAccess | None:
    if target_rank != layer.mpi.PROC_NULL:
        _check_single(layer, origin=origin, result=result)
    return _get_accumulate(layer, window, origin, result, target_rank, target_disp, op)


def _compare_and_swap(
    layer: Layer, window: Window, origin: Any, compare: Any, result: Any, target_rank: int, target_disp: int = 0
) -> RemoteAccess | None:
    if target_rank == layer.mpi.PROC_NULL:
        return None
    _check_single(layer, origin=origin, compare=compare, result=result)
    where = _aim(layer, window, origin, target_rank, target_disp)
    assert where is not None
    return RemoteAccess(
        target_rank, SWAP, where, layer.blocks.pack(origin), where.nbytes,
        lambda reply: layer.blocks.unpack(result, reply), bytes(layer.blocks.pack_inline(compare)),
    )  # fmt: skip


# -- with and without a request --------------------------------------------------------------------------------------


def _operates(read: Callable[..., RemoteAccess | None]) -> Factory:
    """Make the factory of an operation that completes at the end of the epoch."""

    def act(layer: Layer, window: Window, *args: Any, **kwargs: Any) -> None:
        order = read(layer, window, *args, **kwargs)
        if order is not None:
            layer.only(Windows).act(window, order)

    return of_window(act)


def _requests(read: Callable[..., RemoteAccess | None]) -> Factory:
    """Make the factory of an operation with a request, for which the program waits."""

    def act(layer: Layer, window: Window, *args: Any, **kwargs: Any) -> Any:
        order = read(layer, window, *args, **kwargs)
        if order is None:
            return layer.requests.begin_complete()
        return layer.only(Windows).act_with_request(window, order)

    return of_window(act)


CALLS: dict[tuple[str, str], Factory] = {
    ("Win", "Put"): _operates(_put),
    ("Win", "Get"): _operates(_get),
    ("Win", "Accumulate"): _operates(_accumulate),
    ("Win", "Get_accumulate"): _operates(_get_accumulate),
    ("Win", "Fetch_and_op"): _operates(_fetch_and_op),
    ("Win", "Compare_and_swap"): _operates(_compare_and_swap),
    ("Win", "Rput"): _requests(_put),
    ("Win", "Rget"): _requests(_get),
    ("Win", "Raccumulate"): _requests(_accumulate),
    ("Win", "Rget_accumulate"): _requests(_get_accumulate),
}
