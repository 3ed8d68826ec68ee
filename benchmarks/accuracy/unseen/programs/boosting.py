"""Boosted regression trees: ranks have samples, and add up histograms of what is missed, which tell the splits."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
samples, features, trees, depth = (int(word) for word in sys.argv[1:])
BINS, RATE = 32, 0.3


def wanted(table):
    """What is to be learned; the later features say nothing."""
    return np.where(table[:, 0] > 0.5, 2 * table[:, 1], 1 - table[:, 2]) + np.sin(4 * table[:, 3 % features])


begin, end = comm.rank * samples // comm.size, (comm.rank + 1) * samples // comm.size
random = np.random.default_rng(31)
table = random.random((samples, features))[begin:end]
noise = random.normal(scale=0.1, size=samples)[begin:end]
target = wanted(table) + noise
codes = (table * BINS).astype(np.int64)


def histograms(nodes, missed, here):
    """Number and sum of what is missed, by feature, node and bin."""
    result = np.empty((2, features, nodes, BINS))
    for feature in range(features):
        key = here * BINS + codes[:, feature]
        result[0, feature] = np.bincount(key, minlength=nodes * BINS).reshape(nodes, BINS)
        result[1, feature] = np.bincount(key, missed, nodes * BINS).reshape(nodes, BINS)
    return result


def best_splits(counts, sums):
    """Of each node the feature and the last bin of the left side for which squares decrease most."""
    counts, sums = counts.cumsum(axis=2), sums.cumsum(axis=2)
    left_count, left_sum = counts[..., :-1], sums[..., :-1]
    right_count, right_sum = counts[..., -1:] - left_count, sums[..., -1:] - left_sum
    gain = left_sum**2 / np.maximum(left_count, 1) + right_sum**2 / np.maximum(right_count, 1)
    chosen = gain.transpose(1, 0, 2).reshape(gain.shape[1], -1).argmax(axis=1)
    return [divmod(int(each), BINS - 1) for each in chosen]


def descend(of, splits, here):
    """The number of each sample's node on the next level."""
    feature, last = np.array(splits).T[:, here]
    return 2 * here + (of[np.arange(len(of)), feature] > last)


forest, errors = [], []
guess = np.zeros(end - begin)
for _ in range(trees):
    missed = target - guess
    here = np.zeros(end - begin, dtype=np.int64)
    levels = []
    for level in range(depth):
        total = histograms(2**level, missed, here)
        comm.Allreduce(MPI.IN_PLACE, total)
        assert (total[0].sum(axis=(1, 2)) == samples).all()
        levels.append(best_splits(*total))
        here = descend(codes, levels[-1], here)

    # leaves have the mean of what their samples miss
    sums = np.array([np.bincount(here, missed, 2**depth), np.bincount(here, minlength=2**depth)])
    comm.Allreduce(MPI.IN_PLACE, sums)
    leaves = RATE * sums[0] / np.maximum(sums[1], 1)
    forest.append((levels, leaves))
    guess += leaves[here]
    errors.append(comm.allreduce(float(((target - guess) ** 2).sum())) / samples)

assert all(later <= earlier + 1e-9 for earlier, later in zip(errors, errors[1:]))

# the forest also knows samples that it has never seen
fresh = np.random.default_rng(32 + comm.rank).random((500, features))
guess, binned = np.zeros(500), (fresh * BINS).astype(np.int64)
for levels, leaves in forest:
    here = np.zeros(500, dtype=np.int64)
    for splits in levels:
        here = descend(binned, splits, here)
    guess += leaves[here]
assert np.mean((guess - wanted(fresh)) ** 2) < 0.3 * np.var(wanted(fresh))
