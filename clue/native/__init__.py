"""Code in C++: compiled when a wheel is built or on first use, kept in the cache, called by ctypes.

``library`` loads what ``compiler`` makes, for the cache or for a wheel (``shipped``). The packages with the sources
define what is compiled, and the constants that Python passes to the compiler.
"""

from clue.native.compiler import NoLibraryError, Source
from clue.native.library import Library

__all__ = ["Library", "NoLibraryError", "Source"]
