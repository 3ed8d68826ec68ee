"""Filter the frames of a film: every rank is a stage that blurs each frame a little, and hands it on to the next."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
n, frames = int(sys.argv[1]), int(sys.argv[2])
rank, last = comm.rank, comm.size - 1
frequency = 2 * np.pi * np.hypot(np.fft.fftfreq(n)[:, None], np.fft.rfftfreq(n))


def response(stage):
    """The share of each frequency that the blur of a stage preserves."""
    width = 1 + 0.5 * stage
    return np.exp(-((width * frequency) ** 2) / 2)


def shot(number):
    """A frame: a bright disc that crosses a grainy picture."""
    y, x = np.mgrid[:n, :n]
    grain = np.random.default_rng(number).random((n, n), dtype=np.float32)
    return grain + 5 * (np.hypot(y - n / 2, x - n * number / frames) < n / 10).astype(np.float32)


def blur(frame, transfer):
    return np.fft.irfft2(np.fft.rfft2(frame) * transfer, s=frame.shape).astype(np.float32)


own = response(rank)
frame = np.empty((n, n), dtype=np.float32)
light = 0.0
for number in range(frames):
    if rank == 0:
        frame = shot(number)
    else:
        comm.Recv(frame, source=rank - 1, tag=number)
    frame = blur(frame, own)
    if rank < last:
        comm.Send(frame, dest=rank + 1, tag=number)
    light += float(frame.sum(dtype=float))

# blurs lose no light, and all of them together equal one blur
lights = comm.gather(light, root=0)
if rank == 0:
    assert np.allclose(lights, lights[0], rtol=1e-4)
if rank == last:
    whole = np.prod([response(stage) for stage in range(comm.size)], axis=0)
    assert np.allclose(frame, blur(shot(frames - 1), whole), atol=1e-3)
