"""Times patterns of messages and of one-sided operations at several sizes (:mod:`.timing`).

Each is made once after a barrier. Ranks beyond the fourth have no part in some of them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI

sys.path.insert(0, str(Path(__file__).parents[3]))
from benchmarks.accuracy.collectives.timing import timed

comm = MPI.COMM_WORLD
RANKS, RANK = comm.size, comm.rank
LEFT, RIGHT = (RANK - 1) % RANKS, (RANK + 1) % RANKS
#: Sizes of the data, bytes.
SIZES = (1024, 8192, 65536, 262144)
#: Operations in a row, pieces of a pipeline, rounds of small messages.
SEVERAL, PIECES, ROUNDS = 5, 8, 10
HEADER = 16
OUT, INTO, MEMORY = (np.zeros(SEVERAL * RANKS * SIZES[-1], np.uint8) for _ in range(3))
WINDOW = MPI.Win.Create(MEMORY, 1, comm=comm)
WINDOW.Lock_all()

Requests = list[MPI.Request]


def _out(nbytes: int) -> Any:
    return OUT[:nbytes]


def _into(nbytes: int, at: int = 0) -> Any:
    return INTO[at * SIZES[-1] :][:nbytes]


# --- messages ---


def _header_first(size: int) -> None:
    sends = [comm.Isend(_out(HEADER), RIGHT, 1), comm.Isend(_out(size), RIGHT, 2)]
    comm.Recv(_into(HEADER), LEFT, 1)
    comm.Recv(_into(size), LEFT, 2)
    MPI.Request.Waitall(sends)


def _header_alone(size: int) -> float:
    now = 0.0
    if RANK == 0:
        MPI.Request.Waitall([comm.Isend(_out(HEADER), 1, 1), comm.Isend(_out(size), 1, 2)])
    elif RANK == 1:
        data = comm.Irecv(_into(size, 1), 0, 2)
        comm.Recv(_into(HEADER), 0, 1)
        now = MPI.Wtime()
        data.Wait()
    return now


def _share(size: int, rank: int) -> int:
    return size >> 2 * (rank - 1)


def _gather_different(size: int) -> None:
    if RANK == 0:
        MPI.Request.Waitall([comm.Irecv(_into(_share(size, rank), rank), rank) for rank in (1, 2, 3)])
    elif RANK < 4:
        comm.Send(_out(_share(size, RANK)), 0)


def _scatter_different(size: int) -> None:
    if RANK == 0:
        MPI.Request.Waitall([comm.Isend(_out(_share(size, rank)), rank) for rank in (1, 2, 3)])
    elif RANK < 4:
        comm.Recv(_into(_share(size, RANK)), 0)


def _talk_beside(size: int) -> None:
    if RANK == 0:
        comm.Send(_out(size), 1)
    elif RANK == 1:
        long = comm.Irecv(_into(size), 0)
        for _ in range(ROUNDS):
            comm.Recv(_into(8, 1), 2)
            comm.Send(_out(8), 2)
        long.Wait()
    elif RANK == 2:
        for _ in range(ROUNDS):
            comm.Send(_out(8), 1)
            comm.Recv(_into(8), 1)


def _pipeline(size: int) -> None:
    piece = size // PIECES
    for at in range(PIECES):
        if RANK:
            comm.Recv(_into(piece, at % RANKS), RANK - 1)
        if RANK < RANKS - 1:
            comm.Send(_out(piece), RANK + 1)


def _exchange(size: int) -> None:
    receives = [comm.Irecv(_into(size, at), rank, at) for at, rank in enumerate((LEFT, RIGHT))]
    sends = [comm.Isend(_out(size), rank, at) for at, rank in enumerate((RIGHT, LEFT))]
    MPI.Request.Waitall(receives + sends)


def _token_beside(size: int) -> None:
    ring = [comm.Irecv(_into(size), LEFT, 1), comm.Isend(_out(size), RIGHT, 1)]
    if RANK == 0:
        comm.Send(_out(8), LEFT, 2)
        comm.Recv(_into(8, 1), RIGHT, 2)
    else:
        comm.Recv(_into(8, 1), RIGHT, 2)
        comm.Send(_out(8), LEFT, 2)
    MPI.Request.Waitall(ring)


def _shifts(size: int) -> None:
    for by in range(1, RANKS):
        comm.Sendrecv(_out(size), (RANK + by) % RANKS, 0, _into(size), (RANK - by) % RANKS)


def _pieces(size: int) -> None:
    piece = size // PIECES
    if RANK == 0:
        MPI.Request.Waitall([comm.Isend(_out(piece), rank) for _ in range(PIECES) for rank in range(1, RANKS)])
    else:
        for _ in range(PIECES):
            comm.Recv(_into(piece), 0)


def _objects(size: int) -> None:
    if RANK == 0:
        for rank in range(1, RANKS):
            comm.send(bytes(size), rank)
        for rank in range(1, RANKS):
            comm.recv(source=rank)
    else:
        comm.send(len(comm.recv(source=0)), 0)


# --- one-sided operations: what an origin begins, it waits for ---


def _get(size: int, target: int, at: int = 0) -> None:
    for each in range(SEVERAL):
        WINDOW.Get(_into(size, at + each), target, target=each * size)


def _put(size: int, target: int, at: int = 0) -> None:
    for each in range(SEVERAL):
        WINDOW.Put(_out(size), target, target=(at + each) * size)


def _one_sided(*parts: tuple[int, Callable[[int], None]]) -> Callable[[int], None]:
    """Return a pattern of what single ranks do, each in the memory of others."""

    def pattern(size: int) -> None:
        mine = [part for rank, part in parts if rank == RANK]
        for part in mine:
            part(size)
        if mine:
            WINDOW.Flush_all()

    return pattern


def _get_in_ring(size: int) -> None:
    _get(size, RIGHT)
    WINDOW.Flush_all()


PATTERNS: dict[str, Callable[[int], object]] = {
    "header and data, in a ring": _header_first,
    "header before data": _header_alone,
    "different sizes to one rank": _gather_different,
    "different sizes from one rank": _scatter_different,
    "small messages beside a long one": _talk_beside,
    "pipeline of 8 pieces": _pipeline,
    "exchange with both neighbours": _exchange,
    "token against a ring": _token_beside,
    "shifts by all distances": _shifts,
    "8 pieces to each rank": _pieces,
    "objects out and back": _objects,
    "5 gets by two from one": _one_sided((1, lambda size: _get(size, 0)), (2, lambda size: _get(size, 0))),
    "5 gets by one from two": _one_sided((0, lambda size: _get(size, 1)), (0, lambda size: _get(size, 2, SEVERAL))),
    "5 gets from each other": _one_sided((0, lambda size: _get(size, 1)), (1, lambda size: _get(size, 0))),
    "5 gets in a ring": _get_in_ring,
    "5 gets and 5 puts": _one_sided((0, lambda size: _get(size, 1)), (0, lambda size: _put(size, 1, SEVERAL))),
    "5 gets beside 5 puts": _one_sided((1, lambda size: _get(size, 0)), (2, lambda size: _put(size, 0, SEVERAL))),
}


def main() -> None:
    """Make all patterns."""
    timed("patterns", [(name, size, 1, pattern) for name, pattern in PATTERNS.items() for size in SIZES])
    WINDOW.Unlock_all()
    WINDOW.Free()


if __name__ == "__main__":
    main()
