"""Replays on many machines at once by the compiled engine: one replay writes a tape, which runs for all machines."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from clue.kernel.fast.calling import new_stop
from clue.kernel.fast.engine import replayed
from clue.kernel.fast.layout import MachineLayout, Status
from clue.kernel.fast.library import ENGINE
from clue.kernel.fast.plan import Choices, NotCoveredError, Plan, plan_of
from clue.kernel.fast.tables import uncoupled_tables_of
from clue.kernel.model.candidate import Candidate
from clue.kernel.model.observation import Observation
from clue.kernel.model.program import Program

_NOTHING_WANTED = np.zeros(0, np.int64)
_Doubles = npt.NDArray[np.float64]
#: Number of machines whose tables are in memory at once; after each such part progress is reported and Ctrl-C checked.
_PART = 256


class DeadlockedError(Exception):
    """The program deadlocks on a machine."""


class Tape:
    """The arithmetic of one replay, to be run for other machines; freed when its ``with`` block ends.

    Args:
        plan: The program.
        machine: The machine of the replay that writes it.

    Raises:
        DeadlockedError: If the program deadlocks there.
        MemoryError: If there is too little memory.
    """

    def __init__(self, plan: Plan, machine: MachineLayout) -> None:
        self._plan = plan
        self._handle = ctypes.c_void_p()
        library = ENGINE.load()

        def record(*given: Any) -> int:
            status: int = library.clue_record(*given, ctypes.byref(self._handle))
            return status

        _, status = replayed(plan, machine, _NOTHING_WANTED, Observation(), record)
        if status == Status.NO_MEMORY:
            raise MemoryError("the fast engine has too little memory for a tape")
        if status == Status.TOO_MANY:
            raise NotCoveredError("the copies of the program have too many messages for the fast engine")
        if status == Status.DEADLOCK:
            raise DeadlockedError

    def __enter__(self) -> Tape:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        ENGINE.load().clue_forget(self._handle)

    def run(
        self, machines: Sequence[MachineLayout], workers: int, bursts: Sequence[_Doubles] | None = None
    ) -> tuple[_Doubles, npt.NDArray[np.bool_]]:
        """Return the makespan on each machine, and whether the tape is valid there: a replay would give the same.

        Args:
            machines: Where.
            workers: Number of threads.
            bursts: For each machine the seconds of every op's burst, shape (ops,), 0 where the program has none; left
                out: the program's on all of them.

        Raises:
            MemoryError: If there is too little memory.
        """
        makespans, agrees = np.empty(len(machines)), np.empty(len(machines), np.uint8)
        addresses = np.array([ctypes.addressof(each) for each in machines], np.uintp)
        own = None if bursts is None else np.array([each.ctypes.data for each in bursts], np.uintp)
        stop = new_stop()

        def sweep(first: int, after: int) -> int:
            arrays = [array[first:after] for array in (addresses, makespans, agrees)]
            where, *pointers = [ctypes.c_void_p(each.ctypes.data) for each in (*arrays, stop)]
            lasting = None if own is None else ctypes.c_void_p(own[first:after].ctypes.data)
            count = ctypes.c_int64(after - first)
            program = ctypes.byref(self._plan.layout)
            status: int = ENGINE.load().clue_sweep(self._handle, program, where, lasting, count, *pointers)
            return status

        bounds = self._shared_out(len(machines), workers)
        with ThreadPoolExecutor(workers) as pool:
            parts = [pool.submit(sweep, *each) for each in pairwise(bounds)]
            try:
                statuses = [part.result() for part in parts]
            except BaseException:
                stop[0] = 1
                raise
        if Status.NO_MEMORY in statuses:
            raise MemoryError("the fast engine has too little memory to run a tape")
        return makespans, agrees.astype(bool)

    @staticmethod
    def _shared_out(machines: int, workers: int) -> list[int]:
        """Return the index of each worker's first machine, and the number of machines; no block is divided."""
        lanes = ENGINE.load().clue_lanes()
        blocks = -(-machines // lanes)
        share = -(-blocks // workers) * lanes
        return [*range(0, machines, share), machines]


def makespans(
    program: Program, candidates: Sequence[Candidate], tell: Callable[[int], None], workers: int = 1
) -> _Doubles:
    """Return the makespan on each candidate if nothing but messages coupled the ranks, shape (candidates,), seconds.

    Args:
        program: What runs.
        candidates: Where; none of them may change over time.
        tell: Called with the number of candidates that are done.
        workers: Number of threads.

    Returns:
        Seconds; NaN where the program deadlocks.

    Raises:
        NotCoveredError: If the fast engine cannot replay the program.
        NoLibraryError: If there is no compiled engine.
        MemoryError: If there is too little memory.
    """
    plan = plan_of(program)
    if plan.takes_locks:
        # Times decide who gets a lock first, and a delay may even shorten the makespan.
        raise NotCoveredError(f"{program.name} takes locks that exclude others")
    found = np.full(len(candidates), np.nan)
    done = 0
    for (choices, *_), group in _alike(plan, candidates).items():
        for first in range(0, len(group), _PART):
            part = group[first : first + _PART]
            found[part] = _sweep(plan, choices, [candidates[i] for i in part], workers)
            done += len(part)
            tell(done)
    return found


def _alike(plan: Plan, candidates: Sequence[Candidate]) -> dict[tuple[Choices, int, bool, object, object], list[int]]:
    """Group candidates by collectives, instances, whether they have bursts of their own, and what calls cost and do."""
    groups: dict[tuple[Choices, int, bool, object, object], list[int]] = {}
    for i, each in enumerate(candidates):
        network = each.machine.network
        with plan.lock:
            choices = plan.choices(network, plan.sharing(each.placement))
        pays = network.states_overheads, network.states_completions
        where = each.placement.nodes if plan.accesses_directly else None
        key = choices, each.instances, each.bursts is None, pays, where
        groups.setdefault(key, []).append(i)
    return groups


def _sweep(plan: Plan, choices: Choices, candidates: Sequence[Candidate], workers: int) -> _Doubles:
    """Return the makespans of candidates that differ at most in which messages are eager."""
    tables = [uncoupled_tables_of(plan, choices, each.machine, each.placement, each.instances) for each in candidates]
    bursts = _in_seconds(candidates)
    found = np.full(len(tables), np.nan)
    left = np.arange(len(tables))
    while len(left):
        try:
            with Tape(plan, tables[left[0]]) as tape:
                own = None if bursts is None else [bursts[i] for i in left]
                seconds, agrees = tape.run([tables[i] for i in left], workers, own)
        except DeadlockedError:
            left = left[1:]
            continue
        found[left[agrees]] = seconds[agrees]
        left = left[~agrees]
    return found


def _in_seconds(candidates: Sequence[Candidate]) -> list[_Doubles] | None:
    """Return the bursts of candidates, seconds, or ``None`` if one has none of its own; common arrays are shared."""
    known: dict[int, _Doubles] = {}
    for each in candidates:
        if each.bursts is None:
            return None
        if id(each.bursts) not in known:
            known[id(each.bursts)] = each.bursts / 1e9
    return [known[id(each.bursts)] for each in candidates]
