"""Code in C++: compiled when a wheel is built or on first use, kept in the cache, called by ctypes.

``library`` loads what ``compiler`` makes, for the cache or for a wheel (``shipped``). What is compiled, and what a
compiler is told of Python's constants, the packages say that have the sources.
"""

from clue.native.compiler import NoLibraryError, Source
from clue.native.library import Library

__all__ = ["Library", "NoLibraryError", "Source"]
