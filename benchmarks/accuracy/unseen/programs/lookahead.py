"""LU factorisation without pivots, panels distributed cyclically: Ibcast sends the next one while one is applied."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
n, width = int(sys.argv[1]), int(sys.argv[2])
panels = n // width
random = np.random.default_rng(7)
matrix = random.random((n, n)) + n * np.eye(n)
mine = {p: matrix[:, p * width : (p + 1) * width].copy() for p in range(panels) if p % comm.size == comm.rank}


def factor(p):
    panel, top = mine[p], p * width
    for k in range(width):
        panel[top + k + 1 :, k] /= panel[top + k, k]
        panel[top + k + 1 :, k + 1 :] -= np.outer(panel[top + k + 1 :, k], panel[top + k, k + 1 :])


def apply(p, panel, to):
    top = p * width
    lower = np.tril(panel[:width], -1) + np.eye(width)
    block = mine[to]
    block[top : top + width] = np.linalg.solve(lower, block[top : top + width])
    block[top + width :] -= panel[width:] @ block[top : top + width]


def start(p):
    buffer = mine[p][p * width :].copy() if p in mine else np.empty((n - p * width, width))
    return buffer, comm.Ibcast(buffer, p % comm.size)


if 0 in mine:
    factor(0)
panel, request = start(0)
for p in range(panels):
    request.Wait()
    here, following = panel, p + 1
    if following < panels:
        if following in mine:
            apply(p, here, following)
            factor(following)
        panel, request = start(following)
    for to in mine:
        if to > following:
            apply(p, here, to)

factors = np.empty((n, n))
for part in comm.allgather(mine):
    for p, columns in part.items():
        factors[:, p * width : (p + 1) * width] = columns
row = n // 2 + 3
product = (np.tril(factors, -1) + np.eye(n))[row] @ np.triu(factors)
assert np.abs(product - matrix[row]).max() < 1e-8
