"""What processes that are started here must have of this one. Starts none itself."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

_HERE = str(Path(__file__).resolve().parent.parent)


def finding_clue(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which Python finds this very clue, installed or not."""
    paths = environment.get("PYTHONPATH", "")
    if _HERE in paths.split(os.pathsep) or "site-packages" in _HERE:
        return dict(environment)
    return {**environment, "PYTHONPATH": os.pathsep.join(filter(None, [paths, _HERE]))}


def standard_input() -> int | None:
    """Return what a program in a session of its own reads: what is piped in here, but never a terminal."""
    closed = sys.__stdin__ is None or sys.__stdin__.closed or sys.__stdin__.isatty()
    return subprocess.DEVNULL if closed else None
