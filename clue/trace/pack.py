"""Packing: from the parts that ranks leave while recording to the columns of a trace, or to why there is none.

The parts are described in :mod:`virtual_layer.session`. Packing translates what each rank numbered for itself
(calls, regions, communicators) to the numbers of the whole trace, checks that the ranks agree about their
communicators, and writes the head last.
"""

from __future__ import annotations

import datetime
import itertools
import json
import os
import shutil
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from clue.errors import TraceError
from clue.trace import disturbance
from clue.trace.head import Communicator, Head, RankHead
from clue.trace.notes import common_notes, socket_notes
from clue.trace.ops import COLUMNS, ROW, Op
from clue.trace.store import HEAD

PARTS = "parts"
#: What the program imported, beside the head: it belongs to this computer, and does not travel with the trace.
IMPORTS = "imports.json"
_FIRST_WORLD = "w0"
_LAYOUT = np.dtype({
    "names": [name for name, _, _ in COLUMNS],
    "formats": [kind for _, kind, _ in COLUMNS],
    "itemsize": ROW.size,
})  # fmt: skip
#: Ranks named one by one in a message.
_NAMED = 8


@dataclass(frozen=True, slots=True)
class Part:
    """What one rank left.

    Attributes:
        stem: Path of its files without their endings.
        start: What it said at its start.
        end: What it said at its end, or ``None``.
    """

    stem: Path
    start: dict[str, Any]
    end: dict[str, Any] | None

    def file(self, ending: str) -> Path:
        """Return one of its files."""
        return self.stem.with_name(self.stem.name + ending)

    def rows(self) -> npt.NDArray[np.void]:
        """Return its rows, those never written left out."""
        if not self.file(".rows").exists():
            return np.zeros(0, dtype=_LAYOUT)
        rows = np.fromfile(self.file(".rows"), dtype=_LAYOUT)
        written = rows["op"] != 0
        return rows if written.all() else rows[: int(np.argmin(written))]

    def extras(self) -> npt.NDArray[np.int64]:
        """Return its lists."""
        return np.fromfile(self.file(".extras"), dtype="<i8")


def pack(folder: Path) -> Head:
    """Turn the parts in a trace's folder into its columns and head; returns the head.

    Raises:
        TraceError: If a rank has not ended well, if ranks disagree, or if the disk is full; the parts stay.
    """
    parts = _worlds_in_order(_read_parts(folder))
    if not parts or any(part.end is None or part.start["fault"] for part in parts):
        raise TraceError(describe_incomplete(folder))
    try:
        head = _Whole(folder, parts).write()
    except OSError as error:
        for column in folder.glob("*.npy"):
            column.unlink(missing_ok=True)
        raise TraceError(f"{folder}: trace could not be packed: {error.strerror or error}") from error
    shutil.rmtree(folder / PARTS, ignore_errors=True)
    return head


def describe_incomplete(folder: Path) -> str:
    """Return one line that says why a folder without a head is no complete trace, with each rank's last op."""
    parts = _worlds_in_order(_read_parts(folder))
    if not parts:
        return f"{folder}: trace must be a folder with a {HEAD}, got a folder without: this is not a trace of clue"
    reasons = [f"rank {rank}: {part.start['fault']}" for rank, part in enumerate(parts) if part.start["fault"]]
    last = [_last_op(rank, part) for rank, part in enumerate(parts) if part.end is None or part.start["fault"]]
    if not last:
        return f"{folder}: trace must be complete, got one whose ranks all ended but that was not packed"
    shown = last[:_NAMED] + ([f"and {len(last) - _NAMED} more ranks"] if len(last) > _NAMED else [])
    if len(last) < len(parts):
        shown.append(f"{len(parts) - len(last)} of {len(parts)} ranks had ended")
    why = f" ({'; '.join(reasons[:_NAMED])})" if reasons else ""
    return f"{folder}: trace must be complete, got one that ends early{why}: {'; '.join(shown)}"


def signs_of_life(folder: Path) -> tuple[tuple[str, int], ...]:
    """Return what changes whenever a rank that is being recorded ends a call, begins or ends: its files and rows."""
    files = sorted((folder / PARTS).glob("*"))
    return tuple((file.name, _rows_written(file) if file.suffix == ".rows" else 0) for file in files if file.exists())


def _rows_written(file: Path) -> int:
    """Count the rows of a file that grows: it is longer than they are, and zeros follow."""
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


def _read_parts(folder: Path) -> list[Part]:
    parts = []
    for file in sorted((folder / PARTS).glob("*-r*.json")):
        if file.name.endswith(".end.json"):
            continue
        stem = file.with_suffix("")
        start = _read_json(file)
        if start is not None:
            parts.append(Part(stem, start, _read_json(stem.with_name(stem.name + ".end.json"))))
    return parts


def _read_json(file: Path) -> dict[str, Any] | None:
    try:
        data = json.loads(file.read_text())
    except (OSError, ValueError):
        return None
    return data if isinstance(data, dict) else None


