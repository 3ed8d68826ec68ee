"""The compiled libraries, loaded once by each process that tests."""

from __future__ import annotations

from contextlib import suppress

from clue.kernel.fast.library import ENGINE, LOOPED
from clue.native import Library, NoLibraryError
from clue.structure.loops.library import LOOPS

LIBRARIES = (ENGINE, LOOPED, LOOPS)


def know_again(library: Library) -> None:
    """Forget what a test made of a library, and load the one that is in the cache.

    Otherwise a later test that has a cache of its own would compile it.
    """
    library.forget()
    with suppress(NoLibraryError):
        library.load()
