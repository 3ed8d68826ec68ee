"""The engine as a library, and the constants that Python passes to its compiler."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from pathlib import Path

from clue.kernel.fast.layout import Status, assertions
from clue.machine.contention import NUMBERS
from clue.native import Library, Source
from clue.trace import NO_REQUEST, Access, Flag, Op


def _definitions() -> list[str]:
    """Return op codes and the like as the trace defines them, models of contention as machines do, and the layout."""
    numbers: dict[str, Mapping[str, int]] = {
        "OP": Op.__members__,
        "ACCESS": Access.__members__,
        "FLAG": Flag.__members__,
        "STATUS": Status.__members__,
        "CONTENTION": NUMBERS,
    }
    return [
        *(f"-D{kind}_{name.upper()}={int(number)}" for kind, each in numbers.items() for name, number in each.items()),
        f"-DNO_REQUEST={NO_REQUEST}",
        f"-DLAYOUT={assertions()}",
    ]


_STATUS = ("clue_prepare", "clue_replay", "clue_record", "clue_lanes", "clue_sweep")
_NOTHING = ("clue_forget", "clue_release")
ENGINE = Library(
    Source("engine", Path(__file__).with_name("engine.cpp"), _definitions),
    {**dict.fromkeys(_STATUS, ctypes.c_int64), **dict.fromkeys(_NOTHING)},
)
#: Replays of programs in loops.
LOOPED = Library(
    Source("looped", Path(__file__).with_name("looped.cpp"), _definitions), {"clue_replay_loops": ctypes.c_int64}
)
