"""The standard input of several recordings of one program."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from clue.children import running
from clue.recording.inputs import repeatable_input
from tests.recording.cases import standard_input_from

READS = (sys.executable, "-S", "-c", "import sys; sys.stdout.write(sys.stdin.readline())")


def lines_read(times: int) -> list[str]:
    """Return the line that a program reads in each of several runs."""
    found = []
    with repeatable_input(times) as next_input:
        for _ in range(times):
            with next_input() as stdin, running(READS, stdin=stdin, stdout=subprocess.PIPE) as process:
                found.append(process.communicate(timeout=30)[0].decode())
    return found


def test_each_recording_reads_a_file_from_the_same_place(tmp_path: Path) -> None:
    """Every run reads the second line of a file, whose first line was read before."""
    path = tmp_path / "input"
    path.write_text("read before\n100\n")
    with path.open("rb", buffering=0) as file:
        file.seek(len("read before\n"))
        with standard_input_from(file.fileno()):
            assert lines_read(3) == ["100\n"] * 3


def test_recordings_side_by_side_read_a_file_from_the_same_place(tmp_path: Path) -> None:
    """Two runs at once each read the whole file: they share no position in it."""
    path = tmp_path / "input"
    path.write_text("100\n")
    with (
        path.open("rb", buffering=0) as file,
        standard_input_from(file.fileno()),
        repeatable_input(2) as next_input,
        next_input() as one,
        next_input() as other,
    ):
        assert one is not None and other is not None
        assert [os.read(each, 100) for each in (one, other)] == [b"100\n"] * 2


@pytest.mark.parametrize("times", [1, 3])
def test_each_recording_reads_what_came_through_a_pipe(times: int) -> None:
    """Every run reads the line in a pipe; nobody waits for the end of the pipe."""
    reader, writer = os.pipe()
    try:
        os.write(writer, b"100\n")
        with standard_input_from(reader):
            assert lines_read(times) == ["100\n"] * times
    finally:
        os.close(reader)
        os.close(writer)


def test_what_was_read_from_a_pipe_is_kept_already(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A recording that ends as soon as it has read its input leaves this input to the next one."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    reader, writer = os.pipe()
    try:
        os.write(writer, b"100\n")
        with standard_input_from(reader), repeatable_input(2) as next_input, next_input() as stdin:
            assert stdin is not None and os.read(stdin, 100) == b"100\n"
            (kept,) = tmp_path.glob("clue-input-*/input")
            assert kept.read_bytes() == b"100\n"
    finally:
        os.close(reader)
        os.close(writer)
