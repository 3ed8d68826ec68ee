"""Neutrons in a shield by discrete ordinates: sweeps over a grid of ranks, from each of its four corners in turn."""

import sys

import numpy as np
from mpi4py import MPI

n, angles, batches, sweeps = (int(word) for word in sys.argv[1:])
dims = MPI.Compute_dims(MPI.COMM_WORLD.size, 2)
cart = MPI.COMM_WORLD.Create_cart(dims)
place = cart.Get_coords(cart.rank)
(x0, y0), (x1, y1) = ([n * (at + more) // of for at, of in zip(place, dims)] for more in (0, 1))
lx, ly = x1 - x0, y1 - y0
(west, east), (south, north) = cart.Shift(0, 1), cart.Shift(1, 1)
TOTAL, SCATTERED = 0.3, 0.2

# directions of one quadrant, those for the others are mirrored
turns = np.pi / 2 * (np.arange(angles) + 0.5) / angles
along_x, along_y = np.cos(turns), np.sin(turns)
weight = 1 / (4 * angles)

# neutrons come out of the middle
x, y = np.arange(x0, x1), np.arange(y0, y1)
middle = n // 3
source = ((abs(2 * x - n + 1) <= middle)[:, None] & (abs(2 * y - n + 1) <= middle)).astype(float)


def through(emitted, mu, eta, from_x, from_y):
    """Follow some directions through the block; edges are changed from what comes in to what goes out."""
    dense = 1 / (TOTAL + mu + eta)
    seen = np.empty((lx, ly))
    for i in range(lx):
        row = from_x[:, :]
        flux = from_y[i]
        for j in range(ly):
            flux = (emitted[i, j] + mu * row[j] + eta * flux) * dense
            row[j] = flux
            seen[i, j] = flux.sum()
        from_y[i] = flux
    return seen


def sweep(emitted):
    """The flux in the block, and how much leaves the shield here."""
    flux, leaks = np.zeros((lx, ly)), 0.0
    requests = []
    for sign_x, sign_y in ((1, 1), (-1, 1), (-1, -1), (1, -1)):
        before_x, after_x = (west, east)[::sign_x]
        before_y, after_y = (south, north)[::sign_y]
        view = (slice(None, None, sign_x), slice(None, None, sign_y))
        for batch in range(batches):
            some = slice(batch * angles // batches, (batch + 1) * angles // batches)
            mu, eta = along_x[some], along_y[some]
            edge_x, edge_y = np.zeros((ly, len(mu))), np.zeros((lx, len(mu)))
            cart.Recv(edge_x, source=before_x, tag=batch)
            cart.Recv(edge_y, source=before_y, tag=batch)
            flux[view] += weight * through(emitted[view], mu, eta, edge_x, edge_y)
            requests += [cart.Isend(edge_x, dest=after_x, tag=batch), cart.Isend(edge_y, dest=after_y, tag=batch)]
            if after_x == MPI.PROC_NULL:
                leaks += weight * float((edge_x * mu).sum())
            if after_y == MPI.PROC_NULL:
                leaks += weight * float((edge_y * eta).sum())
    MPI.Request.Waitall(requests)
    return flux, leaks


flux = np.zeros((lx, ly))
changes = []
for _ in range(sweeps):
    emitted = source + SCATTERED * flux
    new_flux, leaks = sweep(emitted)
    changes.append(cart.allreduce(float(np.abs(new_flux - flux).max()), op=MPI.MAX))
    flux = new_flux
    # no neutron gets lost: what is emitted hits something or leaves
    sums = cart.allreduce(np.array([emitted.sum(), TOTAL * flux.sum(), leaks]))
    assert np.isclose(sums[0], sums[1] + sums[2])

assert all(later < earlier for earlier, later in zip(changes, changes[1:]))
parts = cart.gather((x0, y0, flux), root=0)
if cart.rank == 0:
    whole = np.empty((n, n))
    for i, j, part in parts:
        whole[i : i + part.shape[0], j : j + part.shape[1]] = part
    assert np.allclose(whole, whole.T) and np.allclose(whole, whole[::-1])
    assert whole[n // 2, n // 2] > 2 * whole[0, 0] > 0
cart.Free()
