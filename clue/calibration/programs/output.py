"""What measuring programs print: JSON lines, which :mod:`clue.calibration.launching` reads."""

from __future__ import annotations

import json

from clue.calibration.measurement import Estimate


def put(line: object) -> None:
    """Print one JSON line."""
    print(json.dumps(line), flush=True)  # noqa: T201 - the calling process reads this output


def plain(estimate: Estimate) -> list[float]:
    """Return an estimate as values for JSON."""
    return [estimate.value, estimate.low, estimate.high, estimate.repetitions]
