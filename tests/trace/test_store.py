"""The trace store: saved and opened traces are equal, and damaged traces are refused."""

from __future__ import annotations

import errno
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clue.errors import OutputError, TraceError
from clue.trace import ROOTED, Head, Op, Trace, TraceBuilder
from clue.trace.ops import COLUMNS
from clue.trace.parts import ROW
from tests.properties import examples


def example() -> TraceBuilder:
    """Return a builder of a trace with every kind of field."""
    trace = TraceBuilder(3, program="example.py")
    trace[0].compute(1.5, "solve")
    trace[0].send(1, 100, tag=7)
    trace[1].wait(trace[1].irecv(0, tag=7), trace[1].isend(2, 5))
    trace[2].recv(1)
    for rank in trace:
        rank.collective(Op.ALLTOALLV, extras=(1, 2, 3))
    trace.declare(0, region="solve", flops=3e9, peak_memory=1000)
    return trace


def columns(trace: Trace) -> list[list[int]]:
    """Return all columns as lists."""
    names = (*(name for name, _, _ in COLUMNS), "extras")
    return [getattr(trace.ops, name).tolist() for name in names]


def test_a_row_takes_72_bytes() -> None:
    """A recorded row takes 72 bytes; a stored op takes 65 bytes before compression, and 63 where no sites are known."""
    assert ROW.size == 72
    assert sum(np.dtype(kind).itemsize for _, kind, _ in COLUMNS) == 65


@pytest.mark.parametrize("name", ["x.clue", "x.clue.zip"])
def test_what_is_saved_is_what_is_opened(name: str, tmp_path: Path) -> None:
    """A folder and a compressed file give the same columns, and the same head except for checksums."""
    built = example().build()
    opened = Trace.open(built.save(tmp_path / name))
    assert columns(opened) == columns(built)
    assert opened.head.rank_heads == built.head.rank_heads
    assert opened.head.communicators == built.head.communicators
    assert opened.flops() == {"solve": (3e9, 1.5)}


def test_columns_of_a_folder_are_mapped_not_read(tmp_path: Path) -> None:
    """The columns of a folder are mapped into memory, not read."""
    opened = Trace.open(example().build().save(tmp_path / "x.clue"))
    assert isinstance(opened.ops.cpu.base, np.memmap)


def test_saving_replaces_what_was_there(tmp_path: Path) -> None:
    """Saving replaces the whole earlier trace; no old file remains."""
    path = tmp_path / "x.clue"
    example().build().save(path)
    (path / "imports.json").write_text("old")
    TraceBuilder(1).build().save(path)
    assert Trace.open(path).ranks == 1
    assert not (path / "imports.json").exists()


def test_a_full_disk_is_told_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a full disk saving raises the system's error with the path, and leaves no file."""

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(np, "save", full)
    with pytest.raises(OutputError, match=r"x\.clue: output must be writable, got: No space left on device"):
        example().build().save(tmp_path / "x.clue")
    assert list(tmp_path.iterdir()) == []


@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_any_damage_to_a_column_is_noticed(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """After any byte of a column is flipped, or the file is cut, opening is refused by name or gives equal columns."""
    path = example().build().save(tmp_path_factory.mktemp("damage") / "x.clue")
    column = data.draw(st.sampled_from(sorted(path.glob("*.npy"))))
    content = bytearray(column.read_bytes())
    at = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        content[at] ^= data.draw(st.integers(1, 255))
    else:
        del content[at:]
    column.write_bytes(content)
    try:
        opened = Trace.open(path)
    except TraceError as error:
        assert column.name in str(error)
    else:
        # Spaces that pad a numpy header have no meaning, so a changed one is no damage.
        assert columns(opened) == columns(example().build())


@pytest.mark.parametrize(
    ("column", "value", "rule"),
    [
        ("op", 0, "op of rank 0, op 0 must be a known op code, got 0"),
        ("comm", 9, "comm of rank 0, op 0 must be a communicator of the head"),
        ("peer", 3, "peer of rank 0, op 0 must be a rank of its communicator"),
        ("nbytes", -1, "nbytes of rank 0, op 0 must be from 0 to 9007199254740992, got -1"),
        ("region", 9, "region of rank 0, op 0 must be a region of the head"),
    ],
)
def test_fields_without_meaning_are_refused(column: str, value: int, rule: str, tmp_path: Path) -> None:
    """A senseless row in an intact file is refused with its rank and op."""
    built = example().build()
    getattr(built.ops, column)[0] = value
    built.save(tmp_path / "x.clue")
    with pytest.raises(TraceError, match=rule):
        Trace.open(tmp_path / "x.clue")


@pytest.mark.parametrize(
    ("head", "rule"),
    [
        ("not JSON", "head.json: file must be JSON"),
        ('{"format": "other"}', 'format must be "clue-trace"'),
        ('{"format": "clue-trace", "version": 4}', "version must be 1, 2 or 3, got 4"),
        ('{"format": "clue-trace", "version": true}', "version must be 1, 2 or 3, got true"),
        ('{"format": "clue-trace", "version": 1}', "head.json: program must be given, got nothing"),
        ("[1]", "this is not a trace of clue"),
    ],
)
def test_senseless_heads_are_refused(head: str, rule: str) -> None:
    """Each senseless head is refused with the rule that it breaks."""
    with pytest.raises(TraceError, match=rule):
        Head.from_json(head.encode(), "head.json")


@pytest.mark.parametrize("make", ["nothing", "file", "empty folder"])
def test_what_is_no_trace_is_told(make: str, tmp_path: Path) -> None:
    """A missing path, a file and a folder that are not traces are refused with the path."""
    path = tmp_path / "x.clue"
    if make == "file":
        path.write_text("hello")
    elif make == "empty folder":
        path.mkdir()
    with pytest.raises(TraceError, match=r"x\.clue"):
        Trace.open(path)


def test_rooted_collectives_are_collectives() -> None:
    """The ops with a root are those of the MPI standard."""
    assert {op.name for op in ROOTED} == {"BCAST", "REDUCE", "GATHER", "GATHERV", "SCATTER", "SCATTERV"}


@pytest.mark.parametrize("suffix", [".goal", ".ti"])
def test_a_trace_of_another_simulator_is_told_to_be_converted(tmp_path: Path, suffix: str) -> None:
    """A GOAL schedule or a SimGrid trace is not a trace of clue: the message has the command that makes it one."""
    path = tmp_path / f"ring{suffix}"
    path.write_text("num_ranks 1\n")
    wanted = f"{path}: trace must be a folder or a .zip of one, got one of another simulator: convert it, clue convert"
    with pytest.raises(TraceError) as caught:
        Trace.open(path)
    assert str(caught.value) == f"{wanted} {path} {tmp_path / 'ring.clue'}"
