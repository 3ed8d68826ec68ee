"""clue beside its peers, in one run: ``python -m benchmarks.speed [--loggopsim PATH] [-o benchmarks/speed/README.md]``.

Measures the peers that are installed: SimGrid by its ``smpirun``, LogGOPSim at the path where the user has built it
(source: https://github.com/spcl/LogGOPSim; build it with -O3, its default build is nine times slower). Writes Markdown.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from benchmarks.page import Goal, write_page
from benchmarks.progress import tell
from benchmarks.speed.cases import MESSAGES, QUICK_MESSAGES, engine_cases, flow_cases, single_cases
from benchmarks.speed.contest import Contest
from benchmarks.speed.goals import contest_goals, first_use_goal, large_goal, sweep_goal
from benchmarks.speed.page import Provenance, report
from benchmarks.speed.peers import installed

_WORKLOADS = ("W1", "W2", "W3", "W4")


def main() -> None:
    """Measure, and write the report."""
    asked = _arguments()
    peers = [peer for peer in installed(asked.loggopsim) if asked.peers is None or peer.name in asked.peers]
    with tempfile.TemporaryDirectory() as scratch:
        folder = (asked.inputs or Path(scratch)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        contest = Contest(asked.engine, peers, repeats=asked.repeats, patience=asked.patience, folder=folder, tell=tell)
        cases = [list(which(asked.workloads, quick=asked.quick)) for which in (single_cases, flow_cases)]
        measured = list(contest.measure(chain.from_iterable(cases)))
        engines = list(contest.measure(engine_cases(asked.workloads, quick=asked.quick)))
        goals = [*contest_goals(measured), *_more_goals(asked, folder)]
    about = Provenance(peers, _command(asked), asked.repeats)
    text = report(about, goals, measured, engines)
    write_page(text, asked.output)


def _command(asked: argparse.Namespace) -> str:
    """Return the command that was typed, without the paths of this computer."""
    paths = {str(path) for path in (asked.loggopsim, asked.inputs, asked.output) if path is not None}
    return " ".join(["python -m benchmarks.speed", *("PATH" if word in paths else word for word in sys.argv[1:])])


def _more_goals(asked: argparse.Namespace, folder: Path) -> Iterator[Goal]:
    """Measure the goals that involve no peer."""
    if "W1" in asked.workloads and asked.engine == "fast":
        tell("sweep")
        yield sweep_goal(folder, QUICK_MESSAGES if asked.quick else MESSAGES)
        tell("the largest workload")
        yield large_goal(folder, 3_000_000 if asked.quick else 50_000_000, asked.engine)
    tell("first use")
    yield first_use_goal()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    parser.add_argument(
        "--workloads", type=_workloads, default=frozenset(_WORKLOADS), help="some of W1,W2,W3,W4 (default: all)"
    )
    parser.add_argument("--peers", type=lambda text: text.split(","), help="some of LogGOPSim,SimGrid (default: all)")
    parser.add_argument("--loggopsim", type=Path, metavar="PATH", help="LogGOPSim's program")
    parser.add_argument("--engine", choices=("fast", "reference"), default="fast", help="clue's engine")
    parser.add_argument("--repeats", type=int, default=3, help="replays of each contestant (default: 3)")
    parser.add_argument(
        "--patience", type=float, default=60.0, help="seconds after which a case is not repeated (default: 60)"
    )
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that everything runs")
    parser.add_argument("--inputs", type=Path, metavar="FOLDER", help="keep what simulators read, for another run")
    parser.add_argument("-o", "--output", type=Path, help="the Markdown file (default: standard output)")
    asked = parser.parse_args()
    if asked.loggopsim is not None and not (asked.loggopsim.is_file() and os.access(asked.loggopsim, os.X_OK)):
        parser.error(f"loggopsim must be an executable file, got {asked.loggopsim}")
    return asked


def _workloads(text: str) -> frozenset[str]:
    chosen = frozenset(text.split(","))
    if not chosen <= set(_WORKLOADS):
        raise argparse.ArgumentTypeError(f"must be some of {','.join(_WORKLOADS)}, got {text}")
    return chosen


if __name__ == "__main__":
    main()
