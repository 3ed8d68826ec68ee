"""A store that survives the loss of a disk: each rank is one, parities are spread over all, a lost disk is rebuilt."""

import sys
import zlib

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
groups, chunk, losses = (int(word) for word in sys.argv[1:])
disks = comm.size

# a group has as many stripes as there are disks; of stripe number s, disk s has the parity and the others have data
disk = np.zeros((groups, disks, chunk), dtype=np.uint8)
data_of = [stripe for stripe in range(disks) if stripe != comm.rank]


def write(group, version):
    """Files come in: half of a chunk is text, the other half is noise."""
    random = np.random.default_rng([41, comm.rank, group, version])
    for stripe in data_of:
        half = chunk // 2
        disk[group, stripe, :half] = random.integers(97, 123, half, dtype=np.uint8)
        disk[group, stripe, half:] = np.frombuffer(random.bytes(chunk - half), dtype=np.uint8)


def protect(group):
    """Compute the parities of a group; every disk gets its own."""
    disk[group, comm.rank] = 0
    parity = np.empty(chunk, dtype=np.uint8)
    comm.Reduce_scatter_block(disk[group], parity, op=MPI.BXOR)
    disk[group, comm.rank] = parity


def checksums():
    return np.array([[zlib.crc32(part) for part in group] for group in disk], dtype=np.uint32)


def rebuild(lost):
    """What was on a disk is the exclusive or of what all others have; two groups are under way at a time."""
    pending = []
    for group in range(groups):
        # the lost disk is empty, it adds nothing
        target = np.empty((disks, chunk), dtype=np.uint8) if comm.rank == lost else None
        pending.append((group, target, comm.Ireduce(disk[group].copy(), target, op=MPI.BXOR, root=lost)))
        if len(pending) == 2:
            finish(*pending.pop(0))
    while pending:
        finish(*pending.pop(0))


def finish(group, target, request):
    request.Wait()
    if target is not None:
        disk[group] = target


for group in range(groups):
    write(group, 0)
    protect(group)

rebuilt = 0
for loss in range(losses):
    # some files change before something breaks
    for group in range(loss % 3, groups, 3):
        write(group, 1 + loss)
        protect(group)

    # the next disk keeps the checksums
    known, kept = checksums(), np.empty((groups, disks), dtype=np.uint32)
    comm.Sendrecv(known, dest=(comm.rank + 1) % disks, recvbuf=kept, source=(comm.rank - 1) % disks)
    lost = (3 * loss + 1) % disks
    if comm.rank == lost:
        disk[:] = 0
    rebuild(lost)
    if comm.rank == lost:
        comm.Send(checksums(), dest=(lost + 1) % disks, tag=1)
        rebuilt += disk.nbytes
    elif comm.rank == (lost + 1) % disks:
        told = np.empty_like(kept)
        comm.Recv(told, source=lost, tag=1)
        assert (told == kept).all()

# in the end all stripes are whole
for group in range(0, groups, 4):
    rest = np.empty((disks, chunk), dtype=np.uint8)
    comm.Allreduce(disk[group], rest, op=MPI.BXOR)
    assert not rest.any()
    assert disk[group, data_of[0]].any()
assert comm.allreduce(rebuilt) == losses * disk.nbytes
