"""Bursts drawn from noise: each on its own, and all of a region together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from clue.kernel import Program
from clue.machine import Machine, Placement
from clue.uncertainty.noise import Sample, log_deviation

Doubles = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class BurstNoise:
    """What repeated recordings of a program say of its bursts: standard deviations of their logarithms, by region.

    Attributes:
        single: Of each burst, independently of all others.
        common: Of all bursts of the region in a run together.
        recordings: How many recordings say so.
    """

    single: Mapping[str, float] = field(default_factory=dict)
    common: Mapping[str, float] = field(default_factory=dict)
    recordings: int = 0


def draw_bursts(
    program: Program, noise: BurstNoise | None, machine: Machine, placement: Placement, sample: Sample
) -> npt.NDArray[np.int64]:
    """Return the burst times of a program in a sample, CPU ns of each op, shape (ops,); 0 exactly where there is none.

    The standard normal numbers behind them belong to program and sample: whatever the machine, they are the same.

    Args:
        program: What runs.
        noise: What repeated recordings say; it takes the place of what node types say of computation.
        machine: Where, for what its node types say.
        placement: Node of each rank of all instances; all instances have the same bursts.
        sample: Which one.
    """
    cpu = program.columns.cpu
    deviation, common = _deviations(program, noise, machine, placement, sample)
    if not deviation.any() and not common.any():
        return np.asarray(cpu)
    generator = sample.generator("bursts", program.name, program.ranks, program.ops)
    exponent = generator.standard_normal(program.ops)
    exponent *= deviation
    exponent += common
    # A burst that is there stays: 1 ns at least.
    return np.where(cpu > 0, np.maximum(np.rint(cpu * np.exp(exponent)), 1.0), 0.0).astype(np.int64)


def _deviations(
    program: Program, noise: BurstNoise | None, machine: Machine, placement: Placement, sample: Sample
) -> tuple[Doubles, Doubles]:
    """Return by op the deviation of its burst's logarithm, and what all bursts of its region have in common."""
    if noise is None:
        of_rank = _stated(program, machine, placement)
        return np.repeat(of_rank, np.diff(program.offsets)), np.zeros(1)
    regions = program.columns.region
    single = np.array([noise.single.get(region, 0.0) for region in program.regions])
    normal = [sample.generator("region", program.name, region).standard_normal() for region in program.regions]
    common = np.array([noise.common.get(region, 0.0) for region in program.regions]) * normal
    return single[regions], common[regions]


def _stated(program: Program, machine: Machine, placement: Placement) -> Doubles:
    """Return the deviation of each rank's bursts as its node says; the root mean square over instances."""
    of_type = {name: log_deviation(node.noise.computation) for name, node in machine.node_types().items()}
    of_node = np.array([of_type[node.name] for node in machine.nodes])
    squares = of_node[np.array(placement.nodes)].reshape(-1, program.ranks) ** 2
    deviations: Doubles = np.sqrt(squares.mean(axis=0))
    return deviations
