"""Nightly backups: disks are cut where their contents say so, and only pieces that nobody has seen yet are stored."""

import hashlib
import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
nights, kilobytes, folders, bits, changes = (int(word) for word in sys.argv[1:])
size = kilobytes * 1024
SMALLEST, WINDOW = 2 ** (bits - 2), 32
ASKED, BACK = 1, 2

# everybody has some of the company's folders, and files of one's own between them
random = np.random.default_rng(171)
gear = random.integers(2**32, size=256, dtype=np.uint32)
company = [random.bytes(size // folders // 2) for _ in range(2 * folders)]
random = np.random.default_rng([172, comm.rank])
disk = bytearray()
for folder in random.integers(len(company), size=folders):
    disk += company[folder] + random.bytes(int(random.integers(size // folders)))


def pieces(content):
    """Cut where a hash of the last bytes has zeros, so that a change moves no cut but those beside it."""
    rolling = gear[np.frombuffer(content, dtype=np.uint8)]
    width = 1
    while width < WINDOW:
        rolling[width:] += rolling[:-width] << np.uint32(width)
        width *= 2
    result, begin = [], 0
    for cut in np.flatnonzero(rolling >> np.uint32(32 - bits) == 0).tolist():
        if cut + 1 - begin >= SMALLEST:
            result.append(content[begin : cut + 1])
            begin = cut + 1
    return [*result, content[begin:]] if begin < len(content) else result


def change():
    """A day's work."""
    for _ in range(changes):
        place = int(random.integers(len(disk)))
        disk[place : place + int(random.integers(200))] = random.bytes(int(random.integers(1, 400)))


def keeper(digest):
    return digest[0] % comm.size


def send_pieces(lists, tag):
    """Send to each rank a list of pieces, as their lengths and contents; receive and return those of each."""
    lengths = comm.alltoall([[len(each) for each in pieces] for pieces in lists])
    requests = []
    for step in range(1, comm.size):
        rank = (comm.rank + step) % comm.size
        if lists[rank]:
            requests.append(comm.Isend([b"".join(lists[rank]), MPI.BYTE], dest=rank, tag=tag))
    result = [[] for _ in lists]
    result[comm.rank] = lists[comm.rank]
    for _ in range(sum(1 for rank, some in enumerate(lengths) if some and rank != comm.rank)):
        status = MPI.Status()
        message = comm.Mprobe(tag=tag, status=status)
        content = bytearray(status.Get_count(MPI.BYTE))
        message.Recv([content, MPI.BYTE])
        ends = np.cumsum(lengths[status.Get_source()]).tolist()
        result[status.Get_source()] = [bytes(content[a:b]) for a, b in zip([0, *ends], ends)]
    MPI.Request.Waitall(requests)
    return result


store, catalogues, sizes, travelled = {}, [], [], 0
for night in range(nights):
    if night:
        change()
    content = bytes(disk)
    named = [(hashlib.sha1(piece).digest(), piece) for piece in pieces(content)]
    catalogues.append(([digest for digest, _ in named], hashlib.sha1(content).digest()))
    sizes.append(len(content))
    # keepers tell for which pieces they ask; if several have one, they ask the first
    by_digest = dict(named)
    offers = [[digest for digest in by_digest if keeper(digest) == rank] for rank in range(comm.size)]
    promised, replies = set(store), []
    for offered in comm.alltoall(offers):
        replies.append([digest for digest in offered if digest not in promised])
        promised.update(offered)
    missing = comm.alltoall(replies)
    for some in send_pieces([[by_digest[digest] for digest in digests] for digests in missing], ASKED):
        travelled += sum(map(len, some))
        store.update((hashlib.sha1(piece).digest(), piece) for piece in some)
    assert promised == set(store)

# disks of two nights come back
for digests, whole in (catalogues[0], catalogues[-1]):
    wanted = sorted(set(digests))
    asked = comm.alltoall([[digest for digest in wanted if keeper(digest) == rank] for rank in range(comm.size)])
    restored = {}
    for some in send_pieces([[store[digest] for digest in digests] for digests in asked], BACK):
        restored.update((hashlib.sha1(piece).digest(), piece) for piece in some)
    assert hashlib.sha1(b"".join(restored[digest] for digest in digests)).digest() == whole

kept = comm.allreduce(sum(map(len, store.values())))
assert kept == comm.allreduce(travelled)
assert comm.allreduce(sizes[0]) * 0.4 < kept < comm.allreduce(sum(sizes)) * (1 + 1 / nights) / 2
