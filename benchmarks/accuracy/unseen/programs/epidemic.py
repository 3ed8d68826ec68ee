"""A disease spreads through towns: people meet others in their town, and some travel every day to towns nearby."""

import random
import sys

from mpi4py import MPI

comm = MPI.COMM_WORLD
towns, inhabitants, days = (int(word) for word in sys.argv[1:])
rank, size = comm.rank, comm.size
HEALTHY, ILL, IMMUNE = 0, 1, 2
MEETINGS, CATCHING, ILL_DAYS, TRAVEL = 4, 0.12, 7, 0.02


def owner(town):
    return town * size // towns


# towns along a coast: the ones in the middle are larger
mine = [town for town in range(towns) if owner(town) == rank]
dice = {town: random.Random(1000 + town) for town in mine}
people = {}
for town in mine:
    count = inhabitants // 2 + inhabitants * min(town, towns - 1 - town) // max(1, towns // 2)
    people[town] = [{"state": HEALTHY, "day": 0, "home": town} for _ in range(count)]
if 0 in people:
    for person in people[0][:5]:
        person["state"] = ILL
everybody = comm.allreduce(sum(map(len, people.values())))
neighbours = sorted({each for each in (rank - 1, rank + 1) if 0 <= each < size})

peak, over = 0, None
for day in range(1, days + 1):
    # meetings
    for town in mine:
        here, die = people[town], dice[town]
        ill = [person for person in here if person["state"] == ILL]
        for person in ill:
            for _ in range(MEETINGS):
                met = here[int(die.random() * len(here))]
                if met["state"] == HEALTHY and die.random() < CATCHING:
                    met["state"], met["day"] = ILL, day
            if day - person["day"] >= ILL_DAYS:
                person["state"] = IMMUNE

    # journeys, to the next town or the one before; some of them lead to another rank
    leaving = {each: [] for each in neighbours}
    arriving = []
    for town in mine:
        die, staying = dice[town], []
        for person in people[town]:
            if die.random() < TRAVEL:
                goal = min(max(town + die.choice((-1, 1)), 0), towns - 1)
                if owner(goal) == rank:
                    arriving.append((goal, person))
                else:
                    leaving[owner(goal)].append((goal, person))
            else:
                staying.append(person)
        people[town] = staying
    requests = [comm.isend(leaving[each], dest=each, tag=day) for each in neighbours]
    for each in neighbours:
        arriving += comm.recv(source=each, tag=day)
    MPI.Request.waitall(requests)
    for goal, person in sorted(arriving, key=lambda journey: (journey[0], journey[1]["home"], journey[1]["day"])):
        people[goal].append(person)

    # once a week the health office counts
    if day % 7 == 0:
        ill = comm.allreduce(sum(person["state"] == ILL for each in people.values() for person in each))
        peak = max(peak, ill)
        if ill == 0:
            over = day
            break

states = [0, 0, 0]
for each in people.values():
    for person in each:
        states[person["state"]] += 1
totals = comm.gather(states, root=0)
if rank == 0:
    healthy, ill, immune = map(sum, zip(*totals))
    assert healthy + ill + immune == everybody
    assert peak > 5 and immune > 5
    assert (ill == 0) == (over is not None) or days % 7
