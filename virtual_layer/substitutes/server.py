"""The fork server of all ranks: warmed up once, it starts them quickly and shares its memory with them.

It never runs the program. It serves requests of the kernel's process on a socket: start a rank, report how one ended.
When that socket closes, for whatever reason, it ends every process that it has started.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import marshal
import os
import signal
import socket
import sys
import time
import warnings
from collections.abc import Sequence, Set
from pathlib import Path

from clue.errors import RecordError
from clue.trace.wire import Channel
from virtual_layer.compatibility import fault_of_mpi4py
from virtual_layer.shared_memory import remove_names
from virtual_layer.substitutes.arena import Arena
from virtual_layer.substitutes.layer import Layer
from virtual_layer.substitutes.program import Orders, become, prepare

_LONGEST = 1 << 20
_PR_SET_CHILD_SUBREAPER = 36
#: Seconds that a process has to end by itself after its conversation with the kernel is over.
_PATIENCE = 5.0


def serve(control: socket.socket) -> None:
    """Start ranks until the other side closes the socket, then end all of them."""
    # What the MPI library has started: Open MPI's daemon, which removes its files when Python exits and finalises MPI.
    helpers: set[int] = set()
    try:
        _serve(control, helpers)
    finally:
        _end_all(helpers)


def _serve(control: socket.socket, helpers: set[int]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _adopt_orphans()
    processes: dict[int, int] = {}
    # The kernel's process may end at any time.
    with contextlib.suppress(ConnectionError, EOFError):
        try:
            layer = _Setting(*marshal.loads(control.recv(_LONGEST))).warm_up(helpers)
        except RecordError as fault:
            control.send(marshal.dumps((0, str(fault))))
            return
        control.send(marshal.dumps((os.getpid(), layer.mpi.Get_library_version().splitlines()[0])))
        while request := control.recv(_LONGEST):
            what, *rest = marshal.loads(request)
            if what == "start":
                processes[rest[0]] = _start(control, Orders(*rest), layer)
            else:
                control.send(marshal.dumps(_ending(processes[rest[0]])))


class _Setting:
    """Settings common to all ranks.

    Attributes:
        memory: Address space for payloads, bytes.
        modules: Modules to import beforehand, if they are installed.
    """

    def __init__(self, memory: int, modules: Sequence[str]) -> None:
        self.memory = memory
        self.modules = modules

    def warm_up(self, helpers: set[int]) -> Layer:
        """Import what programs need, initialise MPI, prepare the layer, and prepare memory for sharing.

        Args:
            helpers: Gets the processes that the MPI library has started.

        Raises:
            RecordError: If this computer does not allow it.
        """
        from mpi4py import MPI  # noqa: PLC0415 - a rank's process is the only place for it

        helpers |= _children()
        fault = fault_of_mpi4py()
        if fault:
            raise RecordError(fault)
        for name in self.modules:
            # The program itself will report any fault of a module.
            with contextlib.suppress(Exception):
                importlib.import_module(name)
        remove_names()  # no other process opens it, and ranks may be killed
        layer = prepare(MPI, Arena(self.memory))
        gc.collect()
        gc.freeze()
        return layer


def _start(control: socket.socket, orders: Orders, layer: Layer) -> int:
    """Fork a rank, and pass on the other ends of its pipes."""
    (to_rank, from_kernel), (to_kernel, from_rank) = os.pipe()[::-1], os.pipe()[::-1]
    sys.stdout.flush()
    sys.stderr.flush()
    with warnings.catch_warnings():
        # A fork loses the library's waiting thread. A rank does not need it, because it does not communicate through
        # the library.
        warnings.simplefilter("ignore", DeprecationWarning)
        process = os.fork()
    if process == 0:
        os.close(to_rank)
        os.close(from_rank)
        control.close()
        _set_streams(orders.rank)
        become(orders, Channel(from_kernel, to_kernel), layer)
    socket.send_fds(control, [marshal.dumps(process)], [from_rank, to_rank])
    for descriptor in (to_rank, from_kernel, to_kernel, from_rank):
        os.close(descriptor)
    return process


def _set_streams(rank: int) -> None:
    """Give only the first rank the standard input, and show lines as they are written."""
    if rank:
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]


def _ending(process: int) -> int:
    """Wait for a process to end; return its exit status, or minus the signal that ended it."""
    deadline = time.monotonic() + _PATIENCE
    pause = 0.0002
    while True:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > deadline:
            os.kill(process, signal.SIGKILL)
        time.sleep(pause)
        pause = min(2 * pause, 0.05)


def _adopt_orphans() -> None:
    """Become the parent of processes that ranks leave behind, whatever their session."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _end_all(helpers: Set[int]) -> None:
    """End all ranks and their descendants, but not the helpers: orphans become children of this process."""
    with contextlib.suppress(ChildProcessError):
        while others := _children() - helpers:
            for process in others:
                os.kill(process, signal.SIGKILL)
            os.waitpid(-1, 0)


def _children() -> set[int]:
    """Return the processes whose parent is this one."""
    return set(map(int, Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()))


def main(words: list[str]) -> None:
    """Serve on the socket whose descriptor is given."""
    with socket.socket(fileno=int(words[0])) as control:
        serve(control)
