"""Results, rankings, traces and machines as text, JSON documents, pictures and files for others; it prints nothing.

:mod:`clue.report.document` yields JSON documents, :mod:`clue.report.text` renderables for the terminal,
:mod:`clue.report.plots` PNG files, :mod:`clue.report.tables` tables as CSV, LaTeX and Markdown,
:mod:`clue.report.page` a page of HTML, and :mod:`clue.report.timelines` timelines for other tools. rich, jinja2, numpy
and matplotlib are loaded by the functions that need them.
"""
