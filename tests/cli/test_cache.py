"""``clue cache`` shows what the cache holds; ``--clear`` removes what clue made, and nothing else."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from clue.cache import home, open_folder
from clue.recording import kept, recordings_of
from clue.report.cache.text import age
from tests.cli.commands import run as run_clue
from tests.recording.cases import Recorder, request


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a cache that holds a recorded program, a compiled engine and measurements of a host."""
    monkeypatch.setenv("CLUE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(kept, "record", Recorder())
    program = tmp_path / "heat.py"
    program.write_text("")
    recordings_of([request(program, "--n", "9", ranks=2)], 2)
    with open_folder(home() / "engine") as folder:
        os.close(folder.made("engine-0123.so", lambda path: path.write_bytes(b"x" * 1000)))
    with open_folder(home() / "hosts") as folder:
        folder.keep("vm-4567", lambda path: path.write_text("[1e-06, 1e-05]"))
    return home()


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Run the command and return its exit status, standard output and standard error."""
    return run_clue(capsys, "cache", *arguments)


def test_contents(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The JSON document has the cache's path and size, and what it holds: recordings by program, engines and hosts."""
    status, out, _ = run(capsys, "--json")
    document = json.loads(out)
    assert status == 0
    assert document["cache"] == str(cache)
    (recorded,), (compiled,) = document["recordings"], document["compiled"]
    assert (recorded["program"], recorded["arguments"], recorded["ranks"]) == ("heat.py", ["--n", "9"], 2)
    assert (recorded["recordings"], recorded["computer"]) == (2, os.uname().nodename)
    assert Path(recorded["path"]).parent == cache / "traces"
    assert (compiled["path"], compiled["bytes"]) == (str(cache / "engine" / "engine-0123.so"), 1065)
    (host,) = document["hosts"]
    assert host["path"] == str(cache / "hosts" / "vm-4567")
    assert document["bytes"] == recorded["bytes"] + 1065 + host["bytes"]


def test_table(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The table for people shows the path of the cache and the same entries."""
    status, out, _ = run(capsys)
    assert status == 0
    assert str(cache) in out
    assert all(word in out for word in ("heat.py", "--n 9", "engine-0123.so", "vm-4567", "under a minute"))


def test_nothing_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache that does not exist counts as empty: neither showing nor clearing creates it."""
    monkeypatch.setenv("CLUE_CACHE", str(tmp_path / "none"))
    for arguments in ((), ("--clear",)):
        assert run(capsys, *arguments)[0] == 0
    assert not (tmp_path / "none").exists()


def test_clearing(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``--clear`` removes every file and leaves the folders empty."""
    before = json.loads(run(capsys, "--json")[1])
    status, out, _ = run(capsys, "--clear", "--json")
    document = json.loads(out)
    assert status == 0
    assert len(document["removed"]) == 3 and document["left"] == []
    assert document["bytes"] == before["bytes"]
    assert [path for path in cache.rglob("*") if not path.is_dir()] == []
    assert "removed 0 entries, 0 B" in run(capsys, "--clear")[1]
    (cache / "engine" / f"engine-{'b' * 16}.so").touch()
    assert "removed 1 entry, 0 B" in run(capsys, "--clear")[1]


def test_what_earlier_versions_kept_goes_too(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Recordings and engines of earlier versions have no mark or digest: they are listed and cleared by their names."""
    (cache / "traces" / f"heat-4-{'a' * 24}.clue").mkdir()
    (cache / "engine" / f"engine-{'b' * 16}.so").touch()
    document = json.loads(run(capsys, "--json")[1])
    assert (len(document["recordings"]), len(document["compiled"])) == (2, 2)
    assert run(capsys)[0] == 0
    document = json.loads(run(capsys, "--clear", "--json")[1])
    assert (len(document["removed"]), document["left"]) == (5, [])


def test_what_clue_did_not_make_stays(cache: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``--clear`` leaves foreign files, links and their targets, and files beside the cache's folders."""
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "facts.json").write_text("{}")
    (precious / "thesis.tex").write_text("years")
    (cache / "traces" / "link").symlink_to(precious)
    (cache / "engine" / "link.so").symlink_to(precious / "thesis.tex")
    (cache / "engine" / "link.so.sha256").write_text("")
    (cache / "traces" / "notes.txt").write_text("mine")
    (cache / "thesis.tex").write_text("years")
    status, _, err = run(capsys, "--clear")
    assert status == 0
    assert f"left {cache / 'traces' / 'notes.txt'}: it is in use, or clue did not make it" in err
    left = {path.name for path in (*cache.iterdir(), *(cache / "traces").iterdir(), *(cache / "engine").iterdir())}
    assert left == {"engine", "traces", "hosts", "thesis.tex", "link", "notes.txt", "link.so", "link.so.sha256"}
    assert (precious / "thesis.tex").read_text() == "years"


def test_recording_that_is_being_made_stays(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``--clear`` leaves a recording that is being made, and its target; it removes what a killed process left."""
    (cache / "engine" / ".engine-99.so.abc.draft").mkdir()
    (cache / "engine" / ".engine-99.so.lock").touch()
    with open_folder(home() / "traces") as folder, folder.lock("heat-2-abc"), folder.draft("heat-2-abc") as draft:
        document = json.loads(run(capsys, "--clear", "--json")[1])
        assert [Path(path).name for path in document["removed"]] == ["engine-0123.so", "vm-4567"]
        assert draft.exists() and len(document["left"]) == 3
    assert list((cache / "engine").iterdir()) == []


def test_refused_cache(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder that others may write is refused with status 1 and what to do, both to show and to clear."""
    (cache / "traces").chmod(0o777)
    for arguments in ((), ("--clear",)):
        status, _, err = run(capsys, *arguments)
        assert status == 1
        assert "traces: folder must be one that only you may write, got mode 0777" in err


@pytest.mark.parametrize(
    ("seconds", "said"), [(5, "under a minute"), (60, "1 minute"), (7300, "2 hours"), (90000, "1 day")]
)
def test_age(seconds: float, said: str) -> None:
    """An age is stated in whole units: the largest unit that fits."""
    assert age(1000.0, 1000.0 + seconds) == said
