"""Input and output files: only files of the expected kind are opened, and outputs are written atomically.

An input is a regular file. A named pipe, a device or a socket could keep clue waiting for ever, or never end; it is
refused before it is opened. The only exception: short texts (configurations, tables, benchmarks' output) may come from
a pipe that this process inherited open, ``/dev/stdin`` or the shell's ``<(…)``.

An output is written to a draft in the same folder, synced to disk, and renamed. So readers see the old file or the new
one, and a full disk leaves neither a partial file nor a draft. Missing parent folders are created.

Readers raise ``OSError`` whose ``strerror`` ends a message of the form "file must be readable, got …".
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import BinaryIO

from clue.errors import OutputError
from clue.units import format_size

#: Maximum size of a text that is read whole (a configuration, a table, a benchmark's output), bytes.
LONGEST_TEXT = 64 * 10**6
#: Path prefixes of a process's own open files.
_OPEN_FILES = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")
#: Error numbers that only writing can raise.
_OF_WRITING = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO}
_KINDS = (
    (stat.S_ISDIR, "folder"),
    (stat.S_ISFIFO, "named pipe"),
    (stat.S_ISSOCK, "socket"),
    (stat.S_ISCHR, "device"),
    (stat.S_ISBLK, "device"),
)
#: Files opened in the block of :func:`noted`; ``None`` outside of one.
_noted: ContextVar[set[Path] | None] = ContextVar("noted", default=None)


def is_file(path: Path) -> bool:
    """Tell whether a path is a regular file; any name is allowed."""
    try:
        return _is_ordinary(path)
    except (OSError, ValueError):
        return False


def exists(path: Path) -> bool:
    """Tell whether a path exists; any name is allowed."""
    return is_file(path) or bool(kind_of(path))


def kind_of(path: Path) -> str:
    """Return the kind of a path that is not a regular file, in a word or two; ``""`` if it does not exist."""
    try:
        return _kind(path.stat())
    except (OSError, ValueError):
        return ""


def is_readable(path: Path) -> bool:
    """Tell whether :func:`read_text` accepts a path: a file, or an inherited pipe."""
    return is_file(path) or is_given(path)


def is_given(path: Path) -> bool:
    """Tell whether a path stands for a pipe that this process inherited open; such a path has no real folder."""
    try:
        return names_open_file(path) and stat.S_ISFIFO(path.stat().st_mode)
    except (OSError, ValueError):
        return False


def names_open_file(path: Path) -> bool:
    """Tell whether a path stands for an open file of this process, of any kind; such a path has no real folder."""
    return str(path).startswith(_OPEN_FILES)


def open_file(path: Path, *, most: int | None = None) -> BinaryIO:
    """Open a regular file for reading.

    Args:
        path: Its path.
        most: Maximum size, bytes.

    Raises:
        OSError: If it does not exist, is not a regular file, is larger, or cannot be opened.
    """
    # Checked before opening, because opening a device may have effects, and afterwards, as it may have changed.
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
    if (opened := _noted.get()) is not None:
        opened.add(path)
    return file


@contextmanager
def noted() -> Iterator[set[Path]]:
    """Yield a set that gets the path of each file opened in the block: a configuration, and the files that it names."""
    opened: set[Path] = set()
    before = _noted.set(opened)
    try:
        yield opened
    finally:
        _noted.reset(before)


def read_bytes(path: Path, *, most: int) -> bytes:
    """Read a regular file of at most ``most`` bytes.

    Raises:
        OSError: As :func:`open_file`.
    """
    with open_file(path, most=most) as file:
        content = file.read(most + 1)
    _check_size(len(content), most, path)
    return content


def read_text(path: Path, *, most: int = LONGEST_TEXT, errors: str = "strict") -> str:
    """Read a UTF-8 text, with or without a byte order mark, from a file or from an inherited pipe.

    Raises:
        OSError: As :func:`open_file`.
        UnicodeDecodeError: If it is not valid UTF-8 and ``errors`` is strict.
    """
    if is_given(path):
        with path.open("rb") as pipe:
            content = pipe.read(most + 1)
        _check_size(len(content), most, path)
    else:
        content = read_bytes(path, most=most)
    text = content.decode("utf-8-sig", errors)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def not_text(error: UnicodeDecodeError) -> str:
    """Return what :func:`read_text` could not decode, for messages: ``LINE:COLUMN: file must be UTF-8 text, got …``."""
    before = error.object[: error.start].decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n")
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    return f"{line}:{column}: file must be UTF-8 text, got byte 0x{error.object[error.start]:02X}"


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


def overwritten(path: Path, read: Iterable[str | Path]) -> str | Path | None:
    """Return the first of the files and folders read that writing to a path would change; ``None`` if there is none."""
    real = Path(os.path.realpath(path))
    folders = [each for each in real.parents if kind_of(each) == "folder"]
    places = [real, *folders] if exists(real) else folders
    for one in read:
        with suppress(OSError, ValueError):  # it does not exist: a later reader says so
            if any(Path(one).samefile(each) for each in places):
                return one
    return None


def make_room(path: Path) -> None:
    """Make the parent folders of an output; to be called before time is spent on computing it.

    Raises:
        OSError: If they cannot be made, the output's path is neither a file nor a folder, or no file can have its name.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileNotFoundError):
        found = path.stat()
        if not stat.S_ISDIR(found.st_mode):
            _check_ordinary(found, path)


