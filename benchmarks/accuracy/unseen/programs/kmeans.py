"""k-means by Lloyd's iterations: points stay on their ranks, and the sums of clusters are added by Allreduce."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
points, clusters, steps = (int(word) for word in sys.argv[1:4])
random = np.random.default_rng(comm.rank)
true = np.random.default_rng(1).random((clusters, 8)) * 20
data = true[random.integers(0, clusters, points)] + random.standard_normal((points, 8))
centres = comm.bcast(data[:clusters].copy() if comm.rank == 0 else None)

errors = []
for _ in range(steps):
    distances = ((data**2).sum(axis=1)[:, None] - 2 * data @ centres.T) + (centres**2).sum(axis=1)
    nearest = distances.argmin(axis=1)
    errors.append(comm.allreduce(float(distances[np.arange(points), nearest].sum())))
    sums = np.zeros((clusters, 9))
    np.add.at(sums[:, :8], nearest, data)
    sums[:, 8] = np.bincount(nearest, minlength=clusters)
    total = np.empty_like(sums)
    comm.Allreduce(sums, total)
    full = total[:, 8] > 0
    centres[full] = total[full, :8] / total[full, 8:]

assert all(after <= before * (1 + 1e-9) for before, after in zip(errors, errors[1:], strict=False))
