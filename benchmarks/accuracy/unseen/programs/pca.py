"""Principal components of a table of samples: rank 0 scatters the samples and gathers their scores."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
samples, features, wanted, sweeps = (int(word) for word in sys.argv[1:5])


def shares(total):
    """The number of items that each rank gets of a total."""
    return np.array([total // comm.size + (rank < total % comm.size) for rank in range(comm.size)])


table = None
if comm.rank == 0:
    rng = np.random.default_rng(17)
    hidden = rng.standard_normal((samples, wanted)) * np.geomspace(8, 2, wanted)
    directions = np.linalg.qr(rng.standard_normal((features, wanted)))[0]
    table = hidden @ directions.T + 0.05 * rng.standard_normal((samples, features)) + 3.0

count = shares(samples)
here = np.empty((count[comm.rank], features))
comm.Scatterv([table, count * features, MPI.DOUBLE], here, root=0)

mean = here.sum(axis=0)
comm.Allreduce(MPI.IN_PLACE, mean)
mean /= samples
here -= mean

# the covariance is summed, and each rank keeps some of its rows
products = here.T @ here / (samples - 1)
rows = shares(features)
covariance = np.empty((rows[comm.rank], features))
comm.Reduce_scatter(products, covariance, recvcounts=rows * features)

# orthogonal iteration
basis = np.eye(features, wanted)
image = np.empty((features, wanted))
for _ in range(sweeps):
    comm.Allgatherv(covariance @ basis, [image, rows * wanted])
    basis, triangle = np.linalg.qr(image)
variances = np.abs(triangle.diagonal())

scores = here @ basis
all_scores = np.empty((samples, wanted)) if comm.rank == 0 else None
comm.Gatherv(scores, [all_scores, count * wanted, MPI.DOUBLE], root=0)

lost = comm.allreduce(float(((here - scores @ basis.T) ** 2).sum()))
whole = comm.allreduce(float((here**2).sum()))
assert lost < 0.05 * whole
if comm.rank == 0:
    assert np.allclose(all_scores, (table - mean) @ basis)
    assert np.allclose(np.sort(all_scores.var(axis=0, ddof=1))[::-1], np.sort(variances)[::-1], rtol=0.05)
    assert np.linalg.svd(directions.T @ basis, compute_uv=False).min() > 0.99
