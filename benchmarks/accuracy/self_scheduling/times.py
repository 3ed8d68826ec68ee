"""What was found: seconds by line, machine and size; and keeping it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Time:
    """Seconds that a line took.

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
    """Keep times as JSON, one to a line."""
    path.write_text("[\n" + ",\n".join(f" {json.dumps(asdict(each))}" for each in times) + "\n]\n")


def read(path: Path) -> list[Time]:
    """Read times that were kept."""
    return [Time(**each) for each in json.loads(path.read_text())]
