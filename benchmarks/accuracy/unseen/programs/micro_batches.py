"""Train a deep network whose layers are on different ranks: micro-batches go down the chain, gradients come back up."""

import sys

import numpy as np
from mpi4py import MPI

LAYERS, FORWARD, BACK = 8, 0, 1000
comm = MPI.COMM_WORLD
width, batch, micro, steps = (int(word) for word in sys.argv[1:])
rank, last = comm.rank, comm.size - 1
rows = batch // micro

mine = np.array_split(np.arange(LAYERS), comm.size)[rank]
start = 0.3 * np.random.default_rng(0).standard_normal((LAYERS, width, width)) / np.sqrt(width)
weights = start[mine]
rng = np.random.default_rng(1)
samples = rng.standard_normal((batch, width))
targets = samples + np.sin(samples @ rng.standard_normal((width, width)) / np.sqrt(width))


def forward(x, layers):
    """The output of layers, and the data that the backward pass needs."""
    kept = []
    for w in layers:
        bent = np.tanh(x @ w)
        kept.append((x, bent))
        x = x + bent
    return x, kept


def backward(slope, kept, gradients):
    for layer in reversed(range(len(mine))):
        x, bent = kept[layer]
        inner = slope * (1 - bent * bent)
        gradients[layer] += x.T @ inner
        slope = slope + inner @ weights[layer].T
    return slope


def train():
    """One step: loss and gradients of the layers here. Each rank runs ahead as far as the ranks behind it need."""
    loss, gradients, kept, requests = 0.0, np.zeros_like(weights), {}, []
    there = back = 0
    while back < micro:
        if there < micro and there - back <= last - rank:
            x = samples[there * rows : (there + 1) * rows]
            if rank > 0:
                x = np.empty((rows, width))
                comm.Recv(x, source=rank - 1, tag=FORWARD + there)
            x, kept[there] = forward(x, weights)
            if rank < last:
                requests.append(comm.Isend(x, dest=rank + 1, tag=FORWARD + there))
            else:
                kept[there].append(x - targets[there * rows : (there + 1) * rows])
            there += 1
        else:
            if rank < last:
                slope = np.empty((rows, width))
                comm.Recv(slope, source=rank + 1, tag=BACK + back)
            else:
                slope = kept[back].pop()
                loss += (slope**2).sum() / batch
            slope = backward(slope, kept.pop(back), gradients)
            if rank > 0:
                requests.append(comm.Isend(slope, dest=rank - 1, tag=BACK + back))
            back += 1
    MPI.Request.Waitall(requests)
    return loss, gradients / batch


losses = []
for step in range(steps):
    loss, gradients = train()
    losses.append(loss)
    if step < steps - 1:
        weights -= 0.1 * gradients

# the whole network on one rank must have the loss of the last step
parts = comm.gather(weights, root=last)
if rank == last:
    found, _ = forward(samples, np.concatenate(parts))
    assert np.isclose(((found - targets) ** 2).sum() / batch, losses[-1])
    assert losses[-1] < 0.8 * losses[0], losses
