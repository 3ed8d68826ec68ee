"""The time to draw and simulate a queue of a million jobs, under both policies and at three loads.

Run ``python -m benchmarks.speed.queues``: 512 nodes; jobs that take 1 to 256 nodes for a minute to a day, with time
limits of three times their run time. Prints seconds and mean waiting times. Goal: 60 s.
"""

from __future__ import annotations

import sys
from time import perf_counter, process_time

from clue.purchase.queue import fast
from clue.purchase.queue.arrivals import Taken, draw_jobs
from clue.purchase.queue.mix import JobClass, Mix, Policy

NODES, JOBS = 512, 10**6
LOADS = (0.5, 0.7, 0.85)
#: For each class: relative number of jobs, nodes, and run time in seconds.
CLASSES = {
    "tests": (30, Taken(1, 60.0)),
    "small": (40, Taken(4, 3600.0)),
    "middle": (20, Taken(32, 7200.0)),
    "large": (4, Taken(128, 14400.0)),
    "huge": (1, Taken(256, 7200.0)),
    "long": (5, Taken(8, 86400.0)),
}


def main(jobs: int = JOBS) -> None:
    """Print a line for each policy and load."""
    work = sum(share * taken.nodes * taken.run for share, taken in CLASSES.values())
    for policy in Policy:
        for load in LOADS:
            rate = load * NODES / work
            classes = tuple(
                JobClass(name, name, share * rate, overestimate=3.0) for name, (share, _) in CLASSES.items()
            )
            mix = Mix(classes, policy, jobs=jobs)
            begin, cpu = perf_counter(), process_time()
            drawn = draw_jobs(mix, [{0: taken} for _, taken in CLASSES.values()], 0)
            starts = fast.start_times(drawn, NODES, policy)
            seconds, cpu = perf_counter() - begin, process_time() - cpu
            waiting = float((starts - drawn.submit).mean()) / 3600
            took = f"{seconds:.1f} s ({cpu:.1f} s of a core)"
            print(f"{policy.value:8} load {load:.2f}: {jobs:,} jobs in {took}; mean waiting {waiting:.2f} h")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
