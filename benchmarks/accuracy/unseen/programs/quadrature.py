"""Adaptive quadrature: intervals that are too coarse are halved, and prefix sums distribute all evenly again."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
digits, first_intervals, order = (int(arg) for arg in sys.argv[1:4])
tolerance = 10.0**-digits
x1, w1 = np.polynomial.legendre.leggauss(order)
x2, w2 = np.polynomial.legendre.leggauss(2 * order)
peaks = np.array([0.137, 0.1371, 0.52, 0.9])
widths = np.array([1e-5, 3e-5, 1e-3, 1e-2])


def function(x):
    """Narrow peaks, nearly all of them at the left."""
    return sum(w / ((x - p) ** 2 + w * w) for p, w in zip(peaks, widths)) + np.cos(50 * x)


def integrate(intervals, nodes, weights):
    middle, half = intervals.mean(axis=1), (intervals[:, 1] - intervals[:, 0]) / 2
    return half * (function(middle[:, None] + half[:, None] * nodes) @ weights)


def deal_out(intervals):
    """Give all ranks the same number of intervals, in order."""
    here = np.array([len(intervals)])
    before, total = np.zeros(1, int), np.zeros(1, int)
    comm.Exscan(here, before)
    comm.Allreduce(here, total)
    begins = np.arange(comm.size + 1) * total[0] // comm.size
    cuts = np.clip(begins - before[0], 0, here[0])
    sent = np.diff(cuts)
    received = np.empty_like(sent)
    comm.Alltoall(sent, received)
    mine = np.empty((received.sum(), 2))
    comm.Alltoallv([intervals, 2 * sent], [mine, 2 * received])
    return mine, total[0]


edges = np.linspace(0, 1, first_intervals + 1)
intervals = np.column_stack([edges[:-1], edges[1:]])[comm.rank :: comm.size].copy()
left, integral = 1, 0.0
while left:
    coarse, fine = integrate(intervals, x1, w1), integrate(intervals, x2, w2)
    good = np.abs(coarse - fine) <= tolerance * (intervals[:, 1] - intervals[:, 0])
    integral += fine[good].sum()
    bad = intervals[~good]
    middle = bad.mean(axis=1)
    halves = np.empty((2 * len(bad), 2))
    halves[::2, 0], halves[::2, 1] = bad[:, 0], middle
    halves[1::2, 0], halves[1::2, 1] = middle, bad[:, 1]
    intervals, left = deal_out(halves)

integral = comm.allreduce(integral)
exact = (np.arctan((1 - peaks) / widths) + np.arctan(peaks / widths)).sum() + np.sin(50) / 50
assert abs(integral - exact) < 1e-6, (integral, exact)
