"""A program that makes every call on intercommunicators; the tests record it and run it live, and compare the times.

Groups of one and two ranks, on both sides; each rank is a root once. Sizes are on both sides of the thresholds between
algorithms.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

#: A function that makes some calls, from (MPI, an intercommunicator, elements of a block).
Calls = Callable[[Any, Any, int], None]
CASES: dict[str, Calls] = {}
_BUFFERS = (
    "Barrier", "Bcast", "Gather", "Gatherv", "Scatter", "Scatterv", "Reduce", "Allgather", "Allgatherv", "Alltoall",
    "Alltoallv", "Alltoallw", "Allreduce", "Reduce_scatter_block", "Reduce_scatter",
)  # fmt: skip
_OBJECTS = ("barrier", "bcast", "gather", "scatter", "reduce", "allgather", "alltoall", "allreduce")


def main() -> None:
    """Run the cases named on the command line, or all."""
    from mpi4py import MPI  # noqa: PLC0415 - the tests read the list of cases without MPI

    world: Any = MPI.COMM_WORLD
    half = world.Split(world.rank == 0, 0)
    bridge = half.Create_intercomm(0, world, 1 if world.rank == 0 else 0, 7)
    for name in sys.argv[1:] or CASES:
        for elements in (1, 3000):
            CASES[name](MPI, bridge, elements)


def _roots(mpi: Any, bridge: Any) -> list[tuple[int, bool]]:
    """Return, for each rank of both groups as the root, what this rank gives as root, and whether it has data."""
    mine, others = bridge.Get_size(), bridge.Get_remote_size()
    ours = [(mpi.ROOT if root == bridge.rank else mpi.PROC_NULL, False) for root in range(mine)]
    theirs = [(root, True) for root in range(others)]
    return [*ours, *theirs] if _is_first(bridge) else [*theirs, *ours]


def _is_first(bridge: Any) -> bool:
    """Tell whether this rank's group is the one whose roots come first: that of one rank."""
    return bool(bridge.Get_size() == 1)


def _buffer_calls(name: str) -> Calls:
    def calls(mpi: Any, bridge: Any, elements: int) -> None:
        for arguments in _arguments(mpi, bridge, name, elements):
            getattr(bridge, name)(*arguments)
            if name != "Bcast":  # MPICH 5.0's own Ibcast between groups does not end
                getattr(bridge, "I" + name[0].lower() + name[1:])(*arguments).Wait()
            request = getattr(bridge, name + "_init")(*arguments)
            for _ in range(2):
                request.Start()
                request.Wait()
            request.Free()

    return calls


def _arguments(mpi: Any, bridge: Any, name: str, elements: int) -> list[tuple[Any, ...]]:
    import numpy as np  # noqa: PLC0415 - not where the tests only read the list of cases

    others = bridge.Get_remote_size()
    one, several = np.zeros(elements), np.zeros(elements * others)
    counts = [elements] * others
    blocks = [several, (counts, [elements * i for i in range(others)]), mpi.DOUBLE]
    typed = [several, counts, [8 * elements * i for i in range(others)], [mpi.DOUBLE] * others]
    rooted: dict[str, Callable[[int, bool], tuple[Any, ...]]] = {
        "Bcast": lambda root, data: (one if data or root == mpi.ROOT else None, root),
        "Gather": lambda root, data: (one if data else None, None if data else several, root),
        "Gatherv": lambda root, data: (one if data else None, None if data else blocks, root),
        "Scatter": lambda root, data: (None if data else several, one if data else None, root),
        "Scatterv": lambda root, data: (None if data else blocks, one if data else None, root),
        "Reduce": lambda root, data: (one if data else None, None if data else one, mpi.SUM, root),
    }
    if name in rooted:
        return [rooted[name](*each) for each in _roots(mpi, bridge)]
    # Both groups reduce as many elements in all: two for each element of a block.
    whole, own = np.zeros(2 * elements), np.zeros(2 * elements // bridge.Get_size())
    unrooted: dict[str, list[tuple[Any, ...]]] = {
        "Barrier": [()],
        "Allgather": [(one, several)],
        "Allgatherv": [(one, blocks)],
        "Alltoall": [(several.copy(), several)],
        "Alltoallv": [(blocks, [several.copy(), *blocks[1:]])],
        "Alltoallw": [(typed, [several.copy(), *typed[1:]])],
        "Allreduce": [(one, one.copy())],
        "Reduce_scatter_block": [(whole, own)],
        "Reduce_scatter": [(whole, own, [len(own)] * bridge.Get_size())],
    }
    return unrooted[name]


def _object_calls(name: str) -> Calls:
    def calls(mpi: Any, bridge: Any, elements: int) -> None:
        call, others, thing = getattr(bridge, name), bridge.Get_remote_size(), bytes(8 * elements)
        if name == "barrier":
            call()
        elif name in {"allgather", "allreduce"}:
            call(thing)
        elif name == "alltoall":
            call([thing] * others)
        else:
            for root, data in _roots(mpi, bridge):
                given: Any = thing if data == (name in {"gather", "reduce"}) else None
                if name == "scatter" and root == mpi.ROOT:
                    given = [thing] * others
                call(given, *([mpi.SUM] if name == "reduce" else []), root)

    return calls


def _making(mpi: Any, bridge: Any, elements: int) -> None:
    """Make communicators of an intercommunicator, and of groups, and use them."""
    world = mpi.COMM_WORLD
    copy = bridge.Dup()
    other, request = bridge.Idup()
    request.Wait()
    for each in (copy, other):
        each.Barrier()
        each.Free()
    for high in (False, True):
        whole = bridge.Merge(high=high == _is_first(bridge))
        whole.allgather(elements)
        whole.Free()
    split = bridge.Split(0, bridge.rank)
    split.Barrier()
    split.Free()
    group = world.group.Incl([2, 0])
    some = world.Create_group(group, 3)
    if some:
        some.bcast(elements)
        some.Free()
    if world.rank != 1:
        some = mpi.Intracomm.Create_from_group(group, "two")
        some.Barrier()
        some.Free()
    group.Free()


CASES.update({name: _buffer_calls(name) for name in _BUFFERS})
CASES.update({name: _object_calls(name) for name in _OBJECTS})
CASES["Merge"] = _making


if __name__ == "__main__":
    main()
