"""Packing the parts of ranks into a trace, and the errors for parts that cannot be packed."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from clue.errors import TraceError
from clue.trace import NO_REQUEST, Op, Trace
from clue.trace.ops import COLUMNS
from clue.trace.pack import pack
from clue.trace.parts import FORMAT, ROW, VERSION
from clue.trace.parts.reading import describe_incomplete, signs_of_life
from clue.trace.place import IMPORTS

CALLS = ["", "Send", "Recv", "Barrier", "Spawn"]


def row(op: Op, call: str, **fields: int) -> bytes:
    """Encode a row as a recorder does."""
    values = {"request": NO_REQUEST, **fields, "op": int(op), "call": CALLS.index(call)}
    return ROW.pack(*(values.get(name, 0) for name, _, _ in COLUMNS))


def leave(
    folder: Path,
    rank: int,
    rows: list[bytes],
    *,
    size: int = 2,
    world: str = "w0",
    started: int = 0,
    ended: bool = True,
    fault: str = "",
    extras: list[int] | None = None,
    **changes: Any,
) -> Path:
    """Write the parts of one rank, and return the path of its rows."""
    parts = folder / "parts"
    parts.mkdir(parents=True, exist_ok=True)
    stem = parts / f"{world}-r{rank:05d}"
    start = {
        "format": FORMAT, "version": VERSION,
        "world": world, "rank": rank, "size": size, "host": "here", "process": 1, "started": started,
        "program": "p.py", "arguments": ["3"], "settings": {}, "mpi": "MPI", "python": "3", "processor": "p",
        "clock": "c", "calls": CALLS, "fault": fault,
    }  # fmt: skip
    end = {
        "rows": len(rows), "communicators": [["WORLD", f"key of {world}", 0, None]], "groups": [list(range(size))],
        "regions": ["", f"region {rank}"], "flops": {}, "worlds": [], "peak_memory": 1, "cpu": 1.0, "wall": 1.0,
        "overhead": 1e-6, "notes": [], "sockets": [[], []], "computer": None,
        "imports": {"modules": {}, "packages": {}},
    }  # fmt: skip
    stem.with_suffix(".json").write_text(json.dumps(start))
    if ended:
        stem.with_suffix(".end.json").write_text(json.dumps({**end, **changes}))
    stem.with_suffix(".rows").write_bytes(b"".join(rows))
    stem.with_suffix(".extras").write_bytes(b"".join(each.to_bytes(8, "little") for each in extras or []))
    return stem.with_suffix(".rows")


SEND = row(Op.SEND, "Send", peer=1, tag=3, nbytes=8, begin=1_000_000_000, took=250_000_000)
RECV = row(Op.RECV, "Recv", peer=0, tag=3, region=1)


def test_packing_translates_to_the_numbers_of_the_whole(tmp_path: Path) -> None:
    """Packing merges the tables of calls and regions, removes the parts, and gives a trace that opens."""
    leave(tmp_path, 0, [SEND])
    leave(tmp_path, 1, [RECV, row(Op.BARRIER, "Barrier")])
    pack(tmp_path)
    trace = Trace.open(tmp_path)
    assert trace.head.offsets == (0, 1, 3)
    assert [trace.head.calls[call] for call in trace.ops.call] == ["Send", "Recv", "Barrier"]
    assert trace.head.regions[trace.rank(1).region[0]] == "region 1"
    assert (trace.head.program, trace.head.arguments) == ("p.py", ("3",))
    assert not (tmp_path / "parts").exists()


def test_ranks_without_ops_pack(tmp_path: Path) -> None:
    """A rank that only initialises MPI gives a trace without ops."""
    leave(tmp_path, 0, [], size=1)
    pack(tmp_path)
    assert len(Trace.open(tmp_path).ops) == 0


def test_spawned_worlds_come_in_the_order_they_started(tmp_path: Path) -> None:
    """Ranks of the first world come first, then those of later worlds in the order of their start, not of keys."""
    spawns = [row(Op.SPAWN, "Spawn", nbytes=1, count=1, extra=at) for at in (0, 1)]
    leave(tmp_path, 0, spawns, size=1, started=50, worlds=["zz", "aa"], extras=[0, 1])
    leave(tmp_path, 0, [], size=1, world="aa", started=90)
    leave(tmp_path, 0, [], size=1, world="zz", started=70)
    pack(tmp_path)
    trace = Trace.open(tmp_path)
    assert [head.world for head in trace.head.rank_heads] == [0, 1, 2]
    assert trace.ops.extras.tolist() == [1, 2]


def test_a_spawn_without_entries_changes_no_other_op(tmp_path: Path) -> None:
    """A Spawn without entries, at position 0, leaves the requests there, 0 and 1, to the wait that has them."""
    wait = row(Op.WAIT, "Recv", count=2)
    leave(tmp_path, 0, [wait, row(Op.SPAWN, "Spawn", nbytes=1)], size=1, worlds=["aa"], extras=[0, 1])
    leave(tmp_path, 0, [], size=1, world="aa")
    pack(tmp_path)
    assert Trace.open(tmp_path).ops.extras.tolist() == [0, 1]


def test_spawns_that_share_an_entry_are_refused(tmp_path: Path) -> None:
    """The entry of two Spawns is translated once; the reader refuses it, as that of any two ops."""
    spawn = row(Op.SPAWN, "Spawn", nbytes=1, count=1)
    leave(tmp_path, 0, [spawn, spawn], size=1, worlds=["aa"], extras=[0])
    leave(tmp_path, 0, [], size=1, world="aa")
    pack(tmp_path)
    with pytest.raises(TraceError, match="must leave each op entries of its own in the extra column"):
        Trace.open(tmp_path)


def test_ranks_agree_on_their_number(tmp_path: Path) -> None:
    """The first rank says that it is alone, and another one that there are two."""
    leave(tmp_path, 0, [SEND], size=1)
    leave(tmp_path, 1, [RECV])
    with pytest.raises(TraceError, match="ranks of world w0 must agree on their number, got 1 and 2"):
        pack(tmp_path)


def test_disagreement_about_a_communicator_is_an_error(tmp_path: Path) -> None:
    """Members that disagree about a communicator's ranks are an error."""
    leave(tmp_path, 0, [SEND])
    leave(tmp_path, 1, [RECV], groups=[[1, 0]])
    with pytest.raises(TraceError, match="members of communicator WORLD must be the same on all ranks"):
        pack(tmp_path)


