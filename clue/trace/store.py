"""Traces and how they are saved: a folder of numpy columns, mapped into memory, with one JSON head.

::

    pingpong.clue/head.json        written last: without it the trace is incomplete
                  cpu.npy …        one file per column, all ranks one after the other (head: offsets)
                  site.npy         if the head names sites: the call path of each op (clue.trace.sites)
                  extras.npy       lists that do not fit a row (requests of a Waitall, sizes of an Alltoallv)
                  readings.npy     if the head says so: how fast the host was (clue.trace.speed)
                  typical.npy      if the head says so: time of each burst by all recordings of the run, ns

A trace may also be a ``.zip`` of such files, like those that clue ships; it is then read into memory.
:mod:`clue.trace.reading` opens and checks them.
"""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from clue.display import data_frame, html, short_repr
from clue.errors import TraceError, UsageError
from clue.files import drafts
from clue.trace.columns import LARGEST_ARCHIVE, Ops, checksum
from clue.trace.head import Head
from clue.trace.meaning import check_head, check_rows
from clue.trace.ops import PROC_NULL, ROOTED, Op
from clue.trace.pieces import ENTRIES
from clue.trace.place import HEAD, check_place
from clue.trace.reading import read_trace
from clue.trace.speed import normalised
from clue.units import count_of, format_size, format_time

if TYPE_CHECKING:
    import pandas

_NO_READINGS = np.zeros((0, ENTRIES), np.int64)
#: Ops with a tag; for collectives the column has the size of an element.
_TAGGED = (Op.SEND, Op.ISEND, Op.RECV, Op.IRECV, Op.POLL, Op.PROBE, Op.MPROBE)


