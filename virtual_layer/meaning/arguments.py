"""Reads the arguments of mpi4py's calls: by position or by name, and the sizes of buffers in all their forms."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import index
from typing import Any

from clue.trace.ops import Flag

Arguments = tuple[Any, ...]
Keywords = dict[str, Any]

_USER_DEFINED, _NONCOMMUTATIVE = int(Flag.USER_DEFINED), int(Flag.NONCOMMUTATIVE)
#: Largest element that a row can state, bytes.
_LARGEST_ELEMENT = 2**31 - 1
#: Formats of elements by their types, as :func:`array_type` returns them.
FORMATS = {
    "b1": "?", "i1": "b", "i2": "h", "i4": "i", "i8": "l", "u1": "B", "u2": "H", "u4": "I",
    "u8": "L", "f2": "e", "f4": "f", "f8": "d", "f16": "g", "c8": "Zf", "c16": "Zd", "c32": "Zg",
}  # fmt: skip
#: Letters of DLPack's type codes (integer, unsigned, float, opaque, bfloat, complex, bool); V has no format.
_LETTERS = "iufVVcb"
#: Offset of the element type in a tensor of DLPack: since version 1.0, and before.
_VERSIONED, _EARLIER = 52, 20
#: DLPack's number of the main memory as a device.
_MAIN_MEMORY = 1
_is_capsule = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_IsValid", ctypes.pythonapi)
)
_pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def argument(place: int, name: str, default: Any = None) -> Callable[[Arguments, Keywords], Any]:
    """Return a function that reads the argument at a position (0 is ``self``) or of a name."""

    def read(args: Arguments, kwargs: Keywords) -> Any:
        return args[place] if len(args) > place else kwargs.get(name, default)

    return read


def put(args: Arguments, kwargs: Keywords, place: int, name: str, value: Any) -> tuple[Arguments, Keywords]:
    """Return the arguments with one of them replaced."""
    if len(args) > place:
        return (*args[:place], value, *args[place + 1 :]), kwargs
    return args, {**kwargs, name: value}


def in_place(mpi: Any, buffer: Any) -> bool:
    """Tell whether mpi4py takes a buffer argument for IN_PLACE."""
    return buffer is None or buffer is mpi.IN_PLACE


def block_size(mpi: Any, message: Any, blocks: int = 1) -> int:
    """Return the bytes of one block of a message in any of mpi4py's forms.

    A buffer without a count is divided into ``blocks`` blocks.
    """
    if type(message) is not list and type(message) is not tuple:
        return _length(mpi, message) // blocks
    buffer, count, displacement, kind = split_message(mpi, message)
    if count is not None:
        return int(count) * int(kind.Get_size() if kind is not None else _item_size(mpi, buffer))
    length = 0 if buffer is None else _length(mpi, buffer)
    if kind is None:
        return (length - int(displacement or 0) * _item_size(mpi, buffer)) // blocks
    extent = int(kind.Get_extent()[1])
    if extent <= 0:
        return 0
    return (length - int(displacement or 0) * extent) // extent // blocks * int(kind.Get_size())


def element_size(mpi: Any, message: Any) -> int:
    """Return the bytes of an element of a message: of its datatype, if it names one; 0 if a row cannot state them."""
    if type(message) is not list and type(message) is not tuple:
        return _item_size(mpi, message)
    buffer, _, _, kind = split_message(mpi, message)
    size = int(kind.Get_size()) if kind is not None else _item_size(mpi, buffer)
    return size if size <= _LARGEST_ELEMENT else 0


def operation_flags(mpi: Any, operation: Any) -> int:
    """Return the flags of a reduction operation: whether it is user-defined, and whether it commutes."""
    if operation is None or operation.handle in _own_operations(mpi):
        return 0
    return _USER_DEFINED if operation.Is_commutative() else _USER_DEFINED | _NONCOMMUTATIVE


@lru_cache(maxsize=1)
def _own_operations(mpi: Any) -> frozenset[int]:
    """Return the handles of MPI's own operations, all of which commute."""
    names = "SUM PROD MAX MIN LAND LOR LXOR BAND BOR BXOR MAXLOC MINLOC"
    return frozenset(getattr(mpi, name).handle for name in names.split())


