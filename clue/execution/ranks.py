"""Ranks of a live run, started world by world and watched: failures are raised where the kernel resumes a rank.

The kernel thus sees only programs that succeed. An exception, an exit status, ``Abort``, a process that has
disappeared, or one that stops calling MPI becomes a :class:`LiveError` that names the rank.
"""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from clue.errors import LiveError
from clue.execution.processes import Processes, World
from clue.execution.room import allow_files, check_room, private_memory
from clue.execution.source import ProcessSource
from clue.execution.watchdog import Tell, Watchdog
from clue.programs import program_name
from clue.trace.calls import Call, LiveOp
from clue.trace.notes import common_notes, socket_notes

#: Number of ranks up to which memory is not checked: they fit anywhere, and measuring takes time.
_FEW = 16
#: Rank number of a process started only for measuring its memory.
_NO_RANK = -1
#: Timeout for that process to be ready, s; after it, its memory is measured as it is.
_READY = 2.0
#: Beginning of a line that names an exception.
_NAMED = re.compile(r"[\w.]+(: |$)")
_ENDINGS = frozenset({int(LiveOp.END), int(LiveOp.ABORT), int(LiveOp.RAISED), int(LiveOp.REFUSED)})


class Ranks:
    """Starts ranks.

    Args:
        command: Command of the ranks of the first world.
        processes: Processes of the run.
        limit: Maximum wall time of a rank between MPI calls, seconds, or ``None``.
        tell: Callback for ranks that wait outside MPI.
        longer: Tells how much longer bursts have just taken than they count; left out, they count as measured.
    """

    def __init__(
        self,
        command: Sequence[str],
        processes: Processes,
        limit: float | None,
        tell: Tell,
        longer: Callable[[], float] | None = None,
    ) -> None:
        self._command = tuple(command)
        self._name = program_name(command)
        self._processes = processes
        self._limit = limit
        self._tell = tell
        self._longer = longer
        self._begun: list[WatchedSource] = []

    def notes(self) -> list[str]:
        """Return caveats on what the ranks did outside MPI, once they have ended."""
        begun = sorted(self._begun, key=lambda each: each.rank)
        elsewhere = [] if self._longer is None else common_notes([each.elsewhere for each in begun])
        return [*elsewhere, *socket_notes([each.sockets for each in begun])]

    def begin(self, ranks: int) -> list[WatchedSource]:
        """Start the first world.

        Raises:
            LiveError: If there is no memory for all ranks, or too many files would be open.
        """
        return self._begin("w0", range(ranks), [self._command] * ranks)

    def spawn(self, world: int, members: Sequence[int], what: Any) -> list[WatchedSource]:
        """Start a spawned world; ``what`` holds each rank's command, and information about their parents."""
        commands, facts = what
        return self._begin(f"w{world}", members, commands, facts)

    def _begin(
        self, key: str, members: Sequence[int], commands: Sequence[Sequence[str]], facts: Any = None
    ) -> list[WatchedSource]:
        if len(members) > _FEW:
            self._check_room(len(members))
        allow_files(self._name, len(self._begun) + len(members))
        group = tuple(members)
        begun = [
            self._start(World(key, group, tuple(command), facts), rank)
            for rank, command in zip(group, commands, strict=True)
        ]
        self._begun += begun
        return begun

    def _start(self, world: World, rank: int) -> WatchedSource:
        channel, process = self._processes.start(world, rank)
        program = program_name(world.command)
        watchdog = Watchdog(f"{program}: rank {rank}", rank, process, self._limit, self._tell)
        return WatchedSource(
            ProcessSource(rank, channel, watchdog.wait, self._longer), process, self._processes, program
        )

    def _check_room(self, ranks: int) -> None:
        """Measure the memory of a rank at its start, with a process that runs nothing, and check it for all ranks."""
        trial = self._start(World("trial", (_NO_RANK,), self._command), _NO_RANK).process
        deadline = time.monotonic() + _READY
        while not _sleeps(trial) and time.monotonic() < deadline:
            time.sleep(0.001)
        check_room(self._name, ranks, private_memory(trial))


class WatchedSource:
    """A rank whose failures are raised as errors.

    Attributes:
        process: Its process.
        rank: Its rank.
        sockets: Addresses that its sockets listened on, and that they connected to; known at its end.
        elsewhere: Notes on computation that no burst contains; known at its end.
    """

    def __init__(self, source: ProcessSource, process: int, processes: Processes, program: str) -> None:
        self._source = source
        self._processes = processes
        self._program = program
        self.process = process
        self.rank = source.rank
        self.sockets: tuple[Sequence[str], Sequence[str]] = ((), ())
        self.elsewhere: Sequence[str] = ()

    def resume(self, answer: object) -> Call:
        """Return the next call.

        Raises:
            LiveError: If the rank fails.
        """
        try:
            call = self._source.resume(answer)
        except (EOFError, BrokenPipeError):
            raise self._fault(_ending(self._processes.ending(self.rank))) from None
        if call.op in _ENDINGS:
            self._check_end(call)
        return call

    def serve(self, payload: Any) -> Any:
        """Let the virtual layer of the waiting program serve another rank's request."""
        return self._source.serve(payload)

    def threads(self) -> int:
        """Return how many threads of Python the waiting program has."""
        return self._source.threads()

    def _check_end(self, call: Call) -> None:
        if call.op == LiveOp.RAISED:
            raise self._fault(_in_a_line(str(call.payload)))
        if call.op == LiveOp.REFUSED:
            raise LiveError(f"{self._program}: rank {self.rank} {call.payload}", self.rank)
        if call.op == LiveOp.ABORT:
            message = f"{self._program}: rank {self.rank} called Abort({call.nbytes})"
            raise LiveError(message, self.rank, call.nbytes)
        if call.nbytes:
            raise self._fault(f"exit status {call.nbytes}", call.nbytes)
        self.sockets, self.elsewhere = call.payload

    def _fault(self, got: str, status: int | None = None) -> LiveError:
        return LiveError(f"{self._program}: rank {self.rank} must end well, got {got}", self.rank, status)


def _in_a_line(raised: str) -> str:
    """Return the line that names an exception; lines before it locate a syntax error, lines after it are notes."""
    lines = raised.splitlines() or [raised]
    return next((line for line in lines if _NAMED.match(line)), lines[-1])


def _ending(status: int) -> str:
    if status >= 0:
        return f"exit status {status} without finalising MPI" if status == 0 else f"exit status {status}"
    known = -status in set(signal.Signals)  # not all real-time signals have names
    return f"signal {-status} ({signal.Signals(-status).name})" if known else f"signal {-status}"


def _sleeps(process: int) -> bool:
    """Tell whether a process sleeps, which means that it waits for the simulation kernel."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return True
    return stat.rpartition(")")[2].split()[0] == "S"
