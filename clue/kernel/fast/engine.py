"""One replay by the compiled engine: its input, the call, and its figures in the form common to all engines."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from clue.errors import Blocked, DeadlockError
from clue.kernel.fast.calling import call, new_stop
from clue.kernel.fast.layout import MachineLayout, OutcomeLayout, Status
from clue.kernel.fast.library import ENGINE
from clue.kernel.fast.plan import NotCoveredError, Plan, plan_of
from clue.kernel.fast.tables import tables_of
from clue.kernel.model.blocked import NEVER_BEGUN, describe_wait
from clue.kernel.model.observation import Observation
from clue.kernel.model.program import Program
from clue.kernel.model.replay import Replay
from clue.kernel.model.wildcards import count_wildcards
from clue.machine import Machine, Placement
from clue.trace import Op

#: Values of ``Figures.blocked`` for a rank that is not stuck at a row.
_ENDED, _NEVER_BEGUN = -1, -2


@dataclass(frozen=True, slots=True, eq=False)
class Figures:
    """The figures of a replay, by rank of all instances.

    Attributes:
        finish: Virtual time at which each rank ended, seconds, shape (ranks,).
        compute: Computation time of each rank, seconds, same shape.
        communicate: Processor time that each rank spent on messages, seconds, same shape.
        by_region: Computation time by region, shape (ranks, regions).
        blocked: Row that it is stuck at, -1 if it has ended, -2 if it never began.
        open: Number of requests that the wait in which it is stuck still waits for.
        seen: When a probe could see the message of each wanted row, shape (instances, rows).
    """

    finish: npt.NDArray[np.float64]
    compute: npt.NDArray[np.float64]
    communicate: npt.NDArray[np.float64]
    by_region: npt.NDArray[np.float64]
    blocked: npt.NDArray[np.int64]
    open: npt.NDArray[np.int64]
    seen: npt.NDArray[np.float64]

    @property
    def stuck(self) -> list[int]:
        """The ranks that never ended."""
        return [int(rank) for rank in np.flatnonzero(self.blocked != _ENDED)]

    def as_replay(self, wildcards: tuple[int, int], left_over: int, seen: Observation) -> Replay:
        """Return the replay in the form common to all engines; the arguments supply what these figures lack."""
        return Replay(
            engine="fast",
            finish=self.finish,
            compute=self.compute,
            communicate=self.communicate,
            by_region=np.sum(self.by_region, axis=0),
            wildcards=wildcards,
            left_over=left_over,
            seen=seen,
        )


def replay(program: Program, machine: Machine, placement: Placement, instances: int, seen: Observation) -> Replay:
    """Replay a program on a machine with the fast engine.

    Raises:
        DeadlockError: If the program deadlocks in virtual time.
        NotCoveredError: If the fast engine cannot replay it.
        NoLibraryError: If there is no compiled engine.
        MemoryError: If there is too little memory.
    """
    plan = plan_of(program)
    wild, rows = plan.received
    figures, status = replayed(
        plan, tables_of(plan, machine, placement, instances), rows, seen, ENGINE.load().clue_replay
    )
    check(status, program, machine, instances)
    if figures.stuck:
        raise DeadlockError([_blocked(program, figures, rank) for rank in figures.stuck], program.notes)
    return figures.as_replay(_count_wildcards(program, wild, rows, figures.seen), plan.left_over * instances, seen)


def check(status: int, program: Program, machine: Machine, instances: int) -> None:
    """Check the status of a replay.

    Raises:
        NotCoveredError: If the fast engine cannot replay the program there.
        MemoryError: If there was too little memory.
    """
    if status == Status.NO_MEMORY:
        raise MemoryError("the fast engine has too little memory for this program")
    if status == Status.TOO_MANY:
        raise NotCoveredError(f"{instances} copies of {program.name} have too many messages for the fast engine")
    if status == Status.NO_SUCH_MODEL:
        raise NotCoveredError(f"it does not cover contention: {machine.network.contention.name}")


def _count_wildcards(
    program: Program, wild: list[int], rows: npt.NDArray[np.int64], seen: npt.NDArray[np.float64]
) -> tuple[int, int]:
    if not wild:
        return 0, 0
    decoded = [program.row(row) for row in rows.tolist()]
    bounds = np.searchsorted(rows, [program.offsets[rank] for rank in wild] + [program.ops])
    times = [[None if math.isnan(time) else time for time in instance] for instance in seen.tolist()]
    counts = [
        count_wildcards(list(zip(decoded[a:b], instance[a:b], strict=True)))
        for instance in times
        for a, b in pairwise(bounds.tolist())
    ]
    return sum(otherwise for otherwise, _ in counts), sum(each for _, each in counts)


def _blocked(program: Program, figures: Figures, rank: int) -> Blocked:
    at, clock = int(figures.blocked[rank]), float(figures.finish[rank])
    if at == _NEVER_BEGUN:
        return Blocked(rank, clock, NEVER_BEGUN)
    row, offset = program.row(at), rank // program.ranks * program.ranks
    return Blocked(
        rank, clock, describe_wait(row, offset, int(figures.open[rank]), _serial(program, rank - offset, at))
    )


def _serial(program: Program, rank: int, at: int) -> int:
    """Return the number of a row's collective among those of its rank and context, from 1."""
    ops, contexts = program.columns, np.array(program.contexts)
    before = np.arange(program.offsets[rank], at + 1)
    same = (contexts[ops.comm[before]] == contexts[ops.comm[at]]) & (ops.op[before] >= Op.BARRIER)
    return int((same & ((ops.op[before] == Op.NEIGHBOR) == (ops.op[at] == Op.NEIGHBOR))).sum())


def replayed(  # noqa: PLR0917 - what goes in, and who does what with it
    plan: Plan,
    machine: MachineLayout,
    wanted: npt.NDArray[np.int64],
    seen: Observation,
    function: Callable[..., int],
    tell: Callable[[int], None] = lambda _done: None,
) -> tuple[Figures, int]:
    """Replay a program on a tabulated machine; return its figures and its status, 0 for success.

    Args:
        plan: The program.
        machine: The machine, with ranks placed.
        wanted: Rows of receives and probes for which to tell when a probe could see the message.
        seen: Takes what is collected on the way.
        function: Takes program, machine and outcome, and replays.
        tell: Called now and then with the number of ops of loops that have begun.
    """
    ranks = plan.program.ranks * machine.instances
    figures = Figures(
        finish=np.empty(ranks),
        compute=np.empty(ranks),
        communicate=np.empty(ranks),
        by_region=np.empty((ranks, len(plan.program.regions))),
        blocked=np.empty(ranks, np.int64),
        open=np.empty(ranks, np.int64),
        seen=np.empty((machine.instances, len(wanted))),
    )
    stop = new_stop()
    names = ("finish", "compute", "communicate", "by_region", "blocked", "open", "seen")
    outcome = OutcomeLayout(
        **{name: getattr(figures, name) for name in names},
        messages=seen.messages,
        volume=seen.nbytes,
        seen_rows=wanted,
        seen_count=len(wanted),
        stop=stop,
    )
    given = [ctypes.byref(each) for each in (plan.layout, machine, outcome)]
    status = call(lambda: function(*given), machine.work, stop, lambda: tell(outcome.done))
    seen.most_simultaneous, seen.left_over = outcome.most_simultaneous, outcome.left_over
    return figures, status
