"""``calibrate processor``: how fast the processors here are, by region of a program, and beside busy neighbours.

Two questions, each answered by what is at hand:

- *How much faster or slower than the computer that recorded?* A performance factor by region: CPU time of the
  program's own bursts recorded here over that in the trace; or, by kernel, the speed there over the speed here.
- *How much of its speed does a processor keep beside busy ones?* The paper's memory-contention factor (section 4.5):
  CPU time of one copy alone over that of one among n copies at once, of a kernel or of the program itself.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from clue.calibration.launching import Report, silent
from clue.calibration.machine_file import by_region, comment_lines, quoted
from clue.calibration.measurement import Estimate, median_of
from clue.errors import ClueError, UsageError
from clue.trace import Trace

#: Built-in kernels, with the unit of their speed.
KERNELS = {"dgemm": "flop/s", "triad": "B/s", "chase": "steps/s"}
#: A region with less CPU time is too short to tell anything of.
LEAST_TIME = 1e-3
#: What stands for any other region.
_DEFAULT = "default"
_PROGRAM = "clue.calibration.programs.kernels"
#: Copies go on for so long after they were measured, and one may take so long to get ready.
_LONGER, _READY = 0.3, 120.0
#: Every kernel is started so often with each number of copies.
_TURNS = 2


@dataclass(frozen=True, slots=True)
class Speeds:
    """How fast kernels run on a computer.

    Attributes:
        processor: Its model's name.
        host: Its name.
        kernels: Units of work per CPU second of one copy, by kernel and number of copies at once.
    """

    processor: str
    host: str
    kernels: Mapping[str, Mapping[int, Estimate]]

    def alone(self, kernel: str) -> float:
        """Return the speed of a kernel that has the computer for itself."""
        return self.kernels[kernel][1].value


@dataclass(frozen=True, slots=True)
class NodeCalibration:
    """A kind of node, as far as it was calibrated.

    Attributes:
        name: Of the node type.
        processors: Of this computer.
        factors: Performance factor by region (``default``: any other); empty if there was nothing to compare with.
        shares: Memory-contention factor by number of busy processors and region.
        compared_with: Processor that the factors are relative to.
        source: Where the figures come from.
        notes: What a reader should know.
        speeds: Of kernels, where they were run.
    """

    name: str
    processors: int
    factors: Mapping[str, Estimate]
    shares: Mapping[int, Mapping[str, float]]
    compared_with: str = ""
    source: str = ""
    notes: tuple[str, ...] = ()
    speeds: Speeds | None = field(default=None)

    def text(self) -> str:
        """Return the node type as YAML: the part ``node_types`` of a machine's file."""
        lines = [*comment_lines(_comments(self)), "node_types:", f"  {quoted(self.name)}:"]
        lines.append(f"    processors: {self.processors}")
        if self.factors:
            values = {region: factor.value for region, factor in self.factors.items()}
            lines.append(f"    performance_factor: {by_region(values)}")
        if self.shares:
            lines.append("    memory_contention_factor:")
            lines += [f"      {busy}: {by_region(shares)}" for busy, shares in sorted(self.shares.items())]
        lines.append(f"    source: {quoted(self.source)}")
        return "\n".join(lines) + "\n"


def _comments(node: NodeCalibration) -> Iterable[str]:
    yield f"A node type calibrated by clue: {node.source}."
    if node.compared_with:
        yield (
            f"Performance factors are relative to {node.compared_with}: give the machine "
            f"reference_processor: {quoted(node.compared_with)}"
        )
    if node.speeds is not None:
        # What another computer's calibration compares with (--reference).
        yield "Speeds of kernels here, by copies at once:\n" + SPEEDS_MARK + json.dumps(speeds_document(node.speeds))
    yield from node.notes


# --- speeds in files ---

#: Begins the line of a node type's file that holds its speeds, for comparison on another computer.
SPEEDS_MARK = "speeds: "


def speeds_document(speeds: Speeds) -> dict[str, Any]:
    """Return speeds as what JSON can hold."""
    kernels = {
        kernel: {str(copies): _four_digits(estimate.value) for copies, estimate in by_copies.items()}
        for kernel, by_copies in speeds.kernels.items()
    }
    return {"processor": speeds.processor, "host": speeds.host, "kernels": kernels}


def _four_digits(value: float) -> float:
    return float(f"{value:.4g}")


