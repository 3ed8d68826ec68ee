"""Targets of traces: only a trace, an empty folder or a new path may be written."""

from __future__ import annotations

import os
import zipfile
from functools import partial
from pathlib import Path

import pytest

from clue.calibration.residuals import ping_pong
from clue.cli import main
from clue.errors import RecordError, UsageError
from clue.recording import record
from clue.trace import Trace, TraceBuilder
from clue.trace.place import check_place, numbered, remove_further, repeats_beside
from virtual_layer.session import clear_target

#: Existing paths, and the message about each; a name that ends with / is a folder.
OTHERS = {
    "a file": (["x"], "x: trace must be a new folder or replace a trace, got a file"),
    "a folder with another's head": (["x/head.json", "x/thesis.tex"], "got something else there: thesis.tex"),
    "a folder with parts of something": (["x/parts/", "x/p.py"], "got something else there: p.py"),
    "parts of something else": (["x/parts/thesis.tex"], "got something else there: parts/thesis.tex"),
    "a folder in an archive's place": (["x.zip/"], "x.zip: trace must be a new file or replace a trace, got a folder"),
    "a text in an archive's place": (["x.zip"], "got File is not a zip file"),
}


@pytest.fixture
def target(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create the existing paths of a case, and return the target."""
    monkeypatch.chdir(tmp_path)
    names, _ = OTHERS[request.param]
    for name in names:
        path = tmp_path / name
        (path if name.endswith("/") else path.parent).mkdir(parents=True, exist_ok=True)
        if not name.endswith("/"):
            path.write_text("years")
    return Path(names[0].split("/")[0])


@pytest.mark.parametrize(("target", "case"), [(case, case) for case in OTHERS], ids=OTHERS, indirect=["target"])
def test_what_is_no_trace_stays(target: Path, case: str, capsys: pytest.CaptureFixture[str]) -> None:
    """No export, conversion, live run or recording overwrites a path that is not a trace."""
    before = sorted(Path().rglob("*"))
    told = OTHERS[case][1]
    with pytest.raises(UsageError) as refused:
        ping_pong(8).save(target)
    assert told in str(refused.value)
    ping_pong(8).save("from.clue")
    Path("p.py").write_text("from mpi4py import MPI")
    assert main(["convert", "from.clue", str(target), "--to", "clue"]) == 2
    assert main(["run", "-n", "2", "--machine", "wien97-fine", "--record", str(target), "p.py"]) == 2
    assert main(["record", "-n", "1", "-o", str(target), "p.py"]) == 2
    assert capsys.readouterr().err.count("trace must be") == 3
    with pytest.raises(UsageError):
        clear_target(target)
    assert [path for path in sorted(Path().rglob("*")) if path in before] == before


def test_traces_are_replaced(tmp_path: Path) -> None:
    """Existing traces are replaced, as folder or archive, as are an empty folder and parts of a killed recording."""
    for name in ("x.clue", "x.zip"):
        for _ in range(2):
            ping_pong(8).save(tmp_path / name)
    killed, empty = tmp_path / "killed" / "parts", tmp_path / "empty"
    killed.mkdir(parents=True)
    empty.mkdir()
    for name in ("w0-r00000.json", "w0-r00000.end.draft", "w0-r00000.rows", "0123456789abcdef.spawn.json"):
        (killed / name).touch()
    (killed.parent / ".head.json.0123456789ab.part").touch()
    for place in (killed.parent, empty):
        ping_pong(8).save(place)
    assert zipfile.is_zipfile(tmp_path / "x.zip")
    assert not killed.exists()


def test_ranks_record_into_a_folder(tmp_path: Path) -> None:
    """A job script that names an archive is refused, as by clue record, before its program begins."""
    with pytest.raises(UsageError, match=r"x\.clue\.zip: trace must be recorded into a folder, got a \.zip"):
        clear_target(tmp_path / "x.clue.zip")


def test_a_trace_that_cannot_be_removed_stays_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the folder around an earlier trace may not be written, a recording leaves its files alone."""
    ping_pong(8).save(tmp_path / "x.clue")
    monkeypatch.setattr(os, "access", lambda path, _: Path(path) != tmp_path)
    with pytest.raises(PermissionError):
        clear_target(tmp_path / "x.clue")
    assert Trace.open(tmp_path / "x.clue").ranks == 2


def test_every_part_of_a_recording_is_known_as_one(tmp_path: Path) -> None:
    """The parts that a failed program leaves may be recorded over."""
    (tmp_path / "p.py").write_text("from mpi4py import MPI\nraise SystemExit(3)")
    with pytest.raises(RecordError):
        record(tmp_path / "p.py", [], 2, tmp_path / "x.clue")
    assert list((tmp_path / "x.clue" / "parts").iterdir())
    check_place(tmp_path / "x.clue")


def test_repeats_of_archives_are_numbered_before_both_endings(tmp_path: Path) -> None:
    """Further archives of a run are removed, except those of another number of ranks: as for folders."""
    first = tmp_path / "x.clue.zip"
    for name in ("x.clue.zip", "x.2.clue.zip", "x.3.clue.zip"):
        ping_pong(8).save(tmp_path / name)
    other = TraceBuilder(4, "other")
    other[0].compute(1.0)
    other.build().save(tmp_path / "x.4.clue.zip")
    assert [path.name for path in repeats_beside(first)] == ["x.2.clue.zip", "x.3.clue.zip", "x.4.clue.zip"]
    remove_further(2, partial(numbered, first))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.2.clue.zip", "x.4.clue.zip", "x.clue.zip"]
    assert [numbered(Path(name), 2).name for name in ("x.zip", "x", "a.b.clue")] == ["x.2.zip", "x.2", "a.b.2.clue"]
