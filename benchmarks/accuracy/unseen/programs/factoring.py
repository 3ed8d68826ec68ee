"""Factors of a number by the quadratic sieve: rank 0 hands out intervals until enough smooth values have come back."""

import math
import random
import sys
from collections import Counter

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
bits, primes, block = (int(word) for word in sys.argv[1:])
SPARE = 12


def is_prime(number):
    """Fermat's test is good enough here."""
    return number % 2 == 1 and all(pow(base, number - 1, number) == 1 for base in (2, 3, 5, 7, 11, 13))


def some_prime(source, size):
    while not is_prime(number := source.getrandbits(size) | 1 << size - 1 | 1):
        pass
    return number


source = random.Random(113)
secret = (some_prime(source, bits // 2 - 2), some_prime(source, bits - bits // 2))
number = secret[0] * secret[1]
root = math.isqrt(number) + 1

# primes for which the number is a square, and its square roots
base, smaller, candidate = [], [], 2
while len(base) < primes:
    if all(candidate % prime for prime in smaller):
        smaller.append(candidate)
        roots = np.flatnonzero(np.arange(candidate) ** 2 % candidate == number % candidate).tolist()
        if roots:
            base.append((candidate, math.log(candidate), roots))
    candidate += 1
slack = 1.4 * base[-1][1]


def factors(value):
    """Which primes of the base divide a value and how often, or None if others do."""
    found = Counter()
    if value < 0:
        found[-1] = 1
    value = abs(value)
    for prime, *_ in base:
        while value % prime == 0:
            value //= prime
            found[prime] += 1
        if value == 1:
            return found
    return None


def search(turn):
    """Smooth values in an interval; intervals lie above and below the root by turns."""
    half, below = divmod(turn, 2)
    begin = -(half + 1) * block if below else half * block
    logs = np.zeros(block, dtype=np.float32)
    for prime, log, roots in base:
        for each in roots:
            logs[(each - root - begin) % prime :: prime] += log
    x = np.arange(begin, begin + block)
    wanted = math.log(2 * root) + np.log(np.abs(x) + 1.0) - slack
    values = [int(each) + root for each in x[logs > wanted]]
    found = [(value, factors(value * value - number)) for value in values]
    return [(value, parts) for value, parts in found if parts is not None]


def dependencies(relations):
    """Sets of relations whose product is a square, by elimination modulo 2."""
    place = {prime: index for index, prime in enumerate([-1, *(prime for prime, *_ in base)])}
    pivots = {}
    for index, (_, parts) in enumerate(relations):
        odd, members = sum(1 << place[prime] for prime, times in parts.items() if times % 2), 1 << index
        while odd:
            lowest = odd & -odd
            if lowest not in pivots:
                pivots[lowest] = odd, members
                break
            odd, members = odd ^ pivots[lowest][0], members ^ pivots[lowest][1]
        else:
            yield [each for at, each in enumerate(relations) if members >> at & 1]


if comm.rank == 0:
    relations, turns, working = [], 0, comm.size - 1
    status = MPI.Status()
    while working:
        relations += comm.recv(source=MPI.ANY_SOURCE, status=status)
        enough = len(relations) > primes + SPARE
        comm.send(None if enough else turns, dest=status.Get_source())
        working -= enough
        turns += not enough
    divisor = 1
    for chosen in dependencies(relations):
        left, parts = 1, Counter()
        for value, more in chosen:
            left = left * value % number
            parts.update(more)
        right = math.prod(pow(prime, times // 2, number) for prime, times in parts.items() if prime > 0) % number
        assert (left * left - right * right) % number == 0
        divisor = math.gcd(left - right, number)
        if 1 < divisor < number:
            break
    assert divisor in secret
else:
    found = []
    while True:
        comm.send(found, dest=0)
        turn = comm.recv(source=0)
        if turn is None:
            break
        found = search(turn)
