"""Copies of communicator objects: ``MPI.Intercomm(comm)`` and the like ask the library for the kind of a handle.

The library takes our intercommunicators for intracommunicators of one process, so the constructors of the two types are
replaced by ones that ask the layer. A flag makes these types immutable to Python; if it is not at the expected place in
memory, copies of intercommunicators remain an error.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from virtual_layer.substitutes.layer import Layer

#: Offset of a type's flags in memory, the flag that makes it immutable, and the slot of its constructor.
_FLAGS, _IMMUTABLE, _NEW = 168, 1 << 8, 65


def let_copy(layer: Layer) -> None:
    """Allow copies of intra- and intercommunicator objects from objects of the right kind."""
    mpi = layer.mpi
    _construct(mpi.Intercomm, _constructor(layer, mpi.Intercomm, "expecting an intercommunicator", inter=True))
    _construct(mpi.Intracomm, _constructor(layer, mpi.Intracomm, "expecting an intracommunicator", inter=False))


def _constructor(layer: Layer, of: type, otherwise: str, *, inter: bool) -> Callable[..., Any]:
    mpi, empty = layer.mpi, _original_constructor(of)

    @wraps(of.__new__)
    def construct(cls: type, comm: Any = None) -> Any:
        made = empty(cls, (), None)
        if comm is None:
            return made
        if not isinstance(comm, mpi.Comm):
            raise TypeError(f"Argument 'comm' has incorrect type (expected mpi4py.MPI.Comm, got {type(comm).__name__})")
        if comm and comm.Is_inter() != inter:
            raise TypeError(otherwise)
        layer.set_handle(made, comm)
        return made

    return construct


def _original_constructor(of: type) -> Callable[..., Any]:
    slot = ctypes.pythonapi.PyType_GetSlot
    slot.restype, slot.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_int]
    prototype = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.py_object, ctypes.c_void_p)
    return prototype(slot(of, _NEW))


def _construct(of: type, constructor: Callable[..., Any]) -> None:
    """Give a type another constructor."""
    flags = ctypes.c_ulong.from_address(id(of) + _FLAGS)
    if flags.value != of.__flags__:
        return
    flags.value &= ~_IMMUTABLE
    try:
        type.__setattr__(of, "__new__", staticmethod(constructor))
    finally:
        flags.value |= _IMMUTABLE
