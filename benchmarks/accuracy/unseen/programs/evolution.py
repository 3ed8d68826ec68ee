"""Fit a model of prey and hunters by differential evolution: a new candidate is bred whenever a score comes back."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
population, trials, steps = (int(word) for word in sys.argv[1:])
TRUTH = np.array([1.1, 0.4, 0.4, 0.1])
LOW, HIGH = np.zeros(4), np.array([2.0, 1.0, 1.0, 0.5])


def history(growth, hunger, death, birth):
    """Numbers of prey and hunters over time, by Heun's method."""
    prey, hunters, dt, seen = 10.0, 5.0, 20 / steps, []
    for step in range(steps):
        a, b = prey * (growth - hunger * hunters), hunters * (birth * prey - death)
        x, y = prey + dt * a, hunters + dt * b
        c, d = x * (growth - hunger * y), y * (birth * x - death)
        prey = min(max(prey + dt / 2 * (a + c), 0.0), 1e3)
        hunters = min(max(hunters + dt / 2 * (b + d), 0.0), 1e3)
        if step % 20 == 0:
            seen.append((prey, hunters))
    return np.log1p(np.array(seen))


def score(candidate):
    return float(np.sqrt(np.mean((history(*candidate) - data) ** 2)))


data = comm.bcast(history(*TRUTH) if comm.rank == 0 else None, root=0)

if comm.rank == 0:
    random = np.random.default_rng(77)
    people = random.uniform(LOW, HIGH, (population, 4))
    scores = np.full(population, np.inf)
    given, back, beginning = 0, 0, np.inf

    def breed():
        """The next candidate, and the index of the one that it may replace."""
        place = given % population
        if given < population:
            return place, people[place]
        one, two = people[random.choice(population, 2, replace=False)]
        best = people[np.argmin(scores)]
        mutant = people[place] + 0.7 * (best - people[place]) + 0.7 * (one - two)
        child = np.where(random.random(4) < 0.9, mutant, people[place])
        return place, np.clip(child, LOW, HIGH)

    status = MPI.Status()
    for worker in range(1, comm.size):
        comm.send(breed(), dest=worker)
        given += 1
    while back < given:
        place, candidate, reached = comm.recv(source=MPI.ANY_SOURCE, status=status)
        back += 1
        if back <= population:
            beginning = min(beginning, reached)
        if reached < scores[place]:
            people[place], scores[place] = candidate, reached
        comm.send(breed() if given < trials else None, dest=status.Get_source())
        given += given < trials
    assert back == trials
    assert scores.min() < 0.6 * beginning
else:
    while (task := comm.recv(source=0)) is not None:
        place, candidate = task
        comm.send((place, candidate, score(candidate)), dest=0)
