"""Who simulates: this process, other processes here, MPI processes, or a Dask cluster; the figures are the same.

All are reached through :class:`concurrent.futures.Executor`. Programs travel once to each worker, jobs in chunks. What
is to be simulated, and in which order, is not decided here.
"""

from __future__ import annotations

import importlib
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, suppress
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any

from clue.errors import ReplayError, UsageError
from clue.kernel import is_awaited
from clue.purchase.library import Library
from clue.purchase.outcome import Summary
from clue.purchase.runs import Job, perform

PROCESSES, MPI, DASK = "processes", "mpi", "dask://"

#: So long this process simulates alone; if the rest would take longer than the second figure, it starts others.
_ALONE, _WORTH_PROCESSES = 0.5, 2.0
#: A worker gets its share of a round in at least so many chunks, so that none waits long for another; at most so many
#: jobs each, so that progress is seen.
_CHUNKS_PER_WORKER, _LARGEST_CHUNK = 4, 32

_START_MPI = "mpiexec -n 4 python -m mpi4py.futures -m clue simulate …"
Performed = Iterator[tuple[int, tuple[Summary, ...]]]
_Submit = Callable[[list[Job]], "Future[list[tuple[Summary, ...]]]"]


def check_executor(executor: str) -> None:
    """Check that an executor is known and can be used here, before time is spent on other things.

    Raises:
        UsageError: With what to do about it.
    """
    if executor == MPI:
        _check_mpi()
    elif executor.startswith(DASK):
        _dask()
        if not executor.removeprefix(DASK):
            raise UsageError(f"executor must name the scheduler's host and port (dask://HOST:PORT), got {executor}")
    elif executor != PROCESSES:
        raise UsageError(f"executor must be {PROCESSES}, {MPI} or {DASK}HOST:PORT, got {executor}")


