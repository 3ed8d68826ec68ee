"""Lossless compression of a trace into loops, merged over ranks.

::

    Trace ──bits, columns──▶ symbols ──folding──▶ places of loops ──┐
                       numbers ───────────expressions─────────┴─merging──▶ Loops ──▶ the same Trace

``folding`` is the reference implementation, ``fold.hpp`` (``compiled``) the C++ one; both make the same loops.
"""

from clue.structure.loops.bits import BITS
from clue.structure.loops.columns import NO_PEER
from clue.structure.loops.expressions import NO_NUMBER, Affine, Expression, Table
from clue.structure.loops.merging import (
    ENTRIES,
    REPEATED,
    Loops,
    Node,
    Part,
    Variants,
    chosen,
    compress,
    decompress,
    fold,
    folded,
)
from clue.structure.loops.places import LOOP, Place, iterations, signature, split

__all__ = [
    "BITS",
    "ENTRIES",
    "LOOP",
    "NO_NUMBER",
    "NO_PEER",
    "REPEATED",
    "Affine",
    "Expression",
    "Loops",
    "Node",
    "Part",
    "Place",
    "Table",
    "Variants",
    "chosen",
    "compress",
    "decompress",
    "fold",
    "folded",
    "iterations",
    "signature",
    "split",
]
