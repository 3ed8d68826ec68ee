"""Benchmarks of routines, each in a single-threaded process of its own."""

from __future__ import annotations

import contextlib
import json
import statistics
import subprocess
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from clue.calibration.launching import one_thread
from clue.children import end, module_command, running
from clue.errors import ForecastError, UsageError
from clue.forecasting.routines import MOST_SIZES, Routine, specification
from clue.models.terms import is_feature

#: Timeout for loading a routine's modules, s.
_LOADING = 60.0


@dataclass(frozen=True, slots=True)
class Point:
    """Measured time of a routine at some sizes.

    Attributes:
        sizes: Sizes in the order of the routine's parameters.
        seconds: Time in which it computes or waits for anything but a core, the median of the runs.
        runs: Number of runs.
    """

    sizes: tuple[int, ...]
    seconds: float
    runs: int = 1


@dataclass(frozen=True, slots=True, eq=False)
class Bench:
    """A routine loaded in a process, ready to be measured.

    Attributes:
        routine: The routine.
    """

    routine: Routine
    _process: subprocess.Popen[str]
    _limit: float

    def point(self, sizes: tuple[int, ...], seconds: float) -> Point:
        """Run the routine at some sizes for about a number of seconds, at least three times.

        Raises:
            ForecastError: If it fails, or goes on beyond the limit.
        """
        times = self._ask(sizes, {"seconds": seconds})["times"]
        return Point(sizes, statistics.median(own for own, _ in times), len(times))

    def elapsed(self, sizes: tuple[int, ...], seconds: float) -> tuple[float, float]:
        """Return the mean own and wall time of a run, over runs for about a number of seconds.

        Raises:
            ForecastError: If it fails, or goes on beyond the limit.
        """
        times = self._ask(sizes, {"seconds": seconds})["times"]
        return statistics.fmean(own for own, _ in times), statistics.fmean(wall for _, wall in times)

    def memory(self, sizes: tuple[int, ...]) -> int:
        """Return the bytes of the routine's data at some sizes.

        Raises:
            ForecastError: If it fails, or goes on beyond the limit.
        """
        return int(self._ask(sizes, {"memory": True})["memory"])

    def _ask(self, sizes: tuple[int, ...], what: Mapping[str, object]) -> dict[str, Any]:
        named = dict(zip(self.routine.parameters, sizes, strict=True))
        at = ", ".join(f"{name}={size}" for name, size in named.items())
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps({"sizes": named, **what}) + "\n")
            self._process.stdin.flush()
        return _line(self._process, f"{self.routine.name} at {at}", self._limit)


@contextlib.contextmanager
def bench(name: str, limit: float = 600.0) -> Iterator[Bench]:
    """Start the process of a routine.

    Args:
        name: A shipped routine, or ``MODULE:FUNCTION``; modules are searched in the current folder, too.
        limit: Timeout of an answer, seconds.

    Raises:
        UsageError: If there is no routine of that name, or terms cannot name one of its sizes.
        ForecastError: If the routine cannot be loaded.
    """
    words = [*module_command("clue.forecasting.worker"), specification(name)]
    with running(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace",
        env=one_thread(),
    ) as process:  # fmt: skip
        told = _line(process, name, _LOADING)
        if wrong := [each for each in told["parameters"] if not is_feature(each)]:
            raise UsageError(f"{name}: sizes must have names other than log, which terms contain, got {wrong[0]}")
        if (sizes := len(told["parameters"])) > MOST_SIZES:
            raise UsageError(f"{name}: sizes must be at most {MOST_SIZES}, got {sizes}")
        yield Bench(Routine(name, tuple(told["parameters"]), told["library"]), process, limit)


def _line(process: subprocess.Popen[str], what: str, limit: float) -> dict[str, Any]:
    """Return an answer; a timeout ends the process."""
    late = threading.Event()

    def stop() -> None:
        late.set()
        process.kill()

    timer = threading.Timer(limit, stop)
    timer.start()
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
    finally:
        timer.cancel()  # after Ctrl-C, too: this process would wait for the timer until the limit
    if not line:
        end(process)
        got = f"none within {limit:g} s" if late.is_set() else f"exit status {process.returncode}"
        raise ForecastError(f"{what}: routine must finish, got {got}")
    answer: dict[str, Any] = json.loads(line)
    if "refused" in answer:
        raise ForecastError(f"{what}: {answer['refused']}")
    if "error" in answer:
        advice = ': pip install "clue[forecast]"' if "No module named 'scipy" in answer["error"] else ""
        raise ForecastError(f"{what}: routine must finish, got {answer['error']}{advice}")
    return answer
