"""One replay by clue in a process of its own: ``python -m benchmarks.speed.replay TRACE MODEL …`` prints one JSON line.

The library of the fast engine is loaded before anything is measured. The trace is opened, compiled and replayed once; a
second replay, if requested, is timed separately.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from pathlib import Path

from benchmarks.speed.settings import ContentionKind, NetworkSetting, build_machine
from benchmarks.speed.workloads import nothing
from clue.kernel import compile_program, simulate
from clue.trace import Trace


def main() -> None:
    """Replay, and print seconds of processor time and bytes."""
    asked = _arguments()
    ranks = asked.ranks
    machine = build_machine(NetworkSetting(ContentionKind[asked.model], asked.bandwidth), ranks, asked.library)
    simulate(nothing(ranks).trace, machine, engine=asked.engine)
    before, mapped = _peak(), _mapped()
    started = time.process_time()
    trace = Trace.open(asked.trace)
    opened = time.process_time()
    program = compile_program(trace)
    compiled = time.process_time()
    result = simulate(program, machine, engine=asked.engine)
    ended = time.process_time()
    figures = {
        "open": opened - started,
        "compile": compiled - opened,
        "simulate": ended - compiled,
        "peak": _peak(),
        "beyond": _peak() - before - (_mapped() - mapped),
        "makespan": result.makespan,
        "engine": result.engine,
    }
    if asked.again:
        started = time.process_time()
        simulate(program, machine, engine=asked.engine)
        figures["again"] = time.process_time() - started
    print(json.dumps(figures))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trace", type=Path)
    parser.add_argument("model", choices=[model.name for model in ContentionKind])
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--bandwidth", type=float, default=1e9)
    parser.add_argument("--engine", default="fast")
    parser.add_argument("--library", default="mpich")
    parser.add_argument("--again", action="store_true", help="replay once more, with what the program then knows")
    return parser.parse_args()


def _peak() -> int:
    """Return the largest resident memory so far, bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _mapped() -> int:
    """Return the memory that mapped pages of files currently take, bytes."""
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(fields["RssFile"].split()[0]) * 1024


if __name__ == "__main__":
    main()
