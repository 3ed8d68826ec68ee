"""Reads the parts that ranks leave (:mod:`clue.trace.parts`), in complete, broken and running recordings."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from clue.errors import TraceError
from clue.files import is_file, open_file, read_bytes
from clue.trace.form import parse, parse_version, read
from clue.trace.head import LONGEST_HEAD
from clue.trace.notes import common_notes
from clue.trace.ops import COLUMNS, Op
from clue.trace.parts import (
    END,
    EXTRAS,
    FIRST_WORLD,
    FOLDER,
    FORMAT,
    READINGS,
    ROW,
    ROWS,
    STACK,
    START,
    VERSION,
    End,
    Start,
    stem,
)
from clue.trace.pieces import ENTRIES
from clue.trace.place import HEAD

_LAYOUT = np.dtype({
    "names": [name for name, _, _ in COLUMNS],
    "formats": [kind for _, kind, _ in COLUMNS],
    "itemsize": ROW.size,
})  # fmt: skip
#: Number of ranks that a message names one by one.
NAMED = 8
#: Number of rows that are read at once.
_CHUNK = 1 << 20
#: Folders in the paths of files that do not belong to a program.
_NOT_OWN = ("site-packages", "dist-packages", "virtual_layer", PurePath(os.__file__).parent.name)
_FRAME = re.compile(r'  File "([^<].*)", line (\d+) in (.*)')
#: Most bytes that are read of a rank's stack.
_LONGEST_STACK = 1 << 16
_Document = TypeVar("_Document", Start, End)


@dataclass(frozen=True, slots=True)
class RankPart:
    """The part of one rank.

    Attributes:
        path: Path of its files without their endings.
        start: Its information at its start.
        end: Its information at its end, or ``None``.
    """

    path: Path
    start: Start
    end: End | None

    def file(self, ending: str) -> Path:
        """Return one of its files."""
        return self.path.with_name(self.path.name + ending)

    def ended(self) -> End:
        """Return its information at its end, which must exist."""
        assert self.end is not None, "packing begins when all ranks have ended"
        return self.end

    def rows(self) -> npt.NDArray[np.void]:
        """Return its rows, without those that were never written.

        Raises:
            OSError: If their file is not a regular file.
        """
        if not self.file(ROWS).exists():
            return np.zeros(0, dtype=_LAYOUT)
        with open_file(self.file(ROWS)) as file:
            count = file.seek(0, os.SEEK_END) // ROW.size
            rows = np.memmap(file, _LAYOUT, "r", shape=(count,)) if count else np.zeros(0, _LAYOUT)
        return rows[: _written(rows["op"])]

    def whole_rows(self) -> npt.NDArray[np.void]:
        """Return its rows, whose number must be that of its end.

        Raises:
            TraceError: If it is not.
            OSError: As for the rows.
        """
        rows, expected = self.rows(), self.ended().rows
        if len(rows) != expected:
            raise TraceError(f"{self.file(ROWS)}: rows must all be written, got {len(rows)} of {expected}")
        size = self.file(ROWS).stat().st_size if expected else 0
        if size != expected * ROW.size:
            raise TraceError(f"{self.file(ROWS)}: file must have {expected * ROW.size} bytes, got {size}")
        return rows

    def extras(self) -> npt.NDArray[np.int64]:
        """Return its lists.

        Raises:
            TraceError: If their file ends within an entry.
            OSError: As for the rows.
        """
        return self._numbers(EXTRAS, 1)

    def readings(self) -> npt.NDArray[np.int64]:
        """Return its readings of the host's speed, shape (readings, 3); empty if it has none.

        Raises:
            TraceError: If their file ends within a reading.
            OSError: As for the rows.
        """
        found = self._numbers(READINGS, ENTRIES) if self.ended().probe else np.zeros(0, np.int64)
        return found.reshape(-1, ENTRIES)

    def stopped_in(self) -> str:
        """Return where in the program it was when it was told to end, such as ``cg.py:72 solve``; ``""`` if unknown."""
        if not self.file(STACK).exists():
            return ""
        with open_file(self.file(STACK)) as file:
            # The last stack: processes that the rank forked also write there when they get the signal to end.
            lines = file.read(_LONGEST_STACK).decode(errors="replace").rpartition("Stack (")[2].splitlines()
        for name, line, function in (frame.groups() for frame in map(_FRAME.fullmatch, lines) if frame):
            path = PurePath(name)
            if not set(path.parts[:-1]) & set(_NOT_OWN):
                return f"{path.name}:{line}" + (f" {function}" if function != "<module>" else "")
        return ""

    def _numbers(self, ending: str, together: int) -> npt.NDArray[np.int64]:
        with open_file(self.file(ending)) as file:
            size = file.seek(0, os.SEEK_END)
            if size % (8 * together):
                raise TraceError(f"{self.file(ending)}: file must have a multiple of {8 * together} bytes, got {size}")
            file.seek(0)
            return np.fromfile(file, dtype="<i8")


def _written(ops: npt.NDArray[np.uint8]) -> int:
    """Return the number of rows before the first unwritten one; a file may be far longer than its rows."""
    for begin in range(0, len(ops), _CHUNK):
        unwritten = np.flatnonzero(ops[begin : begin + _CHUNK] == 0)
        if len(unwritten):
            return begin + int(unwritten[0])
    return len(ops)


def whole_parts(folder: Path) -> list[RankPart]:
    """Return the parts of all ranks of a complete recording, in the order of the trace's ranks.

    Raises:
        TraceError: If a part is faulty or missing, a rank has not ended well, or ranks disagree about their number.
    """
    parts, faults = _read_parts(folder)
    if faults:
        raise TraceError(faults)
    if not parts or any(part.end is None or part.start.fault for part in parts):
        raise TraceError(describe_incomplete(folder))
    for world, members in _by_world(parts).items():
        sizes = [part.start.size for part in members]
        if min(sizes) < max(sizes):
            rule = f"ranks of world {world} must agree on their number"
            raise TraceError(f"{folder}: {rule}, got {min(sizes)} and {max(sizes)}")
        ranks, size = {part.start.rank for part in members}, sizes[0]
        if len(ranks) < size:
            missing = next(rank for rank in range(size) if rank not in ranks)
            raise TraceError(f"{folder}: world {world} must have parts of {size} ranks, got none of rank {missing}")
    return parts


def describe_incomplete(folder: Path) -> str:
    """Return a line that says why a folder without a head is not a complete trace, with each rank's last op."""
    parts, faults = _read_parts(folder)
    if not parts and faults:
        return faults[0]
    if not parts:
        return f"{folder}: trace must be a folder with a {HEAD}, got a folder without: this is not a trace of clue"
    reasons = common_notes([[part.start.fault] if part.start.fault else [] for part in parts])
    last = [_last_op(rank, part) for rank, part in enumerate(parts) if part.end is None or part.start.fault]
    if not last:
        return f"{folder}: trace must be complete, got one whose ranks all ended but that was not packed"
    shown = last[:NAMED] + ([f"and {len(last) - NAMED} more ranks"] if len(last) > NAMED else [])
    if len(last) < len(parts):
        shown.append(f"{len(parts) - len(last)} of {len(parts)} ranks had ended")
    why = f" ({'; '.join(reasons[:NAMED])})" if reasons else ""
    return f"{folder}: trace must be complete, got one that ends early{why}: {'; '.join(shown)}"


