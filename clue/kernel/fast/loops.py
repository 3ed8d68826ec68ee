"""Replays of programs in loops: the engine iterates over the loops, and no repetition is written out."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate

import numpy as np

from clue.errors import Blocked, DeadlockError
from clue.kernel.fast.engine import Figures, check, replayed
from clue.kernel.fast.layout import LoopsLayout
from clue.kernel.fast.library import LOOPED
from clue.kernel.fast.plan import NotCoveredError, Plan
from clue.kernel.fast.tables import tables_of
from clue.kernel.model.blocked import describe_wait
from clue.kernel.model.loops import LoopedProgram
from clue.kernel.model.observation import Observation
from clue.kernel.model.program import Program, ranks_with_wildcards, waited_entries
from clue.kernel.model.replay import Replay
from clue.machine import Machine, Placement
from clue.trace import COLLECTIVES, Op
from clue.trace.columns import within

#: Ops that loops may not contain: they look at messages, start ranks, or need more than one row of every member.
LEFT_OUT = (Op.PROBE, Op.MPROBE, Op.MRECV, Op.SPAWN, Op.NEIGHBOR, Op.RMA)


def replay_loops(  # noqa: PLR0917 - the arguments of every engine, and who is told
    looped: LoopedProgram,
    machine: Machine,
    placement: Placement,
    instances: int,
    seen: Observation,
    tell: Callable[[int], None] = lambda _done: None,
) -> Replay:
    """Replay a program in loops on a machine: the figures are those of its ops written out, to the last bit.

    Args:
        looped: The program.
        machine: Where it runs.
        placement: Node of each rank of all instances.
        instances: Copies of it.
        seen: Takes what is collected on the way.
        tell: Called now and then with the number of ops that have begun.

    Raises:
        DeadlockError: If the program deadlocks in virtual time.
        NotCoveredError: If such a program cannot be replayed in loops.
        NoLibraryError: If there is no compiled engine.
        MemoryError: If there is too little memory.
    """
    program = looped.program
    _check_covered(looped)
    plan = Plan(program, _layout(looped))
    tables = tables_of(plan, machine, placement, instances)
    tables.work = looped.ops * instances
    figures, status = replayed(plan, tables, np.zeros(0, np.int64), seen, LOOPED.load().clue_replay_loops, tell)
    check(status, program, machine, instances)
    if figures.stuck:
        raise DeadlockError([_blocked(program, figures, rank) for rank in figures.stuck], program.notes)
    return figures.as_replay((0, 0), seen.left_over, seen)


def _check_covered(looped: LoopedProgram) -> None:
    program = looped.program
    left_out = [each.call for each in program.unmodelled]
    if left_out or program.failed_polls:
        what = left_out[0] if left_out else "tests that found nothing"
        raise NotCoveredError(f"loops with {what} are not replayed, because these are counted one by one")
    columns = program.columns
    rows = np.flatnonzero(columns.are(*LEFT_OUT))
    if len(rows):
        raise NotCoveredError(f"loops with {Op(columns.op[rows[0]]).name} are not replayed")
    if ranks_with_wildcards(program):
        raise NotCoveredError("loops with receives from any source are not replayed")
    if len(set(program.contexts)) < len(program.contexts):
        raise NotCoveredError("loops with intercommunicators are not replayed")
    if not _agree(looped):
        raise NotCoveredError("loops in which members of a communicator make different collective calls are left out")


def _agree(looped: LoopedProgram) -> bool:
    """Tell whether the members of each communicator make equally many collective calls before and in repeated blocks.

    The k-th row of each member then belongs to the same call, in each round.
    """
    columns, groups = looped.program.columns, looped.program.groups
    rows = np.flatnonzero(columns.are(*COLLECTIVES))
    spans = looped.bounds[:, :-1].ravel()  # rising: by rank, then by block
    rank, block = np.divmod(np.searchsorted(spans, rows, side="right") - 1, len(looped.times))
    member = rank * len(groups) + columns.comm[rows]
    before = np.empty(len(rows), np.int64)
    before[np.argsort(member, kind="stable")] = within(np.unique(member, return_counts=True)[1])
    mine = looped.times[block] > 1
    keys = np.stack([block, columns.comm[rows], rank])[:, mine]
    calls, at, counts = np.unique(keys, axis=1, return_index=True, return_counts=True)
    _, first, members = np.unique(calls[:2], axis=1, return_index=True, return_counts=True)
    sizes = np.array([len(group) for group in groups])[calls[1, first]]
    alike = (np.array_equal(of, np.repeat(of[first], members)) for of in (counts, before[mine][at]))
    return bool((members == sizes).all()) and all(alike)


def _layout(looped: LoopedProgram) -> LoopsLayout:
    columns, bursts = looped.program.columns, looped.bursts
    waits, waited = columns.are(Op.WAIT), waited_entries(looped.program)
    lengths = np.array([0, *accumulate(len(pool.values) for pool in bursts.pools)], np.int64)
    return LoopsLayout(
        blocks=len(looped.times),
        most_age=int(max(columns.request.max(where=waits, initial=0), columns.extras.max(where=waited, initial=0))),
        pools=len(bursts.pools),
        times=looped.times,
        bounds=np.ascontiguousarray(looped.bounds),
        mean=bursts.mean,
        first=bursts.first,
        each=bursts.each,
        pool=bursts.pool,
        seeds=np.array([pool.seed for pool in bursts.pools], np.int64),
        draws=np.array([pool.draws for pool in bursts.pools], np.int64),
        first_value=lengths,
        values=np.concatenate([np.zeros(0), *(pool.values for pool in bursts.pools)]),
    )


def _blocked(program: Program, figures: Figures, rank: int) -> Blocked:
    row, offset = program.row(int(figures.blocked[rank])), rank // program.ranks * program.ranks
    open_or_serial = int(figures.open[rank])
    return Blocked(rank, float(figures.finish[rank]), describe_wait(row, offset, open_or_serial, open_or_serial))
