"""Bursts drawn from noise: stated noise independently for each burst, repeated recordings as a whole."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from clue.kernel import Program
from clue.machine import Machine, Placement
from clue.uncertainty.noise import Sample, log_deviation, within_reach

Doubles = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class BurstNoise:
    """Noise of a program's bursts, estimated from repeated recordings.

    Within a run, bursts are as recorded: in each sample, every rank has the bursts of one of the recordings. So the
    noise keeps its shape, including rare long bursts, and a phase in which a processor is slow stays together. Normal
    noise of the same variance, drawn separately for each burst, would make ranks wait for each other far longer.

    The common level of all bursts of a run is drawn once for all regions, because a disturbance slows down the whole
    computer. Its distribution is Student's t, with one degree of freedom less than there are recordings, made wider by
    sqrt(1 + 1/recordings): this is how the next run of a normal process deviates from the mean of the known ones.

    Attributes:
        common: Standard deviation, by region, of the logarithm of the level that all bursts of a run share.
        recordings: Number of recordings, at least 2.
        recorded: Bursts of each recording, CPU ns of each op, shape (ops,); empty if they made different calls.
        levels: Logarithm of the level of each recording, relative to the average, by region.
        single: Standard deviation of a single burst's logarithm about its recording's level, by region.
        estimated: Whether the common level's deviation was estimated from these recordings. If not, it is known, as for
            an extrapolated trace, and the level is drawn from a normal distribution.
    """

    common: Mapping[str, float] = field(default_factory=dict)
    recordings: int = 2
    recorded: Sequence[npt.NDArray[np.int64]] = ()
    levels: Sequence[Mapping[str, float]] = ()
    single: Mapping[str, float] = field(default_factory=dict)
    estimated: bool = True

    @property
    def largest_deviation(self) -> float:
        """Deviation of a normal variable whose 10th percentile does not exceed that of any burst's logarithm."""
        # The ratio of the quantiles of Student's t and of a normal variable: 2.40 for 2 recordings, 1.47 for 3.
        wider = math.sqrt(1 + 1 / self.recordings) * (1 + 1.41 / (self.recordings - 1)) if self.estimated else 1.0
        regions = {*self.single, *self.common}
        of_regions = (math.hypot(self.single.get(r, 0.0), wider * self.common.get(r, 0.0)) for r in regions)
        return max(of_regions, default=0.0)


def draw_bursts(
    program: Program, noise: BurstNoise | None, deviations: Doubles, sample: Sample
) -> npt.NDArray[np.int64]:
    """Return the burst times of a program in a sample, CPU ns of each op, shape (ops,); 0 only for ops without burst.

    The random numbers depend on program and sample, and are the same on every machine.

    Args:
        program: The program.
        noise: Noise from repeated recordings; it replaces the computation noise stated by node types.
        deviations: Deviation that node types state for each rank (:func:`stated_deviations`).
        sample: The sample.
    """
    cpu = np.asarray(program.columns.cpu)
    if noise is None and not deviations.any():
        return cpu
    rows = np.flatnonzero(cpu)
    if noise is None:
        exponent = sample.generator("bursts", program.name, program.ranks, program.ops).standard_normal(len(rows))
        exponent *= np.repeat(deviations, np.diff(np.searchsorted(rows, program.offsets)))
    else:
        cpu, levels = _of_recordings(program, noise, sample)
        common = np.array([noise.common.get(name, 0.0) for name in program.regions])
        rank = np.repeat(np.arange(program.ranks), np.diff(np.searchsorted(rows, program.offsets)))
        exponent = (common * _run(program, noise, sample) - levels)[rank, program.columns.region[rows]]
    drawn = np.zeros(len(cpu), np.int64)
    # A nonzero burst stays nonzero: at least 1 ns.
    drawn[rows] = np.maximum(np.rint(cpu[rows] * np.exp(exponent)), 1.0)
    return drawn


def _of_recordings(program: Program, noise: BurstNoise, sample: Sample) -> tuple[npt.NDArray[np.int64], Doubles]:
    """Return each rank's bursts in one of the recordings, shape (ops,), and its levels, shape (ranks, regions)."""
    levels = np.zeros((program.ranks, len(program.regions)))
    if not noise.recorded:
        return np.asarray(program.columns.cpu), levels
    chosen = sample.generator("recordings", program.name, program.ranks, program.ops).integers(
        len(noise.recorded), size=program.ranks
    )
    cpu = np.empty(program.ops, np.int64)
    for rank, (begin, end, number) in enumerate(zip(program.offsets, program.offsets[1:], chosen, strict=False)):
        cpu[begin:end] = noise.recorded[number][begin:end]
        levels[rank] = [noise.levels[number].get(name, 0.0) for name in program.regions]
    return cpu, levels


def _run(program: Program, noise: BurstNoise, sample: Sample) -> float:
    """Return the deviation of a run from the typical one in a sample, in standard deviations of the common level."""
    generator = sample.generator("run", program.name)
    if not noise.estimated:
        return float(generator.standard_normal())
    return within_reach(float(generator.standard_t(noise.recordings - 1))) * math.sqrt(1 + 1 / noise.recordings)


def stated_deviations(program: Program, machine: Machine, placement: Placement) -> Doubles:
    """Return the deviation of the logarithms of each rank's bursts, as stated by its node, shape (ranks,).

    All instances have the same bursts; if their nodes differ, the result is the root mean square.
    """
    of_type = {name: log_deviation(node.noise.computation) for name, node in machine.node_types().items()}
    of_node = np.array([of_type[node.name] for node in machine.nodes])
    squares = of_node[np.array(placement.nodes)].reshape(-1, program.ranks) ** 2
    deviations: Doubles = np.sqrt(squares.mean(axis=0))
    return deviations
