"""Calls about this process as a part of the program: who it is, how MPI begins and ends, and its abort."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from clue.trace.calls import LiveOp

if TYPE_CHECKING:
    from virtual_layer.substitutes.layer import Layer

Function = Callable[..., Any]
_ABORT = int(LiveOp.ABORT)


def rank_of(layer: Layer, original: Function) -> Function:
    """Make ``Get_rank`` and ``rank`` return the virtual rank."""
    comms = layer.comms

    def substitute(self: Any, *_: Any) -> Any:
        known = comms.get(self.handle)
        return original(self) if known is None else known.rank

    return substitute


def size_of(layer: Layer, original: Function) -> Function:
    """Make ``Get_size`` and ``size`` return the virtual size."""
    comms = layer.comms

    def substitute(self: Any, *_: Any) -> Any:
        known = comms.get(self.handle)
        return original(self) if known is None else len(known.group)

    return substitute


def remote_size_of(layer: Layer, original: Function) -> Function:
    """Make ``Get_remote_size`` and ``remote_size`` return the virtual size of the remote group."""
    comms = layer.comms

    def substitute(self: Any, *_: Any) -> Any:
        known = comms.get(self.handle)
        return original(self) if known is None or known.remote is None else len(known.remote)

    return substitute


def abort(layer: Layer, _original: Function) -> Function:
    """Make ``Abort`` end the whole run."""

    def substitute(_self: Any, errorcode: int = 0) -> None:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        layer.port.part(_ABORT, nbytes=errorcode)
        os._exit(errorcode & 0xFF)

    return substitute


def is_initialized(layer: Layer, original: Function) -> Function:
    """Make ``Is_initialized`` say whether the program has initialised MPI: the library was beforehand."""
    return lambda: layer.initialised and original()


def init(layer: Layer, original: Function) -> Function:
    """Make ``Init``, which an initialised program may not call."""

    def substitute() -> None:
        if layer.initialised:
            original()
        layer.initialised = True

    return substitute


def init_thread(layer: Layer, original: Function) -> Function:
    """Make ``Init_thread``."""

    def substitute(required: int = layer.mpi.THREAD_MULTIPLE) -> Any:
        if layer.initialised:
            return original(required)
        layer.initialised = True
        return min(required, layer.mpi.THREAD_SERIALIZED)

    return substitute


def query_thread(layer: Layer, original: Function) -> Function:
    """Make ``Query_thread`` say that threads may call MPI one at a time: while one waits in a call, others cannot."""
    return lambda: min(original(), layer.mpi.THREAD_SERIALIZED)


def finalize(layer: Layer, original: Function) -> Function:
    """Make ``Finalize``, which ends what the program left to the library.

    The library itself stays: it shares what it opened with all ranks. From now on no communicator is known.
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
    """Make ``Is_finalized`` say whether the program has finalised MPI."""
    return lambda: layer.finalised


def attribute_of(layer: Layer, original: Function) -> Function:
    """Make ``Get_attr`` say how large the universe is: the real library would ask a launcher that is not there."""
    mpi = layer.mpi

    def substitute(self: Any, keyval: int) -> Any:
        if keyval == mpi.UNIVERSE_SIZE:
            return len(layer.world)
        return 0 if keyval == mpi.APPNUM else original(self, keyval)

    return substitute


QUERIES = {
    ("Comm", "Get_attr"): attribute_of,
    ("Comm", "Get_rank"): rank_of,
    ("Comm", "rank"): rank_of,
    ("Comm", "Get_size"): size_of,
    ("Comm", "size"): size_of,
    ("Intercomm", "Get_remote_size"): remote_size_of,
    ("Intercomm", "remote_size"): remote_size_of,
    ("", "Query_thread"): query_thread,
    ("", "Is_initialized"): is_initialized,
    ("", "Is_finalized"): is_finalized,
}
CALLS = {
    ("Comm", "Abort"): abort,
    ("", "Init"): init,
    ("", "Init_thread"): init_thread,
    ("", "Finalize"): finalize,
}