@contextmanager
def drafts(*paths: Path) -> Iterator[tuple[Path, ...]]:
    """Yield draft names for files or folders, which replace ``paths`` once all are written.

    The target of a symbolic link is replaced, not the link; permissions of replaced files are kept. An exception in the
    block removes the drafts.

    Raises:
        OutputError: If one of them cannot be written. Errors of other files, for instance inputs of the block,
            propagate.
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
    """Return the output that an error is about, by the name of its draft; on a full disk an error names no file."""
    if error.filename is None:
        return paths[0] if error.errno in _OF_WRITING else None
    name = Path(os.fsdecode(error.filename)) if isinstance(error.filename, str | bytes) else Path()
    return next((path for each, path in zip(made, paths, strict=True) if name.is_relative_to(each)), None)


def _copy_mode(old: Path, new: Path) -> None:
    """Copy the permissions of a replaced file to the new one, if both are of one kind."""
    if old.exists() and old.is_dir() == new.is_dir():
        mode = stat.S_IMODE(old.stat().st_mode) & 0o777
        if mode != stat.S_IMODE(new.stat().st_mode):  # not every file system allows it
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
    except OSError as error:  # on a full disk an error names no file
        raise OSError(error.errno, error.strerror, str(path)) from None


def remove(path: Path) -> None:
    """Remove a file, or a folder with its contents, if it exists."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    elif os.path.lexists(path):
        path.unlink()


def _beside(path: Path, ending: str) -> Path:
    """Return an unpredictable name in the same folder; a name has at most 255 bytes, and a letter up to four."""
    return path.with_name(f".{path.name[:50]}.{os.urandom(6).hex()}.{ending}")


def _bring_to_disk(path: Path) -> None:
    for each in [*path.iterdir()] if path.is_dir() else [path]:
        descriptor = os.open(each, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _put(draft: Path, target: Path) -> None:
    """Move a draft to its place; a folder cannot be replaced in one step, so the old one is moved away first."""
    if not target.exists() or not (draft.is_dir() or target.is_dir()):
        draft.replace(target)
        return
    old = _beside(target, "old")
    try:
        target.rename(old)
        draft.rename(target)
    finally:  # after any interrupt, too
        if not os.path.lexists(target):
            old.rename(target)
        else:
            remove(old)


def exchange(one: Path, other: Path) -> None:
    """Swap two files or folders of one file system; an interrupt leaves each in one of the two places."""
    aside = _beside(one, "old")
    try:
        one.rename(aside)
        other.rename(one)
    finally:  # completes the swap, or undoes it
        if os.path.lexists(aside):
            aside.rename(other if os.path.lexists(one) else one)
