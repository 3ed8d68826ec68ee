"""Parallel tempering of an Ising magnet: every rank has a temperature, and neighbours swap theirs at times."""

import math
import random
import sys

import numpy as np
from mpi4py import MPI


def energy(spins):
    return -int((spins * np.roll(spins, 1, 0)).sum() + (spins * np.roll(spins, 1, 1)).sum())


def sweep(spins, beta, black, rng):
    for colour in (black, ~black):
        field = np.roll(spins, 1, 0) + np.roll(spins, -1, 0) + np.roll(spins, 1, 1) + np.roll(spins, -1, 1)
        flips = rng.random(spins.shape) < np.exp(-2 * beta * spins * field)
        spins[colour & flips] *= -1


def main(side, swaps, sweeps):
    comm = MPI.COMM_WORLD
    ladder = [0.3 + 0.3 * step / comm.size for step in range(comm.size)]
    rng = np.random.default_rng(100 + comm.rank)
    black = np.indices((side, side)).sum(axis=0) % 2 == 0
    spins = rng.choice([-1, 1], (side, side))
    place = comm.rank  # on the ladder of temperatures
    # The rank at each place on the ladder, which all ranks know.
    owner = list(range(comm.size))
    history = []
    for swap in range(swaps):
        for _ in range(sweeps):
            sweep(spins, ladder[place], black, rng)
        mine = energy(spins)
        other = place + 1 if place % 2 == swap % 2 else place - 1
        if 0 <= other < comm.size:
            partner = owner[other]
            theirs = comm.sendrecv({"energy": mine, "place": place}, dest=partner, source=partner)
            assert theirs["place"] == other
            gain = (ladder[place] - ladder[other]) * (mine - theirs["energy"])
            # both partners draw the same random numbers
            dice = random.Random(1000 * swap + min(place, other))
            if gain >= 0 or dice.random() < math.exp(gain):
                place = other
        owner = [0] * comm.size
        for rank, at in enumerate(comm.allgather(place)):
            owner[at] = rank
        assert sorted(owner) == list(range(comm.size))
        history.append((place, mine / side**2))
    everything = comm.gather(history, root=0)
    if comm.rank == 0:
        late = [pair for each in everything for pair in each[swaps // 2 :]]
        hot = [value for place, value in late if place == 0]
        cold = [value for place, value in late if place == comm.size - 1]
        assert -2 <= sum(cold) / len(cold) < sum(hot) / len(hot) < 0


main(*map(int, sys.argv[1:4]))
