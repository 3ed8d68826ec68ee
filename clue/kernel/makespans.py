"""Many machines at once: what a program takes on each of them if messages alone couple its ranks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from clue.kernel.engines import engine_for, is_fast
from clue.kernel.model.bounds import computation_bound
from clue.kernel.model.bursts import with_bursts
from clue.kernel.model.candidate import Candidate
from clue.kernel.model.program import Program
from clue.machine import Machine

#: Contention and shared processors add to times in another order than a sweep does; a bound stays below by more than
#: rounding can do.
_ROUNDING = 1e-9


def _tell_nobody(done: int) -> None:
    pass


def contention_free(
    program: Program,
    candidates: Sequence[Candidate],
    tell: Callable[[int], None] = _tell_nobody,
    *,
    engine: str = "auto",
    workers: int = 1,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Return a lower bound of the makespan on each candidate, and whether it is the makespan itself.

    The bound is the makespan without contention and with a processor for every rank, which contention, sharing and
    background load only add to. The fast engine finds it for many machines at once; without it the bound is that of
    computation alone (:func:`.computation_bound`), as it is for a machine that changes over time.

    Args:
        program: What runs.
        candidates: Where.
        tell: Is told how many are done.
        engine: As for :func:`clue.kernel.simulate`: ``"reference"`` bounds by computation alone.
        workers: Number of threads.

    Returns:
        Seconds, shape (candidates,), and a truth value each, same shape. A bound is the makespan, to the last bit,
        where nothing but messages couples the ranks: no contention, no shared processors, no changes over time.
    """
    swept = [i for i, each in enumerate(candidates) if _is_bounded_by_messages(each.machine)]
    seconds = np.full(len(candidates), np.nan)
    ops = program.ops * sum(candidates[i].instances for i in swept)
    if is_fast(engine_for(ops, engine), ops):
        seconds[swept] = _sweep(program, [candidates[i] for i in swept], tell, workers)
    exact = np.array([each.coupled_by_messages_alone for each in candidates], bool) & ~np.isnan(seconds)
    seconds[~exact] *= 1 - _ROUNDING
    for i in np.flatnonzero(np.isnan(seconds)).tolist():
        each = candidates[i]
        computing = program if each.bursts is None else with_bursts(program, each.bursts)
        seconds[i] = computation_bound(computing, each.machine, each.placement)
    return seconds, exact


def _sweep(
    program: Program, candidates: Sequence[Candidate], tell: Callable[[int], None], workers: int
) -> npt.NDArray[np.float64]:
    from clue.kernel import fast  # noqa: PLC0415 - small work does without it

    try:
        return fast.makespans(program, candidates, tell, workers)
    except (fast.NoLibraryError, fast.NotCoveredError, MemoryError):
        # A bound may always be lower.
        return np.full(len(candidates), np.nan)


def _is_bounded_by_messages(machine: Machine) -> bool:
    """Tell whether nothing makes a replay faster than without contention."""
    return not machine.changes and not machine.network.contention.speeds_up
