"""Collective calls, or patterns of messages and one-sided operations, measured and simulated.

``python -m benchmarks.accuracy.collectives MACHINE.yaml... --measured FOLDER [--patterns] [--runs N] [-o FILE.md]``

Records ``program.py`` (``patterns.py``) on this computer as a user does; measures it on the testbed of each machine, as
root; calibrates the machine's links there; replays the recording on the calibrated machine; and writes a table of the
time of each call. Recordings, measurements and calibrations are kept in the folder and reused.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np

from benchmarks.accuracy.unseen.buying import clue_command
from benchmarks.accuracy.validate.calibrating import Calibrator
from benchmarks.accuracy.validate.measured import MeasurementFolder
from benchmarks.accuracy.validate.predicting import said_by
from benchmarks.command import with_status
from benchmarks.page import markdown_table, notes_beside, processor, revision, typed_command, write_page
from benchmarks.progress import tell
from benchmarks.testbed import launch
from benchmarks.testbed.truth import hosts_at
from clue.config import load_machine
from clue.kernel import simulate
from clue.machine import Machine
from clue.trace import Trace
from clue.trace.ops import Op

#: Largest error that counts as met, as for single messages.
GOAL = 0.1
#: How the names of cases begin in which a short message is behind a long one.
BEHIND = "behind"
#: How the names of cases begin that end when a rank has received a message.
RECEIVED = (BEHIND, "header before")


@dataclass(frozen=True, slots=True)
class Case:
    """One case of the program.

    Attributes:
        call: Name of the call.
        size: Size of its vector or of a block, bytes.
        rounds: Number of calls in a row.
    """

    call: str
    size: int
    rounds: int


@with_status
def main(words: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.accuracy.collectives",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("machines", nargs="+", type=Path, help="of three ranks and more")
    parser.add_argument("--measured", type=Path, required=True, help="keep recordings and measurements there")
    parser.add_argument("--patterns", action="store_true", help="patterns of messages and one-sided operations")
    parser.add_argument("--runs", type=int, default=2, help="on each machine")
    parser.add_argument("--seconds", type=float, default=15.0, help="to calibrate a link in")
    parser.add_argument("-o", "--output", type=Path, help="the Markdown file (default: standard output)")
    asked = parser.parse_args(words)
    asked.measured.mkdir(parents=True, exist_ok=True)
    notes = notes_beside(asked.output) if asked.output is not None else []
    head = _head("Patterns" if asked.patterns else "Collectives", _PATTERNS if asked.patterns else _COLLECTIVES)
    write_page("\n".join([*head, *_tables(asked), "", *notes]).rstrip("\n") + "\n", asked.output)


def _head(subject: str, text: str) -> Iterator[str]:
    yield f"# {subject}, measured and simulated"
    yield ""
    yield f"`{typed_command('benchmarks.accuracy.collectives')}`, {processor()}, clue {revision()}."
    yield ""
    yield from text.splitlines()


_COLLECTIVES = """\
Every collective at four sizes on [emulated clusters](../testbed/README.md), beside replays of one plain recording of
the same program (`collectives/program.py`) with calibrated links. The algorithms and their choice are those of MPICH
([the model](../../docs/pages/model/collectives.md)). After a barrier some calls in a row are timed, on the slowest
rank; a figure is the median time of a call. The goal is that of [single messages](micro.md): within 10 %.

