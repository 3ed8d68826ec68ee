"""Conway's game of life on a grid of processes; neighbourhood collectives exchange edges, rows before columns."""

import sys

import numpy as np
from mpi4py import MPI

side, generations = int(sys.argv[1]), int(sys.argv[2])
comm = MPI.COMM_WORLD
cart = comm.Create_cart(MPI.Compute_dims(comm.size, 2), periods=[False, False])
vertical, horizontal = cart.Sub([True, False]), cart.Sub([False, True])


def part(of):
    return of.rank * side // of.size, (of.rank + 1) * side // of.size


(top, bottom), (left, right) = part(vertical), part(horizontal)


def gliders(moved):
    """This process's part of a field of gliders, all moved down and right by a number of cells."""
    y, x = np.mgrid[top:bottom, left:right]
    y, x = y - moved, x - moved
    shape = np.zeros((20, 20), np.uint8)
    shape[2:5, 2:5] = [[0, 1, 0], [0, 0, 1], [1, 1, 1]]
    # gliders that would reach the edge are left out
    last = (side - generations // 4) // 20 * 20
    there = (y >= 0) & (x >= 0) & (y < last) & (x < last)
    return np.where(there, shape[y % 20, x % 20], 0).astype(np.uint8)


generations -= generations % 4
cells = np.zeros((bottom - top + 2, right - left + 2), np.uint8)
cells[1:-1, 1:-1] = gliders(0)
rows = np.zeros((2, 2, cells.shape[1]), np.uint8)
columns = np.zeros((2, 2, cells.shape[0]), np.uint8)
population = comm.allreduce(int(cells.sum()))
for generation in range(generations):
    rows[0, 0], rows[0, 1] = cells[1], cells[-2]
    vertical.Neighbor_alltoall(rows[0], rows[1])
    cells[0], cells[-1] = rows[1]
    columns[0, 0], columns[0, 1] = cells[:, 1], cells[:, -2]
    horizontal.Neighbor_alltoall(columns[0], columns[1])
    cells[:, 0], cells[:, -1] = columns[1]

    around = cells[:-2] + cells[1:-1] + cells[2:]
    around = around[:, :-2] + around[:, 1:-1] + around[:, 2:]
    alive = cells[1:-1, 1:-1]
    cells[1:-1, 1:-1] = (around == 3) | ((alive == 1) & (around == 4))
    if generation % 8 == 7:
        assert comm.allreduce(int(cells[1:-1, 1:-1].sum())) == population

assert population > 0
assert np.array_equal(cells[1:-1, 1:-1], gliders(generations // 4))
