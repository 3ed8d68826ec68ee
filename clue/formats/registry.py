"""The formats of traces, machines and measurements that clue knows, one line each; modules are loaded when used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clue.errors import UsageError

if TYPE_CHECKING:
    from clue.formats.remarks import Converted, Written


class Kind(Enum):
    """The kind of content of a format."""

    TRACE = "a trace"
    MACHINE = "a machine"
    MEASUREMENTS = "measurements"


@dataclass(frozen=True, slots=True)
class Format:
    """A format of traces, machines or measurements.

    Attributes:
        name: Its name in options.
        title: Its description.
        suffixes: Suffixes of file names in this format.
        reader: The function of this package that reads it, as ``module.function``: it takes the path and returns a
            :class:`Converted`; ``""`` if clue does not read it.
        writer: The function that writes it: it takes the content and the file name and returns a :class:`Written`.
        read_with: Keyword arguments of the reader.
        write_with: Keyword arguments of the writer.
        kind: Its kind of content.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    reader: str = ""
    writer: str = ""
    read_with: frozenset[str] = frozenset()
    write_with: frozenset[str] = frozenset()
    kind: Kind = Kind.TRACE

    def read(self, path: Path, **options: object) -> Converted:
        """Read a trace; the reader has defaults for options that are not given, and ignores those that it does not use.

        Raises:
            UsageError: If clue does not read this format, or the file is malformed.
            TraceError: If it is a damaged trace in clue's format.
        """
        if not self.reader:
            raise UsageError(f"{path}: source must be one that clue reads, got {self.title}")
        found: Converted = _function(self.reader)(path, **_those(options, self.read_with))
        return found

    def write(self, subject: object, name: str, **options: object) -> Written:
        """Return the content in this format, with options as for reading.

        Raises:
            UsageError: If the format cannot represent the content.
        """
        written: Written = _function(self.writer)(subject, name, **_those(options, self.write_with))
        return written


def _function(name: str) -> Callable[..., Any]:
    module, _, function = name.rpartition(".")
    found: Callable[..., Any] = getattr(import_module(f"clue.formats.{module}"), function)
    return found


def _those(options: dict[str, object], names: frozenset[str]) -> dict[str, object]:
    return {name: value for name, value in options.items() if name in names and value is not None}


#: The format written by :meth:`clue.trace.Trace.save`.
OWN = Format("clue", "clue's folder (.clue) or compressed file (.clue.zip)", (".clue", ".zip"), "own.read_own")
FORMATS = (
    OWN,
    Format(
        "ti", "SimGrid's time-independent traces (.ti: a file that lists one per rank)", (".ti",),
        "ti_reading.read_ti", "ti_writing.write_ti",
        frozenset({"flops_per_second"}), frozenset({"flops_per_second", "lower", "library"}),
    ),
    Format(
        "goal", "GOAL schedules (.goal)", (".goal",),
        "goal_reading.read_goal", "goal_writing.write_goal", write_with=frozenset({"lower", "library"}),
    ),
    Format(
        "simgrid", "SimGrid's platform (.xml)", (".xml",),
        writer="platform.write_platform", write_with=frozenset({"flops_per_second"}), kind=Kind.MACHINE,
    ),
    Format(
        "extrap", "Extra-P's JSON Lines (.jsonl)", (".jsonl",), writer="extrap.write_extrap", kind=Kind.MEASUREMENTS,
    ),
)  # fmt: skip
BY_NAME = {form.name: form for form in FORMATS}
_BY_SUFFIX = {suffix: form for form in FORMATS for suffix in form.suffixes}


def format_of(path: Path) -> Format | None:
    """Return the format that a name implies; a folder is a trace in clue's format; ``None`` if it implies none."""
    return OWN if path.is_dir() else _BY_SUFFIX.get(path.suffix)
