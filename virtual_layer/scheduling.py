"""Time slices of recorded ranks.

If ranks outnumber the cores, they take turns, by default every 3 ms or so. After each turn a rank finds its caches full
of other ranks' data, so that its bursts take longer than on a cluster where each rank has a core. Since version 6.12,
Linux lets a process ask for slices of up to 100 ms, without any privilege: then a rank fills its caches about thirty
times less often. Processes with shorter slices still preempt such a rank.
"""

from __future__ import annotations

import ctypes
import platform
import sys

#: The longest slice that Linux grants, ns.
LONGEST = 100_000_000
#: Numbers of the system calls sched_setattr and sched_getattr, which the C library does not always have.
_CALLS = {
    "x86_64": (314, 315),
    "aarch64": (274, 275),
    "riscv64": (274, 275),
    "ppc64le": (355, 356),
    "s390x": (345, 346),
}
#: The default policy, SCHED_OTHER.
_OTHER = 0


class _Attributes(ctypes.Structure):
    """The kernel's ``struct sched_attr``; under the default policy ``runtime`` is the slice, ns."""

    _fields_ = (
        ("size", ctypes.c_uint32),
        ("policy", ctypes.c_uint32),
        ("flags", ctypes.c_uint64),
        ("nice", ctypes.c_int32),
        ("priority", ctypes.c_uint32),
        ("runtime", ctypes.c_uint64),
        ("deadline", ctypes.c_uint64),
        ("period", ctypes.c_uint64),
    )


def lengthen_slices() -> None:
    """Ask for the longest slices, for this thread and all that it starts.

    Nothing changes under another policy than the default one, in a sandbox that forbids the call, or where the kernel
    does not know slices of single processes.
    """
    attributes = _attributes()
    if attributes is not None and attributes.policy == _OTHER:
        attributes.runtime = LONGEST
        _call(0, attributes, 0)


def time_slice() -> int | None:
    """Return the slice of this thread, ns; ``None`` if the kernel does not tell."""
    attributes = _attributes()
    return int(attributes.runtime) or None if attributes is not None else None


def _attributes() -> _Attributes | None:
    attributes = _Attributes(size=ctypes.sizeof(_Attributes))
    return attributes if _call(1, attributes, ctypes.sizeof(_Attributes), 0) else None


def _call(which: int, attributes: _Attributes, *more: int) -> bool:
    """Call one of the two system calls for this thread; tell whether it succeeded."""
    numbers = _CALLS.get(platform.machine())
    if not sys.platform.startswith("linux") or sys.maxsize < 1 << 32 or numbers is None:
        return False
    function = ctypes.CDLL(None, use_errno=True).syscall
    function.restype = ctypes.c_long
    words = (numbers[which], 0, ctypes.byref(attributes), *more)
    return not function(*(ctypes.c_long(word) if isinstance(word, int) else word for word in words))
