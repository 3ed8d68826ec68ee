"""A program's time composed of its parts: a structure graph with a fitted time at every node, as in PEMPIs-Het.

::

    times        time before and in the calls of each site: as recorded, or on a replay's critical path
    composing    graph and times -> the composed model of the program

The composed time is a time like any other (:mod:`clue.models`): it is evaluated from the bottom up, and serves as a
performance model for :func:`clue.balance.vector_at`. This package prints nothing.
"""

from clue.composition.composing import ComposedModel, compose
from clue.composition.times import SiteTimes, on_critical_path, recorded, with_first_bursts
from clue.models.parts import Fit

__all__ = ["ComposedModel", "Fit", "SiteTimes", "compose", "on_critical_path", "recorded", "with_first_bursts"]
