"""``calibrate processor``: the speed of the processors here, by region of a program, alone and among busy ones.

It answers these questions, as far as there are data:

- *How much faster or slower than the recording computer?* A performance factor by region: the CPU time of the
  program's bursts recorded here over their CPU time in the trace; or, by kernel, the speed there over the speed here.
- *How much of its speed does a processor keep among busy ones?* The paper's memory-contention factor (section 4.5):
  CPU time of one copy alone over CPU time of one among n simultaneous copies, of a kernel or of the program itself.
- *How long is the scheduler's time slice?* (:mod:`clue.calibration.time_slice`)
- *How much longer do bursts take after waits?* (:mod:`clue.calibration.cold_start`)
- *How long does its MPI library combine data?* (:mod:`clue.calibration.reduction`)
"""

from __future__ import annotations

import datetime
import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath

import numpy as np
import numpy.typing as npt

from clue.calibration.kernels import SPEEDS_MARK, Speeds, four_digits, speeds_document
from clue.calibration.machine_file import by_region, cold_start_text, comment_lines, per_byte_text, quoted, time_text
from clue.calibration.measurement import Estimate, median_of
from clue.errors import UsageError
from clue.machine import ColdStart, Sockets
from clue.trace import Op, Trace
from clue.trace.computer import processor_name
from clue.units import count_of, format_number

#: Smallest CPU time of a region that is calibrated, seconds: shorter ones are too noisy.
LEAST_TIME = 1e-3
#: Key that stands for any other region.
_DEFAULT = "default"
#: Maximum number of calls that are named in a note.
_MOST_CALLS = 3


@dataclass(frozen=True, slots=True)
class NodeCalibration:
    """A calibrated kind of node.

    Attributes:
        name: Name of the node type.
        processors: Processors of this computer.
        factors: Performance factor by region (``default``: any other); empty without a computer to compare with.
        shares: Memory-contention factor by number of busy processors and region.
        compared_with: Processor to which the factors are relative.
        source: Where the figures come from.
        notes: What a reader should know.
        speeds: Speeds of kernels, if they were run.
        deviation: Relative standard deviation of the whole program's time between recordings; 0 if there were too few.
        time_slice: Time slice of the scheduler, seconds; ``None`` if not measured.
        cold_start: Extra time of bursts after waits.
        reduction: Time per byte combined in a reduction, seconds; ``None`` if not measured.
        sockets: Its processors, if they come from the hardware library; else ``None``.
    """

    name: str
    processors: int
    factors: Mapping[str, Estimate]
    shares: Mapping[int, Mapping[str, float]]
    compared_with: str = ""
    source: str = ""
    notes: tuple[str, ...] = ()
    speeds: Speeds | None = field(default=None)
    deviation: float = 0.0
    time_slice: Estimate | None = None
    cold_start: ColdStart = field(default_factory=ColdStart)
    reduction: Estimate | None = None
    sockets: Sockets | None = None

    def text(self) -> str:
        """Return the node type as YAML: the key ``node_types`` of a machine's file."""
        lines = [*comment_lines(_comments(self)), "node_types:", f"  {quoted(self.name)}:"]
        if self.sockets is None or not self.sockets.processor.is_shipped:
            lines.append(f"    processors: {self.processors}")
        else:
            lines += [f"    processor: {quoted(self.sockets.processor.key)}", f"    sockets: {self.sockets.number}"]
        if self.factors:
            values = {region: factor.value for region, factor in self.factors.items()}
            lines.append(f"    performance_factor: {by_region(values)}")
        if self.shares:
            lines.append("    memory_contention_factor:")
            lines += [f"      {busy}: {by_region(shares)}" for busy, shares in sorted(self.shares.items())]
        if self.time_slice is not None:
            lines.append(f"    time_slice: {time_text(self.time_slice.value)}")
        if self.cold_start.is_stated:
            lines.append(f"    cold_start: {cold_start_text(self.cold_start)}")
        if self.reduction is not None:
            lines.append(f"    reduction_delay: {per_byte_text(self.reduction.value)}")
        if self.deviation:
            lines.append(f"    noise: {{factor: {self.deviation:.2g}}}")
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
        # Read by the calibration of another computer (--reference).
        yield (
            "Speeds of kernels here, by simultaneous copies:\n" + SPEEDS_MARK + json.dumps(speeds_document(node.speeds))
        )
    yield from node.notes


