"""Recommend films by alternating least squares: tastes of people and traits of films are fitted to ratings in turn."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
people, films, rank_of_model, rounds = (int(word) for word in sys.argv[1:])
PENALTY, PER_PERSON = 0.1, 30

# all ranks know the same ratings; each keeps those by its people and those of its films
random = np.random.default_rng(8)
taste, trait = random.normal(size=(people, 4)), random.normal(size=(films, 4))
rated = (random.random((people, PER_PERSON)) ** 2 * films).astype(int)
who, which = np.repeat(np.arange(people), PER_PERSON), rated.ravel()
scores = (taste[who] * trait[which]).sum(axis=1) + 0.1 * random.normal(size=len(who))


class Side:
    """People or films: their factors, of which this rank fits some, from ratings by or of the other side."""

    def __init__(self, count, mine, others):
        ends = np.arange(comm.size + 1) * count // comm.size
        self.begin, self.end = ends[comm.rank], ends[comm.rank + 1]
        self.counts = np.diff(ends) * rank_of_model
        self.factors = np.full((count, rank_of_model), 0.1)
        here = np.flatnonzero((mine >= self.begin) & (mine < self.end))
        here = here[np.argsort(mine[here], kind="stable")]
        self.others, self.scores = others[here], scores[here]
        self.starts = np.searchsorted(mine[here], np.arange(self.begin, self.end + 1))

    def fit(self, other):
        """Solve for each factor here, and send it to all ranks."""
        for i, (begin, end) in enumerate(zip(self.starts, self.starts[1:]), self.begin):
            known = other.factors[self.others[begin:end]]
            matrix = known.T @ known + PENALTY * (end - begin + 1) * np.eye(rank_of_model)
            self.factors[i] = np.linalg.solve(matrix, known.T @ self.scores[begin:end])
        comm.Allgatherv(MPI.IN_PLACE, [self.factors, self.counts])

    def error(self, other):
        """The mean square of the residual."""
        owners = np.repeat(np.arange(self.begin, self.end), np.diff(self.starts))
        missed = self.scores - (self.factors[owners] * other.factors[self.others]).sum(axis=1)
        return comm.allreduce(float(missed @ missed)) / len(scores)


audience, catalogue = Side(people, who, which), Side(films, which, who)
catalogue.factors[:] = np.random.default_rng(9).normal(size=catalogue.factors.shape)
errors = []
for _ in range(rounds):
    audience.fit(catalogue)
    catalogue.fit(audience)
    errors.append(catalogue.error(audience))

assert np.isclose(errors[-1], audience.error(catalogue))
assert errors[-1] < 0.3 * np.var(scores)
if comm.rank == 0:
    assert errors[-1] < errors[0]
