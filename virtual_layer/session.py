"""One rank's recording from MPI's initialisation to the end of the program, and the files it leaves.

The files are those of :mod:`clue.trace.parts`, and ``W.spawn.json`` with the parents of a spawned world W. Ranks do not
wait for each other at the end; rank 0 of the first world waits for the others' files and packs the trace, unless the
caller does.

Two jobs may record to one place at once. So all ranks make their files in a folder of their own, which rank 0 then
moves to the target: no file is ever written by two recordings. The one that begins later stays; the other finds its
files gone when it ends.
"""

from __future__ import annotations

import atexit
import errno
import faulthandler
import json
import os
import platform
import resource
import shutil
import signal
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from clue.errors import ClueError, RecordError
from clue.trace.computer import processor_name
from clue.trace.parts import END, FIRST_WORLD, FOLDER, STACK, START, End, Start, stem
from clue.trace.place import check_target, repeats_beside
from clue.trace.sites import DEEPEST, MOST_SITES
from virtual_layer import interpose, regions, shared_memory
from virtual_layer.below import Signs
from virtual_layer.catalogue import CALLS, MpiCall, title
from virtual_layer.communicators import Identity, RecordedComm
from virtual_layer.compatibility import fault_of_launcher, fault_of_mpi4py, is_first
from virtual_layer.computer import Counters
from virtual_layer.imports import Imports
from virtual_layer.recorder import MOST_REGIONS, Recorder
from virtual_layer.rows import RowFile
from virtual_layer.sockets import Sockets
from virtual_layer.spawning import announcement
from virtual_layer.telling import tell

#: Bytes reserved for the reason of an early end, so that it can be written on a full disk.
_ROOM = 2048
#: Errors of moving a folder to a place where another recording puts or removes its own at this moment; most attempts,
#: and the time between them, seconds.
_TAKEN = {errno.ENOENT, errno.EEXIST, errno.ENOTEMPTY}
_ATTEMPTS, _PAUSE = 100, 0.01


@dataclass(frozen=True, slots=True)
class Assignment:
    """What is recorded, and where.

    Attributes:
        target: Folder of the trace.
        shown: The same in messages: the caller may move it.
        program: As the user named it.
        arguments: Its arguments.
        settings: Environment variables that the layer set.
        child: JSON file that announces the parents of a spawned world, or ``None``.
        quiet: Whether the caller, not this process, shows the notes of the trace.
        unpacked: Whether the caller packs the trace.
    """

    target: Path
    shown: Path
    program: str
    arguments: tuple[str, ...]
    settings: Mapping[str, str] = field(default_factory=dict)
    child: Path | None = None
    quiet: bool = False
    unpacked: bool = False


