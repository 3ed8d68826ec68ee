"""Speeds of kernels on this computer: each runs on one processor, alone and alongside copies on other processors.

The file of a node type contains the speeds measured there, so that another computer can be compared with it.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from typing import Any

from clue.calibration.launching import one_thread
from clue.calibration.measurement import Estimate, median_of
from clue.children import end, module_command, running
from clue.errors import ClueError, UsageError
from clue.progress import Reporter, silent
from clue.trace.computer import processor_name

#: Built-in kernels, with the unit of their speed.
KERNELS = {"core": "products/s", "dgemm": "flop/s", "cache": "B/s", "triad": "B/s", "chase": "steps/s"}
_PROGRAM = "clue.calibration.programs.measure_kernels"
#: How long copies continue after their measurement, and how long one may take to prepare, seconds.
_LONGER, _READY = 0.3, 120.0
#: Number of runs of every kernel with each number of copies.
_TURNS = 2


@dataclass(frozen=True, slots=True)
class Speeds:
    """The speeds of kernels on a computer.

    Attributes:
        processor: Model name of its processor.
        host: Its name.
        kernels: Units of work per CPU second of one copy, by kernel and number of simultaneous copies.
    """

    processor: str
    host: str
    kernels: Mapping[str, Mapping[int, Estimate]]

    def alone(self, kernel: str) -> float:
        """Return the speed of a kernel alone on the computer."""
        return self.kernels[kernel][1].value


def measure_kernels(
    kernels: Sequence[str] = tuple(KERNELS),
    copies: Sequence[int] = (1,),
    *,
    seconds: float = 2.0,
    confidence: float = 0.95,
    report: Reporter = silent,
) -> Speeds:
    """Run simultaneous copies of kernels here, and return the speed of a copy.

    Args:
        kernels: Names from :data:`KERNELS`.
        copies: Numbers of busy processors; the first is 1.
        seconds: Duration of each run.
        confidence: Confidence of the intervals of medians.
        report: Called with the progress.

    Raises:
        ClueError: If a kernel cannot be run.
    """
    rates: dict[tuple[str, int], list[float]] = {}
    # In turns, so that a disturbance does not affect a single number of copies.
    cases = [(kernel, n) for _ in range(_TURNS) for kernel in kernels for n in copies]
    for i, (kernel, n) in enumerate(cases):
        report(f"{kernel} on {n} processors", i, len(cases))
        rates.setdefault((kernel, n), []).extend(_run_kernel(kernel, n, seconds / _TURNS))
    found = {kernel: {n: median_of(rates[kernel, n], confidence) for n in copies} for kernel in kernels}
    return Speeds(processor_name(), platform.node(), found)


def _run_kernel(kernel: str, copies: int, seconds: float) -> list[float]:
    """Run copies of a kernel at once, each on a separate processor; return the rates of all."""
    processors = _own_processors()
    with ExitStack() as stack:
        processes = []
        for k in range(copies):
            processor = processors[k % len(processors)] if processors else None
            settings = {"kernel": kernel, "time": seconds, "processor": processor, "longer": _LONGER * (copies > 1)}
            processes.append(stack.enter_context(_started(settings)))
        for process in processes:
            _line(process, "progress")
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        rates = [rate for process in processes for rate in _line(process, "result")["rates"]]
        for process in processes:
            process.wait(_READY)
    return rates


def _own_processors() -> list[int]:
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


def _started(settings: object) -> AbstractContextManager[subprocess.Popen[str]]:
    return running(
        [*module_command(_PROGRAM), json.dumps(settings)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
        env=one_thread(),
    )  # fmt: skip


def _line(process: subprocess.Popen[str], key: str) -> dict[str, Any]:
    assert process.stdout is not None
    line = process.stdout.readline()
    with contextlib.suppress(ValueError):
        found = json.loads(line)
        if key in found:
            value = found[key]
            return value if isinstance(value, dict) else {key: value}
    end(process)
    assert process.stderr is not None
    last = (process.stderr.read().strip().splitlines() or [f"exit status {process.returncode}"])[-1]
    raise ClueError(f"kernel must run and print its rates, got {line.strip() or last}")


def busy_numbers(processors: int) -> list[int]:
    """Return the numbers of busy processors to try: 1, 2, 4, … and all."""
    return sorted({min(processors, 1 << k) for k in range(processors.bit_length() + 1)} - {0})


# --- speeds in files ---


def stated_speeds(name: str, stated: Mapping[str, float]) -> Speeds:
    """Return the speeds of a computer that is not available here, as published or measured by others.

    Args:
        name: Name of the computer.
        stated: Speed of each kernel, in its unit.
    """
    return Speeds(name, name, {kernel: {1: Estimate.alone(speed)} for kernel, speed in stated.items()})


#: Start of the line in a node type's file with its speeds, for comparison on another computer.
SPEEDS_MARK = "speeds: "


def speeds_document(speeds: Speeds) -> dict[str, Any]:
    """Return speeds as values for JSON."""
    kernels = {
        kernel: {str(copies): four_digits(estimate.value) for copies, estimate in by_copies.items()}
        for kernel, by_copies in speeds.kernels.items()
    }
    return {"processor": speeds.processor, "host": speeds.host, "kernels": kernels}


def four_digits(value: float) -> float:
    """Return a number to four digits."""
    return float(f"{value:.4g}")


def speeds_in(text: str, name: str) -> Speeds:
    """Return the speeds in the file of a node type.

    Raises:
        UsageError: If it has none.
    """
    for line in text.splitlines():
        body = line.lstrip("# ")
        if body.startswith(SPEEDS_MARK):
            with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError):
                found = json.loads(body[len(SPEEDS_MARK) :])
                kernels = {
                    str(kernel): {int(n): Estimate.alone(float(speed)) for n, speed in by_copies.items()}
                    for kernel, by_copies in found["kernels"].items()
                }
                return Speeds(str(found["processor"]), str(found["host"]), kernels)
    raise UsageError(f"{name}: reference must be a node type written by clue calibrate processor, got no speeds in it")
