"""The settings of mpi4py's import, ``mpi4py.rc``."""

from __future__ import annotations

from typing import Any


def is_on(package: Any, name: str) -> bool:
    """Tell whether a setting of the package ``mpi4py`` is on.

    Settings are on by default: in an ``mpi4py`` of an earlier version that does not have them, and if the program has
    deleted ``rc``.
    """
    return bool(getattr(getattr(package, "rc", None), name, True))
