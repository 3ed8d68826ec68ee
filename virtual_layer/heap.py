"""Keeps freed memory with the program, as mostly happens without recording.

The GNU C library gives the top of its heap back to the system when it is free and as large as twice the largest array
that was freed before. A program that makes a few equal arrays and frees them in each step, as numpy does for an
expression, is on the edge of that: a single small object above them decides. The layer changes which objects are made
when. Measured: of twelve programs run without the layer, none gave its memory back in every step; when they were
recorded, two did, and each step then had about 500 page faults, which took three times as long as its computation.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping

#: Parameters of mallopt (malloc.h). Setting one stops the library from adapting the others.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
#: Largest array on the heap, bytes: the library's own maximum. Larger arrays are mapped, and unmapped when freed.
_LARGEST_ON_HEAP = 32 * 2**20
_NEVER = 2**31 - 1
#: Environment variables by which a user sets these parameters.
_SETTLED = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TOP_PAD_")
_TUNABLES, _OF_MALLOC = "GLIBC_TUNABLES", "glibc.malloc."


def keep_freed_memory(environment: Mapping[str, str]) -> bool:
    """Let this process keep freed memory on its heap; return whether it does.

    Nothing changes if the C library is not GNU's, or the user has set these parameters.
    """
    if any(name in environment for name in _SETTLED) or _OF_MALLOC in environment.get(_TUNABLES, ""):
        return False
    library = ctypes.CDLL(None)
    if not hasattr(library, "gnu_get_libc_version"):
        return False
    return bool(library.mallopt(_MMAP_THRESHOLD, _LARGEST_ON_HEAP) and library.mallopt(_TRIM_THRESHOLD, _NEVER))
