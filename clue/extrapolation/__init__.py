"""Record small, predict large: a trace at an unrecorded size and number of ranks.

::

    pattern         names of recordings with placeholders {size} and {ranks}
    arguments       command lines of one program at several sizes: which words follow the size
    family          the recordings that a pattern names, checked to be of one program
    inference       family -> the program's structure at any size and number of ranks, or why it is refused
    memory          memory of a rank at a target
    loops           loops and iteration counts, where the trace would be too long to be written out
    making          the trace at a target, and how far the target is from the recordings
    kept            cache of made traces, by the content of their recordings
    admissible      sizes and numbers of ranks that a program accepts, as stated by the user
    plan            recordings to make for a target, and their cost on this computer
    refusals        constraints of a program, inferred from refused recordings
    recordings      trial of a plan's smallest recordings, and execution of the whole plan

This package prints nothing.
"""

from clue.extrapolation.family import Family, Recording
from clue.extrapolation.inference import Made, RefusedError, infer
from clue.extrapolation.loops import InLoops, TooLongError
from clue.extrapolation.making import Extrapolation, Factor, extrapolate, in_loops
from clue.extrapolation.pattern import Pattern
from clue.structure import Refusal

__all__ = [
    "Extrapolation",
    "Factor",
    "Family",
    "InLoops",
    "Made",
    "Pattern",
    "Recording",
    "Refusal",
    "RefusedError",
    "TooLongError",
    "extrapolate",
    "in_loops",
    "infer",
]
