"""Executors of tasks: this process, other local processes, MPI processes, or a Dask cluster, with equal results.

All are used through :class:`concurrent.futures.Executor`. The function that performs tasks is sent once to each worker,
with all its data, and again if its data change (:meth:`Pool.renew`); tasks are sent in chunks. The caller decides on
tasks and their order.
"""

from __future__ import annotations

import importlib
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, suppress
from multiprocessing import current_process, get_context, resource_tracker
from multiprocessing.connection import Connection
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Generic, TypeVar

from clue.errors import ReplayError, UsageError
from clue.units import is_count

_Task = TypeVar("_Task")
_Done = TypeVar("_Done")

PROCESSES, MPI, DASK = "processes", "mpi", "dask://"

#: Time for which this process works alone, s; and least estimated remaining time for which it starts others, s.
_ALONE, _WORTH_PROCESSES = 0.5, 2.0
#: Minimum number of chunks per worker in a round, so that none waits long for another; and maximum number of tasks of a
#: chunk, so that progress is visible.
_CHUNKS_PER_WORKER, _LARGEST_CHUNK = 4, 32

#: Signals that end a program.
_ENDING = frozenset((signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
_UNGUARDED = (
    'a script that uses workers must do so below if __name__ == "__main__":, because the processes import the script'
)
_START_MPI = "mpiexec -n 4 python -m mpi4py.futures -m clue simulate …"
#: Submits tasks to a worker, which performs them one after the other.
_Submit = Callable[[list[Any]], "Future[list[Any]]"]


def check_executor(executor: str) -> None:
    """Check early that an executor is known and can be used here.

    Raises:
        UsageError: If it is not; the message says what to do.
    """
    if executor == MPI:
        _check_mpi()
    elif executor.startswith(DASK):
        _dask()
        if not executor.removeprefix(DASK):
            raise UsageError(f"executor must name the scheduler's host and port (dask://HOST:PORT), got {executor}")
    elif executor != PROCESSES:
        raise UsageError(f"executor must be {PROCESSES}, {MPI} or {DASK}HOST:PORT, got {executor}")


class Pool(Generic[_Task, _Done]):
    """Workers that perform tasks; use it in a ``with`` block, any number of times.

    Args:
        do: Performs a task. It can be pickled, and so can tasks and results.
        executor: ``"processes"``, ``"mpi"`` or ``"dask://HOST:PORT"``.
        workers: Number of processes, for ``"processes"``; they are started when there is enough work.
        is_slow: Tells whether tasks are currently slower than they will be later.

    Raises:
        UsageError: If the executor or the number of workers cannot be used.
    """

    def __init__(
        self,
        do: Callable[[_Task], _Done],
        executor: str = PROCESSES,
        workers: int = 1,
        is_slow: Callable[[], bool] = lambda: False,
    ) -> None:
        check_executor(executor)
        if not is_count(workers):
            raise UsageError(f"workers must be a whole number of at least 1, got {workers!r}")
        self._do = do
        self._executor = executor
        self._workers = workers
        self._is_slow = is_slow
        self._opened = ExitStack()
        self._submit: _Submit | None = None
        self._alone = 0.0
        self._began = False

    def __enter__(self) -> Pool[_Task, _Done]:
        if self._executor != PROCESSES:
            self._open()
        elif self._workers > 1 and getattr(current_process(), "_inheriting", False):
            # This process is itself starting as a worker, and imports the script that asked for workers.
            raise UsageError(_UNGUARDED)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._submit, self._alone = None, 0.0
        self._opened.__exit__(kind, error, trace)

    def renew(self) -> None:
        """Let workers that exist get the function that performs tasks anew, as its data have changed.

        Raises:
            UsageError: If the executor cannot be used again.
        """
        if self._submit is not None:
            self._submit = None
            self._opened.close()
            self._open()

    def perform(self, tasks: Sequence[_Task]) -> Iterator[tuple[int, _Done]]:
        """Perform tasks; yields the index and result of each as it is completed.

        Raises:
            ReplayError: If a worker is lost.
            Exception: Any exception of a task.
        """
        start = 0
        if self._submit is None:
            for start, done in self._perform_alone(tasks):
                yield start, done
            start += bool(tasks)
        if start < len(tasks):
            yield from self._perform_elsewhere(tasks, start)

    def _perform_alone(self, tasks: Sequence[_Task]) -> Iterator[tuple[int, _Done]]:
        """Perform tasks in this process, until starting others is worth while."""
        taken, counted = 0.0, 0
        for i, task in enumerate(tasks):
            # The remaining work takes a fraction of this time, and the processors have other work meanwhile.
            slow = self._is_slow()
            begin = time.perf_counter()
            done = self._do(task)
            took = time.perf_counter() - begin
            yield i, done
            if slow:
                continue
            taken, counted, self._alone, left = taken + took, counted + 1, self._alone + took, len(tasks) - i - 1
            worth = left > 1 and taken / counted * left > _WORTH_PROCESSES
            if self._workers > 1 and self._alone > _ALONE and worth:
                return

    def _perform_elsewhere(self, tasks: Sequence[_Task], start: int) -> Iterator[tuple[int, _Done]]:
        submit = self._submit or self._open()
        size = min(-(-(len(tasks) - start) // (_CHUNKS_PER_WORKER * self._workers)), _LARGEST_CHUNK)
        pending = {submit(list(tasks[at : at + size])): at for at in range(start, len(tasks), size)}
        try:
            for future in as_completed(pending):
                done = future.result()
                self._began = True
                yield from enumerate(done, pending[future])
        except BrokenProcessPool:
            raise ReplayError(
                "a process that simulated was ended from outside, perhaps for want of memory: "
                "use fewer processes (workers)"
                if self._began
                else f"a process that was to simulate ended at its start: its error may stand above; {_UNGUARDED}"
            ) from None
        except BaseException:
            # Processes end by themselves; a future cancelled here and broken there would be completed twice.
            for future in pending if self._executor != PROCESSES else ():
                future.cancel()
            raise

    def _open(self) -> _Submit:
        if self._executor == PROCESSES:
            self._submit = self._in_processes()
        else:
            self._submit = self._in_mpi() if self._executor == MPI else self._in_dask()
        return self._submit

    def _in_processes(self) -> _Submit:
        # Spawned processes, not forked ones: the caller may have threads (a progress display has).
        context = get_context("spawn")
        theirs, lifeline = context.Pipe(duplex=False)
        executor = ProcessPoolExecutor(self._workers, context, _begin_process, (self._in_file(), theirs))

        # Nobody waits for tasks that are still running when the pool closes.
        self._opened.callback(executor.shutdown)
        self._opened.callback(lifeline.close)
        # This starts a separate process and unblocks signals, so it must precede the blocking of signals below.
        resource_tracker.ensure_running()

        def submit(tasks: list[Any]) -> Future[list[Any]]:
            # Submitting starts processes, which inherit blocked signals, so that nothing interrupts them yet. If a
            # signal ended this process now, a new process would not find its input, and print a traceback.
            before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
            try:
                return executor.submit(_do_chunk, tasks)
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)

        return submit

    def _in_file(self) -> Path:
        """Return a file of the function that performs tasks, which lasts as long as the workers.

        Workers are started with its path, which is short. A worker that dies at its start reads nothing, and this
        process would wait for ever if the function itself filled the pipe.
        """
        packed = self._packed()
        try:
            path = Path(self._opened.enter_context(TemporaryDirectory(prefix="clue-"))) / "function"
            path.write_bytes(packed)
        except OSError as error:
            raise UsageError(
                f"workers need {-(-len(packed) // (1 << 20))} MB for temporary files (TMPDIR), got: {error.strerror}; "
                "free some, or use one worker"
            ) from None
        return path

    def _in_mpi(self) -> _Submit:
        futures = _check_mpi()
        executor = self._opened.enter_context(futures.MPIPoolExecutor(initializer=_begin, initargs=(self._packed(),)))
        self._workers = executor.num_workers
        return lambda tasks: executor.submit(_do_chunk, tasks)

    def _in_dask(self) -> _Submit:
        address = "tcp://" + self._executor.removeprefix(DASK)
        try:
            client = self._opened.enter_context(_dask().Client(address, timeout=10))
        except OSError as error:
            raise UsageError(f"executor must be a Dask scheduler that answers, got {self._executor}: {error}") from None
        executor = client.get_executor(pure=False)
        self._workers = max(sum(client.nthreads().values()), 1)
        # Scattered data reach every worker once, and later ones on demand.
        do = client.scatter(self._do, broadcast=True, hash=False)
        return lambda tasks: executor.submit(_do_chunk, tasks, do)

    def _packed(self) -> bytes:
        # Packed once here rather than once for each worker.
        return pickle.dumps(self._do, pickle.HIGHEST_PROTOCOL)


# --- what runs in workers ---


#: Function that performs tasks in this process, if it is a worker.
_how: list[Callable[[Any], Any]] = []


def _begin(packed: bytes) -> None:
    _how[:] = [pickle.loads(packed)]


def _begin_process(packed: Path, lifeline: Connection) -> None:
    # Ctrl-C ends a worker silently; the waiting process reports the interrupt.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
    threading.Thread(target=_end_with, args=(lifeline, packed.parent), daemon=True).start()
    _begin(packed.read_bytes())


def _end_with(lifeline: Connection, folder: Path) -> None:
    """End this process as soon as its parent closes its end of a pipe, or dies, which leaves the folder behind."""
    with suppress(EOFError, OSError):
        lifeline.recv_bytes()
    rmtree(folder, ignore_errors=True)
    os._exit(1)


def _do_chunk(tasks: Sequence[Any], do: Callable[[Any], Any] | None = None) -> list[Any]:
    return [(do or _how[0])(task) for task in tasks]


# --- requirements ---


def _check_mpi() -> Any:
    """Return mpi4py.futures, if this program was started by it."""
    futures = importlib.import_module("mpi4py.futures")
    core = importlib.import_module("mpi4py.futures._core")
    if getattr(core, "SharedPool", None) is None:
        raise UsageError(f"executor mpi must be started with its processes: {_START_MPI}")
    return futures


def _dask() -> Any:
    try:
        return importlib.import_module("distributed")
    except ModuleNotFoundError:
        raise UsageError('executor dask needs a package that is not installed: pip install "clue[dask]"') from None
