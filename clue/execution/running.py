"""A live run from start to end: processes start, and the kernel resumes them in turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from clue.caveats import About, Caveat, note_of_recording
from clue.execution.bursts import MEASURED, Bursts, Replayed
from clue.execution.core_speed import CoreSpeed
from clue.execution.processes import Processes, one_core
from clue.execution.ranks import Ranks
from clue.execution.room import available_memory
from clue.execution.watchdog import Tell
from clue.kernel import HostSpeed, describe
from clue.kernel.live import execute
from clue.kernel.model.cold import starts_cold
from clue.machine import ColdStart, Machine, Placement
from clue.programs import program_name
from clue.result import Result
from clue.trace import Trace
from clue.trace.computer import processor_name

_COLD = (
    "cold_start is left out: measured bursts of a live run are cold already, as its ranks take turns on one core; "
    "to replay a recording with it: clue simulate"
)


@dataclass(frozen=True, slots=True, eq=False)
class LiveRun:
    """Result of a live run.

    Attributes:
        result: The figures, as of a replay.
        trace: Trace of the run, if requested.
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
    stdin: int | None = None,
) -> LiveRun:
    """Run a program in virtual time.

    Args:
        command: Command of each rank: ``PROG.py ARGS…``, ``-m MODULE ARGS…`` or ``-c CODE ARGS…``.
        ranks: Number of ranks.
        machine: Machine to simulate.
        placement: Node of each rank.
        timeline: Whether to keep the timeline of every rank.
        traffic: Whether to keep the traffic between ranks.
        record: Whether to record a trace.
        bursts: Source of burst lengths.
        virtual_clock: Whether Python's clocks show virtual time, too.
        limit: Maximum wall time of a rank between MPI calls, seconds.
        tell: Callback for ranks that wait outside MPI, while they do.
        stdout: Descriptor of the ranks' standard output; by default that of this process.
        stdin: The ranks' standard input, as for :class:`subprocess.Popen`; by default that of this process, unless it
            is a terminal.

    Raises:
        LiveError: If a rank fails, or there is no memory for all ranks.
        DeadlockError: If the program deadlocks in virtual time.
    """
    warnings: list[Caveat] = []
    if bursts is MEASURED and starts_cold(machine, range(len(machine.nodes))):
        warnings.append(Caveat(About.MACHINE, machine.name, _COLD))
        machine = machine.map(lambda node: replace(node, cold_start=ColdStart()))
    with one_core():
        processes = Processes(
            memory=available_memory(), rate=bursts.rate, virtual_clock=virtual_clock, stdout=stdout, stdin=stdin,
            command=command,
        )  # fmt: skip
        try:
            speed = CoreSpeed() if bursts is MEASURED else None
            begun = Ranks(command, processes, limit, tell, speed.longer if speed is not None else None)
            result, trace = execute(
                begun.begin(ranks),
                machine,
                placement,
                name=program_name(command),
                spawn=begun.spawn,
                burst=None if bursts is MEASURED else bursts.burst,
                rate=_host_speed(bursts),
                processor=_processor(bursts),
                timeline=timeline,
                traffic=traffic,
                record=record,
            )
        finally:
            # However the run ended, even by Ctrl-C.
            processes.close()
    notes = begun.notes()
    if speed is not None:
        speed.keep()
        notes += [speed.note] * bool(speed.note)
    if isinstance(bursts, Replayed):
        notes += [f"bursts are of {bursts.trace.name}: {each}" for each in bursts.trace.head.notes]
    if trace is not None:
        trace = replace(trace, head=replace(trace.head, processor=_processor(bursts)))
    warned = replace(result, warnings=(*result.warnings, *warnings))
    return _with_notes(LiveRun(warned, trace), program_name(command), notes)


def _processor(bursts: Bursts) -> str:
    """Return the processor on which bursts are or were measured; ``""`` if they are stated, or it is unknown."""
    if isinstance(bursts, Replayed):
        return bursts.trace.head.processor
    return processor_name() if bursts is MEASURED else ""


def _host_speed(bursts: Bursts) -> HostSpeed | Mapping[str, HostSpeed] | None:
    """Return the speed of the computer whose bursts these are, in every region or by region, where it is known."""
    if isinstance(bursts, Replayed):
        return describe(bursts.trace).host_speeds
    return None if bursts.rate is None else HostSpeed(bursts.rate)


def _with_notes(done: LiveRun, program: str, notes: Sequence[str]) -> LiveRun:
    """Add notes to the result and to the trace."""
    warnings = (*done.result.warnings, *(note_of_recording(program, note) for note in notes))
    trace = done.trace
    if trace is not None:
        trace = replace(trace, head=replace(trace.head, notes=(*trace.head.notes, *notes)))
    return LiveRun(replace(done.result, warnings=warnings), trace)
