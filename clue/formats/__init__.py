"""Forms of traces and machines: clue's own, those of SimGrid and LogGOPSim; :mod:`clue.formats.registry` lists them.

What a form cannot hold is told, never dropped silently.
"""

from clue.formats.registry import BY_NAME, FORMATS, OWN, Format, format_of

__all__ = ["BY_NAME", "FORMATS", "OWN", "Format", "format_of"]