def _last_op(rank: int, part: RankPart) -> str:
    rows, place = part.rows(), part.stopped_in()
    then = f", then in {place}" if place else ""
    if not len(rows):
        return f"rank {rank} before its first op{then}"
    calls = np.flatnonzero(rows["op"] != Op.COMPUTE)
    last = int(calls[-1]) if len(calls) else len(rows) - 1
    row = rows[last]
    call = "".join(part.start.calls[row["call"] : row["call"] + 1]) or "computation"
    seconds = (int(row["begin"]) + int(row["took"])) * 1e-9
    return f"rank {rank} after op {last} ({call}{_partner(row)} at {seconds:.6g} s){then}"


def _partner(row: np.void) -> str:
    op, peer, tag = int(row["op"]), int(row["peer"]), int(row["tag"])
    if op in (Op.SEND, Op.ISEND):
        return f" to {peer}, tag {tag}"
    if op == Op.RMA:
        return f" to {peer}"
    if op in (Op.RECV, Op.IRECV, Op.PROBE, Op.MPROBE):
        return f" from {peer if peer >= 0 else 'any'}, tag {tag if tag >= 0 else 'any'}"
    return ""


def signs_of_life(folder: Path) -> tuple[tuple[str, int], ...]:
    """Return files and row counts of a running recording: they change when a rank begins, ends, or completes a call."""
    files = sorted((folder / FOLDER).glob("*"))
    return tuple((file.name, _rows_written(file) if file.suffix == ROWS else 0) for file in files if is_file(file))


