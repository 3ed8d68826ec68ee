"""From recordings to what a program does at any size and number of ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from clue.errors import ClueError
from clue.extrapolation.family import Family
from clue.trace import Trace


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a call of a program cannot be told at other sizes or numbers of ranks.

    Attributes:
        site: Where it is, and what it calls: ``"cg.py:72 Alltoallv"``; ``""``: the whole program.
        why: What must hold, and does not.
    """

    site: str
    why: str

    def __str__(self) -> str:
        return f"site {self.site} {self.why}" if self.site else self.why


class RefusedError(ClueError):
    """Report a program that follows no rules in size and ranks: what it does elsewhere is not guessed.

    Args:
        refusals: At least one; one for each call that is refused.
        name: What was to be extrapolated.
    """

    def __init__(self, refusals: tuple[Refusal, ...], name: str = "") -> None:
        self.refusals = refusals
        place = f"{name}: " if name else ""
        super().__init__([f"{place}{each}" for each in refusals])


@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """A trace that was made.

    Attributes:
        trace: The trace.
        remarks: What a reader of results should know of it.
        repeats: The same ops with the bursts of other models: how sure they are, told as repeated recordings tell it.
            Simulations take the median of each burst, so there must be as many that are shorter as are longer.
    """

    trace: Trace
    remarks: tuple[str, ...] = ()
    repeats: tuple[Trace, ...] = ()


class Structure(Protocol):
    """What a program does, at any size and number of ranks."""

    def generate(self, size: int, ranks: int) -> Made:
        """Return the trace at a size and a number of ranks.

        Raises:
            RefusedError: If it cannot be told there.
        """
        ...


def infer(family: Family) -> Structure:
    """Tell what the program does from its recordings.

    Raises:
        RefusedError: If a call follows no rule.
    """
    raise RefusedError((Refusal("", "program must follow rules that are not built yet, got any"),), family.name)
