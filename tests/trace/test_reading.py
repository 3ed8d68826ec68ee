"""Malicious traces are refused before more is read than their head announces."""

from __future__ import annotations

import io
import json
import os
import struct
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clue.errors import TraceError
from clue.trace import Op, Trace
from tests.trace.test_pack import SEND, leave, row
from tests.trace.test_store import example

Files = dict[str, bytes]


def files() -> Files:
    """Return the files of a valid trace's folder, by name."""
    folder = Path("t.clue")
    example().build().save(folder)
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder of the test's own."""
    monkeypatch.chdir(tmp_path)


def refusal(path: str) -> str:
    """Return the reason for which a trace is refused."""
    with pytest.raises(TraceError) as caught:
        Trace.open(path)
    return str(caught.value)


# --- columns ---


def header(text: str, magic: bytes = b"\x93NUMPY\x01\x00") -> bytes:
    """Return the beginning of a numpy file with this header."""
    return magic + struct.pack("<H", len(text)) + text.encode()


HEADERS = {
    "pickled objects": header("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n"),
    "a terabyte": header("{'descr': '<i8', 'fortran_order': False, 'shape': (1000000000000,), }\n"),
    "code": header("__import__('os').system('touch harmed')\n"),
    "nested": header("(" * 1000),
    "endless": header("{'descr': '<i8', 'fortran_order': False, 'shape': (8,), }" + " " * 60_000 + "\n"),
    "two dimensions": header("{'descr': '<i8', 'fortran_order': False, 'shape': (4, 2), }\n"),
    "another type": header("{'descr': '<f8', 'fortran_order': False, 'shape': (8,), }\n"),
    "another version": header("{'descr': '<i8', 'fortran_order': False, 'shape': (8,), }\n", b"\x93NUMPY\x03\x00"),
    "cut": b"\x93NUM",
    "nothing": b"",
}


@pytest.mark.parametrize("kind", ["folder", "archive"])
@pytest.mark.parametrize("case", HEADERS, ids=str)
def test_columns_are_what_the_head_announces(case: str, kind: str) -> None:
    """Columns must have the announced type and length in numpy's own form; headers are never evaluated."""
    good = files()
    data = good["cpu.npy"][-8 * 8 :]
    if kind == "folder":
        Path("t.clue/cpu.npy").write_bytes(HEADERS[case] + data)
        assert "t.clue/cpu.npy: column must be a readable numpy file" in refusal("t.clue")
    else:
        pack({**good, "cpu.npy": HEADERS[case] + data})
        told = refusal("t.zip")
        assert told.startswith("t.zip: archive must hold a whole trace, got a ") and "cpu.npy" in told
    assert not Path("harmed").exists()


@pytest.mark.parametrize("name", ["head.json", "cpu.npy", "extras.npy"])
def test_pipes_and_devices_in_the_place_of_a_file_are_refused(name: str) -> None:
    """A pipe or device in place of a file is refused, as reading it might block or never end."""
    files()
    path = Path("t.clue", name)
    path.unlink()
    os.mkfifo(path)
    assert "a named pipe, which is no ordinary file" in refusal("t.clue")
    path.unlink()
    path.symlink_to("/dev/zero")
    assert "a device, which is no ordinary file" in refusal("t.clue")


def test_a_trace_that_is_a_pipe_is_refused() -> None:
    """A named pipe in place of the trace is refused."""
    os.mkfifo("t.clue")
    assert refusal("t.clue") == "t.clue: trace must be readable, got a named pipe, which is no ordinary file"


def test_a_huge_head_is_refused_by_its_size() -> None:
    """A sparse head of 1 TB is refused by its size, before it is read into memory."""
    files()
    with Path("t.clue/head.json").open("r+b") as head:
        head.truncate(10**12)
    assert "head must be readable, got 1 TB, where 64 MB are the most that is read" in refusal("t.clue")


def test_a_head_that_would_not_be_read_is_not_written() -> None:
    """A head beyond the limit for reading is not written either."""
    trace = example()
    for i in range(20_000):
        trace.region(f"{i:04000}")
    with pytest.raises(TraceError, match=r"t\.clue: head must have at most 64 MB, got 80\.\d+ MB for 3 ranks"):
        trace.build().save("t.clue")
    assert not list(Path().iterdir())


# --- archives ---


