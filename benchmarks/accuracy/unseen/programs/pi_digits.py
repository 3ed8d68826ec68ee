"""Digits of pi by two formulas, Chudnovsky's and Machin's: ranks sum up parts of series, which are joined."""

import math
import sys

from mpi4py import MPI

comm = MPI.COMM_WORLD
digits = int(sys.argv[1])
GUARD = 20
unit = 10 ** (digits + GUARD)


def chudnovsky(k):
    """Numerator and denominator of the ratio to the term before, and what the term is multiplied by."""
    return -(6 * k - 5) * (2 * k - 1) * (6 * k - 1), k**3 * 640320**3 // 24, 13591409 + 545140134 * k


def arc(x):
    """The series of the arc whose tangent is 1/x, likewise."""
    return lambda k: (1 - 2 * k, (2 * k + 1) * x * x, 1)


def join(before, after):
    """Two neighbouring parts of a series as one."""
    (p, q, t), (next_p, next_q, next_t) = before, after
    return p * next_p, q * next_q, t * next_q + p * next_t


def arcs_join(before, after):
    return [join(*both) for both in zip(before, after)]


def part(term, begin, end):
    """A part of a series as three whole numbers, from both halves of it."""
    if end == begin:
        return 1, 1, 0
    if end == begin + 1:
        p, q, factor = term(begin)
        return p, q, p * factor
    middle = (begin + end) // 2
    return join(part(term, begin, middle), part(term, middle, end))


def mine(terms):
    return 1 + comm.rank * terms // comm.size, 1 + (comm.rank + 1) * terms // comm.size


def terms_of(bits):
    """How many terms a series needs that gains so many bits with each."""
    return int((digits + GUARD) * math.log2(10) / bits) + 2


# Chudnovsky's is finished by the first rank, Machin's meanwhile by the last one
whole = comm.reduce(part(chudnovsky, *mine(terms_of(47.1))), op=join, root=0)
arcs = [part(arc(x), *mine(terms_of(2 * math.log2(x)))) for x in (5, 239)]
both = comm.reduce(arcs, op=arcs_join, root=comm.size - 1)

pi = None
if comm.rank == 0:
    _, q, t = whole
    pi = 426880 * math.isqrt(10005 * unit * unit) * q // (13591409 * q + t)
if comm.rank == comm.size - 1:
    fifth, other = (unit * (q + t) // (q * x) for (_, q, t), x in zip(both, (5, 239)))
    machin = 4 * (4 * fifth - other) // 10**GUARD
    comm.isend(machin, dest=0).wait()
if comm.rank == 0:
    machin = comm.recv(source=comm.size - 1)
    pi //= 10**GUARD
    assert abs(pi - machin) <= 1
    assert str(pi // 10 ** (digits - 30)) == "3141592653589793238462643383279"

# everyone gets all binary digits, and counts the ones among some of them
pi = comm.bcast(pi, root=0)
content = pi.to_bytes(pi.bit_length() // 8 + 1, "little")
piece = content[comm.rank * len(content) // comm.size : (comm.rank + 1) * len(content) // comm.size]
ones = comm.allreduce(int.from_bytes(piece, "little").bit_count())
assert ones == pi.bit_count() and 0.45 < ones / pi.bit_length() < 0.55
