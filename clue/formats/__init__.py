"""File formats of traces, machines and measurements; :mod:`clue.formats.registry` lists them.

Content that a format cannot represent is reported, never dropped silently.
"""

from clue.formats.registry import BY_NAME, FORMATS, OWN, Format, Kind, format_of

__all__ = ["BY_NAME", "FORMATS", "OWN", "Format", "Kind", "format_of"]
