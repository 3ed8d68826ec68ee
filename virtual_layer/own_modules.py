"""Imports of the layer's own modules, which files of the user must not stand for."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

#: The folder of this package, and of clue unless both are installed apart.
_HOME = os.path.realpath(f"{__file__}/../..")
#: Whether Python looks for modules in a program's folder first: ``-P`` and PYTHONSAFEPATH forbid it, since Python 3.11.
LOOKS_BESIDE = not getattr(sys.flags, "safe_path", False)


@contextmanager
def without_current_folder(is_program: bool) -> Iterator[None]:
    """Take the current folder off the path during a block, if Python was started with ``-m``, as for a program.

    Python looks there first. A file of the user's, such as ``token.py`` or ``clue.py``, would be imported in place of a
    module that the layer needs. If the layer itself is in this folder, the folder stays.
    """
    first = sys.path[0]
    if not (is_program and LOOKS_BESIDE) or os.path.realpath(first) == _HOME:
        yield
        return
    del sys.path[0]
    try:
        yield
    finally:
        sys.path.insert(0, first)
