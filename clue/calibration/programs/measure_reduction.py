"""Time how fast MPI combines data: ``python -m clue.calibration.programs.measure_reduction SETTINGS``.

A rank adds vectors of doubles by MPI's own function (``MPI_Reduce_local``), as libraries do between the messages of a
reduction. Prints JSON lines (see :mod:`clue.calibration.launching`).
"""

from __future__ import annotations

import json
import sys
import time
from array import array

from mpi4py import MPI

from clue.calibration.measurement import Estimate, median_of
from clue.calibration.programs.output import plain, put

#: Sizes of vectors, bytes: one shows the time of the call itself, the other fills much of a core's private cache.
_SHORT, _LONG = 8, 1 << 18
#: Number of samples, and least CPU time of one, seconds: longer than short disturbances.
_SAMPLES, _TURN = 9, 0.01


def combining(confidence: float) -> Estimate:
    """Return the time per byte in which this rank combines two vectors, seconds per byte.

    It is CPU time: no message is waited for, and on a busy computer other processes must not count.
    """
    samples = [max(0.0, _seconds(_LONG) - _seconds(_SHORT)) / (_LONG - _SHORT) for _ in range(_SAMPLES)]
    return median_of(samples, confidence)


def _seconds(size: int) -> float:
    """Return the mean CPU time of a call, seconds."""
    one, other = array("d", bytes(size)), array("d", bytes(size))
    calls, begin, passed = 0, time.thread_time(), 0.0
    while passed < _TURN:
        MPI.SUM.Reduce_local(one, other)
        calls += 1
        passed = time.thread_time() - begin
    return passed / calls


def main() -> None:
    """Measure and print."""
    put({"result": {"reduction": plain(combining(json.loads(sys.argv[1])["confidence"]))}})


if __name__ == "__main__":
    main()
