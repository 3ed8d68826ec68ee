"""Live runs in virtual time: the processes of a program, and the kernel that resumes one at a time."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clue.execution.running import LiveRun, run

__all__ = ["LiveRun", "run"]

_HOME = {"LiveRun": "running", "run": "running"}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"clue.execution.{_HOME[name]}"), name)
