"""Solve Poisson's equation on a square by pipelined conjugate gradients: sums travel while the matrix is applied."""

import sys

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
n, digits = int(sys.argv[1]), int(sys.argv[2])
cart = world.Create_cart(MPI.Compute_dims(world.size, 2), periods=[False, False], reorder=True)


class Laplace:
    """The five-point matrix; edges of a block travel by persistent requests."""

    def __init__(self, cart, n):
        self.ranges = [
            (at * n // parts, (at + 1) * n // parts) for at, parts in zip(cart.coords, cart.dims, strict=True)
        ]
        height, width = self.shape = tuple(end - begin for begin, end in self.ranges)
        self.padded = np.zeros((height + 2, width + 2))
        north, south = cart.Shift(0, 1)
        west, east = cart.Shift(1, 1)
        lengths = [width, width, height, height]
        self.out = [np.zeros(length) for length in lengths]
        self.into = [np.zeros(length) for length in lengths]
        self.requests = []
        for side, (rank, opposite) in enumerate(((north, 1), (south, 0), (west, 3), (east, 2))):
            if rank != MPI.PROC_NULL:
                self.requests.append(cart.Recv_init(self.into[side], source=rank, tag=opposite))
                self.requests.append(cart.Send_init(self.out[side], dest=rank, tag=side))

    def __call__(self, x):
        self.out[0][:], self.out[1][:], self.out[2][:], self.out[3][:] = x[0], x[-1], x[:, 0], x[:, -1]
        MPI.Prequest.Startall(self.requests)
        u = self.padded
        u[1:-1, 1:-1] = x
        MPI.Prequest.Waitall(self.requests)
        u[0, 1:-1], u[-1, 1:-1], u[1:-1, 0], u[1:-1, -1] = self.into
        return 4 * x - u[:-2, 1:-1] - u[2:, 1:-1] - u[1:-1, :-2] - u[1:-1, 2:]

    def free(self):
        for request in self.requests:
            request.Free()


apply = Laplace(cart, n)
b = np.random.default_rng(cart.rank).random(apply.shape)
x = np.zeros_like(b)
r = b.copy()
w = apply(r)
z, s, p = np.zeros((3, *b.shape))
sums, first, gamma, alpha = np.empty(2), None, 0.0, 0.0
for _ in range(10 * n):
    request = cart.Iallreduce(np.array([np.vdot(r, r), np.vdot(w, r)]), sums)
    q = apply(w)
    request.Wait()
    before, (gamma, delta) = gamma, sums
    if first is None:
        first, beta = gamma, 0.0
        alpha = gamma / delta
    elif gamma < 10.0 ** (-2 * digits) * first:
        break
    else:
        beta = gamma / before
        alpha = gamma / (delta - beta * gamma / alpha)
    z = q + beta * z
    s = w + beta * s
    p = r + beta * p
    x += alpha * p
    r -= alpha * s
    w -= alpha * z
else:
    raise RuntimeError("no convergence")

rest = b - apply(x)
assert cart.allreduce(np.vdot(rest, rest)) < 4 * 10.0 ** (-2 * digits) * first
apply.free()
