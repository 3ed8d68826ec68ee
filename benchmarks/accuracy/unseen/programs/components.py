"""Count the shapes in an image: strips are labelled independently, and labels are merged at the borders of strips."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
cells, side = int(sys.argv[1]), int(sys.argv[2])
n, rank, size = cells * side, comm.rank, comm.size
UP, DOWN = rank - 1 if rank > 0 else MPI.PROC_NULL, rank + 1 if rank < size - 1 else MPI.PROC_NULL


def draw():
    """An image of discs, rings, crosses and pillars, with noise; and the areas of all shapes."""
    random = np.random.default_rng(5)
    y, x = np.mgrid[:side, :side] - side // 2
    far = np.hypot(y, x)
    cross = (np.minimum(abs(x), abs(y)) < 2) & (np.maximum(abs(x), abs(y)) < side // 2 - 2)
    shapes = [far < side / 4, (far < side / 2 - 2) & (far > side / 3), cross, np.zeros_like(cross), abs(x) < 3]
    which = random.integers(0, 4, (cells, cells))
    which[:, ::7] = 4
    bright = np.block([[shapes[kind] for kind in row] for row in which])
    areas = [int(shapes[kind].sum()) for kind in which.ravel() if kind < 3]
    areas += [int(shapes[4].sum()) * cells] * len(which[0, ::7])
    return (bright + random.uniform(-0.3, 0.3, bright.shape)).astype(np.float32), areas


def settle(labels, ink):
    """Let the largest label of every shape spread as far as it can in this strip."""
    while True:
        before = labels.copy()
        for axis in (0, 1):
            a, b = np.moveaxis(labels, axis, 0), np.moveaxis(ink, axis, 0)
            for row in range(1, len(a)):
                np.maximum(a[row], a[row - 1] * b[row], out=a[row])
            for row in range(len(a) - 2, -1, -1):
                np.maximum(a[row], a[row + 1] * b[row], out=a[row])
        if (labels == before).all():
            return


rows = np.diff(np.arange(size + 1) * n // size)
image, areas = draw() if rank == 0 else (None, None)
strip = np.empty((rows[rank], n), dtype=np.float32)
comm.Scatterv([image, rows * n], strip, root=0)
ink = strip > 0.5
labels = (np.arange(1, ink.size + 1).reshape(ink.shape) + int(rows[:rank].sum()) * n) * ink

settle(labels, ink)
above, below = np.zeros(n, dtype=labels.dtype), np.zeros(n, dtype=labels.dtype)
while True:
    comm.Sendrecv(np.ascontiguousarray(labels[-1]), dest=DOWN, recvbuf=above, source=UP)
    comm.Sendrecv(np.ascontiguousarray(labels[0]), dest=UP, recvbuf=below, source=DOWN)
    top, bottom = np.maximum(labels[0], above * ink[0]), np.maximum(labels[-1], below * ink[-1])
    changed = bool((top > labels[0]).any() or (bottom > labels[-1]).any())
    if changed:
        labels[0], labels[-1] = top, bottom
        settle(labels, ink)
    if not comm.allreduce(changed, op=MPI.LOR):
        break

whole = np.empty((n, n), dtype=labels.dtype) if rank == 0 else None
comm.Gatherv(labels, [whole, rows * n], root=0)
if rank == 0:
    found = np.unique(whole[whole > 0], return_counts=True)[1]
    assert sorted(found.tolist()) == sorted(areas)
