"""Where the sun shines in the mountains: prefix maxima tell what stands above a place towards the sun."""

import sys

import numpy as np
from mpi4py import MPI

n, hours, seasons = (int(word) for word in sys.argv[1:])
dims = MPI.Compute_dims(MPI.COMM_WORLD.size, 2)
cart = MPI.COMM_WORLD.Create_cart(dims)
place = cart.Get_coords(cart.rank)
(x0, y0), (x1, y1) = ([n * (at + more) // of for at, of in zip(place, dims)] for more in (0, 1))


def mountains(x, y):
    """Heights at places, in metres; places are 10 m from each other."""
    random = np.random.default_rng(15)
    height = np.zeros((len(x), len(y)), dtype=np.float32)
    for wide in (1, 2, 3, 5, 8, 13, 21, 34):
        for _ in range(2):
            a, b, c, d = random.uniform(-1, 1, 4)
            height += 400 / wide * np.sin(2 * np.pi * wide * (a * x[:, None] + b * y) / n + 9 * c + 5 * d)
    return height


height = mountains(np.arange(x0, x1), np.arange(y0, y1))

# the sun stands in one of four directions: along an axis, at its beginning or its end
lines = [cart.Sub([axis == 0, axis == 1]) for axis in (0, 1)]
reversed_lines = [line.Split(0, -line.rank) for line in lines]


def climbing(elevation, axis, towards):
    """How much a ray of the sun rises up to each place."""
    far = np.arange(x0, x1)[:, None] if axis == 0 else np.arange(y0, y1)
    return (10 * np.tan(elevation) * (far if towards > 0 else n - 1 - far)).astype(np.float32)


def lit(elevations, axis, towards):
    """Add up the hours of a season in which the sun shines from one side."""
    line = lines[axis] if towards > 0 else reversed_lines[axis]
    steps = slice(None, None, towards)
    view = (steps, slice(None)) if axis == 0 else (slice(None), steps)
    tops = []
    for elevation in elevations:
        raised = (height + climbing(elevation, axis, towards))[view]
        tops.append((raised, np.maximum.accumulate(raised, axis=axis)))

    # the highest of all blocks towards the sun, for all hours at once
    highest = np.array([top[-1] if axis == 0 else top[:, -1] for _, top in tops])
    before = np.full_like(highest, -np.inf)
    line.Exscan(highest, before, op=MPI.MAX)
    if line.rank == 0:
        before[:] = -np.inf
    shining = np.zeros(height.shape, dtype=np.uint8)
    for (raised, top), over in zip(tops, before):
        shining[view] += (raised >= top) & (raised >= (over if axis == 0 else over[:, None]))
    return shining


SIDES = ((0, 1), (1, 1), (0, -1), (1, -1))
sunshine = np.zeros(height.shape, dtype=np.uint8)
for season in range(seasons):
    noon = 0.3 + 0.6 * (season + 1) / seasons
    for axis, towards in SIDES:
        sunshine += lit(noon * (np.arange(hours) + 0.5) / hours, axis, towards)
for line in lines + reversed_lines:
    line.Free()

# compare some lines with what is found there place by place
parts = cart.gather((x0, y0, sunshine), root=0)
if cart.rank == 0:
    whole = np.empty((n, n), dtype=np.uint8)
    for i, j, part in parts:
        whole[i : i + part.shape[0], j : j + part.shape[1]] = part
    most = 4 * hours * seasons
    assert most / 4 < whole.mean() < most
    x = np.arange(n)
    for i, j in ((n // 3, n // 2), (0, n - 1), (n - 1, n // 5)):
        found = 0
        row, column = mountains(x[i : i + 1], x)[0], mountains(x, x[j : j + 1])[:, 0]
        for season in range(seasons):
            noon = 0.3 + 0.6 * (season + 1) / seasons
            for elevation in noon * (np.arange(hours) + 0.5) / hours:
                rise = 10 * np.tan(elevation)
                for line, at in ((column, i), (row, j)):
                    clear = line - line[at] <= rise * abs(x - at)
                    found += int(clear[:at].all()) + int(clear[at:].all())
        assert abs(found - int(whole[i, j])) <= 2
cart.Free()
