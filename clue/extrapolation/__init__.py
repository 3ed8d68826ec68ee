"""Record small, predict large: a trace at a size and a number of ranks that nobody recorded.

::

    pattern         names of recordings with {size} and {ranks} in them
    arguments       command lines of one program at several sizes: which words follow the size
    family          the recordings that a pattern names, held to be of one program
    inference       family -> what it does at any size and number of ranks, or why that cannot be told
    memory          what a rank needs at a target
    loops           what goes round how often, where the trace would be too long to be written out
    making          the trace at a target, and how far that is from what was recorded
    kept            traces that were made, by the content of what they were made of
    admissible      which sizes and numbers of ranks a program takes, as it is said
    plan            which recordings to make for a target, and what they need here
    refusals        what a program seems to demand, by what it refused
    recordings      trying the smallest of a plan, and making all of them

Prints nothing.
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
