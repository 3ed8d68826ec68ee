"""Heat in a plate, in implicit steps, by Schwarz's alternating method: strips overlap, even and odd ones take turns."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
n, overlap, steps = (int(word) for word in sys.argv[1:])
rank, size = comm.rank, comm.size
dt, h = 5e-4, 1 / (n + 1)
begin, end = rank * n // size, (rank + 1) * n // size
assert size == 1 or end - begin > overlap
low, high = max(begin - overlap, 0), min(end + overlap, n)


def sines(count):
    """The sine transform, which is its own inverse, and the eigenvalues of second differences."""
    k = np.arange(1, count + 1)
    transform = np.sqrt(2 / (count + 1)) * np.sin(np.pi * np.outer(k, k) / (count + 1))
    return transform, 4 / h**2 * np.sin(np.pi * k / (2 * count + 2)) ** 2


down, of_rows = sines(high - low)
across, of_columns = sines(n)
divisor = 1 + dt * (of_rows[:, None] + of_columns)


def solve(right):
    return down @ ((down @ right @ across) / divisor) @ across


y, x = np.arange(low + 1, high + 1)[:, None] * h, np.arange(1, n + 1) * h
modes = {(1, 2): 1.0, (3, 1): 0.5, (2, 5): 0.25}
u = sum(share * np.sin(np.pi * a * y) * np.sin(np.pi * b * x) for (a, b), share in modes.items())

# rows just outside this strip, from the neighbours; and rows that are just outside theirs
above, below = rank - 1 if rank > 0 else MPI.PROC_NULL, rank + 1 if rank < size - 1 else MPI.PROC_NULL
outside, inside = np.zeros((2, n)), np.zeros((2, n))
arrivals = [comm.Recv_init(outside[0], above, 1), comm.Recv_init(outside[1], below, 2)]
departures = [comm.Send_init(inside[0], above, 2), comm.Send_init(inside[1], below, 1)]

sweeps = 0
for _ in range(steps):
    old, change = u, 1.0
    while change > 1e-10:
        last, sweeps = u, sweeps + 1
        for turn in (0, 1):
            if rank % 2 == turn:
                right = old.copy()
                right[0] += dt / h**2 * outside[0]
                right[-1] += dt / h**2 * outside[1]
                u = solve(right)
                if rank > 0:
                    inside[0] = u[begin + overlap - low]
                if rank < size - 1:
                    inside[1] = u[end - overlap - 1 - low]
            requests = departures if rank % 2 == turn else arrivals
            MPI.Prequest.Startall(requests)
            MPI.Request.Waitall(requests)
        change = comm.allreduce(float(np.abs(u - last).max()), op=MPI.MAX)
for request in arrivals + departures:
    request.Free()

exact = np.zeros_like(u)
for (a, b), share in modes.items():
    eigenvalue = 4 / h**2 * (np.sin(np.pi * a * h / 2) ** 2 + np.sin(np.pi * b * h / 2) ** 2)
    exact += share * np.sin(np.pi * a * y) * np.sin(np.pi * b * x) / (1 + dt * eigenvalue) ** steps
assert comm.allreduce(float(np.abs(u - exact).max()), op=MPI.MAX) < 1e-7