def test_incomplete_names_the_last_op_of_each_rank(tmp_path: Path) -> None:
    """An incomplete trace names the last call of each rank, not the computation after it."""
    leave(tmp_path, 0, [SEND, row(Op.COMPUTE, "")], ended=False)
    leave(tmp_path, 1, [], ended=False)
    with pytest.raises(TraceError) as failure:
        Trace.open(tmp_path)
    assert str(failure.value) == (
        f"{tmp_path}: trace must be complete, got one that ends early: "
        "rank 0 after op 0 (Send to 1, tag 3 at 1.25 s); rank 1 before its first op"
    )


STACK = """Stack (most recent call first):
  File "/other/virtual_layer/interpose.py", line 80 in recorded
  File "{}", line {} in {}
  File "<frozen runpy>", line 88 in _run_code
"""


def test_where_a_rank_was_told_to_end_is_said(tmp_path: Path) -> None:
    """The stack of a stopped rank gives its innermost function in the program's own files, not a forked child's."""
    for rank in range(3):
        leave(tmp_path, rank, [SEND], size=3, ended=False)
    inside = "/usr/lib/python3/site-packages/x.py", 9, "f"
    stacks = [STACK.format("child.py", 1, "g") + STACK.format("/a/cg.py", 7, "solve"), STACK.format(*inside), "nothing"]
    for part, stack in zip(sorted((tmp_path / "parts").glob("*.rows")), stacks, strict=True):
        part.with_suffix(".stack").write_text(stack)
    last = "after op 0 (Send to 1, tag 3 at 1.25 s)"
    said = f"rank 0 {last}, then in cg.py:7 solve; rank 1 {last}; rank 2 {last}"
    assert describe_incomplete(tmp_path).endswith(said)


