"""Reconstruct slices of a body from its projections: ranks share the slices, and the angles of the same slices."""

import sys

import numpy as np
from mpi4py import MPI

n, slices, angles, iterations = (int(word) for word in sys.argv[1:])
cart = MPI.COMM_WORLD.Create_cart(MPI.Compute_dims(MPI.COMM_WORLD.size, 2))
beside = cart.Sub([False, True])  # the same slices, other angles
heights = np.array_split(np.linspace(-0.8, 0.8, slices), cart.dims[0])[cart.coords[0]]
directions = np.array_split(np.linspace(0, np.pi, angles, endpoint=False), cart.dims[1])[cart.coords[1]]

at = np.arange(n) - (n - 1) / 2
y, x = (each.ravel() for each in np.meshgrid(at, at, indexing="ij"))
bins = 3 * n // 2


def ray(direction):
    """The detector bin that each pixel falls into, and its share in the next bin."""
    place = x * np.cos(direction) + y * np.sin(direction) + bins / 2 - 0.5
    low = np.floor(place).astype(int)
    return low, (place - low).astype(np.float32)


def project(image, low, share):
    return np.bincount(low, image * (1 - share), bins) + np.bincount(low + 1, image * share, bins)


def spread(projection, low, share):
    return projection[low] * (1 - share) + projection[low + 1] * share


def body(height):
    """A ball with a hole and a bright spot."""
    u, v = 2 * x / n, 2 * y / n
    image = (u**2 + v**2 + height**2 < 0.9).astype(np.float32)
    image[(u - 0.3) ** 2 + (v + 0.2) ** 2 + height**2 < 0.1] = 0
    image[(u + 0.4) ** 2 + v**2 + (height - 0.2) ** 2 < 0.05] = 2
    return image


rays = [ray(direction) for direction in directions]
lengths = [np.maximum(project(np.ones(n * n), *each), 1e-3) for each in rays]
truth = np.array([body(height) for height in heights])
measured = [[project(image, *each) for each in rays] for image in truth]

volume = np.zeros((len(heights), n * n), dtype=np.float32)
cuts = np.arange(beside.size + 1) * volume.size // beside.size
counts, own = np.diff(cuts), slice(cuts[beside.rank], cuts[beside.rank + 1])
part = np.empty(counts[beside.rank], dtype=np.float32)
misses = []
for iteration in range(iterations):
    correction, miss = np.zeros_like(volume), 0.0
    for number, image in enumerate(volume):
        for each, length, projection in zip(rays, lengths, measured[number]):
            gap = projection - project(image, *each)
            miss += (gap**2).sum()
            correction[number] += spread(gap / length, *each)
    beside.Reduce_scatter(correction, part, counts)
    piece = np.maximum(volume.reshape(-1)[own] + part / angles, 0)
    beside.Allgatherv(piece, [volume, counts])
    if iteration % 5 == 0 or iteration == iterations - 1:
        misses.append(cart.allreduce(miss))

wrong, size = (cart.allreduce(float((each**2).sum())) for each in (volume - truth, truth))
assert misses[-1] < 0.02 * misses[0], misses
assert wrong < 0.15 * size, wrong / size
