"""Fixed pieces of work whose times compare hosts: during recording (virtual_layer.probe), and at calibration."""

from __future__ import annotations

#: Integers whose product keeps a core busy, but not the memory.
FACTORS = 3**1200, 7**640
#: Bytes of one copy; bytes of the memory from which parts are copied in turn, too large for any cache.
COPIED, MEMORY = 1 << 15, 1 << 25
#: Names of the pieces, in the order of a reading: first the moment of the reading, then the time of each piece.
PIECES = ("core", "memory")
ENTRIES = 1 + len(PIECES)
