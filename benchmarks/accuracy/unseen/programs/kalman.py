"""An ensemble Kalman filter for a chaotic ring (Lorenz 96): ranks share the members, and covariances are summed up."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
n, members, cycles, steps = (int(word) for word in sys.argv[1:])
begin, end = comm.rank * members // comm.size, (comm.rank + 1) * members // comm.size
observed = np.arange(0, n, 2)
error, dt = 1.0, 0.01


def slope(x):
    return (np.roll(x, -1, axis=-1) - np.roll(x, 2, axis=-1)) * np.roll(x, 1, axis=-1) - x + 8


def forecast(x):
    for _ in range(steps):
        a = slope(x)
        b = slope(x + dt / 2 * a)
        c = slope(x + dt / 2 * b)
        d = slope(x + dt * c)
        x = x + dt / 6 * (a + 2 * b + 2 * c + d)
    return x


# distant places are uncorrelated
distance = np.abs(np.arange(n)[:, None] - observed)
taper = np.exp(-((np.minimum(distance, n - distance) / 6) ** 2))

random = np.random.default_rng(100 + comm.rank)
truth = None
if comm.rank == 0:
    truth = forecast(8 + np.random.default_rng(1).normal(size=n))
first = comm.bcast(truth, root=0)
x = first + random.normal(size=(end - begin, n))

errors = []
for _ in range(cycles):
    x = forecast(x)
    seen = np.empty(len(observed))
    if comm.rank == 0:
        truth = forecast(truth)
        seen[:] = truth[observed] + error * random.normal(size=len(observed))
    comm.Bcast(seen, root=0)

    mean = np.empty(n)
    comm.Allreduce(x.sum(axis=0), mean)
    mean /= members
    deviations = 1.05 * (x - mean)
    x = mean + deviations
    covariance = np.empty((n, len(observed)))
    comm.Allreduce(deviations.T @ deviations[:, observed], covariance)
    covariance *= taper / (members - 1)
    innovation = seen + error * random.normal(size=(end - begin, len(observed))) - x[:, observed]
    inner = covariance[observed] + error**2 * np.eye(len(observed))
    x += np.linalg.solve(inner, innovation.T).T @ covariance.T

    total = np.empty(n) if comm.rank == 0 else None
    comm.Reduce(x.sum(axis=0), total, root=0)
    if comm.rank == 0:
        errors.append(float(np.sqrt(np.mean((total / members - truth) ** 2))))

if comm.rank == 0:
    assert np.mean(errors[cycles // 2 :]) < 0.7 * error
