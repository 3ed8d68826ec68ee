"""Remarks on content that a conversion changed or left out, with counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clue.caveats import Count
from clue.trace import Trace


class Remarks:
    """Collects remarks on changes; equal remarks are counted."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], int] = {}

    def count(self, words: str, rest: str = "", times: int = 1) -> None:
        """Count further occurrences, as in "3 probes are left out".

        Args:
            words: Words after the number, for one and for several: ``"probe is|probes are"``.
            rest: The rest of the remark.
            times: Number of occurrences.
        """
        if times:
            self._counts[words, rest] = self._counts.get((words, rest), 0) + times

    @property
    def lines(self) -> tuple[str, ...]:
        """All remarks, in the order of first occurrence."""
        return tuple(f"{Count(times):{words}} {rest}".rstrip() for (words, rest), times in self._counts.items())


@dataclass(frozen=True, slots=True, eq=False)
class Converted:
    """A trace read from another format.

    Attributes:
        trace: The trace.
        remarks: Remarks on content that the trace cannot represent.
    """

    trace: Trace
    remarks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Written:
    """A trace or a machine in another format.

    Attributes:
        files: Text by file name; the first is the file to give to the other simulator.
        remarks: Remarks on content that the format cannot represent.
        hints: Hints on how to use the files.
    """

    files: Mapping[str, str]
    remarks: tuple[str, ...]
    hints: tuple[str, ...] = ()


def hints_at_blanks(name: str, option: str) -> tuple[str, ...]:
    """Return a hint if ``smpirun`` cannot open a file of this name, as its options split words at blanks."""
    if not any(letter.isspace() for letter in name):
        return ()
    return (f"smpirun opens no file with blanks in its name after {option}: rename {name!r}",)
