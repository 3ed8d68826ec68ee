"""Light in a periodic box by Yee's scheme: electric faces go to one side, magnetic ones to the other, in turn."""

import sys

import numpy as np
from mpi4py import MPI

n, steps = int(sys.argv[1]), int(sys.argv[2])
dims = MPI.Compute_dims(MPI.COMM_WORLD.size, 2)
cart = MPI.COMM_WORLD.Create_cart(dims, periods=[True, True])
(x0, y0), (x1, y1) = ([n * (at + more) // of for at, of in zip(cart.Get_coords(cart.rank), dims)] for more in (0, 1))
lx, ly = x1 - x0, y1 - y0
(left, right), (down, up) = cart.Shift(0, 1), cart.Shift(1, 1)
DT = 0.5

# the electric field has a layer of the next block at its end, the magnetic one a layer of the last one at its beginning
e, h = np.zeros((3, lx + 1, ly + 1, n)), np.zeros((3, lx + 1, ly + 1, n))
x_out, x_in = np.empty((2, 2, ly, n)), np.empty((2, 2, ly, n))
y_out, y_in = np.empty((2, 2, lx, n)), np.empty((2, 2, lx, n))
electric = [
    cart.Recv_init(x_in[0], source=right, tag=1), cart.Recv_init(y_in[0], source=up, tag=2),
    cart.Send_init(x_out[0], dest=left, tag=1), cart.Send_init(y_out[0], dest=down, tag=2),
]  # fmt: skip
magnetic = [
    cart.Recv_init(x_in[1], source=left, tag=3), cart.Recv_init(y_in[1], source=down, tag=4),
    cart.Send_init(x_out[1], dest=right, tag=3), cart.Send_init(y_out[1], dest=up, tag=4),
]  # fmt: skip


def send_electric():
    """Only the two components along a face are needed behind it."""
    x_out[0], y_out[0] = e[1:, 0, :ly], e[::2, :lx, 0]
    MPI.Prequest.Startall(electric)
    MPI.Prequest.Waitall(electric)
    e[1:, lx, :ly], e[::2, :lx, ly] = x_in[0], y_in[0]


def send_magnetic():
    x_out[1], y_out[1] = h[1:, lx, 1:], h[::2, 1:, ly]
    MPI.Prequest.Startall(magnetic)
    MPI.Prequest.Waitall(magnetic)
    h[1:, 0, 1:], h[::2, 1:, 0] = x_in[1], y_in[1]


def curl(of, here, next_x, next_y, sign):
    """Differences between each component and its neighbour, which is before it or behind it."""
    (fx, fy, fz), dx, dy = (of[(slice(None), *which)] for which in (here, next_x, next_y))
    return sign * np.array([
        (dy[2] - fz) - (np.roll(fy, -sign, axis=2) - fy),
        (np.roll(fx, -sign, axis=2) - fx) - (dx[2] - fz),
        (dx[1] - fy) - (dy[0] - fx),
    ])  # fmt: skip


first_x, first_y, later_x, later_y = slice(0, lx), slice(0, ly), slice(1, lx + 1), slice(1, ly + 1)

# two plane waves; the grid's own dispersion determines their frequencies
waves = [((1, 2, 0), (0, 0, 1.0)), ((2, -1, 3), (0.3, 0.7, -0.2))]


def plane(time, field):
    """Both waves at a time: the components of the electric or the magnetic field, where the grid has them."""
    result = np.zeros((3, lx, ly, n))
    for numbers, towards in waves:
        k = 2 * np.pi * np.array(numbers) / n
        wide = 2 * np.sin(k / 2)
        strength = np.array(towards) - wide * (wide @ towards) / (wide @ wide)
        frequency = 2 / DT * np.arcsin(DT / 2 * np.sqrt(wide @ wide))
        amplitude = strength if field == 0 else np.cross(wide, strength) / np.sqrt(wide @ wide)
        for axis in range(3):
            half = np.where(np.arange(3) == axis, 0.5, 0.0) if field == 0 else np.where(np.arange(3) == axis, 0, 0.5)
            x, y, z = np.arange(x0, x1) + half[0], np.arange(y0, y1) + half[1], np.arange(n) + half[2]
            phase = k[0] * x[:, None, None] + k[1] * y[:, None] + k[2] * z - frequency * time
            result[axis] += amplitude[axis] * np.cos(phase)
    return result


e[:, first_x, first_y] = plane(0, 0)
h[:, later_x, later_y] = plane(-DT / 2, 1)
for _ in range(steps):
    send_electric()
    h[:, later_x, later_y] -= DT * curl(e, (first_x, first_y), (later_x, first_y), (first_x, later_y), 1)
    send_magnetic()
    e[:, first_x, first_y] += DT * curl(h, (later_x, later_y), (first_x, later_y), (later_x, first_y), -1)
for request in electric + magnetic:
    request.Free()

wrong = np.abs(e[:, first_x, first_y] - plane(steps * DT, 0)).max()
assert cart.allreduce(float(wrong), op=MPI.MAX) < 1e-9 < np.abs(e).max()
cart.Free()
