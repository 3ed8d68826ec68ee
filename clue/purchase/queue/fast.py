"""The decisions of :mod:`.reference` for millions of jobs: the same start times, to the last bit.

It uses a priority queue of job ends instead of processes. With EASY backfilling three things save work without any
effect on the result:

- running jobs are kept sorted by the ends of their limits;
- the reservation of the first job holds until a job ends, because backfilled jobs do not change it. So after
  submissions only the new jobs are tried: the others could not start before, and their situation has not improved;
- the jobs of a long queue are tried in blocks, as columns.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from heapq import heappop, heappush

import numpy as np

from clue.purchase.queue.jobs import Doubles, Jobs
from clue.purchase.queue.mix import Policy

#: Number of nodes of a job that has been started: more than any machine has.
_STARTED = 2**62
#: Number of jobs up to which they are tried one by one, and size of the blocks beyond that.
_FEW, _BLOCK = 24, 1024


def start_times(jobs: Jobs, nodes: int, policy: Policy) -> Doubles:
    """Return the start time of each job, seconds, shape (jobs,); see :func:`.reference.start_times`."""
    return (_Backfill if policy is Policy.BACKFILL else _Queue)(jobs, nodes).starts()


class _Queue:
    """First come, first served."""

    def __init__(self, jobs: Jobs, nodes: int) -> None:
        self._submit = jobs.submit.tolist()
        self._run = jobs.run.tolist()
        self._needs = jobs.nodes.tolist()
        self._starts = [0.0] * len(jobs)
        self._free = nodes
        self._ends: list[tuple[float, int]] = []
        self._first = self._submitted = 0  # range of jobs from the first waiting one to the last submitted one

    def starts(self) -> Doubles:
        """Return the start time of each job."""
        submit, ends, jobs = self._submit, self._ends, len(self._submit)
        while self._first < jobs:
            now = submit[self._submitted] if self._submitted < jobs else ends[0][0]
            if ends and ends[0][0] < now:
                now = ends[0][0]
            ended = bool(ends) and ends[0][0] == now
            while ends and ends[0][0] == now:
                self._end(heappop(ends)[1])
            new = self._submitted
            while self._submitted < jobs and submit[self._submitted] == now:
                self._submitted += 1
            self._start_jobs(now, new, ended)
        return np.array(self._starts)

    def _end(self, job: int) -> None:
        self._free += self._needs[job]

    def _start_jobs(self, now: float, new: int, ended: bool) -> None:  # noqa: ARG002 - backfilling needs them
        needs, submitted = self._needs, self._submitted
        while self._first < submitted and needs[self._first] <= self._free:
            self._start(self._first, now)
            self._first += 1

    def _start(self, job: int, now: float) -> None:
        self._free -= self._needs[job]
        self._starts[job] = now
        heappush(self._ends, (now + self._run[job], job))


class _Backfill(_Queue):
    """EASY backfilling."""

    def __init__(self, jobs: Jobs, nodes: int) -> None:
        super().__init__(jobs, nodes)
        self._limit = jobs.limit.tolist()
        self._limits = jobs.limit
        self._waiting = list(self._needs)  # the nodes of each job; _STARTED once it is started
        self._waiting_nodes = jobs.nodes.astype(np.int64)
        self._expected: list[tuple[float, int]] = []  # running jobs by the end of their limits
        self._reserved = -1  # the job with the reservation
        self._time, self._over = 0.0, 0  # the time at which it has its nodes, and the number of nodes left over then

    def _end(self, job: int) -> None:
        self._free += self._needs[job]
        del self._expected[bisect_left(self._expected, (self._starts[job] + self._limit[job], job))]

    def _start(self, job: int, now: float) -> None:
        super()._start(job, now)
        insort(self._expected, (now + self._limit[job], job))
        self._waiting[job] = self._waiting_nodes[job] = _STARTED

    def _start_jobs(self, now: float, new: int, ended: bool) -> None:
        waiting, submitted = self._waiting, self._submitted
        first = self._first
        while first < submitted and (waiting[first] == _STARTED or waiting[first] <= self._free):
            if waiting[first] != _STARTED:
                self._start(first, now)
            first += 1
        self._first = first
        if first == submitted or not self._free:
            # Without free nodes no job starts, whatever the reservation; it is recomputed when a job ends.
            self._reserved = -1 if ended else self._reserved
            return
        if ended or self._reserved != first:
            self._reserve(first)
            new = first + 1
        self._let_past(max(new, first + 1), now)

    def _reserve(self, first: int) -> None:
        """Compute when a job has its nodes if all limits are used up, and how many nodes are left over then."""
        need, level, needs = self._needs[first], self._free, self._needs
        time = 0.0
        for end, job in self._expected:
            if level >= need and end > time:
                break
            level += needs[job]
            time = end
        self._reserved, self._time, self._over = first, time, level - need

    def _let_past(self, place: int, now: float) -> None:
        """Start the jobs, from an index on, that do not delay the first one."""
        waiting, limit, submitted = self._waiting, self._limit, self._submitted
        while place < submitted and self._free:
            if submitted - place > _FEW:
                place = self._next(place, now)
                if place == submitted:
                    return
            need = waiting[place]
            if need <= self._free:
                if now + limit[place] <= self._time:
                    self._start(place, now)
                elif need <= self._over:
                    self._over -= need
                    self._start(place, now)
            place += 1

    def _next(self, place: int, now: float) -> int:
        """Return the next job, from an index on, that may start; the number of submitted jobs if there is none."""
        while place < self._submitted:
            end = min(place + _BLOCK, self._submitted)
            needs = self._waiting_nodes[place:end]
            fits = (needs <= self._free) & ((now + self._limits[place:end] <= self._time) | (needs <= self._over))
            if fits.any():
                return place + int(fits.argmax())
            place = end
        return place
