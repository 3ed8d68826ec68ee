"""Waves on a membrane: deep halos, so that neighbours talk once in several steps and compute the overlap twice."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
n = int(sys.argv[1])  # points along either side, without the fixed edge
deep = int(sys.argv[2])
exchanges = int(sys.argv[3])
courant = 0.5

lo = comm.rank * n // comm.size
hi = (comm.rank + 1) * n // comm.size
assert hi - lo >= deep, "too many ranks for halos that deep"
up = comm.rank - 1 if comm.rank > 0 else MPI.PROC_NULL
down = comm.rank + 1 if comm.rank < comm.size - 1 else MPI.PROC_NULL

# rows lo - deep .. hi + deep; those beyond the membrane stay zero
y = np.arange(lo - deep, hi + deep) + 1
x = np.arange(-1, n + 1) + 1
inside = ((y >= 1) & (y <= n))[:, None]
ky, kx = 3 * np.pi / (n + 1), 2 * np.pi / (n + 1)
mode = np.where(inside, np.sin(ky * y)[:, None] * np.sin(kx * x)[None, :], 0.0)
mode[:, 0] = mode[:, -1] = 0.0
# a standing wave of the difference equation itself
omega = 2 * np.arcsin(courant * np.sqrt(np.sin(ky / 2) ** 2 + np.sin(kx / 2) ** 2))
fields = np.stack([mode * np.cos(-omega), mode])

top_in, bottom_in = np.empty((2, 2, deep, n + 2))
for _ in range(exchanges):
    top_out = fields[:, deep : 2 * deep].copy()
    bottom_out = fields[:, -2 * deep : -deep].copy()
    requests = [
        comm.Irecv(top_in, source=up, tag=1),
        comm.Irecv(bottom_in, source=down, tag=2),
        comm.Isend(bottom_out, dest=down, tag=1),
        comm.Isend(top_out, dest=up, tag=2),
    ]
    MPI.Request.Waitall(requests)
    if up != MPI.PROC_NULL:
        fields[:, :deep] = top_in
    if down != MPI.PROC_NULL:
        fields[:, -deep:] = bottom_in
    for step in range(1, deep + 1):
        old, now = fields
        rows = slice(step, len(y) - step)
        u = now[rows, 1:-1]
        around = now[step - 1 : len(y) - step - 1, 1:-1] + now[step + 1 : len(y) - step + 1, 1:-1]
        around += now[rows, :-2]
        around += now[rows, 2:]
        new = 2 * u - old[rows, 1:-1] + courant**2 * (around - 4 * u)
        old[rows, 1:-1] = np.where(inside[rows], new, 0.0)
        fields = fields[::-1]

wave = mode * np.cos(omega * exchanges * deep)
error = np.abs(fields[1][deep:-deep] - wave[deep:-deep]).max()
assert comm.allreduce(error, op=MPI.MAX) < 1e-8
