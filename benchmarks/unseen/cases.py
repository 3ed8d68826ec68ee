"""What is measured: programs and machines, each either for rehearsal or frozen."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.validate.cases import CASES, MACHINES


@dataclass(frozen=True, slots=True)
class UnseenProgram:
    """A program of one size.

    Attributes:
        name: Its name.
        script: Its file.
        arguments: Its arguments; the first is its size.
        kind: What it is an example of.
        frozen: Whether nobody may look at its errors before the model is frozen.
        live: Whether what it does depends on what comes first, so that it is run in virtual time.
    """

    name: str
    script: Path
    arguments: tuple[str, ...]
    kind: str
    frozen: bool
    live: bool = False

    @property
    def size(self) -> str:
        """What is solved."""
        return self.arguments[0] if self.arguments else ""

    @property
    def command(self) -> list[str]:
        """The program with its arguments."""
        return [str(self.script), *self.arguments]


@dataclass(frozen=True, slots=True)
class UnseenMachine:
    """A machine of the testbed.

    Attributes:
        name: Its name.
        frozen: Whether nobody may look at its errors before the model is frozen.
    """

    name: str
    frozen: bool

    @property
    def file(self) -> Path:
        """What a buyer knows of it."""
        return MACHINES / f"{self.name}.yaml"


PROGRAMS = tuple(
    UnseenProgram(each.program, each.script, (str(each.size),), "rehearsed", frozen=False, live=each.decides)
    for each in CASES
)
_REHEARSED = ("2x100m", "4x100m", "fast-slow")
UNSEEN_MACHINES = tuple(UnseenMachine(name, frozen=False) for name in _REHEARSED)


def chosen(*, frozen: bool) -> tuple[list[UnseenProgram], list[UnseenMachine]]:
    """Return the frozen programs and machines, or those for rehearsal: never the one on the other."""
    return (
        [each for each in PROGRAMS if each.frozen is frozen],
        [each for each in UNSEEN_MACHINES if each.frozen is frozen],
    )
