"""An input is an ordinary file of reasonable size, or a pipe that this process has open."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from clue.files import exists, is_file, is_readable, kind_of, open_file, read_bytes, read_text


def pipe(path: Path) -> Path:
    """Make a named pipe without a writer, and return its path."""
    os.mkfifo(path)
    return path


def listening(path: Path) -> Path:
    """Make a socket, and return its path."""
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))
    return path


def test_named_pipes_sockets_devices_and_folders_are_refused(tmp_path: Path) -> None:
    """None of them is opened, as opening a pipe without a writer would block for ever."""
    found = {
        "named pipe": pipe(tmp_path / "pipe"),
        "socket": listening(tmp_path / "socket"),
        "device": Path("/dev/zero"),
        "folder": tmp_path,
    }
    for kind, path in found.items():
        with pytest.raises(OSError, match=f"a {kind}, which is no ordinary file"):
            open_file(path)
        assert (kind_of(path), is_file(path), is_readable(path), exists(path)) == (kind, False, False, True)


def test_links_are_followed(tmp_path: Path) -> None:
    """A link to a file is a file, a link to a device is a device, and a link to itself does not exist."""
    (tmp_path / "file").write_text("text")
    for name, target in (("good", "file"), ("bad", "/dev/zero"), ("loop", "loop")):
        (tmp_path / name).symlink_to(target)
    assert read_text(tmp_path / "good") == "text"
    with pytest.raises(OSError, match="a device"):
        read_text(tmp_path / "bad")
    assert not exists(tmp_path / "loop")


def test_sizes_are_bounded_before_anything_is_read(tmp_path: Path) -> None:
    """A sparse file of a terabyte is refused by its size alone."""
    with (tmp_path / "sparse").open("wb") as sparse:
        sparse.truncate(10**12)
    with pytest.raises(OSError, match=r"1 TB, where 64 MB are the most that is read"):
        read_text(tmp_path / "sparse")
    (tmp_path / "four").write_bytes(b"1234")
    assert read_bytes(tmp_path / "four", most=4) == b"1234"
    with pytest.raises(OSError, match="4 B, where 3 B"):
        read_bytes(tmp_path / "four", most=3)


@pytest.mark.parametrize("name", ["x" * 5000, "a/" * 3000, "null\0byte"])
def test_no_name_is_too_odd_to_ask(name: str) -> None:
    """A name that is too long, or has a NUL, does not exist."""
    assert not exists(Path(name))
    assert not is_readable(Path(name))


def test_pipes_given_to_this_process_are_texts() -> None:
    """A pipe that is open, as from a shell's ``<(…)``, is read as text; a closed one is not readable."""
    reading, writing = os.pipe()
    path = Path(f"/dev/fd/{reading}")
    os.write(writing, b"\xef\xbb\xbfa: \xc2\xb5\r\nb")
    os.close(writing)
    assert is_readable(path)
    assert read_text(path) == "a: µ\nb"
    os.close(reading)
    assert not is_readable(path)


def test_a_device_is_no_given_pipe() -> None:
    """A device such as ``/dev/null`` is not readable as an input."""
    assert not is_readable(Path("/dev/null"))
