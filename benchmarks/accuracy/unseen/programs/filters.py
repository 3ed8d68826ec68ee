"""Many channels of sound through a recursive filter, forth and back: states travel along the ranks, batch by batch."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
samples, channels, batch = (int(word) for word in sys.argv[1:])
begin, end = comm.rank * samples // comm.size, (comm.rank + 1) * samples // comm.size
before = comm.rank - 1 if comm.rank > 0 else MPI.PROC_NULL
after = comm.rank + 1 if comm.rank + 1 < comm.size else MPI.PROC_NULL

# a low pass of second order
CUT = 0.02
k = np.tan(np.pi * CUT)
norm = 1 / (1 + np.sqrt(2) * k + k * k)
b0, b1, b2 = k * k * norm, 2 * k * k * norm, k * k * norm
a1, a2 = 2 * (k * k - 1) * norm, (1 - np.sqrt(2) * k + k * k) * norm

time = np.arange(begin, end)[:, None]
pitch = 0.001 + 0.002 * np.arange(channels) / channels
wanted = np.sin(2 * np.pi * pitch * time)
# a whistle, and a hiss that is different on every channel
sound = wanted + 0.5 * np.sin(2 * np.pi * 0.31 * time + np.arange(channels))
sound += 0.2 * np.random.default_rng([71, comm.rank]).normal(size=sound.shape)


def run(part, state):
    """Filter samples in turn; the state is what the filter remembers."""
    result = np.empty_like(part)
    one, two = state
    for number, x in enumerate(part):
        y = b0 * x + one
        one = b1 * x - a1 * y + two
        two = b2 * x - a2 * y
        result[number] = y
    state[0], state[1] = one, two
    return result


def travel(sound, came_from, goes_to):
    """All batches of channels through the own samples."""
    result, sending = np.empty_like(sound), []
    for first in range(0, channels, batch):
        some = slice(first, min(first + batch, channels))
        state = np.zeros((2, some.stop - some.start))
        comm.Recv(state, source=came_from, tag=first)
        result[:, some] = run(sound[:, some], state)
        sending.append(comm.Isend(state, dest=goes_to, tag=first))
    MPI.Request.Waitall(sending)
    return result


# back again, so that nothing is late in the end
once = travel(sound, before, after)
smooth = travel(once[::-1], after, before)[::-1]

# as loud as it may be
loudest = np.abs(smooth).max(axis=0)
comm.Allreduce(MPI.IN_PLACE, loudest, op=MPI.MAX)
scaled = (32000 / loudest * smooth).astype(np.int16)
sums = np.zeros((comm.size, channels))
here = np.array((scaled.astype(float) ** 2).sum(axis=0))
comm.Gather(here, sums if comm.rank == 0 else None, root=0)
if comm.rank == 0:
    power = np.sqrt(sums.sum(axis=0) / samples)
    assert ((power > 10_000) & (power < 30_000)).all()

# what was wanted is left, but for both ends
inside = ((time >= 400) & (time < samples - 400)).ravel()
missed = np.abs(smooth - wanted)[inside]
assert comm.allreduce(float(missed.max(initial=0)), op=MPI.MAX) < 0.4
assert comm.allreduce(float((missed**2).sum())) < 0.02 * comm.allreduce(float((wanted[inside] ** 2).sum()))
