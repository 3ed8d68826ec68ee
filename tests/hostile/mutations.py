"""Mutations of traces: their head, columns or files, with valid checksums, or their parts."""

from __future__ import annotations

import json
import os
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt

from clue.trace import Trace
from clue.trace.ops import COLUMNS, Op
from clue.trace.place import HEAD
from tests.kernel.random_cases import random_trace
from tests.trace.test_pack import RECV, SEND, leave, row

#: Replacements for any value; those that only text can express are in :data:`_TEXTS`.
_VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, -2, 2, 3, 7, 0.0, 0.5, 1.0, -1.5, 1e308, 2**15, 2**31 - 1, 2**31, 2**32, 2**53, 2**62,
    2**63 - 1, 2**63, -(2**63), 10**30, 10**400, "", "x", "0", "-1", "1e9", "\x1b[31mred\x1b[0m", "a\nb", "a\rb",
    "\u202eb", "\udcff", "\ud800", "\u0000", "µ×–", "名前", "$\\frac", "x" * 100_000, [], [0], [0, 0], [[0]], [None],
    ["a"], [0.0], [1, 0], [-1], [2**40], {}, {"a": 1}, {"0": 1.0}, {"-1": 1.0}, {"": ""}, {"0": "a"}, {"9": 1e300},
)  # fmt: skip
_TEXTS = (
    "NaN",
    "Infinity",
    "-Infinity",
    "1e999",
    "-0",
    "0.1e1",
    "[" * 100_000,
    '{"a":' * 100_000,
    "9" * 5000,
    "'a'",
    "",
)
_BYTES = (b"", b"\xef\xbb\xbf{}", b"\xff\xfe{\x00}\x00", b"null", b"[]", b"{", b"\xff\xff", b'{"format": "clue-trace"}')

Mutation = Callable[[Random, Path], str]


def mutated_trace(random: Random, folder: Path) -> tuple[Path, str]:
    """Write a mutated trace into a folder; return its path and a description of the mutation."""
    path = folder / "t.clue"
    write_trace(random_trace(random, ties=random.random() < 0.5), path)
    done = [random.choice(_MUTATIONS)(random, path) for _ in range(random.choice((1, 1, 1, 2, 3)))]
    if random.random() < 0.15:
        archive, what = zipped(random, path)
        return archive, "; ".join([*done, what])
    return path, "; ".join(done)


def write_trace(trace: Trace, path: Path) -> None:
    """Save a trace without waiting for the disk."""
    trace._write_folder(path, trace._head().to_json(path))


