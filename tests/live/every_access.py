"""All one-sided calls, one case after the other; arguments name the cases to run (default: all)."""

import sys
from array import array

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
right, left = (rank + 1) % size, (rank - 1) % size
one, found, long = array("q", [1]), array("q", [0]), array("d", bytes(4000))


def between_fences() -> None:
    """Put, Get and Accumulate between fences."""
    memory = array("d", bytes(8000))
    window = MPI.Win.Create(memory, 8, comm=comm)
    window.Fence()
    window.Put(long, right)
    window.Accumulate(long, left, 500)
    window.Fence()
    window.Get(long, right)
    window.Fence()
    window.Free()


def under_locks() -> None:
    """Atomic operations under exclusive and shared locks, of all ranks on one."""
    window = MPI.Win.Allocate(64, 8, comm=comm)
    for kind in (MPI.LOCK_EXCLUSIVE, MPI.LOCK_SHARED):
        window.Lock(0, kind)
        window.Fetch_and_op(one, found, 0)
        window.Flush(0)
        window.Compare_and_swap(one, one, found, 0, 1)
        window.Get_accumulate(one, found, 0, 2)
        window.Unlock(0)
    window.Lock_all()
    window.Put(one, right)
    window.Get(found, left, 3)
    window.Flush_local(left)
    window.Flush_local_all()
    window.Flush_all()
    window.Sync()
    window.Unlock_all()
    window.Free()


def with_requests() -> None:
    """Operations with requests, waited for before and after flushes."""
    window = MPI.Win.Allocate(64, 8, comm=comm)
    window.Lock_all()
    window.Rput(one, right).Wait()
    requests = [window.Rget(found, left, 1), window.Raccumulate(one, right, 2)]
    window.Flush_local(left)
    window.Flush(right)
    MPI.Request.Waitall(requests)
    request = window.Rget_accumulate(one, array("q", [0]), left, 3)
    window.Flush(left)
    request.Wait()
    window.Rput(one, MPI.PROC_NULL).Wait()
    window.Unlock_all()
    window.Free()


def of_groups() -> None:
    """Post, Start, Complete, Wait; on a communicator whose ranks are reversed."""
    turned = comm.Split(0, -rank)
    assert isinstance(turned, MPI.Intracomm)
    window = MPI.Win.Create_dynamic(comm=turned)
    group = window.Get_group()
    if turned.rank == 0:
        window.Post(group.Excl([0]))
        window.Wait()
    else:
        window.Start(group.Incl([0]))
        window.Complete()
    window.Free()


def shared() -> None:
    """A window of memory that ranks share: they must be on one node."""
    window = MPI.Win.Allocate_shared(64, 8, comm=comm)
    window.Fence()
    window.Put(one, right)
    window.Fence()
    window.Free()


def of_one() -> None:
    """A window of a single member."""
    alone = MPI.Win.Allocate(64, 8)
    alone.Lock(0)
    alone.Put(one, 0)
    alone.Unlock(0)
    alone.Free()


CASES = {each.__name__: each for each in (between_fences, under_locks, with_requests, of_groups, of_one)}

if __name__ == "__main__":
    for name in sys.argv[1:] or CASES:
        {**CASES, "shared": shared}[name]()
