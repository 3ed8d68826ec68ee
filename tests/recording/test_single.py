"""Recording a program again over an earlier recording."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from clue.errors import RecordError
from clue.recording import record, repeats_beside
from clue.trace import Op, Trace

WORKS = "from mpi4py import MPI\nMPI.COMM_WORLD.Barrier()\n"


def kept(path: Path) -> dict[str, bytes]:
    """Return the contents of a folder's files, by name."""
    return {file.name: file.read_bytes() for file in path.iterdir()}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the trace of a program, which no test changes."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "p.py").write_text(WORKS)
    record(folder / "p.py", [], 1, folder / "keep.clue")
    return folder / "keep.clue"


@pytest.fixture
def program(recorded: Path, tmp_path: Path) -> Path:
    """Return a program that has been recorded."""
    path = tmp_path / "p.py"
    path.write_text(WORKS)
    shutil.copytree(recorded, tmp_path / "keep.clue")
    return path


@pytest.mark.parametrize("change", [WORKS + "raise SystemExit(3)", "x = 1", WORKS + "while True: pass"], ids=str)
def test_a_failed_recording_leaves_the_earlier_one(
    program: Path, change: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """If the new recording fails, the earlier one is kept, no draft remains, and no message mentions a draft."""
    before = kept(tmp_path / "keep.clue")
    program.write_text(change)
    with pytest.raises(RecordError) as failed:
        record(program, [], 1, tmp_path / "keep.clue", timeout=1.2)
    assert str(failed.value).endswith(": the earlier recording is kept")
    assert ".part" not in f"{failed.value} {capfd.readouterr()}"
    assert kept(tmp_path / "keep.clue") == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["keep.clue", "p.py"]


def test_recordings_to_one_place_at_once_are_not_mixed(tmp_path: Path) -> None:
    """A recording during which another one is made at its place is nevertheless its own, and replaces that one."""
    target, other = tmp_path / "x.clue", tmp_path / "other.py"
    other.write_text(WORKS)
    (tmp_path / "p.py").write_text(
        "import subprocess, sys\n"
        + WORKS * 2
        + f"words = ['virtual_layer', '-o', {str(target)!r}, {str(other)!r}]\n"
        "subprocess.run([sys.executable, '-m', *words], check=True, env=ALONE)\n".replace(
            "ALONE", "{k: v for k, v in __import__('os').environ.items() if not k.startswith(('PMI', 'OMPI', 'PRTE'))}"
        )
        + f"assert __import__('clue.trace').trace.Trace.open({str(target)!r}).head.program == {str(other)!r}\n"
    )
    trace = record(tmp_path / "p.py", [], 1, target)
    assert trace.head == Trace.open(target).head
    assert (trace.head.program, int((trace.rank(0).op == Op.BARRIER).sum())) == (str(tmp_path / "p.py"), 2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other.py", "p.py", "x.clue"]


def test_a_recording_takes_the_place_of_the_earlier_one(program: Path, tmp_path: Path) -> None:
    """A new recording replaces the earlier one, and is opened from its path."""
    program.write_text(WORKS * 2)
    trace = record(program, [], 2, tmp_path / "keep.clue")
    assert (trace.path, trace.ranks) == (tmp_path / "keep.clue", 2)
    assert Trace.open(tmp_path / "keep.clue").head == trace.head
    assert sorted(path.name for path in tmp_path.iterdir()) == ["keep.clue", "p.py"]


def test_what_a_first_recording_leaves_is_found(tmp_path: Path) -> None:
    """A failed first recording leaves its parts at the target, over which the program can be recorded again."""
    program, target = tmp_path / "p.py", tmp_path / "x.clue"
    for _ in range(2):
        program.write_text(WORKS + "raise SystemExit(3)")
        with pytest.raises(RecordError, match=r"x\.clue: trace must be complete"):
            record(program, [], 1, target)
        assert (target / "parts").exists()
    program.write_text(WORKS)
    record(program, [], 1, target)


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("import sys\nfrom mpi4py import MPI\nMPI.COMM_WORLD.Barrier()\nsys.exit('size must be even')\n", True),
        ("from mpi4py import MPI\nassert MPI.COMM_WORLD.size % 2 == 0\n", True),
        ("import sys\nsys.exit('size must be even')\n", True),
        ("from mpi4py import MPI\nMPI.COMM_WORLD.Abort(3)\n", True),
        ("import sys\nfrom mpi4py import MPI\nfor _ in range(70): MPI.COMM_WORLD.Barrier()\nsys.exit(1)\n", False),
        ("import os, signal\nfrom mpi4py import MPI\nos.kill(os.getpid(), signal.SIGKILL)\n", False),
        ("print('never calls MPI')\n", False),
    ],
)
def test_a_refusal_is_an_end_before_anything_was_done(text: str, refused: bool, tmp_path: Path) -> None:
    """A program refuses to run if it ends with its own exit status, not by a signal, and after few calls at most."""
    (tmp_path / "p.py").write_text(text)
    with pytest.raises(RecordError) as failed:
        record(tmp_path / "p.py", [], 1, tmp_path / "x.clue", timeout=60)
    assert failed.value.refused == refused


def test_repeats_of_the_earlier_one_are_gone(recorded: Path, program: Path, tmp_path: Path) -> None:
    """A new recording leaves no repeat of an earlier one, which would count as its own; a failed one leaves all."""
    for number in (2, 3):
        shutil.copytree(recorded, tmp_path / f"keep.{number}.clue")
    program.write_text(WORKS + "raise SystemExit(3)")
    with pytest.raises(RecordError):
        record(program, [], 1, tmp_path / "keep.clue")
    assert [path.name for path in repeats_beside(tmp_path / "keep.clue")] == ["keep.2.clue", "keep.3.clue"]
    program.write_text(WORKS)
    record(program, [], 1, tmp_path / "keep.clue")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["keep.clue", "p.py"]


def test_traces_named_by_ranks_stay(recorded: Path, program: Path, tmp_path: Path) -> None:
    """A trace of another number of ranks is no repeat of a new recording: its name may tell its ranks."""
    shutil.copytree(recorded, tmp_path / "keep.3.clue")
    program.write_text(WORKS)
    record(program, [], 2, tmp_path / "keep.2.clue")
    record(program, [], 1, tmp_path / "keep.clue")
    assert [path.name for path in repeats_beside(tmp_path / "keep.clue")] == ["keep.2.clue", "keep.3.clue"]
