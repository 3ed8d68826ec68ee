"""Calls about this process as a part of the program: its rank, start and end of MPI, and abort."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from clue.trace.calls import LiveOp
from virtual_layer.substitutes.factories import Factory, Function

if TYPE_CHECKING:
    from virtual_layer.substitutes.comms import LiveComm
    from virtual_layer.substitutes.layer import Layer

_ABORT = int(LiveOp.ABORT)


def _of_comm(read: Callable[[LiveComm], int | None]) -> Factory:
    """Make a method or property that reads a number of a virtual communicator, if it has one."""

    def make(layer: Layer, original: Function) -> Function:
        comms = layer.comms

        def substitute(self: Any, *_: Any) -> Any:
            known = comms.get(self.handle)
            number = None if known is None else read(known)
            return original(self) if number is None else number

        return substitute

    return make


_RANK, _SIZE = _of_comm(lambda comm: comm.rank), _of_comm(lambda comm: len(comm.group))
_REMOTE_SIZE = _of_comm(lambda comm: None if comm.remote is None else len(comm.remote))


def abort(layer: Layer, _original: Function) -> Function:
    """Make ``Abort`` end the whole run."""

    def substitute(_self: Any, errorcode: int = 0) -> None:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        layer.port.part(_ABORT, nbytes=errorcode)
        os._exit(errorcode & 0xFF)

    return substitute


def is_initialized(layer: Layer, original: Function) -> Function:
    """Make ``Is_initialized`` tell whether the program has initialised MPI: the library was initialised before."""
    return lambda: layer.initialised and original()


def init(layer: Layer, original: Function) -> Function:
    """Make ``Init``, which an initialised program may not call."""

    def substitute() -> None:
        if layer.initialised:
            original()
        layer.initialise()

    return substitute


def init_thread(layer: Layer, original: Function) -> Function:
    """Make ``Init_thread``."""

    def substitute(required: int = layer.mpi.THREAD_MULTIPLE) -> Any:
        if layer.initialised:
            return original(required)
        layer.initialise()
        return min(required, layer.mpi.THREAD_SERIALIZED)

    return substitute


def query_thread(layer: Layer, original: Function) -> Function:
    """Make ``Query_thread`` return MPI_THREAD_SERIALIZED: while one thread waits in a call, others cannot call MPI."""
    return lambda: min(original(), layer.mpi.THREAD_SERIALIZED)


def finalize(layer: Layer, original: Function) -> Function:
    """Make ``Finalize``, which completes requests that the program left to the library.

    The library itself stays initialised: it shares what it opened with all ranks. Afterwards no communicator is valid.
    """

    def substitute() -> None:
        if layer.finalised:
            original()
        layer.requests.complete_freed()
        layer.leave()
        layer.comms.clear()
        layer.finalised = True

    return substitute


def is_finalized(layer: Layer, _original: Function) -> Function:
    """Make ``Is_finalized`` tell whether the program has finalised MPI."""
    return lambda: layer.finalised


def attribute_of(layer: Layer, original: Function) -> Function:
    """Make ``Get_attr`` return the universe size: the real library would ask a launcher that does not exist."""
    mpi = layer.mpi

    def substitute(self: Any, keyval: int) -> Any:
        if keyval == mpi.UNIVERSE_SIZE:
            return len(layer.world)
        return 0 if keyval == mpi.APPNUM else original(self, keyval)

    return substitute


def processor_name(layer: Layer, _original: Function) -> Function:
    """Make ``Get_processor_name`` name the simulated node, as programs group their ranks by it."""
    return lambda: f"node-{layer.node}"


QUERIES = {
    ("Comm", "Get_attr"): attribute_of,
    ("Comm", "Get_rank"): _RANK,
    ("Comm", "rank"): _RANK,
    ("Comm", "Get_size"): _SIZE,
    ("Comm", "size"): _SIZE,
    ("Intercomm", "Get_remote_size"): _REMOTE_SIZE,
    ("Intercomm", "remote_size"): _REMOTE_SIZE,
    ("", "Query_thread"): query_thread,
    ("", "Is_initialized"): is_initialized,
    ("", "Is_finalized"): is_finalized,
}
CALLS = {
    ("", "Get_processor_name"): processor_name,
    ("Comm", "Abort"): abort,
    ("", "Init"): init,
    ("", "Init_thread"): init_thread,
    ("", "Finalize"): finalize,
}
