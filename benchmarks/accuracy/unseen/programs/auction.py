"""Who does which job (Bertsekas' auction): ranks bid for their people, everyone learns all bids, and prices rise."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
n, worth, scaling = (int(word) for word in sys.argv[1:])
shares = [(rank + 1) * n // comm.size - rank * n // comm.size for rank in range(comm.size)]
begin = comm.rank * n // comm.size
end = begin + shares[comm.rank]

# how well people know jobs; multiplied by n + 1, so that an epsilon of 1 is small enough for the best assignment
random = np.random.default_rng(61)
talent = random.random((n, 4))
kind = random.random((4, n))
benefit = ((talent @ kind / 4 * worth).astype(np.int64) + random.integers(worth // 4, size=(n, n)))[begin:end] * (n + 1)
del talent, kind

NONE = -1
bid_type = np.dtype([("job", np.int64), ("price", np.int64)])
prices = np.zeros(n, dtype=np.int64)
rounds = 0


def bids(people, epsilon):
    """Bids of people without a job: for the best one, as much more as it is better than the second best."""
    value = benefit[people - begin] - prices
    best = value.argmax(axis=1)
    line = np.arange(len(people))
    most = value[line, best]
    value[line, best] = np.iinfo(np.int64).min
    return best, prices[best] + most - value.max(axis=1) + epsilon


def sell(epsilon):
    """Hold auctions until everyone has a job; prices are kept from before."""
    global rounds
    owner, job_of = np.full(n, NONE), np.full(n, NONE)
    all_bids = np.empty(n, dtype=bid_type)
    counts = [bid_type.itemsize * share for share in shares]
    while (job_of == NONE).any():
        rounds += 1
        own = np.full(end - begin, NONE, dtype=bid_type)
        people = begin + np.flatnonzero(job_of[begin:end] == NONE)
        if len(people):
            own["job"][people - begin], own["price"][people - begin] = bids(people, epsilon)
        comm.Allgatherv([own, MPI.BYTE], [all_bids, counts, MPI.BYTE])
        # everyone decides the same: the highest bid, of several the first one
        bidders = np.flatnonzero(all_bids["job"] != NONE)
        jobs, offered = all_bids["job"][bidders], all_bids["price"][bidders]
        order = np.lexsort((bidders, -offered, jobs))
        winners = order[np.unique(jobs[order], return_index=True)[1]]
        for person, job, price in zip(bidders[winners], jobs[winners], offered[winners]):
            if owner[job] != NONE:
                job_of[owner[job]] = NONE
            owner[job], job_of[person], prices[job] = person, job, price
    return job_of


epsilon = int(benefit.max(initial=1)) // scaling
epsilon = comm.allreduce(epsilon, op=MPI.MAX)
while epsilon > 1:
    sell(epsilon)
    epsilon //= scaling
chosen = sell(1)

assert (np.sort(chosen) == np.arange(n)).all()
assert comm.allreduce(rounds, op=MPI.MIN) == rounds
# nobody could do better, by more than a hair, at these prices
value = benefit - prices
mine = value[np.arange(end - begin), chosen[begin:end]]
assert (mine >= value.max(axis=1) - 1).all()
reached = comm.allreduce(int(benefit[np.arange(end - begin), chosen[begin:end]].sum()))
bound = comm.allreduce(int(value.max(axis=1).sum())) + int(prices.sum())
assert reached % (n + 1) == 0 and reached <= bound < reached + n + 1
