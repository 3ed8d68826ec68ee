"""Messages within a node that are sent at once: measured on this computer, and predicted from its calibration.

``python -m benchmarks.accuracy.within_node [--mpiexec COMMAND] [-o FILE.md]``

``clue calibrate network`` measures the link between two ranks here. Then one rank sends several messages at once to
the other, and both send to each other; these are not part of the calibration. Each buffer is written before it is sent
and read after it was received, as in programs. Shown is the median time until both ranks have all their messages, and
the predicted one, with and without the time for which receivers copy (``copy_time``).
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import mean

from clue.config import load_machine
from clue.kernel import compile_program, simulate
from clue.machine import Machine
from clue.recording.launching import find_mpiexec
from clue.trace import TraceBuilder
from clue.units import format_size

SIZES = (1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22)
AT_ONCE = (1, 2, 4, 8)
#: Which ranks send.
DIRECTIONS = {"one way": (0,), "both ways": (0, 1)}
#: Prints the median times, seconds, by size, direction and number of messages.
PROGRAM = """
import json, statistics, sys, time
import numpy as np
from mpi4py import MPI
comm = MPI.COMM_WORLD
rank, other = comm.rank, 1 - comm.rank
sizes, numbers, directions = json.loads(sys.argv[1])
found = []
for size in sizes:
    for senders in directions:
        for number in numbers:
            sent = [np.zeros(size, np.uint8) for _ in range(number)]
            received = [np.zeros(size, np.uint8) for _ in range(number)]
            times = []
            for turn in range(40):
                for each in sent:
                    each[:] = turn
                comm.Barrier()
                comm.Barrier()
                begin = time.perf_counter()
                requests = [comm.Irecv(each, other) for each in received] if other in senders else []
                requests += [comm.Isend(each, other) for each in sent] if rank in senders else []
                MPI.Request.Waitall(requests)
                times.append(comm.allreduce(time.perf_counter() - begin, op=MPI.MAX))
                assert other not in senders or all(each.max() == each.min() == turn for each in received)
            found.append(statistics.median(times))
if rank == 0:
    print(json.dumps(found))
"""
#: Size, direction and number of messages.
Case = tuple[int, str, int]


def cases() -> Iterator[Case]:
    """Yield the cases in the order in which the program measures them."""
    yield from ((size, which, number) for size in SIZES for which in DIRECTIONS for number in AT_ONCE)


def measured(mpiexec: list[str], folder: Path) -> list[float]:
    """Return the time of each case, seconds."""
    script = folder / "windows.py"
    script.write_text(PROGRAM)
    told = json.dumps([SIZES, AT_ONCE, list(DIRECTIONS.values())])
    command = [*mpiexec, "-n", "2", sys.executable, str(script), told]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return list(map(float, json.loads(output)))


def predicted(case: Case, machine: Machine) -> float:
    """Return the makespan of a case, seconds."""
    size, which, number = case
    trace = TraceBuilder(2)
    for rank in (0, 1):
        own, senders = trace[rank], DIRECTIONS[which]
        requests = [own.irecv(1 - rank) for _ in range(number)] if 1 - rank in senders else []
        requests += [own.isend(1 - rank, size) for _ in range(number)] if rank in senders else []
        own.wait(*requests)
    return simulate(compile_program(trace.build()), machine, (0, 0)).makespan


def without_copies(machine: Machine) -> Machine:
    """Return the machine as if messages did not wait until their receiver has copied others."""
    return machine.map(network=lambda network: network.map(lambda link, _: replace(link, copy_time=None)))


def page(times: list[float], machine: Machine) -> Iterator[str]:
    """Yield the lines of the tables."""
    plain, rows = without_copies(machine), list(zip(cases(), times, strict=True))
    errors = {case: (predicted(case, plain) / time - 1, predicted(case, machine) / time - 1) for case, time in rows}
    yield "| messages | mean error without `copy_time` | with it |"
    yield "| --- | ---: | ---: |"
    for number in AT_ONCE:
        here = [each for (_, _, n), each in errors.items() if n == number]
        yield f"| {number} | {mean(abs(before) for before, _ in here):.0%} | {mean(abs(now) for _, now in here):.0%} |"
    yield ""
    yield "| size | | messages | measured | without `copy_time` | | with it | |"
    yield "| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    for case, time in rows:
        size, which, number = case
        before, now = errors[case]
        shown = f"{time * (1 + before) * 1e6:.1f} us | {before:+.0%} | {time * (1 + now) * 1e6:.1f} us | {now:+.0%}"
        yield f"| {format_size(size)} | {which} | {number} | {time * 1e6:.1f} us | {shown} |"


def main() -> None:
    """Calibrate, measure, predict and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mpiexec", default="", help="launcher, with options (default: that of clue)")
    parser.add_argument("-o", dest="output", type=Path)
    arguments = parser.parse_args()
    mpiexec = shlex.split(arguments.mpiexec) or [find_mpiexec()]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = folder / "here.yaml"
        command = ["clue", "calibrate", "network", "-q", "--mpiexec", shlex.join(mpiexec), "-o", str(file)]
        subprocess.run([sys.executable, "-m", *command], check=True, capture_output=True)
        text = "\n".join(page(measured(mpiexec, folder), load_machine(file)))
    print(text)
    if arguments.output is not None:
        arguments.output.write_text(text + "\n")


if __name__ == "__main__":
    main()