def test_rows_never_written_do_not_count(tmp_path: Path) -> None:
    """The unused zeros at the end of a killed rank's file are not taken for ops."""
    leave(tmp_path, 0, [SEND, bytes(ROW.size * 100)], ended=False, size=1)
    assert "rank 0 after op 0 (Send" in describe_incomplete(tmp_path)


def test_reason_of_an_early_end_is_told(tmp_path: Path) -> None:
    """A rank that recorded its fault reports it, and packing is refused."""
    leave(tmp_path, 0, [SEND], fault="No space left on device")
    leave(tmp_path, 1, [RECV])
    with pytest.raises(TraceError, match=r"ends early \(rank 0: No space left on device\)"):
        pack(tmp_path)


def test_a_reason_of_several_ranks_is_told_once(tmp_path: Path) -> None:
    """Ranks that report the same fault share it in the message."""
    for rank, fault in enumerate(("full", "other", "full", "full")):
        leave(tmp_path, rank, [SEND], fault=fault, size=4)
    assert "ends early (ranks 0, 2 and 3: full; rank 1: other): " in describe_incomplete(tmp_path)


def test_many_ranks_are_summed_up(tmp_path: Path) -> None:
    """The message names eight ranks and counts the others."""
    for rank in range(20):
        leave(tmp_path, rank, [], ended=False, size=20)
    assert describe_incomplete(tmp_path).endswith("; and 12 more ranks")


def test_folder_of_something_else(tmp_path: Path) -> None:
    """A folder that never was a trace is described as not a trace."""
    assert "this is not a trace of clue" in describe_incomplete(tmp_path)
    with pytest.raises(TraceError, match="not a trace of clue"):
        Trace.open(tmp_path)