def _worlds_in_order(parts: Iterable[Part]) -> list[Part]:
    """Sort into the order of the trace's ranks: the first world, then spawned ones as they started."""
    parts = list(parts)
    begun: dict[str, int] = {}
    for part in parts:
        world = part.start["world"]
        begun[world] = min(begun.get(world, part.start["started"]), part.start["started"])
    begun[_FIRST_WORLD] = 0
    return sorted(parts, key=lambda part: (begun[part.start["world"]], part.start["world"], part.start["rank"]))


def _last_op(rank: int, part: Part) -> str:
    rows = part.rows()
    if not len(rows):
        return f"rank {rank} before its first op"
    calls = np.flatnonzero(rows["op"] != Op.COMPUTE)
    last = int(calls[-1]) if len(calls) else len(rows) - 1
    row = rows[last]
    call = part.start["calls"][row["call"]] or "computation"
    seconds = (int(row["begin"]) + int(row["took"])) * 1e-9
    return f"rank {rank} after op {last} ({call}{_partner(row)} at {seconds:.6g} s)"


def _partner(row: np.void) -> str:
    op, peer, tag = int(row["op"]), int(row["peer"]), int(row["tag"])
    if op in (Op.SEND, Op.ISEND):
        return f" to {peer}, tag {tag}"
    if op in (Op.RECV, Op.IRECV, Op.PROBE, Op.MPROBE):
        return f" from {peer if peer >= 0 else 'any'}, tag {tag if tag >= 0 else 'any'}"
    return ""


class _Names:
    """Numbers for names, in order of appearance."""

    def __init__(self, *first: str) -> None:
        self.index = {name: at for at, name in enumerate(first)}

    def translate(self, names: Sequence[str]) -> npt.NDArray[np.uint16]:
        return np.array([self.index.setdefault(name, len(self.index)) for name in names], dtype=np.uint16)


class _Agreement:
    """The communicators of all ranks, told apart by key and groups."""

    def __init__(self, folder: Path, parts: Sequence[Part]) -> None:
        self._folder = folder
        self._ranks = {(part.start["world"], part.start["rank"]): rank for rank, part in enumerate(parts)}
        self._contexts: dict[str, int] = {}
        self._sides: dict[str, tuple[tuple[int, ...], tuple[int, ...] | None]] = {}
        self._index: dict[tuple[str, tuple[int, ...]], int] = {}
        self.listed: list[Communicator] = []

    def translate(self, rank: int, part: Part, used: npt.NDArray[np.bool_]) -> npt.NDArray[np.int32]:
        """Return the trace's index of each of a rank's communicators; unused ones are left out."""
        end = _ended(part)
        groups = end["groups"]
        indices = np.zeros(max(len(end["communicators"]), 1), dtype=np.int32)
        for at, (name, key, group, remote) in enumerate(end["communicators"]):
            if key is not None and at < len(used) and used[at]:
                local = self._members(part, groups[group])
                far = None if remote is None else self._members(part, groups[remote])
                indices[at] = self._place(rank, name, key, local, far)
        return indices

    def _members(self, part: Part, group: Sequence[Any]) -> tuple[int, ...]:
        world = part.start["world"]
        return tuple(self._ranks[(world, each) if isinstance(each, int) else tuple(each)] for each in group)

    def _place(self, rank: int, name: str, key: str, local: tuple[int, ...], far: tuple[int, ...] | None) -> int:
        known = self._sides.setdefault(key, (local, far))
        if known not in {(local, far), (far, local)}:
            raise TraceError(
                f"{self._folder}: members of communicator {name} must be the same on all ranks, "
                f"got {_some(local)} on rank {rank} and {_some(known[0])} on another"
            )
        at = self._index.get((key, local))
        if at is None:
            at = self._index[key, local] = len(self.listed)
            context = self._contexts.setdefault(key, len(self._contexts))
            self.listed.append(Communicator(name, local, far, context))
        return at


def _some(group: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, group[:6]))}{', …' if len(group) > 6 else ''})"


