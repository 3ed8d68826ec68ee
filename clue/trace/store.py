"""Opening, checking and saving traces: a folder of numpy columns, mapped into memory, with one JSON head.

::

    pingpong.clue/head.json        written last: without it the trace is incomplete
                  cpu.npy …        one file per column, all ranks one after the other (head: offsets)
                  extra.npy        lists that do not fit a row (requests of a Waitall, sizes of an Alltoallv)

A trace may also be a ``.zip`` of such a folder (that is how clue ships its own); it is then read into memory.
"""

from __future__ import annotations

import io
import shutil
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from clue.errors import TraceError
from clue.trace.head import Head
from clue.trace.meaning import check_meaning
from clue.trace.ops import COLUMNS, Flag, Op

HEAD = "head.json"


@dataclass(frozen=True, slots=True, eq=False)
class Ops:
    """Ops as columns of equal length (see :mod:`clue.trace.ops`); ``extras`` is shared by all rows of a rank."""

    cpu: npt.NDArray[np.int64]
    begin: npt.NDArray[np.int64]
    took: npt.NDArray[np.int64]
    nbytes: npt.NDArray[np.int64]
    peer: npt.NDArray[np.int32]
    tag: npt.NDArray[np.int32]
    comm: npt.NDArray[np.int32]
    request: npt.NDArray[np.int32]
    extra: npt.NDArray[np.int32]
    count: npt.NDArray[np.int32]
    call: npt.NDArray[np.uint16]
    region: npt.NDArray[np.uint16]
    flags: npt.NDArray[np.uint16]
    op: npt.NDArray[np.uint8]
    extras: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.op)


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """A complete, checked trace.

    Attributes:
        head: Everything that is not a column.
        ops: All ranks' ops, one rank after the other.
        path: Where it was opened from, or ``None`` if it was built in memory.
    """

    head: Head
    ops: Ops
    path: Path | None = None

    @property
    def ranks(self) -> int:
        """Number of ranks, spawned ones included."""
        return len(self.head.rank_heads)

    @property
    def name(self) -> str:
        """A short name for messages: that of the file, or of the program."""
        return self.path.name if self.path is not None else self.head.program

    def rank(self, rank: int) -> Ops:
        """Return one rank's ops as views."""
        rows = slice(self.head.offsets[rank], self.head.offsets[rank + 1])
        extras = slice(self.head.extra_offsets[rank], self.head.extra_offsets[rank + 1])
        return Ops(**{name: getattr(self.ops, name)[rows] for name, _, _ in COLUMNS}, extras=self.ops.extras[extras])

    def flops(self) -> dict[str, tuple[float, float]]:
        """Return declared operations and recorded CPU seconds by region, summed over ranks, where declared."""
        work: dict[int, float] = {}
        for rank_head in self.head.rank_heads:
            for region, flops in rank_head.flops.items():
                work[region] = work.get(region, 0.0) + flops
        return {
            self.head.regions[region]: (flops, float(self.ops.cpu[self.ops.region == region].sum()) * 1e-9)
            for region, flops in work.items()
        }

    def first_rows(self) -> npt.NDArray[np.int64]:
        """Return for each row that with which its call begins, shape (ops,)."""
        rows = np.arange(len(self.ops))
        begins = np.where((self.ops.flags & Flag.CONTINUED) == 0, rows, 0)
        return np.maximum.accumulate(begins) if len(rows) else rows

    def left_out(self) -> dict[str, tuple[int, float]]:
        """Return by name the calls that the simulator leaves out: how many, and their wall seconds.

        A wait for several requests is one of them if some are left out; its time is that of the others.
        """
        rows = np.flatnonzero(self.ops.op == Op.OTHER)
        firsts, named, took = self.first_rows()[rows], self.ops.call[rows], self.ops.took[rows]
        return {
            self.head.calls[call]: (len(np.unique(firsts[named == call])), float(took[named == call].sum()) * 1e-9)
            for call in np.unique(named)
        }

    @classmethod
    def open(cls, path: str | Path) -> Trace:
        """Open a trace and check it.

        Raises:
            TraceError: If it is missing, of another version, incomplete, truncated or damaged.
        """
        path = Path(path)
        if path.is_dir():
            return _checked(path, *_read_folder(path))
        if path.is_file() and zipfile.is_zipfile(path):
            return _checked(path, *_read_zip(path))
        if path.exists():
            raise TraceError(f"{path}: trace must be a folder or a .zip of one, got another kind of file")
        raise TraceError(f"{path}: trace must exist, got no such file or folder")

    def save(self, path: str | Path) -> Path:
        """Save as a folder, or compressed if the name ends in ``.zip``; replaces what is there, all or nothing.

        Raises:
            TraceError: If writing fails, for instance on a full disk; nothing half-written stays.
        """
        path = Path(path)
        scratch = path.with_name(f".{path.name}.part")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _remove(scratch)
            if path.suffix == ".zip":
                self._write_zip(scratch)
            else:
                self._write_folder(scratch)
            _remove(path)
            scratch.rename(path)
        except OSError as error:
            _remove(scratch)
            raise TraceError(f"{path}: trace could not be written: {error.strerror or error}") from error
        return path

    def _arrays(self) -> Iterator[tuple[str, npt.NDArray[Any]]]:
        for each in fields(self.ops):
            yield each.name, np.ascontiguousarray(getattr(self.ops, each.name))

    def _head(self) -> Head:
        return replace(self.head, checksums={name: _checksum(array) for name, array in self._arrays()})

    def _write_folder(self, folder: Path) -> None:
        folder.mkdir()
        for name, array in self._arrays():
            np.save(folder / f"{name}.npy", array)
        (folder / HEAD).write_text(self._head().to_json())

    def _write_zip(self, file: Path) -> None:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            for name, array in self._arrays():
                buffer = io.BytesIO()
                np.save(buffer, array)
                archive.writestr(f"{name}.npy", buffer.getvalue())
            archive.writestr(HEAD, self._head().to_json())


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _checksum(array: npt.NDArray[Any]) -> int:
    return zlib.crc32(array.data) if array.size else 0


