"""The queue of a machine in SimPy: the definition of both policies, with which :mod:`.fast` must agree.

Simultaneous events take place in this order: jobs end, jobs are submitted, jobs start. EASY backfilling relies on time
limits: the first job without enough free nodes gets a reservation, the time at which it has enough if every running job
uses all of its limit. Another job may start before it if its nodes are free now, and either its limit ends by then or
it uses nodes that the first job leaves over. Jobs are tried in queue order.
"""

from __future__ import annotations

from collections.abc import Generator

import numpy as np
import simpy

from clue.kernel.reference.virtual_time import VirtualTime
from clue.purchase.queue.jobs import Doubles, Jobs
from clue.purchase.queue.mix import Policy

#: Order of simultaneous events.
_END, _SUBMIT, _START = range(3)


def start_times(jobs: Jobs, nodes: int, policy: Policy) -> Doubles:
    """Return the start time of each job, seconds, shape (jobs,).

    Args:
        jobs: The jobs; none needs more nodes than there are.
        nodes: Number of nodes.
        policy: The scheduling policy.
    """
    return _Queue(jobs, nodes, policy).starts()


class _Queue:
    def __init__(self, jobs: Jobs, nodes: int, policy: Policy) -> None:
        self._jobs = jobs
        self._policy = policy
        self._time = VirtualTime()
        self._free = simpy.Container(self._time, nodes, init=nodes)
        self._waiting: dict[int, simpy.Event] = {}  # in queue order
        self._expected: dict[int, float] = {}  # end of the limit of each running job
        self._starts = np.zeros(len(jobs))
        self._asked: float | None = None

    def starts(self) -> Doubles:
        for job in range(len(self._jobs)):
            self._time.process(self._life(job))
        self._time.run()
        return self._starts

    def _life(self, job: int) -> Generator[simpy.Event, object, None]:
        yield self._time.at(float(self._jobs.submit[job]), _SUBMIT)
        started = self._waiting[job] = self._time.event()
        self._ask()
        yield started
        yield self._time.at(self._time.now + float(self._jobs.run[job]), _END)
        del self._expected[job]
        self._free.put(int(self._jobs.nodes[job]))
        self._ask()

    def _ask(self) -> None:
        """Schedule the start of jobs after all other events at this time."""
        if self._asked != self._time.now:
            self._asked = self._time.now
            event = self._time.at(self._time.now, _START)
            assert event.callbacks is not None
            event.callbacks.append(lambda _: self._start_jobs())

    def _start_jobs(self) -> None:
        self._asked = None
        for job in list(self._waiting):
            if not self._has_nodes(job):
                break
            self._start(job)
        if self._policy is Policy.BACKFILL and self._waiting:
            self._backfill(*self._waiting)

    def _backfill(self, first: int, *others: int) -> None:
        for job in others:
            time, over = self._reservation(first)
            in_time = self._time.now + float(self._jobs.limit[job]) <= time
            if self._has_nodes(job) and (in_time or self._jobs.nodes[job] <= over):
                self._start(job)

    def _reservation(self, first: int) -> tuple[float, int]:
        """Return when a job has its nodes if all limits are used up, and how many nodes are left over then."""
        need, free = int(self._jobs.nodes[first]), int(self._free.level)
        ends = sorted((end, int(self._jobs.nodes[job])) for job, end in self._expected.items())
        time = next(end for end, _ in ends if free + sum(n for other, n in ends if other <= end) >= need)
        return time, free + sum(n for end, n in ends if end <= time) - need

    def _has_nodes(self, job: int) -> bool:
        return int(self._jobs.nodes[job]) <= int(self._free.level)

    def _start(self, job: int) -> None:
        self._free.get(int(self._jobs.nodes[job]))
        self._starts[job] = self._time.now
        self._expected[job] = self._time.now + float(self._jobs.limit[job])
        self._waiting.pop(job).succeed()
