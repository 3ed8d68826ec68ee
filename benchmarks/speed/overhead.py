"""The cost of recording per MPI call: the same loops plain and under the layer.

Run ``python -m benchmarks.speed.overhead``: it starts two ranks with mpiexec, plain and recorded, several times in
turn. A figure is the minimum over several blocks of calls, so that other work on the computer disturbs little, and the
median over the turns. Goal: less than 5 us per call.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter

ROUNDS = 5
BLOCKS = 20
CALLS = 200


def cases() -> dict[str, float]:
    """Return the seconds per call of each case, on this rank."""
    from mpi4py import MPI  # noqa: PLC0415 - the parent process does without

    world, alone = MPI.COMM_WORLD, MPI.COMM_SELF
    sent, received = bytearray(64), bytearray(64)
    partner = 1 - world.Get_rank()
    status = MPI.Status()

    def started() -> None:
        MPI.Request.Waitall([alone.Irecv(received, 0, 1), alone.Isend(sent, 0, 1)])

    def any_source() -> None:
        MPI.Request.Waitall([alone.Irecv(received), alone.Isend(sent, 0, 1)])

    def ping_pong() -> None:
        if partner == 1:
            world.Send(sent, 1)
            world.Recv(received, 1, 0, status)
        else:
            world.Recv(received, 0, 0, status)
            world.Send(sent, 0)

    def exchange() -> None:
        alone.Sendrecv(sent, 0, 1, received, 0, 1)

    def objects() -> None:
        alone.recv(source=alone.sendrecv(7, 0, 1, None, 0, 1) * 0 + MPI.PROC_NULL)

    timed: dict[str, tuple[Callable[[], object], int]] = {
        "Iprobe": (alone.Iprobe, 1),
        "Isend Irecv Waitall": (started, 3),
        "Isend Irecv(any) Waitall": (any_source, 3),
        "Sendrecv": (exchange, 1),
        "sendrecv recv, objects": (objects, 2),
        "Send Recv, two ranks": (ping_pong, 2),
        "Allreduce of 8 B, two ranks": (lambda: world.Allreduce(MPI.IN_PLACE, bytearray(8)), 1),
    }
    return {name: _seconds(body) / calls for name, (body, calls) in timed.items()}


def _seconds(body: Callable[[], object]) -> float:
    blocks = []
    for _ in range(BLOCKS):
        begin = perf_counter()
        for _ in range(CALLS):
            body()
        blocks.append((perf_counter() - begin) / CALLS)
    return min(blocks)


def measure(*, recorded: bool) -> dict[str, float]:
    """Run the cases on two ranks."""
    from clue.recording import find_mpiexec  # noqa: PLC0415 - the children do without
    from virtual_layer.programs import settings  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        layer = ["-m", "virtual_layer", "-o", f"{folder}/overhead.clue"] if recorded else []
        answer = subprocess.run(
            [find_mpiexec(), "-n", "2", sys.executable, *layer, __file__, "--cases"],
            env={**os.environ, **settings(os.environ), "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
    return dict(json.loads(answer.stdout.splitlines()[-1]))


def main() -> None:
    """Print a table of microseconds per call."""
    runs = [(measure(recorded=False), measure(recorded=True)) for _ in range(ROUNDS)]
    out = sys.stdout.write
    out(f"{'microseconds per call':30}  plain  recorded  added\n")
    for name in runs[0][0]:
        plain, recorded = (median(run[side][name] for run in runs) * 1e6 for side in (0, 1))
        added = median(run[1][name] - run[0][name] for run in runs) * 1e6
        out(f"{name:30} {plain:6.2f}  {recorded:8.2f} {added:6.2f}\n")


if __name__ == "__main__":
    if sys.argv[1:] == ["--cases"]:
        from mpi4py import MPI

        figures = cases()
        if MPI.COMM_WORLD.Get_rank() == 0:
            sys.stdout.write(json.dumps(figures) + "\n")
    else:
        main()
