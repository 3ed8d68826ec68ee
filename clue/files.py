"""Files at the edge of clue: opened only where they are what they should be, written whole or not at all.

An input is an ordinary file. A named pipe, a device or a socket that a path happens to name could keep clue waiting
for ever, or never end; it is refused before it is opened. The one exception are short texts (configurations, tables,
benchmarks' output) from a pipe that this process was given open: ``/dev/stdin`` and what a shell makes of ``<(…)``.

An output is written to a draft beside it, brought to the disk, and then put in its place. So whoever looks sees the old
file or the new one, and a full disk leaves neither half of one nor a draft. Folders on the way to it are made.

Readers raise ``OSError`` whose ``strerror`` ends a message of the form "file must be readable, got …".
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from clue.errors import OutputError
from clue.units import format_size

#: Most bytes of a text that is read whole: a configuration, a table, a benchmark's output.
LONGEST_TEXT = 64 * 10**6
#: What a process' own open files are called.
_OPEN_FILES = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")
#: What writing alone may end with.
_OF_WRITING = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO}
_KINDS = (
    (stat.S_ISDIR, "folder"),
    (stat.S_ISFIFO, "named pipe"),
    (stat.S_ISSOCK, "socket"),
    (stat.S_ISCHR, "device"),
    (stat.S_ISBLK, "device"),
)


def is_file(path: Path) -> bool:
    """Tell whether an ordinary file is at a path; no name is too odd to ask."""
    try:
        return _is_ordinary(path)
    except (OSError, ValueError):
        return False


def exists(path: Path) -> bool:
    """Tell whether anything is at a path; no name is too odd to ask."""
    return is_file(path) or bool(kind_of(path))


def kind_of(path: Path) -> str:
    """Return what is at a path that is no ordinary file, in a word or two; nothing where there is nothing."""
    try:
        return _kind(path.stat())
    except (OSError, ValueError):
        return ""


def is_readable(path: Path) -> bool:
    """Tell whether :func:`read_text` takes what is at a path: a file, or a pipe given to this process."""
    return is_file(path) or is_given(path)


def is_given(path: Path) -> bool:
    """Tell whether a path stands for a pipe that this process was given open: it lies in no folder."""
    try:
        return names_open_file(path) and stat.S_ISFIFO(path.stat().st_mode)
    except (OSError, ValueError):
        return False


def names_open_file(path: Path) -> bool:
    """Tell whether a path stands for an open file of this process, whatever that is: it says nothing of a folder."""
    return str(path).startswith(_OPEN_FILES)


def open_file(path: Path, *, most: int | None = None) -> BinaryIO:
    """Open an ordinary file for reading.

    Args:
        path: Its path.
        most: Bytes that it may have at most.

    Raises:
        OSError: If it is not there, is no ordinary file, is larger, or cannot be opened.
    """
    # A look before it is opened, because opening a device may do something, and one afterwards, as it may have changed.
    _check_ordinary(path.stat(), path)
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb")
    try:
        found = os.fstat(file.fileno())
        _check_ordinary(found, path)
        if most is not None:
            _check_size(found.st_size, most, path)
    except BaseException:
        file.close()
        raise
    return file


def read_bytes(path: Path, *, most: int) -> bytes:
    """Read an ordinary file of at most so many bytes.

    Raises:
        OSError: As :func:`open_file`.
    """
    with open_file(path, most=most) as file:
        content = file.read(most + 1)
    _check_size(len(content), most, path)
    return content


def read_text(path: Path, *, most: int = LONGEST_TEXT, errors: str = "strict") -> str:
    """Read a text in UTF-8, with or without a byte order mark, from a file or from a pipe given to this process.

    Raises:
        OSError: As :func:`open_file`.
        UnicodeDecodeError: If it is no text in UTF-8, and that is an error.
    """
    if is_given(path):
        with path.open("rb") as pipe:
            content = pipe.read(most + 1)
        _check_size(len(content), most, path)
    else:
        content = read_bytes(path, most=most)
    text = content.decode("utf-8-sig", errors)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _is_ordinary(path: Path) -> bool:
    return stat.S_ISREG(path.stat().st_mode)


def _check_ordinary(found: os.stat_result, path: Path) -> None:
    if kind := _kind(found):
        raise OSError(errno.EINVAL, f"a {kind}, which is no ordinary file", str(path))


def _kind(found: os.stat_result) -> str:
    return next((name for is_kind, name in _KINDS if is_kind(found.st_mode)), "")


def _check_size(size: int, most: int, path: Path) -> None:
    if size > most:
        told = f"{format_size(size)}, where {format_size(most)} are the most that is read"
        raise OSError(errno.EFBIG, told, str(path))


# --- writing ---


def make_room(path: Path) -> None:
    """Make the folders on the way to an output; to be called before time is spent on what will stand there.

    Raises:
        OSError: If they cannot be made, or something that is neither a file nor a folder has the place.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and not path.is_dir():
        _check_ordinary(path.stat(), path)


