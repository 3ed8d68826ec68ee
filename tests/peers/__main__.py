"""Compare clue with SimGrid and write the table: ``python -m tests.peers [RESULTS.md]``."""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.peers import cases
from tests.peers.simgrid import is_here

_PROGRAMS = 100
_HEAD = """\
# clue beside SimGrid

`python -m tests.peers` runs `clue.simulate` (the reference engine) and SimGrid's `smpirun -replay` on the same programs
and machines, and compares when each rank finishes: the largest difference of any rank, as a share of the makespan.
Collectives are made of messages by clue, as MPICH does; every message is eager. SimGrid 3.32.

*constant*: every message takes 0.1 s (computation is stretched a thousandfold). *flows*: a switch, every node a link
up and one down, shared max-min fairly (SimGrid's CM02 without cross traffic and TCP window). Random programs have two
to eight ranks, messages of 0 B to 1 MB, nonblocking ones waited for in any order, sub-communicators, all collectives.

| programs | constant (at most 1e-6) | flows, 1 GB/s (at most 5 %) | flows, 12.5 GB/s (at most 5 %) |
| --- | --- | --- | --- |
"""
_TAIL = """
## What differs, and why

- SimGrid adds 16 B to every message. The machines here take them as delay, SimGrid as bytes to share.
- SimGrid's constant model ends a message when its bytes, counted down in floating point, come to 0 within
  maxmin/precision × surf/precision (1e-14 B by default). Some never do, and last until the next event: a W1 on 16 ranks
  takes 2 % longer then. The comparison sets these to 1e-2 and 1e-7.
- A rendezvous: SimGrid holds the sender until the transfer ends and charges the answer nothing; in clue the data
  start after the answer's travel and the sender is free when they have left. Kept out, by making all messages eager.
- Eager messages set out at once only with `smpi/async-small-thresh`, which is 0 by default: the sender goes on, but
  the data wait for the receive.
- The receiver's time (`smpi/or`) is paid at the end of the wait in SimGrid, at the Irecv in clue. It is 0 here.
- `test` and probes cost SimGrid a sleep of 0.1 ms by default; programs here have none.
- Not explained yet: on flows at 12.5 GB/s one random program in 100 (seed 84) is 5.4 % off, all others below 0.3 %. The
  makespan agrees to 1e-5; two of its seven ranks, which share links with other messages of 1 MB, get theirs later in
  clue than in SimGrid. The command exits with 1 because of it.
"""


def main() -> int:
    """Write the table; returns 1 if a difference is too large."""
    parser = argparse.ArgumentParser(prog="python -m tests.peers", description=__doc__)
    parser.add_argument("target", nargs="?", type=Path, default=Path(__file__).with_name("RESULTS.md"))
    parser.add_argument("--programs", type=int, default=_PROGRAMS)
    asked = parser.parse_args()
    if not is_here():
        sys.stderr.write("SimGrid's smpirun is not installed\n")
        return 2
    good = True
    rows = []
    for name, figures, fits in _rows(asked.programs):
        rows.append(f"| {name} | {' | '.join(figures)} |\n")
        sys.stdout.write(rows[-1])
        sys.stdout.flush()
        good &= fits
    asked.target.write_text(_HEAD + "".join(rows) + _TAIL)
    return int(not good)


def _rows(programs: int) -> Iterator[tuple[str, list[str], bool]]:
    """Yield name, figures, and whether they are within bounds."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found: list[list[float]] = []
        fits = True
        for seed in range(programs):
            trace = cases.program(seed)
            settings = cases.settings(trace.ranks)
            found.append([cases.difference(trace, setting, folder) for setting in settings])
            fits &= all(one <= setting.tolerance for one, setting in zip(found[-1], settings, strict=True))
        columns = list(zip(*found, strict=True))
        yield f"{programs} random, largest", [f"{max(each):.1e}" for each in columns], fits
        yield f"{programs} random, median", [f"{statistics.median(each):.1e}" for each in columns], fits
        for workload in cases.timed():
            settings = cases.settings(workload.trace.ranks)
            figures = [cases.difference(workload.trace, setting, folder) for setting in settings]
            fits = all(one <= setting.tolerance for one, setting in zip(figures, settings, strict=True))
            yield workload.name, [f"{each:.1e}" for each in figures], fits


if __name__ == "__main__":
    sys.exit(main())
