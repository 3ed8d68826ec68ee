"""Four in a row on a small board: workers solve positions that rank 0 hands out, unless a reply is known to win."""

import sys

from mpi4py import MPI

comm = MPI.COMM_WORLD
width, height, plies = (int(word) for word in sys.argv[1:])
COLUMN = height + 1  # one bit of each column stays empty
FULL = sum(((1 << height) - 1) << column * COLUMN for column in range(width))
# columns in the middle are more promising
ORDER = sorted(range(width), key=lambda column: abs(2 * column - width + 1))
START = (0, 0)


def has_four(stones):
    for step in (1, COLUMN - 1, COLUMN, COLUMN + 1):
        pairs = stones & stones >> step
        if pairs & pairs >> 2 * step:
            return True
    return False


def replies(position):
    """All positions that one may move to, as the other sees them, or None if one of the moves wins at once."""
    own, taken = position
    found = []
    for column in ORDER:
        stone = (taken + (1 << column * COLUMN)) & (FULL & ((1 << height) - 1) << column * COLUMN)
        if stone:
            if has_four(own | stone):
                return None
            found.append((own ^ taken, taken | stone))
    return found


known = {}


def solve(position):
    """1 if who is to move will win, -1 if the other one will, else 0."""
    if position in known:
        return known[position]
    following = replies(position)
    if following is None:
        value = 1
    elif not following:
        value = 0
    else:
        value = -1
        for each in following:
            value = max(value, -solve(each))
            if value == 1:
                break
    known[position] = value
    return value


def mirrored(position):
    column = (1 << COLUMN) - 1
    return tuple(
        sum((stones >> each * COLUMN & column) << (width - 1 - each) * COLUMN for each in range(width))
        for stones in position
    )


if comm.rank == 0:
    # the opening, ply by ply; a position may be reached in several ways
    followers, level = {}, [START]
    for _ in range(plies):
        for position in level:
            followers[position] = replies(position)
        level = list(dict.fromkeys(each for position in level for each in followers[position] or []))
    parents = {}
    for position, following in followers.items():
        for each in following or []:
            parents.setdefault(each, []).append(position)
    won = set()
    waiting, skipped, asked = level[::-1], 0, 0
    status = MPI.Status()
    working = comm.size - 1
    while working:
        answer = comm.recv(source=MPI.ANY_SOURCE, status=status)
        if answer is not None:
            position, value = answer
            known[position] = value
            if value == -1:
                won.update(parents[position])
        while waiting and won.issuperset(parents[waiting[-1]]):
            waiting.pop()
            skipped += 1
        if waiting:
            comm.send(waiting.pop(), dest=status.Get_source())
            asked += 1
        else:
            comm.send(None, dest=status.Get_source())
            working -= 1
    assert asked + skipped == len(level)

    def judge(position):
        if position in known:
            return known[position]
        following = followers[position]
        if following is None or position in won:
            known[position] = 1
        else:
            known[position] = max((-judge(each) for each in following), default=0)
        return known[position]

    best = judge(START)
    first = {each: judge(each) for each in followers[START]}
    assert best == max(-value for value in first.values())
    assert all(first[mirrored(each)] == value for each, value in first.items())
else:
    comm.send(None, dest=0)
    while (task := comm.recv(source=0)) is not None:
        comm.send((task, solve(task)), dest=0)
    assert all(known.get(mirrored(each), value) == value for each, value in known.items())
