"""The format of parts, written by its description only, as a recorder in C would write it."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clue.errors import TraceError
from clue.trace import Communicator, Op, Trace
from clue.trace.pack import pack
from clue.trace.parts import ROW, offset_of
from tests.trace.test_pack import RECV, SEND, leave

CALLS = ["", "MPI_Isend", "MPI_Irecv", "MPI_Waitall", "MPI_Barrier"]


class Row(ctypes.LittleEndianStructure):
    """The struct of the format's description, with the C compiler's alignment."""

    _fields_ = (
        *((name, ctypes.c_int64) for name in ("cpu", "begin", "took", "nbytes")),
        *((name, ctypes.c_int32) for name in ("peer", "tag", "comm", "request", "extra", "count")),
        *((name, ctypes.c_uint16) for name in ("call", "region", "site", "flags")),
        ("op", ctypes.c_uint8),
        ("unused", ctypes.c_uint8 * 7),
    )


def record(folder: Path, rank: int, rows: list[Row], extras: bytes = b"") -> None:
    """Write the parts of one of two ranks, with only the required keys."""
    stem = f"{folder}/parts/w0-r{rank:05d}"
    start = {
        "format": "clue-parts", "version": 2, "world": "w0", "rank": rank, "size": 2, "host": "node7",
        "started": 1_700_000_000_000_000_000, "program": "./ring", "arguments": ["-n", "8"], "calls": CALLS,
    }  # fmt: skip
    end = {
        "rows": len(rows), "communicators": [["WORLD", "0", 0, None], ["MPI_Comm_split", "any text", 1, None]],
        "groups": [[0, 1], [1, 0]], "regions": ["", "sweep"], "peak_memory": 65536, "cpu": 0.25, "wall": 0.5,
    }  # fmt: skip
    Path(f"{stem}.json").write_text(json.dumps(start))
    Path(f"{stem}.rows").write_bytes(b"".join(map(bytes, rows)))
    Path(f"{stem}.extras").write_bytes(extras)
    Path(f"{stem}.end.json").write_text(json.dumps(end))


def test_what_a_program_in_c_writes_is_a_trace(tmp_path: Path) -> None:
    """Two ranks exchange messages and meet in a barrier on a communicator with reversed ranks: a valid trace."""
    (tmp_path / "parts").mkdir()
    for rank in (0, 1):
        rows = [
            Row(cpu=1000, begin=2000, took=30, peer=1 - rank, tag=3, nbytes=8, request=0, call=1, region=1, op=4),
            Row(begin=2000, took=30, peer=1 - rank, tag=3, request=1, call=2, region=1, op=5),
            Row(begin=2100, took=900, request=-1, count=2, call=3, region=1, op=6),
            Row(begin=3500, took=10, comm=1, request=-1, call=4, op=20),
        ]
        record(tmp_path, rank, rows, (0).to_bytes(8, "little") + (1).to_bytes(8, "little"))
    pack(tmp_path)
    trace = Trace.open(tmp_path)
    assert (trace.head.program, trace.head.arguments) == ("./ring", ("-n", "8"))
    assert [each.group for each in trace.head.communicators] == [(0, 1), (1, 0)]
    for rank in (0, 1):
        ops = trace.rank(rank)
        assert ops.op.tolist() == [Op.ISEND, Op.IRECV, Op.WAIT, Op.BARRIER]
        assert [trace.head.calls[call] for call in ops.call] == CALLS[1:]
        assert [trace.head.regions[region] for region in ops.region] == ["sweep", "sweep", "sweep", ""]
        assert (ops.cpu.tolist(), ops.peer.tolist()[:2], ops.extras.tolist()) == (
            [1000, 0, 0, 0],
            [1 - rank] * 2,
            [0, 1],
        )
        assert ops.comm.tolist() == [0, 0, 0, 1]


def test_the_description_of_a_row_is_that_of_its_fields() -> None:
    """Size and offsets of the C struct equal those of clue's row."""
    names = [field[0] for field in Row._fields_][:-1]
    assert [getattr(Row, name).offset for name in names] == [offset_of(name) for name in names]
    assert ctypes.sizeof(Row) == ROW.size == 72


def test_keys_of_communicators_are_compared_for_equality_only(tmp_path: Path) -> None:
    """Keys of communicators are arbitrary texts in any order: the trace does not depend on them."""
    found: list[tuple[Communicator, ...]] = []
    for keys in ("ab", "ba", ("\u00e4 \u4f60", ""), ("0" * 4096, "0" * 4095)):
        folder = tmp_path / str(len(found))
        communicators = [["WORLD", keys[0], 0, None], ["Split", keys[1], 0, None]]
        leave(folder, 0, [SEND], communicators=communicators)
        leave(folder, 1, [RECV], communicators=communicators)
        pack(folder)
        found.append(Trace.open(folder).head.communicators)
    assert found == found[:1] * 4


def _document(ending: str, **changes: Any) -> Callable[[Path], None]:
    """Return a function that changes keys of a document of rank 1; a key with value ``None`` is removed."""

    def spoil(parts: Path) -> None:
        file = parts / f"w0-r00001{ending}"
        document = {**json.loads(file.read_text()), **changes}
        file.write_text(json.dumps({key: value for key, value in document.items() if value is not None}))

    return spoil


def _append(ending: str, content: bytes) -> Callable[[Path], None]:
    def spoil(parts: Path) -> None:
        with (parts / f"w0-r00001{ending}").open("ab") as file:
            file.write(content)

    return spoil


def _lose_rank_1(parts: Path) -> None:
    for file in parts.glob("w0-r00001*"):
        file.unlink()


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (_document(".json", version=1), r"w0-r00001\.json: version must be 2, got 1: record the program again"),
        (_document(".json", version=None), r"w0-r00001\.json: version must be 2, got nothing"),
        (_document(".json", format="other"), r'format must be "clue-parts": this is not what a rank leaves'),
        (_document(".json", rank=0), r"w0-r00001\.json: name must be that of the rank's world and of its rank there"),
        (_document(".json", world="w1"), "name must be that of the rank's world"),
        (_document(".json", size=1), "got rank 1 of 1 in world w0"),
        (_document(".json", size=3), "ranks of world w0 must agree on their number, got 2 and 3"),
        (_document(".end.json", rows=2), r"w0-r00001\.rows: rows must all be written, got 1 of 2"),
        (_append(".rows", SEND), "rows must all be written, got 2 of 1"),
        (_append(".rows", b"\1"), r"w0-r00001\.rows: file must have 72 bytes, got 73"),
        (_append(".extras", b"\1"), r"w0-r00001\.extras: file must have a multiple of 8 bytes, got 1"),
        (_lose_rank_1, "world w0 must have parts of 2 ranks, got none of rank 1"),
    ],
)
def test_nothing_is_read_past(tmp_path: Path, spoil: Callable[[Path], None], told: str) -> None:
    """Inconsistent parts are refused with their file; no columns are written, and the parts remain."""
    leave(tmp_path, 0, [SEND])
    leave(tmp_path, 1, [RECV])
    spoil(tmp_path / "parts")
    with pytest.raises(TraceError, match=told):
        pack(tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["parts"]
