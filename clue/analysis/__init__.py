"""What is computed of traces, structures and rankings before :mod:`clue.report` shows it.

:mod:`clue.analysis.trace` sums a trace up by call, region, call site and communicator, :mod:`clue.analysis.loops` gives
loops their times, :mod:`clue.analysis.graph` does it for the nodes of a structure graph, and
:mod:`clue.analysis.scaling` turns the outcomes of a ranking into times over processors.
"""
