"""A radio telescope's correlator: ranks transform signals of their antennas, trade them for channels, and correlate."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
antennas, channels, spectra, blocks = (int(word) for word in sys.argv[1:])
SPACING, SINE = 1.5, 0.12  # in samples that light takes, and of the angle to the source


def shared(total):
    counts = np.array([(rank + 1) * total // comm.size - rank * total // comm.size for rank in range(comm.size)])
    return counts, np.concatenate([[0], np.cumsum(counts)])


antenna_counts, antenna_starts = shared(antennas)
channel_counts, channel_starts = shared(channels)
own = np.arange(antenna_starts[comm.rank], antenna_starts[comm.rank + 1])
own_channels = np.arange(channel_starts[comm.rank], channel_starts[comm.rank + 1])
frequency = np.arange(channels) / (2 * channels)
delays = np.exp(-2j * np.pi * frequency * (own * SPACING * SINE)[:, None]).astype(np.complex64)
weather = np.random.default_rng([151, comm.rank])


def signals(block):
    """What the antennas hear: all of them the source, one a little later than the other, and noise."""
    source = np.random.default_rng([152, block]).normal(size=(spectra, 2 * channels))
    late = np.fft.irfft(np.fft.rfft(source)[:, None, :channels] * delays, 2 * channels)
    return late + 1.5 * weather.normal(size=late.shape)


def transformed(heard):
    """Spectra, those of the channels of each rank together."""
    lines = np.fft.rfft(heard)[:, :, :channels].astype(np.complex64)
    parts = [lines[:, :, begin:stop].ravel() for begin, stop in zip(channel_starts, channel_starts[1:])]
    return np.concatenate(parts)


mine = spectra * len(own_channels)
seen = np.zeros((len(own_channels), antennas, antennas), dtype=np.complex64)


def correlate(arrived):
    """Multiply each antenna's signal by each other one's."""
    parts = []
    for rank, count in enumerate(antenna_counts):
        part = arrived[antenna_starts[rank] * mine : antenna_starts[rank + 1] * mine]
        parts.append(part.reshape(spectra, count, len(own_channels)))
    lines = np.concatenate(parts, axis=1).transpose(2, 1, 0)
    seen[:] += lines @ lines.conj().transpose(0, 2, 1)


# a block travels while the one before is correlated and the next one is heard
going = [spectra * len(own) * int(count) for count in channel_counts]
coming = [mine * int(count) for count in antenna_counts]
buffers = [np.empty(mine * antennas, dtype=np.complex64) for _ in range(2)]
request, sent = None, None
for block in range(blocks):
    spectrum = transformed(signals(block))
    if request is not None:
        request.Wait()
    sent = spectrum
    request = comm.Ialltoallv([sent, going], [buffers[block % 2], coming])
    if block:
        correlate(buffers[(block - 1) % 2])
request.Wait()
correlate(buffers[(blocks - 1) % 2])

# rank 0 has all channels in the end
image = np.empty((channels, antennas, antennas), dtype=np.complex64) if comm.rank == 0 else None
size = antennas * antennas
comm.Gatherv(seen, [image, [int(count) * size for count in channel_counts]] if comm.rank == 0 else None, root=0)
heard = comm.allreduce(float(np.trace(seen, axis1=1, axis2=2).real.sum()))
if comm.rank == 0:
    power = np.trace(image, axis1=1, axis2=2).real.sum()
    assert abs(power / heard - 1) < 1e-3
    assert np.abs(image - image.conj().transpose(0, 2, 1)).max() < 1e-3 * np.abs(image).max()
    # the direction from which most comes is that of the source
    steps = np.arange(antennas)[:, None] - np.arange(antennas)
    others = steps != 0
    sines = np.linspace(-0.3, 0.3, 121)
    phases = 2j * np.pi * SPACING * steps[others] * frequency[8::8, None]
    bright = [float((image[8::8, others] * np.exp(phases * sine)).sum().real) for sine in sines]
    assert abs(sines[int(np.argmax(bright))] - SINE) < 0.011