Short messages behind long ones share a port with them, that of their sender or that of their receiver; what is timed is
their receive. Where one rank receives both, the sender of the short one first computes for 2 ms on this computer."""
_PATTERNS = """\
Patterns of messages and of one-sided operations on [emulated clusters](../testbed/README.md), beside replays of one
plain recording of the same program (`collectives/patterns.py`) with calibrated links. Each is made once after a
barrier; the slowest rank counts, and a figure is the median of the repetitions. *Header before data* is the time at
which a header of 16 B has been received that is sent directly before the data. The goal is that of [single
messages](micro.md): within 10 %."""


def _tables(asked: argparse.Namespace) -> Iterator[str]:
    kept, program = MeasurementFolder(asked.measured), "patterns" if asked.patterns else "program"
    label = "patterns-" if asked.patterns else ""
    for file in asked.machines:
        machine = load_machine(file)
        real = [kept.get(f"{label}{machine.name}-{run}", partial(measured, file, program)) for run in range(asked.runs)]
        linked = Calibrator(asked.seconds, kept, tell).calibrated(machine, hosts_at(file))
        trace = recorded(asked.measured, program, sum(node.processors for node in machine.nodes))
        cases = [Case(*each) for each in real[0]["cases"]]
        virtual = simulated(cases, len(real[0]["seconds"][0]), trace, linked)
        yield from ("", *lines(machine.name, cases, [each["seconds"] for each in real], virtual))


def _file(program: str) -> Path:
    return Path(__file__).with_name(f"{program}.py")


def recorded(folder: Path, program: str, ranks: int) -> Trace:
    """Return the recording of a program on some ranks; make it if there is none."""
    target = folder / f"{program}-{ranks}.clue"
    if not target.exists():
        tell(f"recording {ranks} ranks")
        clue_command("record", "-n", str(ranks), "--repeats", "1", "-o", str(target), str(_file(program)))
    return Trace.open(target)


def measured(file: Path, program: str) -> dict[str, Any]:
    """Return what a program prints on the testbed of a machine."""
    hosts = hosts_at(file)
    placed = [host for host in hosts for _ in range(host.processors)]
    with launch.standing("collectives", hosts) as name:
        tell(f"running {program}.py on {file.stem}")
        return said_by(launch.run(name, placed, [sys.executable, str(_file(program))], rehearsed=False))


def simulated(cases: Sequence[Case], repeats: int, trace: Trace, machine: Machine) -> list[list[float]]:
    """Return the seconds of a call in a replay of the recorded program, by case and repetition.

    Args:
        cases: The program's cases.
        repeats: Repetitions of each.
        trace: The recorded program.
        machine: Where it is replayed.
    """
    calls = simulate(trace, machine, calls=True).calls
    assert calls is not None
    slowest = np.zeros((len(cases), repeats))
    for rank in range(trace.ranks):
        rows = np.flatnonzero((trace.row_ranks == rank) & ~np.isin(trace.ops.op, (Op.COMPUTE, Op.SLEEP)))
        barriers = np.flatnonzero(trace.ops.op[rows] == Op.BARRIER)
        barrier = 0
        for case, of in enumerate(cases):
            for repeat in range(repeats):
                first = barriers[barrier]
                # Barriers themselves are counted; other calls end with the row before the next barrier, or with a
                # receive.
                barrier += 1 + of.rounds * (of.call == "barrier")
                of_case = rows[first : barriers[barrier]]
                if of.call.startswith(RECEIVED):
                    of_case = of_case[np.isin(trace.ops.op[of_case], (Op.BARRIER, Op.RECV))]
                took = calls.end[of_case[-1]] - calls.end[of_case[0]]
                slowest[case, repeat] = max(slowest[case, repeat], took / of.rounds)
    found: list[list[float]] = slowest.tolist()
    return found


def lines(
    name: str,
    cases: Sequence[Case],
    real: Sequence[Sequence[Sequence[float]]],
    virtual: Sequence[Sequence[float]],
) -> Iterator[str]:
    """Yield the section of a machine: a summary by size, and a table of all cases.

    Args:
        name: Name of the machine.
        cases: The program's cases.
        real: Measured seconds of a call by run, case and repetition, the first of which is a warm-up.
        virtual: Simulated seconds by case and repetition.
    """
    rows, behind, errors = list[tuple[str, ...]](), list[tuple[str, ...]](), dict[int, list[float]]()
    for case, of in enumerate(cases):
        runs = [median(run[case][1:]) for run in real]
        times, replayed = median(runs), median(virtual[case][1:])
        error = replayed / times - 1
        spread = f"{min(runs) * 1e6:,.0f} to {max(runs) * 1e6:,.0f}"
        row = of.call, f"{of.size:,}", f"{times * 1e6:,.0f}", spread, f"{replayed * 1e6:,.0f}", f"{error:+.0%}"
        if of.call.startswith(BEHIND):
            behind.append(row)
        else:
            rows.append(row)
            errors.setdefault(of.size, []).append(error)
    yield from (f"## {name}", "")
    summary = [
        (
            f"{size:,}",
            f"{sum(abs(each) <= GOAL for each in of)} of {len(of)}",
            f"{mean(map(abs, of)):.1%}",
            f"{mean(of):+.1%}",
        )
        for size, of in errors.items()
    ]
    yield from markdown_table(("size (B)", "within 10 %", "mean absolute error", "mean error"), summary)
    columns = "size (B)", "measured (us)", "runs (us)", "simulated (us)", "error"
    yield ""
    yield from markdown_table(("call", *columns), rows)
    if behind:
        yield from ("", "### Short messages behind long ones", "")
        yield from markdown_table(("short message", *columns), behind)


if __name__ == "__main__":
    sys.exit(main())
