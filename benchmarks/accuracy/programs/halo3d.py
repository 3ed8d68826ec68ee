"""Heat in a block by Jacobi iterations; the block is cut into smaller ones, which exchange six faces in each step.

The grid of processes is as close to a cube as their number allows, and need not divide the size.
"""

from __future__ import annotations

import sys

import numpy as np
from mpi4py import MPI
from section import measure

STEPS, SWEEPS = 20, 3


def exchange(cart: MPI.Cartcomm, block: np.ndarray) -> None:
    """Exchange faces with the neighbours in each direction; at the edge of the block there is no neighbour."""
    for axis in range(3):
        before, after = cart.Shift(axis, 1)
        faces = np.moveaxis(block, axis, 0)
        for sent, to, got, source in ((1, before, -1, after), (-2, after, 0, before)):
            arriving = np.ascontiguousarray(faces[got])
            cart.Sendrecv(np.ascontiguousarray(faces[sent]), dest=to, recvbuf=arriving, source=source)
            faces[got] = arriving


def sweep(old: np.ndarray, new: np.ndarray) -> None:
    """Set each inner point to the mean of its six neighbours."""
    inner = new[1:-1, 1:-1, 1:-1]
    np.add(old[:-2, 1:-1, 1:-1], old[2:, 1:-1, 1:-1], out=inner)
    for part in (old[1:-1, :-2, 1:-1], old[1:-1, 2:, 1:-1], old[1:-1, 1:-1, :-2], old[1:-1, 1:-1, 2:]):
        inner += part
    inner /= 6.0


def heat(cart: MPI.Cartcomm, n: int) -> float:
    """Iterate, with one warm face; return by how much temperatures violate their bounds."""
    shape = [(at + 1) * n // many - at * n // many for at, many in zip(cart.coords, cart.dims, strict=True)]
    old, new = np.zeros((2, *(side + 2 for side in shape)))
    if cart.coords[0] == 0:
        old[0], new[0] = 1.0, 1.0
    change = np.zeros(())
    for _ in range(STEPS):
        exchange(cart, old)
        for _ in range(SWEEPS):
            sweep(old, new)
            old, new = new, old
        cart.Allreduce(np.abs(new[1:-1, 1:-1, 1:-1] - old[1:-1, 1:-1, 1:-1]).max(), change, op=MPI.MAX)
    return float(max(0.0, old.max() - 1.0, -old.min()))


if __name__ == "__main__":
    size = int(sys.argv[1])
    world = MPI.COMM_WORLD
    grid = world.Create_cart(MPI.Compute_dims(world.size, 3))
    measure(world, __file__, size, lambda: heat(grid, size))
