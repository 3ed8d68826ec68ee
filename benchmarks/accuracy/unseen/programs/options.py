"""American options by simulation (Longstaff and Schwartz): ranks have paths, and fit together what waiting is worth."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
paths, dates, contracts = (int(word) for word in sys.argv[1:])
RATE, NOW, YEARS, DEGREE = 0.06, 36.0, 1.0, 4
own = (comm.rank + 1) * paths // comm.size - comm.rank * paths // comm.size
step = YEARS / dates
discount = np.exp(-RATE * step)


def simulate(volatility, random):
    """Prices on all dates; each path has a mirrored one."""
    normal = random.standard_normal((dates, (own + 1) // 2))
    normal = np.concatenate([normal, -normal], axis=1)[:, :own]
    moves = (RATE - volatility**2 / 2) * step + volatility * np.sqrt(step) * normal
    return NOW * np.exp(np.cumsum(moves, axis=0))


def fit(x, y):
    """Least squares over the paths of all ranks."""
    basis = np.polynomial.laguerre.lagvander(x, DEGREE)
    sums = np.empty((DEGREE + 1, DEGREE + 2))
    sums[:, :-1] = basis.T @ basis
    sums[:, -1] = basis.T @ y
    comm.Allreduce(MPI.IN_PLACE, sums)
    return basis @ np.linalg.lstsq(sums[:, :-1], sums[:, -1], rcond=None)[0]


def by_paths(strike, volatility, random):
    """Mean and error of the value today."""
    prices = simulate(volatility, random)
    cash = np.maximum(strike - prices[-1], 0)
    for date in range(dates - 2, -1, -1):
        cash = cash * discount
        gain = strike - prices[date]
        inside = np.flatnonzero(gain > 0)
        waiting = fit(prices[date, inside] / strike, cash[inside])
        now = inside[gain[inside] > waiting]
        cash[now] = gain[now]
    cash *= discount
    sums = comm.allreduce(np.array([cash.sum(), (cash**2).sum()])) / paths
    # one may also exercise today
    return max(sums[0], strike - NOW), np.sqrt((sums[1] - sums[0] ** 2) / paths)


def by_tree(strike, volatility, levels=400):
    """The same from a binomial tree."""
    time = YEARS / levels
    up = np.exp(volatility * np.sqrt(time))
    likely = (np.exp(RATE * time) - 1 / up) / (up - 1 / up)
    value = np.maximum(strike - NOW * up ** np.arange(-levels, levels + 1.0, 2), 0)
    for level in range(levels - 1, -1, -1):
        value = np.exp(-RATE * time) * (likely * value[1:] + (1 - likely) * value[:-1])
        value = np.maximum(value, strike - NOW * up ** np.arange(-level, level + 1.0, 2))
    return float(value[0])


random = np.random.default_rng([91, comm.rank])
book = []
for number in range(contracts):
    strike, volatility = 38.0 + 4 * (number % 3), 0.2 + 0.1 * (number // 3 % 3)
    book.append((strike, volatility, *by_paths(strike, volatility, random)))

# others check what some have found
for strike, volatility, value, error in book[comm.rank :: comm.size]:
    assert abs(value - by_tree(strike, volatility)) < 0.02 * value + 5 * error
