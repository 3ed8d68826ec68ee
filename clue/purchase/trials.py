"""Trying options out: every workload on an option in every split that may win. Ordering them is not done here."""

from __future__ import annotations

import itertools
import math
import signal
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context

from clue.errors import ReplayError, UsageError
from clue.kernel import Program as Compiled
from clue.kernel import compile_program, computation_bound, simulate
from clue.machine import Machine
from clue.purchase.outcome import KernelOutcome, WorkloadOutcome
from clue.purchase.scenario import Option, Program, Scenario, Workload
from clue.purchase.splits import Misfit, Split, allowed_splits
from clue.trace import Trace

#: Gives the trace of a program at a number of ranks; recording it, if need be, is the caller's business.
TraceSource = Callable[[Program, int], Trace]
#: Is told what is being simulated, how many simulations are done, and how many there are (at most).
Progress = Callable[[str, int, int], None]

#: Below so many ops to replay, starting a process takes longer than it saves.
_OPS_WORTH_A_PROCESS = 500_000


@dataclass(frozen=True, slots=True, eq=False)
class _Recorded:
    """A program ready to replay at one number of ranks."""

    program: Compiled
    memory: tuple[float, ...]


#: Programs ready to replay, by program and number of ranks.
_Library = Mapping[tuple[Program, int], _Recorded]


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """One option's outcomes, or why it has none.

    Attributes:
        option: What was tried.
        affordable: Whether the budget covers it; if not, nothing was simulated.
        reason: Why it cannot run the workloads, or ``""``.
        workloads: The best outcome of each workload.
        tried: All outcomes, by workload and rising ranks per instance.
        warnings: Those of the best outcomes.
    """

    option: Option
    affordable: bool
    reason: str = ""
    workloads: tuple[WorkloadOutcome, ...] = ()
    tried: tuple[WorkloadOutcome, ...] = ()
    warnings: tuple[str, ...] = ()


def try_options(
    options: Sequence[Option],
    scenario: Scenario,
    traces: TraceSource,
    progress: Progress,
    *,
    workers: int,
    thorough: bool,
) -> dict[str, Trial]:
    """Simulate all workloads on these options, in several processes where there is enough to do.

    Args:
        options: What to try.
        scenario: What has to run on them.
        traces: Where traces come from.
        progress: Told about each simulation.
        workers: Number of processes.
        thorough: Whether to simulate splits, too, that computation alone rules out.

    Returns:
        A trial by name of option.
    """
    recorded = _record_all(scenario, options, traces, progress)
    work = len(options) * sum(each.program.ops for each in recorded.values())
    attempt = partial(_try_option, scenario=scenario, recorded=recorded, thorough=thorough)
    if workers > 1 and len(options) > 1 and work > _OPS_WORTH_A_PROCESS:
        return _try_side_by_side(options, attempt, progress, workers)
    return _try_in_turn(options, attempt, progress, sum(len(workload.ranks) for workload in scenario.workloads))


def _try_in_turn(
    options: Sequence[Option], attempt: Callable[..., Trial], progress: Progress, splits: int
) -> dict[str, Trial]:
    done = itertools.count()

    def count(what: str) -> None:
        progress(what, next(done), len(options) * splits)

    return {option.name: attempt(option, count=count) for option in options}


def _try_side_by_side(
    options: Sequence[Option], attempt: Callable[..., Trial], progress: Progress, workers: int
) -> dict[str, Trial]:
    # Fresh processes, not forked ones: whoever calls may have threads (a progress display has).
    # Ctrl-C ends them at once and without a word; what there is to say is said here.
    with ProcessPoolExecutor(
        min(workers, len(options)),
        get_context("spawn"),
        initializer=signal.signal,
        initargs=(signal.SIGINT, signal.SIG_DFL),
    ) as executor:
        try:
            pending = [executor.submit(attempt, option) for option in options]
            for i, _ in enumerate(as_completed(pending)):
                progress(f"options on {workers} processes", i, len(options))
            return {trial.option.name: trial for trial in (each.result() for each in pending)}
        except BrokenProcessPool:
            raise ReplayError(
                "a process that simulated was ended from outside, perhaps for want of memory: "
                "use fewer processes (workers)"
            ) from None
        except BaseException:
            executor.shutdown(wait=False, cancel_futures=True)
            raise


def _uncounted(what: str) -> None:
    """Tell nobody."""


