"""The report of a comparison as a page on which figures can be changed, served to browsers on this computer.

:mod:`clue.serving.guard` decides which requests are answered, :mod:`clue.serving.live` makes the answers; both are
independent of a web framework. :mod:`clue.serving.application` uses them in Starlette; :mod:`clue.serving.running` runs
the application.
"""
