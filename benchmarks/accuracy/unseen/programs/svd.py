"""Singular values by one-sided Jacobi rotations: blocks of columns meet each other in a tournament."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
n, width, sweeps = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
size, rank = comm.size, comm.rank
blocks = 2 * size
a = np.random.default_rng(5).standard_normal((blocks * width, n))  # columns of the matrix are rows here
top, bottom = a[rank * width : (rank + 1) * width].copy(), a[(blocks - 1 - rank) * width :][:width].copy()


def rotate(rows):
    """Make pairs of columns orthogonal: the first with all others, the second, ..."""
    count = len(rows)
    for i in range(count - 1):
        p, q = rows[i], rows[i + 1 :]
        for j in range(len(q)):
            gamma = p @ q[j]
            alpha, beta = p @ p, q[j] @ q[j]
            if abs(gamma) <= 1e-12 * np.sqrt(alpha * beta):
                continue
            zeta = (beta - alpha) / (2 * gamma)
            t = np.copysign(1, zeta) / (abs(zeta) + np.sqrt(1 + zeta * zeta))
            c = 1 / np.sqrt(1 + t * t)
            s = c * t
            p[:], q[j] = c * p - s * q[j], s * p + c * q[j]


def next_round(top, bottom):
    """One round of the tournament: tops move to the right, bottoms to the left; the first top stays where it is."""
    if size == 1:
        return top, bottom
    new_top, new_bottom = top, bottom
    requests = []
    if rank > 0:
        came = np.empty_like(top)
        requests.append(comm.Irecv(came, rank - 1, 1))
        requests.append(comm.Isend(bottom, rank - 1, 2))
    if rank < size - 1:
        other = np.empty_like(bottom)
        requests.append(comm.Isend(bottom if rank == 0 else top, rank + 1, 1))
        requests.append(comm.Irecv(other, rank + 1, 2))
    MPI.Request.Waitall(requests)
    if rank > 0:
        new_top = came
    new_bottom = other if rank < size - 1 else top
    return new_top, new_bottom


for _ in range(sweeps):
    for _ in range(blocks - 1):
        both = np.concatenate([top, bottom])
        rotate(both)
        top, bottom = next_round(both[:width].copy(), both[width:].copy())

values = np.sort(np.concatenate(comm.allgather(np.linalg.norm(np.concatenate([top, bottom]), axis=1))))
expected = np.sort(np.linalg.svd(a, compute_uv=False))
assert np.allclose(values, expected, rtol=0.05)