# -- the head ---------------------------------------------------------------------------------------------------------


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all values of a JSON document."""
    found = [path] if path else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, below in items:
        found += _places(below, (*path, step))
    return found


def _read(file: Path) -> tuple[dict[str, Any], bool]:
    """Return a JSON mapping, and whether the file still has one."""
    if not _is_small(file):
        return {}, False
    try:
        head = json.loads(file.read_bytes())
    except (ValueError, RecursionError, OSError):
        return {}, False
    return (head, True) if isinstance(head, dict) else ({}, False)


def _write(file: Path, text: str | bytes) -> None:
    file.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))


def _spoil_head(random: Random, path: Path) -> str:
    return _spoil_json(random, path / HEAD)


def _spoil_json(random: Random, file: Path) -> str:
    """Replace, remove, double or add a value in a document."""
    head, good = _read(file)
    if not good:
        return "no mapping left"
    places = _places(head)
    if not places:
        return "empty mapping"
    # Prefer keys near the top, which are few and matter most.
    place = random.choice([each for each in places if len(each) <= random.choice((1, 2, 3, 9))] or places)
    parent: Any = head
    for step in place[:-1]:
        parent = parent[step]
    way = random.randrange(8)
    what = ".".join(map(str, place))
    if way == 0:
        del parent[place[-1]]
        done = f"{what} removed"
    elif way == 1 and isinstance(parent, list):
        parent.insert(random.randrange(len(parent) + 1), random.choice(parent))
        done = f"{what} doubled"
    elif way == 2 and isinstance(parent, dict):
        parent["new"] = random.choice(_VALUES)
        done = f"key added beside {what}"
    elif way == 3:
        marker = "THE PLACE"
        parent[place[-1]] = marker
        text = random.choice(_TEXTS)
        _write(file, json.dumps(head).replace(f'"{marker}"', text))
        return f"{what} = {text[:20]}"
    elif way == 4 and isinstance(parent, dict):
        again = f"{json.dumps(place[-1])}: {json.dumps(random.choice(_VALUES))}, "
        _write(file, "{" + again + json.dumps(head)[1:])
        return f"{place[-1]} twice"
    elif way == 5 and isinstance(parent[place[-1]], int) and not isinstance(parent[place[-1]], bool):
        parent[place[-1]] += random.choice((-2, -1, 1, 2, 1000, 2**31, 2**63))
        done = f"{what} moved to {parent[place[-1]]}"
    else:
        parent[place[-1]] = random.choice(_VALUES)
        done = f"{what} = {str(parent[place[-1]])[:30]!r}"
    _write(file, json.dumps(head))
    return done


def _spoil_text(random: Random, path: Path) -> str:
    return _spoil_letters(random, path / HEAD)


def _spoil_letters(random: Random, file: Path) -> str:
    """Change the bytes of a file."""
    if not _is_small(file):
        return f"no {file.name} left"
    content = bytearray(file.read_bytes())
    way = random.randrange(4)
    if way == 0 or not content:
        new = random.choice(_BYTES)
        _write(file, new)
        return f"{file.name} is {new!r}"
    at = random.randrange(len(content))
    if way == 1:
        content[at] ^= 1 << random.randrange(8)
        done = f"bit of {file.name} at {at}"
    elif way == 2:
        del content[at:]
        done = f"{file.name} cut at {at}"
    else:
        new = random.choice(
            (b"\xef\xbb\xbf", b"\x00", b"\xc3", b"\xed\xa0\x80", b"\x1b[2J", b"}", b"[", b'"', b",", b"-")
        )
        content[at:at] = new
        done = f"{new!r} at {at} of {file.name}"
    _write(file, bytes(content))
    return done


# -- columns ----------------------------------------------------------------------------------------------------------

_NUMBERS = (0, 1, 2, 3, 7, -1, -2, -3, 64, 127, 255, 256, 1024, 2**15, 2**16 - 1, 2**24, 2**31 - 1, -(2**31), 2**40,
            2**53, 2**62, 2**63 - 1, -(2**63))  # fmt: skip


def _names() -> list[str]:
    return [*(name for name, _, _ in COLUMNS), "extras"]


def _load(path: Path, name: str) -> np.ndarray[Any, Any] | None:
    file = path / f"{name}.npy"
    if not _is_small(file):
        return None
    try:
        return np.array(np.load(file, allow_pickle=False))
    except Exception:  # it may be damaged already
        return None


def _store(path: Path, name: str, column: np.ndarray[Any, Any]) -> None:
    np.save(path / f"{name}.npy", column)
    head, good = _read(path / HEAD)
    if good and isinstance(head.get("checksums"), dict):
        head["checksums"][name] = zlib.crc32(np.ascontiguousarray(column).data) if column.size else 0
        _write(path / HEAD, json.dumps(head))


def _spoil_numbers(random: Random, path: Path) -> str:
    """Change entries of a column, and update its checksum."""
    name = random.choice(_names())
    column = _load(path, name)
    if column is None or not column.size or column.ndim != 1 or column.dtype.kind not in "iu":
        return f"{name} is not there"
    least, most = np.iinfo(column.dtype).min, np.iinfo(column.dtype).max
    at = [random.randrange(len(column)) for _ in range(random.choice((1, 1, 2, 5)))]
    if random.random() < 0.6:
        value = int(random.choice(column.tolist())) + random.choice((-1, 0, 0, 1))
    else:
        value = random.choice(_NUMBERS)
    if random.random() < 0.05:
        at = list(range(len(column)))
    column[at] = min(max(value, least), most)
    _store(path, name, column)
    return f"{name}{at[:5]} = {value}"


def _spoil_order(random: Random, path: Path) -> str:
    """Exchange two ops of the trace, in all or some columns."""
    op = _load(path, "op")
    if op is None or op.size < 2:
        return "no ops"
    a, b = random.sample(range(len(op)), 2)
    some = _names()[:-1] if random.random() < 0.6 else random.sample(_names()[:-1], 3)
    for name in some:
        column = _load(path, name)
        if column is not None and column.ndim == 1 and len(column) > max(a, b):
            column[a], column[b] = column[b].copy(), column[a].copy()
            _store(path, name, column)
    return f"ops {a} and {b} exchanged in {len(some)} columns"


def _spoil_shape(random: Random, path: Path) -> str:
    """Give a column another type or shape."""
    name = random.choice(_names())
    column = _load(path, name)
    if column is None:
        return f"{name} is not there"
    way = random.randrange(7)
    ways: dict[int, Callable[[], npt.NDArray[Any]]] = {
        0: lambda: column.astype("<f8"),
        1: lambda: column.astype(">i8"),
        2: lambda: column.reshape(-1, 1),
        3: lambda: column[:-1],
        4: lambda: np.append(column, column[-1:]),
        5: lambda: np.asfortranarray(np.stack([column, column])),
        6: lambda: column.astype("<i8"),
    }
    changed = ways[way]()
    _store(path, name, changed)
    return f"{name} is {changed.dtype}{changed.shape}"


def _spoil_header(random: Random, path: Path) -> str:
    """Rewrite the header of a numpy file."""
    name = random.choice(_names())
    column = _load(path, name)
    if column is None:
        return f"{name} is not there"
    header = random.choice((
        "{'descr': '|O', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<i8', 'fortran_order': False, 'shape': (1000000000000,)}",
        "{'descr': '<i8', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<i8', 'fortran_order': False, 'shape': (2**70,)}",
        "{'descr': '<i8', 'fortran_order': True, 'shape': (99999999999999999999999,)}",
        "{'descr': [('a', '<i8')], 'fortran_order': False, 'shape': (3,)}",
        "{'descr': '<i8', 'shape': (3,)}",
        "[" * 5000,
        "(" * 200,
        "__import__('os').system('true')",
        "{'descr': '<i8', 'fortran_order': False, 'shape': (1e3,)}",
        "{'descr': '<U1000000000', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '" + "x" * 40_000 + "', 'fortran_order': False, 'shape': (1,)}",
        "\x00" * 60,
        f"{{'descr': {column.dtype.str!r}, 'fortran_order': False, 'shape': ({len(column)},)}}" + " " * 50_000,
    )).encode()  # fmt: skip
    magic = random.choice(
        (b"\x93NUMPY\x01\x00", b"\x93NUMPY\x01\x00", b"\x93NUMPY\x02\x00", b"\x93NUMPY\x09\x00", b"PK\x03\x04")
    )
    length = struct.pack("<H" if magic.endswith(b"\x01\x00") else "<I", len(header))
    if random.random() < 0.1:
        length = struct.pack("<I", 2**32 - 1)
    (path / f"{name}.npy").write_bytes(magic + length + header + column.tobytes())
    return f"header of {name}: {header[:60]!r}"


def _spoil_bytes(random: Random, path: Path) -> str:
    """Cut or flip a column's file without updating its checksum."""
    file = path / f"{random.choice(_names())}.npy"
    if not _is_small(file):
        return f"{file.name} is not there"
    content = bytearray(file.read_bytes())
    at = random.randrange(len(content) + 1)
    if random.random() < 0.5:
        del content[at:]
    elif at < len(content):
        content[at] ^= random.randrange(1, 256)
    else:
        content += bytes(random.choice((1, 8, 1000)))
    file.write_bytes(content)
    return f"{file.name} changed at {at}"


