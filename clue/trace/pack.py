"""Packing: turns the parts that ranks leave while recording (:mod:`clue.trace.parts`) into the columns of a trace.

Packing translates each rank's own numbers of calls, regions and communicators to those of the whole trace, checks that
the ranks agree about their communicators, and writes the head last.
"""

from __future__ import annotations

import datetime
import itertools
import json
import os
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from clue.errors import ClueError, TraceError
from clue.files import write_texts
from clue.trace import disturbance
from clue.trace.columns import checksum
from clue.trace.head import Communicator, Head, Probe, RankHead
from clue.trace.notes import common_notes, socket_notes
from clue.trace.ops import COLUMNS, Op
from clue.trace.parts import END, EXTRAS, FOLDER, Imported
from clue.trace.parts.reading import NAMED, RankPart, whole_parts
from clue.trace.place import HEAD, IMPORTS
from clue.trace.sites import MOST_FRAMES, MOST_SITES, Frame, Site, Sites
from clue.trace.speed import best_of
from clue.units import count_of

#: Most names that fit into a 16-bit column of their numbers.
_MOST_NAMES = 1 << 16


def pack(folder: Path) -> Head:
    """Turn the parts in a trace's folder into its columns and head; return the head.

    Raises:
        TraceError: If a rank has not ended well, if ranks disagree, or if the disk is full; the parts stay.
    """
    parts = whole_parts(folder)
    try:
        head = _Whole(folder, parts).write()
    except (OSError, ClueError) as error:
        for file in (*folder.glob("*.npy"), folder / IMPORTS):
            file.unlink(missing_ok=True)
        if isinstance(error, TraceError):
            raise
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise TraceError(f"{folder}: trace could not be packed: {why}") from error
    shutil.rmtree(folder / FOLDER, ignore_errors=True)
    return head


class _Names:
    """Numbers for names, in order of appearance."""

    def __init__(self, *first: str) -> None:
        self.index = {name: at for at, name in enumerate(first)}

    def translate(self, names: Sequence[str]) -> npt.NDArray[np.uint16]:
        numbers = [self.index.setdefault(name, len(self.index)) for name in names]
        if len(self.index) > _MOST_NAMES:
            raise TraceError(f"regions and calls must have at most {_MOST_NAMES} names each, got {len(self.index)}")
        return np.array(numbers, dtype=np.uint16)


class _Paths:
    """Numbers for call paths, in order of appearance; paths beyond a limit count as unknown."""

    def __init__(self) -> None:
        self._paths: dict[tuple[Frame, ...], int] = {(): 0}
        self._room = MOST_FRAMES
        self._without: dict[str, int] = {}  # rows by the limit that their paths exceed

    def translate(self, sites: Sites, column: npt.NDArray[np.uint16]) -> npt.NDArray[np.uint16]:
        """Return a rank's column of sites, translated to the numbers of the trace."""
        rows = np.bincount(column, minlength=len(sites))
        table = np.zeros(len(sites), dtype=np.uint16)
        for at in np.flatnonzero(rows).tolist():
            frames = tuple(sites.frames[each] for each in sites.paths[at])
            if frames not in self._paths and (limit := self._limit(frames)):
                self._without[limit] = self._without.get(limit, 0) + int(rows[at])
            else:
                table[at] = self._number(frames)
        return table[column]

    def _limit(self, frames: tuple[Frame, ...]) -> str:
        """Return the limit that a further path exceeds; ``""`` if it exceeds none."""
        if len(self._paths) == MOST_SITES:
            return f"a trace has at most {MOST_SITES - 1:,} call sites"
        return f"call sites of a trace have at most {MOST_FRAMES:,} frames" if len(frames) > self._room else ""

    def _number(self, frames: tuple[Frame, ...]) -> int:
        if frames not in self._paths:
            self._room -= len(frames)
        return self._paths.setdefault(frames, len(self._paths))

    def listed(self) -> Sites:
        """Return all numbered call paths."""
        return Sites.of(map(Site, self._paths))

    def notes(self) -> list[str]:
        """Return a note for each limit that was exceeded, with the number of ops without a call site."""
        return [
            f"{count_of(rows, 'op')} {'has' if rows == 1 else 'have'} no call site: {limit}"
            for limit, rows in self._without.items()
        ]


