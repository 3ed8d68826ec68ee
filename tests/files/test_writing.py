"""An output is written as a whole or not at all, whatever interrupts it."""

from __future__ import annotations

import os
import resource
import signal
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from clue.errors import OutputError
from clue.files import drafts, exchange, read_bytes, write_texts


def contents(folder: Path) -> dict[str, str]:
    """Return the names and texts of a folder's files, including drafts."""
    return {path.name: path.read_text() for path in sorted(folder.iterdir()) if path.is_file()}


def test_what_is_written_takes_the_place_of_what_was_there(tmp_path: Path) -> None:
    """The new text in UTF-8 replaces the old one, missing folders are created, and no draft stays."""
    path = tmp_path / "new" / "folder" / "x.txt"
    for text in ("µ", "new"):
        write_texts({path: text})
        assert path.read_bytes() == text.encode()
    assert contents(path.parent) == {"x.txt": "new"}


def test_a_full_disk_leaves_the_old_file_and_no_draft(tmp_path: Path) -> None:
    """If one of several files cannot be written, none is, and the error names that one."""
    write_texts({tmp_path / "a": "old", tmp_path / "b": "old"})
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(OutputError, match=r"/b: output must be writable, got: File too large"):
            write_texts({tmp_path / "a": "new", tmp_path / "b": "x" * 2000})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert contents(tmp_path) == {"a": "old", "b": "old"}


def test_an_interrupt_leaves_the_old_file_and_no_draft(tmp_path: Path) -> None:
    """Ctrl-C while a draft is written leaves the old file and no draft."""
    write_texts({tmp_path / "a": "old"})
    with pytest.raises(KeyboardInterrupt), drafts(tmp_path / "a") as (draft,):
        draft.write_text("half")
        signal.raise_signal(signal.SIGINT)
    assert contents(tmp_path) == {"a": "old"}


def interrupted(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Make Ctrl-C arrive right after a number of renames."""
    rename: Callable[[Path, Path], Path] = Path.rename
    done: list[Path] = []

    def renamed(path: Path, target: Path) -> Path:
        result = rename(path, target)
        done.append(path)
        if len(done) == number:
            signal.raise_signal(signal.SIGINT)
        return result

    monkeypatch.setattr(Path, "rename", renamed)


@pytest.mark.parametrize(("number", "found"), [(1, "old"), (2, "new")])
def test_an_interrupt_leaves_the_old_folder_or_the_new_one(
    number: int, found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C may arrive after either of the two renames that put the draft in place."""
    place = tmp_path / "x"
    place.mkdir()
    (place / "a").write_text("old")
    with pytest.raises(KeyboardInterrupt), drafts(place) as (draft,):
        draft.mkdir()
        (draft / "a").write_text("new")
        interrupted(monkeypatch, number)
    assert contents(place) == {"a": found}
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_an_interrupt_leaves_both_of_what_changes_places(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C may arrive after any of the three renames of an exchange; both files are always there."""
    write_texts({tmp_path / "a": "1", tmp_path / "b": "2"})
    interrupted(monkeypatch, number)
    try:
        exchange(tmp_path / "a", tmp_path / "b")
    except KeyboardInterrupt:
        assert number < 4
    assert contents(tmp_path) == ({"a": "1", "b": "2"} if number == 1 else {"a": "2", "b": "1"})


def test_a_folder_takes_the_place_of_a_folder_or_file(tmp_path: Path) -> None:
    """A folder replaces a folder or a file, a file replaces a folder, and nothing old stays."""
    for old in ("folder", "file"):
        place = tmp_path / f"for-{old}"
        if old == "folder":
            place.mkdir()
            (place / "old").write_text("old")
        else:
            place.write_text("old")
        with drafts(place) as (draft,):
            draft.mkdir()
            (draft / "new").write_text("new")
        assert contents(place) == {"new": "new"}
        write_texts({place: "text"})
        assert place.read_text() == "text"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["for-file", "for-folder"]


def test_what_a_link_stands_for_is_written(tmp_path: Path) -> None:
    """The target of the link is written, and the link stays."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to("elsewhere/x")
    write_texts({tmp_path / "link": "text"})
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "elsewhere" / "x").read_text() == "text"


def test_a_name_may_be_as_long_as_file_systems_allow(tmp_path: Path) -> None:
    """A name of 85 letters of three bytes has 255 bytes, the most; its drafts have names that are no longer."""
    place = tmp_path / ("漢" * 85)
    for text in ("old", "new"):
        write_texts({place: text})
    assert contents(tmp_path) == {place.name: "new"}


@pytest.mark.parametrize("place", ["pipe", "/dev/null", "file/below"])
def test_places_that_take_no_file(place: str, tmp_path: Path) -> None:
    """A pipe, a device, and a path below a file are refused, and an existing file stays."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_text("old")
    with pytest.raises(OutputError, match=f"{place}: output must be writable"):
        write_texts({tmp_path / place: "text"})
    assert contents(tmp_path) == {"file": "old"}


def test_permissions_stay(tmp_path: Path) -> None:
    """A replaced file or folder keeps its permissions; a new one has the default permissions of this process."""
    secret, folder, new = tmp_path / "secret", tmp_path / "folder", tmp_path / "new"
    write_texts({secret: "old"})
    folder.mkdir()
    secret.chmod(0o600)
    folder.chmod(0o700)
    with drafts(folder) as (draft,):
        draft.mkdir()
    write_texts({secret: "new", new: "new"})
    with drafts(tmp_path / "other") as (draft,):
        draft.touch()
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (secret, folder, new)]
    assert modes == [0o600, 0o700, stat.S_IMODE((tmp_path / "other").stat().st_mode)]


def test_errors_of_other_files_are_not_those_of_an_output(tmp_path: Path) -> None:
    """If an input fails while an output is written, the error names the input, and the old output stays."""
    write_texts({tmp_path / "a": "old", tmp_path / "b": "long"})
    for name, fault in (("none", FileNotFoundError), ("b", OSError), (".", OSError)):
        with pytest.raises(fault) as failed, drafts(tmp_path / "a") as (draft,):
            draft.write_bytes(read_bytes(tmp_path / name, most=1))
        assert failed.value.filename == str(tmp_path / name)
    with pytest.raises(OutputError, match="a: output must be writable, got: No such file"), drafts(tmp_path / "a"):
        pass  # nothing is written
    assert contents(tmp_path) == {"a": "old", "b": "long"}
