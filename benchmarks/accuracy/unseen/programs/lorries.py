"""Goods for a fleet of lorries, by column generation: rank 0 tells what goods are worth, all load lorries better."""

import sys
from itertools import chain

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
goods, kinds, capacity = (int(word) for word in sys.argv[1:])
SMALL = 1e-7

random = np.random.default_rng(1011)
weights = random.integers(capacity // 12, capacity // 3, size=goods)
demands = random.integers(20, 200, size=goods).astype(float)
capacities = random.integers(capacity // 2, capacity + 1, size=kinds)
costs = np.round(20 + 100 * (capacities / capacity) ** 0.8 + random.uniform(0, 15, size=kinds), 2)
# some lorries have no cooling, others must not carry what is dangerous; the last one takes everything
may_carry = random.random((kinds, goods)) < 0.8
may_carry[-1] = True


def best_load(kind, worth):
    """The load of a lorry that is worth most, by dynamic programming over its capacity."""
    some = np.flatnonzero(may_carry[kind] & (worth > SMALL))
    best = np.zeros(capacities[kind] + 1)
    choice = np.full(capacities[kind] + 1, -1)
    heavy, value = weights[some], worth[some]
    for room in range(1, capacities[kind] + 1):
        options = np.where(heavy <= room, value + best[room - heavy], -1.0)
        pick = int(options.argmax()) if len(some) else 0
        best[room], choice[room] = best[room - 1], -1
        if len(some) and options[pick] > best[room] + SMALL:
            best[room], choice[room] = options[pick], some[pick]
    load, room = np.zeros(goods), int(capacities[kind])
    while room > 0:
        if choice[room] < 0:
            room -= 1
        else:
            load[choice[room]] += 1
            room -= weights[choice[room]]
    return float(best[-1]), load


class Plan:
    """Which loads are driven how often: a linear program, whose basis is kept between rounds."""

    def __init__(self):
        # in the beginning, a lorry of the last kind carries one sort of goods
        single = capacities[-1] // weights
        self.loads = list(np.diag(single).astype(float))
        self.kinds = [kinds - 1] * goods
        self.basis = list(range(goods))
        self.inverse = np.diag(1.0 / single)
        self.pivots = 0

    def worth(self):
        return costs[[self.kinds[each] for each in self.basis]] @ self.inverse

    def improve(self, news):
        """Add loads, and pivot until none of all makes the plan cheaper."""
        for kind, load in news:
            self.kinds.append(kind)
            self.loads.append(load)
        matrix, prices = np.array(self.loads), costs[self.kinds]
        while True:
            gain = prices - matrix @ self.worth()
            enter = int(gain.argmin())
            if gain[enter] > -SMALL:
                return
            column, amounts = self.inverse @ matrix[enter], self.inverse @ demands
            ratios = np.where(column > SMALL, amounts / np.maximum(column, SMALL), np.inf)
            leave = int(ratios.argmin())
            self.basis[leave] = enter
            pivot = self.inverse[leave] / column[leave]
            self.inverse -= np.outer(column, pivot)
            self.inverse[leave] = pivot
            self.pivots += 1


plan = Plan() if comm.rank == 0 else None
bounds = []
while True:
    worth = comm.bcast(np.maximum(plan.worth(), 0) if comm.rank == 0 else None, root=0)
    better = []
    for kind in range(comm.rank, kinds, comm.size):
        value, load = best_load(kind, worth)
        if value > costs[kind] + 1e-6:
            better.append((kind, load))
    news = comm.gather(better, root=0)
    found = comm.bcast(sum(map(len, news)) if comm.rank == 0 else None, root=0)
    if not found:
        break
    if comm.rank == 0:
        plan.improve(sorted(chain.from_iterable(news), key=lambda one: (one[0], *one[1])))
        bounds.append(float(plan.worth() @ demands))

# no prices make the goods worth more than the plan costs, and full lorries carry at least all goods
if comm.rank == 0:
    often = plan.inverse @ demands
    loads, prices = np.array(plan.loads)[plan.basis], costs[[plan.kinds[each] for each in plan.basis]]
    assert (often > -SMALL).all() and np.abs(often @ loads - demands).max() < 1e-6
    assert abs(prices @ often - worth @ demands) < 1e-6 * (prices @ often)
    assert all(after <= before + 1e-6 for before, after in zip(bounds, bounds[1:]))
    assert (np.ceil(often - 1e-6) @ loads >= demands - 1e-6).all()
    assert prices @ np.ceil(often - 1e-6) < prices @ often + prices.sum()
    assert all((load @ weights <= capacities[kind]) for kind, load in zip(plan.kinds, plan.loads))
