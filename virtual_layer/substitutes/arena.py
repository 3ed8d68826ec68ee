"""Shared memory for large payloads, in blocks that are reused, so that their pages need not be allocated again.

Only one rank runs at a time, so it may change the lists of free blocks without a lock. The lists, one for each size,
are at the beginning of the memory itself; sizes are powers of two, with three quarter steps between them.
"""

from __future__ import annotations

import mmap
import os
import resource
import sys
from pathlib import Path
from struct import Struct

from clue.errors import RecordError

#: Largest payload, bytes, that travels with its op; larger ones travel through the arena.
INLINE = 16384

_WORD = Struct("<q")
_BLOCK = Struct("<qqq")  # next free block, class, readers still to come
_HEADER = 64
_TABLE = 4096
_END, _USED = 0, 8  # words at the beginning: first byte never handed out, bytes in use
_LISTS = 64
#: Size, bytes, beyond which a block is given back to the system when it has no more readers.
_KEPT = 256 << 20
#: Smallest useful address space, bytes.
_LEAST = 1 << 24


class Arena:
    """The shared memory of all ranks.

    Args:
        size: Bytes of address space wanted. Under a limit (``ulimit -v``), half of the space is left to programs.

    Attributes:
        descriptor: File descriptor of the memory, inherited by ranks.
        size: Bytes of address space; memory is taken only where it is used.

    Raises:
        RecordError: If the limit of the address space leaves too little.
    """

    def __init__(self, size: int) -> None:
        left = _address_space() // 2
        if left < _LEAST:
            raise RecordError(
                f"address space must have {_LEAST >> 19} MB left for payloads, got {left >> 19} MB: raise the limit "
                "(ulimit -v)"
            )
        self.descriptor = os.memfd_create("clue-payloads")
        self.size = max(min(size, left), _LEAST) // mmap.PAGESIZE * mmap.PAGESIZE
        os.ftruncate(self.descriptor, self.size)
        self._memory = mmap.mmap(self.descriptor, self.size, mmap.MAP_SHARED)
        self._view = memoryview(self._memory)
        self._write(_END, _TABLE)

    @property
    def used(self) -> int:
        """Bytes in blocks that still have readers."""
        return self._read(_USED)

    def take(self, length: int, readers: int = 1) -> int:
        """Return the offset of a block of at least ``length`` bytes, which is freed after ``readers`` releases.

        Raises:
            MemoryError: If the arena is full.
        """
        which, room = _size_class(length + _HEADER)
        at = _LISTS + 8 * which
        block = self._read(at)
        if block:
            self._write(at, self._read(block))
        else:
            block = self._read(_END)
            if block + room > self.size:
                raise MemoryError(f"payloads under way must fit in {self.size} B of shared memory")
            self._write(_END, block + room)
        _BLOCK.pack_into(self._memory, block, 0, which, readers)
        self._write(_USED, self._read(_USED) + room)
        return block + _HEADER

    def view(self, offset: int, length: int) -> memoryview:
        """Return the bytes of a block."""
        return self._view[offset : offset + length]

    def release(self, offset: int) -> None:
        """Note that one reader is done with a block."""
        block = offset - _HEADER
        _, which, readers = _BLOCK.unpack_from(self._memory, block)
        if readers > 1:
            _BLOCK.pack_into(self._memory, block, 0, which, readers - 1)
            return
        at, room = _LISTS + 8 * which, _room(which)
        if room > _KEPT:
            page = mmap.PAGESIZE
            begin = (block + _HEADER + page - 1) // page * page
            self._memory.madvise(mmap.MADV_REMOVE, begin, (block + room - begin) // page * page)
        _BLOCK.pack_into(self._memory, block, self._read(at), which, 0)
        self._write(at, block)
        self._write(_USED, self._read(_USED) - room)

    def _read(self, at: int) -> int:
        word: int = _WORD.unpack_from(self._memory, at)[0]
        return word

    def _write(self, at: int, word: int) -> None:
        _WORD.pack_into(self._memory, at, word)


def _address_space() -> int:
    """Return the number of bytes that this process may still map."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return sys.maxsize
    return max(0, limit - int(Path("/proc/self/statm").read_text().split()[0]) * mmap.PAGESIZE)


def _size_class(length: int) -> tuple[int, int]:
    """Return number and size of the smallest class that holds ``length`` bytes; four classes an octave from 4 KiB."""
    octave = max((length - 1).bit_length() - 13, 0)
    quarter = 1024 << octave
    step = max(-(-length // quarter) - 4, 0)
    return 4 * octave + step, (4 + step) * quarter


def _room(which: int) -> int:
    return (4 + which % 4) * (1024 << which // 4)
