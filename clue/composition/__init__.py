"""A program's time composed of its parts: a structure graph with a fitted time at every node, as PEMPIs-Het has it.

::

    times        what is spent before and in the calls of each site: when recorded, or on a replay's critical path
    composing    graph and times -> the composed model of the program

What is composed is a time like any other (:mod:`clue.models`): evaluated from the bottom up, and a performance model
for :func:`clue.balance.vector_at`. Prints nothing.
"""

from clue.composition.composing import ComposedModel, compose
from clue.composition.times import SiteTimes, on_critical_path, recorded
from clue.models.parts import Fit

__all__ = ["ComposedModel", "Fit", "SiteTimes", "compose", "on_critical_path", "recorded"]
