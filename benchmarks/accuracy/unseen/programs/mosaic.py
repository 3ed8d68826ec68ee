"""A large picture is compressed as in JPEG: ranks have tiles of it in a grid, and rank 0 gathers what they coded."""

import sys

import numpy as np
from mpi4py import MPI

high, wide, passes, budget = (int(word) for word in sys.argv[1:])
BLOCK, PLANES, HALVINGS = 8, 3, 7

grid = MPI.COMM_WORLD.Create_cart(MPI.Compute_dims(MPI.COMM_WORLD.size, 2), periods=[False, False])
row, column = grid.Sub([False, True]), grid.Sub([True, False])


def tile_of(rank):
    """Which blocks a rank has: the first and last row, the first and last column."""
    (down, across), (i, j) = grid.dims, grid.Get_coords(rank)
    return i * high // down, (i + 1) * high // down, j * wide // across, (j + 1) * wide // across


def scene(plane, top, bottom, left, right):
    """A part of the picture, which has hills, roofs with sharp edges, and the noise of a camera."""
    random = np.random.default_rng([1211, plane])
    y, x = np.arange(top, bottom)[:, None], np.arange(left, right)
    light = np.zeros((bottom - top, right - left))
    for _ in range(6):
        ky, kx, phase = random.uniform(-0.05, 0.05), random.uniform(-0.05, 0.05), random.uniform(0, 6)
        light += 14 * np.cos(ky * y + kx * x + phase)
    for _ in range(60):
        a, b = random.uniform(0, high * BLOCK), random.uniform(0, wide * BLOCK)
        size, turn, shade = random.uniform(6, 60), random.uniform(0, 3), random.uniform(-60, 60)
        u, v = (y - a) * np.cos(turn) + (x - b) * np.sin(turn), (x - b) * np.cos(turn) - (y - a) * np.sin(turn)
        light += shade * ((np.abs(u) < size) & (np.abs(v) < size / 2))
    for line in range(top, bottom):
        grain = np.random.default_rng([1212, plane, line])
        light[line - top] += grain.normal(0, 9, size=wide * BLOCK)[left:right]
    return np.clip(light, -128, 127)


def binomial(framed):
    lines = framed[:-2] + 2 * framed[1:-1] + framed[2:]
    return (lines[:, :-2] + 2 * lines[:, 1:-1] + lines[:, 2:]) / 16


def smoothed(tile):
    """One pass of smoothing; what lies beyond the border comes from neighbours, the columns first."""
    for direction in (1, 0):
        tile = np.pad(tile, [(1 - direction,) * 2, (direction,) * 2], mode="edge")
        lines = tile.T if direction else tile
        for step in (-1, 1):
            source, dest = grid.Shift(direction, step)
            sent = np.ascontiguousarray(lines[1 if step < 0 else -2])
            got = np.empty_like(sent)
            grid.Sendrecv(sent, dest, 0, got, source, 0)
            if source != MPI.PROC_NULL:
                lines[-1 if step < 0 else 0] = got
    return binomial(tile)