def _read_folder(folder: Path) -> tuple[Head, dict[str, npt.NDArray[Any]]]:
    head_file = folder / HEAD
    if not head_file.is_file():
        from clue.trace.pack import describe_incomplete  # noqa: PLC0415 - only for the message

        raise TraceError(describe_incomplete(folder))
    head = Head.from_json(head_file.read_text(), head_file)
    arrays = {}
    for name in (*(column for column, _, _ in COLUMNS), "extras"):
        file = folder / f"{name}.npy"
        try:
            # An empty file cannot be mapped.
            empty = head.offsets[-1] == 0 if name != "extras" else head.extra_offsets[-1] == 0
            arrays[name] = np.load(file, mmap_mode=None if empty else "r", allow_pickle=False)
        except Exception as error:  # numpy evaluates a file's header: damaged bytes there can raise anything
            raise TraceError(f"{file}: column must be a readable numpy file, got {error}") from None
    return head, arrays


def _read_zip(file: Path) -> tuple[Head, dict[str, npt.NDArray[Any]]]:
    arrays = {}
    try:
        with zipfile.ZipFile(file) as archive:
            head = Head.from_json(archive.read(HEAD).decode(), f"{file}/{HEAD}")
            for name in (*(column for column, _, _ in COLUMNS), "extras"):
                arrays[name] = np.load(io.BytesIO(archive.read(f"{name}.npy")), allow_pickle=False)
    except TraceError:
        raise
    except Exception as error:  # damaged bytes can raise anything: see above
        raise TraceError(f"{file}: archive must hold a whole trace, got {error}") from None
    return head, arrays


def _checked(path: Path, head: Head, arrays: dict[str, npt.NDArray[Any]]) -> Trace:
    ranks = len(head.rank_heads)
    for title, offsets in (("offsets", head.offsets), ("extra_offsets", head.extra_offsets)):
        if len(offsets) != ranks + 1 or offsets[0] != 0 or any(a > b for a, b in pairwise(offsets)):
            raise TraceError(f"{path}/{HEAD}: {title} must rise from 0 with one more entry than ranks")
    types = {name: np.dtype(kind) for name, kind, _ in COLUMNS} | {"extras": np.dtype("<i8")}
    for name, kind in types.items():
        array, expected = arrays[name], head.extra_offsets[-1] if name == "extras" else head.offsets[-1]
        place = f"{path}/{name}.npy"
        if array.dtype != kind or array.shape != (expected,):
            raise TraceError(
                f"{place}: column must have {expected} entries of type {kind}, "
                f"got {array.size} of type {array.dtype}: the trace is truncated or damaged"
            )
        if _checksum(array) != head.checksums.get(name):
            raise TraceError(f"{place}: checksum must be that of the head: the trace is damaged")
    trace = Trace(head, Ops(**arrays), path)
    check_meaning(trace)
    return trace
