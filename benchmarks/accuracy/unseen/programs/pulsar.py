"""A pulsar in a long record: low channels hear it later, by a delay nobody knows; ranks have channels, then delays."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
channels, samples, trials, blocks = (int(word) for word in sys.argv[1:])
PERIOD, TRUE, STRENGTH = 37, 5 * trials // 8, 0.4
LONGEST = samples // 2
HARMONICS = 6

counts = [(rank + 1) * channels // comm.size - rank * channels // comm.size for rank in range(comm.size)]
first = comm.rank * channels // comm.size
owned = [(rank + 1) * trials // comm.size - rank * trials // comm.size for rank in range(comm.size)]
first_trial = comm.rank * trials // comm.size

# delays grow as the inverse square of the frequency
frequency = np.linspace(1.5, 1.1, channels)
slope = (frequency**-2 - frequency[0] ** -2) / (frequency[-1] ** -2 - frequency[0] ** -2)
delays = np.rint(np.arange(trials)[:, None] / trials * LONGEST * slope).astype(int)


class Antenna:
    """What comes in: noise in 8 bits, and a short pulse in each period."""

    def __init__(self):
        self.random = np.random.default_rng(1111)

    def listen(self, block):
        times = block * samples + np.arange(samples)
        late = (times - delays[TRUE][:, None]) % PERIOD
        noise = self.random.standard_normal((channels, samples), dtype=np.float32)
        return np.clip(128 + 30 * (noise + STRENGTH * (late < 2)), 0, 255).astype(np.uint8)


antenna = Antenna() if comm.rank == 0 else None
window = np.zeros((counts[comm.rank], 2 * samples), dtype=np.uint8)
arrived = np.empty((counts[comm.rank], samples), dtype=np.uint8)
series = np.empty((owned[comm.rank], (blocks - 1) * samples), dtype=np.float32)
for block in range(blocks):
    heard = [antenna.listen(block), [count * samples for count in counts]] if comm.rank == 0 else None
    comm.Scatterv(heard, arrived, root=0)
    window[:, :samples] = window[:, samples:]
    window[:, samples:] = arrived
    if block == 0:
        continue
    # add up the own channels, each as much earlier as a trial says
    partial = np.zeros((trials, samples), dtype=np.float32)
    shifted = window.astype(np.float32) - 128
    for trial in range(trials):
        for own, delay in zip(shifted, delays[trial, first : first + counts[comm.rank]].tolist()):
            partial[trial] += own[delay : delay + samples]
    result = np.empty((owned[comm.rank], samples), dtype=np.float32)
    comm.Reduce_scatter(partial, result, [count * samples for count in owned])
    series[:, (block - 1) * samples : block * samples] = result


def folded(line):
    """How strong a line is at each number of periods, with its overtones."""
    power = np.abs(np.fft.rfft(line - line.mean())) ** 2
    power /= np.median(power)
    top = len(power) // HARMONICS
    return sum(power[: harmonic * top : harmonic][:top] for harmonic in range(1, HARMONICS + 1))


best = (-1.0, -1)
for trial, line in enumerate(series):
    strength = folded(line)
    turns = int(strength[8:].argmax()) + 8
    best = max(best, (float(strength[turns]), (first_trial + trial) * series.shape[1] + turns))

# the strongest of all is the pulsar, and folding by its period shows a pulse
(strongest, place) = comm.allreduce(best, op=MPI.MAXLOC)
trial, turns = divmod(place, series.shape[1])
assert abs(trial - TRUE) <= 1
assert abs(turns * PERIOD / series.shape[1] - 1) < 0.02
if first_trial <= TRUE < first_trial + owned[comm.rank]:
    line = series[TRUE - first_trial]
    profile = [line[phase::PERIOD].mean() for phase in range(PERIOD)]
    assert sorted(np.argsort(profile)[-2:].tolist()) == [0, 1]
    assert abs(np.mean(profile[:2]) - np.mean(profile[2:])) > 0.5 * 30 * STRENGTH * channels