class Crew:
    """The workers of a comparison; to be used in a ``with`` block.

    Args:
        library: The programs.
        engine: Which engine replays them.
        executor: ``"processes"``, ``"mpi"`` or ``"dask://HOST:PORT"``.
        workers: Number of processes, for ``"processes"``; they are started where there is enough to do.
    """

    def __init__(self, library: Library, engine: str, executor: str = PROCESSES, workers: int = 1) -> None:
        self._library = library
        self._engine = engine
        self._executor = executor
        self._workers = workers
        self._opened = ExitStack()
        self._submit: _Submit | None = None
        self._alone = 0.0

    def __enter__(self) -> Crew:
        if self._executor != PROCESSES:
            self._open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened.__exit__(kind, error, trace)

    def perform(self, jobs: Sequence[Job]) -> Performed:
        """Simulate jobs; yields the place of each and its simulations, as they are done.

        Raises:
            ReplayError: If a simulation cannot go on, or a worker is lost.
        """
        start = 0
        if self._submit is None:
            for start, summaries in self._perform_alone(jobs):
                yield start, summaries
            start += bool(jobs)
        if start < len(jobs):
            yield from self._perform_elsewhere(jobs, start)

    def _perform_alone(self, jobs: Sequence[Job]) -> Performed:
        """Simulate in this process, until it is worth while to start others."""
        taken, done = 0.0, 0
        for i, job in enumerate(jobs):
            # What is left will take a fraction of this time; the processors have a compiler to run meanwhile.
            awaited = is_awaited(self._engine)
            begin = time.perf_counter()
            summaries = perform(job, self._library, self._engine)
            took = time.perf_counter() - begin
            yield i, summaries
            if awaited:
                continue
            taken, done, self._alone, left = taken + took, done + 1, self._alone + took, len(jobs) - i - 1
            worth = left > 1 and taken / done * left > _WORTH_PROCESSES
            if self._workers > 1 and self._alone > _ALONE and worth:
                return

    def _perform_elsewhere(self, jobs: Sequence[Job], start: int) -> Performed:
        submit = self._submit or self._open()
        size = min(-(-(len(jobs) - start) // (_CHUNKS_PER_WORKER * self._workers)), _LARGEST_CHUNK)
        pending = {submit(list(jobs[at : at + size])): at for at in range(start, len(jobs), size)}
        try:
            for future in as_completed(pending):
                yield from enumerate(future.result(), pending[future])
        except BrokenProcessPool:
            raise ReplayError(
                "a process that simulated was ended from outside, perhaps for want of memory: "
                "use fewer processes (workers)"
            ) from None
        except BaseException:
            # Processes end of themselves; a future that is cancelled here and broken there would have two ends.
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
        # Fresh processes, not forked ones: whoever calls may have threads (a progress display has).
        context = get_context("spawn")
        theirs, lifeline = context.Pipe(duplex=False)
        executor = ProcessPoolExecutor(self._workers, context, _begin_process, (*self._initial(), theirs))

        # Whatever is still being simulated then, nobody waits for it.
        self._opened.callback(executor.shutdown)
        self._opened.callback(lifeline.close)
        # This starts a process of its own, which lets go of what is held back below.
        resource_tracker.ensure_running()

        def submit(jobs: list[Job]) -> Future[list[tuple[Summary, ...]]]:
            # Submitting starts processes, which cannot yet do as Ctrl-C bids: they inherit that it is held back.
            before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            try:
                return executor.submit(_perform_chunk, jobs)
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)

        return submit

    def _in_mpi(self) -> _Submit:
        futures = _check_mpi()
        executor = self._opened.enter_context(futures.MPIPoolExecutor(initializer=_begin, initargs=self._initial()))
        self._workers = executor.num_workers
        return _submitting(executor)

    def _in_dask(self) -> _Submit:
        address = "tcp://" + self._executor.removeprefix(DASK)
        try:
            client = self._opened.enter_context(_dask().Client(address, timeout=10))
        except OSError as error:
            raise UsageError(f"executor must be a Dask scheduler that answers, got {self._executor}: {error}") from None
        executor = client.get_executor(pure=False)
        self._workers = max(sum(client.nthreads().values()), 1)
        # Scattered data reach every worker once, and later ones on demand.
        initial = client.scatter(_Initial(*self._initial()), broadcast=True, hash=False)
        return lambda jobs: executor.submit(_perform_with, jobs, initial)

    def _initial(self) -> tuple[bytes, str]:
        # Packed once here rather than once for each worker.
        return pickle.dumps(self._library, pickle.HIGHEST_PROTOCOL), self._engine


def _submitting(executor: Executor) -> _Submit:
    return lambda jobs: executor.submit(_perform_chunk, jobs)


# --- what runs in workers ---


class _Initial:
    """What a worker needs once: the programs and the engine."""

    def __init__(self, library: bytes, engine: str) -> None:
        self.packed = library
        self.engine = engine
        self._library: Library | None = None

    def perform(self, jobs: Sequence[Job]) -> list[tuple[Summary, ...]]:
        """Simulate jobs one after the other."""
        if self._library is None:
            self._library = pickle.loads(self.packed)
        assert self._library is not None
        return [perform(job, self._library, self.engine) for job in jobs]


_initial: list[_Initial] = []


def _begin(library: bytes, engine: str) -> None:
    _initial[:] = [_Initial(library, engine)]


def _begin_process(library: bytes, engine: str, lifeline: Connection) -> None:
    # Ctrl-C ends it at once and without a word; what there is to say is said by the process that waits.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    threading.Thread(target=_end_with, args=(lifeline,), daemon=True).start()
    _begin(library, engine)


def _end_with(lifeline: Connection) -> None:
    """End this process when whoever started it closes its end of a pipe, or dies, whatever is being simulated."""
    with suppress(EOFError, OSError):
        lifeline.recv_bytes()
    os._exit(1)


def _perform_chunk(jobs: Sequence[Job]) -> list[tuple[Summary, ...]]:
    return _initial[0].perform(jobs)


def _perform_with(jobs: Sequence[Job], initial: _Initial) -> list[tuple[Summary, ...]]:
    return initial.perform(jobs)


# --- what has to be there ---


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