def pack(members: Files, change: Callable[[zipfile.ZipInfo], None] = lambda _: None) -> None:
    """Write an archive of these members, each changed by the function."""
    with zipfile.ZipFile("t.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            change(info)
            archive.writestr(info, content)


def in_directory(name: str, offset: int, form: str, value: int) -> None:
    """Overwrite a field of a member in the archive's directory."""
    content = bytearray(Path("t.zip").read_bytes())
    entry = content.rindex(name.encode()) - 46
    assert content[entry : entry + 4] == b"PK\x01\x02"
    struct.pack_into(form, content, entry + offset, value)
    Path("t.zip").write_bytes(content)


def test_an_archive_of_a_folders_files_is_a_trace() -> None:
    """An archive of a trace folder's files is a trace, whichever tool packed it."""
    pack(files())
    assert Trace.open("t.zip").ranks == 3


def test_a_bomb_is_refused_by_the_size_that_it_claims() -> None:
    """A column of 100 MB where the head announces 8 entries is refused without unpacking."""
    pack({**files(), "cpu.npy": bytes(10**8)})
    assert "a member cpu.npy of 100000000 bytes, where there are at most 1098" in refusal("t.zip")


def test_a_bomb_that_claims_little_is_cut_there() -> None:
    """A member that claims the right size but holds more is unpacked up to that size only, and refused."""
    good = files()
    size = len(good["cpu.npy"])
    pack({**good, "cpu.npy": bytes(10**7)})
    in_directory("cpu.npy", 24, "<I", size)
    assert "archive must hold a whole trace, got" in refusal("t.zip")


def test_all_members_together_are_bounded() -> None:
    """The sum of all members' sizes is limited, even if the head announces as much."""
    pack(files())
    in_directory("head.json", 24, "<I", 2_100_000_000)
    assert "2.1 GB, but clue unpacks at most 2 GB" in refusal("t.zip")


@pytest.mark.parametrize("name", ["../cpu.npy", "/etc/cpu.npy", "t.clue/cpu.npy", "more.npy", "\x1b[31m.npy"])
def test_members_are_those_of_a_trace(name: str) -> None:
    """Members with paths, and members that are not part of a trace, are refused."""
    pack({**files(), name: b""})
    assert f"a member {name!a}, which is not part of a trace" in refusal("t.zip")


def test_missing_and_doubled_members() -> None:
    """A missing member and a duplicate member are refused."""
    good = files()
    pack({name: content for name, content in good.items() if name != "tag.npy"})
    assert "got 0 members tag.npy" in refusal("t.zip")
    pack(good)
    with warnings.catch_warnings(), zipfile.ZipFile("t.zip", "a") as archive:
        warnings.simplefilter("ignore")  # zipfile warns about the intended duplicate
        archive.writestr("tag.npy", good["tag.npy"])
    assert "got 2 members tag.npy" in refusal("t.zip")


def test_links_and_odd_compression_are_refused() -> None:
    """A member that is a link, or is compressed by another method than deflation, is refused."""

    def link(info: zipfile.ZipInfo) -> None:
        info.external_attr = 0o120777 << 16 if info.filename == "cpu.npy" else 0

    def squeezed(info: zipfile.ZipInfo) -> None:
        info.compress_type = zipfile.ZIP_LZMA

    pack(files(), link)
    assert "a member cpu.npy that is no ordinary file" in refusal("t.zip")
    pack(files(), squeezed)
    assert "is compressed by another method than deflation" in refusal("t.zip")


def test_encrypted_members_are_refused() -> None:
    """An encrypted member is refused without asking for a password."""
    pack(files())
    in_directory("cpu.npy", 8, "<H", 1)
    assert "a member cpu.npy that is encrypted" in refusal("t.zip")


def test_a_directory_without_end_is_refused() -> None:
    """An archive with far more members than a trace is refused before its directory is read."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for i in range(50_000):
            archive.writestr(f"{i:080d}", b"")
    Path("t.zip").write_bytes(content.getvalue())
    assert "a directory far longer than that of a trace" in refusal("t.zip")


# --- parts of a recording that did not end ---


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda start: {**start, "rank": "0"}, "rank must be a whole number"),
        (lambda start: {**start, "calls": 5}, "calls must be a list, got 5"),
        (lambda _: [], 'format must be "clue-parts"'),
    ],
)
def test_parts_have_a_form_too(spoil: Callable[[dict[str, Any]], Any], told: str) -> None:
    """The parts of an incomplete recording are checked, too."""
    rows = leave(Path("t.clue"), 0, [SEND], ended=False)
    start = rows.with_suffix(".json")
    start.write_text(json.dumps(spoil(json.loads(start.read_text()))))
    assert told in refusal("t.clue")


def test_rows_of_a_killed_rank_are_not_read_beyond_those_written() -> None:
    """Of a killed rank's sparse file of 1 TB only the written rows are read; a call without a name is no error."""
    rows = leave(Path("t.clue"), 0, [row(Op.SEND, "Send", peer=1)], ended=False)
    with rows.open("r+b") as file:
        file.truncate(10**12)
    assert "rank 0 after op 0 (Send to 1, tag 0 at 0 s)" in refusal("t.clue")
    content = np.fromfile(rows, np.uint8, 72)
    content[56:58] = 200
    content.tofile(rows)
    assert "rank 0 after op 0 (computation to 1" in refusal("t.clue")
