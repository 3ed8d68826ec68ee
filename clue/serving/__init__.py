"""The report of a comparison as a page on which figures can be changed, told to browsers on this computer.

What answers whom is decided in :mod:`clue.serving.guard`, what is answered in :mod:`clue.serving.live`; both know no
framework. :mod:`clue.serving.application` puts them into one (Starlette), which :mod:`clue.serving.running` runs.
"""
