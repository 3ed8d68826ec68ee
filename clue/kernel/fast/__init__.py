"""The fast engine: the semantics of the reference in C++17, compiled when the wheel is built, or on first use.

::

    Program ──plan──▶ arrays, matched once ─┐
    Machine × Placement ──tables──▶ costs ──┼─▶ engine.hpp: one replay ──▶ figures of every rank
                                            └─▶ tape.hpp: many machines at once ──▶ finish times
    LoopedProgram ──loops──▶ blocks, drawn bursts ──▶ looped.cpp: the same replay, of ops that are never written out

``library`` names what :mod:`clue.native` compiles; ``layout`` and ``layout.hpp`` define the data passed to C++. Op
codes, delay curves, rates of shared processors and the lowering of collectives are not implemented a second time
here: Python passes them as numbers.
"""

from clue.kernel.fast.engine import replay
from clue.kernel.fast.loops import replay_loops
from clue.kernel.fast.plan import NotCoveredError
from clue.kernel.fast.sweep import makespans
from clue.native import NoLibraryError

__all__ = ["NoLibraryError", "NotCoveredError", "makespans", "replay", "replay_loops"]