def speeds_in(text: str, name: str) -> Speeds:
    """Return the speeds that the file of a node type holds.

    Raises:
        UsageError: If it holds none.
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


# --- kernels ---


def measure_kernels(
    kernels: Sequence[str] = tuple(KERNELS),
    copies: Sequence[int] = (1,),
    *,
    seconds: float = 2.0,
    confidence: float = 0.95,
    report: Report = silent,
) -> Speeds:
    """Run kernels here, so many copies of each at once, and return how fast a copy is.

    Args:
        kernels: Names out of :data:`KERNELS`.
        copies: Numbers of processors busy at once, with 1 first.
        seconds: How long each is run.
        confidence: Of the intervals of medians.
        report: Told of the progress.

    Raises:
        ClueError: If a kernel cannot be run.
    """
    rates: dict[tuple[str, int], list[float]] = {}
    # In turns, so that a disturbance does not hit one number of copies alone.
    cases = [(kernel, n) for _ in range(_TURNS) for kernel in kernels for n in copies]
    for i, (kernel, n) in enumerate(cases):
        report(f"{kernel} on {n} processors", i, len(cases))
        rates.setdefault((kernel, n), []).extend(_run_kernel(kernel, n, seconds / _TURNS))
    found = {kernel: {n: median_of(rates[kernel, n], confidence) for n in copies} for kernel in kernels}
    return Speeds(processor_name(), platform.node(), found)


def _run_kernel(kernel: str, copies: int, seconds: float) -> list[float]:
    """Run copies of a kernel at once, each on a processor of its own; returns the rates of all."""
    processors = _own_processors()
    running: list[subprocess.Popen[str]] = []
    try:
        for k in range(copies):
            processor = processors[k % len(processors)] if processors else None
            settings = {"kernel": kernel, "time": seconds, "processor": processor, "longer": _LONGER * (copies > 1)}
            running.append(_start(settings))
        for process in running:
            _line(process, "progress")
        for process in running:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        rates = [rate for process in running for rate in _line(process, "result")["rates"]]
        for process in running:
            process.wait(_READY)
    finally:
        for process in running:
            _end(process)
    return rates


def _own_processors() -> list[int]:
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


def _start(settings: object) -> subprocess.Popen[str]:
    # One thread: a processor of the machine is one.
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return subprocess.Popen(
        [sys.executable, "-m", _PROGRAM, json.dumps(settings)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **threads},
    )  # fmt: skip


def _line(process: subprocess.Popen[str], key: str) -> dict[str, Any]:
    assert process.stdout is not None
    line = process.stdout.readline()
    with contextlib.suppress(ValueError):
        found = json.loads(line)
        if key in found:
            value = found[key]
            return value if isinstance(value, dict) else {key: value}
    _end(process)
    assert process.stderr is not None
    last = (process.stderr.read().strip().splitlines() or [f"exit status {process.returncode}"])[-1]
    raise ClueError(f"kernel must run and print its rates, got {line.strip() or last}")


def _end(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        process.kill()
        process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None and not stream.closed:
            stream.close()


def processor_name() -> str:
    """Return the model name of this computer's processor, as traces have it."""
    with contextlib.suppress(OSError), open("/proc/cpuinfo") as file:  # noqa: PTH123
        for line in file:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def busy_numbers(processors: int) -> list[int]:
    """Return the numbers of busy processors to try: 1, 2, 4, … and all."""
    return sorted({min(processors, 1 << k) for k in range(processors.bit_length() + 1)} - {0})


def shares_of(speeds: Speeds, regions: Mapping[str, str]) -> dict[int, dict[str, float]]:
    """Return the share of its speed that a processor keeps, by number of busy ones and region.

    Args:
        speeds: Of kernels, alone and beside others.
        regions: The kernel that each region is like.
    """
    numbers = sorted({n for by_copies in speeds.kernels.values() for n in by_copies if n > 1})
    return {
        n: {
            region: min(1.0, _four_digits(speeds.kernels[kernel][n].value / speeds.alone(kernel)))
            for region, kernel in regions.items()
            if n in speeds.kernels[kernel]
        }
        for n in numbers
    }


def regions_like(kernels: Sequence[str], stated: Mapping[str, str]) -> dict[str, str]:
    """Return the kernel that each region is like: as stated, or each kernel as a region of its name.

    Raises:
        UsageError: If there is no such kernel.
    """
    for region, kernel in stated.items():
        if kernel not in kernels:
            raise UsageError(f"region {region} must be like one of {', '.join(kernels)}, got {kernel}")
    return dict(stated) or {kernel: kernel for kernel in kernels}


def factors_by_kernel(here: Speeds, there: Speeds, regions: Mapping[str, str]) -> dict[str, Estimate]:
    """Return performance factors by region: the speed there of the kernel that a region is like over that here.

    Raises:
        UsageError: If a kernel was not run on both.
    """
    factors = {}
    for region, kernel in regions.items():
        if kernel not in here.kernels or kernel not in there.kernels:
            raise UsageError(f"kernel {kernel} must have been run on both computers, got it on one only")
        reference, own = there.alone(kernel), here.kernels[kernel][1]
        factors[region] = Estimate(reference / own.value, reference / own.high, reference / own.low, own.repetitions)
    return factors


# --- the user's own program ---


@dataclass(frozen=True, slots=True)
class Run:
    """What counts of one recording of a program.

    Attributes:
        ranks: How many.
        cpu: CPU seconds of all ranks by region, ``""`` being outside any.
    """

    ranks: int
    cpu: Mapping[str, float]

    @classmethod
    def of(cls, trace: Trace) -> Run:
        """Return what counts of a trace."""
        regions = trace.head.regions
        totals = np.bincount(trace.ops.region, weights=trace.ops.cpu * 1e-9, minlength=len(regions))
        return cls(trace.ranks, dict(zip(regions, totals.tolist(), strict=True)))

    @property
    def total(self) -> float:
        """CPU seconds of all regions."""
        return sum(self.cpu.values())


