"""Neighbourhood collectives on buffers in a rank process: blocks along the edges of a topology."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from clue.trace.ops import PROC_NULL, Op
from virtual_layer.substitutes.blocks import BlockForm
from virtual_layer.substitutes.contributions import Contribution, Reader, ways
from virtual_layer.substitutes.factories import Factory, of_comm
from virtual_layer.substitutes.shapes import Grid

if TYPE_CHECKING:
    from virtual_layer.substitutes.comms import LiveComm
    from virtual_layer.substitutes.layer import Layer

_EQUAL, _VECTOR, _TYPED = BlockForm.EQUAL, BlockForm.VECTOR, BlockForm.TYPED


def edges(comm: LiveComm) -> tuple[list[int], list[int]]:
    """Return sources and destinations of this rank in the topology of a communicator."""
    assert comm.shape is not None
    return comm.shape.neighbors(comm.rank)


def neighborhood(
    comm: LiveComm, payloads: Sequence[Any], sizes: Sequence[int], deliver: Callable[[list[Any]], None]
) -> Contribution:
    """Return the part of a neighbourhood collective: a block for each destination; null ones take no part."""
    sources, destinations = edges(comm)
    out = [(dest, size, load) for dest, size, load in zip(destinations, sizes, payloads, strict=True) if dest >= 0]
    real = [source for source in sources if source >= 0]
    listed = [len(out), *(dest for dest, _, _ in out), *(size for _, size, _ in out), len(real), *real]

    def spread(answer: list[Any] | None) -> None:
        blocks = iter([] if answer is None else answer)
        come = [next(blocks) if source >= 0 else None for source in sources]
        if isinstance(comm.shape, Grid):
            # Both neighbours along a dimension can be one rank: what it sends down comes from above
            # (MPI 4.1, example 8.10).
            for down in range(0, len(come), 2):
                if sources[down] == sources[down + 1]:
                    come[down : down + 2] = come[down + 1], come[down]
        deliver(come)

    nbytes = sum(size for _, size, _ in out)
    return Contribution(comm, Op.NEIGHBOR, PROC_NULL, nbytes, listed, [load for _, _, load in out], spread)


def _neighbor_allgathering(form: BlockForm) -> Reader:
    def read(layer: Layer, comm: LiveComm, sendbuf: Any, recvbuf: Any) -> Contribution:
        destinations = edges(comm)[1]
        blocks = [layer.blocks.pack(sendbuf) if dest >= 0 else None for dest in destinations]
        sizes = [layer.blocks.size(sendbuf)] * len(destinations)
        return neighborhood(comm, blocks, sizes, lambda answer: layer.blocks.join(recvbuf, answer, form))

    return read


def _neighbor_exchange(form: BlockForm) -> Reader:
    def read(layer: Layer, comm: LiveComm, sendbuf: Any, recvbuf: Any) -> Contribution:
        sent = [dest >= 0 for dest in edges(comm)[1]]
        blocks, sizes = layer.blocks.split(sendbuf, len(sent), form, sent), layer.blocks.sizes(sendbuf, len(sent), form)
        return neighborhood(comm, blocks, sizes, lambda answer: layer.blocks.join(recvbuf, answer, form))

    return read


_READERS: dict[str, Reader] = {
    "Neighbor_allgather": _neighbor_allgathering(_EQUAL),
    "Neighbor_allgatherv": _neighbor_allgathering(_VECTOR),
    "Neighbor_alltoall": _neighbor_exchange(_EQUAL),
    "Neighbor_alltoallv": _neighbor_exchange(_VECTOR),
    "Neighbor_alltoallw": _neighbor_exchange(_TYPED),
}


CALLS: dict[tuple[str, str], Factory] = ways("Topocomm", _READERS, of_comm)  # one rank alone may be its own neighbour
