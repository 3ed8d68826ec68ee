"""Ink in a swirl that turns back: each point looks where its ink was before, in rows that it asks other ranks for."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
n, steps = int(sys.argv[1]), int(sys.argv[2])
PERIOD = 1.5
step = PERIOD / steps
bounds = [rank * n // comm.size for rank in range(comm.size + 1)]
begin, end = bounds[comm.rank], bounds[comm.rank + 1]
x = (np.arange(begin, end)[:, None] + 0.5) / n * np.ones(n)
y = (np.arange(n) + 0.5) / n * np.ones((end - begin, 1))


def speed(x, y, time):
    turn = np.cos(np.pi * time / PERIOD)
    return (
        np.sin(np.pi * x) ** 2 * np.sin(2 * np.pi * y) * turn,
        -(np.sin(np.pi * y) ** 2) * np.sin(2 * np.pi * x) * turn,
    )


def origins(time):
    """Where the points have come from during the step that begins at a time: Runge and Kutta's fourth order."""
    later, middle = time + step, time + step / 2
    u1, v1 = speed(x, y, later)
    u2, v2 = speed(x - step / 2 * u1, y - step / 2 * v1, middle)
    u3, v3 = speed(x - step / 2 * u2, y - step / 2 * v2, middle)
    u4, v4 = speed(x - step * u3, y - step * v3, time)
    from_x = x - step / 6 * (u1 + 2 * u2 + 2 * u3 + u4)
    from_y = y - step / 6 * (v1 + 2 * v2 + 2 * v3 + v4)
    return from_x * n - 0.5, from_y * n - 0.5


def weights(t):
    """Cubic interpolation between four neighbours."""
    return (
        -t * (1 - t) * (2 - t) / 6,
        (1 + t) * (1 - t) * (2 - t) / 2,
        (1 + t) * t * (2 - t) / 2,
        -(1 + t) * t * (1 - t) / 6,
    )


first = np.exp(-80 * ((x - 0.5) ** 2 + (y - 0.7) ** 2)) + 0.5 * np.exp(-120 * ((x - 0.3) ** 2 + (y - 0.4) ** 2))
ink = first.copy()


def rows(low, high):
    """Some rows of the whole field: all ranks ask each other for what they lack, and send what they are asked for."""
    wanted = np.array([(max(low, bounds[rank]), min(high, bounds[rank + 1])) for rank in range(comm.size)])
    asked = np.empty_like(wanted)
    comm.Alltoall(wanted, asked)
    result = np.empty((high - low, n))
    requests = []
    for rank, (top, bottom) in enumerate(wanted):
        if top >= bottom:
            continue
        part = result[top - low : bottom - low]
        if rank == comm.rank:
            part[:] = ink[top - begin : bottom - begin]
        else:
            requests.append(comm.Irecv(part, source=rank))
    for rank, (top, bottom) in enumerate(asked):
        if top < bottom and rank != comm.rank:
            requests.append(comm.Isend(ink[top - begin : bottom - begin], dest=rank))
    MPI.Request.Waitall(requests)
    return result


fetched = 0
for number in range(steps):
    from_x, from_y = origins(number * step)
    i, j = np.floor(from_x).astype(int), np.floor(from_y).astype(int)
    low, high = max(int(i.min()) - 1, 0), min(int(i.max()) + 3, n)
    field = rows(low, high)
    fetched += high - low
    along = weights(from_x - i)
    across = weights(from_y - j)
    moved = np.zeros_like(ink)
    for di in range(4):
        line = np.clip(i + di - 1, 0, n - 1) - low
        for dj in range(4):
            moved += along[di] * across[dj] * field[line, np.clip(j + dj - 1, 0, n - 1)]
    ink[:] = moved
    if number == steps // 2:
        halfway = float(np.abs(ink - first).sum())

# after a period all ink is where it was; on the way it was not
halfway, missed = comm.allreduce(halfway), comm.allreduce(float(np.abs(ink - first).sum()))
before, after = comm.allreduce(float(first.sum())), comm.allreduce(float(ink.sum()))
assert missed < 0.1 * before < halfway
assert abs(after / before - 1) < 0.01
assert comm.allreduce(fetched) > n * steps
