"""Typical user programs, as plain functions of a communicator and a size.

Each program has targets at which it was not recorded: there, its learned structure must be exact or refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import isqrt

from clue.trace import Op
from tests.structure.stub import Comm, Program

NOBODY = -1
CASES: dict[str, Case] = {}
Places = tuple[tuple[int, int], ...]


def _planned(sizes: Sequence[int]) -> Places:
    """Return the sizes and numbers of ranks that a plan records."""
    return (*((n, p) for n in sizes for p in (4, 8, 16)), *((n, p) for n in sizes[:2] for p in (6, 27)))


@dataclass(frozen=True, slots=True)
class Case:
    """A program, the places at which it is recorded, and the targets at which it is judged.

    A place is a size and a number of ranks.

    Attributes:
        program: The program.
        recorded: Size and number of ranks of each recording.
        targets: Size and number of ranks of each target.
        refused: Part of the message with which it is refused; "" if it must be exact.
    """

    program: Program
    recorded: Places = field(default_factory=lambda: _planned((50, 77, 112)))
    targets: Places = ((224, 64), (233, 64), (200, 37), (150, 40))
    refused: str = ""


def case(
    recorded: Places | None = None, targets: Places | None = None, refused: str = ""
) -> Callable[[Program], Program]:
    """Return a decorator that registers a program as a case."""

    def keep(program: Program) -> Program:
        made = Case(program, refused=refused)
        CASES[program.__name__] = Case(program, recorded or made.recorded, targets or made.targets, refused)
        return program

    return keep


_POWERS = case(
    recorded=tuple((n, p) for n in (50, 77, 112) for p in (2, 4, 8, 16)),
    targets=((224, 64), (233, 64), (200, 32), (150, 128)),
)
_SQUARES = case(
    recorded=tuple((n, p) for n in (50, 77, 112) for p in (4, 9, 16, 25)),
    targets=((224, 64), (233, 64), (200, 49), (150, 36)),
)
_DIVIDED = case(
    recorded=tuple((n, p) for n in (432, 864, 1296) for p in (4, 6, 8, 16)),
    targets=((2 * 1296, 64), (1280, 40), (37 * 40, 37)),
)


# --- ways of rounding ---


def first_larger(n: int, m: int, c: int) -> int:
    """Return the share of part c where the first parts are the larger ones."""
    return n // m + (c < n % m)


def between(n: int, m: int, c: int) -> int:
    """Return the share of part c between bounds c n / m."""
    return (c + 1) * n // m - c * n // m


def last_smaller(n: int, m: int, c: int) -> int:
    """Return the share of part c where the last part is smaller."""
    block = -(-n // m)
    return max(0, min(n, (c + 1) * block) - c * block)


def last_larger(n: int, m: int, c: int) -> int:
    """Return the share of part c where the last part gets the remainder."""
    return n // m + (n % m if c == m - 1 else 0)


def dims2(size: int) -> tuple[int, int]:
    """Return a grid as MPI_Dims_create makes it, the larger number first."""
    q = next(q for q in range(isqrt(size), 0, -1) if size % q == 0)
    return size // q, q


def dims3(size: int) -> tuple[int, int, int]:
    """Return the most cubic grid of three dimensions, the largest number first."""
    shapes = [
        (a, b, size // a // b)
        for a in range(1, size + 1)
        if size % a == 0
        for b in range(1, a + 1)
        if size // a % b == 0 and size // a // b <= b
    ]
    return min(shapes, key=lambda shape: (shape[0] - shape[2], shape))


# --- rings and lines ---


@case()
def ring(comm: Comm, n: int) -> None:
    """Pass all rows around a ring."""
    for _ in range(comm.size - 1):
        comm.sendrecv(8 * n, (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size)


@case()
def ring_of_shares(comm: Comm, n: int) -> None:
    """Pass shares around a ring: in step k, the share of rank r - k."""
    for k in range(comm.size - 1):
        mine = first_larger(n, comm.size, (comm.rank - k) % comm.size)
        comm.sendrecv(8 * mine, (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size)


@case()
def halo_line(comm: Comm, n: int) -> None:
    """Exchange with both neighbours by blocking calls, inside conditions."""
    for _ in range(10):
        if comm.rank > 0:
            comm.send(8 * n, comm.rank - 1, 1)
            comm.recv(comm.rank - 1, 2)
        if comm.rank < comm.size - 1:
            comm.recv(comm.rank + 1, 1)
            comm.send(8 * n, comm.rank + 1, 2)
        comm.allreduce(8)


@case()
def halo_null(comm: Comm, n: int) -> None:
    """Exchange with neighbours, with PROC_NULL at the ends."""
    up = comm.rank - 1 if comm.rank > 0 else NOBODY
    down = comm.rank + 1 if comm.rank < comm.size - 1 else NOBODY
    for _ in range(n // 10):
        comm.sendrecv(8 * n, up, down)
        comm.sendrecv(8 * n, down, up)
        comm.allreduce(8)


@case()
def halo_waitall(comm: Comm, n: int) -> None:
    """Wait for the requests of all existing neighbours at once."""
    for _ in range(6):
        requests = []
        if comm.rank > 0:
            requests.append(comm.irecv(comm.rank - 1, 0))
            requests.append(comm.isend(8 * n, comm.rank - 1, 1))
        if comm.rank < comm.size - 1:
            requests.append(comm.irecv(comm.rank + 1, 1))
            requests.append(comm.isend(8 * n, comm.rank + 1, 0))
        comm.waitall(requests)


@case()
def halo_neighbours_loop(comm: Comm, n: int) -> None:
    """Loop over a list of neighbours, which is shorter at the ends."""
    neighbours = [each for each in (comm.rank - 1, comm.rank + 1) if 0 <= each < comm.size]
    for step in range(5):
        requests = [comm.irecv(each, step) for each in neighbours]
        requests += [comm.isend(16 * n, each, step) for each in neighbours]
        comm.waitall(requests)


@case()
def parity(comm: Comm, n: int) -> None:
    """Even ranks send first, odd ranks receive first."""
    for _ in range(4):
        if comm.rank % 2 == 0:
            if comm.rank + 1 < comm.size:
                comm.send(8 * n, comm.rank + 1)
                comm.recv(comm.rank + 1)
        else:
            comm.recv(comm.rank - 1)
            comm.send(8 * n, comm.rank - 1)
        comm.barrier()


@case()
def odd_even(comm: Comm, n: int) -> None:
    """Odd-even transposition: P phases with one partner each."""
    mine = between(n, comm.size, comm.rank)
    for phase in range(comm.size):
        partner = comm.rank + 1 if (comm.rank + phase) % 2 == 0 else comm.rank - 1
        if 0 <= partner < comm.size:
            comm.sendrecv(8 * mine, partner, partner, phase, phase)


@case()
def pipeline(comm: Comm, n: int) -> None:
    """Pass blocks along a pipeline of ranks."""
    for _ in range(n // 8):
        if comm.rank > 0:
            comm.recv(comm.rank - 1)
        if comm.rank < comm.size - 1:
            comm.send(8 * 8, comm.rank + 1)


@case()
def pipeline_tags(comm: Comm, n: int) -> None:
    """Pass blocks along a pipeline with counted tags and a smaller last block."""
    for first in range(0, n, 8):
        if comm.rank > 0:
            comm.recv(comm.rank - 1, first // 8)
        if comm.rank < comm.size - 1:
            comm.send(8 * min(8, n - first), comm.rank + 1, first // 8)


@case()
def pipeline_started(comm: Comm, n: int) -> None:
    """Start the receive and the send of a pipeline by one call, where they exist, and wait for one after the other."""
    for _ in range(4):
        ends = [(Op.IRECV, comm.rank - 1, 0)] if comm.rank > 0 else []
        ends += [(Op.ISEND, comm.rank + 1, 8 * n)] if comm.rank < comm.size - 1 else []
        requests = comm.startall(ends)
        if comm.rank > 0:
            comm.wait(requests[0])
        if comm.rank < comm.size - 1:
            comm.wait(requests[-1])


@_SQUARES
def wavefront(comm: Comm, n: int) -> None:
    """Sweep over a square grid from a corner."""
    q = isqrt(comm.size)
    row, column = divmod(comm.rank, q)
    for _ in range(4):
        if row > 0:
            comm.recv(comm.rank - q)
        if column > 0:
            comm.recv(comm.rank - 1)
        if row < q - 1:
            comm.send(8 * (n // q), comm.rank + q)
        if column < q - 1:
            comm.send(8 * (n // q), comm.rank + 1)


# --- grids ---


def _halo(comm: Comm, sizes: Sequence[int], shape: Sequence[int], periodic: bool, steps: int) -> None:
    strides = [1]
    for extent in reversed(shape[1:]):
        strides.insert(0, strides[0] * extent)
    at = [comm.rank // stride % extent for stride, extent in zip(strides, shape, strict=True)]
    for _ in range(steps):
        for axis, extent in enumerate(shape):
            up, down = (
                comm.rank + ((at[axis] + by) % extent - at[axis]) * strides[axis]
                if periodic or 0 <= at[axis] + by < extent
                else NOBODY
                for by in (-1, 1)
            )
            comm.sendrecv(8 * sizes[axis], up, down, axis, axis)
            comm.sendrecv(8 * sizes[axis], down, up, axis, axis)


@case()
def halo_2d(comm: Comm, n: int) -> None:
    """Exchange over the most square grid, with PROC_NULL at the edges."""
    p, q = dims2(comm.size)
    row, column = divmod(comm.rank, q)
    _halo(comm, (first_larger(n, q, column), first_larger(n, p, row)), (p, q), False, 5)


@case()
def torus_2d(comm: Comm, n: int) -> None:
    """Exchange over the most square periodic grid."""
    p, q = dims2(comm.size)
    row, column = divmod(comm.rank, q)
    _halo(comm, (between(n, q, column), between(n, p, row)), (p, q), True, 5)


@_SQUARES
def square_2d(comm: Comm, n: int) -> None:
    """Exchange over a square grid, from four call sites."""
    q = isqrt(comm.size)
    row, column = divmod(comm.rank, q)
    high, wide = last_smaller(n, q, row), last_smaller(n, q, column)
    for _ in range(7):
        comm.sendrecv(8 * wide, comm.rank - q if row else NOBODY, comm.rank + q if row < q - 1 else NOBODY)
        comm.sendrecv(8 * wide, comm.rank + q if row < q - 1 else NOBODY, comm.rank - q if row else NOBODY)
        comm.sendrecv(8 * high, comm.rank - 1 if column else NOBODY, comm.rank + 1 if column < q - 1 else NOBODY)
        comm.sendrecv(8 * high, comm.rank + 1 if column < q - 1 else NOBODY, comm.rank - 1 if column else NOBODY)


@case()
def halo_3d(comm: Comm, n: int) -> None:
    """Exchange faces over a grid of three dimensions."""
    a, b, c = dims3(comm.size)
    x, y, z = (
        first_larger(n, m, i) for m, i in ((a, comm.rank // (b * c)), (b, comm.rank // c % b), (c, comm.rank % c))
    )
    _halo(comm, (y * z, x * z, x * y), (a, b, c), False, 3)


@case(recorded=tuple((n, p) for n in (24, 36, 50) for p in (4, 6, 8, 12, 27)), targets=((96, 64), (98, 64), (100, 36)))
def faces_with_halo(comm: Comm, n: int) -> None:
    """Exchange faces of blocks that are stored with a halo of one layer."""
    a, b, c = dims3(comm.size)
    x, y, z = (
        between(n, m, i) + 2 for m, i in ((a, comm.rank // (b * c)), (b, comm.rank // c % b), (c, comm.rank % c))
    )
    _halo(comm, (y * z, x * z, x * y), (a, b, c), False, 3)


@case()
def torus_3d(comm: Comm, n: int) -> None:
    """Exchange faces over a periodic grid of three dimensions with blocks of ceil(n / extent)."""
    shape = dims3(comm.size)
    x, y, z = (-(-n // extent) for extent in shape)
    _halo(comm, (y * z, x * z, x * y), shape, True, 3)


@case()
def halo_2d_waitall(comm: Comm, n: int) -> None:
    """Exchange over a grid by requests to the existing neighbours."""
    p, q = dims2(comm.size)
    row, column = divmod(comm.rank, q)
    for _ in range(3):
        requests = []
        for by, of in ((-1, row), (1, p - 1 - row)):
            if of > 0:
                requests.append(comm.irecv(comm.rank + by * q))
                requests.append(comm.isend(8 * n // q, comm.rank + by * q))
        for by, of in ((-1, column), (1, q - 1 - column)):
            if of > 0:
                requests.append(comm.irecv(comm.rank + by))
                requests.append(comm.isend(8 * n // p, comm.rank + by))
        comm.waitall(requests)


@_SQUARES
def cannon(comm: Comm, n: int) -> None:
    """Cannon's algorithm: shift blocks; the first shift depends on the rank's row and column."""
    q = isqrt(comm.size)
    row, column = divmod(comm.rank, q)
    block = 8 * (n // q) ** 2
    comm.sendrecv(block, row * q + (column - row) % q, row * q + (column + row) % q)
    comm.sendrecv(block, (row - column) % q * q + column, (row + column) % q * q + column)
    for _ in range(q - 1):
        comm.sendrecv(block, row * q + (column - 1) % q, row * q + (column + 1) % q)
        comm.sendrecv(block, (row - 1) % q * q + column, (row + 1) % q * q + column)


# --- butterflies and trees ---


@_POWERS
def butterfly(comm: Comm, n: int) -> None:
    """Exchange with rank r ^ 2^k in step k."""
    bit = 1
    while bit < comm.size:
        comm.sendrecv(8 * n, comm.rank ^ bit, comm.rank ^ bit)
        bit *= 2


@_POWERS
def halving(comm: Comm, n: int) -> None:
    """Recursive halving, where each step sends half of the rest, then recursive doubling."""
    bit, length = comm.size // 2, n
    while bit:
        length //= 2
        comm.sendrecv(8 * length, comm.rank ^ bit, comm.rank ^ bit)
        bit //= 2
    bit = 1
    while bit < comm.size:
        comm.sendrecv(8 * length, comm.rank ^ bit, comm.rank ^ bit)
        length *= 2
        bit *= 2


@case()
def binomial(comm: Comm, n: int) -> None:
    """Broadcast along a binomial tree."""
    bit = 1
    while bit < comm.size:
        if comm.rank < bit:
            if comm.rank + bit < comm.size:
                comm.send(8 * n, comm.rank + bit)
        elif comm.rank < 2 * bit:
            comm.recv(comm.rank - bit)
        bit *= 2


@case()
def binomial_reduce(comm: Comm, n: int) -> None:
    """Reduce along a binomial tree, as MPICH does."""
    bit = 1
    while bit < comm.size:
        if comm.rank & bit:
            comm.send(8 * n, comm.rank - bit)
            break
        if comm.rank + bit < comm.size:
            comm.recv(comm.rank + bit)
        bit *= 2


@case()
def objects_reduced(comm: Comm, n: int) -> None:
    """Reduce objects to roots other than rank 0, which gets each result first."""
    comm.reduce_object(100, 1)
    for _ in range(n // 10):
        comm.reduce_object(100, comm.size - 1)


@case()
def dissemination(comm: Comm, n: int) -> None:
    """Exchange around a ring in steps of 2^k, as a dissemination barrier does."""
    bit = 1
    while bit < comm.size:
        comm.sendrecv(n, (comm.rank + bit) % comm.size, (comm.rank - bit) % comm.size)
        bit *= 2


# --- rotating owners ---


@case()
def panels(comm: Comm, n: int) -> None:
    """LU factorisation: owners take turns to broadcast panels of falling size."""
    for first in range(0, n, 8):
        owner = first // 8 % comm.size
        comm.bcast(8 * (n - first) * min(8, n - first), owner)


@case()
def panels_by_column(comm: Comm, n: int) -> None:
    """LU factorisation by columns, with a broadcast of the pivot before that of the column."""
    for k in range(n):
        comm.bcast(4, k % comm.size)
        comm.bcast(8 * (n - k), k % comm.size)


@case()
def owner_sends(comm: Comm, n: int) -> None:
    """Owners take turns to send to each other rank, which receives at another call site."""
    for first in range(0, n, 16):
        owner = first // 16 % comm.size
        if comm.rank == owner:
            for dest in range(comm.size):
                if dest != owner:
                    comm.send(8 * (n - first), dest)
        else:
            comm.recv(owner)


@_SQUARES
def cholesky(comm: Comm, n: int) -> None:
    """Cholesky factorisation on a square grid, with communicators of rows and columns."""
    q = isqrt(comm.size)
    i, j = divmod(comm.rank, q)
    row, column = comm.split(lambda r: r // q), comm.split(lambda r: r % q)
    assert row is not None
    assert column is not None
    blocks = -(-n // 8)

    def mine(first: int, c: int) -> int:
        return sum(min(8, n - 8 * b) for b in range(first, blocks) if b % q == c)

    for k in range(blocks):
        if j == k % q:
            column.bcast(8 * 64, k % q)
        row.bcast(8 * 8 * mine(k + 1, i), k % q)
        column.bcast(8 * 8 * mine(k + 1, j), k % q)


@case(
    recorded=tuple((n, p) for n in (34, 43, 50) for p in (2, 3, 4)),
    targets=((100, 16), (97, 5), (88, 7)),
)
def columns_in_blocks(comm: Comm, n: int) -> None:
    """Gram-Schmidt QR by columns, which are dealt out in blocks of eight; the owner makes an additional call."""
    for j in range(n):
        owner = j // 8 % comm.size
        comm.bcast(8 * n, owner)
        behind = sum(i // 8 % comm.size == comm.rank for i in range(j + 1, n))
        comm.gather(8 * behind + 16 * (j % 8) if comm.rank == owner else 8 * behind)
        if comm.rank == owner:
            comm.send(8, NOBODY)


@case(
    recorded=tuple((n, p) for n in (8, 14, 22) for p in (4, 6, 16)),
    targets=((44, 9), (50, 36), (64, 64)),
)
def reflectors(comm: Comm, n: int) -> None:
    """Householder tridiagonalisation on the most square grid; blocks of four by four are dealt out along both axes."""
    q, p = dims2(comm.size)
    i, j = divmod(comm.rank, q)
    row, column = comm.split(lambda r: r // q), comm.split(lambda r: r % q)
    assert row is not None
    assert column is not None

    def behind(k: int, m: int, c: int, also: int | None = None) -> int:
        return sum(x // 4 % m == c and also in (None, x // 4 % p) for x in range(k + 1, n))

    for k in range(n - 1):
        if j == k // 4 % q:
            column.allreduce(16)
        row.bcast(8 * behind(k, p, i) + 8, k // 4 % q)
        for owner in range(p):
            shared = behind(k, q, j, owner)
            if shared:
                column.bcast(8 * shared, owner)
        row.allreduce(8 * behind(k, p, i))


# --- all to all ---


@case()
def transpose(comm: Comm, n: int) -> None:
    """Transpose strips whose shares differ."""
    mine = first_larger(n, comm.size, comm.rank)
    for _ in range(3):
        comm.alltoallv([16 * mine * first_larger(n, comm.size, each) for each in range(comm.size)])


@case()
def transpose_between(comm: Comm, n: int) -> None:
    """Transpose strips with shares between bounds."""
    mine = between(n, comm.size, comm.rank)
    comm.alltoallv([8 * mine * between(n, comm.size, each) for each in range(comm.size)])


@case()
def alltoall_even(comm: Comm, n: int) -> None:
    """Exchange equal blocks with all ranks."""
    comm.alltoall(8 * (n // comm.size) ** 2)
    comm.alltoall(8 * (n * n // comm.size**2))


# --- multigrid ---


@case(recorded=tuple((n, p) for n in (64, 128, 256) for p in (4, 6, 8, 16)), targets=((512, 64), (512, 37), (1024, 40)))
def multigrid(comm: Comm, n: int) -> None:
    """Visit levels of size n >> l down and up, in three cycles."""
    levels = (n // 8).bit_length()
    up, down = (comm.rank - 1 if comm.rank else NOBODY), (comm.rank + 1 if comm.rank < comm.size - 1 else NOBODY)
    for _ in range(3):
        for level in range(levels):
            comm.sendrecv(8 * (n >> level), up, down)
            comm.sendrecv(8 * (n >> level), down, up)
        for level in reversed(range(levels)):
            comm.sendrecv(8 * (n >> level), up, down)
        comm.allreduce(8)


# --- masters ---


@case()
def master_turns(comm: Comm, n: int) -> None:
    """A master sends work to each worker in turn, then collects the results."""
    for _ in range(3):
        if comm.rank == 0:
            for worker in range(1, comm.size):
                comm.send(8 * n, worker, 1)
            for worker in range(1, comm.size):
                comm.recv(worker, 2)
        else:
            comm.recv(0, 1)
            comm.send(8, 0, 2)


@case()
def gather_by_loop(comm: Comm, n: int) -> None:
    """A root receives blocks of different sizes from all others in a loop."""
    if comm.rank == 0:
        for each in range(1, comm.size):
            comm.recv(each)
    else:
        comm.send(8 * n * first_larger(n, comm.size, comm.rank), 0)


@case()
def scatter_by_loop(comm: Comm, n: int) -> None:
    """A root sends blocks with nonblocking calls; the last block has the remainder."""
    if comm.rank == 0:
        requests = [comm.isend(8 * last_larger(n, comm.size, each), each) for each in range(1, comm.size)]
        comm.waitall(requests)
    else:
        comm.recv(0)


@case()
def everybody_to_everybody(comm: Comm, n: int) -> None:
    """Exchange with all other ranks in a loop with an early continue."""
    for each in range(comm.size):
        if each == comm.rank:
            continue
        comm.sendrecv(8 * n // comm.size, each, each)


@case()
def spread(comm: Comm, n: int) -> None:
    """Exchange with ranks r + k and r - k in step k."""
    for k in range(1, comm.size):
        comm.sendrecv(8 * between(n, comm.size, comm.rank), (comm.rank + k) % comm.size, (comm.rank - k) % comm.size)


@case()
def spread_in_steps(comm: Comm, n: int) -> None:
    """Exchange with all other ranks in each of several steps, which do nothing else."""
    for _ in range(3):
        for k in range(1, comm.size):
            comm.sendrecv(8 * n, (comm.rank + k) % comm.size, (comm.rank - k) % comm.size)


# --- loops ---


@case()
def triangle(comm: Comm, n: int) -> None:
    """An inner loop that gets shorter in each iteration."""
    for k in range(n // 10):
        for _ in range(k + 1, n // 10):
            comm.bcast(8 * k, 0)
        comm.allreduce(16)


@case()
def by_ranks(comm: Comm, n: int) -> None:
    """Loops over ranks, over twice the ranks, and over their logarithm."""
    for _ in range(2 * comm.size):
        comm.barrier()
    for _ in range((comm.size - 1).bit_length()):
        comm.allreduce(n)
    for _ in range(comm.rank + 1):
        comm.send(8, 0 if comm.rank else NOBODY)


@case()
def every_tenth(comm: Comm, n: int) -> None:
    """Check convergence only in every tenth iteration."""
    for i in range(n):
        comm.sendrecv(8 * n, (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size)
        if i % 10 == 0:
            comm.allreduce(8)


@case()
def early_continue(comm: Comm, n: int) -> None:
    """The first rank and the last one skip the rest of each iteration."""
    for i in range(n // 9):
        comm.barrier()
        if comm.rank == 0:
            continue
        comm.send(8 * (n - i), comm.rank - 1, i)
        if comm.rank == comm.size - 1:
            continue
        comm.recv(comm.rank + 1, i)


def _exchange(comm: Comm, nbytes: int, by: int) -> None:
    comm.sendrecv(nbytes, (comm.rank + by) % comm.size, (comm.rank - by) % comm.size)


@case()
def shared_function(comm: Comm, n: int) -> None:
    """Call the same function from several places."""
    _exchange(comm, 8 * n, 1)
    for _ in range(4):
        _exchange(comm, 8 * n, 1)
        _exchange(comm, 16 * n, -1)
    _exchange(comm, n * n, 2)


@case()
def sizes(comm: Comm, n: int) -> None:
    """Message sizes of many forms."""
    comm.allreduce(24)
    comm.bcast(8 * n * n // comm.size)
    comm.bcast(8 * (n * n // comm.size))
    comm.gather(8 * between(n, comm.size, comm.rank))
    comm.gather(8 * n * last_smaller(n, comm.size, comm.rank))
    comm.allgather(8 * first_larger(n, comm.size, comm.rank) + 16)
    comm.scatter(8 * (n // comm.size) * n)
    comm.bcast(n * (n + 1) // 2)
    comm.bcast((n + 2) ** 3)


@case()
def remainder_last(comm: Comm, n: int) -> None:
    """The last rank has the remainder."""
    comm.gather(8 * last_larger(n, comm.size, comm.rank))


@case()
def tags(comm: Comm, n: int) -> None:
    """Tags that count steps and ranks."""
    for i in range(n // 7):
        comm.sendrecv(64, (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size, 100 + i, 100 + i)
        comm.sendrecv(
            64, (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size,
            i * comm.size + comm.rank, i * comm.size + (comm.rank - 1) % comm.size,
        )  # fmt: skip


# --- communicators ---


@case()
def rows_and_columns(comm: Comm, n: int) -> None:
    """Reduce along rows and broadcast along columns of the most square grid."""
    p, q = dims2(comm.size)
    row, column = comm.split(lambda r: r // q), comm.split(lambda r: r % q)
    assert row is not None
    assert column is not None
    for _ in range(3):
        row.allreduce(8 * first_larger(n, p, comm.rank // q))
        column.bcast(8 * n, row.rank % p)


@case()
def halves(comm: Comm, n: int) -> None:
    """Work in two halves, and in groups of even and odd ranks."""
    half = comm.split(lambda r: int(r < comm.size // 2))
    parity = comm.split(lambda r: r % 2)
    assert half is not None
    assert parity is not None
    half.allgather(8 * between(n, half.size, half.rank))
    for _ in range(half.size):
        half.sendrecv(8 * n, (half.rank + 1) % half.size, (half.rank - 1) % half.size)
    parity.reduce(8 * n, parity.size - 1)


@case()
def workers(comm: Comm, n: int) -> None:
    """All ranks but the first share a communicator."""
    group = comm.split(lambda r: 0 if r else None)
    if group is not None:
        for _ in range(5):
            group.allreduce(8 * n)
    comm.barrier()


@case()
def triples(comm: Comm, n: int) -> None:
    """Form groups of three consecutive ranks."""
    group = comm.split(lambda r: r // 3)
    assert group is not None
    group.allreduce(8 * n)


@case()
def branches(comm: Comm, n: int) -> None:
    """The iteration number selects one of two branches."""
    for i in range(n // 5):
        if i % 2 == 0:
            comm.bcast(8 * n, 0)
        else:
            comm.reduce(8 * n, 0)


@case()
def branches_by_owner(comm: Comm, n: int) -> None:
    """The owner in turn sends and its successor receives, in two branches of a loop without other calls."""
    for i in range(n // 5):
        if comm.rank == i % comm.size:
            comm.send(8 * n, (comm.rank + 1) % comm.size, i)
        elif comm.rank == (i + 1) % comm.size:
            comm.recv(i % comm.size, i)


@case()
def branches_by_size(comm: Comm, n: int) -> None:
    """A threshold on the size selects the branch."""
    for i in range(n):
        if 8 * (n - i) > 400:
            comm.bcast(8 * (n - i), 0)
        else:
            comm.reduce(8 * (n - i), 0)


@case()
def threshold(comm: Comm, n: int) -> None:
    """A size with an upper bound, which only large recordings reach."""
    comm.bcast(8 * min(n, 100), 0)


@case()
def odd_ends(comm: Comm, n: int) -> None:
    """A call that is made only at sizes above 100, which one recorded size exceeds."""
    if n > 100:
        comm.barrier()
    comm.allreduce(8)


@case()
def ranks_beyond(comm: Comm, n: int) -> None:
    """The number of calls changes from 20 ranks on, beyond most recordings."""
    for _ in range(3 if comm.size < 20 else 4):
        comm.allreduce(8 * n)


@case()
def pairs_table(comm: Comm, n: int) -> None:
    """Sizes that depend on data."""
    comm.alltoallv([(comm.rank * 7919 + each * 104729 + n * 31) % 1000 for each in range(comm.size)])


@case()
def root_moves(comm: Comm, n: int) -> None:
    """Roots at the last rank, in the middle, and in turn."""
    comm.bcast(n, comm.size - 1)
    comm.bcast(n, comm.size // 2)
    for i in range(comm.size):
        comm.reduce(8 * between(n, comm.size, i), i)


@case()
def scan_by_hand(comm: Comm, n: int) -> None:
    """Hillis and Steele's scan: in step k, receive from r - 2^k and send to r + 2^k, if these ranks exist."""
    bit, step = 1, 0
    while bit < comm.size:
        requests = []
        if comm.rank + bit < comm.size:
            requests.append(comm.isend(8 * n, comm.rank + bit, step))
        if comm.rank - bit >= 0:
            comm.recv(comm.rank - bit, step)
        comm.waitall(requests)
        bit, step = 2 * bit, step + 1


