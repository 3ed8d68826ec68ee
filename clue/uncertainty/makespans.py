"""Makespans of samples: a program on a machine, with a new draw of their noise in each sample."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from clue.kernel import Candidate, Program, engine_for, makespans, with_bursts
from clue.machine import Machine, Placement
from clue.uncertainty.bursts import BurstNoise, draw_bursts, stated_deviations
from clue.uncertainty.machines import draw_machine, largest_deviation, states_noise
from clue.uncertainty.model_error import Character, ModelError
from clue.uncertainty.noise import Sample, Sampling
from clue.uncertainty.spread import Sampled, Spread

#: Message for a request for samples that would all be equal.
NO_NOISE = (
    "no noise is stated, by the machine or by repeated recordings of the program: all samples would be the same, so "
    "there is no interval. State noise of node types or links, or give repeats of the recording"
)
#: Maximum number of bursts drawn at a time: 256 MB, in nanoseconds and in seconds.
_DRAWN_AT_ONCE = 1 << 24
#: Maximum number of samples drawn at a time; progress is reported after each part.
_SAMPLES_AT_ONCE = 256
#: Bursts of a program by sample and by the deviations they were drawn with.
Known = dict[tuple[Sample, bytes], npt.NDArray[np.int64]]


def is_uncertain(machine: Machine, noise: BurstNoise | None) -> bool:
    """Tell whether a simulation has any noise, so that samples differ."""
    return states_noise(machine) or noise is not None


def deviation_bound(machine: Machine, noise: BurstNoise | None) -> float:
    """Return the largest deviation that a simulation's noise allows for the logarithm of any time in it."""
    return largest_deviation(machine, None if noise is None else noise.largest_deviation)


def draw(
    program: Program, machine: Machine, placement: Placement, sample: Sample, noise: BurstNoise | None = None
) -> tuple[Program, Machine]:
    """Return the program and the machine of a sample.

    Args:
        program: The program.
        machine: The machine.
        placement: Node of each rank of all instances.
        sample: The sample.
        noise: Noise of bursts in repeated recordings.
    """
    drawn = draw_candidate(program, Candidate(machine, placement), sample, noise)
    return program if drawn.bursts is None else with_bursts(program, drawn.bursts), drawn.machine


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
    tell: Callable[[int], None] = lambda _done: None,
) -> npt.NDArray[np.float64]:
    """Return the makespan of each sample, seconds, shape (samples,), as if each result of :func:`draw` were simulated.

    If only messages couple the ranks, the fast engine runs many samples at once.

    Args:
        program: The program.
        machine: The machine.
        placement: Node of each rank of all instances, instance by instance.
        sampling: Number of samples, and their seed.
        noise: Noise of bursts in repeated recordings.
        instances: Copies of the program side by side.
        engine: As for :func:`clue.kernel.simulate`.
        workers: Number of threads.
        tell: Callback for progress: the number of samples done.

    Raises:
        DeadlockError: If the program deadlocks.
        ReplayError: If the trace contradicts itself.
    """
    engine = engine_for(program.work * instances * sampling.samples, engine)
    where, done = Candidate(machine, placement, instances), 0
    found: list[npt.NDArray[np.float64]] = []
    for part in parts(sampling.each(), program.ops):

        def further(more: int, done: int = done) -> None:
            tell(done + more)

        drawn = [draw_candidate(program, where, each, noise) for each in part]
        found.append(makespans(program, drawn, further, engine=engine, workers=workers))
        done += len(part)
    return np.concatenate(found)


def sample_errors(
    program: Program,
    where: Candidate,
    makespan: float,
    sampling: Sampling,
    error: ModelError,
    *,
    noise: BurstNoise | None = None,
    engine: str = "auto",
    workers: int = 1,
    tell: Callable[[int], None] = lambda _done: None,
) -> Sampled:
    """Return the spread of a makespan over samples of the noise, each with a draw of the model's error.

    Errors of validated cases contain the noise of their recordings and calibrations, so only the part of the model's
    error that the noise does not explain is drawn.

    Args:
        program: The program.
        where: The machine and placement.
        makespan: Makespan without noise, seconds.
        sampling: Number of samples, and their seed.
        error: The model's error.
        noise: Noise of bursts in repeated recordings.
        engine: As for :func:`clue.kernel.simulate`.
        workers: Number of threads.
        tell: Callback for progress: the number of samples done.

    Raises:
        DeadlockError: If the program deadlocks.
        ReplayError: If the trace contradicts itself.
    """
    drawn = np.full(sampling.samples, makespan)
    if is_uncertain(where.machine, noise):
        drawn = sample_makespans(
            program,
            where.machine,
            where.placement,
            sampling,
            noise=noise,
            instances=where.instances,
            engine=engine,
            workers=workers,
            tell=tell,
        )
    expected = error.of(Character.of(program, where, makespan))
    of_noise = Spread.of(drawn)
    explained = math.log(of_noise.high / of_noise.low) / 2 if of_noise.low > 0 else 0.0
    off = expected.beyond(explained).multipliers(sampling, program.name, where)
    reasons = (*_about_noise(where.machine, noise, of_noise), error.in_words(expected))
    return Sampled(sampling, drawn * off, makespan, expected.reach, reasons)


def _about_noise(machine: Machine, noise: BurstNoise | None, spread: Spread) -> Iterator[str]:
    """Yield the share of noise in an interval, and its unknown sources."""
    known = []
    if noise is not None:
        known = [f"{noise.recordings} recordings" if noise.estimated else "the extrapolation"]
    known += ["the noise that the machine states"] if states_noise(machine) else []
    if known and spread.low > 0:
        yield f"± {(spread.high / spread.low) ** 0.5 - 1:.1%} by {' and '.join(known)}"
    if noise is None:
        yield "differences between recordings are not included, as no repeats of this one are given"
    if not states_noise(machine):
        yield "noise of the machine is not included, as it states none"


def draw_candidate(
    program: Program,
    where: Candidate,
    sample: Sample,
    noise: BurstNoise | None = None,
    known: Known | None = None,
) -> Candidate:
    """Return a sample as one of the machines of a sweep.

    Args:
        program: The program.
        where: The machine and placement, without noise.
        sample: The sample.
        noise: Noise of bursts in repeated recordings.
        known: Cache of drawn bursts, to which these are added: machines that state the same noise share them.
    """
    deviations = stated_deviations(program, where.machine, where.placement)
    bursts: npt.NDArray[np.int64] | None = None
    if noise is not None or deviations.any():
        known = {} if known is None else known
        key = (sample, b"" if noise is not None else deviations.tobytes())
        if key not in known:
            known[key] = draw_bursts(program, noise, deviations, sample)
        bursts = known[key]
    return replace(where, machine=draw_machine(where.machine, sample), bursts=bursts)


def parts(samples: Sequence[Sample], ops: int) -> Iterator[Sequence[Sample]]:
    """Yield samples in parts that are drawn together, for a program with the given number of ops."""
    size = min(max(_DRAWN_AT_ONCE // max(ops, 1), 1), _SAMPLES_AT_ONCE)
    for first in range(0, len(samples), size):
        yield samples[first : first + size]
