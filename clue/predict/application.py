"""What is predicted: programs as users name them. Values only, which configurations are made of."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

#: Stands for the number of ranks in the names of traces and inputs, and in arguments.
PLACEHOLDER = "{ranks}"


@dataclass(frozen=True, slots=True)
class Application:
    """A program that can be run, or had as a trace, at a number of ranks.

    Attributes:
        script: Python program to record or run, or ``None`` if only traces are given.
        arguments: Its arguments; ``{ranks}`` stands for the number of ranks.
        trace: Path of a recorded trace; ``{ranks}`` in it stands for the number of ranks. Preferred to recording.
        repeats: Paths of further recordings of the same, which tell how much its bursts differ.
        inputs: Files that the script reads: when one changes, it is recorded again.
        environment: Names of environment variables that the script reads: the same.
    """

    script: Path | None = None
    arguments: tuple[str, ...] = ()
    trace: str | None = None
    repeats: tuple[str, ...] = ()
    inputs: tuple[Path, ...] = ()
    environment: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What it is called: its script, or its trace as it is written for any number of ranks."""
        return self.script.name if self.script is not None else Path(self.trace or "").name


#: An application at a number of ranks.
Key = tuple[Application, int]