def _record_all(scenario: Scenario, options: Sequence[Option], traces: TraceSource, progress: Progress) -> _Library:
    """Get the traces that any option has processors for."""
    processors = max(option.machine.processors for option in options)
    wanted = {
        (kernel.program, ranks): f"{workload.name}, {kernel.name}: {ranks} ranks"
        for workload in scenario.workloads
        for kernel in workload.kernels
        for ranks in workload.ranks
        if ranks <= processors * workload.ranks_per_processor
    }
    recorded = {}
    for i, ((program, ranks), what) in enumerate(wanted.items()):
        progress(f"reading {what}", i, len(wanted))
        trace = traces(program, ranks)
        if trace.ranks != ranks:
            raise UsageError(f"{trace.name}: trace must have {ranks} ranks, got {trace.ranks}")
        memory = tuple(float(head.peak_memory) for head in trace.head.rank_heads)
        recorded[program, ranks] = _Recorded(compile_program(trace), memory)
    return recorded


def _try_option(
    option: Option,
    scenario: Scenario,
    recorded: _Library,
    thorough: bool,
    count: Callable[[str], None] = _uncounted,
) -> Trial:
    tried: list[WorkloadOutcome] = []
    best: list[WorkloadOutcome] = []
    for workload in scenario.workloads:
        outcomes = _outcomes(option, workload, recorded, thorough, count)
        if isinstance(outcomes, str):
            return Trial(option, affordable=True, reason=f"{workload.name}: {outcomes}")
        best.append(max(outcomes, key=lambda outcome: outcome.throughput))
        tried += sorted(outcomes, key=lambda outcome: outcome.ranks)
    warnings = tuple(w for outcome in best for kernel in outcome.kernels for w in kernel.result.warnings)
    return Trial(option, affordable=True, workloads=tuple(best), tried=tuple(tried), warnings=warnings)


def _outcomes(
    option: Option, workload: Workload, recorded: _Library, thorough: bool, count: Callable[[str], None]
) -> list[WorkloadOutcome] | str:
    """Return the outcomes of splits, the fastest among them, or why there is none."""
    needs = [_memory(workload, ranks, recorded) for ranks in workload.ranks]
    possible = list(allowed_splits(workload, option.machine, needs))
    splits = [split for split in possible if isinstance(split, Split)]
    if not splits:
        return "; ".join(dict.fromkeys(misfit.reason for misfit in possible if isinstance(misfit, Misfit)))
    limits = {split: _throughput_limit(option.machine, workload, split, recorded) for split in splits}
    outcomes: list[WorkloadOutcome] = []
    # The most promising first: what cannot beat the best so far need not be simulated, and the result is the same.
    for split in sorted(splits, key=lambda split: -limits[split]):
        count(f"{option.name}: {workload.name} on {split.ranks} ranks")
        best = max((outcome.throughput for outcome in outcomes), default=0.0)
        if thorough or limits[split] > best:
            outcomes.append(_run(option.machine, workload, split, recorded))
    return outcomes


def _instances(workload: Workload, split: Split) -> int:
    return split.side_by_side if workload.instances is None else workload.instances


def _throughput_limit(machine: Machine, workload: Workload, split: Split, recorded: _Library) -> float:
    """Return instances per second that a split cannot exceed: computation alone, without any message."""
    least = sum(
        computation_bound(recorded[kernel.program, split.ranks].program, machine, split.placement)
        for kernel in workload.kernels
    )
    return _instances(workload, split) / (least * split.turns) if least else math.inf


def _memory(workload: Workload, ranks: int, recorded: _Library) -> list[float]:
    """Return bytes needed by each rank: as stated, or the largest peak measured over the kernels."""
    if ranks in workload.memory:
        return [workload.memory[ranks]] * ranks
    peaks = [
        recorded[kernel.program, ranks].memory for kernel in workload.kernels if (kernel.program, ranks) in recorded
    ]
    return [max(of_rank) for of_rank in zip(*peaks, strict=True)]


def _run(
    machine: Machine,
    workload: Workload,
    split: Split,
    recorded: _Library,
) -> WorkloadOutcome:
    kernels = []
    for kernel in workload.kernels:
        program = recorded[kernel.program, split.ranks].program
        result = simulate(program, machine, split.placement, instances=split.side_by_side)
        if result.makespan == 0:
            raise UsageError(f"{workload.name}: {kernel.name} must take time on {machine.name}, its makespan is 0")
        kernels.append(KernelOutcome(kernel.name, result.makespan * split.turns, None, result))
    makespan = sum(kernel.makespan for kernel in kernels)
    return WorkloadOutcome(
        workload=workload.name,
        makespan=makespan,
        throughput=_instances(workload, split) / makespan,
        side_by_side=split.side_by_side,
        ranks=split.ranks,
        turns=split.turns,
        idle=split.idle,
        points=None,
        kernels=tuple(kernels),
    )
