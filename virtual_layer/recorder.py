"""Recording: turns what one rank does into rows. MPI calls are interpreted by :mod:`virtual_layer.meaning`, not here.

A burst is the CPU time of the calling thread between two calls. The recorder reads that clock when a call begins and
after all its own work for the call, so a burst contains neither MPI's time nor its own.
"""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from sys import _getframe
from threading import RLock, get_ident
from time import perf_counter_ns, thread_time_ns
from typing import Any

from clue.trace.ops import ANY, NO_REQUEST, PROC_NULL, Flag, Op
from clue.trace.parts import EXTRAS, READINGS, ROW, ROWS
from virtual_layer.communicators import Communicators
from virtual_layer.paths import CallPaths
from virtual_layer.pickles import Pickles
from virtual_layer.probe import Probe
from virtual_layer.requests import RecordedRequest, Requests
from virtual_layer.rows import WINDOW, ExtraFile, RowFile
from virtual_layer.settings import is_on
from virtual_layer.telling import tell
from virtual_layer.threads import LastCall

_PACK, _SIZE = ROW.pack_into, ROW.size
#: Most regions of a trace, so that their numbers fit a row.
MOST_REGIONS = 1 << 16
_CONTINUED = int(Flag.CONTINUED)
#: Whether a call that cannot be read is an error; set by tests of the layer itself.
STRICT = "VIRTUAL_LAYER_STRICT" in os.environ


