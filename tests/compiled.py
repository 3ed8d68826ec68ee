"""The compiled libraries, which each test process loads once."""

from __future__ import annotations

from contextlib import suppress

from clue.kernel.fast.library import ENGINE, LOOPED
from clue.native import Library, NoLibraryError
from clue.structure.loops.library import LOOPS

LIBRARIES = (ENGINE, LOOPED, LOOPS)


def know_again(library: Library) -> None:
    """Undo a test's changes to a library and load the cached one again.

    Otherwise a later test with a cache of its own would compile it.
    """
    library.forget()
    with suppress(NoLibraryError):
        library.load()
