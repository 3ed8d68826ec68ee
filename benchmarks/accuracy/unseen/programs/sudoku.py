"""All solutions of hard sudokus: rank 0 splits grids into partly filled ones, for workers that ask for one."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
grids, pieces = (int(word) for word in sys.argv[1:])
ASK, FOUND, WORK, STOP = range(4)
ALL = (1 << 9) - 1

# famous ones that have one solution, and one of them without one of its clues, with how many solutions each has
FAMOUS = [
    ("1....7.9..3..2...8..96..5....53..9...1..8...26....4...3......1..4......7..7...3..", 1),
    ("4.....8.5.3..........7......2.....6.....8.4......1.......6.3.7.5..2.....1.4......", 1),
    ("1....7....3..2...8..96..5....53..9...1..8...26....4...3......1..4......7..7...3..", 20),
    ("8..........36......7..9.2...5...7.......457.....1...3...1....68..85...1..9....4..", 1),
    (".......39.....1..5..3.5.8....8.9...6.7...2...1..4.......9.8..5..2....6..4..7.....", 1),
    ("1.......2.9.4...5...6...7...5.9.3.......7.......85..4.7.....6...3...9.8...2.....1", 1),
    ("1....7.9..3..2...8..96..5....53..9...1..8...26....4...3.........4......7..7...3..", 348),
]

UNITS = [[9 * row + column for column in range(9)] for row in range(9)]
UNITS += [[9 * row + column for row in range(9)] for column in range(9)]
UNITS += [[27 * (b // 3) + 3 * (b % 3) + 9 * (n // 3) + n % 3 for n in range(9)] for b in range(9)]
PEERS = [sorted({other for unit in UNITS if cell in unit for other in unit} - {cell}) for cell in range(81)]


def disguised(clues, random):
    """The same grid as nobody would know it: other digits, bands, rows, stacks and columns."""
    digits = np.array([int(clue) if clue != "." else 0 for clue in clues]).reshape(9, 9)
    rows, columns = ((3 * random.permutation(3)[:, None] + random.permutation(3)).ravel() for _ in range(2))
    return np.r_[0, 1 + random.permutation(9)][digits[rows][:, columns].T].ravel().tolist()


def place(options, cell, digit):
    """Put a digit (a bit) into a cell, and others that are the last ones of theirs; False if that cannot be."""
    waiting = [(cell, digit)]
    while waiting:
        cell, digit = waiting.pop()
        if not options[cell] & digit:
            return False
        options[cell] = digit
        for other in PEERS[cell]:
            left = options[other]
            if left & digit:
                left ^= digit
                options[other] = left
                if not left:
                    return False
                if not left & (left - 1):
                    waiting.append((other, left))
    return True


def propagate(options):
    """Put digits into the only cells for them in a row, column or box, as long as there are any."""
    changed = True
    while changed:
        changed = False
        for unit in UNITS:
            once = twice = 0
            for cell in unit:
                twice |= once & options[cell]
                once |= options[cell]
            if once != ALL:
                return False
            for cell in unit:
                digit = options[cell] & ~twice
                if digit and digit != options[cell]:
                    if not place(options, cell, digit):
                        return False
                    changed = True
    return True


def branches(options):
    """The grids with each of the digits that may be in the most certain of the open cells; None if none is open."""
    ways = [(left.bit_count(), cell) for cell, left in enumerate(options) if left & (left - 1)]
    if not ways:
        return None
    cell = min(ways)[1]
    found = []
    for digit in (1 << n for n in range(9)):
        new = options.copy()
        if options[cell] & digit and place(new, cell, digit) and propagate(new):
            found.append(new)
    return found


def search(options):
    """All solutions, and how many grids were looked at."""
    solutions, looked, stack = [], 0, [options]
    while stack:
        options = stack.pop()
        looked += 1
        further = branches(options)
        if further is None:
            solutions.append("".join(str(left.bit_length()) for left in options))
        else:
            stack.extend(further)
    return solutions, looked


def begun(clues):
    options = [ALL] * 81
    for cell, clue in enumerate(clues):
        assert not clue or place(options, cell, 1 << clue - 1)
    assert propagate(options)
    return options


def parts(puzzles):
    """Split each grid, the widest first, until there are enough pieces; also count what has been looked at."""
    for number, clues in enumerate(puzzles):
        queue = [begun(clues)]
        while queue and len(queue) < pieces:
            further = branches(queue[0])
            if further is None:
                break
            looked[number] += 1
            queue[:1] = []
            queue.extend(further)
        for options in queue:
            yield number, options


puzzles = None
if comm.rank == 0:
    random = np.random.default_rng(1201)
    puzzles = [disguised(FAMOUS[number % len(FAMOUS)][0], random) for number in range(grids)]
puzzles = comm.bcast(puzzles, root=0)
looked = np.zeros(grids, dtype=np.int64)
solved = [set() for _ in range(grids)]

if comm.rank == 0:
    working, given, status = comm.size - 1, 0, MPI.Status()
    work = parts(puzzles)
    while working:
        message = comm.recv(source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG, status=status)
        if status.Get_tag() == FOUND:
            number, solutions = message
            solved[number].update(solutions)
            continue
        part = next(work, None)
        comm.send(part, dest=status.Get_source(), tag=STOP if part is None else WORK)
        working -= part is None
        given += part is not None
else:
    while True:
        comm.send(None, dest=0, tag=ASK)
        part = comm.recv(source=0, tag=MPI.ANY_TAG)
        if part is None:
            break
        number, options = part
        solutions, nodes = search(options)
        looked[number] += nodes
        solved[number].update(solutions)
        if solutions:
            comm.send((number, solutions), dest=0, tag=FOUND)

# each rank checks the solutions it has, rank 0 has all of them
for clues, found in zip(puzzles, solved):
    for solution in found:
        assert all(len({solution[cell] for cell in unit}) == 9 for unit in UNITS)
        assert all(not clue or clue == int(digit) for clue, digit in zip(clues, solution))
total = np.empty_like(looked)
comm.Allreduce(looked, total)
counts = comm.gather([len(found) for found in solved], root=0)
if comm.rank == 0:
    known = [FAMOUS[number % len(FAMOUS)][1] for number in range(grids)]
    assert counts[0] == known == [sum(some) for some in zip(*counts[1:])]
# split or not, the same grids are looked at: one of them again, by one rank
if comm.rank == comm.size - 1:
    assert search(begun(puzzles[0]))[1] == total[0]
