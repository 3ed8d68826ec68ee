"""Views into a cloud: every rank draws the light through its slab of it; strips of the views are composited."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
side, depth, views = (int(word) for word in sys.argv[1:])
rank, size = comm.rank, comm.size
begin, end = rank * depth // size, (rank + 1) * depth // size
rows = np.arange(size + 1) * side // size
heights = np.diff(rows)

# puffs of smoke; a slab has those layers of the cloud that are behind each other
random = np.random.default_rng(70)
middles, widths = random.uniform(0.2, 0.8, (6, 3)), random.uniform(0.05, 0.2, 6)
y, x = (np.arange(side, dtype=np.float32) + 0.5)[:, None] / side, (np.arange(side, dtype=np.float32) + 0.5) / side
slab = np.zeros((end - begin, side, side), dtype=np.float32)
for layer in range(begin, end):
    for (cx, cy, cz), width in zip(middles, widths):
        apart = (x - cx) ** 2 + (y - cy) ** 2 + ((layer + 0.5) / depth - cz) ** 2
        slab[layer - begin] += np.exp(-apart / width**2).astype(np.float32)


def draw(view):
    """Colours and remaining light behind the slab, from a side that depends on the view."""
    image = np.zeros((side, side, 4), dtype=np.float32)
    image[..., 3] = 1
    tint = np.array([0.2, 0.5, 1.0], dtype=np.float32)
    for number, layer in enumerate(slab, begin):
        shift = round(0.3 * side * np.sin(2 * np.pi * view / views) * (number / depth - 0.5))
        seen = np.roll(layer, shift, axis=1)
        absorbed = 1 - np.exp(-4 / depth * seen)
        glow = image[..., 3] * absorbed
        image[..., :3] += glow[..., None] * (tint + 0.3 * seen[..., None] * (1 - tint))
        image[..., 3] -= glow
    return image


def behind(front, back):
    """The view of two slabs, one behind the other."""
    both = front.copy()
    both[..., :3] += front[..., 3:] * back[..., :3]
    both[..., 3] *= back[..., 3]
    return both


def put_together(strips):
    result = strips[0]
    for strip in strips[1:]:
        result = behind(result, strip)
    return result


sending = 4 * side * heights
receiving = np.full(size, 4 * side * heights[rank])
film = []
request, strips, image = None, None, None
for view in range(views + 1):
    next_image = draw(view) if view < views else None
    if request is not None:
        request.Wait()
        done = put_together(strips)
        whole = np.empty((side, side, 4), dtype=np.float32) if rank == 0 else None
        comm.Gatherv(done, [whole, sending] if rank == 0 else None, root=0)
        if rank == 0:
            film.append((float(whole[..., :3].mean()), float(whole[..., 3].mean(dtype=float))))
    if next_image is not None:
        image = next_image
        strips = np.empty((size, heights[rank], side, 4), dtype=np.float32)
        request = comm.Ialltoallv([image, sending], [strips, receiving])

# the thickness alone determines the light that passes the whole cloud from the front
thickness = np.empty((side, side), dtype=np.float32)
comm.Allreduce(slab.sum(axis=0), thickness)
if rank == 0:
    assert len(film) == views
    assert np.isclose(film[0][1], np.exp(-4 / depth * thickness).mean(dtype=float), rtol=1e-3)
    assert all(0 < colour < 2 for colour, _ in film)
