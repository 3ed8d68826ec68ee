"""Agreement of recordings on a busy host with those on a quiet one, for raw and for normalised bursts.

``python -m benchmarks.accuracy.host_speed [--rounds N] [-o FILE.csv]``

Runs ``clue record -n 4`` of three programs in turn on an otherwise idle host, beside two processes that compute, and
beside one that streams memory; ``clue record`` makes three recordings each time. Prints, by program and neighbours, the
CPU time relative to that on the idle host in the same round: of one recording as recorded, and as replayed (normalised,
the median of three recordings).
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

from clue.recording import record_repeatedly
from clue.trace import Trace
from clue.trace.speed import speeds

PROGRAMS = {"jacobi": "384", "cholesky": "1200", "cg": "192"}
#: Start of a loop that ends when the parent process ends, for whatever reason.
_WHILE = "import os; parent = os.getppid()\nwhile os.getppid() == parent: "
_COMPUTE = f"{_WHILE}sum(range(10000))"
_STREAM = f"import numpy as np; a = np.ones(8_000_000); b = a.copy(); {_WHILE}np.multiply(a, 3.0, out=b)"
NEIGHBOURS = {"none": (), "two that compute": (_COMPUTE, _COMPUTE), "one that streams": (_STREAM,)}
RANKS = 4
#: A row of the table: round, neighbours, program; CPU time of each recording as recorded, and as replayed; seconds.
Row = dict[str, str | float]
_Quiet = dict[tuple[str | float, str | float], Row]


@contextmanager
def beside(programs: Sequence[str]) -> Iterator[None]:
    """Run the programs as background processes for the duration of the ``with`` block."""
    with ExitStack() as stack:
        for program in programs:
            process = stack.enter_context(subprocess.Popen([sys.executable, "-c", program]))
            stack.callback(process.kill)
        yield


def measured(turn: int, neighbours: str, program: str, folder: Path) -> Row:
    """Record a program with ``clue record`` and return its row of the table."""
    script = Path(__file__).parent / "programs" / f"{program}.py"
    found = record_repeatedly(script, (PROGRAMS[program],), RANKS, folder / f"{program}.clue")
    traces = [found.trace, *map(Trace.open, found.repeats)]
    row: Row = {"round": turn, "neighbours": neighbours, "program": program}
    row |= {f"raw_{i}": float(trace.ops.cpu.sum()) * 1e-9 for i, trace in enumerate(traces)}
    row |= {"replayed": float(found.trace.bursts.sum()) * 1e-9, "spread": found.spread}
    return row | {f"{piece}_slowest": low for piece, (low, _) in speeds(found.trace).items()}


def table(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of the table: medians over rounds, and the largest deviation in any round."""
    quiet: _Quiet = {(row["round"], row["program"]): row for row in rows if row["neighbours"] == "none"}
    yield "| program | neighbours | as recorded | largest | as replayed | largest |"
    yield "| --- | --- | ---: | ---: | ---: | ---: |"
    for program in PROGRAMS:
        for neighbours in list(NEIGHBOURS)[1:]:
            there = [row for row in rows if (row["program"], row["neighbours"]) == (program, neighbours)]
            shown = [f"{_ratios(there, quiet, column)}" for column in ("raw_0", "replayed")]
            yield f"| {program} | {neighbours} | {shown[0]} | {shown[1]} |"


def _ratios(rows: Sequence[Row], quiet: _Quiet, column: str) -> str:
    ratios = [float(row[column]) / float(quiet[row["round"], row["program"]][column]) - 1 for row in rows]
    return f"{median(ratios):+.1%} | {max(ratios, key=abs):+.1%}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("-o", dest="output", type=Path)
    arguments = parser.parse_args()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(arguments.rounds):
            for neighbours, programs in NEIGHBOURS.items():
                with beside(programs):
                    rows += [measured(turn, neighbours, program, Path(folder)) for program in PROGRAMS]
    if arguments.output is not None:
        with arguments.output.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    print("\n".join(table(rows)))


if __name__ == "__main__":
    main()
