"""A pool of workers, which take pickled tasks of very different lengths as soon as they are idle."""

import sys

from mpi4py import MPI

TASK, STOP = 1, 2
comm = MPI.COMM_WORLD
tasks, longest = int(sys.argv[1]), int(sys.argv[2])


def collatz(start, count):
    best = 0
    for number in range(start, start + count):
        steps, value = 0, number
        while value != 1:
            value = value // 2 if value % 2 == 0 else 3 * value + 1
            steps += 1
        best = max(best, steps)
    return best


def length(task):
    return 1 + (task * 7919) % longest


if comm.rank == 0:
    results, status, given = {}, MPI.Status(), 0
    for worker in range(1, comm.size):
        comm.send((given, 1000 + given * longest, length(given)), dest=worker, tag=TASK)
        given += 1
    while len(results) < tasks:
        task, best = comm.recv(source=MPI.ANY_SOURCE, status=status)
        results[task] = best
        if given < tasks:
            comm.send((given, 1000 + given * longest, length(given)), dest=status.Get_source(), tag=TASK)
            given += 1
        else:
            comm.send(None, dest=status.Get_source(), tag=STOP)
    assert sorted(results) == list(range(tasks))
    assert results[tasks // 2] == collatz(1000 + tasks // 2 * longest, length(tasks // 2))
else:
    while (message := comm.recv(source=0)) is not None:
        task, start, count = message
        comm.send((task, collatz(start, count)), dest=0)