def _spoil_files(random: Random, path: Path) -> str:
    """Replace a file by something else."""
    file = path / random.choice(("head.json", "head.json", *(f"{name}.npy" for name in _names())))
    way = random.randrange(6)
    if file.is_dir():
        return f"{file.name} is a folder"
    file.unlink(missing_ok=True)
    if way == 0:
        os.mkfifo(file)
    elif way == 1:
        file.mkdir()
    elif way == 2:
        file.symlink_to("/dev/zero")
    elif way == 3:
        file.symlink_to(file.name)
    elif way == 4:
        with file.open("wb") as sparse:
            sparse.truncate(1 << 40)
    return f"{file.name} is {('a pipe', 'a folder', '/dev/zero', 'a link to itself', 'a terabyte', 'gone')[way]}"


# -- archives ---------------------------------------------------------------------------------------------------------


def zipped(random: Random, path: Path) -> tuple[Path, str]:
    """Pack a trace's folder into an archive that is damaged in one way."""
    archive = path.with_name("t.clue.zip")
    way = random.choice(tuple(_ARCHIVES))
    files = {file.name: file.read_bytes() for file in sorted(path.glob("*.*")) if _is_small(file)}
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as target:
        _ARCHIVES[way](random, target, files)
    content = bytearray(archive.read_bytes())
    if way == "flip" and content:
        for _ in range(3):
            content[random.randrange(len(content))] ^= 1 << random.randrange(8)
    elif way == "cut":
        del content[random.randrange(len(content)) :]
    elif way == "claim":
        _claim(content, random.choice((0, 1, 10**9, 2**32 - 2)))
    elif way == "encrypted":
        _set_flag(content)
    archive.write_bytes(content)
    return archive, f"archive: {way}"


def _is_small(file: Path) -> bool:
    return file.is_file() and not file.is_symlink() and file.stat().st_size < 10**7


