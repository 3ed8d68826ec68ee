"""Measure the cost of live execution on this computer: ``python -m benchmarks.live [-o benchmarks/live/README.md]``."""

from __future__ import annotations

import argparse
import platform
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from os import cpu_count, getloadavg
from pathlib import Path

import clue
from benchmarks.live.measure import call_goals, payload_goals, rank_goals, share_goal
from benchmarks.page import REACHED, Goal, markdown_table, processor, revision, write_page


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.live", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few ranks, to see that everything runs")
    parser.add_argument("-o", "--output", type=Path, help="the Markdown file (default: standard output)")
    args = parser.parse_args()
    goals = []
    for goal in _goals(quick=args.quick):
        print(f"{goal.figure}: {goal.measured}", file=sys.stderr)
        goals.append(goal)
    write_page("\n".join([*_page(goals), ""]), args.output)


def _goals(quick: bool) -> Iterator[Goal]:
    yield from call_goals(2, 20 if quick else 500)
    yield from call_goals(8 if quick else 64, 5 if quick else 50)
    yield from payload_goals((1 << 20,) if quick else (1 << 20, 16 << 20))
    yield from rank_goals(16 if quick else 256)
    yield share_goal(("--bursts", "250 Mflop/s"), "declared bursts")
    yield share_goal((), "measured bursts")


def _page(goals: Sequence[Goal]) -> Iterator[str]:
    yield "# What live execution costs"
    yield ""
    yield f"Measured {datetime.now(timezone.utc):%Y-%m-%d %H:%M} UTC by `python -m benchmarks.live`, on {processor()},"
    yield f"{platform.system()}; clue {clue.__version__} ({revision()}), Python {platform.python_version()}."
    yield ""
    yield from markdown_table(
        ("figure", "goal", "measured", "reached"),
        ((goal.figure, goal.wanted, goal.measured, REACHED[goal.reached]) for goal in goals),
    )
    yield ""
    yield (
        "The programs in [programs](programs) run under `clue run`. The cost of a *call* is the processor time of a "
        "batch, summed over all processes of the run, divided by the number of MPI calls of all ranks in the batch. "
        "It includes the simulation of their messages (an Allreduce on 64 ranks is six messages a rank). The table "
        "shows the median, and in parentheses the fastest and the slowest batch. *Real time* is the elapsed time per "
        f"call, while this computer also did other work (load at the end {getloadavg()[0]:.1f} on {cpu_count()} "
        "cores). *Memory* counts shared memory once, and includes the program's own. A worker that has three quarters "
        "of the speed of all workers together should get a *share* of 0.75."
    )


if __name__ == "__main__":
    main()
