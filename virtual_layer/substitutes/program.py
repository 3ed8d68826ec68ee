"""A rank's process from its fork to its end: install the layer, run the program, report its end."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import faulthandler
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, NoReturn

from clue.trace.calls import WHERE, WHERE_SIGNAL, LiveOp
from clue.trace.wire import Channel
from virtual_layer import programs, regions
from virtual_layer.compatibility import add_hint
from virtual_layer.settings import is_on
from virtual_layer.substitutes import below, clock
from virtual_layer.substitutes.arena import Arena
from virtual_layer.substitutes.layer import Layer
from virtual_layer.substitutes.port import Port
from virtual_layer.substitutes.table import substitute

_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True)
class Orders:
    """Everything that a rank needs to start.

    Attributes:
        rank: Its number in the program, spawned worlds included.
        world: Key of its world.
        members: That world's ranks of the program.
        command: Program and arguments, as ``PROG.py …``, ``-m MODULE …`` or ``-c CODE …``.
        rate: Speed (flop/s) at which declared work counts, or ``None``: bursts are measured.
        virtual_clock: Whether Python's clocks are virtual, too.
        facts: Information about the parents of spawned ranks, or ``None``.
    """

    rank: int
    world: str
    members: Sequence[int]
    command: Sequence[str]
    rate: float | None = None
    virtual_clock: bool = False
    facts: Any = None


def prepare(mpi: Any, arena: Arena) -> Layer:
    """Install the layer before any rank exists: all ranks then share its memory and start quickly."""
    layer = Layer(mpi, Port(arena))
    substitute(layer)
    regions.listen(layer.port)
    below.guard(layer)
    layer.sockets.watch()
    layer.port.calibrate()
    return layer


def become(orders: Orders, channel: Channel, layer: Layer) -> NoReturn:
    """Become the rank of these orders; never returns."""
    try:
        _live(orders, channel, layer)
    except BaseException:  # in any case, the rank's process must not continue as the process it was forked from
        traceback.print_exc()
        _flush()
    os._exit(1)


def _live(orders: Orders, channel: Channel, layer: Layer) -> NoReturn:
    _die_with_parent()
    port = layer.port
    port.begin(channel, orders.rank, orders.rate)
    layer.begin(orders.world, orders.members, orders.facts)
    os.register_at_fork(after_in_child=partial(_leave_to_parent, port))
    _import_anew(layer)
    _draw_anew()
    faulthandler.register(WHERE_SIGNAL, os.memfd_create(WHERE), all_threads=False)
    port.wait_for_start()
    below.refuse_objects(layer)
    if orders.virtual_clock:
        clock.take_over(port)
    status = _run(list(orders.command), layer)
    below.refuse_objects(layer)
    with port:
        if not status and not layer.finalised:
            layer.leave()
        port.part(int(LiveOp.END), nbytes=status, payload=(layer.sockets.facts(), port.elsewhere()))
    os._exit(status)


def _leave_to_parent(port: Port) -> None:
    """End the conversation in a process that the program forked: it is not a rank."""
    regions.ignore(port)
    port.cut()


def _die_with_parent() -> None:
    parent = os.getppid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _draw_anew() -> None:
    """Reseed numpy's random numbers as if it had been imported here; Python reseeds its own after a fork."""
    random = sys.modules.get("numpy.random")
    if random is not None:
        random.seed()


def _import_anew(layer: Layer) -> None:
    """Let the program import ``mpi4py.MPI`` as if for the first time: settings in ``mpi4py.rc`` then apply."""
    import mpi4py  # noqa: PLC0415 - a rank's process is the only place for it

    del sys.modules["mpi4py.MPI"], mpi4py.MPI
    layer.initialised = False
    sys.meta_path.insert(0, _Reimport(layer, lambda: is_on(mpi4py, "initialize")))


class _Reimport(MetaPathFinder, Loader):
    """Finds the module that is already loaded."""

    def __init__(self, layer: Layer, initialises: Callable[[], bool]) -> None:
        self._layer = layer
        self._initialises = initialises
        self._spec = layer.mpi.__spec__

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> ModuleSpec | None:
        return ModuleSpec(name, self) if name == "mpi4py.MPI" else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:  # noqa: ARG002 - as the import system calls it
        return self._layer.mpi  # type: ignore[no-any-return]

    def exec_module(self, module: ModuleType) -> None:
        sys.meta_path.remove(self)
        module.__spec__ = self._spec
        if self._initialises():
            self._layer.initialise()


def _run(command: list[str], layer: Layer) -> int:
    """Run the program to its end, as the interpreter would; return its exit status."""
    status = 0
    try:
        try:
            programs.start(command)
        finally:
            _finish(layer)
    except SystemExit as exit_:
        status = _status(exit_.code)
    except BaseException as error:
        _tell_of(error, layer.port)
    _flush()
    return status


def _finish(layer: Layer) -> None:
    """Do what the interpreter does at exit: wait for threads, call registered functions."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    if not layer.finalised:
        with layer.port:
            layer.requests.complete_freed()


def _status(code: object) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    sys.stderr.write(f"{code}\n")
    return 1


def _tell_of(error: BaseException, port: Port) -> NoReturn:
    """Print a traceback that names the rank, tell the kernel, and end."""
    add_hint(error)
    lines = traceback.format_exception(type(error), error, _own(error.__traceback__))
    text = "".join(lines)
    _flush()
    sys.stderr.write("".join(f"rank {port.rank}: {line}\n" for line in text.splitlines()))
    _flush()
    with port:
        port.part(int(LiveOp.RAISED), payload="".join(traceback.format_exception_only(type(error), error)).strip())
    os._exit(1)


def _own(trace: Any) -> Any:
    """Remove the frames above the program's own."""
    below = trace
    while below is not None and below.tb_frame.f_globals.get("__name__") != "__main__":
        below = below.tb_next
    return below or trace


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, or the reader is gone
            stream.flush()
