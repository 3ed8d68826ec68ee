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
    program: Program, noise: BurstNoise | None, deviations: Doubles, sample: Sample
) -> npt.NDArray[np.int64]:
    """Return the burst times of a program in a sample, CPU ns of each op, shape (ops,); 0 exactly where there is none.

    The standard normal numbers behind them belong to program and sample: whatever the machine, they are the same.

    Args:
        program: What runs.
        noise: What repeated recordings say; it takes the place of what node types say of computation.
        deviations: What these say for each rank (:func:`stated_deviations`).
        sample: Which one.
    """
    cpu = np.asarray(program.columns.cpu)
    if noise is None and not deviations.any():
        return cpu
    rows = np.flatnonzero(cpu)
    exponent = sample.generator("bursts", program.name, program.ranks, program.ops).standard_normal(len(rows))
    if noise is None:
        exponent *= np.repeat(deviations, np.diff(np.searchsorted(rows, program.offsets)))
    else:
        region = program.columns.region[rows]
        exponent *= np.array([noise.single.get(name, 0.0) for name in program.regions])[region]
        exponent += np.array([_common(program, noise, name, sample) for name in program.regions])[region]
    drawn = np.zeros(len(cpu), np.int64)
    # A burst that is there stays: 1 ns at least.
    drawn[rows] = np.maximum(np.rint(cpu[rows] * np.exp(exponent)), 1.0)
    return drawn


def _common(program: Program, noise: BurstNoise, region: str, sample: Sample) -> float:
    """Return what the logarithms of all bursts of a region have in common in a sample."""
    normal = float(sample.generator("region", program.name, region).standard_normal())
    return noise.common.get(region, 0.0) * normal


def stated_deviations(program: Program, machine: Machine, placement: Placement) -> Doubles:
    """Return the deviation of the logarithms of each rank's bursts as its node states it, shape (ranks,).

    All instances have the same bursts: where their nodes differ, the root mean square counts.
    """
    of_type = {name: log_deviation(node.noise.computation) for name, node in machine.node_types().items()}
    of_node = np.array([of_type[node.name] for node in machine.nodes])
    squares = of_node[np.array(placement.nodes)].reshape(-1, program.ranks) ** 2
    deviations: Doubles = np.sqrt(squares.mean(axis=0))
    return deviations
