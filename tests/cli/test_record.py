"""``clue record`` takes programs as ``python`` does: a file, a module or code."""

from __future__ import annotations

from pathlib import Path

import pytest

from clue.cli import main
from clue.trace import Trace

PROGRAM = "import sys\nfrom mpi4py import MPI\nassert sys.argv[1:] == ['-o', 'x']\nMPI.COMM_WORLD.Barrier()\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "name", "trace"),
    [
        (["-m", "package.part"], "package.part", "package.clue"),
        (["-c", PROGRAM], "code", "code.clue"),
        (["package/part.py"], "part.py", "part.clue"),
    ],
)
def test_a_program_is_named_as_for_python(
    folder: Path, capfd: pytest.CaptureFixture[str], words: list[str], name: str, trace: str
) -> None:
    """What follows the program are its own arguments, of which a warning tells those that clue has, too."""
    (folder / "package").mkdir()
    (folder / "package" / "part.py").write_text(PROGRAM)
    assert main(["record", "-n", "2", "--repeats=1", *words, "-o", "x"]) == 0
    assert Trace.open(folder / trace).ranks == 2
    said = capfd.readouterr().err
    assert f"clue: warning: {name}: -o went to the program: options of clue must precede the program" in said


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (["-m"], "-m must be followed by a module or code, got nothing"),
        (["-c"], "-c must be followed by a module or code, got nothing"),
        (["none.py"], "none.py: program must exist, got no such file"),
        (["-m", "no.such"], "no.such: program must initialise MPI by mpi4py (import mpi4py.MPI) and end well, got "),
    ],
)
def test_what_cannot_be_started_is_named(capfd: pytest.CaptureFixture[str], words: list[str], fault: str) -> None:
    """The message has the module's name."""
    assert main(["record", "-n", "2", *words]) != 0
    assert fault in capfd.readouterr().err
