"""A genetic algorithm for the travelling salesman: every rank is an island, and good tours emigrate at times."""

import math
import random
import sys

from mpi4py import MPI

CITIES = []


def length(tour):
    return sum(math.dist(CITIES[a], CITIES[b]) for a, b in zip(tour, tour[1:] + tour[:1]))


def cross(mother, father, rng):
    """A piece of the mother's tour, and the other towns in the father's order."""
    i, j = sorted(rng.sample(range(len(mother)), 2))
    piece = mother[i:j]
    known = set(piece)
    rest = [city for city in father if city not in known]
    return rest[:i] + piece + rest[i:]


def mutate(tour, rng):
    """Reverse a piece of a tour."""
    i, j = sorted(rng.sample(range(len(tour) + 1), 2))
    return tour[:i] + tour[i:j][::-1] + tour[j:]


def main(cities, islanders, generations, every):
    comm = MPI.COMM_WORLD
    rank, size = comm.Get_rank(), comm.Get_size()
    world = random.Random(1)
    CITIES.extend((world.random(), world.random()) for _ in range(cities))
    rng = random.Random(100 + rank)

    tours = [rng.sample(range(cities), cities) for _ in range(islanders)]
    island = sorted((length(tour), tour) for tour in tours)
    at_first = comm.allreduce(island[0][0], op=MPI.MIN)
    for generation in range(1, generations + 1):
        parents = island[: islanders // 2]
        children = []
        for _ in range(islanders - len(parents)):
            mother, father = rng.choice(parents)[1], rng.choice(parents)[1]
            child = mutate(cross(mother, father, rng), rng)
            children.append((length(child), child))
        island = sorted(parents + children)
        if generation % every == 0:
            # tours migrate in another order each time, which all ranks know
            ring = world.sample(range(size), size)
            at = ring.index(rank)
            boat = comm.isend(island[:5], dest=ring[(at + 1) % size], tag=generation)
            arrived = comm.recv(source=ring[at - 1], tag=generation)
            boat.wait()
            island = sorted(island[: islanders - len(arrived)] + arrived)

    best, winner = comm.allreduce((island[0][0], rank), op=MPI.MINLOC)
    tour = comm.bcast(island[0][1], root=winner)
    assert sorted(tour) == list(range(cities))
    assert abs(length(tour) - best) < 1e-9
    assert best < 0.8 * at_first


main(*map(int, sys.argv[1:5]))