def test_a_full_disk_is_an_error_at_once_and_keeps_the_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a full disk packing raises an error before any column is written, and the parts are kept."""

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    leave(tmp_path, 0, [SEND])
    leave(tmp_path, 1, [RECV])
    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(TraceError, match="trace could not be packed: No space left on device"):
        pack(tmp_path)
    assert not list(tmp_path.glob("*.npy"))
    monkeypatch.undo()
    pack(tmp_path)
    assert Trace.open(tmp_path).ranks == 2


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"regions": [""]}, "region must be from 0 to 0, got 1"),
        ({"communicators": [["WORLD", "key of w0", 7, None]]}, "group must be from 0 to 0, got 7"),
        ({"groups": [[0, ["zz", 4]]]}, r"members must be ranks of the trace, got \('zz', 4\)"),
        ({"flops": {"9": 1.0}}, "region of flops must be from 0 to 1, got 9"),
        ({"wall": float("nan")}, "file must be JSON, got NaN"),
        ({"peak_memory": -1}, "peak_memory must be a whole number from 0"),
        ({"notes": None}, "notes must be a list, got nothing"),
        ({"computer": {"begin": 0}}, "computer.waited must be given, got nothing"),
        ({"imports": {"modules": [], "packages": {}}}, "imports.modules must be a mapping, got an empty list"),
        ({"sockets": [[]]}, "sockets must be a list of 2 entries"),
    ],
)
def test_what_ranks_leave_is_checked(tmp_path: Path, changes: dict[str, Any], told: str) -> None:
    """Packing refuses parts with wrong references or values."""
    leave(tmp_path, 0, [SEND])
    leave(tmp_path, 1, [RECV], **changes)
    with pytest.raises(TraceError, match=told):
        pack(tmp_path)
    assert not [each for each in tmp_path.iterdir() if each.name != "parts"]


def test_ended_but_not_packed(tmp_path: Path) -> None:
    """Parts of ranks that ended but were not packed can be packed later."""
    leave(tmp_path, 0, [SEND])
    leave(tmp_path, 1, [RECV])
    assert "was not packed" in describe_incomplete(tmp_path)
    pack(tmp_path)
    assert Trace.open(tmp_path).ranks == 2


@pytest.mark.parametrize("damage", ["cut", "flip"])
def test_damaged_columns_are_found(tmp_path: Path, damage: str) -> None:
    """A truncated or modified column is an error that names its file."""
    leave(tmp_path, 0, [SEND] * 50)
    leave(tmp_path, 1, [RECV] * 50)
    pack(tmp_path)
    file = tmp_path / "nbytes.npy"
    data = bytearray(file.read_bytes())
    if damage == "flip":
        data[-1] ^= 1
    else:
        del data[-8:]
    file.write_bytes(data)
    with pytest.raises(TraceError, match=r"nbytes\.npy"):
        Trace.open(tmp_path)


def test_imports_of_all_ranks_are_put_together(tmp_path: Path) -> None:
    """The imports of all ranks are merged; a module that differs between ranks has no digest."""
    for rank, digest in enumerate(("one", "other")):
        modules = {"/a.py": "same", "/b.py": digest, f"/{rank}.py": "own"}
        leave(tmp_path, rank, [SEND], imports={"modules": modules, "packages": {f"package{rank}": "/p.py"}})
    pack(tmp_path)
    assert json.loads((tmp_path / IMPORTS).read_text()) == {
        "modules": {"/a.py": "same", "/b.py": "", "/0.py": "own", "/1.py": "own"},
        "packages": {"package0": "/p.py", "package1": "/p.py"},
    }


def test_disturbance_stands_in_the_head(tmp_path: Path) -> None:
    """In 1 s the second rank waited 0.6 s for its core, on which others computed 0.5 s: the delay is 0.5 s."""
    quiet = {"begin": 0.0, "end": 1.0, "cores": [0], "busy": 1.0, "cpu": 1.0, "waited": 0.0}
    busy = {**quiet, "cores": [1], "cpu": 0.5, "waited": 0.6}
    for rank, computer in enumerate((quiet, busy)):
        leave(tmp_path, rank, [SEND], computer=computer)
    pack(tmp_path)
    head = Trace.open(tmp_path).head
    assert [each.delayed for each in head.rank_heads] == [0.0, 0.5]
    assert "kept a rank from computing for 50% of its time" in head.notes[0]


@pytest.mark.parametrize("rows", [0, 1, 7, 63, 64])
def test_signs_of_life(tmp_path: Path, rows: int) -> None:
    """Signs of life count written rows, not the reserved space behind them, and the ends of ranks."""
    file = leave(tmp_path, 0, [SEND] * rows, ended=False)
    file.write_bytes(file.read_bytes().ljust(64 * ROW.size, b"\0"))
    before = signs_of_life(tmp_path)
    assert dict(before)[file.name] == rows
    assert signs_of_life(tmp_path) == before
    file.write_bytes(((SEND * rows) + RECV).ljust(65 * ROW.size, b"\0"))
    assert dict(signs_of_life(tmp_path))[file.name] == rows + 1
    file.with_suffix(".end.json").write_text("{}")
    assert len(signs_of_life(tmp_path)) == len(before) + 1
    assert signs_of_life(tmp_path / "nowhere") == ()


def test_ranks_that_had_ended_are_counted(tmp_path: Path) -> None:
    """One of three ranks has not ended, and the message counts the two that have."""
    for rank in range(3):
        leave(tmp_path, rank, [SEND], size=3, ended=rank != 1)
    assert describe_incomplete(tmp_path).endswith(
        "rank 1 after op 0 (Send to 1, tag 3 at 1.25 s); 2 of 3 ranks had ended"
    )