@contextmanager
def drafts(*paths: Path) -> Iterator[tuple[Path, ...]]:
    """Yield names to write files or folders under, which take the places of ``paths`` once all are written.

    What a link stands for is replaced, not the link; what is replaced hands on its permissions. Leaving with an
    exception removes what was written.

    Raises:
        OutputError: If one of them cannot be written. Errors of other files, which the block reads for instance, pass.
    """
    targets = [Path(os.path.realpath(path)) for path in paths]
    made = tuple(_beside(target, "part") for target in targets)
    within = False
    try:
        for target in targets:
            make_room(target)
        within = True
        yield made
        within = False
        for each, target in zip(made, targets, strict=True):
            _bring_to_disk(each)
            _copy_mode(target, each)
        for each, target in zip(made, targets, strict=True):
            _put(each, target)
    except OSError as error:
        place = _place_of(error, made, paths)
        if within and place is None:
            raise
        raise OutputError(f"{place or paths[0]}: output must be writable, got: {error.strerror or error}") from error
    finally:
        for each in made:
            remove(each)


def _place_of(error: OSError, made: Sequence[Path], paths: Sequence[Path]) -> Path | None:
    """Return the output that an error is about, by the name of its draft; a full disk does not say which file it is."""
    if error.filename is None:
        return paths[0] if error.errno in _OF_WRITING else None
    name = Path(os.fsdecode(error.filename)) if isinstance(error.filename, str | bytes) else Path()
    return next((path for each, path in zip(made, paths, strict=True) if name.is_relative_to(each)), None)


def _copy_mode(old: Path, new: Path) -> None:
    """Give what is new the permissions of what it takes the place of, if that is of its kind."""
    if old.exists() and old.is_dir() == new.is_dir():
        mode = stat.S_IMODE(old.stat().st_mode) & 0o777
        if mode != stat.S_IMODE(new.stat().st_mode):  # not every file system lets one
            new.chmod(mode)


def write_texts(texts: Mapping[Path, str]) -> None:
    """Write files in UTF-8, all of them or none.

    Raises:
        OutputError: If one of them cannot be written.
    """
    with drafts(*texts) as made:
        for draft, text in zip(made, texts.values(), strict=True):
            _write(draft, text.encode("utf-8", "backslashreplace"))


def _write(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError as error:  # a full disk does not say which file it is
        raise OSError(error.errno, error.strerror, str(path)) from None


def remove(path: Path) -> None:
    """Remove a file, or a folder with all that is in it, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    elif os.path.lexists(path):
        path.unlink()


def _beside(path: Path, ending: str) -> Path:
    """Return a name in the same folder that nobody can know beforehand, nor prepare."""
    return path.with_name(f".{path.name[:100]}.{os.urandom(6).hex()}.{ending}")


def _bring_to_disk(path: Path) -> None:
    for each in [*path.iterdir()] if path.is_dir() else [path]:
        descriptor = os.open(each, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _put(draft: Path, target: Path) -> None:
    """Put a draft in its place; a folder cannot be replaced in one step, so the old one steps aside."""
    if not target.exists() or not (draft.is_dir() or target.is_dir()):
        draft.replace(target)
        return
    old = _beside(target, "old")
    try:
        target.rename(old)
        draft.rename(target)
    finally:  # by whatever it was interrupted
        if not os.path.lexists(target):
            old.rename(target)
        else:
            remove(old)


def exchange(one: Path, other: Path) -> None:
    """Let two files or folders of one file system change places; an interrupt leaves each in one of the two."""
    aside = _beside(one, "old")
    try:
        one.rename(aside)
        other.rename(one)
    finally:  # forwards, or back
        if os.path.lexists(aside):
            aside.rename(other if os.path.lexists(one) else one)
