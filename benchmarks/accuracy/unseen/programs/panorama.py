"""One large picture from many small ones that overlap: ranks try how pairs of them match, and paste what they have."""

import sys
from itertools import chain

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
side, overlap, across, down = (int(word) for word in sys.argv[1:])
SHAKE = 4  # the camera may be off by so many pixels
stride = side - overlap
count = across * down
height, width = (n * stride + overlap + 2 * SHAKE for n in (down, across))
mine = range(comm.rank, count, comm.size)
owner = [picture % comm.size for picture in range(count)]
to_the_right = [(each, each + 1) for each in range(count) if each % across < across - 1]
below = [(each, each + across) for each in range(count - across)]
pairs = [(*pair, True) for pair in to_the_right] + [(*pair, False) for pair in below]

# rank 0 has the camera
if comm.rank == 0:
    random = np.random.default_rng(511)
    coarse = random.uniform(size=(height // 4 + 2, width // 4 + 2)).repeat(4, axis=0).repeat(4, axis=1)
    scene = 120 * coarse[:height, :width] + random.uniform(20, 120, size=(height, width))
    shakes = random.integers(-SHAKE, SHAKE + 1, size=(count, 2))
    nominal = np.array([divmod(each, across) for each in range(count)]) * stride + SHAKE
    true = nominal + shakes
    requests, pictures = [], {}
    for each, (y, x) in enumerate(true.tolist()):
        noisy = scene[y : y + side, x : x + side] + random.normal(size=(side, side)) * 3
        picture = np.clip(noisy, 0, 255).astype(np.uint8)
        if owner[each] == 0:
            pictures[each] = picture
        else:
            requests.append(comm.Isend(picture, dest=owner[each], tag=each))
    MPI.Request.Waitall(requests)
else:
    pictures = {each: np.empty((side, side), dtype=np.uint8) for each in mine}
    for each, picture in pictures.items():
        comm.Recv(picture, source=0, tag=each)


def match(first, second):
    """How far the second strip is from where it should be, by correlation at all offsets."""
    first = first.astype(np.float32)
    reach = 2 * SHAKE
    inner = second[reach:-reach, reach:-reach].astype(np.float32)
    inner -= inner.mean()
    best = -1.0, (0, 0)
    for dy in range(-reach, reach + 1):
        for dx in range(-reach, reach + 1):
            part = first[reach + dy : reach + dy + inner.shape[0], reach + dx : reach + dx + inner.shape[1]]
            part = part - part.mean()
            alike = float(np.vdot(part, inner)) / float(np.sqrt(np.vdot(part, part) * np.vdot(inner, inner)))
            best = max(best, (alike, (dy, dx)))
    return best


# who has the left or upper picture gets a strip of the other one
sent, wanted = [], []
for number, (first, second, right) in enumerate(pairs):
    if owner[second] == comm.rank:
        strip = pictures[second][:, :overlap] if right else pictures[second][:overlap]
        sent.append(comm.Isend(np.ascontiguousarray(strip), dest=owner[first], tag=number))
    if owner[first] == comm.rank:
        strip = np.empty((side, overlap) if right else (overlap, side), dtype=np.uint8)
        wanted.append((number, strip, comm.Irecv(strip, source=owner[second], tag=number)))
found = []
for number, strip, request in wanted:
    first, second, right = pairs[number]
    own = pictures[first][:, -overlap:] if right else pictures[first][-overlap:]
    request.Wait()
    found.append((number, *match(own, strip)))
MPI.Request.Waitall(sent)

# rank 0 finds positions that agree with all pairs as well as they can
everything = comm.gather(found, root=0)
places = np.empty((count, 2), dtype=np.int64)
if comm.rank == 0:
    rows, offsets = np.zeros((len(pairs) + 1, count)), np.zeros((len(pairs) + 1, 2))
    rows[-1, 0] = 1
    for number, alike, offset in chain.from_iterable(everything):
        first, second, right = pairs[number]
        assert alike > 0.5
        rows[number, [first, second]] = -1, 1
        offsets[number] = np.array([0, stride] if right else [stride, 0]) + offset
    places[:] = np.rint(np.linalg.lstsq(rows, offsets, rcond=None)[0])
    assert (places - places[0] == true - true[0]).all()
    places += true[0]
comm.Bcast(places, root=0)

# brightness and how often it was seen, in one sum
pasted = np.zeros((2, height, width), dtype=np.float32)
for each, picture in pictures.items():
    y, x = places[each]
    pasted[0, y : y + side, x : x + side] += picture
    pasted[1, y : y + side, x : x + side] += 1
total = np.empty_like(pasted) if comm.rank == 0 else None
comm.Reduce(pasted, total, root=0)
if comm.rank == 0:
    seen = total[1] > 0
    assert total[1].sum() == count * side**2 and seen.mean() > 0.9
    assert np.abs(total[0][seen] / total[1][seen] - scene[seen]).mean() < 4
