"""Pack a large file: rank 0 hands out its blocks in turn, the others compress them, and the packed ones come back."""

import bz2
import sys
import zlib

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
blocks, length = int(sys.argv[1]), int(sys.argv[2])
workers = comm.size - 1


def make():
    """The file: text, samples of a sensor, and coarse noise, in turn."""
    random = np.random.default_rng(21)
    words = [bytes(random.integers(97, 123, random.integers(2, 10)).astype(np.uint8)) for _ in range(800)]
    text = b" ".join(words[int(at)] for at in 800 * random.random(length) ** 3)
    for number in range(blocks):
        if number % 3 == 0:
            begin = int(random.integers(len(text) - length))
            yield text[begin : begin + length]
        elif number % 3 == 1:
            yield np.cumsum(random.integers(-1, 2, length)).astype(np.uint8).tobytes()
        else:
            yield random.integers(0, 12, length, dtype=np.uint8).tobytes()


def worker_of(number):
    return 1 + number % workers


if comm.rank == 0:
    packed, sums, requests = [], [], []

    def collect(number):
        """The next packed block, whose worker tells the checksum of what it got."""
        checksum, content = comm.recv(source=worker_of(number), tag=number)
        assert checksum == sums[number]
        packed.append(content)

    # every worker has two blocks, so that one waits for it while it packs the other
    ahead = 2 * workers
    for number, block in enumerate(make()):
        if number >= ahead:
            requests[number - ahead].Wait()
            collect(number - ahead)
        sums.append(zlib.crc32(block))
        requests.append(comm.Isend(block, dest=worker_of(number), tag=number))
    for number in range(len(packed), blocks):
        requests[number].Wait()
        collect(number)

    # the directory of the archive tells everyone where its blocks begin
    places = np.concatenate([[0], np.cumsum([len(each) for each in packed])])
    archive = b"".join(packed)
else:
    mine = [number for number in range(blocks) if worker_of(number) == comm.rank]
    lengths = {}
    block = bytearray(length)
    for number in mine:
        comm.Recv(block, source=0, tag=number)
        content = bz2.compress(block)
        lengths[number] = len(content)
        comm.send((zlib.crc32(block), content), dest=0, tag=number)
    places = None

places = comm.bcast(places, root=0)
assert len(places) == blocks + 1
if comm.rank == 0:
    # unpack some blocks of each sort
    for number in range(0, blocks, max(1, blocks // 10)):
        block = bz2.decompress(archive[places[number] : places[number + 1]])
        assert len(block) == length and zlib.crc32(block) == sums[number]
    assert len(archive) < 0.7 * blocks * length
else:
    assert all(places[number + 1] - places[number] == lengths[number] for number in mine)
