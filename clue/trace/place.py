"""Where a trace may be written: one rule for all writers, because writing a trace deletes what was there.

::

    pingpong.clue/head.json        written last
                  cpu.npy …        columns (clue.trace.store)
                  imports.json     the program's imports, on this computer
                  parts/           the parts that its ranks leave while they are recorded (clue.trace.parts)
    pingpong.2.clue                further recordings of the same run: .3.clue, …; compressed: .2.clue.zip, …
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable, Iterable
from functools import partial
from itertools import count, takewhile
from pathlib import Path

from clue.errors import UsageError
from clue.files import exists, open_file, remove
from clue.trace.ops import BESIDE, COLUMNS
from clue.trace.parts import FOLDER, is_part

HEAD = "head.json"
#: File of the program's imports, beside the head: it is valid only on this computer, and is not part of copies of the
#: trace.
IMPORTS = "imports.json"
_FILES = {HEAD, IMPORTS, *(f"{name}.npy" for name in ("extras", *BESIDE)), *(f"{name}.npy" for name, _, _ in COLUMNS)}
#: Number of other files that a message names.
_NAMED = 3
#: Ending of the name of a compressed trace, which follows the number of a repeat.
_ARCHIVE = ".clue.zip"
#: Names of drafts that a killed process may leave (:func:`clue.files.drafts`).
_DRAFT = re.compile(r"\.(head\.json|imports\.json|typical\.npy)\.[0-9a-f]{12}\.part")


def check_place(target: Path) -> None:
    """Check that writing a trace destroys only a trace: a folder may replace a folder, and a ``.zip`` a ``.zip``.

    Raises:
        UsageError: If something else is there, or something that cannot be read.
    """
    try:
        found = _found(target)
    except FileNotFoundError:  # somebody else removes it at this moment
        found = ""
    except (OSError, zipfile.BadZipFile) as error:
        found = str((isinstance(error, OSError) and error.strerror) or error)
    if found:
        what = "file" if target.suffix == ".zip" else "folder"
        raise UsageError(f"{target}: trace must be a new {what} or replace a trace, got {found}")


def _found(target: Path) -> str:
    """Describe what is there if it is not a trace; ``""`` if it is a trace, or there is nothing."""
    if not target.exists():
        return ""
    if target.is_dir() and target.suffix != ".zip":
        return _others(path.relative_to(target) for path in _entries(target))
    if target.is_dir() or target.suffix != ".zip":
        return "a folder" if target.is_dir() else "a file"
    with open_file(target) as file, zipfile.ZipFile(file) as archive:
        return _others(map(Path, archive.namelist()))


def _entries(folder: Path) -> list[Path]:
    parts = folder / FOLDER
    return [*folder.iterdir(), *(parts.iterdir() if parts.is_dir() else ())]


def _others(paths: Iterable[Path]) -> str:
    others = sorted(str(path) for path in paths if not _is_of_trace(path))
    return (
        f"something else there: {', '.join(others[:_NAMED])}{', …' if len(others) > _NAMED else ''}" if others else ""
    )


def _is_of_trace(path: Path) -> bool:
    if path.parent == Path(FOLDER):
        return is_part(path.name)
    return str(path) in {*_FILES, FOLDER} or _DRAFT.fullmatch(str(path)) is not None


def check_target(target: Path) -> None:
    """Check that a program may be recorded to a place.

    Raises:
        UsageError: If it names an archive, or something other than a trace is there.
    """
    if target.suffix == ".zip":
        raise UsageError(f"{target}: trace must be recorded into a folder, got a .zip: convert it afterwards")
    check_place(target)


def numbered(target: Path, number: int) -> Path:
    """Return the path of a recording: ``x.clue`` for the first, ``x.2.clue`` for the second; also ``x.2.clue.zip``."""
    if number == 1:
        return target
    ending = _ARCHIVE if target.name.endswith(_ARCHIVE) else target.suffix
    return target.with_name(f"{target.name.removesuffix(ending)}.{number}{ending}")


def repeats_beside(trace: Path) -> list[Path]:
    """Return the existing repeats of a recording: those of ``x.clue`` are ``x.2.clue``, ``x.3.clue``, …, without gaps.

    Those of ``x.clue.zip`` are ``x.2.clue.zip``, ….

    Args:
        trace: Path of the recording.
    """
    return recordings_from(2, partial(numbered, trace))


def recordings_from(number: int, place: Callable[[int], Path]) -> list[Path]:
    """Return the existing recordings of a run with this number and the following ones, without gaps.

    Args:
        number: Number of the first of them.
        place: Returns the path of a recording by its number.
    """
    return list(takewhile(exists, map(place, count(number))))


def remove_further(made: int, place: Callable[[int], Path]) -> None:
    """Remove recordings of an earlier run with more repeats: readers would take them for repeats of this run.

    Traces of another number of ranks are none: the numbers in the names may be those of ranks. They stay, with all
    that follow.

    Args:
        made: Number of recordings of this run.
        place: Returns the path of a recording by its number.

    Raises:
        UsageError: If something other than a trace is there.
    """
    ranks = _ranks(place(1))
    for earlier in recordings_from(made + 1, place):
        if _ranks(earlier) not in {ranks, None}:
            return
        check_place(earlier)
        remove(earlier)


def _ranks(trace: Path) -> int | None:
    """Return the number of ranks of a trace; ``None`` if it is incomplete."""
    try:
        return len(json.loads(_head(trace))["rank_heads"])
    except Exception:  # damaged bytes can raise any exception there
        return None


def _head(trace: Path) -> bytes:
    if trace.suffix != ".zip":
        return (trace / HEAD).read_bytes()
    from clue.trace.head import LONGEST_HEAD  # noqa: PLC0415 - ranks that are recorded write no archives

    with open_file(trace) as file, zipfile.ZipFile(file) as archive, archive.open(HEAD) as head:
        return head.read(LONGEST_HEAD)
