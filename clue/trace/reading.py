"""Opens untrusted traces: only data that the head has announced are read, mapped or unpacked.

A head is bounded in size and checked first (:mod:`clue.trace.head`). It says how long every column is, so a file that
claims another type or length is refused before its data are touched. Examples are pickled objects, headers that
announce terabytes, and members of an archive that unpack to more than announced. Files must be regular files
(:mod:`clue.files`). Checksums and the validity of every number (:mod:`clue.trace.meaning`) are checked last.
"""

from __future__ import annotations

import io
import re
import stat
import struct
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from clue.errors import TraceError
from clue.files import open_file, read_bytes
from clue.garbage import no_search_for_garbage
from clue.trace.columns import LARGEST_ARCHIVE, Ops, checksum
from clue.trace.head import LONGEST_HEAD, Head
from clue.trace.meaning import check_beside, check_head, check_rows
from clue.trace.ops import BESIDE, COLUMNS
from clue.trace.pieces import ENTRIES
from clue.trace.place import HEAD
from clue.units import format_size

#: Suffixes of traces of other simulators that ``clue convert`` reads.
_CONVERTIBLE = {".goal", ".ti"}
#: Beginning of a numpy file: magic number, version and length of the header.
_MAGIC = struct.Struct("<8sH")
_HEADER = re.compile(
    rb"\{ *'descr': *'([<|]\w\d+)', *'fortran_order': *(?:False|True), *'shape': *\((\d{1,15}),\),? *\} *\n"
)
#: Longest header of a numpy file, bytes: far more than any writer needs.
_LONGEST_HEADER = 1024
#: Size of the steps in which a member of an archive is unpacked, bytes; largest single read, bytes, which only an
#: overlong directory exceeds.
_CHUNK, _LONGEST_READ = 1 << 20, 1 << 22
#: Number of characters of a name that a message shows.
_SHOWN = 60
_ENCRYPTED = 1
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
#: Type of each column.
_KINDS = {name: np.dtype(kind) for name, kind, _ in COLUMNS} | {"extras": np.dtype("<i8")}

_Column = npt.NDArray[Any]
#: Head, ops, and the optional columns beside them.
_Content = tuple[Head, Ops, dict[str, _Column]]
#: Returns the column of a name, type and length; may raise any exception.
_Fetch = Callable[[str, np.dtype[Any], int], _Column]


def read_trace(path: Path) -> _Content:
    """Return the head and the ops of a trace, checked, and the optional columns beside them by name.

    Raises:
        TraceError: If it is missing, of another version, incomplete, truncated or damaged.
    """
    try:
        with no_search_for_garbage():  # the head of thousands of ranks has no garbage
            return _read(path)
    except FileNotFoundError:
        raise TraceError(f"{path}: trace must exist, got no such file or folder") from None
    except (OSError, ValueError) as error:
        raise TraceError(f"{path}: trace must be readable, got {_why(error)}") from None


def _read(path: Path) -> _Content:
    if path.is_dir():
        return _read_folder(path)
    with open_file(path) as file:
        if not zipfile.is_zipfile(file):
            raise TraceError(f"{path}: trace must be a folder or a .zip of one, got {_other_kind(path)}")
        return _read_archive(path, file)


def _other_kind(path: Path) -> str:
    """Describe a file that is not a trace; one in the format of another simulator can be converted."""
    if path.suffix in _CONVERTIBLE:
        return f"one of another simulator: convert it, clue convert {path} {path.with_suffix('.clue')}"
    return "another kind of file"


def _why(error: Exception) -> object:
    return (isinstance(error, OSError) and error.strerror) or error


def _checked(path: Path, head: Head, fetch: _Fetch) -> _Content:
    """Return a head with its ops, whose columns are fetched as the head announces them."""
    check_head(head, f"{path}/{HEAD}")
    columns = {}
    for name, (kind, length) in _announced(head).items():
        columns[name] = column = fetch(name, kind, length)
        if checksum(column) != head.checksums.get(name):
            raise TraceError(f"{path}/{name}.npy: checksum must be that of the head: the trace is damaged")
    nowhere = {} if "site" in columns else {"site": np.zeros(head.offsets[-1], _KINDS["site"])}
    ops = Ops(**nowhere, **{name: columns.pop(name) for name in _KINDS if name in columns})
    check_rows(head, ops, path)
    for name, column in columns.items():
        check_beside(head, name, column, path)
    return head, ops, columns


def _announced(head: Head) -> dict[str, tuple[np.dtype[Any], int]]:
    """Return type and length of each column that a head announces."""
    rows = head.offsets[-1]
    columns = {name: (kind, head.extra_offsets[-1] if name == "extras" else rows) for name, kind in _KINDS.items()}
    if len(head.sites) == 1:
        del columns["site"]
    if head.probe is not None:
        columns["readings"] = (np.dtype("<i8"), ENTRIES * head.probe.offsets[-1])
    if head.typical is not None:
        columns["typical"] = (np.dtype("<i8"), rows)
    return columns


# --- folders ---


def _read_folder(folder: Path) -> _Content:
    file = folder / HEAD
    if not file.exists():
        from clue.trace.parts.reading import describe_incomplete  # noqa: PLC0415 - only for the message

        raise TraceError(describe_incomplete(folder))
    try:
        content = read_bytes(file, most=LONGEST_HEAD)
    except OSError as error:
        raise TraceError(f"{file}: head must be readable, got {_why(error)}") from None
    return _checked(folder, Head.from_json(content, file), lambda *column: _mapped(folder, *column))


