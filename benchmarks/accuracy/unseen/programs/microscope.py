"""A picture without a lens (ptychography): ranks have diffraction patterns of places that overlap, and join them."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
window, places, stride, rounds = (int(word) for word in sys.argv[1:])
n = window + (places - 1) * stride
mine = [divmod(place, places) for place in range(comm.rank, places * places, comm.size)]
corners = [(row * stride, column * stride) for row, column in mine]

# the beam is round and a little out of focus
axis = np.arange(window) - (window - 1) / 2
square = axis[:, None] ** 2 + axis**2
beam = np.exp(-square / (2 * (window / 5) ** 2)) * np.exp(1j * square / (3 * window))
beam /= np.abs(beam).max()


def specimen():
    """A smooth object that weakens light and delays it."""
    random = np.random.default_rng(101)
    frequency = np.fft.fftfreq(n)
    low = np.exp(-(frequency[:, None] ** 2 + frequency**2) * 600)
    fields = [np.fft.ifft2(np.fft.fft2(random.normal(size=(n, n))) * low).real for _ in range(2)]
    dark, late = (field / np.abs(field).max() for field in fields)
    return (0.8 + 0.2 * dark) * np.exp(1.2j * late)


def cut(picture):
    return np.array([picture[y : y + window, x : x + window] for y, x in corners]).reshape(-1, window, window)


def joined(parts):
    """The sum of all parts of all ranks, each at its place."""
    total = np.zeros((n, n), dtype=parts.dtype)
    for (y, x), part in zip(corners, parts):
        total[y : y + window, x : x + window] += part
    comm.Allreduce(MPI.IN_PLACE, total)
    return total


# the detector sees how bright it is, and no phases
truth = specimen()
seen = np.abs(np.fft.fft2(beam * cut(truth)))
light = joined(np.broadcast_to(np.abs(beam) ** 2, seen.shape))
brightness = comm.allreduce(float((seen**2).sum()))

guess = np.ones((n, n), dtype=complex)
errors = []
for _ in range(rounds):
    waves = np.fft.fft2(beam * cut(guess))
    size = np.abs(waves)
    missed = float(((size - seen) ** 2).sum())
    waves *= seen / np.maximum(size, 1e-12)
    guess = joined(np.conj(beam) * np.fft.ifft2(waves)) / np.maximum(light, 1e-3)
    errors.append(comm.allreduce(missed) / brightness)

assert all(after <= before * (1 + 1e-9) for before, after in zip(errors[2:], errors[3:]))
assert errors[-1] < 0.02 * errors[0]
# the picture is that of the specimen, but for a phase that is the same everywhere
inside = light > 0.3
turn = np.vdot(guess[inside], truth[inside])
same = abs(turn) / (np.linalg.norm(guess[inside]) * np.linalg.norm(truth[inside]))
assert same > 0.99
assert comm.allreduce(len(corners)) == places * places
