"""Time every collective at several sizes (:mod:`.timing`).

``neighbours`` and ``both ways`` are the exchange of halos with two neighbours, as one call and as messages.

Last come short messages behind a long one, which shares a port with them: that of its sender, that of its receiver, or
both between the same ranks. The time of the short message's receiver counts.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI

sys.path.insert(0, str(Path(__file__).parents[3]))
from benchmarks.accuracy.collectives.timing import timed

comm = MPI.COMM_WORLD
RANKS, RANK = comm.size, comm.rank
#: Sizes of a vector or of a block, bytes.
SIZES = (8, 1024, 16384, 131072)
#: Size of a long message, bytes, and the computation after which a short one follows, CPU seconds here.
LONG, LATER = 1_000_000, 0.002
#: Ranks on other nodes than rank 0.
LAST, NEXT_TO_LAST = RANKS - 1, RANKS - 2
LEFT, RIGHT = (RANK - 1) % RANKS, (RANK + 1) % RANKS
OUT, INTO = (np.zeros(max(LONG, RANKS * SIZES[-1]), np.uint8) for _ in range(2))


def rounds(size: int) -> int:
    """Return the number of calls in a row."""
    return 8 if size < SIZES[-1] else 2


def _vectors(size: int) -> tuple[np.ndarray, np.ndarray]:
    return OUT[:size].view(np.float64), INTO[:size].view(np.float64)


def _blocks(size: int) -> tuple[np.ndarray, np.ndarray]:
    return OUT[: RANKS * size], INTO[: RANKS * size]


def _counted(size: int) -> tuple[tuple[np.ndarray, list[int]], tuple[np.ndarray, list[int]]]:
    out, into = _blocks(size)
    return (out, [size] * RANKS), (into, [size] * RANKS)


def _at_root(value: Any) -> Any:
    return value if RANK == 0 else None


def _neighbours(size: int) -> None:
    counts = [size * (rank in {LEFT, RIGHT}) for rank in range(RANKS)]
    out, into = _blocks(size)
    comm.Alltoallv((out, counts), (into, counts))


def _both_ways(size: int) -> None:
    receives = [comm.Irecv(INTO[i * size : (i + 1) * size], rank) for i, rank in enumerate((LEFT, RIGHT))]
    sends = [comm.Isend(OUT[i * size : (i + 1) * size], rank) for i, rank in enumerate((LEFT, RIGHT))]
    MPI.Request.Waitall(receives + sends)


def _behind_sending(size: int, dest: int) -> float:
    if RANK == 0:
        long = comm.Isend(OUT[:LONG], LAST)
        comm.Send(OUT[:size], dest)
        long.Wait()
    if RANK == LAST:
        long = comm.Irecv(INTO[:LONG], 0)
    if dest == RANK:
        comm.Recv(OUT[:size], 0)
    now = MPI.Wtime()
    if RANK == LAST:
        long.Wait()
    return now if dest == RANK else 0.0


def _behind_receiving(size: int) -> float:
    now = 0.0
    if RANK == LAST:
        comm.Send(OUT[:LONG], 0)
    if RANK == NEXT_TO_LAST:
        until = time.thread_time() + LATER
        while time.thread_time() < until:
            pass
        comm.Send(OUT[:size], 0)
    if RANK == 0:
        long = comm.Irecv(INTO[:LONG], LAST)
        comm.Recv(OUT[:size], NEXT_TO_LAST)
        now = MPI.Wtime()
        long.Wait()
    return now


#: Short messages behind a long one; each returns when the short one has been received, or 0 on other ranks.
BEHIND: dict[str, Callable[[int], float]] = {
    "behind 1 MB, sent by one rank": lambda size: _behind_sending(size, NEXT_TO_LAST),
    "behind 1 MB, received by one rank": _behind_receiving,
    "behind 1 MB, between the same ranks": lambda size: _behind_sending(size, LAST),
}
#: What each call does with a size. Only the barrier has none.
CALLS: dict[str, Callable[[int], object]] = {
    "barrier": lambda _: comm.Barrier(),
    "bcast": lambda size: comm.Bcast(OUT[:size]),
    "reduce": lambda size: comm.Reduce(_vectors(size)[0], _at_root(_vectors(size)[1])),
    "allreduce": lambda size: comm.Allreduce(*_vectors(size)),
    "scan": lambda size: comm.Scan(*_vectors(size)),
    "exscan": lambda size: comm.Exscan(*_vectors(size)),
    "gather": lambda size: comm.Gather(OUT[:size], _at_root(_blocks(size)[1])),
    "gatherv": lambda size: comm.Gatherv(OUT[:size], _at_root(_counted(size)[1])),
    "scatter": lambda size: comm.Scatter(_at_root(_blocks(size)[0]), INTO[:size]),
    "scatterv": lambda size: comm.Scatterv(_at_root(_counted(size)[0]), INTO[:size]),
    "allgather": lambda size: comm.Allgather(OUT[:size], _blocks(size)[1]),
    "allgatherv": lambda size: comm.Allgatherv(OUT[:size], _counted(size)[1]),
    "alltoall": lambda size: comm.Alltoall(*_blocks(size)),
    "alltoallv": lambda size: comm.Alltoallv(*_counted(size)),
    "reduce_scatter": lambda size: comm.Reduce_scatter(_blocks(size)[0].view(np.float64), _vectors(size)[1]),
    "reduce_scatter_block": lambda size: comm.Reduce_scatter_block(
        _blocks(size)[0].view(np.float64), _vectors(size)[1]
    ),
    "ibcast, wait": lambda size: comm.Ibcast(OUT[:size]).Wait(),
    "iallreduce, wait": lambda size: comm.Iallreduce(*_vectors(size)).Wait(),
    "iallgather, wait": lambda size: comm.Iallgather(OUT[:size], _blocks(size)[1]).Wait(),
    "ialltoall, wait": lambda size: comm.Ialltoall(*_blocks(size)).Wait(),
    "neighbours": _neighbours,
    "both ways": _both_ways,
}


def main() -> None:
    """Make all calls."""
    calls = [
        (name, size, rounds(size), CALLS[name]) for name in CALLS for size in (SIZES if name != "barrier" else (0,))
    ]
    timed("collectives", [*calls, *((name, size, 1, behind) for name, behind in BEHIND.items() for size in SIZES)])


if __name__ == "__main__":
    main()
