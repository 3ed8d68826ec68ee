"""Particles fly through a ring of cells; leaving ones travel in a message whose length its receiver has to probe."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
count, steps = int(sys.argv[1]), int(sys.argv[2])
left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
random = np.random.default_rng(comm.rank)
# x, y, and their velocities; a cell is 1 wide
here = np.column_stack([random.random((count, 2)), 0.1 * random.standard_normal((count, 2))])


def probed(source, tag):
    status = MPI.Status()
    comm.Probe(source, tag, status)
    arrived = np.empty((status.Get_count(MPI.DOUBLE) // 4, 4))
    comm.Recv(arrived, source, tag)
    return arrived


for _ in range(steps):
    bins = np.minimum((here[:, :2] % 1.0 * 32).astype(int), 31)
    density = np.zeros((32, 32))
    np.add.at(density, (bins[:, 0], bins[:, 1]), 1.0)
    push = np.gradient(density)
    for axis in range(2):
        here[:, 2 + axis] -= 1e-4 * push[axis][bins[:, 0], bins[:, 1]]
    np.clip(here[:, 2:], -0.5, 0.5, out=here[:, 2:])
    here[:, :2] += 0.1 * here[:, 2:]
    here[:, 1] %= 1.0
    to_left, to_right = here[here[:, 0] < 0], here[here[:, 0] >= 1]
    here = here[(here[:, 0] >= 0) & (here[:, 0] < 1)]
    to_left[:, 0] += 1
    to_right[:, 0] -= 1
    requests = [comm.Isend(to_left, left, 1), comm.Isend(to_right, right, 2)]
    here = np.concatenate([here, probed(right, 1), probed(left, 2)])
    MPI.Request.Waitall(requests)

assert comm.allreduce(len(here)) == count * comm.size
assert ((here[:, :2] >= 0) & (here[:, :2] <= 1)).all()