def shares_of(speeds: Speeds, regions: Mapping[str, str]) -> dict[int, dict[str, float]]:
    """Return the share of its speed that a processor keeps, by number of busy processors and region.

    Args:
        speeds: Speeds of kernels, alone and beside others.
        regions: The kernel that stands for each region.
    """
    numbers = sorted({n for by_copies in speeds.kernels.values() for n in by_copies if n > 1})
    return {
        n: {
            region: min(1.0, four_digits(speeds.kernels[kernel][n].value / speeds.alone(kernel)))
            for region, kernel in regions.items()
            if n in speeds.kernels[kernel]
        }
        for n in numbers
    }


def regions_like(kernels: Sequence[str], stated: Mapping[str, str]) -> dict[str, str]:
    """Return the kernel that represents each region: as stated, or each kernel as a region of the same name.

    Raises:
        UsageError: If there is no such kernel.
    """
    for region, kernel in stated.items():
        if kernel not in kernels:
            raise UsageError(f"region {region} must be like one of {', '.join(kernels)}, got {kernel}")
    return dict(stated) or {kernel: kernel for kernel in kernels}


def factors_by_kernel(here: Speeds, there: Speeds, regions: Mapping[str, str]) -> dict[str, Estimate]:
    """Return performance factors by region: speed there over speed here, of the kernel that represents a region.

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
class CountedRun:
    """The CPU times of one recording of a program.

    Attributes:
        ranks: Number of ranks.
        cpu: CPU time of all ranks by region at the host's best speed, seconds; ``""`` is outside any region.
        measured: The same times as measured: longer where other processes slowed the host down; empty: as ``cpu``.
        program: Name of the program's file.
        calls: Number of its MPI calls by name, over all ranks.
    """

    ranks: int
    cpu: Mapping[str, float]
    program: str = ""
    calls: Mapping[str, int] = field(default_factory=dict)
    measured: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, trace: Trace) -> CountedRun:
        """Return the CPU times of a trace."""
        cpu, measured = _by_region(trace, trace.bursts), _by_region(trace, trace.ops.cpu)
        begins = trace.ops.call[trace.ops.are_first() & (trace.ops.op != Op.COMPUTE)]
        made = np.bincount(begins, minlength=len(trace.head.calls)).tolist()
        calls = {name: count for name, count in zip(trace.head.calls, made, strict=True) if count}
        return cls(trace.ranks, cpu, PurePath(trace.head.program).name, calls, measured)

    @property
    def total(self) -> float:
        """CPU time of all regions, seconds."""
        return sum(self.cpu.values())


def _by_region(trace: Trace, bursts: npt.NDArray[np.int64]) -> dict[str, float]:
    regions = trace.head.regions
    totals = np.bincount(trace.ops.region, weights=bursts * 1e-9, minlength=len(regions))
    return dict(zip(regions, totals.tolist(), strict=True))


def factors_by_region(there: CountedRun, here: Sequence[CountedRun], confidence: float = 0.95) -> dict[str, Estimate]:
    """Return performance factors by region: median CPU time of bursts in recordings here over CPU time there.

    ``default`` is the whole program; it also applies to regions shorter than :data:`LEAST_TIME`.

    Raises:
        UsageError: If a recording has another number of ranks, lacks a region, or is of a program with another name
            and other MPI calls; or the trace has no computation.
    """
    if not there.total:
        raise UsageError("trace must have computation to compare, got none")
    for run in here:
        if run.ranks != there.ranks:
            raise UsageError(f"recording must have {count_of(there.ranks)} like the trace, got {run.ranks}")
        missing = [region for region in there.cpu if region not in run.cpu]
        if missing:
            raise UsageError(f"recording must have the regions of the trace, got none named {missing[0]}")
        if run.program != there.program and run.calls.keys() != there.calls.keys():
            wanted, got = there.program or "none", run.program or "none"
            raise UsageError(f"program must be that of the trace ({wanted}), got {got}, which makes other MPI calls")
    factors = {_DEFAULT: median_of([run.total / there.total for run in here], confidence)}
    for region in _long_enough(there):
        factors[region] = median_of([run.cpu[region] / there.cpu[region] for run in here], confidence)
    return factors


def shares_by_region(alone: Sequence[CountedRun], beside: Sequence[CountedRun]) -> dict[str, float]:
    """Return the share of its speed that a program keeps alongside copies of itself, by region.

    Shares are of the CPU times as measured: at the host's best speed, the copies would slow nothing down.

    Args:
        alone: Runs of one copy.
        beside: Runs of simultaneous copies.
    """
    one, many = _median_run(alone), _median_run(beside)
    shares = {_DEFAULT: _share(one.total, many.total)}
    for region in _long_enough(one):
        shares[region] = _share(one.cpu[region], many.cpu.get(region, 0.0))
    return shares


def _share(alone: float, beside: float) -> float:
    return min(1.0, four_digits(alone / beside)) if beside and alone else 1.0


def _long_enough(run: CountedRun) -> list[str]:
    return [region for region, seconds in run.cpu.items() if region and seconds >= LEAST_TIME]


def _median_run(runs: Sequence[CountedRun]) -> CountedRun:
    taken = [run.measured or run.cpu for run in runs]
    regions = dict.fromkeys(region for cpu in taken for region in cpu)
    return CountedRun(
        runs[0].ranks, {region: median_of([cpu.get(region, 0.0) for cpu in taken]).value for region in regions}
    )


def _doubts(there: CountedRun, here: Sequence[CountedRun]) -> Iterable[str]:
    """Yield what suggests that the program run here is not the one of the trace, or not as it was then."""
    names = sorted({run.program for run in here} - {there.program, ""})
    if names and there.program:
        yield f"the trace records {there.program}, but {', '.join(names)} was run here"
    made = {name: {run.calls.get(name, 0) for run in here} for run in (there, *here) for name in run.calls}
    other = {name: max(counts) for name, counts in made.items() if counts != {there.calls.get(name, 0)}}
    if other:
        told = "; ".join(
            f"{name} {format_number(there.calls.get(name, 0))} times in the trace, {format_number(count)} here"
            for name, count in sorted(other.items())[:_MOST_CALLS]
        )
        yield (
            f"the program made other numbers of MPI calls here ({told}): factors hold only if it did the same work, "
            "so record both with one version of it"
        )


# --- node types ---


def node_by_program(
    name: str, processors: int, there: Trace, recordings: Mapping[int, Sequence[CountedRun]], confidence: float = 0.95
) -> NodeCalibration:
    """Return a node type from recordings of a program here.

    Args:
        name: Name of the node type.
        processors: Processors of this computer.
        there: The trace to compare with.
        recordings: Recordings by number of simultaneous copies, including 1.
        confidence: Confidence of the intervals of medians.

    Raises:
        UsageError: As :func:`factors_by_region`.
    """
    alone = recordings[1]
    factors = factors_by_region(CountedRun.of(there), alone, confidence)
    shares = {n: shares_by_region(alone, runs) for n, runs in recordings.items() if n > 1}
    notes = list(_doubts(CountedRun.of(there), alone))
    if there.ranks > 1:
        notes.append(
            f"factors hold beside {there.ranks} busy ranks, as in both recordings; memory contention can be measured "
            "with programs of one rank, or with kernels"
        )
    if there.head.processor == processor_name():
        notes.append("the trace was recorded on a processor of the same model: factors should be near 1")
    return NodeCalibration(
        name,
        processors,
        factors,
        shares,
        compared_with=there.head.processor,
        source=f"bursts of {there.name} recorded {count_of(len(alone), 'time')} on {platform.node()} "
        f"({processor_name()}), {datetime.date.today().isoformat()}",
        notes=tuple(notes),
        deviation=_deviation(alone),
    )


def _deviation(runs: Sequence[CountedRun]) -> float:
    """Return the standard deviation of the logarithm of times; 0 for fewer than three runs."""
    return float(np.std(np.log([run.total for run in runs]), ddof=1)) if len(runs) > 2 else 0.0


def node_by_kernels(
    name: str, processors: int, here: Speeds, there: Speeds | None, regions: Mapping[str, str]
) -> NodeCalibration:
    """Return a node type from kernels run here and, for comparison, elsewhere.

    Args:
        name: Name of the node type.
        processors: Processors of this computer.
        here: Speeds of kernels, alone and beside others.
        there: Speeds on the computer to compare with.
        regions: The kernel that stands for each region.

    Raises:
        UsageError: If a kernel was not run on both.
    """
    factors = factors_by_kernel(here, there, regions) if there is not None else {}
    if factors and _DEFAULT not in factors:
        mean = float(np.exp(np.mean(np.log([factor.value for factor in factors.values()]))))
        factors = {_DEFAULT: Estimate.alone(mean), **factors}
    notes = []
    if there is None:
        notes.append("no performance factor: name the file of this command from the other computer by --reference")
    if all(region == kernel for region, kernel in regions.items()):
        notes.append(
            "regions have the names of kernels: state by --region which of them resembles a region of your program"
        )
    shares = shares_of(here, regions)
    if any(_DEFAULT not in each and any(share < 1 for share in each.values()) for each in shares.values()):
        notes.append(
            "memory contention is that of the regions named: any other keeps all of its speed beside busy processors, "
            "unless --region default=KERNEL states the kernel that resembles it"
        )
    return NodeCalibration(
        name,
        processors,
        factors,
        shares,
        compared_with=there.processor if there is not None else "",
        source=f"kernels run on {here.host} ({here.processor}), {datetime.date.today().isoformat()}",
        notes=tuple(notes),
        speeds=here,
    )
