"""Track a vehicle by a particle filter: likely particles are multiplied, then distributed evenly over ranks."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
particles, steps = int(sys.argv[1]), int(sys.argv[2])
begins = np.arange(comm.size + 1) * particles // comm.size
first, last = begins[comm.rank], begins[comm.rank + 1]
rng = np.random.default_rng(200 + comm.rank)
landmarks = np.array([[0, 0], [60, 0], [60, 60], [0, 60], [30, 20]], dtype=float)


def drive(state, noise):
    """Move on by the speed, which changes a little."""
    state[:, 2:] += 0.08 * noise[:, 2:]
    state[:, :2] += state[:, 2:] + 0.05 * noise[:, :2]


def measurements():
    """The true path, and the distances to the landmarks that the vehicle measures on it."""
    dice = np.random.default_rng(77)
    vehicle = np.array([[20.0, 20.0, 0.4, 0.3]])
    for _ in range(steps):
        drive(vehicle, dice.standard_normal((1, 4)))
        apart = np.linalg.norm(landmarks - vehicle[0, :2], axis=1)
        yield vehicle[0, :2].copy(), apart + 0.5 * dice.standard_normal(len(landmarks))


def deal_out(mine, edges):
    """Send consecutive particles, of which each rank has those between two edges, to the ranks that shall have them."""
    requests, kept = [], np.empty((last - first, 4))
    at = edges[comm.rank]
    for other in range(comm.size):
        low, high = max(first, edges[other]), min(last, edges[other + 1])
        if low < high and other != comm.rank:
            requests.append(comm.Irecv(kept[low - first : high - first], source=other))
    for other in range(comm.size):
        low, high = max(begins[other], at), min(begins[other + 1], at + len(mine))
        if low >= high:
            continue
        if other == comm.rank:
            kept[low - first : high - first] = mine[low - at : high - at]
        else:
            requests.append(comm.Isend(mine[low - at : high - at], dest=other))
    MPI.Request.Waitall(requests)
    return kept


state = np.column_stack([60 * rng.random((last - first, 2)), rng.standard_normal((last - first, 2))])
errors = []
for truth, measured in measurements():
    drive(state, rng.standard_normal(state.shape))
    distances = np.linalg.norm(state[:, None, :2] - landmarks, axis=2)
    score = -0.5 * (((distances - measured) / 0.5) ** 2).sum(axis=1)
    weights = np.exp(score - comm.allreduce(score.max(), op=MPI.MAX))
    here = np.array([weights.sum(), *(weights @ state[:, :2])])
    total, until = np.empty(3), np.empty(3)
    comm.Allreduce(here, total)
    comm.Scan(here, until)
    errors.append(np.linalg.norm(total[1:] / total[0] - truth))

    # systematic resampling: a comb with one tooth for each particle goes over the weights of all ranks
    tooth = comm.bcast(rng.random() if comm.rank == 0 else None, root=0)
    sums = until[0] - here[0] + weights.cumsum()
    sums[-1] = until[0]
    teeth = np.ceil(sums / total[0] * particles - tooth).astype(int)
    edges = np.maximum.accumulate([0, *comm.allgather(int(teeth[-1]))]).clip(0, particles)
    edges[-1] = particles
    teeth = np.clip(teeth, edges[comm.rank], edges[comm.rank + 1])
    teeth[-1] = edges[comm.rank + 1]
    state = deal_out(np.repeat(state, np.diff(teeth, prepend=edges[comm.rank]), axis=0), edges)

assert len(state) == last - first
assert comm.allreduce(len(state)) == particles
assert np.mean(errors[steps // 2 :]) < 0.6, errors
