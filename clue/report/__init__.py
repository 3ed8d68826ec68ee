"""Results, rankings, traces and machines as text, JSON documents and pictures; it prints nothing.

:mod:`clue.report.document` yields JSON documents, :mod:`clue.report.text` renderables for the terminal, and
:mod:`clue.report.plots` PNG files. rich, numpy and matplotlib are loaded by the functions that need them.
"""
