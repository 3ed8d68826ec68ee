"""Folders that no other user can change: how they are made, which are refused, and which of their files are trusted."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from clue.cache import DIGEST, Folder, home, open_folder, unsafe_within
from clue.errors import CacheError

ANYBODY = 12345


def give_away(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a file or folder belong to another user, by changing its owner or this process's apparent user."""
    if os.geteuid() == 0:
        os.chown(path, ANYBODY, -1, follow_symlinks=False)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: ANYBODY)


def mode(path: Path) -> int:
    """Return the permissions of a file or folder."""
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.fixture
def open_umask() -> Iterator[None]:
    """Run a test with a umask of 0, which lets everybody write to new files."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of a folder that can be made; its parent does not exist either."""
    return tmp_path / "cache" / "things"


def write(content: bytes) -> Callable[[Path], object]:
    """Return a function that writes a file."""
    return lambda path: path.write_bytes(content)


def read(folder: Folder, name: str) -> bytes | None:
    """Return the content of a file that is sound, or None."""
    descriptor = folder.sound(name)
    if descriptor is None:
        return None
    with os.fdopen(descriptor, "rb") as file:
        return file.read()


def test_place_is_what_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """CLUE_CACHE precedes XDG_CACHE_HOME, which precedes the home folder, unless it is a relative path."""
    monkeypatch.setenv("CLUE_CACHE", "/here")
    monkeypatch.setenv("XDG_CACHE_HOME", "/there")
    monkeypatch.setenv("HOME", "/home/me")
    assert home() == Path("/here")
    monkeypatch.delenv("CLUE_CACHE")
    assert home() == Path("/there/clue")
    monkeypatch.setenv("XDG_CACHE_HOME", "there")
    assert home() == Path("/home/me/.cache/clue")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert home() == Path("/home/me/.cache/clue")


@pytest.mark.usefixtures("open_umask")
def test_all_that_is_made_is_ours_alone(path: Path) -> None:
    """With any umask, only this user has access to folders, created parents, drafts, locks, files and digests."""
    with open_folder(path) as folder, folder.lock("a"), folder.draft("a") as draft:
        os.close(folder.made("b", write(b"content")))
        made = [path.parent, path, draft, path / "b", path / ("b" + DIGEST), path / ".a.lock"]
        assert [mode(each) & 0o077 for each in made] == [0] * len(made)
        assert read(folder, "b") == b"content"
    assert sorted(each.name for each in path.iterdir()) == ["b", "b" + DIGEST]


@pytest.mark.parametrize("rights", [0o770, 0o707, 0o1777])
def test_folder_that_others_may_write_is_refused(path: Path, rights: int) -> None:
    """The message has place, rule, value, and what to do."""
    path.mkdir(parents=True)
    path.chmod(rights)
    with (
        pytest.raises(CacheError, match=rf"must be one that only you may write, got mode {rights:04o}.*CLUE_CACHE"),
        open_folder(path),
    ):
        pass


def test_folder_of_others_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The owner of a folder can change its content, whatever the folder's permissions."""
    path.mkdir(parents=True)
    give_away(path, monkeypatch)
    with pytest.raises(CacheError, match="got one that belongs to "), open_folder(path):
        pass


def test_link_in_the_place_of_a_folder_is_refused(path: Path, tmp_path: Path) -> None:
    """A link could lead anywhere and be changed at any time."""
    path.parent.mkdir()
    path.symlink_to(tmp_path)
    with pytest.raises(CacheError, match="must be one that you may write, got a symbolic link:"), open_folder(path):
        pass


@pytest.mark.parametrize(("rights", "taken"), [(0o1777, True), (0o775, True), (0o777, False)])
def test_folders_above(path: Path, rights: int, taken: bool) -> None:
    """Parents like /tmp or a group's home are accepted, but not one in which anybody may replace the folder."""
    path.parent.mkdir()
    path.parent.chmod(rights)
    try:
        with open_folder(path) as folder:
            os.close(folder.made("a", write(b"")))
    except CacheError as error:
        assert not taken
        assert f"got one in {path.parent} (mode 0777), where anybody may put another in its place" in str(error)
    else:
        assert taken


def test_file_in_the_place_of_a_folder(path: Path) -> None:
    """A file in place of the parent gives an error with its place instead of a traceback."""
    path.parent.write_text("")
    with pytest.raises(CacheError, match="things: folder must be one that you may write, got Not a directory"):
        open_folder(path).__enter__()


def _truncate(file: Path, _: pytest.MonkeyPatch) -> None:
    os.truncate(file, 3)


def _empty(file: Path, _: pytest.MonkeyPatch) -> None:
    file.write_bytes(b"")


def _open_up(file: Path, _: pytest.MonkeyPatch) -> None:
    file.chmod(0o720)


def _link(file: Path, _: pytest.MonkeyPatch) -> None:
    file.rename(file.with_name("other"))
    file.symlink_to("other")


