"""A railway timetable in max-plus algebra: its cycle time and how delays spread; ranks share the rows of the matrix."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
lines, stops, stations, days = (int(word) for word in sys.argv[1:])
total = lines * stops
CHANGE, HEADWAY, NEVER = 3, 4, -np.inf

counts = [(rank + 1) * total // comm.size - rank * total // comm.size for rank in range(comm.size)]
starts = [rank * total // comm.size for rank in range(comm.size)]
mine = slice(starts[comm.rank], starts[comm.rank] + counts[comm.rank])


def railway():
    """Which departures wait for which trains, and how many minutes after these departed: a train is on each section."""
    random = np.random.default_rng(1201)
    called, waits = {}, []
    for line in range(lines):
        # each line meets the next one, so that all are connected
        places = [line % stations, (line + 1) % lines % stations, *random.integers(stations, size=stops - 2).tolist()]
        minutes = random.integers(4, 19, size=stops).tolist()
        for stop, place in enumerate(places):
            departure, before = line * stops + stop, line * stops + (stop - 1) % stops
            waits.append((departure, before, minutes[stop - 1] + 1))
            waits.append((departure, departure, HEADWAY))
            called.setdefault(place, []).append((departure, before, minutes[stop - 1], stop < 2))
    for calls in called.values():
        for departure, _, _, needed in calls:
            for other, train, ride, also in calls:
                if other // stops != departure // stops and ((needed and also) or random.random() < 0.2):
                    waits.append((departure, train, ride + CHANGE))
    return waits


waits = comm.bcast(railway() if comm.rank == 0 else None, root=0)
rows = np.full((counts[comm.rank], total), NEVER)
for departure, train, minutes in waits:
    if mine.start <= departure < mine.stop:
        place = departure - mine.start, train
        rows[place] = max(rows[place], minutes)


def together(part):
    whole = np.empty(total)
    comm.Allgatherv(np.ascontiguousarray(part), [whole, counts])
    return whole


def following(times):
    """When the trains of the next round depart, if those of this one did at some times."""
    return together((rows + times).max(axis=1))


def squared(own):
    """The own rows of the square of a max-plus matrix; the others' rows come around the ring."""
    result = np.full_like(own, NEVER)
    visitor = np.full((max(counts), total), NEVER)
    visitor[: len(own)] = own
    for step in range(comm.size):
        owner = (comm.rank + step) % comm.size
        for number in range(counts[owner]):
            np.maximum(result, own[:, starts[owner] + number, None] + visitor[number], out=result)
        if step < comm.size - 1:
            comm.Sendrecv_replace(visitor, dest=(comm.rank - 1) % comm.size, source=(comm.rank + 1) % comm.size)
    return result


# run as early as can be until the same gaps come again: all times are whole minutes, so this is exact
history, repeated = np.zeros((1, total)), np.array([], dtype=int)
while repeated.size == 0:
    history = np.concatenate([history, following(history[-1])[None]])
    gaps = history[-1] - history[:-1]
    repeated = np.flatnonzero((gaps == gaps[:, :1]).all(axis=1))
rounds = len(history) - 1 - int(repeated[-1])
grown = float(gaps[repeated[-1], 0])

# the eigenvector, in parts of a minute that make the cycle time a whole number of them
rows *= rounds
timetable = np.max([rounds * history[-1 - back] + grown * back for back in range(rounds)], axis=0)
assert (following(timetable) == timetable + grown).all()

# a period with some spare time, and the longest ways over any number of rounds within it
period = grown + rounds
ways = rows - period
ways[np.arange(counts[comm.rank]), np.arange(mine.start, mine.stop)] = 0
squarings, same = 0, False
while not same:
    before, ways = ways, squared(ways)
    same = comm.allreduce(bool((ways == before).all()), op=MPI.LAND)
    squarings += 1
    assert 2 ** (squarings - 2) < total
assert (ways[np.arange(counts[comm.rank]), np.arange(mine.start, mine.stop)] == 0).all()

random = np.random.default_rng(1202)
lost, worst = np.zeros(counts[comm.rank]), np.zeros(counts[comm.rank])
for _ in range(days):
    late = np.zeros(total)
    late[random.choice(total, size=3, replace=False)] = rounds * random.integers(5, 25, size=3)
    # the most that any train is late is also what the longest ways say
    expected = np.maximum((ways + timetable + late).max(axis=1) - timetable[mine], 0)
    first, most = late.max(), late[mine].copy()
    while late.any():
        lost += late[mine]
        late = np.maximum(following(timetable + late) - timetable - period, 0)
        assert late.max() <= first
        np.maximum(most, late[mine], out=most)
    assert (most == expected).all()
    np.maximum(worst, most, out=worst)

# the departure that suffers most, and all that was lost
minutes, place = comm.allreduce((float(lost.max()), mine.start + int(lost.argmax())), op=MPI.MAXLOC)
everything = together(lost)
assert everything.max() == minutes == everything[place]
summed = comm.reduce(float(lost.sum()), op=MPI.SUM, root=0)
if comm.rank == 0:
    assert summed == everything.sum() > 0
    # no line alone goes round faster than the cycle time, nor is any ride and change longer
    alone = [[] for _ in range(lines)]
    for a, b, minutes in waits:
        if a // stops == b // stops and a != b:
            alone[a // stops].append(minutes)
    assert max(sum(line) / stops for line in alone) <= grown / rounds <= max(minutes for _, _, minutes in waits)