@case()
def nested_while(comm: Comm, n: int) -> None:
    """A loop of n / b steps around a loop of log2 P steps."""
    first = 0
    while first < n:
        bit = 1
        while bit < comm.size:
            if comm.rank % (2 * bit) == 0 and comm.rank + bit < comm.size:
                comm.recv(comm.rank + bit, first)
            elif comm.rank % (2 * bit) == bit:
                comm.send(8 * 12, comm.rank - bit, first)
            bit *= 2
        comm.bcast(8 * 12, 0)
        first += 12


@_DIVIDED
def even_strips(comm: Comm, n: int) -> None:
    """Jacobi iterations on equal strips."""
    rows = n // comm.size
    for _ in range(10):
        comm.sendrecv(
            8 * n, comm.rank - 1 if comm.rank else NOBODY, comm.rank + 1 if comm.rank < comm.size - 1 else NOBODY
        )
        comm.allreduce(8)
    comm.gather(8 * n * rows)


@case()
def interior_only(comm: Comm, n: int) -> None:
    """A call that only ranks with two neighbours make, on three ranks or more."""
    for _ in range(4):
        if 0 < comm.rank < comm.size - 1:
            comm.sendrecv(8 * n, comm.rank - 1, comm.rank + 1)
    comm.barrier()


@case()
def two_dim_owner(comm: Comm, n: int) -> None:
    """SUMMA on the most square grid: columns and rows take turns to own panels."""
    p, q = dims2(comm.size)
    i, j = divmod(comm.rank, q)
    row, column = comm.split(lambda r: r // q), comm.split(lambda r: r % q)
    assert row is not None
    assert column is not None
    for k in range(n // 8):
        row.bcast(8 * 8 * first_larger(n, p, i), k % q)
        column.bcast(8 * 8 * first_larger(n, q, j), k % p)
