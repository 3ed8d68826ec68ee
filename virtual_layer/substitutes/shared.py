"""Windows of shared memory: one block that all ranks of a node see, and queries of each other's part."""

from __future__ import annotations

import ctypes
from itertools import accumulate
from operator import index
from typing import TYPE_CHECKING, Any

from virtual_layer.substitutes.factories import Factory
from virtual_layer.substitutes.making import agree
from virtual_layer.substitutes.meeting import alone
from virtual_layer.substitutes.windows import Region, Window, Windows, of_window

if TYPE_CHECKING:
    from virtual_layer.substitutes.layer import Layer


#: Least size of a block, bytes, so that a window without memory has one, too.
_LEAST = 1


def _allocate_shared(layer: Layer, original: Any) -> Any:
    windows = layer.only(Windows)

    def call(cls: type, size: int, disp_unit: int = 1, info: Any = None, comm: Any = None) -> Any:
        mpi = layer.mpi
        # The kernel passes on Python's integers, not numpy's.
        size, disp_unit = index(size), index(disp_unit)
        known = layer.comm_of(mpi.COMM_SELF if comm is None else comm)
        info = mpi.INFO_NULL if info is None else info
        if alone(known):
            return original(cls, size, disp_unit, info, mpi.COMM_SELF)
        said, _ = agree(layer, known, (size, layer.node))
        if len({node for _, node in said}) > 1:
            raise mpi.Exception(mpi.ERR_RMA_SHARED)
        ends = list(accumulate(each for each, _ in said))
        readers = len(known.group)
        block = layer.port.block(max(ends[-1], _LEAST), readers) if known.rank == 0 else None
        block = agree(layer, known, block)[0][0]
        mine = layer.port.view(block)[ends[known.rank] - size : ends[known.rank]]
        real = layer.original("Win", "Create")(cls, mine if size else None, disp_unit, info, mpi.COMM_SELF)
        region = Region(_address(layer, block) + ends[known.rank] - size, size, disp_unit)
        windows.open(known, real, region, mpi.WIN_FLAVOR_SHARED)
        windows.by_handle[real.handle].block = block
        windows.by_handle[real.handle].starts = [end - each for end, (each, _) in zip(ends, said, strict=True)]
        return real

    return call


def _address(layer: Layer, block: Any) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(layer.port.view(block)))


def _query(layer: Layer, window: Window, rank: int) -> tuple[Any, int]:
    """Return the memory of a member as this rank sees it; of other windows only its own."""
    mpi = layer.mpi
    if rank == mpi.PROC_NULL:
        rank = next((at for at, region in enumerate(window.regions) if region.room), 0)
    if not 0 <= rank < len(window.regions):
        raise mpi.Exception(mpi.ERR_RANK)
    region = window.regions[rank]
    if window.block is not None:
        base = _address(layer, window.block) + window.starts[rank]
        return mpi.memory.fromaddress(base, region.room), region.unit
    if rank == window.comm.rank:
        return mpi.memory.fromaddress(region.base, region.room), region.unit
    return mpi.memory.fromaddress(0, 0), region.unit


def _attribute(layer: Layer, original: Any) -> Any:
    windows = layer.only(Windows)

    def call(self: Any, keyval: int) -> Any:
        window = windows.by_handle.get(self.handle)
        if window is not None and keyval == layer.mpi.WIN_CREATE_FLAVOR:
            return window.flavor
        return original(self, keyval)

    return call


CALLS: dict[tuple[str, str], Factory] = {("Win", "Allocate_shared"): _allocate_shared}

QUERIES: dict[tuple[str, str], Factory] = {
    ("Win", "Shared_query"): of_window(_query),
    ("Win", "flavor"): of_window(lambda _layer, window: window.flavor),
    ("Win", "Get_attr"): _attribute,
}
