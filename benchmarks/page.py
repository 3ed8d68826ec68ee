"""Common parts of pages of results: tables, goals, the computer, and the version that was measured."""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from clue.trace.computer import processor_name

#: The folder of the checkout.
ROOT = Path(__file__).resolve().parents[1]
#: Words for a goal that is reached, missed, or not measured.
REACHED = {True: "yes", False: "**no**", None: "not measured"}


@dataclass(frozen=True, slots=True)
class Goal:
    """One figure and its goal.

    Attributes:
        figure: Name of the figure.
        wanted: The goal, in words.
        measured: The measured value, in words; ``""``: none.
        reached: Whether the goal is reached; ``None`` if nothing was measured.
    """

    figure: str
    wanted: str
    measured: str = ""
    reached: bool | None = None


def processor() -> str:
    """Return the name of this computer's processor, with its speed and number of cores."""
    info = Path("/proc/cpuinfo").read_text()
    megahertz = re.findall(r"cpu MHz\s*: ([\d.]+)", info)
    speed = f" at {float(megahertz[0]) / 1e3:.1f} GHz" if megahertz else ""
    return f"{processor_name()}{speed} ({os.cpu_count()} cores)"


def revision() -> str:
    """Return the version of the checkout."""
    said = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return said.stdout.strip() or "not a checkout"


def typed_command(module: str) -> str:
    """Return the command that started this process, as a reader types it."""
    return " ".join(["python -m", module, *sys.argv[1:]])


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table."""
    yield "| " + " | ".join(head) + " |"
    yield "|" + " --- |" * len(head)
    yield from ("| " + " | ".join(row) + " |" for row in rows)


def notes_beside(table: Path) -> list[str]:
    """Return the remarks on a table that were written by hand, in the file with its name and ``.notes.md``."""
    notes = table.with_suffix(".notes.md")
    return [notes.read_text()] if notes.exists() else []


def write_page(text: str, output: Path | None) -> None:
    """Write a page to its file, or to the standard output if there is none."""
    if output is None:
        print(text)
    else:
        output.write_text(text)


def write_rows(file: Path, lines: Iterable[Sequence[object]]) -> None:
    """Write a table with its header first."""
    with file.open("w", newline="") as out:
        csv.writer(out, lineterminator="\n").writerows(lines)


def rows(file: Path) -> list[dict[str, str]]:
    """Return the rows of a table, by column; no rows if there is no file."""
    if not file.exists():
        return []
    with file.open(newline="") as table:
        return list(csv.DictReader(table))
