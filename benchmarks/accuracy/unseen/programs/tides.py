"""Tides in a long gulf that opens to the ocean: a grid of ranks solves each implicit step by pipelined CG."""

import sys

import numpy as np
from mpi4py import MPI

width, height, steps, iterations = (int(word) for word in sys.argv[1:])
GRAVITY, STEP, CELL, DRAG, GAUGES = 9.81, 1200.0, 8000.0, 0.004, 12
SPEEDS = 2 * np.pi / (3600 * np.array([12.42, 23.93, 6.21]))
HEIGHTS = np.array([0.6, 0.3, 0.1])
LAGS = np.array([0.3, 1.1, 2.0])

world = MPI.COMM_WORLD
comm = world.Create_cart(MPI.Compute_dims(world.size, 2), periods=[False, False])
west, east = comm.Shift(0, 1)
south, north = comm.Shift(1, 1)
(i0, j0), (i1, j1) = (
    [(place + more) * total // parts for place, total, parts in zip(comm.coords, (width, height), comm.dims)]
    for more in (0, 1)
)
inner = (slice(1, -1), slice(1, -1))


def seabed():
    """How deep each cell is: deep in the middle, flat at the end; islands and the frame around it are dry."""
    random = np.random.default_rng(1202)
    x, y = np.meshgrid((np.arange(width) + 0.5) / width, (np.arange(height) + 0.5) / height, indexing="ij")
    depth = (90 - 50 * x) * (0.3 + 2.8 * y * (1 - y))
    for _ in range(6):
        a, b = random.uniform(0.15, 0.9, size=2)
        depth -= 110 * np.exp(-(((x - a) * width) ** 2 + ((y - b) * height) ** 2) / random.uniform(3, 20))
    depth = np.pad(np.where(depth < 5, 0, depth), 1)
    depth[0, 1:-1] = depth[1, 1:-1]
    return depth


def between(a, b):
    """Faces between cells: as deep as the shallower, none next to land; and what drag leaves there in a step."""
    deep = np.minimum(a, b)
    return deep, 1 + STEP * DRAG / np.maximum(deep, 5)


depth = seabed()
own = depth[i0 : i1 + 2, j0 : j1 + 2]
wet = own[inner] > 0
deep_x, slow_x = between(own[:-1, 1:-1], own[1:, 1:-1])
deep_y, slow_y = between(own[1:-1, :-1], own[1:-1, 1:])
link_x, link_y = (GRAVITY * (STEP / CELL) ** 2 * deep / slow for deep, slow in ((deep_x, slow_x), (deep_y, slow_y)))
diagonal = 1 + link_x[:-1] + link_x[1:] + link_y[:, :-1] + link_y[:, 1:]


def exchange(field):
    """Start to swap the edges of a field with the four neighbours; what is returned is waited for by arrived."""
    edges = [field[1, 1:-1], field[-2, 1:-1], field[1:-1, 1].copy(), field[1:-1, -2].copy()]
    ghosts = [field[0, 1:-1], field[-1, 1:-1], np.zeros(i1 - i0), np.zeros(i1 - i0)]
    sides = [west, east, south, north]
    requests = [comm.Irecv(ghost, source=side, tag=tag) for tag, (ghost, side) in enumerate(zip(ghosts, sides))]
    requests += [comm.Isend(edge, dest=side, tag=tag) for tag, edge, side in zip((1, 0, 3, 2), edges, sides)]
    return requests, ghosts


def arrived(field, requests, ghosts):
    MPI.Request.Waitall(requests)
    field[1:-1, 0], field[1:-1, -1] = ghosts[2:]


def times_matrix(field):
    result = diagonal * field[inner]
    result -= link_x[:-1] * field[:-2, 1:-1] + link_x[1:] * field[2:, 1:-1]
    result -= link_y[:, :-1] * field[1:-1, :-2] + link_y[:, 1:] * field[1:-1, 2:]
    return result


def product(field):
    arrived(field, *exchange(field))
    return times_matrix(field)


def solve(x, right):
    """Improve x, as Ghysels and Vanroose do: the sums over all ranks travel while the next product is made."""
    padded = np.zeros_like(x)
    r = right - product(x)
    padded[inner] = u = r / diagonal
    w = product(padded)
    z, q, s, p = np.zeros((4, *r.shape))
    sums, alpha, old = np.empty(2), 1.0, np.inf
    for _ in range(iterations):
        local = np.array([np.vdot(r, u), np.vdot(w, u)])
        summing = comm.Iallreduce(local, sums, op=MPI.SUM)
        padded[inner] = m = w / diagonal
        n = product(padded)
        summing.Wait()
        gamma, delta = sums.tolist()
        beta = gamma / old
        alpha = gamma / (delta - beta * gamma / alpha)
        old = gamma
        z = n + beta * z
        q = m + beta * q
        s = w + beta * s
        p = u + beta * p
        x[inner] += alpha * p
        r -= alpha * s
        u = u - alpha * q
        w = w - alpha * z
    return old


def ocean(time):
    return float((HEIGHTS * np.cos(SPEEDS * time - LAGS)).sum())


# gauges stand in the water, anywhere; whoever owns the cell reads them
random = np.random.default_rng(1203)
places = random.permutation(np.argwhere(depth[1:-1, 1:-1] > 0))[:GAUGES].tolist()
gauges = [(number, i - i0, j - j0) for number, (i, j) in enumerate(places) if i0 <= i < i1 and j0 <= j < j1]
records = np.zeros((len(gauges), steps))
level, before = np.zeros(own.shape), np.zeros(own.shape)
flow_x, flow_y = np.zeros(deep_x.shape), np.zeros(deep_y.shape)
volumes, inflows = np.zeros(steps), np.zeros(steps)
for step in range(steps):
    # what was in the basin, what flows on, and what the ocean's level does to the first column
    x, y = deep_x * flow_x / slow_x, deep_y * flow_y / slow_y
    right = level[inner] - STEP / CELL * (np.diff(x, axis=0) + np.diff(y, axis=1))
    tide = ocean((step + 1) * STEP)
    if west == MPI.PROC_NULL:
        right[0] += link_x[0] * tide
    guess = np.zeros_like(level)
    guess[inner] = 2 * level[inner] - before[inner]
    left_over = solve(guess, right)
    before, level = level, guess
    if west == MPI.PROC_NULL:
        level[0] = tide
    arrived(level, *exchange(level))
    flow_x = (flow_x - GRAVITY * STEP / CELL * np.diff(level[:, 1:-1], axis=0)) / slow_x * (deep_x > 0)
    flow_y = (flow_y - GRAVITY * STEP / CELL * np.diff(level[1:-1], axis=1)) / slow_y * (deep_y > 0)
    volumes[step] = level[inner][wet].sum()
    if west == MPI.PROC_NULL:
        inflows[step] = STEP / CELL * (deep_x[0] * flow_x[0]).sum()
    records[:, step] = [level[1 + i, 1 + j] for _, i, j in gauges]

# each gauge's tide is a wave of each speed, after what was there at the beginning is gone
times = np.arange(steps // 2, steps)[:, None] * STEP + STEP
table = np.hstack([np.cos(times * SPEEDS), np.sin(times * SPEEDS), np.ones_like(times)])
fitted, _, rank, _ = np.linalg.lstsq(table, records[:, steps // 2 :].T, rcond=None)
missing = np.abs(table @ fitted - records[:, steps // 2 :].T).max(initial=0.0)
waves = fitted[: len(SPEEDS)] - 1j * fitted[len(SPEEDS) : -1]
everything = comm.gather([(number, wave) for (number, _, _), wave in zip(gauges, waves.T)], root=0)
totals = np.empty((2, steps)) if comm.rank == 0 else None
comm.Reduce(np.array([volumes, inflows]), totals, op=MPI.SUM, root=0)
fits = np.empty((GAUGES, len(SPEEDS)), dtype=complex)
if comm.rank == 0:
    for number, wave in (one for some in everything for one in some):
        fits[number] = wave
    # what is in the basin came in from the ocean
    assert np.abs(totals[0] - np.cumsum(totals[1])).max() < 0.03 * np.abs(totals[0]).max()
comm.Bcast(fits, root=0)
worst = comm.allreduce(missing, op=MPI.MAX)
assert rank == table.shape[1] and worst < 0.02


def swinging(speed):
    """The basin at one speed for ever, without any steps: from its end, each column follows from the one before."""
    turn = np.exp(1j * speed * STEP)
    x, slow = between(depth[:-1, 1:-1], depth[1:, 1:-1])
    x = GRAVITY * (STEP / CELL) ** 2 * x * turn**2 / (turn * slow - 1)
    y, slow = between(depth[1:-1, :-1], depth[1:-1, 1:])
    y = GRAVITY * (STEP / CELL) ** 2 * y * turn**2 / (turn * slow - 1)
    follows = np.zeros((width + 1, height, height), dtype=complex)
    for i in reversed(range(width)):
        matrix = np.diag(turn - 1 + x[i] + x[i + 1] + y[i, :-1] + y[i, 1:]) - x[i + 1][:, None] * follows[i + 1]
        matrix -= np.diag(y[i, 1:-1], 1) + np.diag(y[i, 1:-1], -1)
        follows[i] = np.linalg.inv(matrix) * x[i]
    columns = [np.ones(height, dtype=complex)]
    for i in range(width):
        columns.append(follows[i] @ columns[-1])
    return np.array(columns[1:])


for number in range(comm.rank, len(SPEEDS), comm.size):
    exact = swinging(SPEEDS[number]) * HEIGHTS[number] * np.exp(-1j * LAGS[number])
    for (i, j), fit in zip(places, fits[:, number]):
        assert abs(fit - exact[i, j]) < 0.02
