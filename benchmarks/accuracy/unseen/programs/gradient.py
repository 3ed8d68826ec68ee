"""Train a small neural network by data parallel stochastic gradient descent: gradients are averaged by Allreduce."""

import sys

import numpy as np
from mpi4py import MPI


class Network:
    def __init__(self, inputs, hidden, outputs):
        rng = np.random.default_rng(0)
        self.shapes = [(inputs, hidden), (hidden,), (hidden, outputs), (outputs,)]
        self.sizes = [int(np.prod(shape)) for shape in self.shapes]
        self.parameters = (rng.standard_normal(sum(self.sizes)) * 0.05).astype(np.float32)

    def split(self, flat):
        parts = np.split(flat, np.cumsum(self.sizes)[:-1])
        return [part.reshape(shape) for part, shape in zip(parts, self.shapes)]

    def loss_and_gradient(self, x, labels):
        w1, b1, w2, b2 = self.split(self.parameters)
        h = np.maximum(x @ w1 + b1, 0)
        scores = h @ w2 + b2
        scores -= scores.max(axis=1, keepdims=True)
        p = np.exp(scores)
        p /= p.sum(axis=1, keepdims=True)
        rows = np.arange(len(x))
        loss = -np.log(p[rows, labels]).mean()
        p[rows, labels] -= 1
        p /= len(x)
        back = (p @ w2.T) * (h > 0)
        gradient = [x.T @ back, back.sum(axis=0), h.T @ p, p.sum(axis=0)]
        return loss, np.concatenate([g.ravel() for g in gradient]).astype(np.float32)


comm = MPI.COMM_WORLD
hidden, batch, steps = (int(a) for a in sys.argv[1:])
inputs, outputs = 256, 10

# each rank has its own part of the data
rng = np.random.default_rng(1 + comm.Get_rank())
centres = np.random.default_rng(9).standard_normal((outputs, inputs)).astype(np.float32)
labels = rng.integers(0, outputs, 2000)
samples = centres[labels] + rng.standard_normal((2000, inputs)).astype(np.float32)

net = Network(inputs, hidden, outputs)
velocity = np.zeros_like(net.parameters)
losses = []
for step in range(steps):
    chosen = rng.integers(0, len(samples), batch)
    loss, gradient = net.loss_and_gradient(samples[chosen], labels[chosen])
    comm.Allreduce(MPI.IN_PLACE, gradient, op=MPI.SUM)
    gradient /= comm.Get_size()
    velocity = 0.9 * velocity - 0.02 * gradient
    net.parameters += velocity
    if step % 5 == 0:
        losses.append(comm.allreduce(float(loss)) / comm.Get_size())

assert losses[-1] < 0.7 * losses[0]
# all ranks must have the same network
checksum = comm.allgather(float(net.parameters.astype(np.float64).sum()))
assert max(checksum) - min(checksum) < 1e-4
