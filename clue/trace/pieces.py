"""Fixed pieces of work that compare hosts: while they record (virtual_layer.probe), and when they are calibrated."""

from __future__ import annotations

#: Integers whose product keeps a core busy, but not memory.
FACTORS = 3**1200, 7**640
#: Bytes of one copy; bytes of the memory whose places are copied in turn, too large for any cache.
COPIED, MEMORY = 1 << 15, 1 << 25
#: Names of the pieces, in the order of a reading: its moment comes first, then the time of each piece.
PIECES = ("core", "memory")
ENTRIES = 1 + len(PIECES)
