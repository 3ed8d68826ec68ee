"""Plain values that remember where each one was written: file, line, column and path.

The rest of the configuration reader works on a :class:`Document`, whether it came from a YAML file, from a Python
mapping, or from one overlaid on the other: faults found later still point at the line that caused them. This module
is independent of machines and scenarios, and reads no files.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from os import PathLike, fspath

#: Keys and indices that lead from the top of a document to a value.
Path = tuple[object, ...]
#: Key that stands for any other region, in a table of regions.
DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value was written.

    Attributes:
        file: Its name as the user gave it; ``""`` for a value given in Python.
        line: Line, from 1; 0 if unknown.
        column: Column, from 1; 0 if unknown.
        path: The value's path within that file.
        key: Line and column of its key, if it has one; else those of the value.
    """

    file: str
    line: int
    column: int
    path: Path
    key: tuple[int, int] = (0, 0)

    def place(self, *, of_key: bool = False) -> str:
        """Return ``FILE:LINE:COLUMN``, as far as known."""
        line, column = self.key if of_key and self.key[0] else (self.line, self.column)
        return f"{self.file}:{line}:{column}" if line else self.file


@dataclass(frozen=True, slots=True)
class Document:
    """A tree of plain values (mappings, lists, text, numbers, booleans, null) and the origin of each.

    Attributes:
        value: The tree.
        origins: Origin of each value by its path from the top, which is ``()``.
    """

    value: object
    origins: Mapping[Path, Origin]

    @property
    def file(self) -> str:
        """The file that the top was written in."""
        return self.origins[()].file

    def at(self, *path: object) -> Document:
        """Return the part of the document under a path, which must exist."""
        depth = len(path)
        return Document(
            self.value_at(*path), {p[depth:]: origin for p, origin in self.origins.items() if p[:depth] == path}
        )

    def value_at(self, *path: object) -> object:
        """Return the value at a path, which must exist."""
        value = self.value
        for step in path:
            value = value[step]  # type: ignore[index]
        return value

    def without(self, *keys: str) -> Document:
        """Return the document without some of its top-level keys."""
        if not isinstance(self.value, dict):
            return self
        value = {key: item for key, item in self.value.items() if key not in keys}
        return Document(value, {p: o for p, o in self.origins.items() if not p or p[0] not in keys})

    def nearest(self, path: Path) -> tuple[Origin, Path]:
        """Return the origin of the deepest part of a path that exists, and the remaining steps."""
        for depth in range(len(path), 0, -1):
            origin = self.origins.get(path[:depth])
            if origin is not None:
                return origin, path[depth:]
        return self.origins[()], path

    @property
    def stated(self) -> Document:
        """The document without keys that are left empty (YAML's null), in mappings at any depth."""
        return Document(_stated(self.value), self.origins)

    def overlaid(self, overlay: Document, at: Path = ()) -> Document:
        """Return this document with another overlaid on it.

        Mappings merge key by key; anything else (text, numbers, lists) is replaced; a key given as ``null``
        is removed. Below ``with`` of an option a null stays, as it removes the key of the machine. A curve by points
        replaces one by line, and vice versa; contention of one model, or on one topology, replaces that of another; a
        part of the hardware library replaces the keys that it supplies. One value for all regions is the value of other
        regions where a table of regions is overlaid on it. Half a line, a latency or a bandwidth alone, is added to
        points: forms refuse a curve of both.

        Args:
            overlay: The other document.
            at: Path of both in the file of a machine, if they are parts of one.
        """
        origins = dict(self.origins)
        value = _overlay(self.value, overlay, (), origins, at)
        return Document(value, origins)

    def replaced(self, path: Path, part: Document) -> Document:
        """Return this document with the value at a path, whose parent exists, replaced by another document."""
        origins = dict(self.origins)
        _replace_origins(path, part, origins)
        return Document(_put(self.value, path, part.value), origins)


def _put(value: object, path: Path, item: object) -> object:
    if not path:
        return item
    if isinstance(value, dict):
        return value | {path[0]: _put(value.get(path[0]), path[1:], item)}
    assert isinstance(value, list)
    return [_put(below, path[1:], item) if i == path[0] else below for i, below in enumerate(value)]


def _stated(value: object) -> object:
    if not isinstance(value, dict):
        return value
    return {key: _stated(item) for key, item in value.items() if item is not None}