def _mapped(folder: Path, name: str, kind: np.dtype[Any], length: int) -> _Column:
    path = folder / f"{name}.npy"
    try:
        with open_file(path) as file:
            _pass_header(file, kind, length)
            _check_length(file, kind.itemsize * length)
            if length == 0:  # an empty file cannot be mapped
                return np.zeros(0, kind)
            # As a plain array: the overhead of memmap objects exceeds many checks of their parts.
            return np.memmap(file, kind, "r", file.tell(), (length,)).view(np.ndarray)
    except (OSError, ValueError) as error:
        raise TraceError(f"{path}: column must be a readable numpy file, got {_why(error)}") from None


def _check_length(file: BinaryIO, expected: int) -> None:
    begin = file.tell()
    rest = file.seek(0, io.SEEK_END) - begin
    file.seek(begin)
    if rest != expected:
        raise ValueError(f"{rest} bytes of data where there must be {expected}: the trace is truncated or damaged")


def _pass_header(file: BinaryIO, kind: np.dtype[Any], length: int) -> None:
    """Read the header of a numpy file up to its data; numpy itself would evaluate the header as Python.

    Raises:
        ValueError: If it is not a header, or one of another type or shape.
    """
    begin = file.read(_MAGIC.size)
    magic, size = _MAGIC.unpack(begin) if len(begin) == _MAGIC.size else (b"", 0)
    if magic != b"\x93NUMPY\x01\x00":
        raise ValueError(f"one that begins with {begin!r}")
    found = _HEADER.fullmatch(file.read(size)) if size <= _LONGEST_HEADER else None
    if found is None:
        raise ValueError("a header of another form than that of one column")
    got_kind, got_length = found[1].decode(), int(found[2])
    if (got_kind, got_length) != (kind.str, length):
        raise ValueError(
            f"{got_length} entries of type {got_kind} where there must be {length} of type {kind.str}: the trace is "
            "truncated or damaged"
        )


# --- archives ---


class _Bounded:
    """A file that limits the size of a single read: only an endless archive directory asks for more."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._end = file.seek(0, io.SEEK_END)

    def read(self, size: int = -1) -> bytes:
        wanted = size if size >= 0 else self._end - self._file.tell()
        if wanted > _LONGEST_READ:
            raise ValueError("a directory far longer than that of a trace")
        return self._file.read(wanted)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def _read_archive(path: Path, file: BinaryIO) -> _Content:
    try:
        with zipfile.ZipFile(_Bounded(file)) as archive:
            members = _members(archive.infolist())
            content = _unpacked(archive, members[HEAD], LONGEST_HEAD)
            head = Head.from_json(content, f"{path}/{HEAD}")
            return _checked(path, head, lambda name, *kind: _column(archive, members[f"{name}.npy"], *kind))
    except (TraceError, MemoryError):
        raise
    except Exception as error:  # damaged bytes can raise any exception there
        raise TraceError(f"{path}: archive must hold a whole trace, got {error}") from None


def _members(listed: Sequence[zipfile.ZipInfo]) -> dict[str, zipfile.ZipInfo]:
    """Return the members of an archive by name; they must be those of a trace, without any others.

    Raises:
        ValueError: If they are not.
    """
    names = [member.filename for member in listed]
    expected = [HEAD, *(f"{name}.npy" for name in _KINDS if name != "site")]
    possible = [f"{name}.npy" for name in ("site", *BESIDE)]
    for name in names:
        if name not in (*expected, *possible):
            raise ValueError(f"a member {name[:_SHOWN]!a}, which is not part of a trace")
    for name in (*expected, *possible):
        if names.count(name) > 1 or (name in expected and name not in names):
            raise ValueError(f"{names.count(name)} members {name}")
    for member in listed:
        _check_member(member)
    together = sum(member.file_size for member in listed)
    if together > LARGEST_ARCHIVE:
        raise ValueError(f"{format_size(together)}, but clue unpacks at most {format_size(LARGEST_ARCHIVE)}")
    return {member.filename: member for member in listed}


def _check_member(member: zipfile.ZipInfo) -> None:
    kind = stat.S_IFMT(member.external_attr >> 16)
    for wrong, what in (
        (member.flag_bits & _ENCRYPTED, "is encrypted"),
        (kind not in {0, stat.S_IFREG}, "is no ordinary file"),
        (member.compress_type not in _METHODS, "is compressed by another method than deflation"),
    ):
        if wrong:
            raise ValueError(f"a member {member.filename} that {what}")


def _column(archive: zipfile.ZipFile, member: zipfile.ZipInfo, kind: np.dtype[Any], length: int) -> _Column:
    size = kind.itemsize * length
    content = _unpacked(archive, member, size + _MAGIC.size + _LONGEST_HEADER)
    file = io.BytesIO(content)
    try:
        _pass_header(file, kind, length)
        _check_length(file, size)
    except ValueError as error:
        raise ValueError(f"a column {member.filename} that is no readable numpy file: {error}") from None
    return np.frombuffer(content, kind, length, file.tell())


def _unpacked(archive: zipfile.ZipFile, member: zipfile.ZipInfo, most: int) -> bytes:
    """Return the bytes of a member, which must not exceed ``most``."""
    if member.file_size > most:
        raise ValueError(f"a member {member.filename} of {member.file_size} bytes, where there are at most {most}")
    with archive.open(member) as stream:
        return b"".join(iter(lambda: stream.read(_CHUNK), b""))
