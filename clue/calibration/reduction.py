"""The time in which this computer's MPI library combines data."""

from __future__ import annotations

from clue.calibration.launching import run_program
from clue.calibration.measurement import Estimate

#: Expected duration of the measurement, seconds.
_SECONDS = 1.0


def measure_reduction(confidence: float = 0.95) -> Estimate:
    """Measure the time per byte in which a rank combines two vectors, seconds per byte.

    Args:
        confidence: Confidence of the interval of the median.

    Raises:
        ClueError: If the measurement fails.
    """
    return Estimate(*run_program([], "measure_reduction", {"confidence": confidence}, _SECONDS)["reduction"])