class _Agreement:
    """The communicators of all ranks, distinguished by key and groups."""

    def __init__(self, folder: Path, parts: Sequence[RankPart]) -> None:
        self._folder = folder
        self._ranks = {(part.start.world, part.start.rank): rank for rank, part in enumerate(parts)}
        self._contexts: dict[str, int] = {}
        self._sides: dict[str, tuple[tuple[int, ...], tuple[int, ...] | None]] = {}
        self._index: dict[tuple[str, tuple[int, ...]], int] = {}
        self.listed: list[Communicator] = []

    def translate(self, rank: int, part: RankPart, used: npt.NDArray[np.bool_]) -> npt.NDArray[np.int32]:
        """Return the trace's index of each of a rank's communicators; unused ones are left out."""
        end = part.ended()
        groups = end.groups
        indices = np.zeros(max(len(end.communicators), 1), dtype=np.int32)
        for at, (name, key, group, remote) in enumerate(end.communicators):
            if key is not None and at < len(used) and used[at]:
                local = self._members(part, groups[group])
                far = None if remote is None else self._members(part, groups[remote])
                indices[at] = self._place(rank, name, key, local, far)
        return indices

    def _members(self, part: RankPart, group: Sequence[Any]) -> tuple[int, ...]:
        world = part.start.world
        members = [(world, each) if isinstance(each, int) else tuple(each) for each in group]
        missing = next((each for each in members if each not in self._ranks), None)
        if missing is not None:
            raise TraceError(f"{part.file(END)}: members must be ranks of the trace, got {missing}")
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
    """The trace that is being put together: its numbering, and its columns on disk."""

    def __init__(self, folder: Path, parts: Sequence[RankPart]) -> None:
        self._folder = folder
        self._parts = parts
        for part in parts:
            _check_end(part)
        self._calls, self._regions, self._sites = _Names(), _Names(""), _Paths()
        self._agreement = _Agreement(folder, parts)
        self._agreement.translate(0, parts[0], np.array([True]))
        self._worlds = {key: at for at, key in enumerate(dict.fromkeys(part.start.world for part in parts))}
        self._offsets = _offsets(part.ended().rows for part in parts)
        self._extra_offsets = _offsets(part.file(EXTRAS).stat().st_size // 8 for part in parts)
        lengths = {name: self._offsets[-1] for name, _, _ in COLUMNS} | {"extras": self._extra_offsets[-1]}
        kinds = {name: kind for name, kind, _ in COLUMNS} | {"extras": "<i8"}
        if all(len(part.ended().sites) == 1 for part in parts):
            del lengths["site"]
        self._readings = [part.readings() for part in parts]
        if any(part.ended().probe for part in parts):
            kinds["readings"], lengths["readings"] = "<i8", sum(each.size for each in self._readings)
        self._columns = {name: _column(folder, name, kinds[name], length) for name, length in lengths.items()}

    def write(self) -> Head:
        """Write the columns, then the head; return the head."""
        for rank, part in enumerate(self._parts):
            self._translate(rank, part)
        if "readings" in self._columns:
            self._columns["readings"][:] = np.concatenate(self._readings).ravel()
        for array in self._columns.values():
            if isinstance(array, np.memmap):
                array.flush()
        head = self._head()
        imports = json.dumps(asdict(_imports([part.ended().imports for part in self._parts])), indent=1)
        write_texts({self._folder / IMPORTS: imports})
        write_texts({self._folder / HEAD: head.to_json(self._folder).decode()})
        return head

    def _translate(self, rank: int, part: RankPart) -> None:
        end = part.ended()
        rows, extras = part.whole_rows(), part.extras()
        begin, stop = self._offsets[rank : rank + 2]
        _check_rows(part, rows, extras)
        for at in _spawned(rows):
            extras[at] = self._worlds.get(end.worlds[extras[at]], 0)
        used = np.bincount(rows["comm"], minlength=1) > 0
        translated = {
            "call": _used_names(self._calls, part.start.calls, rows["call"]),
            "region": self._regions.translate(end.regions)[rows["region"]],
            "comm": self._agreement.translate(rank, part, used)[rows["comm"]],
            "site": self._sites.translate(end.sites, rows["site"]),
        }
        for name, _, _ in COLUMNS:
            if name in self._columns:
                self._columns[name][begin:stop] = translated.get(name, rows[name])
        self._columns["extras"][slice(*self._extra_offsets[rank : rank + 2])] = extras

    def _head(self) -> Head:
        first, ends = self._parts[0].start, [part.ended() for part in self._parts]
        notes = [
            *common_notes([end.notes for end in ends]),
            *socket_notes([end.sockets for end in ends]),
            *self._sites.notes(),
        ]
        hosts = [part.start.host for part in self._parts]
        delayed = disturbance.delays(hosts, [end.computer for end in ends])
        ranks = [
            _rank_head(part, self._worlds, self._regions, seconds)
            for part, seconds in zip(self._parts, delayed, strict=True)
        ]
        recorded = datetime.datetime.fromtimestamp(first.started * 1e-9, datetime.timezone.utc)
        return Head(
            program=first.program,
            arguments=tuple(first.arguments),
            rank_heads=tuple(ranks),
            offsets=self._offsets,
            extra_offsets=self._extra_offsets,
            calls=tuple(self._calls.index),
            regions=tuple(self._regions.index),
            communicators=tuple(self._agreement.listed),
            processor=first.processor,
            mpi=first.mpi,
            python=first.python,
            clock=first.clock,
            settings=first.settings,
            overhead=ends[0].overhead,
            recorded=recorded.isoformat(timespec="seconds"),
            notes=(
                *disturbance.about(ranks),
                *notes[:NAMED],
                *([f"and {len(notes) - NAMED} more such"] if len(notes) > NAMED else []),
            ),
            checksums={name: checksum(array) for name, array in self._columns.items()},
            probe=self._probe(),
            sites=self._sites.listed(),
        )

    def _probe(self) -> Probe | None:
        """Return how to read the readings: only readings of the same work on all ranks can be compared."""
        works = {work for part in self._parts if (work := part.ended().probe)}
        if not works:
            return None
        return Probe(" and ".join(sorted(works)), _offsets(map(len, self._readings)), best_of(self._readings))


def _check_end(part: RankPart) -> None:
    """Check that all numbers in a rank's End refer to something that exists."""
    end = part.ended()
    groups = [number for each in end.communicators for number in each[2:] if number is not None]
    _check_numbers(part, "group", np.array(groups, np.int64), end.groups)
    _check_numbers(part, "region of flops", np.array(list(end.flops), np.int64), end.regions)
    fault = end.sites.fault()
    if fault:
        raise TraceError(f"{part.file(END)}: {fault}")


def _check_rows(part: RankPart, rows: npt.NDArray[np.void], extras: npt.NDArray[np.int64]) -> None:
    """Check that all numbers in a rank's rows refer to something that exists."""
    end = part.ended()
    spawns = _spawned(rows)
    _check_numbers(part, "call", rows["call"], part.start.calls)
    _check_numbers(part, "region", rows["region"], end.regions)
    _check_numbers(part, "site", rows["site"], end.sites)
    _check_numbers(part, "comm", rows["comm"], end.communicators or [None])
    _check_numbers(part, "extra", spawns, extras)
    _check_numbers(part, "world", extras[spawns], end.worlds)


def _spawned(rows: npt.NDArray[np.void]) -> npt.NDArray[np.int32]:
    """Return where the entries of Spawns are in the rank's extras, each once."""
    spawned: npt.NDArray[np.int32] = np.unique(rows["extra"][(rows["op"] == Op.SPAWN) & (rows["count"] > 0)])
    return spawned


def _check_numbers(
    part: RankPart, what: str, used: npt.NDArray[Any], there: Sequence[object] | npt.NDArray[Any]
) -> None:
    bad = used[(used < 0) | (used >= len(there))]
    if len(bad):
        raise TraceError(f"{part.path}: {what} must be from 0 to {len(there) - 1}, got {bad[0]}")


def _column(folder: Path, name: str, kind: str, length: int) -> npt.NDArray[Any]:
    file = folder / f"{name}.npy"
    if length == 0:  # an empty file cannot be mapped
        empty = np.zeros(0, dtype=kind)
        np.save(file, empty)
        return empty
    column = np.lib.format.open_memmap(file, mode="w+", dtype=np.dtype(kind), shape=(length,))
    with file.open("r+b") as reserved:  # a full disk is thus an error here, not a signal on a later write
        os.posix_fallocate(reserved.fileno(), 0, file.stat().st_size)
    return column


def _used_names(names: _Names, titles: Sequence[str], column: npt.NDArray[np.uint16]) -> npt.NDArray[np.uint16]:
    used = np.unique(column)
    table = np.zeros(len(titles), dtype=np.uint16)
    table[used] = names.translate([titles[at] for at in used])
    return table[column]


def _offsets(lengths: Iterable[int]) -> tuple[int, ...]:
    return (0, *itertools.accumulate(lengths))


def _imports(ranks: Sequence[Imported]) -> Imported:
    """Return the imports of all ranks; a module that differs between ranks has unknown content."""
    modules: dict[str, str] = {}
    packages: dict[str, str] = {}
    for each in ranks:
        for file, digest in each.modules.items():
            modules[file] = digest if modules.get(file, digest) == digest else ""
        packages |= each.packages
    return Imported(modules, packages)


def _rank_head(part: RankPart, worlds: dict[str, int], regions: _Names, delayed: float) -> RankHead:
    end = part.ended()
    names = end.regions
    return RankHead(
        host=part.start.host,
        peak_memory=end.peak_memory,
        cpu=end.cpu,
        wall=end.wall,
        world=worlds[part.start.world],
        flops={regions.index[names[region]]: flops for region, flops in end.flops.items()},
        delayed=delayed,
    )