class Session:
    """A rank's recording.

    Attributes:
        below: Signs that the program calls MPI past mpi4py.
        speaks: Whether this process tells what stops all of them: one of them does.
    """

    def __init__(self, assignment: Assignment) -> None:
        self._assignment = assignment
        self._root = assignment.target
        self._recorder: Recorder | None = None
        self.speaks = True
        self._made = False
        self._process = os.getpid()
        self._fault = ""
        self._cwd = os.getcwd()  # noqa: PTH109 - as text
        self._began = time.perf_counter()
        self._started = time.time_ns()
        self._described = b""
        self.below, self._sockets = Signs(), Sockets()
        self._reading: Counters | None = None
        self.imports = Imports()

    @property
    def began(self) -> bool:
        """Whether the program initialised MPI."""
        return self._recorder is not None

    def look_out(self) -> None:
        """Note, from now on, other ways in which the program communicates; call this before it starts."""
        self.below.watch()
        self._sockets.watch()

    def watch(self, mpi: Any) -> None:
        """Begin as soon as MPI is initialised: now, or when the program initialises it."""
        fault = fault_of_mpi4py()
        if fault:
            raise RecordError(fault)
        self.below.watch_handles(mpi)
        if mpi.Is_initialized() and not mpi.Is_finalized():
            self._begin(mpi)
            return
        for name in ("Init", "Init_thread"):
            setattr(mpi, name, self._begin_after(mpi, getattr(mpi, name)))

    def _begin_after(self, mpi: Any, initialise: Any) -> Any:
        def initialised(*args: Any, **kwargs: Any) -> Any:
            result = initialise(*args, **kwargs)
            if self._recorder is None:
                self._begin(mpi)
            return result

        return initialised

    def _begin(self, mpi: Any) -> None:
        if self._assignment.child is None:
            fault = fault_of_launcher(mpi, os.environ)
            if fault:
                self.speaks = is_first(os.environ)
                raise RecordError(fault)
            self._together(mpi, self._make_folder)
            self._root = Path(mpi.COMM_WORLD.bcast(str(self._root)))
        self._together(mpi, self._make_files)
        if self._assignment.child is None:
            self._together(mpi, self._move_to_target)
            self._root = self._assignment.target
        shared_memory.remove_names(shared_memory.MPICH)
        recorder = self._recorder
        assert recorder is not None, "its files are made"
        recorder.spawn_folder = self._folder
        recorder.on_abort = self.fail
        if self._assignment.child is not None:
            parents = [(world, rank) for world, rank in self._parents]
            group = recorder.comms.world.group
            recorder.comms.join(mpi.Comm.Get_parent(), "Spawn", self._world, group, parents)
        interpose.interpose(mpi, recorder)
        self._follow_pickle(mpi, recorder)
        regions.listen(recorder)
        os.register_at_fork(after_in_child=self._leave_to_parent)
        atexit.register(self.finish)
        self._watch_for_the_end()
        self._reading = Counters.now()
        recorder.restart()

    def _leave_to_parent(self) -> None:
        """Record nothing in a process that the program forked: it shares the rows of the rank, but is not the rank."""
        assert self._recorder is not None
        self._recorder.on = False
        regions.ignore(self._recorder)

    def _watch_for_the_end(self) -> None:
        """Have the interpreter write the rank's stack when a signal ends it, as after a hang."""
        faulthandler.register(signal.SIGTERM, self._stack, all_threads=False, chain=True)

    def _together(self, mpi: Any, step: Callable[[Any], None]) -> None:
        """Do a step on all ranks, or fail on all of them if it fails on one."""
        fault = None
        try:
            step(mpi)
        except OSError as error:
            fault = f"{self._assignment.shown}: trace must be writable, got {error.strerror or error}"
        except ClueError as error:
            fault = str(error)
        faults = [each for each in mpi.COMM_WORLD.allgather(fault) if each is not None]
        if faults:
            if self._made:  # and never remove a folder that was refused
                shutil.rmtree(self._root, ignore_errors=True)
            self.speaks = mpi.COMM_WORLD.Get_rank() == 0
            raise RecordError(faults[0])

    @property
    def _folder(self) -> Path:
        return self._root / FOLDER

    @property
    def _stem(self) -> Path:
        return self._folder / self._name

    def _make_folder(self, mpi: Any) -> None:
        if mpi.COMM_WORLD.Get_rank() == 0:
            target = self._assignment.target
            check_target(target)
            self._root = target.with_name(f".{target.name[:50]}.{os.urandom(6).hex()}.part")
            self._folder.mkdir(parents=True)
            self._made = True

    def _make_files(self, mpi: Any) -> None:
        self._introduce(mpi)
        self._recorder = Recorder(mpi, self._stem, self._world, self._cwd)
        self._stack = self._stem.with_suffix(STACK).open("wb")
        self._overhead = calibrate(self._recorder, self._stem)

    def _move_to_target(self, mpi: Any) -> None:
        if mpi.COMM_WORLD.Get_rank() != 0:
            return
        for left in reversed(range(_ATTEMPTS)):
            try:
                clear_target(self._assignment.target)
                self._root.rename(self._assignment.target)
                return
            except OSError as error:
                if error.errno not in _TAKEN or not left:
                    raise
            time.sleep(_PAUSE)

    def _follow_pickle(self, mpi: Any, recorder: Recorder) -> None:
        plain = mpi.Pickle.__init__

        def set_up(pickle: Any, *args: Any, **kwargs: Any) -> None:
            (recorder.pickles.watch if pickle is mpi.pickle else plain.__get__(pickle))(*args, **kwargs)

        interpose.replace(mpi.Pickle, "__init__", set_up)

    def _introduce(self, mpi: Any) -> None:
        self._world, self._parents = self._origin()
        world = mpi.COMM_WORLD
        self._name = stem(self._world, world.Get_rank())
        self._start = Start(
            world=self._world,
            rank=world.Get_rank(),
            size=world.Get_size(),
            host=socket.gethostname(),
            started=time.time_ns(),
            program=self._assignment.program,
            arguments=self._assignment.arguments,
            calls=tuple(title(call) for call in CALLS),
            process=os.getpid(),
            settings=dict(self._assignment.settings),
            mpi=mpi.Get_library_version().strip().rstrip("\0").splitlines()[0],
            python=platform.python_version(),
            processor=processor_name(),
            clock="CPU time of the thread (CLOCK_THREAD_CPUTIME_ID)",
        )
        self._described = self._start.to_json() + b" " * _ROOM
        self._stem.with_suffix(START).write_bytes(self._described)

    def _origin(self) -> tuple[str, list[Identity]]:
        if self._assignment.child is None:
            return FIRST_WORLD, []
        paper = json.loads(self._assignment.child.read_text())
        return paper["world"], paper["parents"]

    def fail(self, why: str) -> None:
        """Write into the trace why this rank failed; this needs no further disk space."""
        if self._recorder is None or self._fault or os.getpid() != self._process:
            return
        self._fault = why
        if not self._is_in_place():
            return
        self._described = replace(self._start, fault=why[: _ROOM // 8]).to_json().ljust(len(self._described))
        descriptor = os.open(self._stem.with_suffix(START), os.O_WRONLY)
        os.pwrite(descriptor, self._described, 0)
        os.close(descriptor)

    def _is_in_place(self) -> bool:
        """Tell whether this rank's files are still there: a later recording to the same place removes them."""
        try:
            return self._stem.with_suffix(START).read_bytes() == self._described
        except OSError:
            return False

    def finish(self) -> None:
        """End the recording, and pack the trace if this is the first rank and all others ended."""
        recorder = self._recorder
        if recorder is None or os.getpid() != self._process:
            return
        regions.ignore(recorder)
        wall, reading = time.perf_counter() - self._began, Counters.now()
        if recorder.requests.freed:
            interpose.recording(recorder, _FINALIZE, CALLS[_FINALIZE], _nothing)()
        recorder.close()
        if recorder.lost:
            self.fail(recorder.lost)
        elif not self._fault and self._is_in_place():
            self._conclude(recorder, wall, reading)
        if recorder.comms.me == (FIRST_WORLD, 0):
            self._pack(recorder)

    def _conclude(self, recorder: Recorder, wall: float, reading: Counters | None) -> None:
        groups: dict[tuple[Identity, ...], int] = {}
        end = End(
            rows=recorder.rows.count,
            communicators=tuple(_describe(each, groups) for each in recorder.comms.table),
            groups=tuple(_compact(group, recorder.comms.world_key) for group in groups),
            regions=tuple(recorder.regions),
            peak_memory=max(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - recorder.probe.reserved, 0),
            cpu=time.process_time(),
            wall=wall,
            flops=recorder.flops,
            worlds=tuple(recorder.worlds),
            overhead=self._overhead,
            notes=tuple(self._notes(recorder)),
            sockets=self._sockets.facts(),
            computer=None if self._reading is None or reading is None else self._reading.until(reading),
            imports=self.imports.found(self._started),
            probe=recorder.probe.work,
            sites=recorder.paths.sites(self._started),
        )
        final, draft = self._stem.with_suffix(END), self._stem.with_suffix(".end.draft")
        try:
            draft.write_bytes(end.to_json())
            draft.rename(final)
        except OSError as error:
            recorder.stop(error.strerror or str(error))
            self.fail(recorder.lost)

    def _notes(self, recorder: Recorder) -> list[str]:
        notes = [*filter(None, [self.below.note()])]
        if recorder.faults:
            notes.append(f"{recorder.faults} calls could not be read and count as not modelled")
        if recorder.paths.unknown:
            notes.append(
                f"{recorder.paths.unknown:,} calls have no call site: at most {MOST_SITES - 1:,} are told apart"
            )
        if recorder.paths.cut:
            notes.append(f"of call paths of more than {DEEPEST} functions the innermost are kept")
        if recorder.unnamed:
            notes.append(
                f"{recorder.unnamed:,} times a region began whose name is not kept: "
                f"at most {MOST_REGIONS - 1:,} are told apart"
            )
        if len(recorder.clocks) > 1:
            notes.append(
                f"{len(recorder.clocks)} threads called MPI: their calls are replayed one after the other, "
                "as they ended: a replay or a skeleton may wait for ever"
            )
        return notes + recorder.last.elsewhere()

    def _pack(self, recorder: Recorder) -> None:
        try:
            if self._assignment.unpacked:
                self._is_whole(recorder)  # the others may still need this rank
                return
            # These modules need numpy, which only this rank loads, at its end.
            from clue.trace.pack import pack  # noqa: PLC0415
            from clue.trace.parts.reading import describe_incomplete  # noqa: PLC0415

            whole = self._is_whole(recorder)
            if not self._is_in_place():
                tell(
                    f"{self._assignment.shown}: trace must be written by one recording at a time, got another one "
                    "there that began later, or none: this one is lost: name each its own trace (-o)"
                )
            elif not whole:
                if not self._assignment.quiet:
                    tell(describe_incomplete(self._assignment.target))
            else:
                notes = (*pack(self._assignment.target).notes, *_of_repeats(self._assignment.target))
                for note in () if self._assignment.quiet else notes:
                    tell(f"{self._assignment.program}: {note}")
        except Exception as error:
            tell(str(error))

    def _is_whole(self, recorder: Recorder) -> bool:
        """Wait until all ranks have ended; return whether all ended well."""
        return not self._fault and _await(self._folder, recorder, self._is_in_place)


#: The call that waits for requests that the program has left to the library.
_FINALIZE = next(index for index, call in enumerate(CALLS) if (call.type, call.name) == ("", "Finalize"))


def clear_target(target: Path) -> None:
    """Remove an earlier trace at the target.

    Raises:
        UsageError: If it names an archive, or something else is there.
        OSError: If it cannot be removed.
    """
    check_target(target)
    if target.exists():
        # Where the folder around it may not be written, its files would be removed, and only then would that fail.
        if not os.access(target.absolute().parent, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(target))
        shutil.rmtree(target)


def _of_repeats(target: Path) -> list[str]:
    """Tell of recordings beside a new one that count as its repeats; other jobs may be making them at this moment."""
    names = ", ".join(path.name for path in repeats_beside(target))
    if not names:
        return []
    return [f"{names} beside the trace: readers take each for a repeat of it; remove those of an earlier run"]


def calibrate(recorder: Recorder, stem: Path) -> float:
    """Measure the overhead of recording a call, seconds, and set the floor of a burst, with an empty call."""
    bursts: list[int] = []
    nothing = MpiCall("", "", lambda recorder, *_: bursts.append(recorder.emit_burst()))
    rows, scratch = recorder.rows, stem.with_suffix(".calibration")
    recorder.rows = RowFile(scratch)
    recorded = interpose.recording(recorder, 0, nothing, _nothing)
    differences = [_processor_time(recorded) - _processor_time(_nothing) for _ in range(10)]
    recorder.rows.close()
    scratch.unlink()
    recorder.rows = rows
    recorder.floor = int(_middle(bursts))
    return _middle(differences)


def _middle(values: Sequence[float]) -> float:
    """Return the upper median. The program may be the first to import what ``statistics`` needs."""
    return sorted(values)[len(values) // 2]


def _nothing() -> None:
    pass


def _processor_time(function: Callable[[], object], times: int = 50) -> float:
    begin = time.thread_time()
    for _ in range(times):
        function()
    return (time.thread_time() - begin) / times


def _describe(each: RecordedComm, groups: dict[tuple[Identity, ...], int]) -> tuple[str, str | None, int, int | None]:
    """Return a communicator in the form of an End, its groups by number; a new group gets the next number."""
    local = groups.setdefault(each.group, len(groups))
    remote = None if each.remote is None else groups.setdefault(each.remote, len(groups))
    return each.name, each.key, local, remote


def _compact(group: tuple[Identity, ...], world: str) -> tuple[int | Identity, ...]:
    return tuple(rank if of == world else (of, rank) for of, rank in group)


def _await(folder: Path, recorder: Recorder, is_in_place: Callable[[], bool]) -> bool:
    """Wait until every rank of every world has ended, or their files are gone; return whether all ended well."""
    seen: dict[str, int] = {}
    worlds = [recorder.comms.world_key]
    missing = {stem(worlds[0], rank) for rank in range(len(recorder.comms.world.group))}
    pause = 0.002
    while missing:
        if not is_in_place():
            return False
        for name in sorted(missing):
            end = folder / (name + END)
            if end.exists():
                missing.discard(name)
                for world in json.loads(end.read_text())["worlds"]:
                    if world not in seen:
                        seen[world] = 1
                        missing |= _children(folder, world)
            elif not _hopeful(folder / (name + START)):
                return False
        _progress(recorder.mpi)
        time.sleep(pause)
        pause = min(pause * 1.5, 0.1)
    return True


def _children(folder: Path, world: str) -> set[str]:
    first = folder / (stem(world, 0) + START)
    deadline = time.monotonic() + 60.0
    while not first.exists():
        if time.monotonic() > deadline or not announcement(folder, world).exists():
            return set()
        time.sleep(0.01)
    return {stem(world, rank) for rank in range(json.loads(first.read_text())["size"])}


def _hopeful(introduction: Path) -> bool:
    """Tell whether a rank that has not ended yet may still end well; it may not if it failed or is known to be dead."""
    try:
        facts = json.loads(introduction.read_text())
    except (OSError, ValueError):
        return True
    if facts["fault"]:
        return False
    if facts["host"] != socket.gethostname():
        return True
    try:
        os.kill(facts["process"], 0)
    except ProcessLookupError:
        return introduction.with_suffix(END).exists()
    except PermissionError:
        pass
    return True


def _progress(mpi: Any) -> None:
    # Other ranks may still need this process for progress of their messages.
    if not mpi.Is_finalized():
        mpi.COMM_WORLD.Iprobe()
