"""The product of two complex matrices by a client and two servers: the sequence of six operations of the FAST paper.

Rank 0 is the client, which has all operands and receives both results. Operations and messages are in the order of the
paper's figure 11. ``complex_product.py N REPEATS`` prints a line of JSON: the median seconds until the client has the
results. The results are checked.
"""

from __future__ import annotations

import json
import statistics
import sys

import numpy as np
from mpi4py import MPI
from scipy.linalg import blas

CLIENT, ONE, TWO = range(3)
AR, AI, BR, BI = range(4)
#: Operands in the order in which the client sends them, by server.
SENT = {ONE: (AR, BR, AI), TWO: (AI, BI, AR)}


def client(comm: MPI.Intracomm, operands: np.ndarray, results: np.ndarray) -> None:
    """Send operands one after the other, and wait for the results."""
    pending = [comm.Irecv(results[0], ONE), comm.Irecv(results[1], TWO)]
    for server, sent in SENT.items():
        for what in sent:
            comm.Send(operands[what], server)
    MPI.Request.Waitall(pending)


def server(comm: MPI.Intracomm, spare: np.ndarray) -> None:
    """Multiply twice, exchange one product with the other server, and add."""
    me, other = comm.rank, ONE + TWO - comm.rank
    got, kept, sent, theirs = spare[:3], spare[3], spare[4], spare[5]
    pending = [comm.Irecv(each, CLIENT) for each in got]
    arriving = comm.Irecv(theirs, other)
    # One computes Cr1 = Ar Br and Ci2 = Ai Br; two computes Cr2 = Ai Bi and Ci1 = Ar Bi.
    first, second = (kept, sent) if me == ONE else (sent, kept)
    MPI.Request.Waitall(pending[:2])
    blas.dgemm(1.0, got[0].T, got[1].T, 0.0, first.T, overwrite_c=1)
    # The product that the other server waits for is sent as soon as it is ready, while the next one is computed.
    leaving = comm.Isend(first, other) if first is sent else None
    pending[2].Wait()
    blas.dgemm(1.0, got[2].T, got[1].T, 0.0, second.T, overwrite_c=1)
    leaving = leaving or comm.Isend(second, other)
    arriving.Wait()
    if me == ONE:
        np.subtract(kept, theirs, out=kept)
    else:
        np.add(kept, theirs, out=kept)
    comm.Send(kept, CLIENT)
    leaving.Wait()


def main() -> None:
    """Multiply two random matrices."""
    comm, (n, repeats) = MPI.COMM_WORLD, map(int, sys.argv[1:3])
    if comm.size != 3:
        sys.exit(f"ranks must be a client and two servers, got {comm.size}")
    operands = np.random.default_rng(2).random((4, n, n))
    results, spare, times = np.zeros((2, n, n)), np.zeros((6, n, n)), []
    for turn in range(repeats + 1):
        comm.Barrier()
        begin = MPI.Wtime()
        if comm.rank == CLIENT:
            client(comm, operands, results)
        else:
            server(comm, spare)
        if turn:
            times.append(MPI.Wtime() - begin)
    comm.Barrier()
    if comm.rank == CLIENT:
        # Operands are stored by columns and read as transposes, so that the products are those of the transposes.
        ar, ai, br, bi = (each.T for each in operands)
        off = max(
            float(np.abs(results[0].T - (ar @ br - ai @ bi)).max()),
            float(np.abs(results[1].T - (ar @ bi + ai @ br)).max()),
        )
        if off > 1e-9 * n:
            sys.exit(f"complex product: result must be within {1e-9 * n:g}, got {off:g}")
        print(json.dumps({"program": "complex_product", "n": n, "seconds": statistics.median(times)}), flush=True)


if __name__ == "__main__":
    main()