wave = np.arange(BLOCK)
COSINES = np.sqrt(2 / BLOCK) * np.cos(np.pi / BLOCK * wave[:, None] * (wave + 0.5))
COSINES[0] /= np.sqrt(2)
TABLE = (4.0 + 3 * (wave[:, None] + wave)).ravel()
ZIGZAG = sorted(range(BLOCK**2), key=lambda k: (k // 8 + k % 8, k // 8 if (k // 8 + k % 8) % 2 else k % 8))


def transformed(tile):
    blocks = tile.reshape(len(tile) // BLOCK, BLOCK, -1, BLOCK).swapaxes(1, 2)
    return (COSINES @ blocks @ COSINES.T).reshape(-1, BLOCK**2)


def coded(levels):
    """Bytes: how many zeros come before a level, and the level in groups of 7 bits; 255 ends a block."""
    out, last = bytearray(), 0
    for block in levels[:, ZIGZAG].tolist():
        block[0], last = block[0] - last, block[0]
        run = 0
        for level in block:
            if level == 0:
                run += 1
                continue
            out.append(run)
            run, left = 0, 2 * level if level > 0 else -2 * level - 1
            while left > 127:
                out.append(left & 127 | 128)
                left >>= 7
            out.append(left)
        out.append(255)
    return np.frombuffer(out, dtype=np.uint8)


def decoded(code, blocks):
    levels, block, place, last = np.zeros((blocks, BLOCK**2), dtype=int), 0, 0, 0
    stream = iter(code.tolist())
    for run in stream:
        if run == 255:
            last = levels[block, 0] = levels[block, 0] + last
            block, place = block + 1, 0
            continue
        left, shift = 0, 0
        for byte in stream:
            left |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        levels[block, ZIGZAG[place + run]] = -(left + 1) // 2 if left % 2 else left // 2
        place += run + 1
    assert block == blocks
    return levels


top, bottom, left, right = tile_of(grid.rank)
for plane in range(PLANES):
    tile = scene(plane, *(BLOCK * side for side in (top, bottom, left, right)))
    for _ in range(passes):
        tile = smoothed(tile)
    coefficients = transformed(tile)

    # how busy one's row of tiles is and the whole picture: what is busy may be coarser
    energy = np.append((coefficients**2).sum(axis=0), len(coefficients))
    strip, whole = np.empty_like(energy), np.empty_like(energy)
    row.Allreduce(energy, strip)
    column.Allreduce(strip, whole)
    assert whole[-1] == high * wide
    squares = grid.allreduce(float((tile**2).sum()))
    assert abs(whole[:-1].sum() - squares) < 1e-9 * squares
    busy = float((strip[1:-1].sum() / strip[-1] / (whole[1:-1].sum() / whole[-1])) ** 0.25)

    # the finest steps with no more bits than allowed, in thousands
    fine, coarse = 0.05, 20.0
    for _ in range(HALVINGS):
        middle = (fine * coarse) ** 0.5
        bits = int(np.frexp(np.rint(coefficients / (TABLE * busy * middle)))[1].sum())
        bits = column.allreduce(row.allreduce(bits))
        fine, coarse = (fine, middle) if bits <= 1000 * budget else (middle, coarse)
    code = coded(np.rint(coefficients / (TABLE * busy * coarse)).astype(int))

    lengths = grid.gather(len(code), root=0)
    steps = column.gather(busy, root=0)
    album = np.empty(sum(lengths), dtype=np.uint8) if grid.rank == 0 else None
    grid.Gatherv(code, [album, lengths] if grid.rank == 0 else None, root=0)
    if grid.rank == 0:
        assert len(album) < high * wide * BLOCK**2 // 4
        chosen = plane * (grid.size - 1) // (PLANES - 1)
        a, b, c, d = tile_of(chosen)
        part = album[sum(lengths[:chosen]) : sum(lengths[: chosen + 1])]
        table = TABLE * steps[grid.Get_coords(chosen)[0]] * coarse
        levels = decoded(part, (b - a) * (d - c))
        blocks = (levels * table).reshape(b - a, d - c, BLOCK, BLOCK)
        image = (COSINES.T @ blocks @ COSINES).swapaxes(1, 2).reshape((b - a) * BLOCK, -1)
        # the same part, made and smoothed here with a margin that is cut off again
        margin = -(-passes // BLOCK)
        up, low, west, east = max(a - margin, 0), min(b + margin, high), max(c - margin, 0), min(d + margin, wide)
        original = scene(plane, *(BLOCK * side for side in (up, low, west, east)))
        for _ in range(passes):
            original = binomial(np.pad(original, 1, mode="edge"))
        original = original[(a - up) * BLOCK : (b - up) * BLOCK, (c - west) * BLOCK : (d - west) * BLOCK]
        assert np.abs(transformed(original) / table - levels).max() < 0.5 + 1e-6
        assert ((image - original) ** 2).mean() <= min((table**2).mean() / 4, 0.1 * original.var())
