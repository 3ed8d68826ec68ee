"""Call sites (placeholder until the recorder writes them)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame of a call path."""

    file: str
    function: str
    line: int
    at: int
    loops: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Site:
    """A call path, outermost frame first."""

    frames: tuple[Frame, ...]

    @property
    def name(self) -> str:
        """File and line of the innermost frame."""
        return f"{PurePath(self.frames[-1].file).name}:{self.frames[-1].line}" if self.frames else ""
