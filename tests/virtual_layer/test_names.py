"""Names of the user's files that are those of modules."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from clue.children import finding_clue
from clue.trace import Op, Trace

CODE = "from mpi4py import MPI\nMPI.COMM_WORLD.Barrier()\n"


def _layer(folder: Path, *words: str) -> str:
    """Run a program under the layer in a folder; return what it said on standard error."""
    command = [sys.executable, "-m", "virtual_layer", "-q", "-o", "x.clue", *words]
    return subprocess.run(
        command, cwd=folder, env=finding_clue(os.environ), capture_output=True, text=True, timeout=60, check=False
    ).stderr


def _barriers(folder: Path) -> int:
    return int((Trace.open(folder / "x.clue").ops.op == Op.BARRIER).sum())


@pytest.mark.parametrize("name", ["token", "array", "json", "numbers", "signal", "clue"])
def test_a_program_may_have_the_name_of_a_module_that_only_the_layer_imports(name: str, tmp_path: Path) -> None:
    """A token ring in token.py is recorded, as it runs without the layer."""
    (tmp_path / f"{name}.py").write_text(CODE)
    assert _layer(tmp_path, f"{name}.py") == ""
    assert _barriers(tmp_path) == 1


def test_files_beside_a_program_are_no_modules_of_the_layer(tmp_path: Path) -> None:
    """A script clue.py in the current folder does not stand for clue while a program of another folder is recorded."""
    (tmp_path / "clue.py").write_text("raise SystemExit('imported')\n")
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "ring.py").write_text(CODE)
    assert _layer(tmp_path, "below/ring.py") == ""
    assert _barriers(tmp_path) == 1


@pytest.mark.parametrize("words", [("-c", "import helper"), ("-m", "helper"), ("below/main.py",)], ids=" ".join)
def test_programs_find_their_own_modules(words: tuple[str, ...], tmp_path: Path) -> None:
    """As with Python, code and modules find those of the current folder, and a script those of its own."""
    below = tmp_path / "below"
    below.mkdir()
    (below / "main.py").write_text("import helper\n")
    for folder, barriers in ((tmp_path, 1), (below, 2)):
        (folder / "helper.py").write_text(CODE + "MPI.COMM_WORLD.Barrier()\n" * (barriers - 1))
    assert _layer(tmp_path, *words) == ""
    assert _barriers(tmp_path) == (2 if words[0] == "below/main.py" else 1)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 has no safe path")
def test_a_safe_path_has_no_folder_of_the_program_in_front(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With PYTHONSAFEPATH, a program finds the modules of PYTHONPATH, the first folder of the path, as without clue."""
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "helper.py").write_text(CODE)
    (tmp_path / "main.py").write_text("import helper\n")
    monkeypatch.setenv("PYTHONSAFEPATH", "1")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "library"))
    assert _layer(tmp_path, "main.py") == ""
    assert _barriers(tmp_path) == 1


@pytest.mark.parametrize("name", ["token", "clue"])
def test_a_program_of_such_a_name_runs_live(name: str, tmp_path: Path) -> None:
    """The process from which ranks are forked does not import it either."""
    (tmp_path / f"{name}.py").write_text(CODE)
    command = "import sys; del sys.path[0]; from clue.cli import main; sys.exit(main(sys.argv[1:]))"
    words = ["run", "-q", "-n", "2", "--machine", "two-hosts", f"{name}.py"]
    done = subprocess.run(
        [sys.executable, "-c", command, *words],
        cwd=tmp_path, env=finding_clue(os.environ), capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert "makespan" in done.stdout
