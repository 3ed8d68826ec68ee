"""Live runs in virtual time: the processes of a program, and the kernel that resumes one at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clue.first_use import loaded_on_first_use

if TYPE_CHECKING:
    from clue.execution.running import LiveRun, run

__all__ = ["LiveRun", "run"]

_HOMES = {
    "running": ("LiveRun", "run"),
}
__getattr__ = loaded_on_first_use(__name__, _HOMES)
