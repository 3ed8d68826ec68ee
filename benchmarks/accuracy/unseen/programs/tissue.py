"""Growth of tissue (a cellular Potts model): cells of two kinds stick, grow and divide; ranks have rows of a dish."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rows, columns, steps, between = (int(word) for word in sys.argv[1:])
START, SIDE, HEAT, STIFF, SLOW = 6, 5, 6.0, 1, 2
BIRTH, MOST = SIDE * SIDE, 1000
# what a border costs between the medium (0), cells of one kind, and cells of the other
COST = np.array([[0, 8, 10], [8, 4, 9], [10, 9, 5]])

counts = [(rank + 1) * rows // comm.size - rank * rows // comm.size for rank in range(comm.size)]
height, top = counts[comm.rank], comm.rank * rows // comm.size
width = columns + 2

# square cells in the middle of the dish; around the dish there is a frame of medium
kinds = np.zeros(MOST, dtype=int)
targets = np.zeros(MOST, dtype=int)
grid = np.zeros((height + 2, width), dtype=np.int32)
corner = np.array([rows - START * SIDE, columns - START * SIDE]) // 2
for label in range(1, START * START + 1):
    kinds[label] = 1 + int(np.random.default_rng([1221, label]).integers(2))
    targets[label] = BIRTH
    y, x = corner + np.array(divmod(label - 1, START)) * SIDE
    grid[max(y - top + 1, 0) : max(y - top + 1 + SIDE, 0), x + 1 : x + 1 + SIDE] = label
cells = START * START
flat, dish = grid.reshape(-1), grid[1:-1, 1:-1]

above = comm.rank - 1 if comm.rank > 0 else MPI.PROC_NULL
below = comm.rank + 1 if comm.rank < comm.size - 1 else MPI.PROC_NULL
halo = [
    comm.Send_init(grid[1], dest=above, tag=1),
    comm.Send_init(grid[height], dest=below, tag=2),
    comm.Recv_init(grid[0], source=above, tag=2),
    comm.Recv_init(grid[height + 1], source=below, tag=1),
]

# each row has its own random numbers, so all numbers of ranks give the same tissue
randoms = [np.random.default_rng([1222, top + row]) for row in range(height)]
row, column = np.indices((height, columns))
colours = [np.flatnonzero((top + row + column) % 2 == colour) for colour in (0, 1)]
around = np.array([-width, -1, 1, width])


def half_step(colour, volumes):
    """Sites of a colour may take the label of a neighbour; returns how the cost of borders and the volumes change."""
    MPI.Prequest.Startall(halo)
    chance = np.stack([random.random((2, columns)) for random in randoms], axis=1).reshape(2, -1)
    MPI.Request.Waitall(halo)
    own = colours[colour]
    sites = (own // columns + 1) * width + own % columns + 1
    new = flat[sites + around[(4 * chance[0, own]).astype(int)]]
    differ = np.flatnonzero(new != flat[sites])
    sites, new, luck = sites[differ], new[differ], chance[1, own[differ]]
    old = flat[sites]
    border = np.zeros(len(sites), dtype=int)
    for side in around:
        other = flat[sites + side]
        border += COST[kinds[new], kinds[other]] * (new != other) - COST[kinds[old], kinds[other]] * (old != other)
    excess = volumes - targets
    pressure = STIFF * ((new > 0) * (1 + 2 * excess[new]) + (old > 0) * (1 - 2 * excess[old]))
    taken = luck < np.exp(-np.maximum(border + pressure, 0) / HEAT)
    flat[sites[taken]] = new[taken]
    change = np.bincount(new[taken], minlength=MOST) - np.bincount(old[taken], minlength=MOST)
    return border[taken].sum(), change


def borders(part):
    """The cost of borders in a part of the dish: in its rows but the first, and to the row before each."""
    cost = 0
    for one, other in ((part[:-1], part[1:]), (part[1:, :-1], part[1:, 1:])):
        cost += (COST[kinds[one], kinds[other]] * (one != other)).sum()
    return int(cost)


def own_borders():
    MPI.Prequest.Startall(halo)
    MPI.Request.Waitall(halo)
    # the frame below the dish belongs to the last rank
    return comm.allreduce(borders(grid if comm.rank == comm.size - 1 else grid[:-1]))


def divide(cells, volumes):
    """Cells that are twice as large as at birth become two, across their longer axis."""
    y, x = np.nonzero(dish)
    labels = dish[y, x]
    y += top
    moments = np.array([np.bincount(labels, v, MOST) for v in (y, x, y * y, y * x, x * x)]).astype(int)
    comm.Allreduce(MPI.IN_PLACE, moments, op=MPI.SUM)
    for label in np.flatnonzero(volumes[: cells + 1] >= 2 * BIRTH)[1:].tolist():
        if cells == MOST - 1:
            break
        cells += 1
        my, mx, myy, myx, mxx = moments[:, label] / volumes[label]
        angle = 0.5 * np.arctan2(2 * (myx - my * mx), (myy - my * my) - (mxx - mx * mx))
        part = labels == label
        far = (y[part] - my) * np.cos(angle) + (x[part] - mx) * np.sin(angle) > 0
        dish[y[part][far] - top, x[part][far]] = cells
        kinds[cells] = kinds[label]
        targets[label] = targets[cells] = BIRTH
    return cells


def count():
    volumes = np.bincount(dish.ravel(), minlength=MOST)
    comm.Allreduce(MPI.IN_PLACE, volumes, op=MPI.SUM)
    return volumes


volumes = count()
cost = own_borders()
for step in range(steps):
    changes = np.zeros(MOST + 1, dtype=int)
    for colour in (0, 1):
        border, change = half_step(colour, volumes)
        changes[:-1] += change
        changes[-1] += border
    comm.Allreduce(MPI.IN_PLACE, changes, op=MPI.SUM)
    volumes += changes[:-1]
    cost += int(changes[-1])
    # cells want to grow, each at its time, unless they have no room
    growing = (np.arange(MOST) + step) % SLOW == 0
    targets[1 : cells + 1] += (growing & (volumes > targets - 5))[1 : cells + 1]
    if step % between == between - 1:
        # what was added up is what there is
        assert cost == own_borders()
        cells = divide(cells, volumes)
        volumes, cost = count(), own_borders()

for request in halo:
    request.Free()
whole = np.zeros((rows + 2, width), dtype=np.int32) if comm.rank == 0 else None
shares = [whole[1:-1], [number * width for number in counts]] if comm.rank == 0 else None
comm.Gatherv(grid[1:-1], shares, root=0)

assert volumes.sum() == rows * columns and (volumes >= 0).all() and not volumes[cells + 1 :].any()
assert cells > START * START and (volumes[1 : cells + 1] > 0).mean() > 0.9
assert np.abs(volumes - targets)[1 : cells + 1].mean() < 0.25 * BIRTH
if comm.rank == 0:
    assert (np.bincount(whole.ravel(), minlength=MOST)[1:] == volumes[1:]).all()
    assert borders(whole) == cost
    # the tissue has grown, and is still in the dish
    assert START * START * BIRTH < volumes[1:].sum() < 0.9 * rows * columns
