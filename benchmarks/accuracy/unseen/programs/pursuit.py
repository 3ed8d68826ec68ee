"""How long a thief can escape in a town: positions are solved backwards, rows go to ranks whose streets border."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
n, reach = int(sys.argv[1]), int(sys.argv[2])
bounds = [rank * n // comm.size for rank in range(comm.size + 1)]
begin, end = bounds[comm.rank], bounds[comm.rank + 1]
owner = np.repeat(np.arange(comm.size), np.diff(bounds))

# every new corner is joined to both ends of a street that is not old: in such a town thieves are caught in the end
random = np.random.default_rng(161)
streets, near = [(0, 1)], [{0, 1}, {0, 1}]
for corner in range(2, n):
    one, other = streets[int(random.integers(max(0, len(streets) - reach), len(streets)))]
    streets += [(one, corner), (other, corner)]
    near.append({one, other, corner})
    near[one].add(corner)
    near[other].add(corner)
near = [sorted(each) for each in near]

# whose corners are close to mine
lacking = sorted({each for corner in range(begin, end) for each in near[corner]} - set(range(begin, end)))
sources = sorted({int(owner[each]) for each in lacking})
wanted = [
    [corner for corner in range(begin, end) if any(owner[each] == rank for each in near[corner])] for rank in sources
]
town = comm.Create_dist_graph_adjacent(sources, sources)
row = (n + 7) // 8
send_counts = [row * len(corners) for corners in wanted]
receive_counts = [row * sum(owner[each] == rank for each in lacking) for rank in sources]
sent = np.array([corner - begin for corners in wanted for corner in corners], dtype=int)

# places of a corner's neighbours, in a row of all corners, and among my rows and those of others
flat = np.concatenate(near)
starts = np.concatenate([[0], np.cumsum([len(each) for each in near])[:-1]])
known = np.concatenate([np.arange(begin, end), lacking]).astype(int)
place = np.empty(n, dtype=int)
place[known] = np.arange(len(known))
own_near = near[begin:end]
own_flat = place[np.concatenate(own_near)] if own_near else np.empty(0, dtype=int)
own_starts = np.concatenate([[0], np.cumsum([len(each) for each in own_near])[:-1]]).astype(int)

diagonal = np.arange(end - begin), np.arange(begin, end)
caught = np.zeros((end - begin, n), dtype=bool)  # the guard, in a row, is to move, and will catch the thief
caught[diagonal] = True
time = np.where(caught, 0, -1).astype(np.int16)
got = np.empty(sum(receive_counts), dtype=np.uint8)
turns = 0
while True:
    turns += 1
    # the thief is lost if he is wherever he goes
    lost = np.logical_and.reduceat(caught[:, flat], starts, axis=1)
    lost[diagonal] = True
    packed = np.packbits(lost[sent], axis=1).ravel()
    town.Neighbor_alltoallv([packed, send_counts, MPI.BYTE], [got, receive_counts, MPI.BYTE])
    others = np.unpackbits(got.reshape(-1, row), axis=1, count=n).astype(bool)
    # the guard needs one way only
    caught = np.logical_or.reduceat(np.concatenate([lost, others])[own_flat], own_starts, axis=0)
    new = caught & (time < 0)
    time[new] = turns
    if not comm.allreduce(bool(new.any()), op=MPI.LOR):
        break

assert caught.all()
longest = comm.allreduce(int(time.max()), op=MPI.MAX)
assert longest == turns - 1
whole = np.empty((n, n), dtype=np.int16) if comm.rank == 0 else None
counts = [n * (after - before) for before, after in zip(bounds, bounds[1:])]
comm.Gatherv(time, [whole, counts] if comm.rank == 0 else None, root=0)
if comm.rank == 0:
    # let them play: it takes as long as was found
    guard, thief = divmod(int(whole.argmax()), n)
    moves = 0
    while guard != thief:
        left = whole[guard, thief]
        guard = min(near[guard], key=lambda to: -1 if to == thief else max(whole[to, near[thief]]))
        moves += 1
        if guard != thief:
            thief = max(near[thief], key=lambda to: whole[guard, to])
            assert whole[guard, thief] == left - 1
    assert moves == longest
