"""The ranks of a live run, begun world by world and watched: what fails, fails where the kernel lets a rank go on.

So the kernel knows only of programs that end well. An exception, an exit status, ``Abort``, a process that is gone,
or one that does not call MPI any more becomes a :class:`LiveError` that names the rank.
"""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from clue.errors import LiveError
from clue.execution.processes import Processes, World
from clue.execution.room import check_room, private_memory
from clue.execution.source import ProcessSource
from clue.execution.watchdog import Tell, Watchdog
from clue.trace.calls import Call, LiveOp
from clue.trace.notes import socket_notes

#: So many ranks fit anywhere: that they do is not worth the time to measure it.
_FEW = 16
#: What a process is called that is only measured.
_NO_RANK = -1
#: Seconds that it may take to be ready; then its memory is measured as it is.
_READY = 2.0
#: How a line begins that names an exception.
_NAMED = re.compile(r"[\w.]+(: |$)")
_ENDINGS = frozenset({int(LiveOp.END), int(LiveOp.ABORT), int(LiveOp.RAISED), int(LiveOp.REFUSED)})


class Ranks:
    """Begins ranks.

    Args:
        command: What the ranks of the first world run.
        processes: Where they begin.
        limit: Wall seconds that a rank may go without an MPI call, or ``None``.
        tell: Told of ranks that wait for something else than MPI.
    """

    def __init__(self, command: Sequence[str], processes: Processes, limit: float | None, tell: Tell) -> None:
        self._command = tuple(command)
        self._name = program_name(command)
        self._processes = processes
        self._limit = limit
        self._tell = tell
        self._begun: list[WatchedSource] = []

    def notes(self) -> list[str]:
        """Return what a reader of the figures must know of what the ranks did beside MPI, once they have ended."""
        return socket_notes([each.sockets for each in sorted(self._begun, key=lambda each: each.rank)])

    def begin(self, ranks: int) -> list[WatchedSource]:
        """Begin the first world.

        Raises:
            LiveError: If there is no room for so many ranks.
        """
        return self._begin("w0", range(ranks), [self._command] * ranks)

    def spawn(self, world: int, members: Sequence[int], what: Any) -> list[WatchedSource]:
        """Begin a world that is spawned; ``what`` is each rank's command, and what they are told of their parents."""
        commands, facts = what
        return self._begin(f"w{world}", members, commands, facts)

    def _begin(
        self, key: str, members: Sequence[int], commands: Sequence[Sequence[str]], facts: Any = None
    ) -> list[WatchedSource]:
        if len(members) > _FEW:
            self._check_room(len(members))
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
        return WatchedSource(ProcessSource(rank, channel, watchdog.wait), process, self._processes, program)

    def _check_room(self, ranks: int) -> None:
        """Measure what a rank takes before it computes anything, of one that never will, and check it for all."""
        trial = self._start(World("trial", (_NO_RANK,), self._command), _NO_RANK).process
        deadline = time.monotonic() + _READY
        while not _sleeps(trial) and time.monotonic() < deadline:
            time.sleep(0.001)
        check_room(self._name, ranks, private_memory(trial))


class WatchedSource:
    """A rank whose failures become errors.

    Attributes:
        process: Its process.
        rank: Its rank.
        sockets: Addresses at which its sockets can be reached, and that they reached; known at its end.
    """

    def __init__(self, source: ProcessSource, process: int, processes: Processes, program: str) -> None:
        self._source = source
        self._processes = processes
        self._program = program
        self.process = process
        self.rank = source.rank
        self.sockets: tuple[Sequence[str], Sequence[str]] = ((), ())

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

    def serve(self, origin: int, serial: int, payload: Any) -> Any:
        """Let the waiting program's layer do what another rank asks of it."""
        return self._source.serve(origin, serial, payload)

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
        self.sockets = call.payload

    def _fault(self, got: str, status: int | None = None) -> LiveError:
        return LiveError(f"{self._program}: rank {self.rank} must end well, got {got}", self.rank, status)


def program_name(command: Sequence[str]) -> str:
    """Return what a command is called in messages."""
    first, *rest = command
    if first == "-m" and rest:
        return rest[0]
    return "code" if first == "-c" else Path(first).name


def _in_a_line(raised: str) -> str:
    """Return the line of an exception that names it: the place of a syntax error stands before it, notes behind."""
    lines = raised.splitlines() or [raised]
    return next((line for line in lines if _NAMED.match(line)), lines[-1])


def _ending(status: int) -> str:
    if status >= 0:
        return f"exit status {status} without an end of MPI" if status == 0 else f"exit status {status}"
    return f"signal {-status} ({signal.Signals(-status).name})"


def _sleeps(process: int) -> bool:
    """Tell whether a process waits: for the kernel, as it has nothing else to wait for."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return True
    return stat.rpartition(")")[2].split()[0] == "S"
