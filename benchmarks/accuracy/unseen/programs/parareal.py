"""Pendulums, parallel in time (parareal): ranks have intervals of time, guess initial states, and correct in turn."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
pendulums, fine, coarse = (int(word) for word in sys.argv[1:])
rank, last = comm.rank, comm.size - 1
until = 6.0
rng = np.random.default_rng(4)
at_first = np.stack([rng.uniform(-2, 2, pendulums), rng.uniform(-1, 1, pendulums)])
lengths = rng.uniform(0.5, 2, pendulums)


def slope(state, lengths):
    angle, speed = state
    return np.stack([speed, -np.sin(angle) / lengths - 0.1 * speed])


def advance(state, lengths, time, steps):
    """One interval by the Runge-Kutta method."""
    dt = time / steps
    for _ in range(steps):
        a = slope(state, lengths)
        b = slope(state + dt / 2 * a, lengths)
        c = slope(state + dt / 2 * b, lengths)
        d = slope(state + dt * c, lengths)
        state = state + dt / 6 * (a + 2 * b + 2 * c + d)
    return state


def predicted(state):
    return advance(state, lengths, until / comm.size, max(coarse // comm.size, 1))


def begin_of_time():
    """The final state of the rank before."""
    state = at_first.copy()
    if rank > 0:
        comm.Recv(state, source=rank - 1)
    return state


state = begin_of_time()
guess = predicted(state)
end = guess
if rank < last:
    comm.Send(end, dest=rank + 1)

change = 1.0
while change > 1e-8:
    exact = advance(state, lengths, until / comm.size, fine // comm.size)
    state = begin_of_time()
    new = predicted(state)
    corrected = new + exact - guess
    if rank < last:
        comm.Send(corrected, dest=rank + 1)
    change = comm.allreduce(np.abs(corrected - end).max(), op=MPI.MAX)
    guess, end = new, corrected

# check a few of them by integrating all time in one piece
if rank == last:
    few = slice(0, pendulums, max(pendulums // 10, 1))
    alone = advance(at_first[:, few], lengths[few], until, fine // comm.size * comm.size)
    assert np.allclose(end[:, few], alone, atol=1e-6)
