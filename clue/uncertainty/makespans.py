"""Makespans of samples: a program on a machine, with another draw of their noise each time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from clue.kernel import Candidate, Program, contention_free, simulate, with_bursts
from clue.machine import Machine, Placement
from clue.uncertainty.bursts import BurstNoise, draw_bursts
from clue.uncertainty.machines import draw_machine, states_noise
from clue.uncertainty.noise import Sample, Sampling

#: What to tell who asks for samples where all would be the same.
NO_NOISE = (
    "no noise is stated, by the machine or by repeated recordings of the program: all samples would be the same, so "
    "there is no interval"
)
#: So many bursts of samples are drawn at a time at most: 256 MB, in nanoseconds and in seconds.
_DRAWN_AT_ONCE = 1 << 24
#: And so many samples: after each such part progress is told.
_SAMPLES_AT_ONCE = 256


def _tell_nobody(done: int) -> None:
    pass


def is_uncertain(machine: Machine, noise: BurstNoise | None) -> bool:
    """Tell whether anything of a simulation has noise, so that samples differ."""
    return states_noise(machine) or noise is not None


def draw(
    program: Program, machine: Machine, placement: Placement, sample: Sample, noise: BurstNoise | None = None
) -> tuple[Program, Machine]:
    """Return a program and a machine as they are in a sample.

    Args:
        program: What runs.
        machine: Where.
        placement: Node of each rank of all instances.
        sample: Which one.
        noise: What repeated recordings say of bursts.
    """
    bursts = draw_bursts(program, noise, machine, placement, sample)
    changed = program if bursts is program.columns.cpu else with_bursts(program, bursts)
    return changed, draw_machine(machine, sample)


def sample_makespans(
    program: Program,
    machine: Machine,
    placement: Placement,
    sampling: Sampling,
    *,
    noise: BurstNoise | None = None,
    instances: int = 1,
    engine: str = "auto",
    workers: int = 1,
    tell: Callable[[int], None] = _tell_nobody,
) -> npt.NDArray[np.float64]:
    """Return the makespan of each sample, seconds, shape (samples,): those of simulations of what :func:`draw` gives.

    Where nothing but messages couples the ranks, the fast engine runs many samples at once.

    Args:
        program: What runs.
        machine: Where.
        placement: Node of each rank of all instances, instance by instance.
        sampling: How many samples, of which seed.
        noise: What repeated recordings say of bursts.
        instances: Copies of the program side by side.
        engine: As for :func:`clue.kernel.simulate`.
        workers: Number of threads.
        tell: Is told how many samples are done.

    Raises:
        DeadlockError: If the program deadlocks.
        ReplayError: If the trace contradicts itself.
    """
    found = np.full(sampling.samples, np.nan)
    samples = sampling.each()
    where = Candidate(machine, placement, instances)
    if where.coupled_by_messages_alone:
        for part in parts(samples, program.ops):
            candidates = [draw_candidate(program, where, each, noise) for each in part]
            seconds, exact = contention_free(program, candidates, engine=engine, workers=workers)
            if not exact.all():
                break
            found[part[0].number : part[-1].number + 1] = seconds
            tell(part[-1].number + 1)
    left = [each for each in samples if np.isnan(found[each.number])]

    def one(sample: Sample) -> float:
        drawn, on = draw(program, machine, placement, sample, noise)
        return simulate(drawn, on, placement, engine, instances=instances).makespan

    with ThreadPoolExecutor(workers) as pool:
        for sample, makespan in zip(left, pool.map(one, left), strict=True):
            found[sample.number] = makespan
            tell(sample.number + 1)
    return found


def draw_candidate(program: Program, where: Candidate, sample: Sample, noise: BurstNoise | None = None) -> Candidate:
    """Return a sample as one of the machines of a sweep."""
    bursts = draw_bursts(program, noise, where.machine, where.placement, sample)
    return Candidate(draw_machine(where.machine, sample), where.placement, where.instances, bursts)


def parts(samples: Sequence[Sample], ops: int) -> Iterator[Sequence[Sample]]:
    """Yield samples in parts that are drawn together, for a program of so many ops."""
    size = min(max(_DRAWN_AT_ONCE // max(ops, 1), 1), _SAMPLES_AT_ONCE)
    for first in range(0, len(samples), size):
        yield samples[first : first + size]
