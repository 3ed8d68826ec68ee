"""What bursts take longer here after waits: a curve over the wait, the same for all programs."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from itertools import accumulate
from statistics import median
from typing import NamedTuple

from clue.calibration.kernels import four_digits, one_thread
from clue.children import running
from clue.errors import ClueError
from clue.machine import ColdStart

_PROGRAM = "clue.calibration.programs.measure_cold"
#: The share of a burst is told by waits up to this one; after longer ones a short burst takes several times as long.
_SHORT_WAIT = 2e-3
_LEAST_SHARE = 0.01


class BurstTime(NamedTuple):
    """What a burst took after a wait.

    Attributes:
        program: Which.
        short: Whether it is the short burst of the program.
        wait: Seconds; 0: right after itself.
        cpu: CPU seconds.
    """

    program: str
    short: bool
    wait: float
    cpu: float


def measure_cold_start(seconds: float = 1.5) -> ColdStart:
    """Measure what waits cost the bursts after them, blocked in the system with nothing else running.

    Args:
        seconds: How long it is measured.

    Raises:
        ClueError: If that cannot be run.
    """
    command = [sys.executable, "-m", _PROGRAM, json.dumps({"time": seconds})]
    with running(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", env=one_thread()
    ) as process:
        said, wrong = process.communicate()
    try:
        return cold_start_of([BurstTime(**row) for row in json.loads(said)["result"]])
    except (ValueError, KeyError, TypeError):
        last = (wrong.strip().splitlines() or [f"exit status {process.returncode}"])[-1]
        raise ClueError(f"bursts must run and print their times, got {said.strip() or last}") from None


def cold_start_of(times: Sequence[BurstTime]) -> ColdStart:
    """Return what waits cost: of each wait the median of what programs' bursts take longer.

    A longer wait costs no less. The limit is the median of the shares that short bursts take longer after short waits.
    """
    programs = dict.fromkeys(each.program for each in times)
    warm = {(each.program, each.short): each.cpu for each in times if not each.wait}
    after = [each for each in times if each.wait]
    extra = {each: max(0.0, each.cpu - warm[each.program, each.short]) for each in after}
    rows = list(zip(*([each for each in after if each.program == name and not each.short] for name in programs),
                    strict=True))  # fmt: skip
    waits = [median(each.wait for each in row) for row in rows]
    longer = accumulate((median(extra[each] for each in row) for row in rows), max)
    points = [(four_digits(wait), four_digits(seconds)) for wait, seconds in sorted(zip(waits, longer, strict=True))]
    shares = [extra[each] / warm[each.program, True] for each in after if each.short and each.wait <= _SHORT_WAIT]
    return ColdStart.through(points, max(_LEAST_SHARE, four_digits(median(shares))))
