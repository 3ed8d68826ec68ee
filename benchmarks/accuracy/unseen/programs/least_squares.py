"""Fit a linear model to data that arrive in batches, by tall and skinny QR: a Python function combines triangles."""

import sys

import numpy as np
from mpi4py import MPI


def combine(upper, lower):
    """The triangular factor of two triangles stacked on each other."""
    return np.linalg.qr(np.vstack([upper, lower]), mode="r")


class Readings:
    """Noisy readings of a linear instrument."""

    def __init__(self, seed, unknowns):
        self.rng = np.random.default_rng(seed)
        self.truth = np.linspace(-1, 1, unknowns)

    def batch(self, rows):
        a = self.rng.standard_normal((rows, len(self.truth)))
        # columns that nearly depend on each other, so normal equations would not do
        a[:, 1] = a[:, 0] + 1e-5 * a[:, 1]
        b = a @ self.truth + 1e-7 * self.rng.standard_normal(rows)
        return np.column_stack([a, b])


def main():
    rows, unknowns, batches = (int(a) for a in sys.argv[1:4])
    comm = MPI.COMM_WORLD
    readings = Readings(comm.Get_rank(), unknowns)
    total = np.zeros((unknowns + 1, unknowns + 1))
    errors = []
    for _ in range(batches):
        here = np.linalg.qr(readings.batch(rows), mode="r")
        together = comm.allreduce(here, op=combine)
        total = combine(total, together)
        solution = np.linalg.solve(total[:-1, :-1], total[:-1, -1])
        errors.append(np.abs(solution - readings.truth).max())
    assert errors[-1] < 1e-2, errors
    # the last element is the residual of the solution: the noise of all readings
    noise = abs(total[-1, -1]) / np.sqrt(rows * batches * comm.Get_size())
    assert 0.8e-7 < noise < 1.2e-7, noise
    everywhere = comm.gather(solution, root=0)
    if comm.Get_rank() == 0:
        assert all(np.allclose(each, solution, atol=1e-8) for each in everywhere)


if __name__ == "__main__":
    main()
