"""Simulated queues match the formulas for M/M/c and M/D/1, within four standard errors of the mean."""

from __future__ import annotations

import math

import numpy as np
import pytest

from clue.purchase.queue import fast
from clue.purchase.queue.jobs import Jobs
from clue.purchase.queue.mix import Policy

#: Replications, jobs of each replication, and the number of its first jobs that do not count.
REPLICATIONS, JOBS, LEFT_OUT = 30, 4000, 1000


def waiting_of_mmc(rate: float, service: float, servers: int) -> float:
    """Return the mean wait in a queue with exponential inter-arrival and service times: Erlang's C formula.

    Args:
        rate: Arrivals per second.
        service: Mean service time in seconds.
        servers: Number of servers.
    """
    offered = rate * service
    load = offered / servers
    terms = [offered**k / math.factorial(k) for k in range(servers)]
    last = offered**servers / math.factorial(servers) / (1 - load)
    return last / (sum(terms) + last) * service / (servers * (1 - load))


def waiting_of_md1(rate: float, service: float) -> float:
    """Return the mean wait with one server and a constant service time (Pollaczek and Khinchine)."""
    load = rate * service
    return load * service / (2 * (1 - load))


def simulated(rate: float, nodes: int, *, exponential: bool, policy: Policy) -> tuple[float, float]:
    """Return the mean wait, and its standard error, of one-node jobs that run for a second on average."""
    means = []
    for number in range(REPLICATIONS):
        draws = np.random.default_rng([11, number])
        run = draws.exponential(size=JOBS) if exponential else np.ones(JOBS)
        submit = draws.exponential(1 / rate, JOBS).cumsum()
        jobs = Jobs(submit, np.ones(JOBS, np.int64), run, run, np.zeros(JOBS, np.int64))
        waits = fast.start_times(jobs, nodes, policy) - submit
        means.append(waits[LEFT_OUT:].mean())
    return float(np.mean(means)), float(np.std(means, ddof=1)) / math.sqrt(REPLICATIONS)


def test_erlang_by_hand() -> None:
    """One server: load / (1 - load); two of load 1/2 with a mean service of 1: C = 1/3, so 1/3 / (2 - 1)."""
    assert waiting_of_mmc(0.5, 1.0, 1) == pytest.approx(1.0)
    assert waiting_of_mmc(1.0, 1.0, 2) == pytest.approx(1 / 3)


@pytest.mark.parametrize(("nodes", "load"), [(1, 0.5), (4, 0.7), (8, 0.85)])
def test_waits_are_those_of_mmc(nodes: int, load: float) -> None:
    """Jobs use one node each, so that nodes are the servers."""
    mean, error = simulated(load * nodes, nodes, exponential=True, policy=Policy.FCFS)
    expected = waiting_of_mmc(load * nodes, 1.0, nodes)
    assert abs(mean - expected) < 4 * error
    assert error < 0.08 * expected


@pytest.mark.parametrize("load", [0.5, 0.8])
def test_waits_are_those_of_md1(load: float) -> None:
    """Run times are constant, on one node."""
    mean, error = simulated(load, 1, exponential=False, policy=Policy.FCFS)
    expected = waiting_of_md1(load, 1.0)
    assert abs(mean - expected) < 4 * error
    assert error < 0.08 * expected


def test_jobs_of_one_node_leave_nothing_to_backfill() -> None:
    """With one-node jobs, a waiting job could start on any free node, so backfilling changes nothing."""
    served, backfilled = (simulated(3.4, 4, exponential=True, policy=policy)[0] for policy in Policy)
    assert served == backfilled
