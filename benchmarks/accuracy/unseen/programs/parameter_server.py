"""Train a classifier with a parameter server: rank 0 applies gradients as they arrive, and returns the new weights."""

import sys

import numpy as np
from mpi4py import MPI

GRADIENT, WEIGHTS = 1, 2
comm = MPI.COMM_WORLD
features, batch, steps = (int(arg) for arg in sys.argv[1:])
classes = 10
centres = 0.3 * np.random.default_rng(0).standard_normal((classes, features)).astype(np.float32)


def examples(count, rng):
    labels = rng.integers(0, classes, count)
    return centres[labels] + rng.standard_normal((count, features), dtype=np.float32), labels


def probabilities(weights, x):
    scores = x @ weights
    scores -= scores.max(axis=1, keepdims=True)
    p = np.exp(scores)
    return p / p.sum(axis=1, keepdims=True)


def loss(weights, x, labels):
    return -np.log(probabilities(weights, x)[np.arange(len(x)), labels] + 1e-9).mean()


def serve(weights):
    gradient = np.empty_like(weights)
    status = MPI.Status()
    x, labels = examples(500, np.random.default_rng(1))
    before = loss(weights, x, labels)
    applied = np.zeros(comm.size, dtype=int)
    for update in range(steps * (comm.size - 1)):
        comm.Recv(gradient, source=MPI.ANY_SOURCE, tag=GRADIENT, status=status)
        worker = status.Get_source()
        weights -= 0.1 / (1 + 0.01 * update) * gradient
        applied[worker] += 1
        comm.Send(weights, dest=worker, tag=WEIGHTS)
    assert applied[1:].tolist() == [steps] * (comm.size - 1)
    assert loss(weights, x, labels) < 0.3 * before


def work(weights):
    rng = np.random.default_rng(10 + comm.rank)
    for _ in range(steps):
        x, labels = examples(batch, rng)
        error = probabilities(weights, x)
        error[np.arange(batch), labels] -= 1
        gradient = x.T @ error / batch
        comm.Send(gradient, dest=0, tag=GRADIENT)
        comm.Recv(weights, source=0, tag=WEIGHTS)


start = np.zeros((features, classes), dtype=np.float32)
comm.Bcast(start, root=0)
if comm.rank == 0:
    serve(start)
else:
    work(start)
