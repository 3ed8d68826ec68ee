"""How much an insurer keeps of each claim: a grid of ranks plays many years and perils, and counts the worst years."""

import sys
from math import exp

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
years, perils, rounds = (int(word) for word in sys.argv[1:])
BLOCK, ONE_IN = 500, 200
assert years % BLOCK == 0

# ranks of a row have the same years, those of a column the same perils
grid = comm.Create_cart(MPI.Compute_dims(comm.size, 2))
row, column = grid.Sub([False, True]), grid.Sub([True, False])
blocks = range(column.rank, years // BLOCK, column.size)
own_perils = range(row.rank, perils, row.size)
rates = [2 + 9 * ((7 * peril) % perils) / perils for peril in range(perils)]
means = [1 + 12 / (1 + peril) for peril in range(perils)]


def play(block, peril, limit):
    """What a peril costs in each year of a block, if others pay the part of each claim above a limit."""
    random = np.random.default_rng([411, block, peril])
    counts = random.poisson(rates[peril], size=BLOCK)
    claims = np.minimum(random.exponential(means[peril], size=counts.sum()), limit)
    return np.bincount(np.repeat(np.arange(BLOCK), counts), weights=claims, minlength=BLOCK)


def losses(limit):
    """Losses of the own years by all perils; leaders of rows have them."""
    total = np.zeros((len(blocks), BLOCK))
    for place, block in enumerate(blocks):
        for peril in own_perils:
            total[place] += play(block, peril, limit)
    result = np.empty_like(total) if row.rank == 0 else None
    row.Reduce(total, result, root=0)
    return result


def worst(lost):
    """The loss that one year in many exceeds, by bisection: leaders count their years together."""
    low, high = 0.0, column.allreduce(float(lost.max(initial=0)), op=MPI.MAX)
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        if column.allreduce(int((lost > middle).sum())) > years // ONE_IN:
            low = middle
        else:
            high = middle
    return high


def expected(limit):
    """Mean and variance of a year's loss: sums of Poisson numbers of exponential claims, cut off."""
    mean = variance = 0.0
    for rate, scale in zip(rates, means):
        left = exp(-limit / scale)
        mean += rate * scale * (1 - left)
        variance += rate * 2 * (scale**2 * (1 - left) - scale * limit * left)
    return mean, variance


# the insurer can bear this much; halve the interval of limits until losses of bad years are as high
mean, variance = expected(10.0)
capital = mean + 2.4 * variance**0.5
least, most, outcomes = 2.0, 40.0, []
for _ in range(rounds):
    limit = (least + most) / 2
    lost = losses(limit)
    bad = None
    if row.rank == 0:
        bad = worst(lost)
        exceeded = column.allreduce(int((lost > bad).sum()))
        assert exceeded <= years // ONE_IN <= exceeded + 1
        total = column.allreduce(float(lost.sum()))
        mean, variance = expected(limit)
        assert abs(total / years - mean) < 5 * (variance / years) ** 0.5
    bad = row.bcast(bad, root=0)
    outcomes.append((limit, bad))
    if bad > capital:
        most = limit
    else:
        least = limit

# who keeps more loses more in bad years, and all ranks have come to the same limit
assert [bad for _, bad in sorted(outcomes)] == sorted(bad for _, bad in outcomes)
assert len(set(comm.allgather((least, most)))) == 1
assert abs(outcomes[-1][1] / capital - 1) < 0.1 or rounds < 4
