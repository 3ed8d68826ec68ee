"""Which stars of two catalogues are the same, and how far the second one is off; ranks have zones of declination."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
pages, stars, radius, rounds = (int(word) for word in sys.argv[1:])
# all angles are in seconds of arc, and the field is two degrees high and two wide
SOUTH, SIZE = 20 * 3600.0, 2 * 3600.0
OFFSET, NOISE, LOST = np.array([0.37, -0.23]) * radius, 0.03 * radius, 0.15
BORDER = 3 * radius


def first_page(page):
    """A page of the first catalogue: right ascension, declination, and number of each star; many are in a band."""
    random = np.random.default_rng([1211, page])
    found = np.empty((stars, 3))
    found[:, :2] = random.uniform(0, SIZE, size=(stars, 2))
    band = random.random(stars) < 0.4
    found[band, 1] = (0.3 * SIZE + 0.2 * found[band, 0] + 0.1 * SIZE * random.standard_normal(band.sum())) % SIZE
    found[:, 1] += SOUTH
    found[:, 2] = page * stars + np.arange(stars)
    return found


def second_page(page):
    """The same sky later: all moved and a bit blurred, some stars lost, others new (these have negative numbers)."""
    random = np.random.default_rng([1212, page])
    found = first_page(page)
    gone = random.random(stars) < LOST
    found[gone, 0] = random.uniform(0, SIZE, size=gone.sum())
    found[gone, 2] = -1 - found[gone, 2]
    move = OFFSET + NOISE * random.standard_normal((stars, 2))
    found[:, 0] += move[:, 0] / np.cos(np.radians(found[:, 1] / 3600))
    found[:, 1] += move[:, 1]
    return random.permutation(found)


def to_zones(catalogue):
    """Send every star to the rank that has its zone."""
    zone = np.clip((catalogue[:, 1] - SOUTH) * comm.size // SIZE, 0, comm.size - 1).astype(int)
    catalogue = catalogue[np.argsort(zone, kind="stable")]
    sent = np.bincount(zone, minlength=comm.size)
    coming = np.empty_like(sent)
    comm.Alltoall(sent, coming)
    mine = np.empty((coming.sum(), 3))
    comm.Alltoallv([catalogue, 3 * sent], [mine, 3 * coming])
    return mine


def with_borders(mine, tag):
    """Add the stars of the neighbouring zones that are near the own one."""
    low, high = SOUTH + np.array([comm.rank, comm.rank + 1]) * SIZE / comm.size
    to = {}
    if comm.rank > 0:
        to[comm.rank - 1] = np.ascontiguousarray(mine[mine[:, 1] < low + BORDER])
    if comm.rank < comm.size - 1:
        to[comm.rank + 1] = np.ascontiguousarray(mine[mine[:, 1] > high - BORDER])
    requests = [comm.Isend(some, dest=other, tag=tag) for other, some in to.items()]
    parts, status = [mine], MPI.Status()
    for other in to:
        comm.Probe(source=other, tag=tag, status=status)
        parts.append(np.empty((status.Get_count(MPI.DOUBLE) // 3, 3)))
        comm.Recv(parts[-1], source=other, tag=tag)
    MPI.Request.Waitall(requests)
    return np.concatenate(parts)


def nearest(these, those, within):
    """For each star the place of the nearest one in another list, or -1; the list is sorted into cells."""
    wide = within / np.cos(np.radians((SOUTH + SIZE + BORDER) / 3600))
    columns = int(SIZE / wide) + 100

    def cell(some):
        return np.floor((some[:, 1] - SOUTH + 2 * BORDER) / within) * columns + np.floor(some[:, 0] / wide) + 50

    cells = cell(those)
    order = np.argsort(cells, kind="stable")
    cells, sky = cells[order], those[order]
    ra, dec = sky[:, 0].tolist(), sky[:, 1].tolist()
    centre = cell(these)
    found, best = [-1] * len(these), [float(within) ** 2] * len(these)
    shrink = np.cos(np.radians(these[:, 1] / 3600)).tolist()
    for row in (-1, 0, 1):
        begins = np.searchsorted(cells, centre + row * columns - 1, side="left")
        ends = np.searchsorted(cells, centre + row * columns + 1, side="right")
        for star in np.flatnonzero(begins < ends).tolist():
            x, y = these[star, 0], these[star, 1]
            for other in range(begins[star], ends[star]):
                apart = ((ra[other] - x) * shrink[star]) ** 2 + (dec[other] - y) ** 2
                if apart < best[star]:
                    best[star], found[star] = apart, other
    found = np.array(found, dtype=int)
    return np.where(found >= 0, order[found], -1)


# the two are read from other ends
own_pages = range(comm.rank * pages // comm.size, (comm.rank + 1) * pages // comm.size)
mine = to_zones(np.concatenate([np.empty((0, 3)), *map(first_page, own_pages)]))
later = to_zones(np.concatenate([np.empty((0, 3)), *(second_page(pages - 1 - page) for page in own_pages)]))
first, second = with_borders(mine, 1), with_borders(later, 2)

correction = np.zeros(2)
within = float(radius)
for _ in range(rounds):
    moved = second.copy()
    moved[:, 0] -= correction[0] / np.cos(np.radians(second[:, 1] / 3600))
    moved[:, 1] -= correction[1]
    there = nearest(first, moved, within)
    back = nearest(moved, first, within)
    # only those count that are nearest to each other, in the zone of the star in the first catalogue
    here = np.flatnonzero(there[: len(mine)] >= 0)
    here = here[back[there[here]] == here]
    a, b = first[here], moved[there[here]]
    shift = (b[:, :2] - a[:, :2]) * np.stack([np.cos(np.radians(a[:, 1] / 3600)), np.ones(len(a))], axis=1)
    sums = np.array([*shift.sum(axis=0), len(here)])
    comm.Allreduce(MPI.IN_PLACE, sums, op=MPI.SUM)
    used, correction = correction, correction + sums[:2] / sums[2]
    used_within, within = within, max(0.6 * within, 6 * NOISE)

# rank 0 makes a list of all pairs
pairs = np.stack([a[:, 2], b[:, 2]], axis=1).astype(int)
counts = comm.gather(pairs.size, root=0)
everything = np.empty((sum(counts) // 2, 2), dtype=int) if comm.rank == 0 else None
comm.Gatherv(pairs, [everything, counts] if comm.rank == 0 else None, root=0)

assert np.abs(correction - OFFSET).max() < 0.05 * NOISE + 0.001 * radius
assert comm.allreduce(len(mine)) == comm.allreduce(len(later)) == pages * stars
right = comm.allreduce(int((pairs[:, 0] == pairs[:, 1]).sum()))
assert right > 0.97 * (1 - LOST) * pages * stars and sums[2] < 1.03 * right
if comm.rank == 0:
    assert len(everything) == sums[2]
    assert len(set(everything[:, 0].tolist())) == len(set(everything[:, 1].tolist())) == len(everything)
    # some stars, each compared with all others
    sky = np.concatenate([first_page(page) for page in range(pages)])
    whole = np.concatenate([second_page(page) for page in range(pages)])
    whole[:, 0] -= used[0] / np.cos(np.radians(whole[:, 1] / 3600))
    whole[:, 1] -= used[1]
    known = dict(everything.tolist())
    for star in sky[:: len(sky) // 50]:
        shrink = np.cos(np.radians(star[1] / 3600))
        far = np.hypot((whole[:, 0] - star[0]) * shrink, whole[:, 1] - star[1])
        best = whole[far.argmin()]
        again = sky[np.hypot((sky[:, 0] - best[0]) * shrink, sky[:, 1] - best[1]).argmin()]
        mutual = far.min() < used_within and again[2] == star[2]
        assert known.get(int(star[2])) == (int(best[2]) if mutual else None)
