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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from clue.errors import ClueError, TraceError
from clue.files import is_file, open_file, read_bytes, write_texts
from clue.trace import disturbance
from clue.trace.columns import checksum
from clue.trace.form import Within, parse, read
from clue.trace.head import LONGEST_HEAD, Communicator, Head, RankHead
from clue.trace.notes import common_notes, socket_notes
from clue.trace.ops import COLUMNS, ROW, Op
from clue.trace.place import HEAD, IMPORTS, PARTS

_FIRST_WORLD = "w0"
_LAYOUT = np.dtype({
    "names": [name for name, _, _ in COLUMNS],
    "formats": [kind for _, kind, _ in COLUMNS],
    "itemsize": ROW.size,
})  # fmt: skip
#: Ranks named one by one in a message.
_NAMED = 8
#: Names that a column of their numbers has room for.
_MOST_NAMES = 1 << 16
#: Rows looked at together.
_CHUNK = 1 << 20


_Text = Annotated[str, Within(0, 2**20)]
_Name = Annotated[str, Within(0, 2**12)]
#: What a line that tells of eight ranks has room for.
_Word = Annotated[str, Within(0, 2**8)]
_Number = Annotated[int, Within(0, 2**31 - 1)]
_Seconds = Annotated[float, Within(0, 1e12)]
#: Kernels count some times by ticks: a difference of two may come out below 0.
_Difference = Annotated[float, Within(-1e12, 1e12)]


@dataclass(frozen=True, slots=True)
class _Start:
    """The form of what a rank says at its start, as far as it is needed here."""

    world: _Name
    rank: _Number
    host: _Name
    started: Annotated[int, Within(0, 2**63 - 1)]
    program: _Text
    arguments: tuple[_Text, ...]
    settings: Mapping[str, _Text]
    mpi: _Text
    python: _Name
    processor: _Name
    clock: _Name
    calls: tuple[_Word, ...]
    fault: _Word


@dataclass(frozen=True, slots=True)
class _Reading:
    """The form of what it read of its computer."""

    begin: _Seconds
    end: _Seconds
    cores: tuple[_Number, ...]
    busy: _Difference
    cpu: _Difference
    waited: _Difference


@dataclass(frozen=True, slots=True)
class Imports:
    """The form of what was imported: digests of own files, ``""`` if unknown, and a file of each installed package."""

    modules: Mapping[str, _Name]
    packages: Mapping[str, _Text]


@dataclass(frozen=True, slots=True)
class _End:
    """The form of what it says at its end: communicators as name, key, and numbers of their groups."""

    communicators: tuple[tuple[_Name, _Name | None, _Number, _Number | None], ...]
    groups: tuple[tuple[_Number | tuple[_Name, _Number], ...], ...]
    regions: tuple[_Name, ...]
    flops: Mapping[int, Annotated[float, Within(0, 1e30)]]
    worlds: tuple[_Name, ...]
    peak_memory: Annotated[int, Within(0, 2**53)]
    cpu: _Seconds
    wall: _Seconds
    overhead: Annotated[float, Within(-1, 1e6)]
    notes: tuple[_Text, ...]
    sockets: tuple[tuple[_Text, ...], tuple[_Text, ...]]
    computer: _Reading | None
    imports: Imports


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
        """Return its rows, those never written left out.

        Raises:
            OSError: If their file is no ordinary one.
        """
        if not self.file(".rows").exists():
            return np.zeros(0, dtype=_LAYOUT)
        with open_file(self.file(".rows")) as file:
            count = file.seek(0, os.SEEK_END) // ROW.size
            rows = np.memmap(file, _LAYOUT, "r", shape=(count,)) if count else np.zeros(0, _LAYOUT)
        return rows[: _written(rows["op"])]

    def extras(self) -> npt.NDArray[np.int64]:
        """Return its lists.

        Raises:
            OSError: As for the rows.
        """
        with open_file(self.file(".extras")) as file:
            return np.fromfile(file, dtype="<i8")


def _written(ops: npt.NDArray[np.uint8]) -> int:
    """Return how many rows were written before the first that was not; a file may be far longer than what is in it."""
    for begin in range(0, len(ops), _CHUNK):
        unwritten = np.flatnonzero(ops[begin : begin + _CHUNK] == 0)
        if len(unwritten):
            return begin + int(unwritten[0])
    return len(ops)


def pack(folder: Path) -> Head:
    """Turn the parts in a trace's folder into its columns and head; returns the head.

    Raises:
        TraceError: If a rank has not ended well, if ranks disagree, or if the disk is full; the parts stay.
    """
    parts, faults = _read_parts(folder)
    if faults:
        raise TraceError(faults)
    parts = _worlds_in_order(parts)
    if not parts or any(part.end is None or part.start["fault"] for part in parts):
        raise TraceError(describe_incomplete(folder))
    try:
        head = _Whole(folder, parts).write()
    except (OSError, ClueError) as error:
        for file in (*folder.glob("*.npy"), folder / IMPORTS):
            file.unlink(missing_ok=True)
        if isinstance(error, TraceError):
            raise
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise TraceError(f"{folder}: trace could not be packed: {why}") from error
    shutil.rmtree(folder / PARTS, ignore_errors=True)
    return head


