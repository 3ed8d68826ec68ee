"""The hidden states behind a long record: filtered and smoothed by prefix products of transition matrices."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
length, states, rounds = (int(word) for word in sys.argv[1:])
rank, size = comm.rank, comm.size
begin, end = rank * length // size, (rank + 1) * length // size
SYMBOLS = 6

# a machine that wanders through its states, and shows a symbol in each; the record is the same on all ranks
random = np.random.default_rng(31)
move = random.dirichlet(np.full(states, 0.3), states) * 0.2 + 0.8 * np.eye(states)
show = random.dirichlet(np.full(SYMBOLS, 0.3), states)
leaps, looks = np.cumsum(move, axis=1), np.cumsum(show, axis=1)
state, record = 0, np.empty(length, dtype=int)
for t, (leap, look) in enumerate(random.random((length, 2))):
    state = min(int(np.searchsorted(leaps[state], leap)), states - 1)
    record[t] = min(int(np.searchsorted(looks[state], look)), SYMBOLS - 1)
mine = record[begin:end]


def scaled(matrix, log=0.0):
    """A matrix scaled so that its largest value is one, and the logarithm of the divisor."""
    largest = matrix.max()
    return matrix / largest, log + float(np.log(largest))


def after(one, other):
    """The product of two scaled matrices."""
    return scaled(one[0] @ other[0], one[1] + other[1])


nothing = (np.eye(states), 0.0)
guess = np.full((states, SYMBOLS), 1 / SYMBOLS) + 0.5 * show
guess /= guess.sum(axis=1, keepdims=True)
likelihoods = []
for _ in range(rounds):
    # the product of all steps here, then that of all ranks before, and that of all ranks behind
    steps = [move * guess[:, symbol] for symbol in range(SYMBOLS)]
    whole = nothing
    for symbol in mine:
        whole = after(whole, (steps[symbol], 0.0))
    earlier = comm.exscan(whole, op=after) or nothing
    back = comm.gather(whole, root=0)
    if rank == 0:
        later = [nothing]
        for product in reversed(back[1:]):
            later.append(after(product, later[-1]))
        later.reverse()
    else:
        later = None
    behind = comm.scatter(later, root=0)

    # probability of each state at each time here, given the record before and after it
    forward, backward = np.empty((2, end - begin, states))
    now = earlier[0].sum(axis=0)
    for t, symbol in enumerate(mine):
        now = now @ steps[symbol]
        now /= now.sum()
        forward[t] = now
    now = behind[0].sum(axis=1)
    for t in range(end - begin - 1, -1, -1):
        now = now / now.sum()
        backward[t] = now
        now = steps[mine[t]] @ now
    likely = forward * backward
    likely /= likely.sum(axis=1, keepdims=True)

    # estimate again which symbols the states show
    seen = np.zeros((states, SYMBOLS))
    np.add.at(seen.T, mine, likely)
    total = np.empty_like(seen)
    comm.Allreduce(seen, total)
    guess = total / total.sum(axis=1, keepdims=True)
    end_of_all = after(earlier, whole)
    sum_of_all = float(np.log(end_of_all[0].sum()) + end_of_all[1] - np.log(states))
    likelihoods.append(comm.bcast(sum_of_all, root=size - 1))
    assert np.isclose(total.sum(), length)

assert all(late > early - 1e-6 for early, late in zip(likelihoods, likelihoods[1:]))
