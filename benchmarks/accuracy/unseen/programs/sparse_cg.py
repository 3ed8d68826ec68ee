"""Conjugate gradients on a sparse matrix distributed by rows: Waitany uses neighbours' parts as they arrive."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
side, steps = int(sys.argv[1]), int(sys.argv[2])

# A seven-point grid of side x side x side points; ranks have planes of it, and need two planes on either side.
planes = [(rank + 1) * side // comm.size - rank * side // comm.size for rank in range(comm.size)]
first = sum(planes[: comm.rank])
here = planes[comm.rank]
area = side * side
reach = {}
for distance in (1, 2):
    for plane in (first - distance, first + here - 1 + distance):
        if 0 <= plane < side:
            owner = next(rank for rank in range(comm.size) if plane < sum(planes[: rank + 1]))
            if owner != comm.rank:
                reach.setdefault(owner, []).append(plane)
wanted = comm.allgather(reach)


def weight(distance):
    return {0: 8.0, 1: -1.0, 2: -0.25}[distance]


def multiply(x):
    requests, parts, sources = [], [], []
    for owner, list_of_planes in reach.items():
        part = np.empty((len(list_of_planes), area))
        requests.append(comm.Irecv(part, owner))
        parts.append((part, list_of_planes))
        sources.append(owner)
    sends = []
    for rank, theirs in enumerate(wanted):
        if comm.rank in theirs and rank != comm.rank:
            chosen = np.ascontiguousarray(x[[plane - first for plane in theirs[comm.rank]]])
            sends.append((comm.Isend(chosen, rank), chosen))
    y = weight(0) * x
    cube = x.reshape(here, side, side)
    inside = y.reshape(here, side, side)
    inside[:, 1:] -= cube[:, :-1]
    inside[:, :-1] -= cube[:, 1:]
    inside[:, :, 1:] -= cube[:, :, :-1]
    inside[:, :, :-1] -= cube[:, :, 1:]
    for distance in (1, 2):
        if here > distance:
            y[distance:] += weight(distance) * x[:-distance]
            y[:-distance] += weight(distance) * x[distance:]
    for _ in requests:
        which = MPI.Request.Waitany(requests)
        part, list_of_planes = parts[which]
        for plane, values in zip(list_of_planes, part, strict=True):
            for local in range(here):
                distance = abs(first + local - plane)
                if 1 <= distance <= 2:
                    y[local] += weight(distance) * values
    MPI.Request.Waitall([request for request, _ in sends])
    return y


b = np.random.default_rng(comm.rank).random((here, area))
x = np.zeros_like(b)
r = b.copy()
p = r.copy()
square = begin = comm.allreduce(np.vdot(r, r))
for _ in range(steps):
    q = multiply(p)
    alpha = square / comm.allreduce(np.vdot(p, q))
    x += alpha * p
    r -= alpha * q
    before, square = square, comm.allreduce(np.vdot(r, r))
    p = r + square / before * p

true = b - multiply(x)
assert abs(comm.allreduce(np.vdot(true, true)) - square) < 1e-8 * begin
assert square < begin
