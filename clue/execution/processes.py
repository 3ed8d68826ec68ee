"""Processes of a live run: the process from which all ranks are forked, and a channel to each rank.

They form a process group of their own, and end when this side of the control socket closes, for whatever reason.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clue.children import ONE_THREAD, finding_clue, limits_hint, standard_input
from clue.errors import LiveError
from clue.execution.imports import shared_imports
from clue.trace.wire import Channel

_LONGEST = 1 << 20
#: Timeout for the forking process to end all ranks, s.
_PATIENCE = 10.0
#: Prefixes of environment variables by which an MPI launcher identifies its processes.
_LAUNCHERS = ("PMI_", "PMIX_", "OMPI_COMM_WORLD", "HYDI_", "MPI_LOCAL", "OMPI_UNIVERSE")
#: Settings by which the real MPI library communicates only within its process, and leaves signals to the system.
_ALONE = {"UCX_TLS": "self", "UCX_HANDLE_ERRORS": "none"}


@dataclass(frozen=True, slots=True)
class World:
    """Ranks that start together.

    Attributes:
        key: Unique key of the world.
        members: Its ranks, as ranks of the program.
        command: Command of each rank.
        facts: Information for a spawned world about its parents.
    """

    key: str
    members: tuple[int, ...]
    command: tuple[str, ...]
    facts: Any = None


class Processes:
    """The rank processes of a run; all communication with them goes through this object.

    Args:
        memory: Address space for payloads in transit, bytes.
        rate: Speed (flop/s) for operations declared by regions, or ``None``: bursts are measured.
        virtual_clock: Whether Python's clocks show virtual time, too.
        stdout: Descriptor of the ranks' standard output; by default this process's.
        stdin: The ranks' standard input, as for :class:`subprocess.Popen`; by default this process's, unless it is a
            terminal.
        command: Command of the first world: its imports are done beforehand, and process lists show it.

    Attributes:
        group: Process group of all of them.
        library: The MPI library's name.
    """

    def __init__(
        self, *, memory: int, rate: float | None = None, virtual_clock: bool = False, stdout: int | None = None,
        stdin: int | None = None, command: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self._rate = rate
        self._virtual_clock = virtual_clock
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._channels: list[Channel] = []
        with theirs:
            self._server = subprocess.Popen(
                [sys.executable, "-m", "virtual_layer.substitutes", str(theirs.fileno()), *command],
                stdin=standard_input(stdin), stdout=stdout, env=_environment(),
                pass_fds=[theirs.fileno()], start_new_session=True,
            )  # fmt: skip
        self.group = self._server.pid
        self._control.send(marshal.dumps((memory, shared_imports(command))))
        try:
            process, said = marshal.loads(self._answer())
        except LiveError as error:
            self.close()
            raise LiveError(f"{error}{limits_hint(self._server.returncode)}") from None
        if not process:
            self.close()
            raise LiveError(f"live run: {said}")
        self.library = said

    def start(self, world: World, rank: int) -> tuple[Channel, int]:
        """Start a rank of a world; returns the channel to it and its process number."""
        orders = (
            "start", rank, world.key, world.members, world.command, self._rate, self._virtual_clock, world.facts,
        )  # fmt: skip
        self._control.send(marshal.dumps(orders))
        data, descriptors, _, _ = socket.recv_fds(self._control, _LONGEST, 2)
        if not data:
            raise LiveError(_ENDED)
        channel = Channel(*descriptors)
        self._channels.append(channel)
        return channel, marshal.loads(data)

    def ending(self, rank: int) -> int:
        """Return the exit status of a rank's process, or minus the signal that ended it."""
        self._control.send(marshal.dumps(("ending", rank)))
        status: int = marshal.loads(self._answer())
        return status

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all processes."""
        self._control.close()
        try:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._server.wait(_PATIENCE)
        finally:
            # It did not end by itself, or this is the second Ctrl-C.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.group, signal.SIGKILL)
            self._server.wait()
        for channel in self._channels:
            channel.close()
        self._channels.clear()

    def _answer(self) -> bytes:
        try:
            data = self._control.recv(_LONGEST)
        except ConnectionError:
            data = b""
        if not data:
            raise LiveError(_ENDED)
        return data


_ENDED = (
    "live run: mpi4py and an MPI library must be installed to run programs, got an end of the process that forks ranks"
)


@contextlib.contextmanager
def one_core() -> Iterator[None]:
    """Pin this process and its children to one core: context switches then take a tenth of the time."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {_present_core(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _present_core(allowed: set[int]) -> int:
    """Return the core that this process runs on: field 39 of its stat file (proc(5))."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    present = int(fields[36])
    return present if present in allowed else min(allowed)


def _environment() -> dict[str, str]:
    """Return an environment in which ranks find this copy of clue, with one thread each and no launcher variables."""
    kept = finding_clue({name: value for name, value in os.environ.items() if not name.startswith(_LAUNCHERS)})
    return _ALONE | kept if "OMP_NUM_THREADS" in kept else _ALONE | kept | ONE_THREAD


__all__: Sequence[str] = ("Processes", "World", "one_core")
