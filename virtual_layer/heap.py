"""Memory that a program frees stays with it, as it mostly does where nobody records.

The GNU C library gives the top of its heap back to the system when it is free and as large as twice the largest array
that was freed before. A program that makes a few equal arrays and frees them in each step, as numpy does for an
expression, is on the edge of that: a small object above them, made once, decides. The layer changes who makes which
object when. Measured: of twelve programs, run by themselves, none gave its memory back in every step; recorded, two
did, and each step then waited for some 500 page faults that took three times as long as its computation.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping

#: Parameters of mallopt (malloc.h). To set one stops the library from finding the others by itself.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
#: Larger arrays have memory of their own, which goes back when they are freed: the most that the library itself takes.
_LARGEST_ON_HEAP = 32 * 2**20
_NEVER = 2**31 - 1
#: Where a user has settled that.
_SETTLED = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TOP_PAD_")
_TUNABLES, _OF_MALLOC = "GLIBC_TUNABLES", "glibc.malloc."


def keep_freed_memory(environment: Mapping[str, str]) -> bool:
    """Let this process keep what it frees on its heap; returns whether it does.

    Nothing changes where the C library is not GNU's, or the user has settled how it does that.
    """
    if any(name in environment for name in _SETTLED) or _OF_MALLOC in environment.get(_TUNABLES, ""):
        return False
    library = ctypes.CDLL(None)
    if not hasattr(library, "gnu_get_libc_version"):
        return False
    return bool(library.mallopt(_MMAP_THRESHOLD, _LARGEST_ON_HEAP) and library.mallopt(_TRIM_THRESHOLD, _NEVER))
