"""Powers of a Markov chain's matrix by Strassen's algorithm: rank 0 hands out seven products of blocks."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
n, smallest, times = (int(word) for word in sys.argv[1:])
half = n // 2
assert half * 2 == n


def factors(a, b):
    h = len(a) // 2
    a11, a12, a21, a22 = a[:h, :h], a[:h, h:], a[h:, :h], a[h:, h:]
    b11, b12, b21, b22 = b[:h, :h], b[:h, h:], b[h:, :h], b[h:, h:]
    return [
        (a11 + a22, b11 + b22),
        (a21 + a22, b11),
        (a11, b12 - b22),
        (a22, b21 - b11),
        (a11 + a12, b22),
        (a21 - a11, b11 + b12),
        (a12 - a22, b21 + b22),
    ]


def put_together(m):
    return np.block([[m[0] + m[3] - m[4] + m[6], m[2] + m[4]], [m[1] + m[3], m[0] - m[1] + m[2] + m[5]]])


def product(a, b):
    if len(a) <= smallest or len(a) % 2:
        return a @ b
    return put_together([product(x, y) for x, y in factors(a, b)])


def square(matrix):
    """Return, on rank 0, the square of the matrix, computed by all ranks."""
    requests, products = [], np.empty((7, half, half))
    all_factors = factors(matrix, matrix)
    for number, (x, y) in enumerate(all_factors):
        goal = number % comm.size
        if goal:
            requests.append(comm.Irecv(products[number], source=goal, tag=number))
            requests.append(comm.Isend(np.ascontiguousarray(x), dest=goal, tag=number))
            requests.append(comm.Isend(np.ascontiguousarray(y), dest=goal, tag=number))
    for number in range(0, 7, comm.size):
        products[number] = product(*all_factors[number])
    MPI.Request.Waitall(requests)
    return put_together(products)


def help_out():
    x, y = np.empty((2, half, half))
    for number in range(comm.rank, 7, comm.size):
        comm.Recv(x, source=0, tag=number)
        comm.Recv(y, source=0, tag=number)
        comm.Send(product(x, y), dest=0, tag=number)


if comm.rank == 0:
    chain = np.random.default_rng(6).random((n, n)) ** 6
    chain /= chain.sum(axis=1, keepdims=True)
    power = chain
    for _ in range(times):
        power = square(power)
    vector = np.random.default_rng(7).random(n)
    expected = vector
    for _ in range(2**times):
        expected = chain @ expected
    assert np.allclose(power.sum(axis=1), 1)
    assert np.allclose(power @ vector, expected)
else:
    for _ in range(times):
        help_out()
