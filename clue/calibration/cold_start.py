"""What bursts take longer here after waits: a curve over the wait, the same for all programs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from statistics import median
from typing import NamedTuple

from clue.calibration.kernels import four_digits
from clue.calibration.launching import launcher, run_program
from clue.errors import UsageError
from clue.machine import ColdStart

#: The share of a burst is told by waits up to this one, or the shortest; after longer ones a short burst takes several
#: times as long.
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


def measure_cold_start(
    seconds: float = 1.5, *, mpiexec: Sequence[str] = (), hosts: Sequence[str] = (), ranks: int = 2
) -> ColdStart:
    """Measure what waits cost the bursts after them.

    Args:
        seconds: How long it is measured.
        mpiexec: The words that start MPI programs: waits are those for messages between ranks. Without it a process
            sleeps here, with nothing else running.
        hosts: Names of the computers that the ranks run on, one after the other; none: where the launcher puts them.
        ranks: How many, which work in pairs.

    Raises:
        UsageError: If the launcher cannot be run, or ranks do not make pairs.
        ClueError: If the measurement fails.
    """
    if ranks < 2 or ranks % 2:
        raise UsageError(f"ranks must make pairs, got {ranks}")
    settings = {"time": seconds, "messages": bool(mpiexec)}
    command = launcher(mpiexec, ranks, hosts) if mpiexec else []
    result = run_program(command, "measure_cold", settings, seconds)
    return cold_start_of([BurstTime(**row) for row in result["rows"]])


def cold_start_of(times: Sequence[BurstTime]) -> ColdStart:
    """Return what waits cost: of each wait the median of what programs' bursts take longer.

    A longer wait costs no less. The limit is the median of the shares that short bursts take longer after short waits.
    """
    programs = dict.fromkeys(each.program for each in times)
    warm = {(each.program, each.short): each.cpu for each in times if not each.wait}
    after = [each for each in times if each.wait]
    extra = {each: max(0.0, each.cpu - warm[each.program, each.short]) for each in after}
    rows = sorted(zip(*([each for each in after if each.program == name and not each.short] for name in programs),
                      strict=True), key=lambda row: median(each.wait for each in row))  # fmt: skip
    waits = [median(each.wait for each in row) for row in rows]
    longer = accumulate((median(extra[each] for each in row) for row in rows), max)
    points = [(four_digits(wait), four_digits(seconds)) for wait, seconds in zip(waits, longer, strict=True)]
    first = (min(each.wait for each in after if each.short and each.program == name) for name in programs)
    most = max(_SHORT_WAIT, *first)
    shares = [extra[each] / warm[each.program, True] for each in after if each.short and each.wait <= most]
    return ColdStart.through(points, max(_LEAST_SHARE, four_digits(median(shares))))
