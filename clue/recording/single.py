"""One recording of a program: from its start to its trace, or to the reason why there is no trace."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from clue.children import limits_hint
from clue.errors import CANNOT_RECORD, NEVER_CALLED_MPI, RecordError, TraceError
from clue.files import drafts, remove, write_texts
from clue.recording.launching import (
    Ending,
    Launch,
    Progress,
    TimeLimits,
    command_of,
    environment_of,
    run,
    silent,
    words_of,
)
from clue.trace import Head, Trace
from clue.trace.columns import checksum
from clue.trace.hosts import with_best
from clue.trace.ops import TYPICAL
from clue.trace.pack import pack
from clue.trace.parts.reading import signs_of_life
from clue.trace.place import HEAD, check_target, numbered, remove_further, repeats_beside
from clue.units import count_of

#: A program counts as having done nothing if it ended within this time, seconds, with at most this number of ops on
#: each rank.
_AT_ONCE, _FEW_OPS = 60.0, 64
#: Launchers exit with one of these statuses, or with one above 128, if a signal ended a rank.
_SIGNALS = {signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM}
_SIGNALLED = 128


def record(
    program: Path,
    arguments: Sequence[str],
    ranks: int,
    target: Path,
    *,
    mpiexec: Sequence[str] | None = None,
    timeout: float | None = None,
    limit: float | None = None,
    stdin: int | None = None,
    progress: Progress = silent,
) -> Trace:
    """Run a program on ``ranks`` ranks, record it, and return its trace.

    The program's own output goes to standard error.

    Args:
        program: Path of the script; ``-m`` or ``-c``: the first argument is a module, or code.
        arguments: Its arguments.
        ranks: Number of MPI processes.
        target: Folder of the trace. An earlier trace there is replaced once the new one is complete, and its repeats
            are removed. If there is none, the parts of a failed program are left there; opening them shows how far its
            ranks came.
        mpiexec: Words of the command that starts MPI programs, including options; found automatically if not given.
        timeout: Seconds after which the program is stopped, or ``None``.
        limit: Seconds without the end of an MPI call on any rank after which it is stopped, or ``None``.
        stdin: Standard input of the program, as for :class:`subprocess.Popen`; that of this process, unless it is a
            terminal, if not given.
        progress: Callback for progress.

    Raises:
        UsageError: If the program does not exist, an argument has the wrong type, or the target or a repeat beside it
            is something other than a trace.
        RecordError: If there is no mpiexec, or the program fails, never calls MPI or takes too long.
    """
    launch = Launch(Path(program), words_of("arguments", arguments), ranks)
    launch.check()
    target = Path(target)
    for each in (target, *repeats_beside(target)):
        check_target(each)
    progress(f"recording {launch.name} on {count_of(launch.ranks)}")
    try:
        # Another recording to the same place, as of another job, must not write into the same files.
        with drafts(target) as (draft,):
            limits = TimeLimits(timeout, limit, lambda: signs_of_life(draft))
            try:
                command = command_of(launch, draft, mpiexec, shown=target)
                ending = run(command, environment_of(os.environ, mpiexec), limits, stdin)
                trace = _recorded(launch, draft, ending)
            except BaseException:
                _leave_parts(draft, target)
                raise
    except RecordError as error:
        faults = [fault.replace(str(draft), str(target)) for fault in error.faults]
        if (target / HEAD).exists():
            faults[-1] += ": the earlier recording is kept"
        raise RecordError(faults, error.refused) from None
    remove_further(1, partial(numbered, target))
    return replace(trace, path=target)


def _leave_parts(draft: Path, target: Path) -> None:
    """Leave what a failed program has recorded at the target, if no recording is there."""
    place = Path(os.path.realpath(target))
    if draft.exists() and not (place / HEAD).exists():
        remove(place)
        draft.rename(place)


def _recorded(launch: Launch, target: Path, ending: Ending) -> Trace:
    """Open the recording; it is complete if all ranks ended, however mpiexec ended."""
    if not target.exists():
        raise RecordError(_never_recorded(launch, ending), _is_refusal(ending, target))
    try:
        if not (target / HEAD).exists():
            pack(target)  # ranks elsewhere pack it themselves, if the first one has time
        trace = Trace.open(target)
    except TraceError as error:
        why = "" if ending.status == 0 else f"{launch.title}: program must {_rule(ending)}: "
        raise RecordError(f"{why}{error}", _is_refusal(ending, target)) from None
    together = sum(each.world == 0 for each in trace.head.rank_heads)
    if together != launch.ranks:
        raise RecordError(
            f"{launch.title}: MPI must see all {launch.ranks} processes that were started, got {together} together: "
            "use the mpiexec of the MPI that mpi4py uses (--mpiexec)"
        )
    head = with_best(trace)
    if head != trace.head:
        trace = rewritten(trace, head)
    if ending.status == 0:
        return trace
    how = "did not end" if ending.status is None else f"ended with status {ending.status}"
    note = f"mpiexec {how} after all ranks had ended: the recording is whole"
    return rewritten(trace, replace(trace.head, notes=(*trace.head.notes, note)))


def _rule(ending: Ending) -> str:
    if ending.status is None:
        return f"{ending.rule}, got none: it was stopped"
    return f"end well, got exit status {ending.status}"


def _is_refusal(ending: Ending, target: Path) -> bool:
    """Tell whether a program without a trace ended by itself before doing anything."""
    status = ending.status
    own = status is not None and 0 < status < _SIGNALLED and status not in {*_SIGNALS, NEVER_CALLED_MPI, CANNOT_RECORD}
    ops = max((rows for _, rows in signs_of_life(target)), default=0)
    return own and ending.seconds <= _AT_ONCE and ops <= _FEW_OPS


def rewritten(trace: Trace, head: Head, typical: npt.NDArray[np.int64] | None = None) -> Trace:
    """Write typical bursts, if any, and then a new head into the folder of a trace; return the new trace."""
    folder = trace.path
    assert folder is not None, "it lies in a folder"
    if typical is not None:
        with drafts(folder / f"{TYPICAL}.npy") as (draft,), draft.open("wb") as file:
            np.save(file, typical)
        head = replace(head, checksums={**head.checksums, TYPICAL: checksum(typical)})
    write_texts({folder / HEAD: head.to_json(folder).decode()})
    return replace(trace, head=head, typical=typical)


def _never_recorded(launch: Launch, ending: Ending) -> str:
    rule = f"{launch.title}: program must initialise MPI by mpi4py (import mpi4py.MPI)"
    if ending.status in (0, NEVER_CALLED_MPI):
        return f"{rule}, got none on {'any of ' * (launch.ranks > 1)}{count_of(launch.ranks)}"
    if ending.status is None:
        return f"{rule} and {ending.rule}, got neither: it was stopped"
    if ending.status == CANNOT_RECORD:
        return f"{launch.title}: recording must be possible here, got what is said above: nothing was recorded"
    why = limits_hint(ending.status)
    return f"{rule} and end well, got exit status {ending.status} before that: nothing was recorded{why}"