class Recorder:
    """The rows of one rank while it runs.

    Attributes:
        mpi: The module ``mpi4py.MPI``.
        on: Whether calls are being recorded.
        lost: Why recording stopped early, or ``""``.
        comms: Its communicators.
        requests: Its requests.
        messages: Serial numbers of matched messages not yet received, by Python object.
        pickles: Sizes of pickled objects.
        probe: Readings of the host's speed.
        paths: Call paths of its calls.
        worlds: Keys of the worlds it spawned, in order.
        windows: Its windows by handle (:mod:`virtual_layer.meaning.windows`); ``None`` for those of one member.
        floor: CPU time between two immediately successive calls, ns: it is spent on reading the clock, not on
            computation.
        faults: Number of calls that could not be read and were recorded as not modelled.
        unnamed: Number of regions that were entered and have no name in the trace, because it has too many others.
        inside: Threads that are in a recorded call.
        handled: Classes of errors of their present calls, raised or handled by the program's own handlers, by thread.
        clocks: CPU time of each thread that called MPI when its last call ended, ns.
    """

    # Slots: with this many attributes, instances no longer share the keys of their dictionaries, and access is slower.
    __slots__ = (
        "_extras",
        "_null",
        "_owed",
        "_region",
        "_site_of",
        "_stack",
        "_stamp",
        "_steps",
        "any_source",
        "any_tag",
        "clocks",
        "comms",
        "fast_reduce",
        "faults",
        "floor",
        "flops",
        "handled",
        "inside",
        "last",
        "lock",
        "lost",
        "messages",
        "mpi",
        "new_status",
        "on",
        "on_abort",
        "origin",
        "paths",
        "pickles",
        "probe",
        "regions",
        "requests",
        "rows",
        "spawn_folder",
        "unnamed",
        "windows",
        "worlds",
    )

    def __init__(self, mpi: Any, stem: Path, world: str, folder: str) -> None:
        self.mpi = mpi
        self.lost = ""
        self.comms = Communicators(mpi, world)
        self.requests = Requests()
        self.messages: dict[int, int] = {}
        self.pickles = Pickles(mpi)
        self.worlds: list[str] = []
        self.windows: dict[int, Any] = {}
        self.faults = self.unnamed = 0
        self.floor = 0
        self.fast_reduce = is_on(sys.modules[mpi.__name__.rpartition(".")[0]], "fast_reduce")
        self.spawn_folder = stem.parent
        self.on_abort: Callable[[str], None] = lambda _why: None
        self.regions: dict[str, int] = {"": 0}
        self.flops: dict[int, float] = {}
        self.lock = RLock()
        self.inside: set[int] = set()
        self.handled: dict[int, int] = {}
        self.new_status = mpi.Status
        self.rows = RowFile(stem.with_suffix(ROWS))
        self._extras = ExtraFile(stem.with_suffix(EXTRAS))
        self.probe = Probe(stem.with_suffix(READINGS))
        self.paths = CallPaths(folder, os.path.join(os.path.dirname(mpi.__file__), ""))  # noqa: PTH118, PTH120
        self._steps, self._site_of = self.paths.steps, self.paths.site_of
        self._stack: list[int] = []
        self._region = 0
        self._null, self.any_source, self.any_tag = mpi.PROC_NULL, mpi.ANY_SOURCE, mpi.ANY_TAG
        self._owed: dict[int, int] = {}
        self._stamp = (0, 0, 0, 0, 0, 0)
        self.origin = perf_counter_ns()
        self.clocks: list[list[int]] = []
        self.last = LastCall(self.clocks)
        self.on = True

    def restart(self) -> None:
        """Begin the first burst now."""
        self.probe.restart()
        self.origin = perf_counter_ns()
        self._stamp = (0, 0, 0, 0, 0, 0)
        self.last.at[0] = thread_time_ns()

    # Calls, from virtual_layer.interpose

    def open_call(self, call: int, thread: int, cpu: int, begin: int, end: int) -> None:
        """Set the call of the next rows, its times, and its call site: the caller of this function's caller."""
        # The walk of CallPaths, frame by frame outwards, inlined: a function call would cost as much as two frames.
        steps = self._steps
        try:
            frame: Any = _getframe(2)
            if self._site_of is not None:
                site = self._site_of(frame)
            else:
                while True:
                    function, further, site = steps[frame.f_lasti]
                    if function is not frame.f_code:
                        _, further, site = steps[id(frame.f_code), frame.f_lasti]
                    if further is None:
                        break
                    steps, frame = further, frame.f_back
        except (KeyError, AttributeError, ValueError):  # a new path, or one that ends in C
            site = self.paths.add(_getframe(1).f_back)
        burst = cpu - self.last.at[0] - self.floor
        if self._owed:
            burst += self._owed.pop(thread, 0)
        self._stamp = (burst if burst > 0 else 0, begin - self.origin, end - begin, call, site, 0)

    # Rows, from virtual_layer.meaning

    def emit(  # noqa: PLR0917 - the fields of a row; by place, because names cost time here
        self, op: int, comm: int = 0, peer: int = 0, tag: int = 0, nbytes: int = 0, flags: int = 0,
        request: int = NO_REQUEST, extras: Sequence[int] = (),
    ) -> int:  # fmt: skip
        """Write a row of the present call; return its number."""
        burst, begin, took, call, site, continued = self._stamp
        rows, extra = self.rows, 0
        try:
            if extras:
                extra = self._extras.append(extras)
            if rows.at == WINDOW:
                rows.advance()
        except OSError as error:
            self.stop(error.strerror or str(error))
            return -1
        at = rows.at
        try:
            _PACK(
                rows.window, at, burst, begin, took, nbytes, peer, tag, comm, request, extra, len(extras), call,
                self._region, site, flags | continued, op,
            )  # fmt: skip
        except struct.error:
            # Floats that are whole numbers may stand for ranks and tags.
            if int(peer) == peer and int(tag) == tag and (type(peer), type(tag)) != (int, int):
                return self.emit(op, comm, int(peer), int(tag), nbytes, flags, request, extras)
            raise
        rows.at = at + _SIZE
        self._stamp = (0, begin, 0, call, site, _CONTINUED)
        return (rows.base + at) // _SIZE

    def emit_burst(self) -> int:
        """Write a row for a call without meaning; return its burst, ns."""
        burst = self._stamp[0]
        self.emit(Op.LOCAL)
        return burst

    def charge(self, nanoseconds: int, *, later: bool = False) -> None:
        """Count CPU time within a call, spent on pickling for instance, as computation before or after it."""
        if later:
            thread = get_ident()
            self._owed[thread] = self._owed.get(thread, 0) + nanoseconds
        else:
            self._stamp = (self._stamp[0] + nanoseconds, *self._stamp[1:])

    def other(self) -> None:
        """Write the present call as one that the simulator does not model."""
        self.emit(Op.OTHER)

    def misread(self, error: Exception) -> None:
        """Count a call that cannot be read as not modelled, rather than disturb the program."""
        if STRICT:
            raise error
        self.faults += 1
        self.other()

    def peer(self, rank: int) -> int:
        """Translate MPI's number of a partner."""
        return rank if rank >= 0 else PROC_NULL if rank == self._null else ANY

    def complete(self, pending: RecordedRequest, status: Any) -> None:
        """Complete the row of a receive with the source and tag that matched, once its request is complete."""
        if status is None or self.lost:
            return
        if pending.cancelled and status.Is_cancelled():
            self._give_up(pending)
        elif pending.wildcard >= 0:
            tag = status.tag
            self.rows.complete(pending.wildcard, self.peer(status.source), tag if tag >= 0 else 0)

    def give_up_receives(self, pending: RecordedRequest) -> None:
        """Mark the receives of a request as cancelled, because the program will not wait for them."""
        if all(self.rows.kind(row)[1] == Op.IRECV for row in pending.rows):
            self._give_up(pending)
            pending.serials = ()

    def _give_up(self, pending: RecordedRequest) -> None:
        """Reduce a receive to the time of its call, and a send to nothing; repeating this changes nothing."""
        for row in pending.rows:
            flags, op = self.rows.kind(row)
            if not flags & Flag.CANCELLED:
                self.rows.turn(row, flags | Flag.CANCELLED, Op.POLL if op == Op.IRECV else Op.LOCAL)

    def read_speed(self) -> None:
        """Read the host's speed, between two bursts."""
        with self.lock:
            if self.on:
                try:
                    self.probe.read(self.origin)
                except OSError as error:
                    self.stop(error.strerror or str(error))

    # Regions

    def enter_region(self, name: str) -> None:
        """Begin a region: the burst so far belongs to the region before."""
        with self.lock:
            self._end_burst("region")
            self._stack.append(self._region)
            if name not in self.regions and len(self.regions) == MOST_REGIONS:
                self.unnamed += 1
                self._region = 0
            else:
                self._region = self.regions.setdefault(name, len(self.regions))

    def leave_region(self, flops: float) -> None:
        """End the region; its operations count where its time does."""
        with self.lock:
            self._end_burst("region")
            if flops and get_ident() not in self.inside:
                self.flops[self._region] = self.flops.get(self._region, 0.0) + flops
            self._region = self._stack.pop() if self._stack else 0

    def _end_burst(self, _why: str) -> None:
        thread, cpu, now = get_ident(), thread_time_ns(), perf_counter_ns()
        if not self.on or thread in self.inside:  # what a callback does belongs to its call
            return
        self.open_call(0, thread, cpu, now, now)
        if self._stamp[0]:
            self.emit(Op.COMPUTE)
        self.last.at[0] = thread_time_ns()

    # The end

    def stop(self, why: str) -> None:
        """Give up recording and let the program continue."""
        if not self.lost:
            self.lost = why
            self.on = False
            tell(f"recording stops, the program goes on: {why}")

    def close(self) -> None:
        """Write the last burst and close the files."""
        with self.lock:
            self._end_burst("end")
            self.on = False
            if not self.lost:
                self._give_up_unmatched()
            try:
                self._extras.close()
                self.probe.close()
            except OSError as error:
                self.stop(error.strerror or str(error))
            self.rows.close()

    def _give_up_unmatched(self) -> None:
        for pending in self.requests:
            if pending.wildcard >= 0 and pending.active:
                self._give_up(pending)