class _Whole:
    """The trace being put together: its numbering, and its columns on disk."""

    def __init__(self, folder: Path, parts: Sequence[Part]) -> None:
        self._folder = folder
        self._parts = parts
        self._calls, self._regions = _Names(), _Names("")
        self._agreement = _Agreement(folder, parts)
        self._agreement.translate(0, parts[0], np.array([True]))
        self._worlds = {key: at for at, key in enumerate(dict.fromkeys(part.start["world"] for part in parts))}
        self._offsets = _offsets(part.file(".rows").stat().st_size // ROW.size for part in parts)
        self._extra_offsets = _offsets(part.file(".extras").stat().st_size // 8 for part in parts)
        lengths = {name: self._offsets[-1] for name, _, _ in COLUMNS} | {"extras": self._extra_offsets[-1]}
        kinds = {name: kind for name, kind, _ in COLUMNS} | {"extras": "<i8"}
        self._columns = {name: _column(folder, name, kinds[name], length) for name, length in lengths.items()}

    def write(self) -> Head:
        """Write the columns, and last of all the head; returns that."""
        for rank, part in enumerate(self._parts):
            self._translate(rank, part)
        for array in self._columns.values():
            if isinstance(array, np.memmap):
                array.flush()
        (self._folder / IMPORTS).write_text(json.dumps(_imports([_ended(part) for part in self._parts]), indent=1))
        draft = self._folder / f".{HEAD}"
        head = self._head()
        draft.write_text(head.to_json())
        draft.rename(self._folder / HEAD)
        return head

    def _translate(self, rank: int, part: Part) -> None:
        end = _ended(part)
        rows, extras = part.rows(), part.extras()
        begin, stop = self._offsets[rank : rank + 2]
        if len(rows) != stop - begin:
            raise TraceError(f"{part.file('.rows')}: rows must all be written, got {len(rows)} of {stop - begin}")
        for at in rows["extra"][rows["op"] == Op.SPAWN]:
            extras[at] = self._worlds.get(end["worlds"][extras[at]], 0)
        used = np.bincount(rows["comm"], minlength=1) > 0
        translated = {
            "call": _used_names(self._calls, part.start["calls"], rows["call"]),
            "region": self._regions.translate(end["regions"])[rows["region"]],
            "comm": self._agreement.translate(rank, part, used)[rows["comm"]],
        }
        for name, _, _ in COLUMNS:
            self._columns[name][begin:stop] = translated.get(name, rows[name])
        self._columns["extras"][slice(*self._extra_offsets[rank : rank + 2])] = extras

    def _head(self) -> Head:
        first, ends = self._parts[0].start, [_ended(part) for part in self._parts]
        notes = common_notes([end["notes"] for end in ends]) + socket_notes([end["sockets"] for end in ends])
        hosts = [part.start["host"] for part in self._parts]
        delayed = disturbance.delays(hosts, [end["computer"] for end in ends])
        ranks = [
            _rank_head(part, self._worlds, self._regions, seconds)
            for part, seconds in zip(self._parts, delayed, strict=True)
        ]
        recorded = datetime.datetime.fromtimestamp(first["started"] * 1e-9, datetime.timezone.utc)
        return Head(
            program=first["program"],
            arguments=tuple(first["arguments"]),
            rank_heads=tuple(ranks),
            offsets=self._offsets,
            extra_offsets=self._extra_offsets,
            calls=tuple(self._calls.index),
            regions=tuple(self._regions.index),
            communicators=tuple(self._agreement.listed),
            processor=first["processor"],
            mpi=first["mpi"],
            python=first["python"],
            clock=first["clock"],
            settings=first["settings"],
            overhead=ends[0]["overhead"],
            recorded=recorded.isoformat(timespec="seconds"),
            notes=(
                *disturbance.about(ranks),
                *notes[:_NAMED],
                *([f"and {len(notes) - _NAMED} more such"] if len(notes) > _NAMED else []),
            ),
            checksums={name: zlib.crc32(array.data) if array.size else 0 for name, array in self._columns.items()},
        )


def _ended(part: Part) -> dict[str, Any]:
    assert part.end is not None, "packing begins when all ranks have ended"
    return part.end


def _column(folder: Path, name: str, kind: str, length: int) -> npt.NDArray[Any]:
    file = folder / f"{name}.npy"
    if length == 0:  # an empty file cannot be mapped
        empty = np.zeros(0, dtype=kind)
        np.save(file, empty)
        return empty
    return np.lib.format.open_memmap(file, mode="w+", dtype=np.dtype(kind), shape=(length,))


def _used_names(names: _Names, titles: Sequence[str], column: npt.NDArray[np.uint16]) -> npt.NDArray[np.uint16]:
    used = np.unique(column)
    table = np.zeros(len(titles), dtype=np.uint16)
    table[used] = names.translate([titles[at] for at in used])
    return table[column]


def _offsets(lengths: Iterable[int]) -> tuple[int, ...]:
    return (0, *itertools.accumulate(lengths))


def _imports(ends: Sequence[dict[str, Any]]) -> dict[str, dict[str, str]]:
    """Return what any rank imported; of a module that is not the same on all of them the content counts as unknown."""
    modules: dict[str, str] = {}
    packages: dict[str, str] = {}
    for end in ends:
        for file, digest in end["imports"]["modules"].items():
            modules[file] = digest if modules.get(file, digest) == digest else ""
        packages |= end["imports"]["packages"]
    return {"modules": modules, "packages": packages}


def _rank_head(part: Part, worlds: dict[str, int], regions: _Names, delayed: float) -> RankHead:
    end = _ended(part)
    names = end["regions"]
    return RankHead(
        host=part.start["host"],
        peak_memory=end["peak_memory"],
        cpu=end["cpu"],
        wall=end["wall"],
        world=worlds[part.start["world"]],
        flops={regions.index[names[int(region)]]: flops for region, flops in end["flops"].items()},
        delayed=delayed,
    )
