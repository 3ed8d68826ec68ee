"""A sweep over many machines in a process of its own.

``python -m benchmarks.speed.sweep TRACE`` prints one JSON line.
"""

from __future__ import annotations

import argparse
import json
import time
from itertools import product
from pathlib import Path

import numpy as np

from benchmarks.speed.settings import NetworkSetting, build_machine
from benchmarks.speed.workloads import nothing
from clue.kernel import Candidate, compile_program, contention_free, simulate
from clue.machine import Placement
from clue.trace import Trace

#: Every k-th machine is also replayed alone, to check the sweep.
_CHECKED = 100


def candidates(machines: int, ranks: int) -> list[Candidate]:
    """Return machines that differ in latency and bandwidth."""
    side = int(np.ceil(np.sqrt(machines)))
    figures = list(product(np.geomspace(1e-6, 1e-4, side), np.geomspace(1e8, 1e10, side)))[:machines]
    placement = Placement(tuple(range(ranks)))
    return [
        Candidate(build_machine(NetworkSetting(bandwidth=float(bandwidth)), ranks, latency=float(latency)), placement)
        for latency, bandwidth in figures
    ]


def main() -> None:
    """Sweep, and print seconds of processor time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trace", type=Path)
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--machines", type=int, default=512)
    asked = parser.parse_args()
    wanted = candidates(asked.machines, asked.ranks)
    contention_free(compile_program(nothing(asked.ranks).trace), wanted[:1], engine="fast")
    program = compile_program(Trace.open(asked.trace))
    started = time.process_time()
    bounds, exact = contention_free(program, wanted, engine="fast")
    ended = time.process_time()
    checked = range(0, asked.machines, _CHECKED)
    equal = sum(simulate(program, wanted[i].machine, engine="auto").makespan == bounds[i] for i in checked)
    print(
        json.dumps(
            {"seconds": ended - started, "exact": int(exact.sum()), "checked": len(checked), "equal": int(equal)}
        )
    )


if __name__ == "__main__":
    main()
