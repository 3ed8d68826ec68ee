"""Which power plants run when: two regions with a line between them raise the prices of hours that lack power."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
plants, hours, rounds = (int(word) for word in sys.argv[1:])
LINE = 0.05 * plants  # what the line between the regions can carry

# ranks by turns belong to the north and to the south; in each the first one sets the prices
region = comm.rank % 2
area = comm.Split(region, comm.rank)
leaders = comm.Split(0 if area.rank == 0 else MPI.UNDEFINED, comm.rank)
mine = (area.rank + 1) * plants // area.size - area.rank * plants // area.size
first = area.rank * plants // area.size

# plants that are cheap to run are dear to start
random = np.random.default_rng([181, region])
most = random.uniform(0.5, 2.0, plants)[first : first + mine]
least = most * random.uniform(0.2, 0.5, plants)[first : first + mine]
cheap = random.random(plants)[first : first + mine]
fuel = 20 + 40 * (1 - cheap) + 10 * region
idle = (5 + 5 * random.random(plants)[first : first + mine]) * most
start = (20 + 150 * cheap) * most

clock = np.arange(hours) * 24 / hours
capacity = area.allreduce(float(most.sum()))
shape = 0.55 + 0.2 * np.sin((clock - 9) * np.pi / 12) + 0.08 * np.sin((clock - 3 * region) * np.pi / 4)
demand = capacity * shape


def schedule(prices):
    """Each plant earns as much as it can: by dynamic programming over hours, on or off. Power and cost per hour."""
    power = np.where(prices[:, None] > fuel, most, least)
    gain = power * (prices[:, None] - fuel) - idle
    on, off = -start, np.zeros(mine)
    stays, stops = np.empty((hours, mine), dtype=bool), np.empty((hours, mine), dtype=bool)
    for hour in range(hours):
        stays[hour] = on >= off - start
        stops[hour] = on > off
        on, off = np.where(stays[hour], on, off - start) + gain[hour], np.where(stops[hour], on, off)
    best = np.maximum(on, off)
    running = on > off
    runs = np.empty((hours, mine), dtype=bool)
    for hour in range(hours - 1, -1, -1):
        runs[hour] = running
        running = np.where(running, stays[hour], stops[hour])
    begun = runs & ~np.vstack([np.zeros((1, mine), dtype=bool), runs[:-1]])
    cost = (runs * (power * fuel + idle) + begun * start).sum()
    produced = (runs * power).sum(axis=1)
    # earnings that were promised are those that the schedule has
    assert abs(best.sum() - (produced @ prices - cost)) < 1e-6 * (1 + abs(cost))
    return produced, float(cost), float(best.sum())


prices = np.full(hours, 40.0)
total = np.empty(hours + 2)
bounds, lacks = [], []
for number in range(rounds):
    area.Bcast(prices, root=0)
    produced, cost, earned = schedule(prices)
    area.Reduce(np.concatenate([produced, [cost, earned]]), total, root=0)
    if area.rank == 0:
        # power flows to where it is dearer
        other = np.empty(hours)
        leaders.Sendrecv(prices, dest=1 - leaders.rank, recvbuf=other, source=1 - leaders.rank)
        flow = LINE * np.sign(prices - other)
        bounds.append(leaders.allreduce(float(prices @ demand - total[-1] - LINE * np.abs(prices - other).sum() / 2)))
        lack = demand - total[:hours] - flow
        lacks.append(float(np.abs(lack).sum()) / demand.sum())
        prices += 150 / (10 + number) * lack / capacity * 10
        np.maximum(prices, 0, out=prices)

# any way to run the plants costs at least the bound: so does it to run all of them all the time
area.Bcast(prices, root=0)
sums = np.array([least.sum(), (most - least).sum()])
area.Allreduce(MPI.IN_PLACE, sums)
load = np.maximum(demand - sums[0], 0) / sums[1]
assert load.max() <= 1
cost = ((least + load[:, None] * (most - least)) * fuel + idle).sum() + start.sum()
everything = comm.allreduce(float(cost))
if area.rank == 0:
    assert 0.6 * everything < max(bounds) < everything
    assert max(bounds[rounds // 2 :]) >= max(bounds[: rounds // 2])
    assert min(lacks) < 0.15 and np.mean(lacks[-20:]) < np.mean(lacks[:5])
    assert (prices > 0).all()
