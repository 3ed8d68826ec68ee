"""What measuring programs print: JSON lines, which :mod:`clue.calibration.launching` reads."""

from __future__ import annotations

import json

from clue.calibration.measurement import Estimate


def put(line: object) -> None:
    """Print one JSON line."""
    print(json.dumps(line), flush=True)  # noqa: T201 - the calling process reads this output


def alone(ranks: int) -> str:
    """Return advice if a process is its world's only rank, though several were started; else ``""``."""
    if ranks > 1:
        return ""
    return (
        ", alone: use the launcher of the MPI that mpi4py uses, and with srun its protocol: srun --mpi=pmi2 for MPICH "
        "and Intel MPI, --mpi=pmix for Open MPI"
    )


def plain(estimate: Estimate) -> list[float]:
    """Return an estimate as values for JSON."""
    return [estimate.value, estimate.low, estimate.high, estimate.repetitions]
