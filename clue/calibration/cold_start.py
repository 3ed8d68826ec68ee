"""Extra time of bursts after waits on this computer: a curve over the wait, the same for all programs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from statistics import median
from typing import NamedTuple

from clue.calibration.kernels import four_digits
from clue.calibration.launching import launcher, run_program
from clue.errors import UsageError
from clue.machine import ColdStart

#: Longest wait, seconds, from which the limit is derived; the shortest wait always counts. The limit is a share of a
#: burst, and after longer waits a short burst takes several times its warm time.
_SHORT_WAIT = 2e-3
_LEAST_SHARE = 0.01


class BurstTime(NamedTuple):
    """Time of a burst after a wait.

    Attributes:
        program: Name of the program.
        short: Whether it is the short burst of the program.
        wait: Length of the wait, seconds; 0: the burst directly follows itself.
        cpu: CPU time of the burst, seconds.
    """

    program: str
    short: bool
    wait: float
    cpu: float


def measure_cold_start(
    seconds: float = 1.5, *, mpiexec: Sequence[str] = (), hosts: Sequence[str] = (), ranks: int = 2
) -> ColdStart:
    """Measure the extra time of bursts after waits.

    Args:
        seconds: Duration of the measurement.
        mpiexec: Command line of the launcher of MPI programs: ranks then wait for each other's messages. Without it,
            a single process sleeps on this computer, with nothing else running.
        hosts: Names of the computers for the ranks, in turn; none: the launcher decides.
        ranks: Number of ranks, which work in pairs.

    Raises:
        UsageError: If the launcher cannot be run, or the number of ranks is not even.
        ClueError: If the measurement fails.
    """
    if ranks < 2 or ranks % 2:
        raise UsageError(f"ranks must make pairs, got {ranks}")
    settings = {"time": seconds, "messages": bool(mpiexec)}
    command = launcher(mpiexec, ranks, hosts) if mpiexec else []
    result = run_program(command, "measure_cold", settings, seconds)
    return cold_start_of([BurstTime(**row) for row in result["rows"]])


def cold_start_of(times: Sequence[BurstTime]) -> ColdStart:
    """Return the cold start: for each wait, the median extra time over programs.

    The extra time never falls as the wait grows. The limit is taken from the program whose short bursts grow most: it
    is the median extra time of these bursts after short waits, as a share of their warm time.
    """
    programs = dict.fromkeys(each.program for each in times)
    warm = {(each.program, each.short): each.cpu for each in times if not each.wait}
    after = [each for each in times if each.wait]
    extra = {each: max(0.0, each.cpu - warm[each.program, each.short]) for each in after}
    rows = sorted(zip(*([each for each in after if each.program == name and not each.short] for name in programs),
                      strict=True), key=lambda row: median(each.wait for each in row))  # fmt: skip
    waits = [median(each.wait for each in row) for row in rows]
    longer = accumulate((median(extra[each] for each in row) for row in rows), max)
    # Waits of different intended lengths may have lasted equally long: the larger extra time counts.
    points = {four_digits(wait): four_digits(seconds) for wait, seconds in zip(waits, longer, strict=True)}
    short = {name: [each for each in after if each.short and each.program == name] for name in programs}
    most = max(_SHORT_WAIT, *(min(each.wait for each in mine) for mine in short.values()))
    shares = (
        median(extra[each] / warm[name, True] for each in mine if each.wait <= most) for name, mine in short.items()
    )
    return ColdStart.through([*points.items()], max(_LEAST_SHARE, four_digits(max(shares))))