def block_sizes(mpi: Any, message: Any, blocks: int) -> list[int]:
    """Return the bytes of each block of a vector message (Gatherv, Alltoallv and the like)."""
    if type(message) is not list and type(message) is not tuple:
        size = _item_size(mpi, message)
        return _spread(_length(mpi, message) // size if size else 0, blocks, size)
    buffer, counts, _, kind = split_message(mpi, message, vector=True)
    size = kind.Get_size() if kind is not None else _item_size(mpi, buffer)
    if counts is None:
        extent = kind.Get_extent()[1] if kind is not None else size
        return _spread(_length(mpi, buffer) // extent if extent and buffer is not None else 0, blocks, size)
    try:
        return [index(counts) * size] * blocks
    except TypeError:
        return [int(count) * size for count in counts]


def typed_block_sizes(message: Sequence[Any], blocks: int) -> list[int]:
    """Return the bytes of each block of a message with a datatype per block (Alltoallw)."""
    kinds = message[-1]
    counts: Any = None
    if len(message) == 3:
        counts = message[1][0]
    elif len(message) == 4:
        counts = message[1]
    if counts is None:
        counts = [1] * blocks
    return [int(count) * kind.Get_size() if kind else 0 for count, kind in zip(counts, kinds, strict=False)]


def _spread(items: int, blocks: int, size: int) -> list[int]:
    # mpi4py divides a buffer without counts evenly; the first blocks take one item more.
    return [(items // blocks + (items % blocks > block)) * size for block in range(blocks)]


def split_message(mpi: Any, message: Sequence[Any], *, vector: bool = False) -> tuple[Any, Any, Any, Any]:
    """Split a message list into buffer, count, displacement and datatype; missing ones are ``None``."""
    buffer, count, displacement, kind = message[0], None, None, None
    if len(message) == 2:
        if isinstance(message[1], str | mpi.Datatype):
            kind = message[1]
        else:
            count = message[1]
    elif len(message) == 3:
        count, kind = message[1], message[2]
    elif len(message) == 4:
        count, displacement, kind = message[1], message[2], message[3]
    pair = isinstance(count, tuple) or (isinstance(count, list) and not vector)
    if pair and len(message) < 4 and count is not None:
        count, displacement = count
    return buffer, count, displacement, mpi._typedict[kind] if isinstance(kind, str) else kind


def _length(mpi: Any, buffer: Any) -> int:
    if type(buffer) is bytearray or type(buffer) is bytes:
        return len(buffer)
    length = getattr(buffer, "nbytes", None)
    if type(length) is int:
        return int(length)
    if buffer is None or buffer is mpi.BOTTOM:
        return 0
    try:
        return memoryview(buffer).nbytes
    except TypeError:  # arrays of other devices, through DLPack or the CUDA array interface
        return int(mpi.buffer.frombuffer(buffer, True).nbytes)


def _item_size(mpi: Any, buffer: Any) -> int:
    size = getattr(buffer, "itemsize", None)
    if type(size) is int:
        return int(size)
    if buffer is None or buffer is mpi.BOTTOM:
        return 0
    try:
        return memoryview(buffer).itemsize
    except TypeError:
        return int(array_type(mpi, buffer)[1:])


def array_type(mpi: Any, array: Any) -> str:
    """Return the type of the elements of an array without Python's buffer protocol: a letter and their bytes (``f8``).

    mpi4py's own buffers do not tell it: without a request for a format, they consist of bytes.
    """
    mpi.buffer.frombuffer(array, True)  # raises mpi4py's error for anything else
    on_gpu = getattr(array, "__cuda_array_interface__", None)
    if on_gpu is not None:
        return str(on_gpu["typestr"])[1:]
    kind, _ = array.__dlpack_device__()
    options = {} if kind == _MAIN_MEMORY else {"stream": -1}  # as in mpi4py: nobody waits for the device
    try:
        capsule = array.__dlpack__(max_version=(1, 0), **options)
    except TypeError:  # DLPack before 1.0
        capsule = array.__dlpack__(**options)
    name, offset = b"dltensor_versioned", _VERSIONED
    if not _is_capsule(capsule, name):
        name, offset = b"dltensor", _EARLIER
    code, bits, lanes = struct.unpack("=BBH", ctypes.string_at(_pointer_of(capsule, name) + offset, 4))
    return f"{_LETTERS[code] if lanes == 1 and code < len(_LETTERS) else 'V'}{(bits * lanes + 7) // 8}"