def _pipe(file: Path, _: pytest.MonkeyPatch) -> None:
    file.unlink()
    os.mkfifo(file)


def _lose(file: Path, _: pytest.MonkeyPatch) -> None:
    file.unlink()


def _exchange(file: Path, _: pytest.MonkeyPatch) -> None:
    file.write_bytes(b"planted")


SPOILING = [_truncate, _empty, _open_up, _link, _pipe, _lose, _exchange, give_away]


@pytest.mark.parametrize("spoil", SPOILING, ids=lambda spoil: spoil.__name__.strip("_"))
@pytest.mark.parametrize("ending", ["", DIGEST], ids=["file", "digest"])
def test_file_that_is_not_sound_is_made_again(
    path: Path, spoil: Callable[[Path, pytest.MonkeyPatch], None], ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file or digest that is damaged, exchanged, foreign or writable by others is not used, and is made again."""
    with open_folder(path) as folder:
        os.close(folder.made("engine", write(b"the engine")))
        spoil(path / f"engine{ending}", monkeypatch)
        assert read(folder, "engine") is None
        monkeypatch.undo()
        os.close(folder.made("engine", write(b"made again")))
        assert read(folder, "engine") == b"made again"


def test_file_that_is_sound_is_not_made_again(path: Path) -> None:
    """A file that one process made serves all later ones."""
    for content in (b"first", b"second"):
        with open_folder(path) as folder:
            os.close(folder.made("a", write(content)))
            assert read(folder, "a") == b"first"


def test_what_is_not_made_leaves_nothing(path: Path) -> None:
    """If making a file fails, the error propagates, and neither file nor draft nor lock stays."""

    def fail(path: Path) -> None:
        path.write_text("half")
        raise ZeroDivisionError

    with open_folder(path) as folder, pytest.raises(ZeroDivisionError):
        folder.made("a", fail)
    assert list(path.iterdir()) == []


def test_a_folder_that_is_exchanged_does_not_matter(path: Path) -> None:
    """Files are found in the folder that was checked, even if another folder has its name by then."""
    with open_folder(path) as folder:
        os.close(folder.made("a", write(b"ours")))
        path.rename(path.with_name("away"))
        with open_folder(path) as other:
            os.close(other.made("a", write(b"theirs")))
        assert read(folder, "a") == b"ours"


def test_tree_with_anything_unsafe_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that others may write, a link, and a foreign file are each named."""
    tree = tmp_path / "tree"
    (tree / "deep").mkdir(parents=True, mode=0o700)
    file = tree / "deep" / "column"
    file.write_text("")
    file.chmod(0o600)
    tree.chmod(0o700)
    file.parent.chmod(0o700)
    assert unsafe_within(tree) == ""
    file.chmod(0o602)
    assert unsafe_within(tree) == "mode 0602, by which others may write (column)"
    file.chmod(0o600)
    (tree / "link").symlink_to("/etc")
    assert unsafe_within(tree) == "a symbolic link (link)"
    (tree / "link").unlink()
    give_away(file, monkeypatch)
    assert "belongs to" in unsafe_within(tree)


HOLD = """
import pathlib, sys, time
from clue.cache import open_folder
with open_folder(pathlib.Path(sys.argv[1])) as folder, folder.lock("a"):
    print("held", flush=True)
    time.sleep(60)
"""


def test_lock_of_a_dead_process_is_taken_over(path: Path) -> None:
    """A killed process releases its lock; until then, a process that waits learns which process holds it."""
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None and holder.stdout.readline() == "held\n"
    told: list[str] = []

    def waiting(who: str) -> None:
        told.append(who)
        holder.send_signal(signal.SIGKILL)

    with open_folder(path) as folder:
        assert folder.is_locked("a") and not folder.is_locked("b")
        with folder.lock("a", waiting):
            assert told == [f"process {holder.pid} on {os.uname().nodename}"]
        assert not folder.is_locked("a")
    holder.wait()
    holder.stdout.close()


MAKE = """
import os, pathlib, sys, time
from clue.cache import open_folder
def make(path):
    time.sleep(0.2)
    path.write_text("content")
    with open(sys.argv[2], "a") as log:
        log.write("made\\n")
with open_folder(pathlib.Path(sys.argv[1])) as folder:
    with os.fdopen(folder.made("a", make)) as file:
        assert file.read() == "content"
"""


def test_many_processes_make_it_once(path: Path, tmp_path: Path) -> None:
    """Eight processes need the file, one makes it, and nothing else is left."""
    log = tmp_path / "log"
    processes = [subprocess.Popen([sys.executable, "-c", MAKE, str(path), str(log)]) for _ in range(8)]
    until = time.monotonic() + 60
    assert [process.wait(max(until - time.monotonic(), 0)) for process in processes] == [0] * 8
    assert log.read_text() == "made\n"
    assert sorted(each.name for each in path.iterdir()) == ["a", "a" + DIGEST]