def describe_incomplete(folder: Path) -> str:
    """Return one line that says why a folder without a head is no complete trace, with each rank's last op."""
    found, faults = _read_parts(folder)
    parts = _worlds_in_order(found)
    if not parts and faults:
        return faults[0]
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
    return tuple((file.name, _rows_written(file) if file.suffix == ".rows" else 0) for file in files if is_file(file))


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


def _read_parts(folder: Path) -> tuple[list[Part], list[str]]:
    """Return what ranks left, and what is wrong with it: a rank may have been killed while it wrote."""
    parts: list[Part] = []
    faults: list[str] = []
    for file in sorted((folder / PARTS).glob("*-r*.json")):
        if file.name.endswith(".end.json"):
            continue
        stem = file.with_suffix("")
        end = stem.with_name(stem.name + ".end.json")
        try:
            parts.append(Part(stem, _read_json(_Start, file), _read_json(_End, end) if end.exists() else None))
        except TraceError as error:
            faults += error.faults
    return parts, faults


def _read_json(form: type, file: Path) -> dict[str, Any]:
    try:
        data = parse(read_bytes(file, most=LONGEST_HEAD), file)
    except OSError as error:
        raise TraceError(f"{file}: file must be readable, got {error.strerror or error}") from None
    read(form, data, file)
    assert isinstance(data, dict)
    return data


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
    call = "".join(part.start["calls"][row["call"] : row["call"] + 1]) or "computation"
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
        numbers = [self.index.setdefault(name, len(self.index)) for name in names]
        if len(self.index) > _MOST_NAMES:
            raise TraceError(f"regions and calls must have at most {_MOST_NAMES} names each, got {len(self.index)}")
        return np.array(numbers, dtype=np.uint16)


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
        members = [(world, each) if isinstance(each, int) else tuple(each) for each in group]
        missing = next((each for each in members if each not in self._ranks), None)
        if missing is not None:
            raise TraceError(f"{part.file('.end.json')}: members must be ranks of the trace, got {missing}")
        return tuple(self._ranks[each] for each in members)

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
        for part in parts:
            _check_end(part)
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
        head = self._head()
        imports = json.dumps(_imports([_ended(part) for part in self._parts]), indent=1)
        write_texts({self._folder / IMPORTS: imports})
        write_texts({self._folder / HEAD: head.to_json(self._folder).decode()})
        return head

    def _translate(self, rank: int, part: Part) -> None:
        end = _ended(part)
        rows, extras = part.rows(), part.extras()
        begin, stop = self._offsets[rank : rank + 2]
        if len(rows) != stop - begin:
            raise TraceError(f"{part.file('.rows')}: rows must all be written, got {len(rows)} of {stop - begin}")
        _check_rows(part, rows, extras)
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
            checksums={name: checksum(array) for name, array in self._columns.items()},
        )


def _ended(part: Part) -> dict[str, Any]:
    assert part.end is not None, "packing begins when all ranks have ended"
    return part.end


def _check_end(part: Part) -> None:
    """Check that what a rank's words at its end refer to by number is there."""
    end = _ended(part)
    groups = [number for each in end["communicators"] for number in each[2:] if number is not None]
    _check_numbers(part, "group", np.array(groups, np.int64), end["groups"])
    _check_numbers(part, "region of flops", np.array([int(each) for each in end["flops"]], np.int64), end["regions"])


def _check_rows(part: Part, rows: npt.NDArray[np.void], extras: npt.NDArray[np.int64]) -> None:
    """Check that what a rank's rows refer to by number is there."""
    end = _ended(part)
    spawns = rows["extra"][rows["op"] == Op.SPAWN]
    _check_numbers(part, "call", rows["call"], part.start["calls"])
    _check_numbers(part, "region", rows["region"], end["regions"])
    _check_numbers(part, "comm", rows["comm"], end["communicators"] or [None])
    _check_numbers(part, "extra", spawns, extras)
    _check_numbers(part, "world", extras[spawns], end["worlds"])


def _check_numbers(part: Part, what: str, used: npt.NDArray[Any], there: Sequence[object] | npt.NDArray[Any]) -> None:
    bad = used[(used < 0) | (used >= len(there))]
    if len(bad):
        raise TraceError(f"{part.stem}: {what} must be from 0 to {len(there) - 1}, got {bad[0]}")


def _column(folder: Path, name: str, kind: str, length: int) -> npt.NDArray[Any]:
    file = folder / f"{name}.npy"
    if length == 0:  # an empty file cannot be mapped
        empty = np.zeros(0, dtype=kind)
        np.save(file, empty)
        return empty
    column = np.lib.format.open_memmap(file, mode="w+", dtype=np.dtype(kind), shape=(length,))
    with file.open("r+b") as reserved:  # so that a full disk is an error here, and no signal when it is written to
        os.posix_fallocate(reserved.fileno(), 0, file.stat().st_size)
    return column


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
