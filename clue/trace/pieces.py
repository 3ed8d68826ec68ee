"""Fixed pieces of work by which hosts are compared: while they record (virtual_layer.probe), and when calibrated."""

from __future__ import annotations

#: Integers whose product needs all of a core, and nothing but a core.
FACTORS = 3**1200, 7**640
#: Bytes that are copied, each time from another place of so many, which no cache keeps.
COPIED, MEMORY = 1 << 15, 1 << 25
#: Their names, and numbers of a reading: its moment comes first, then the time of each.
PIECES = ("core", "memory")
ENTRIES = 1 + len(PIECES)
