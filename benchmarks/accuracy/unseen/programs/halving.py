"""Search for a classifier's settings by successive halving: the best third of the finished trials train on."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
samples, features, settings, batches = (int(word) for word in sys.argv[1:])
RUNGS, KEEP = 4, 3

random = np.random.default_rng(12)
truth = random.normal(size=features) * (random.random(features) < 0.3)
table = random.normal(size=(samples, features))
labels = (table @ truth + random.normal(size=samples) > 0).astype(float)
train, test = slice(0, 3 * samples // 4), slice(3 * samples // 4, None)


def loss(weights):
    margin = table[test] @ weights
    return float(np.mean(np.logaddexp(0, margin) - labels[test] * margin))


def trained(weights, rate, decay, rung):
    """Continue with some steps of gradient descent: more on each rung than on the one before."""
    picture, answers = table[train], labels[train]
    batch = max(1, len(picture) // batches)
    for step in range(batches * 2**rung):
        begin = step % batches * batch
        part, wanted = picture[begin : begin + batch], answers[begin : begin + batch]
        guess = 0.5 * (1 + np.tanh(0.5 * (part @ weights)))
        weights = weights - rate * (part.T @ (guess - wanted) / len(part) + decay * weights)
    return weights


# a task is [number, rung, rate, decay, weights]; an answer is [number, rung, loss, 0, weights]
HEAD = 4
if comm.rank == 0:
    tried = np.exp(np.random.default_rng(13).uniform(np.log([1e-3, 1e-5]), np.log([3.0, 1e-1]), (settings, 2)))
    weights = np.zeros((settings, features))
    waiting = list(range(settings))
    results = [{} for _ in range(RUNGS)]
    promoted = [set() for _ in range(RUNGS)]
    answers = np.empty((comm.size - 1, HEAD + features))
    requests = [MPI.REQUEST_NULL] * (comm.size - 1)

    def choose():
        """The number and rung of the next trial, from the highest rung that has one."""
        for rung in reversed(range(RUNGS - 1)):
            ranked = sorted(results[rung], key=results[rung].__getitem__)
            for number in ranked[: len(ranked) // KEEP]:
                if number not in promoted[rung]:
                    promoted[rung].add(number)
                    return number, rung + 1
        return (waiting.pop(0), 0) if waiting else None

    def occupy(worker):
        """Give a worker a task; return whether there was one."""
        if (choice := choose()) is None:
            return False
        number, rung = choice
        comm.Send(np.concatenate([[number, rung], tried[number], weights[number]]), dest=worker + 1, tag=1)
        requests[worker] = comm.Irecv(answers[worker], source=worker + 1, tag=2)
        return True

    idle = [worker for worker in range(comm.size - 1) if not occupy(worker)]
    while (worker := MPI.Request.Waitany(requests)) != MPI.UNDEFINED:
        number, rung, reached = int(answers[worker, 0]), int(answers[worker, 1]), answers[worker, 2]
        weights[number] = answers[worker, HEAD:]
        results[rung][number] = reached
        idle = [each for each in [*idle, worker] if not occupy(each)]
    for worker in range(1, comm.size):
        comm.Send(np.full(HEAD + features, -1.0), dest=worker, tag=1)

    assert len(results[0]) == settings
    assert all(len(above) >= len(below) // KEEP for below, above in zip(results, results[1:]))
    assert all(set(above) <= set(below) for below, above in zip(results, results[1:]))
    best = min(results[-1] or results[0], key=(results[-1] or results[0]).__getitem__)
    assert loss(weights[best]) < 0.8 * np.log(2)
else:
    task = np.empty(HEAD + features)
    while True:
        comm.Recv(task, source=0, tag=1)
        number, rung, rate, decay = task[:HEAD]
        if number < 0:
            break
        weights = trained(task[HEAD:], rate, decay, int(rung))
        comm.Send(np.concatenate([[number, rung, loss(weights), 0], weights]), dest=0, tag=2)