def _plain(_random: Random, target: zipfile.ZipFile, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        target.writestr(name, content)


def _renamed(prefix: str) -> Callable[[Random, zipfile.ZipFile, dict[str, bytes]], None]:
    def write(random: Random, target: zipfile.ZipFile, files: dict[str, bytes]) -> None:
        chosen = random.choice(sorted(files)) if files else ""
        for name, content in files.items():
            target.writestr(prefix + name if name == chosen else name, content)

    return write


def _doubled(random: Random, target: zipfile.ZipFile, files: dict[str, bytes]) -> None:
    import warnings  # noqa: PLC0415 - zipfile warns of what is done here on purpose

    _plain(random, target, files)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if files:
            name = random.choice(sorted(files))
            target.writestr(name, files[name][::-1])


def _bomb(random: Random, target: zipfile.ZipFile, files: dict[str, bytes]) -> None:
    chosen = random.choice(sorted(files)) if files else "head.json"
    for name, content in files.items():
        target.writestr(name, content + bytes(50_000_000) if name == chosen else content, compresslevel=1)


def _many(random: Random, target: zipfile.ZipFile, files: dict[str, bytes]) -> None:
    _plain(random, target, files)
    for i in range(3000):
        target.writestr(f"{i:05d}" * 20, b"")


def _linked(random: Random, target: zipfile.ZipFile, files: dict[str, bytes]) -> None:
    chosen = random.choice(sorted(files)) if files else ""
    for name, content in files.items():
        info = zipfile.ZipInfo(name)
        if name == chosen:
            info.external_attr = 0o120777 << 16
        target.writestr(info, b"/etc/passwd" if name == chosen else content)


def _method(method: int) -> Callable[[Random, zipfile.ZipFile, dict[str, bytes]], None]:
    def write(_random: Random, target: zipfile.ZipFile, files: dict[str, bytes]) -> None:
        for name, content in files.items():
            target.writestr(name, content, method)

    return write


_ARCHIVES: dict[str, Callable[[Random, zipfile.ZipFile, dict[str, bytes]], None]] = {
    **dict.fromkeys(("plain", "flip", "cut", "claim", "encrypted"), _plain),
    "nested": _renamed("t.clue/"),
    "upwards": _renamed("../"),
    "absolute": _renamed("/tmp/"),
    "doubled": _doubled,
    "bomb": _bomb,
    "many": _many,
    "linked": _linked,
    "bzip2": _method(zipfile.ZIP_BZIP2),
    "stored": _method(zipfile.ZIP_STORED),
}


def _claim(content: bytearray, size: int) -> None:
    """Set the unpacked size in the directory's last entry."""
    at = content.rfind(b"PK\x01\x02")
    if at >= 0:
        content[at + 24 : at + 28] = struct.pack("<I", size)


def _set_flag(content: bytearray) -> None:
    at = content.rfind(b"PK\x01\x02")
    if at >= 0:
        content[at + 8] |= 1


_MUTATIONS: tuple[Mutation, ...] = (
    *(_spoil_head,) * 8,
    *(_spoil_numbers,) * 8,
    *(_spoil_order,) * 3,
    _spoil_text,
    _spoil_shape,
    _spoil_header,
    _spoil_bytes,
    _spoil_files,
)


# -- parts ------------------------------------------------------------------------------------------------------------


def mutated_parts(random: Random, folder: Path) -> tuple[Path, str]:
    """Write the mutated parts of recorded ranks into a folder; return its path and a description of the mutation."""
    path = folder / "t.clue"
    reading = {"begin": 5.0, "end": 6.0, "cores": [0, 1], "busy": 1.5, "cpu": 0.5, "waited": 0.2}
    imports = {"modules": {"/home/a/b.py": "d1"}, "packages": {"numpy": "/usr/lib/numpy"}}
    further: dict[str, Any] = {
        "computer": reading,
        "imports": imports,
        "sockets": [[":80"], [":81"]],
        "flops": {"1": 1e9},
    }
    compute = row(Op.COMPUTE, "", cpu=10**7, region=1)
    leave(path, 0, [compute, SEND, row(Op.BARRIER, "Barrier")], **further)
    leave(path, 1, [compute, RECV, row(Op.BARRIER, "Barrier")], **further)
    files = sorted((path / "parts").iterdir())
    done = []
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        file = random.choice(files)
        spoil = random.choice((_spoil_json, _spoil_json, _spoil_letters)) if file.suffix == ".json" else _spoil_part
        done.append(f"{file.name}: {spoil(random, file)}")
    return path, "; ".join(done)


def _spoil_part(random: Random, file: Path) -> str:
    """Replace a byte, or the whole file."""
    content = bytearray(file.read_bytes()) if _is_small(file) else b""
    if isinstance(content, bytearray) and content and random.random() < 0.8:
        at = random.randrange(len(content))
        content[at] = random.choice((0, 1, 2, 127, 255))
        file.write_bytes(content)
        return f"byte {at} = {content[at]}"
    file.unlink(missing_ok=True)
    way = random.choice(("gone", "a pipe", "cut", "long"))
    if way == "a pipe":
        os.mkfifo(file)
    elif way != "gone":
        file.write_bytes(bytes(content[:-5]) if way == "cut" else bytes(content) + b"\1" * 6400)
    return way