def factors_by_region(there: Run, here: Sequence[Run], confidence: float = 0.95) -> dict[str, Estimate]:
    """Return performance factors by region: CPU time of bursts here, the median of some recordings, over that there.

    ``default`` is the whole program; regions of less than :data:`LEAST_TIME` are left to it.

    Raises:
        UsageError: If a recording is of another number of ranks or lacks a region, or the trace has no computation.
    """
    if not there.total:
        raise UsageError("trace must have computation to compare, got none")
    for run in here:
        if run.ranks != there.ranks:
            raise UsageError(f"recording must be of {there.ranks} ranks as the trace, got {run.ranks}")
        missing = [region for region in there.cpu if region not in run.cpu]
        if missing:
            raise UsageError(f"recording must have the regions of the trace, got none named {missing[0]}")
    factors = {_DEFAULT: median_of([run.total / there.total for run in here], confidence)}
    for region in _long_enough(there):
        factors[region] = median_of([run.cpu[region] / there.cpu[region] for run in here], confidence)
    return factors


def shares_by_region(alone: Sequence[Run], beside: Sequence[Run]) -> dict[str, float]:
    """Return the share of its speed that a program keeps beside copies of it, by region.

    Args:
        alone: Runs of one copy.
        beside: Runs of copies at once.
    """
    one, many = _median_run(alone), _median_run(beside)
    shares = {_DEFAULT: _share(one.total, many.total)}
    for region in _long_enough(one):
        shares[region] = _share(one.cpu[region], many.cpu.get(region, 0.0))
    return shares


def _share(alone: float, beside: float) -> float:
    return min(1.0, _four_digits(alone / beside)) if beside and alone else 1.0


def _long_enough(run: Run) -> list[str]:
    return [region for region, seconds in run.cpu.items() if region and seconds >= LEAST_TIME]


def _median_run(runs: Sequence[Run]) -> Run:
    regions = dict.fromkeys(region for run in runs for region in run.cpu)
    return Run(
        runs[0].ranks, {region: median_of([run.cpu.get(region, 0.0) for run in runs]).value for region in regions}
    )


# --- node types ---


def node_by_program(
    name: str, processors: int, there: Trace, recordings: Mapping[int, Sequence[Run]], confidence: float = 0.95
) -> NodeCalibration:
    """Return a node type from recordings of a program here.

    Args:
        name: Of the node type.
        processors: Of this computer.
        there: The trace to compare with.
        recordings: By number of copies at once, with 1.
        confidence: Of the intervals of medians.

    Raises:
        UsageError: As :func:`factors_by_region`.
    """
    alone = recordings[1]
    factors = factors_by_region(Run.of(there), alone, confidence)
    shares = {n: shares_by_region(alone, runs) for n, runs in recordings.items() if n > 1}
    notes = []
    if there.ranks > 1:
        notes.append(
            f"factors hold beside {there.ranks} busy ranks, as both recordings had; what busy neighbours take away "
            "can be told of programs of one rank, or of kernels"
        )
    if there.head.processor == processor_name():
        notes.append("the trace was recorded on a processor of the same model: factors should be near 1")
    return NodeCalibration(
        name,
        processors,
        factors,
        shares,
        compared_with=there.head.processor,
        source=f"bursts of {there.name} recorded {len(alone)} times on {platform.node()} ({processor_name()}), "
        f"{datetime.date.today().isoformat()}",
        notes=tuple(notes),
    )


def node_by_kernels(
    name: str, processors: int, here: Speeds, there: Speeds | None, regions: Mapping[str, str]
) -> NodeCalibration:
    """Return a node type from kernels run here and, if there is something to compare with, elsewhere.

    Args:
        name: Of the node type.
        processors: Of this computer.
        here: Speeds of kernels, alone and beside others.
        there: Speeds on the computer to compare with.
        regions: The kernel that each region is like.

    Raises:
        UsageError: If a kernel was not run on both.
    """
    factors = factors_by_kernel(here, there, regions) if there is not None else {}
    if factors and _DEFAULT not in factors:
        mean = float(np.exp(np.mean(np.log([factor.value for factor in factors.values()]))))
        factors = {_DEFAULT: Estimate.alone(mean), **factors}
    notes = []
    if there is None:
        notes.append("no performance factor: name what this command wrote on the other computer by --reference")
    if all(region == kernel for region, kernel in regions.items()):
        notes.append(
            "regions have the names of kernels: say by --region which of them a region of your program is like"
        )
    return NodeCalibration(
        name,
        processors,
        factors,
        shares_of(here, regions),
        compared_with=there.processor if there is not None else "",
        source=f"kernels run on {here.host} ({here.processor}), {datetime.date.today().isoformat()}",
        notes=tuple(notes),
        speeds=here,
    )
