"""Forms of traces, machines and measurements, clue's and others', which :mod:`clue.formats.registry` lists.

Content that a format cannot hold is reported, never dropped silently.
"""

from clue.formats.registry import BY_NAME, FORMATS, OWN, Format, Kind, format_of

__all__ = ["BY_NAME", "FORMATS", "OWN", "Format", "Kind", "format_of"]
