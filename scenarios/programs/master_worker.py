"""A matrix product handed out row block by row block: whoever is done gets the next one.

    mpiexec -n 4 python master_worker.py --n 800         run it (3 workers)
    clue record -n 4 master_worker.py --n 800            record it as master_worker.clue

Rank 0 is the master. It receives from ANY_SOURCE, so who computes what depends on speed: a trace keeps the
hand-out as it was recorded, while ``clue run`` lets the simulated machine decide.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
from mpi4py import MPI

STOP = 0  # as a tag; block i travels with tag i + 1


def serve(comm: MPI.Intracomm, left: np.ndarray, rows: int) -> tuple[np.ndarray, list[int]]:
    """Hand out the blocks of rows of the left factor; return the product and the blocks done by each rank."""
    blocks = [left[i : i + rows] for i in range(0, len(left), rows)]
    product, done, status = np.empty_like(left), [0] * comm.size, MPI.Status()
    part = np.empty((rows, left.shape[1]))
    waiting = iter(enumerate(blocks))

    def hand_out(worker: int) -> None:
        number, block = next(waiting, (STOP - 1, left[:0]))
        comm.Send(block, dest=worker, tag=number + 1)

    for worker in range(1, comm.size):
        hand_out(worker)
    for _ in blocks:
        comm.Recv(part, source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG, status=status)
        hand_out(status.source)
        done[status.source] += 1
        place = product[(status.tag - 1) * rows :][:rows]
        place[:] = part[: len(place)]
    return product, done


def work(comm: MPI.Intracomm, right: np.ndarray, rows: int) -> None:
    """Multiply blocks of rows by the right factor until told to stop."""
    part, status = np.empty((rows, len(right))), MPI.Status()
    while True:
        comm.Recv(part, source=0, tag=MPI.ANY_TAG, status=status)
        if status.tag == STOP:
            return
        count = status.Get_count(MPI.DOUBLE) // len(right)
        comm.Send(part[:count] @ right, dest=0, tag=status.tag)


def main() -> None:
    """Multiply two random matrices and report who did how many blocks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=500, help="order of the matrices (default: %(default)s)")
    parser.add_argument("--rows", type=int, default=20, help="rows of a block (default: %(default)s)")
    parser.add_argument("--check", action="store_true", help="compare with numpy's product")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    if comm.size < 2:
        sys.exit("master_worker.py needs at least 2 ranks: a master and a worker")
    left, right = np.random.default_rng(0).random((2, args.n, args.n))
    comm.Bcast(right)
    if comm.rank > 0:
        work(comm, right, args.rows)
        return
    begin = MPI.Wtime()
    product, done = serve(comm, left, args.rows)
    seconds = MPI.Wtime() - begin
    check = f" residual={np.abs(product - left @ right).max():.1e}" if args.check else ""
    print(f"master_worker n={args.n} blocks={done[1:]} seconds={seconds:.3f}{check}")


if __name__ == "__main__":
    main()
