"""The results: seconds by line, machine and size; and their file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Time:
    """The time of a line.

    Attributes:
        kind: ``"live"``, or ``"replay"`` of a trace of equal nodes.
        machine: Name of the machine's file.
        line: Name of the line.
        n: Order of the matrices.
        rows: Rows of a unit of work.
        seconds: Its makespan.
    """

    kind: str
    machine: str
    line: str
    n: int
    rows: int
    seconds: float


def write(times: Sequence[Time], path: Path) -> None:
    """Write times as JSON, one per line."""
    path.write_text("[\n" + ",\n".join(f" {json.dumps(asdict(each))}" for each in times) + "\n]\n")


def read(path: Path) -> list[Time]:
    """Read times from a file."""
    return [Time(**each) for each in json.loads(path.read_text())]
