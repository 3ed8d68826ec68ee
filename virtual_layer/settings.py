"""The settings of mpi4py's import, ``mpi4py.rc``."""

from __future__ import annotations

import os
from typing import Any

#: Values of environment variables that mpi4py takes for off and on; others it ignores, with a warning.
_OFF, _ON = {"", "0", "n", "no", "off", "false"}, {"1", "y", "yes", "on", "true"}


def is_on(package: Any, name: str) -> bool:
    """Tell whether a setting of the package ``mpi4py`` is on: by its environment variable, which precedes ``rc``.

    Settings are on by default: in an ``mpi4py`` of an earlier version that does not have them, and if the program has
    deleted ``rc``.
    """
    said = os.environ.get(f"MPI4PY_RC_{name.upper()}", "unset").lower()
    if said in _OFF:
        return False
    return said in _ON or bool(getattr(getattr(package, "rc", None), name, True))
