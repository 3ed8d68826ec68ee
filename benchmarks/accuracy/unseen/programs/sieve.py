"""The sieve of Eratosthenes: every rank has a range of odd numbers; the first broadcasts each next prime."""

import sys
from math import isqrt

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
limit = int(sys.argv[1])
rank, size = comm.rank, comm.size

# place i stands for the number 2 i + 3
total = (limit - 1) // 2
begin, end = rank * total // size, (rank + 1) * total // size
first = 2 * begin + 3
prime = np.ones(end - begin, dtype=bool)
assert 2 * (total // size) + 1 >= isqrt(limit), "the first rank must have all primes that strike out"


def count_primes(n):
    """The number of primes up to n, by Lucy's method of counting, which needs no list of them."""
    root = isqrt(n)
    values = np.array([n // i for i in range(1, root + 1)] + list(range(n // root - 1, 0, -1)))
    counts = values - 1

    def place(of):
        return np.where(of <= root, len(values) - of, n // np.maximum(of, 1) - 1)

    for p in range(2, root + 1):
        below = counts[len(values) - (p - 1)] if p > 2 else 0
        if counts[len(values) - p] == below:
            continue
        large = values[values >= p * p]
        counts[: len(large)] -= counts[place(large // p)] - below
    return int(counts[0])


struck = np.array([3], dtype=np.int64)
place = 0
while struck[0] ** 2 <= limit:
    step = int(struck[0])
    start = max(step * step, -(-first // step) * step)
    if start % 2 == 0:
        start += step
    prime[(start - first) // 2 :: step] = False
    if rank == 0:
        place += 1
        while not prime[place]:
            place += 1
        struck[0] = 2 * place + 3
    comm.Bcast(struck, root=0)

# gaps between primes: a gap across the ends of ranges needs the last prime of the range before
found = np.flatnonzero(prime)
last = first + 2 * int(found[-1])
before = comm.sendrecv(last, dest=(rank + 1) % size, source=(rank - 1) % size)
gaps = np.diff(first + 2 * found, prepend=before if rank else 2)
twins = comm.allreduce(int((gaps == 2).sum()))
widest = comm.reduce(int(gaps.max()), op=MPI.MAX, root=0)
primes = comm.reduce(len(found), root=0)
if rank == 0:
    assert primes + 1 == count_primes(limit)
    assert widest >= np.log(limit) and 0 < twins < primes
