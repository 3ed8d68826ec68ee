"""Child processes: their environment, and their end together with this process, however it ends."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

_HERE = str(Path(__file__).resolve().parent.parent)
#: Settings by which libraries compute in one thread, as a processor of a machine is one core.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
#: prctl(2) option: the signal that a process gets when its parent dies.
_PR_SET_PDEATHSIG = 1
_SHARED_MEMORY = Path("/dev/shm")
#: Shared memory below which MPICH may fail, bytes: it takes a few MB for each rank.
_ENOUGH_SHARED_MEMORY = 4 << 20
#: Exit statuses of a process that wrote to shared memory without room; launchers report SIGBUS in different ways.
_BUS_ERRORS = {-signal.SIGBUS, int(signal.SIGBUS), 128 + signal.SIGBUS}
#: Time between SIGTERM and SIGKILL, s.
PATIENCE = 3.0
#: Interval between checks of a process that is ending, s.
_PAUSE = 0.02
_T = TypeVar("_T")
#: Running commands of all threads.
_running: set[subprocess.Popen[Any]] = set()


def finding_clue(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which Python finds this copy of clue, installed or not."""
    paths = environment.get("PYTHONPATH", "")
    if _HERE in paths.split(os.pathsep) or "site-packages" in _HERE:
        return dict(environment)
    return {**environment, "PYTHONPATH": os.pathsep.join(filter(None, [paths, _HERE]))}


def module_command(name: str) -> list[str]:
    """Return the command that runs a module of clue.

    From Python 3.11 on, files of the current folder, such as ``clue.py``, do not stand for modules that it imports.
    """
    return [sys.executable, *(["-P"] if sys.version_info >= (3, 11) else []), "-m", name]


def standard_input(given: int | None = None) -> int | None:
    """Return the standard input for a program in a session of its own, as for :class:`subprocess.Popen`.

    Args:
        given: What it shall be; by default this process's, unless it is closed or a terminal.
    """
    if given is not None:
        return given
    closed = sys.__stdin__ is None or sys.__stdin__.closed or sys.__stdin__.isatty()
    return subprocess.DEVNULL if closed else None


def limits_hint(status: int, folder: Path = _SHARED_MEMORY) -> str:
    """Return advice if a program may have ended because of a memory limit, else ``""``.

    Args:
        status: How the program ended: its exit status, or minus the signal that ended it.
        folder: Where shared memory is.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY:
        return f": the address space is limited to {limit >> 20:,} MB: raise the limit (ulimit -v)"
    try:
        usage = shutil.disk_usage(folder)
    except OSError:
        return f": {folder} is not there, where MPI libraries keep messages"
    if status not in _BUS_ERRORS and usage.free >= _ENOUGH_SHARED_MEMORY:
        return ""
    return (
        f": {folder} has {usage.free >> 10:,} of {usage.total >> 10:,} KB free, and MPI libraries keep messages there: "
        "make it larger (docker run --shm-size 1g; mount -o remount,size=1g /dev/shm)"
    )


@cache
def mpi_of(mpiexec: str) -> str:
    """Return the kind of a launcher, by its version text: ``openmpi``, ``hydra`` (MPICH's), or ``""``."""
    answer = subprocess.run([mpiexec, "--version"], capture_output=True, text=True, errors="replace", check=False)
    text = answer.stdout + answer.stderr
    if any(name in text for name in ("Open MPI", "OpenRTE", "PRRTE")):
        return "openmpi"
    return "hydra" if "hydra" in text.lower() else ""


def open_mpi_options() -> list[str]:
    """Return the options with which Open MPI's launcher starts more ranks than cores, and runs as root."""
    return ["--oversubscribe", *(["--allow-run-as-root"] if os.geteuid() == 0 else [])]


@contextlib.contextmanager
def running(command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """Run a command in a session of its own for the duration of a block.

    When the block is left, for whatever reason, the command's whole process group is terminated: first by SIGTERM,
    which MPI launchers pass on to the ranks. If this process dies, the kernel sends SIGTERM to the command.

    Args:
        command: Words of the command.
        options: Further arguments of :class:`subprocess.Popen`.
    """
    with subprocess.Popen([*_leashed(), *command], start_new_session=True, **options) as process:
        _running.add(process)
        try:
            yield process
        finally:
            end(process)
            _running.discard(process)


def end(process: subprocess.Popen[Any], patience: float = PATIENCE) -> None:
    """Terminate a process that leads a group of its own, and that group; either may have ended already.

    Processes get some time to end; those left in the group after it, leader or not, are killed.
    """
    _signal(process, signal.SIGTERM)
    deadline = time.monotonic() + patience
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(patience)
    while _signal(process, 0) and time.monotonic() < deadline:
        time.sleep(_PAUSE)
    _signal(process, signal.SIGKILL)
    process.wait()


def _signal(process: subprocess.Popen[Any], number: int) -> bool:
    """Send a signal to the group of a process; returns whether the group exists."""
    process.poll()  # a leader that has ended belongs to its group until its status is read
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):  # some kernels raise the latter if all have ended
        return False
    return True


def side_by_side(calls: Sequence[Callable[[], _T]]) -> list[_T]:
    """Call functions that run commands, each in a thread of its own, and return what they return.

    If one of them fails, or on an interrupt, all :func:`running` commands are terminated, so that no thread waits for
    the others.
    """
    if len(calls) == 1:
        return [calls[0]()]
    futures: list[Future[_T]] = []
    with ThreadPoolExecutor(len(calls)) as pool:
        try:
            # One by one: an interrupt may come when some threads have begun and the others are not yet known here.
            for call in calls:
                futures.append(pool.submit(call))
            for ended in wait(futures, return_when=FIRST_EXCEPTION).done:
                ended.result()
            return [future.result() for future in futures]
        except BaseException:
            while _is_any_left() or not all(future.done() for future in futures):
                _end_all()  # repeatedly, because a thread may just be starting a command
                wait(futures, _PAUSE)
            raise


def _is_any_left() -> bool:
    return any(process.poll() is None for process in tuple(_running))


def _end_all() -> None:
    for process in tuple(_running):
        _signal(process, signal.SIGTERM)
    for process in tuple(_running):
        end(process)


#: Program that requests SIGTERM on the parent's death, and then becomes the command. Popen's preexec_fn could do the
#: same, but is not safe with threads, which a progress display has.
_LEASH = f"""\
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl({_PR_SET_PDEATHSIG}, signal.SIGTERM, 0, 0, 0)
if os.getppid() == int(sys.argv[1]):
    os.execvp(sys.argv[2], sys.argv[2:])
"""


def _leashed() -> list[str]:
    """Return the prefix of a command that must not survive this process; only Linux offers that."""
    return [sys.executable, "-I", "-S", "-c", _LEASH, str(os.getpid())] if sys.platform.startswith("linux") else []
