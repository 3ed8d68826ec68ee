"""A program that makes every collective call of mpi4py; the tests record it and run it live, and compare the times.

It also makes those of ``mpi4py.util.pkl5``, which send over mpi4py's own duplicate of a communicator.

Each call is made blocking, nonblocking and persistent, in place and not, on elements of several sizes, with MPI's own
operations and the program's, and with sizes on both sides of the thresholds between algorithms.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

#: A function that yields the argument lists of a call, from (MPI, communicator, elements of each block).
Arguments = Callable[[Any, Any, int], Iterator[tuple[Any, ...]]]
CASES: dict[str, Arguments] = {}
_ROOT = 2


def case(*names: str) -> Callable[[Arguments], Arguments]:
    """Return a decorator that adds a case for the calls with these names."""

    def added(function: Arguments) -> Arguments:
        CASES.update(dict.fromkeys(names, function))
        return function

    return added


def main() -> None:
    """Run the cases of the calls named on the command line, or of all calls."""
    from mpi4py import MPI  # noqa: PLC0415 - the tests read the list of cases without MPI

    for name in sys.argv[1:] or CASES:
        on = communicator(MPI.COMM_WORLD, name)
        for elements in (1, 3000):
            for arguments in CASES[name](MPI, on, elements):
                for begin in ways(on, name.rpartition(".")[2]):
                    begin(*arguments)


def communicator(world: Any, name: str) -> Any:
    """Return the communicator on which the call of a case is made."""
    from mpi4py.util import pkl5  # noqa: PLC0415

    if name.startswith("pkl5."):
        return pkl5.Intracomm(world)
    return world.Create_cart([world.size], [True]) if name.lower().startswith("neighbor") else world


def ways(comm: Any, name: str) -> Iterator[Callable[..., None]]:
    """Yield the ways to make and complete a call: blocking and, on buffers, also nonblocking and persistent."""
    yield getattr(comm, name)
    if name[0].islower():
        return
    yield lambda *arguments: getattr(comm, "I" + name[0].lower() + name[1:])(*arguments).Wait()

    def persistent(*arguments: Any) -> None:
        request = getattr(comm, name + "_init")(*arguments)
        request.Start()
        request.Wait()
        request.Free()

    yield persistent


def _buffers(elements: int) -> Iterator[Any]:
    """Yield functions that make arrays of this many elements, one for each element size."""
    import numpy as np  # noqa: PLC0415 - not where the tests only read the list of cases

    for kind in ("u1", "c16"):
        yield lambda blocks=1, kind=kind: np.zeros(elements * blocks, kind)


def _operations(mpi: Any) -> Iterator[Any]:
    def add(one: Any, other: Any, kind: Any) -> None:
        """Leave the operands as they are: the tests look at times, not at values."""

    yield mpi.SUM
    for commutes in (True, False):
        operation = mpi.Op.Create(add, commutes)
        yield operation
        operation.Free()


@case("Barrier", "barrier")
def _barrier(_mpi: Any, _comm: Any, _elements: int) -> Iterator[tuple[Any, ...]]:
    yield ()


@case("Bcast")
def _bcast(mpi: Any, _comm: Any, elements: int) -> Iterator[tuple[Any, ...]]:
    for make in _buffers(elements):
        yield make(), _ROOT
    column = mpi.DOUBLE.Create_vector(elements, 1, 2).Commit()
    yield [next(_buffers(16 * elements))(), 1, column], 0
    column.Free()


@case("Gather", "Scatter")
def _rooted(_mpi: Any, comm: Any, elements: int) -> Iterator[tuple[Any, ...]]:
    for make in _buffers(elements):
        # Both arrays have the size of a gather's receive buffer and of a scatter's send buffer.
        yield [make(comm.size), elements], [make(comm.size), elements], _ROOT


@case("Gatherv")
def _gatherv(_mpi: Any, comm: Any, elements: int) -> Iterator[tuple[Any, ...]]:
    for make in _buffers(elements):
        counts = [elements * rank for rank in range(comm.size)]
        yield [make(comm.size), counts[comm.rank]], [make(comm.size * comm.size), counts], 1


@case("Scatterv")
def _scatterv(_mpi: Any, comm: Any, elements: int) -> Iterator[tuple[Any, ...]]:
    for make in _buffers(elements):
        counts = [elements * rank for rank in range(comm.size)]
        yield [make(comm.size * comm.size), counts], [make(comm.size), counts[comm.rank]], 1


@case("Allgather", "Alltoall")
def _all(mpi: Any, comm: Any, elements: int) -> Iterator[tuple[Any, ...]]:
    for make in _buffers(elements):
        yield [make(comm.size), elements], [make(comm.size), elements]
        yield mpi.IN_PLACE, [make(comm.size), elements]


@case("Allgatherv")
def _allgatherv(mpi: Any, comm: Any, elements: int) -> Iterator[tuple[Any, ...]]:
    for make in _buffers(elements):
        counts = [elements * rank for rank in range(comm.size)]
        yield [make(comm.size), counts[comm.rank]], [make(comm.size * comm.size), counts]
        yield mpi.IN_PLACE, [make(comm.size * comm.size), counts]


@case("Alltoallv")
def _alltoallv(mpi: Any, comm: Any, elements: int) -> Iterator[tuple[Any, ...]]:
    for make in _buffers(elements):
        counts = [elements * (rank + comm.rank) for rank in range(comm.size)]  # equal for both ranks of a pair
        yield [make(2 * comm.size**2), counts], [make(2 * comm.size**2), counts]
        yield mpi.IN_PLACE, [make(2 * comm.size**2), counts]


@case("Alltoallw")
def _alltoallw(mpi: Any, comm: Any, elements: int) -> Iterator[tuple[Any, ...]]:
    size = comm.size
    for make in _buffers(8 * elements):
        side = [make(size), [elements] * size, [8 * elements * rank for rank in range(size)], [mpi.DOUBLE] * size]
        yield side, [make(size), *side[1:]]
        yield mpi.IN_PLACE, [make(size), *side[1:]]
        return


@case("Reduce")
def _reduce(mpi: Any, comm: Any, elements: int) -> Iterator[tuple[Any, ...]]:
    for make in _buffers(elements):
        for operation in _operations(mpi):
            yield make(), make(), operation, _ROOT
            yield (mpi.IN_PLACE if comm.rank == _ROOT else make()), make(), operation, _ROOT


@case("Allreduce", "Scan", "Exscan")
def _allreduce(mpi: Any, _comm: Any, elements: int) -> Iterator[tuple[Any, ...]]:
    for make in _buffers(elements):
        for operation in _operations(mpi):
            yield make(), make(), operation
            yield mpi.IN_PLACE, make(), operation


@case("Reduce_scatter_block")
def _reduce_scatter_block(mpi: Any, comm: Any, elements: int) -> Iterator[tuple[Any, ...]]:
    for make in _buffers(elements):
        for operation in _operations(mpi):
            yield make(comm.size), make(), operation


@case("Reduce_scatter")
def _reduce_scatter(mpi: Any, comm: Any, elements: int) -> Iterator[tuple[Any, ...]]:
    for make in _buffers(elements):
        for operation in _operations(mpi):
            for counts in ([elements] * comm.size, [2 * elements * (rank % 2) for rank in range(comm.size)]):
                total = next(_buffers(sum(counts)))().astype(make().dtype)
                for given in (counts, None):
                    yield total, make(2)[: counts[comm.rank]], given, operation


@case("Neighbor_allgather")
def _neighbor_allgather(_mpi: Any, _comm: Any, elements: int) -> Iterator[tuple[Any, ...]]:
    for make in _buffers(elements):
        yield make(), make(2)


@case("Neighbor_allgatherv")
def _neighbor_allgatherv(_mpi: Any, _comm: Any, elements: int) -> Iterator[tuple[Any, ...]]:
    for make in _buffers(elements):
        yield make(), [make(2), [elements, elements]]


@case("Neighbor_alltoall")
def _neighbor_alltoall(_mpi: Any, _comm: Any, elements: int) -> Iterator[tuple[Any, ...]]:
    for make in _buffers(elements):
        yield make(2), make(2)


@case("Neighbor_alltoallv")
def _neighbor_alltoallv(_mpi: Any, _comm: Any, elements: int) -> Iterator[tuple[Any, ...]]:
    for make in _buffers(elements):
        yield [make(2), [elements, elements]], [make(2), [elements, elements]]


@case("Neighbor_alltoallw")
def _neighbor_alltoallw(mpi: Any, _comm: Any, elements: int) -> Iterator[tuple[Any, ...]]:
    for make in _buffers(8 * elements):
        side = [make(2), [elements] * 2, [0, 8 * elements], [mpi.DOUBLE] * 2]
        yield side, [make(2), *side[1:]]
        return


@case("bcast", "gather", "allgather", "pkl5.bcast", "pkl5.gather", "pkl5.allgather")
def _one_object(_mpi: Any, _comm: Any, elements: int) -> Iterator[tuple[Any, ...]]:
    yield (bytes(elements),)


@case("scatter", "alltoall", "pkl5.scatter", "pkl5.alltoall")
def _objects(_mpi: Any, comm: Any, elements: int) -> Iterator[tuple[Any, ...]]:
    yield ([bytes(elements * rank) for rank in range(comm.size)],)


@case("reduce", "allreduce", "scan", "exscan")
def _reduced_objects(_mpi: Any, _comm: Any, elements: int) -> Iterator[tuple[Any, ...]]:
    yield (bytes(elements), max)


@case("neighbor_allgather")
def _neighbor_object(_mpi: Any, _comm: Any, elements: int) -> Iterator[tuple[Any, ...]]:
    yield (bytes(elements),)


@case("neighbor_alltoall")
def _neighbor_objects(_mpi: Any, _comm: Any, elements: int) -> Iterator[tuple[Any, ...]]:
    yield ([bytes(elements)] * 2,)


if __name__ == "__main__":
    main()
