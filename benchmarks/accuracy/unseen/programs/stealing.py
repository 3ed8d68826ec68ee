"""Count the self-avoiding walks on a grid: a rank that has none left asks all others for some of theirs."""

import sys
from fractions import Fraction

from mpi4py import MPI

ASK, GIVE, CREDIT, STOP = 1, 2, 3, 4
WALKS = [1, 4, 12, 36, 100, 284, 780, 2172, 5916, 16268, 44100, 120292, 324932, 881500]
comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
length, every = int(sys.argv[1]), int(sys.argv[2])
status, sent, hungry = MPI.Status(), [], []
told, heard = [0] * size, 0

# a rank that has walks holds a part of the credit, and returns it to rank 0 when they are done
walks, credit = ([((0, 0),)], Fraction(1)) if rank == 0 else ([], Fraction(0))
returned, found, asked, stopped = Fraction(0), 0, False, False


def tell(what, other, tag):
    sent.append(comm.isend(what, dest=other, tag=tag))


def extend():
    """Extend the newest walks for a while."""
    global found
    for _ in range(every):
        if not walks:
            break
        walk = walks.pop()
        if len(walk) > length:
            found += 1
            continue
        x, y = walk[-1]
        for place in ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)):
            if place not in walk:
                walks.append((*walk, place))


def share():
    """Give the ranks that asked half of the walks that are still far from their end."""
    global credit
    while hungry and (worth := sum(len(walk) < length - 4 for walk in walks)) > 1:
        credit /= 2
        tell((walks[: worth // 2], credit), hungry.pop(0), GIVE)
        del walks[: worth // 2]


def hear():
    """Receive the next message."""
    global credit, returned, asked, stopped, heard
    message = comm.recv(source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG, status=status)
    tag, other = status.Get_tag(), status.Get_source()
    if tag == ASK:
        heard += 1
        if other not in hungry:
            hungry.append(other)
    elif tag == GIVE:
        walks.extend(message[0])
        credit, asked = credit + message[1], False
    elif tag == CREDIT:
        returned += message
    else:
        stopped = True


while not stopped:
    extend()
    while comm.Iprobe(source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG):
        hear()
    share()
    if walks or stopped:
        continue
    if rank == 0:
        returned, credit = returned + credit, Fraction(0)
    elif credit:
        tell(credit, 0, CREDIT)
        credit = Fraction(0)
    others = [other for other in range(size) if other != rank]
    if returned == 1:
        for other in others:
            tell(None, other, STOP)
        break
    if not asked:
        for other in others:
            tell(None, other, ASK)
            told[other] += 1
        asked = True
    hear()

# requests that are still under way
expected = sum(comm.alltoall(told))
while heard < expected:
    comm.recv(source=MPI.ANY_SOURCE, tag=ASK)
    heard += 1
MPI.Request.waitall(sent)
assert comm.allreduce(found) == WALKS[length]
