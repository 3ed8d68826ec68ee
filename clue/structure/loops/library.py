"""Folding in C++, as a library."""

from __future__ import annotations

import ctypes
from pathlib import Path

from clue.native import Library, Source

LOOPS = Library(
    Source("loops", Path(__file__).with_name("loops.cpp")),
    {"clue_number": ctypes.c_int64, "clue_fold": ctypes.c_int64, "clue_places": None, "clue_release": None},
)
