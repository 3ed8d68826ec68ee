"""The output of clue, by subject: JSON documents, text for the terminal and pictures; nothing is printed here.

In the folder of a subject, ``document`` returns JSON documents, ``text`` returns renderables for the terminal,
``plot`` writes PNG files, and ``tables`` returns CSV, LaTeX and Markdown; a large picture has a module of its own
beside ``plot``. :mod:`clue.report.shared` has the parts that all subjects use, :mod:`clue.report.timeline` also writes
timelines for other tools, and :mod:`clue.report.page` is a ranking as HTML. :mod:`clue.analysis` computes the shown
figures of traces, structures and rankings.

Modules of documents, text and tables load rich and numpy only when they need them, so that the command starts quickly.
Modules of pictures load matplotlib: import them when something is drawn.
"""
