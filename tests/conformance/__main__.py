"""Run mpi4py's whole suite with and without the layer, and compare: ``python -m tests.conformance --ranks 1 2 3``."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from clue.errors import TraceError
from clue.trace import Trace
from tests.conformance import suite


def main() -> int:
    """Compare, and print a line per number of ranks; return 1 if the layer adds a failure."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--include", default="", help="regular expression of modules")
    parser.add_argument("--logs", type=Path, help="folder for the output of the runs")
    asked = parser.parse_args()
    return max(compare(ranks, asked.include, asked.logs) for ranks in asked.ranks)


def compare(ranks: int, include: str, logs: Path | None) -> int:
    """Run the suite both ways, and print the differences; return 1 if the layer adds a failure or loses a test."""
    plain = suite.run(ranks, include=include)
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "suite.clue"
        layer = suite.run(ranks, target=target, include=include)
        trace = _trace(target)
    for name, outcome in (("plain", plain), ("layer", layer)):
        _say(
            f"{ranks} ranks, {name}: {outcome.tests} tests, {outcome.skipped} skipped, "
            f"{len(outcome.faults)} failed, {outcome.seconds:.0f} s, {'ended' if outcome.ended else 'DID NOT END'}"
        )
        if logs is not None:
            logs.mkdir(parents=True, exist_ok=True)
            (logs / f"{name}-{ranks}.txt").write_text(outcome.output)
    added = sorted(layer.faults - plain.faults)
    for fault in added:
        _say(f"{ranks} ranks: only under the layer: {fault}")
    _say(f"{ranks} ranks: {trace}")
    return int(bool(added) or not layer.ended or layer.tests != plain.tests)


def _trace(target: Path) -> str:
    try:
        trace = Trace.open(target)
    except TraceError as error:
        return f"no trace: {error}"
    return f"{len(trace.ops)} ops of {len(trace.head.calls)} different calls recorded on {trace.ranks} ranks"


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