@dataclass(frozen=True, eq=False)
class Trace:
    """A complete, checked trace.

    Attributes:
        head: Everything that is not a column.
        ops: All ranks' ops, one rank after the other, as recorded: CPU times are raw.
        path: The path that it was opened from, or ``None`` if it was built in memory.
        readings: Readings of the host's speed (:mod:`clue.trace.speed`), shape (readings, 3).
        typical: Typical time of each burst over all recordings of the run, ns, if there are several.
    """

    head: Head
    ops: Ops
    path: Path | None = None
    readings: npt.NDArray[np.int64] = field(default_factory=lambda: _NO_READINGS)
    typical: npt.NDArray[np.int64] | None = None

    @cached_property
    def bursts(self) -> npt.NDArray[np.int64]:
        """Time of each burst at the best speed of the host that recorded it, ns: simulations replay these."""
        return normalised(self) if self.typical is None else self.typical

    def check(self) -> None:
        """Check that every field of the head and of every row is valid.

        Raises:
            TraceError: At the first invalid field.
        """
        place = self.path or self.head.program
        check_head(self.head, place)
        check_rows(self.head, self.ops, place)

    @property
    def ranks(self) -> int:
        """Number of ranks, spawned ones included."""
        return len(self.head.rank_heads)

    @property
    def name(self) -> str:
        """A short name for messages: the file's name, or the program's."""
        return self.path.name if self.path is not None else self.head.program

    @property
    def row_ranks(self) -> npt.NDArray[np.int64]:
        """The rank of each row, shape (ops,)."""
        return np.repeat(np.arange(self.ranks), np.diff(self.head.offsets))

    @property
    def row_extras(self) -> npt.NDArray[np.int64]:
        """Where the entries of each row begin in the extra column, shape (ops,)."""
        return np.array(self.head.extra_offsets, np.int64)[self.row_ranks] + self.ops.extra

    def rank(self, rank: int) -> Ops:
        """Return one rank's ops as views."""
        rows = slice(*self.head.offsets[rank : rank + 2])
        extras = slice(*self.head.extra_offsets[rank : rank + 2])
        return replace(self.ops[rows], extras=self.ops.extras[extras])

    @property
    def elapsed(self) -> float:
        """Elapsed time of the recording on its slowest rank, seconds; 0: unknown.

        It begins when MPI is initialised, as replays do: they repeat neither the start of Python nor imports.
        Recordings without times of calls only know the time of the whole process.
        """
        last = int((self.ops.begin + self.ops.took).max(initial=0))
        return last * 1e-9 or max((each.wall for each in self.head.rank_heads), default=0.0)

    def flops(self) -> dict[str, tuple[float, float]]:
        """Return operations and CPU seconds, summed over ranks, of each region that declares more than 0 operations."""
        work: dict[int, float] = {}
        for rank_head in self.head.rank_heads:
            for region, flops in rank_head.flops.items():
                work[region] = work.get(region, 0.0) + flops
        return {
            self.head.regions[region]: (flops, float(self.bursts[self.ops.region == region].sum()) * 1e-9)
            for region, flops in work.items()
            if flops > 0
        }

    def first_rows(self) -> npt.NDArray[np.int64]:
        """Return for each row the first row of its call, shape (ops,)."""
        rows = np.arange(len(self.ops))
        begins = np.where(self.ops.are_first(), rows, 0)
        return np.maximum.accumulate(begins) if len(rows) else rows

    @property
    def payload(self) -> npt.NDArray[np.int64]:
        """Bytes of each op, those that it lists included, shape (ops,); 0 for spawns and sleeps, which have no size."""
        ops, start = self.ops, self.row_extras
        sums = np.concatenate(([0], np.cumsum(ops.extras)))
        nbytes = np.where(ops.are(Op.SPAWN, Op.SLEEP), 0, ops.nbytes)
        listed = np.flatnonzero(ops.are(Op.ALLTOALLV) & (ops.count > 0))
        nbytes[listed] = sums[start[listed] + ops.count[listed]] - sums[start[listed]]
        both_ways = np.flatnonzero(ops.are(Op.RMA) & (ops.count > 0))
        nbytes[both_ways] += sums[start[both_ways] + 1] - sums[start[both_ways]]
        neighbours = np.flatnonzero(ops.are(Op.NEIGHBOR) & (ops.count > 0))
        begin, out = start[neighbours], ops.extras[start[neighbours]]
        nbytes[neighbours] = sums[begin + 1 + 2 * out] - sums[begin + 1 + out]
        return nbytes

    @property
    def sent(self) -> npt.NDArray[np.float64]:
        """Bytes that the rank of each op passes to it to be sent, shape (ops,): its message, or its send buffer.

        All collectives have one meaning, whatever an op states (:mod:`clue.trace.ops`): of a broadcast only the root
        sends, an all-to-all sends a block to each rank of the communicator, a reduce-scatter the blocks of all ranks.
        What the root of a scatter sends counts at the ranks that receive it, and what the target of a one-sided
        operation sends back at the origin, because only their ops state it; the sum over ranks is the same. Receives,
        waits, packing and sleeping send nothing, nor do sends to null partners and sends that were cancelled.
        """
        ops, found = self.ops, self.payload.astype(np.float64)
        peers = [each.group if each.remote is None else each.remote for each in self.head.communicators]
        to_each = ops.are(Op.ALLTOALL, Op.REDUCE_SCATTER)
        found[to_each] *= np.array([len(group) for group in peers], np.int64)[ops.comm[to_each]]
        broadcast = np.flatnonzero(ops.are(Op.BCAST))
        pairs = ops.comm[broadcast].astype(np.int64) * self.ranks + ops.peer[broadcast]
        named, which = np.unique(pairs, return_inverse=True)
        roots = np.array([peers[pair // self.ranks][pair % self.ranks] for pair in named.tolist()], np.int64)
        found[broadcast[self.row_ranks[broadcast] != roots[which]]] = 0
        to_nobody = ops.are(Op.SEND, Op.ISEND) & (ops.peer == PROC_NULL)
        found[to_nobody | ops.are(Op.PACK, Op.LOCAL)] = 0
        return found

    def left_out(self) -> dict[str, tuple[int, float]]:
        """Return, by name, the number and the wall seconds of the calls that the simulator leaves out.

        A wait for several requests counts if some of the requests are left out; its time belongs to those that are not.
        """
        rows = np.flatnonzero(self.ops.are(Op.OTHER))
        if not len(rows):
            return {}
        firsts, named, took = self.first_rows()[rows], self.ops.call[rows], self.ops.took[rows]
        return {
            self.head.calls[call]: (len(np.unique(firsts[named == call])), float(took[named == call].sum()) * 1e-9)
            for call in np.unique(named)
        }

    def to_pandas(self) -> pandas.DataFrame:
        """Return a pandas data frame with one row per op, all ranks one after the other.

        Columns: rank; op and call, by name; burst (s), the computation before the call, as it is replayed; took (s),
        the time inside the call, as it was recorded; communicator, peer (partner or root) and tag, as in the program
        (-1: none, -2: not known); bytes that the rank sends, as ``clue inspect`` counts them (:attr:`sent`); region and
        site, by name.

        Raises:
            UsageError: If pandas is not installed (``pip install "clue[pandas]"``).
        """
        head, ops = self.head, self.ops
        tagged = ops.are(*_TAGGED)
        return data_frame(
            {
                "rank": self.row_ranks,
                "op": _named([_op_name(code) for code in range(int(ops.op.max(initial=0)) + 1)], ops.op),
                "call": _named(head.calls, ops.call),
                "burst (s)": self.bursts * 1e-9,
                "took (s)": ops.took * 1e-9,
                "communicator": _named([each.name for each in head.communicators], ops.comm),
                "peer": np.where(tagged | ops.are(*ROOTED, Op.SPAWN, Op.RMA), ops.peer, PROC_NULL),
                "tag": np.where(tagged, ops.tag, -1),
                "bytes": self.sent.astype(np.int64),
                "region": _named(head.regions, ops.region),
                "site": _named([each.name for each in head.sites], ops.site),
            }
        )

    def __repr__(self) -> str:
        """Return a short description with its size."""
        return short_repr(self, self.name, count_of(self.ranks), count_of(len(self.ops), "op"))

    def _repr_html_(self) -> str:
        head, ops = self.head, self.ops
        facts = (
            ("program", " ".join((head.program, *head.arguments))),
            ("ranks", f"{self.ranks:,}"),
            ("ops", f"{len(ops):,}"),
            ("computation", f"{format_time(float(self.bursts.sum()) * 1e-9)}, all ranks"),
            ("recorded", head.recorded),
            ("processor", head.processor),
            ("MPI", " ".join(head.mpi.split())[:100]),
        )
        firsts = ops.call[ops.are_first() & (ops.op != Op.COMPUTE)]
        counts = np.bincount(firsts, minlength=len(head.calls))
        seconds = np.bincount(ops.call, ops.took, len(head.calls)) * 1e-9
        rows = [
            (head.calls[call], f"{counts[call]:,}", format_time(float(seconds[call])))
            for call in np.argsort(-seconds, kind="stable")
            if counts[call]
        ]
        return html(self.name, facts, ("call", "count", "time inside, as recorded"), rows, head.notes)

    @classmethod
    def open(cls, path: str | Path) -> Trace:
        """Open a trace and check it. Nothing in it is executed; see :mod:`clue.trace.reading`.

        Raises:
            UsageError: If this is no path.
            TraceError: If it is missing, of another version, incomplete, truncated or damaged.
        """
        path = _path(path)
        head, ops, beside = read_trace(path)
        readings = beside.get("readings", _NO_READINGS).reshape(-1, ENTRIES)
        return cls(head, ops, path, readings, beside.get("typical"))

    def save(self, path: str | Path) -> Path:
        """Save as a folder, or compressed if the name ends in ``.zip``; replace an existing trace atomically.

        Missing parent folders are made.

        Raises:
            UsageError: If something else is there (:func:`clue.trace.place.check_place`), or this is no path.
            TraceError: If it would be too large to be read again.
            OutputError: If writing fails, for instance on a full disk; no incomplete trace is left.
        """
        path = _path(path)
        check_place(path)
        head = self._head().to_json(path)
        with drafts(path) as (draft,):
            if path.suffix == ".zip":
                self._write_zip(path, draft, head)
            else:
                self._write_folder(draft, head)
        return path

    def _arrays(self) -> Iterator[tuple[str, npt.NDArray[Any]]]:
        for each in fields(self.ops):
            if each.name != "site" or len(self.head.sites) > 1:
                yield each.name, np.ascontiguousarray(getattr(self.ops, each.name))
        if self.head.probe is not None:
            yield "readings", np.ascontiguousarray(self.readings).ravel()
        if self.typical is not None:
            yield "typical", np.ascontiguousarray(self.typical)

    def _head(self) -> Head:
        return replace(self.head, checksums={name: checksum(array) for name, array in self._arrays()})

    def _write_folder(self, folder: Path, head: bytes) -> None:
        folder.mkdir()
        for name, array in self._arrays():
            np.save(folder / f"{name}.npy", array)
        (folder / HEAD).write_bytes(head)

    def _write_zip(self, path: Path, file: Path, head: bytes) -> None:
        together = sum(array.nbytes for _, array in self._arrays())
        if together > LARGEST_ARCHIVE:
            rule = f"archive must hold at most {format_size(LARGEST_ARCHIVE)}"
            raise TraceError(f"{path}: {rule}, got {format_size(together)}: save it as a folder")
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            for name, array in self._arrays():
                buffer = io.BytesIO()
                np.save(buffer, array)
                archive.writestr(f"{name}.npy", buffer.getvalue())
            archive.writestr(HEAD, head)


def _op_name(code: int) -> str:
    return Op(code).name if code in set(Op) else ""


def _named(names: Sequence[str], column: npt.NDArray[Any]) -> npt.NDArray[np.object_]:
    """Return the name of each entry of a column of indices."""
    named: npt.NDArray[np.object_] = np.array(names, dtype=object)[column]
    return named


def check_trace(trace: object) -> None:
    """Check that a trace is not, for example, the name of its file.

    Raises:
        UsageError: If it is something else.
    """
    if not isinstance(trace, Trace):
        raise UsageError(f"trace must be one that clue.Trace.open or a builder returned, got {trace!r}")


def _path(path: object) -> Path:
    if not isinstance(path, str | os.PathLike):
        raise UsageError(f"path of a trace must be text or a Path, got {path!r}")
    return Path(path)
