"""A program's makespan on each of many machines: all at once where messages alone couple its ranks, else one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from clue.errors import DeadlockError
from clue.kernel.engines import engine_for, is_fast
from clue.kernel.model.bounds import ComputationBounds
from clue.kernel.model.bursts import with_bursts
from clue.kernel.model.candidate import Candidate
from clue.kernel.model.program import Program
from clue.kernel.simulate import simulate
from clue.machine import Machine

Doubles = npt.NDArray[np.float64]

#: Relative margin of a bound: contention and shared processors add up times in another order than a sweep, and a bound
#: must stay below despite rounding.
_ROUNDING = 1e-9


def makespans(
    program: Program,
    candidates: Sequence[Candidate],
    tell: Callable[[int], None] = lambda _done: None,
    *,
    engine: str = "auto",
    workers: int = 1,
    deadlock: float | None = None,
) -> Doubles:
    """Return the makespan on each candidate, seconds, shape (candidates,): equal to that of a replay, to the last bit.

    Args:
        program: What runs.
        candidates: Where.
        tell: Called with the number of candidates that are done.
        engine: As for :func:`clue.kernel.simulate`.
        workers: Number of threads.
        deadlock: The makespan to return where the program deadlocks; ``None``: a deadlock is an error.

    Raises:
        DeadlockError: If the program deadlocks in virtual time.
        ReplayError: If the trace contradicts itself.
    """
    engine = engine_for(program.work * sum(each.instances for each in candidates), engine)
    seconds = np.full(len(candidates), np.nan)
    alone = [i for i, each in enumerate(candidates) if each.coupled_by_messages_alone]
    bounds, exact = contention_free(program, [candidates[i] for i in alone], tell, engine=engine, workers=workers)
    seconds[alone] = np.where(exact, bounds, np.nan)
    left = np.flatnonzero(np.isnan(seconds)).tolist()

    def replayed(i: int) -> float:
        each = candidates[i]
        try:
            does, place = _computing(program, each), each.placement
            return simulate(does, each.machine, place, engine, instances=each.instances).makespan
        except DeadlockError:
            if deadlock is None:
                raise
            return deadlock

    done = len(candidates) - len(left)
    for n, (i, makespan) in enumerate(zip(left, _in_threads(replayed, left, workers), strict=True), start=1):
        seconds[i] = makespan
        tell(done + n)
    return seconds


def _in_threads(do: Callable[[int], float], items: Sequence[int], workers: int) -> Iterator[float]:
    # The first alone prepares what all others share.
    yield from map(do, items[:1])
    if workers == 1:
        yield from map(do, items[1:])
        return
    with ThreadPoolExecutor(workers) as pool:
        yield from pool.map(do, items[1:])


def contention_free(
    program: Program,
    candidates: Sequence[Candidate],
    tell: Callable[[int], None] = lambda _done: None,
    *,
    engine: str = "auto",
    workers: int = 1,
) -> tuple[Doubles, npt.NDArray[np.bool_]]:
    """Return a lower bound of the makespan on each candidate, and whether it is the makespan itself.

    The bound is the makespan without contention and with a processor for every rank; contention, sharing and background
    load only add to it. The fast engine computes it for many machines at once. Without it, on a machine that changes
    over time, or if ranks take locks that exclude others, so that a delay may shorten the makespan, the bound is that
    of computation alone (:class:`.ComputationBounds`).

    Args:
        program: What runs.
        candidates: Where.
        tell: Called with the number of candidates that are done.
        engine: As for :func:`clue.kernel.simulate`: ``"reference"`` bounds by computation alone.
        workers: Number of threads.

    Returns:
        The bounds, seconds, and whether each is the makespan itself; both of shape (candidates,). A bound is the
        makespan, to the last bit, where nothing but messages couples the ranks: no contention, no shared processors, no
        changes over time, no such locks.
    """
    swept = [i for i, each in enumerate(candidates) if _is_bounded_by_messages(each.machine)]
    seconds = np.full(len(candidates), np.nan)
    work = program.work * sum(candidates[i].instances for i in swept)
    if is_fast(engine_for(work, engine), work):
        seconds[swept] = _sweep(program, [candidates[i] for i in swept], tell, workers)
    exact = np.array([each.coupled_by_messages_alone for each in candidates], bool) & ~np.isnan(seconds)
    seconds[~exact] *= 1 - _ROUNDING
    common = ComputationBounds(program)
    for i in np.flatnonzero(np.isnan(seconds)).tolist():
        each = candidates[i]
        bounds = common if each.bursts is None else ComputationBounds(with_bursts(program, each.bursts))
        seconds[i] = bounds.of(each.machine, each.placement)
    return seconds, exact


def _computing(program: Program, on: Candidate) -> Program:
    return program if on.bursts is None else with_bursts(program, on.bursts)


def _sweep(program: Program, candidates: Sequence[Candidate], tell: Callable[[int], None], workers: int) -> Doubles:
    from clue.kernel import fast  # noqa: PLC0415 - small work does without it

    try:
        return fast.makespans(program, candidates, tell, workers)
    except (fast.NoLibraryError, fast.NotCoveredError, MemoryError):
        # The bounds by computation alone, which are lower, are valid too.
        return np.full(len(candidates), np.nan)


def _is_bounded_by_messages(machine: Machine) -> bool:
    """Tell whether the makespan without contention is a lower bound."""
    return not machine.changes and not machine.network.contention.speeds_up
