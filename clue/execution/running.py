"""One live run from its start to its end: processes begin, and the kernel lets them go on in turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from clue.caveats import note_of_recording
from clue.execution.bursts import MEASURED, Bursts
from clue.execution.processes import Processes, one_core
from clue.execution.ranks import Ranks, program_name
from clue.execution.room import available_memory
from clue.execution.watchdog import Tell
from clue.kernel import HostSpeed
from clue.kernel.live import execute
from clue.machine import Machine, Placement
from clue.result import Result
from clue.trace import Trace


@dataclass(frozen=True, slots=True, eq=False)
class LiveRun:
    """What a live run yields.

    Attributes:
        result: The figures, as of a replay.
        trace: What happened, if that was to be recorded.
    """

    result: Result
    trace: Trace | None = None


def run(
    command: Sequence[str],
    ranks: int,
    machine: Machine,
    placement: Placement,
    *,
    timeline: bool = False,
    traffic: bool = False,
    record: bool = False,
    bursts: Bursts = MEASURED,
    virtual_clock: bool = False,
    limit: float | None = None,
    tell: Tell = lambda _line: None,
    stdout: int | None = None,
) -> LiveRun:
    """Run a program in virtual time.

    Args:
        command: What each rank runs: ``PROG.py ARGS…``, ``-m MODULE ARGS…`` or ``-c CODE ARGS…``.
        ranks: How many ranks.
        machine: What it runs on.
        placement: Node of each rank.
        timeline: Whether to keep what every rank did when.
        traffic: Whether to keep who sent how much to whom.
        record: Whether to keep what happened as a trace.
        bursts: What computation takes.
        virtual_clock: Whether Python's own clocks tell virtual time, too.
        limit: Wall seconds that a rank may go without an MPI call.
        tell: Told of ranks that wait for something else than MPI, while they do.
        stdout: Descriptor that the ranks' standard output goes to, left out: that of this process.

    Raises:
        LiveError: If a rank fails, or there is no room for so many.
        DeadlockError: If the program deadlocks in virtual time.
    """
    with one_core():
        processes = Processes(
            memory=available_memory(), rate=bursts.rate, virtual_clock=virtual_clock, stdout=stdout, command=command
        )
        try:
            begun = Ranks(command, processes, limit, tell)
            result, trace = execute(
                begun.begin(ranks),
                machine,
                placement,
                name=program_name(command),
                spawn=begun.spawn,
                burst=None if bursts is MEASURED else bursts.burst,
                rate=None if bursts.rate is None else HostSpeed(bursts.rate),
                timeline=timeline,
                traffic=traffic,
                record=record,
            )
        finally:
            # However it ended, and even if that was Ctrl-C.
            processes.close()
    return _with_notes(LiveRun(result, trace), program_name(command), begun.notes())


def _with_notes(done: LiveRun, program: str, notes: Sequence[str]) -> LiveRun:
    """Say it beside the result, and in the trace."""
    warnings = (*done.result.warnings, *(note_of_recording(program, note) for note in notes))
    trace = done.trace
    if trace is not None:
        trace = replace(trace, head=replace(trace.head, notes=(*trace.head.notes, *notes)))
    return LiveRun(replace(done.result, warnings=warnings), trace)
