"""Heat in a plate on a Cartesian grid of ranks: persistent requests, a vector type, the change at intervals."""

import sys

import numpy as np
from mpi4py import MPI

n, steps = int(sys.argv[1]), int(sys.argv[2])
world = MPI.COMM_WORLD
comm = world.Create_cart(MPI.Compute_dims(world.size, 2), periods=[True, True])
rows, columns = n // comm.dims[0], n // comm.dims[1]
u, v = np.zeros((2, rows + 2, columns + 2))
u[1:-1, 1:-1] = np.random.default_rng(comm.rank).random((rows, columns))
side = MPI.DOUBLE.Create_vector(rows, 1, columns + 2).Commit()
(north, south), (west, east) = comm.Shift(0, 1), comm.Shift(1, 1)


def halo(field):
    flat = field.reshape(-1)
    width = columns + 2
    return [
        comm.Recv_init(field[0, 1:-1], north, 1),
        comm.Recv_init(field[-1, 1:-1], south, 2),
        comm.Recv_init([flat[width:], 1, side], west, 3),
        comm.Recv_init([flat[2 * width - 1 :], 1, side], east, 4),
        comm.Send_init(field[-2, 1:-1], south, 1),
        comm.Send_init(field[1, 1:-1], north, 2),
        comm.Send_init([flat[2 * width - 2 :], 1, side], east, 3),
        comm.Send_init([flat[width + 1 :], 1, side], west, 4),
    ]


fields = [(u, v, halo(u)), (v, u, halo(v))]
before = comm.allreduce(u[1:-1, 1:-1].sum())
for step in range(steps):
    now, then, requests = fields[step % 2]
    MPI.Prequest.Startall(requests)
    MPI.Request.Waitall(requests)
    then[1:-1, 1:-1] = 0.6 * now[1:-1, 1:-1] + 0.1 * (now[:-2, 1:-1] + now[2:, 1:-1] + now[1:-1, :-2] + now[1:-1, 2:])
    if step % 10 == 9:
        change = comm.allreduce(float(np.abs(then[1:-1, 1:-1] - now[1:-1, 1:-1]).max()), MPI.MAX)

assert change > 0
assert abs(comm.allreduce(fields[steps % 2][0][1:-1, 1:-1].sum()) / before - 1) < 1e-9
for _, _, requests in fields:
    for request in requests:
        request.Free()
side.Free()
