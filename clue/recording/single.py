"""One recording of a program: from its start to the trace that it leaves, or to why it leaves none."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from clue.children import limits_hint
from clue.errors import NEVER_CALLED_MPI, RecordError, TraceError, UsageError
from clue.files import drafts, write_texts
from clue.recording.launching import Ending, Launch, Progress, TimeLimits, command_of, environment_of, run, silent
from clue.trace import Trace
from clue.trace.pack import pack
from clue.trace.parts.reading import signs_of_life
from clue.trace.place import HEAD, check_place
from clue.units import count_of


def record(
    program: Path,
    arguments: Sequence[str],
    ranks: int,
    target: Path,
    *,
    mpiexec: Sequence[str] | None = None,
    timeout: float | None = None,
    limit: float | None = None,
    progress: Progress = silent,
) -> Trace:
    """Run a program on so many ranks, record it, and return its trace.

    The program's own output goes to standard error.

    Args:
        program: Path of the script.
        arguments: Its arguments.
        ranks: Number of MPI processes.
        target: Folder of the trace. An earlier one there is replaced once the new one is whole; where there is none,
            what a program that fails leaves stays there, and opening it says how far its ranks came.
        mpiexec: Words of the command that starts MPI programs, options among them; found by itself if not given.
        timeout: Seconds after which the program is stopped, or ``None``.
        limit: Seconds after which it is stopped if no rank has ended an MPI call meanwhile, or ``None``.
        progress: Told what happens.

    Raises:
        UsageError: If the program does not exist, or the target is something else than a trace.
        RecordError: If there is no mpiexec, or the program fails, never calls MPI or takes too long.
    """
    launch = Launch(Path(program), tuple(arguments), ranks)
    launch.check()
    target = Path(target)
    check_target(target)
    progress(f"recording {launch.program.name} on {count_of(launch.ranks)}")
    if not (target / HEAD).exists():
        return _recorded(launch, target, mpiexec, TimeLimits(timeout, limit, lambda: signs_of_life(target)))
    try:
        with drafts(target) as (draft,):
            limits = TimeLimits(timeout, limit, lambda: signs_of_life(draft))
            trace = _recorded(launch, draft, mpiexec, limits)
    except RecordError as error:
        faults = [fault.replace(str(draft), str(target)) for fault in error.faults]
        raise RecordError([*faults[:-1], f"{faults[-1]}: the earlier recording stays"]) from None
    return replace(trace, path=target)


def _recorded(launch: Launch, target: Path, mpiexec: Sequence[str] | None, limits: TimeLimits) -> Trace:
    before = _identity(target)
    ending = run(command_of(launch, target, mpiexec), environment_of(os.environ, mpiexec), limits)
    if _identity(target) == before:
        raise RecordError(_never_recorded(launch, ending))
    return _trace(launch, target, ending)


def check_target(target: Path) -> None:
    """Check that a trace may be written to a place.

    Raises:
        UsageError: If it names an archive, or something else than a trace is there.
    """
    if target.suffix == ".zip":
        raise UsageError(f"{target}: trace must be recorded into a folder, got a .zip: convert it afterwards")
    check_place(target)


def _trace(launch: Launch, target: Path, ending: Ending) -> Trace:
    """Open what was recorded; it is whole if all ranks ended, whatever became of mpiexec."""
    try:
        if not (target / HEAD).exists():
            pack(target)  # which the first rank had no time for
        trace = Trace.open(target)
    except TraceError as error:
        why = "" if ending.status == 0 else f"{launch.program}: program must {_rule(ending)}: "
        raise RecordError(f"{why}{error}") from None
    together = sum(each.world == 0 for each in trace.head.rank_heads)
    if together != launch.ranks:
        raise RecordError(
            f"{launch.program}: MPI must see all {launch.ranks} processes that were started, got {together} together: "
            "use the mpiexec of the MPI that mpi4py uses (--mpiexec)"
        )
    if ending.status == 0:
        return trace
    how = "did not end" if ending.status is None else f"ended with status {ending.status}"
    return _noted(trace, target, f"mpiexec {how} after all ranks had ended: the recording is whole")


def _rule(ending: Ending) -> str:
    if ending.status is None:
        return f"{ending.rule}, got none: it was stopped"
    return f"end well, got exit status {ending.status}"


def _noted(trace: Trace, target: Path, note: str) -> Trace:
    """Write a note into a trace's head."""
    head = replace(trace.head, notes=(*trace.head.notes, note))
    write_texts({target / HEAD: head.to_json(target).decode()})
    return replace(trace, head=head)


def _identity(target: Path) -> tuple[int, int] | None:
    """Return what changes when a folder is made anew."""
    try:
        facts = target.stat()
    except OSError:
        return None
    return facts.st_ino, facts.st_mtime_ns


def _never_recorded(launch: Launch, ending: Ending) -> str:
    rule = f"{launch.program}: program must initialise MPI by mpi4py (import mpi4py.MPI)"
    if ending.status in (0, NEVER_CALLED_MPI):
        return f"{rule}, got none on {'any of ' * (launch.ranks > 1)}{count_of(launch.ranks)}"
    if ending.status is None:
        return f"{rule} and {ending.rule}, got neither: it was stopped"
    why = limits_hint(ending.status)
    return f"{rule} and end well, got exit status {ending.status} before that: nothing was recorded{why}"
