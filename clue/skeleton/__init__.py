"""Skeletons: a short program that stands for a long one, made from its trace (Sodhi, Subhlok, Xu).

::

    Trace ──events──▶ units ──parameters──▶ kinds, sizes ──clustering──▶ clusters ──signature──▶ loops of symbols, Q
                                                               │
    K ──loops, times──▶ which iterations ──scaling──▶ which units, how large ──construction──▶ Skeleton

``events`` finds the units that a skeleton keeps or drops as a whole, and refuses calls that no skeleton can repeat;
``loops`` and ``times`` find the loops and how long they took.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clue.skeleton.construction import DominantSequence, Skeleton, construct
    from clue.skeleton.signature import Signature

__all__ = ["DominantSequence", "Signature", "Skeleton", "construct"]

# Configurations need only the predictions of skeletons; making a skeleton imports the simulator.
_HOMES = {
    "construction": ("DominantSequence", "Skeleton", "construct"),
    "signature": ("Signature",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"clue.skeleton.{_HOME[name]}"), name)