def _rows_written(file: Path) -> int:
    """Count the rows of a growing file, which is longer than its rows and padded with zeros."""
    with file.open("rb", buffering=0) as rows:
        descriptor = rows.fileno()
        low, high = 0, os.fstat(descriptor).st_size // ROW.size
        while low < high:
            middle = (low + high) // 2
            row = os.pread(descriptor, ROW.size, middle * ROW.size)
            if len(row) == ROW.size and ROW.unpack(row)[-1]:  # its op
                low = middle + 1
            else:
                high = middle
    return low


def _read_parts(folder: Path) -> tuple[list[RankPart], list[str]]:
    """Return the ranks' parts, in order, and their faults: a rank may have been killed while it wrote."""
    parts: list[RankPart] = []
    faults: list[str] = []
    for file in sorted((folder / FOLDER).glob(f"*-r*{START}")):
        if file.name.endswith(END):
            continue
        end = file.with_suffix(END)
        try:
            start = _read_start(file)
            parts.append(RankPart(file.with_suffix(""), start, _read_document(End, end) if end.exists() else None))
        except TraceError as error:
            faults += error.faults
    return _in_order(parts), faults


def _read_start(file: Path) -> Start:
    start = _read_document(Start, file)
    if file.name != stem(start.world, start.rank) + START or start.rank >= start.size:
        got = f"rank {start.rank} of {start.size} in world {start.world}"
        raise TraceError(f"{file}: name must be that of the rank's world and of its rank there, got {got}")
    return start


def _read_document(form: type[_Document], file: Path) -> _Document:
    try:
        content = read_bytes(file, most=LONGEST_HEAD)
    except OSError as error:
        raise TraceError(f"{file}: file must be readable, got {error.strerror or error}") from None
    if form is Start:
        return read(form, parse_version(content, file, FORMAT, (VERSION,), "what a rank leaves for clue"), file)
    return read(form, parse(content, file), file)


def _in_order(parts: Iterable[RankPart]) -> list[RankPart]:
    """Sort parts into the order of the trace's ranks: the first world, then spawned ones in order of their start."""
    worlds = _by_world(parts)
    begun = {world: min(part.start.started for part in members) for world, members in worlds.items()}
    order = sorted(worlds, key=lambda world: (world != FIRST_WORLD, begun[world], world))
    return [part for world in order for part in sorted(worlds[world], key=lambda part: part.start.rank)]


def _by_world(parts: Iterable[RankPart]) -> Mapping[str, list[RankPart]]:
    worlds: dict[str, list[RankPart]] = {}
    for part in parts:
        worlds.setdefault(part.start.world, []).append(part)
    return worlds
