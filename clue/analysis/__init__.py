"""Computation of the figures of traces, structures and rankings that :mod:`clue.report` shows.

:mod:`clue.analysis.trace` sums a trace up by call, region, call site and communicator, :mod:`clue.analysis.loops` adds
up the times of loops, :mod:`clue.analysis.graph` those of the nodes of a structure graph, and
:mod:`clue.analysis.scaling` turns the outcomes of a ranking into times over processors.
"""
