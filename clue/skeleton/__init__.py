"""Skeletons: a short program that stands for a long one, made from its trace (Sodhi, Subhlok, Xu).

::

    Trace ──events──▶ units ──parameters──▶ kinds, sizes ──clustering──▶ clusters ──signature──▶ loops of symbols, Q
                                                               │
    K ──loops, times──▶ which iterations ──scaling──▶ which units, how large ──construction──▶ Skeleton

``events`` finds the units that a skeleton keeps or drops as a whole, and refuses calls that no skeleton can repeat;
``loops`` and ``times`` find the loops and how long they took; ``outliers`` makes long bursts events of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clue.first_use import loaded_on_first_use

if TYPE_CHECKING:
    from clue.skeleton.construction import DominantSequence, Skeleton, construct
    from clue.skeleton.signature import Signature

__all__ = ["DominantSequence", "Signature", "Skeleton", "construct"]

# Configurations need only the predictions of skeletons; making a skeleton imports the simulator.
_HOMES = {
    "construction": ("DominantSequence", "Skeleton", "construct"),
    "signature": ("Signature",),
}
__getattr__ = loaded_on_first_use(__name__, _HOMES)