def _overlay(base: object, overlay: Document, path: Path, origins: dict[Path, Origin], at: Path) -> object:
    if isinstance(overlay.value, dict) and isinstance(base, int | float | str) and _is_by_region((*at, *path)):
        base, others = {DEFAULT: base}, (*path, DEFAULT)
        origins[others] = origins[path]
    if not _mergeable(base, overlay.value, (*at, *path)):
        _replace_origins(path, overlay, origins)
        return overlay.value
    assert isinstance(base, dict) and isinstance(overlay.value, dict)
    merged = dict(base)
    for key in _stood_for((*at, *path), overlay.value):
        merged.pop(key, None)
        _drop_origins((*path, key), origins)
    for key, item in overlay.value.items():
        if item is None and not _is_of_with((*at, *path)):
            merged.pop(key, None)
            _drop_origins((*path, key), origins)
        elif key in merged:
            merged[key] = _overlay(merged[key], overlay.at(key), (*path, key), origins, at)
        else:
            merged[key] = item
            _replace_origins((*path, key), overlay.at(key), origins)
    return merged


def _mergeable(base: object, overlay: object, path: Path) -> bool:
    """Tell whether two values are mappings of the same form."""
    if not isinstance(base, dict) or not isinstance(overlay, dict):
        return False
    if _is_contention(path):
        return _words(base) == _words(overlay)
    if path[-1:] == ("flows",) and _is_contention(path[:-1]):
        return overlay.get("topology", base.get("topology")) == base.get("topology")
    if "points" in overlay and overlay["points"] is None:
        return True
    # As a replacement of points, a latency alone would silently make all sizes equally fast.
    half_line = ("latency" in overlay) != ("bandwidth" in overlay)
    return _has_points(base) == _has_points(overlay) or (_has_points(base) and half_line)


def _has_points(table: dict[object, object]) -> bool:
    """Tell whether a mapping is a curve by points; criteria and workloads may have that name, too."""
    return isinstance(table.get("points"), list)


def _is_of_with(path: Path) -> bool:
    """Tell whether a mapping of a comparison has keys that differ from those of an option's machine."""
    return path[:1] == ("options",) and path[2:3] == ("with",)


def _is_contention(path: Path) -> bool:
    """Tell whether the value at a path is the contention of a network or a topology: users may give that name, too."""
    return path[-1:] == ("contention",) and (
        path[-2:-1] == ("network",) or path[-3:-2] in {("networks",), ("topologies",)}
    )


def _is_node_type(path: Path) -> bool:
    """Tell whether a mapping has the keys of a node type: one of a machine, or a node or a processor on offer."""
    return path[-2:-1] in {("node_types",), ("processors",)}


def _is_by_region(path: Path) -> bool:
    """Tell whether the value at a path is one for all regions, or a table of regions."""
    if _is_node_type(path[:-2]):
        return path[-2] == "memory_contention_factor"
    return _is_node_type(path[:-1]) and path[-1] == "performance_factor"


def _stood_for(path: Path, overlay: dict[object, object]) -> tuple[str, ...]:
    """Return the keys of the base that an overlaid part supplies."""
    if (path[-1:] == ("network",) or path[-2:-1] == ("networks",)) and overlay.get("part") is not None:
        return ("between_nodes", "loggops")
    if _is_node_type(path) and overlay.get("processor") is not None:
        return ("processors",)
    return ()


def _words(table: dict[object, object]) -> set[object]:
    return {key for key in table if isinstance(key, str)}


def _replace_origins(path: Path, part: Document, origins: dict[Path, Origin]) -> None:
    _drop_origins(path, origins)
    origins.update({path + below: origin for below, origin in part.origins.items()})


def _drop_origins(path: Path, origins: dict[Path, Origin]) -> None:
    for known in [p for p in origins if p[: len(path)] == path]:
        del origins[known]


def from_python(value: object, name: str = "") -> Document:
    """Return a document for a mapping given in Python; tuples become lists and paths text.

    Args:
        value: The mapping.
        name: Its name in messages, instead of a file.
    """
    plain = _plain(value)
    return Document(plain, {path: Origin(name, 0, 0, path) for path in _paths(plain, ())})


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {_plain(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, PathLike):
        return fspath(value)
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, Integral):
        return int(value)
    return float(value) if isinstance(value, Real) else value


def _paths(value: object, path: Path) -> Iterator[Path]:
    yield path
    for step, item in children(value):
        yield from _paths(item, (*path, step))


def children(value: object) -> Iterator[tuple[object, object]]:
    """Yield the keys or indices of a mapping or list with their items; yield nothing for other values."""
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        yield from enumerate(value)


def format_path(path: Path) -> str:
    """Format a path as messages show it: ``nodes[0].count``."""
    text = "".join(map(_format_step, path))
    return text.removeprefix(".")


def _format_step(step: object) -> str:
    if isinstance(step, bool):
        return f".{format_value(step)}"
    return f"[{step}]" if isinstance(step, int | float) else f".{step}"


def format_value(value: object) -> str:
    """Format a value in one short line, for the end of a message."""
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        return "a mapping" if value else "an empty mapping"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and not math.isfinite(value):
        return {math.inf: ".inf", -math.inf: "-.inf"}.get(value, ".nan")
    text = f'"{value}"' if isinstance(value, str) else repr(value)
    text = " ".join(text.split())
    return text if len(text) <= 80 else text[:77] + "..."
