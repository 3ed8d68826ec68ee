"""Blocks of buffers are packed and unpacked without change, both as plain bytes and by the MPI library."""

from __future__ import annotations

from tests.live.programs import Live

PROGRAM = """
import random
import numpy as np
from mpi4py import MPI
comm, draw = MPI.COMM_WORLD, random.Random(7)
rank, size = comm.rank, comm.size

def forms(array, count):
    kind = MPI._typedict[array.dtype.char]
    wide = kind.Create_contiguous(1).Commit()
    yield array                                    # plain bytes
    yield [array, kind]
    yield [array, count, kind]
    yield [array, count, wide]                     # through the library
    yield [array, (count, 0), kind]
    yield memoryview(array)

for trial in range(40):
    code = draw.choice("bhilqBHILQfdFD")
    count = draw.randrange(0, 5)
    sent = np.arange(count * size).astype(code) + rank
    for send, receive in zip(forms(sent, count), forms(np.zeros(count * size, code), count), strict=True):
        comm.Alltoall(send, receive)
        got = np.asarray(receive[0] if isinstance(receive, list) else receive)
        want = [block * 1 + other for other in range(size) for block in range(rank * count, (rank + 1) * count)]
        assert list(got) == list(np.array(want, code)), (code, count, got, want)

grid = np.arange(12.0).reshape(3, 4) + rank
found = np.zeros((size, 3, 4))
comm.Allgather(grid, found)
assert all((found[i] == np.arange(12.0).reshape(3, 4) + i).all() for i in range(size))
columns = MPI.DOUBLE.Create_vector(3, 1, 4).Create_resized(0, 8).Commit()
swapped = np.zeros((4, 3)) if rank == 0 else None
comm.Bcast([grid, 2, columns], root=0)
assert (grid[:, :2] == np.arange(12.0).reshape(3, 4)[:, :2]).all() and grid[0, 2] == 2 + rank
days = np.arange(3).astype("M8[D]") + rank  # Python cannot view dates
comm.Bcast([days, MPI.INT64_T])
assert (days == np.arange(3).astype("M8[D]")).all()
try:
    comm.Bcast(bytes(8) if rank else np.zeros(1))
except BufferError:
    assert rank
else:
    assert not rank
"""


def test_short_and_long_way_agree(live: Live) -> None:
    """Blocks of all types and sizes, given in every form that mpi4py accepts, arrive unchanged."""
    ended = live(PROGRAM, ranks=3)
    assert ended.status == 0, ended.err
