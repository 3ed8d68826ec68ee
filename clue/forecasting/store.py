"""Store of measured routines: one sqlite file, by host and by version of the library.

It keeps measurements, not fits: points, the polynomial of memory, and the cuts of ranges. So a better method of fitting
needs no further measurements. It also keeps the last figures of hosts and links, with the time of each.

A store may come from anybody, and measurements from any host: both are read by :meth:`Measured.of`, which accepts only
what clue writes. A store of another version, or with other tables, views or triggers, is refused and left as it is.
"""

from __future__ import annotations

import json
import re
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from clue.errors import StoreError
from clue.files import is_file, kind_of, make_room
from clue.forecasting.measuring import Point
from clue.forecasting.memory import DEGREE, Memory
from clue.forecasting.routines import LARGEST_SIZE, MOST_SIZES, Routine
from clue.forecasting.segments import Cut, Segments, fitted
from clue.forecasting.values import number, parsed, text, whole
from clue.xdg import user_folder

#: Application id that distinguishes a store from other sqlite files ("clue"), and version of its tables.
APPLICATION, VERSION = 0x636C7565, 2
#: Plausible range of measured times, s, and maximum number of runs.
_SHORTEST, _LONGEST, _MOST_RUNS = 1e-12, 1e9, 10**9
#: Largest number of points of a routine, depth of its cuts, and seconds since 1970.
_MOST_POINTS, _DEEPEST, _LATEST = 10**4, 100, 1e12
#: Largest error of its memory, bytes; a coefficient of its memory, with digits that a float has room for.
_MOST_OFF, _COEFFICIENT = 2**63, re.compile(r"-?\d{1,150}(?:/0*[1-9]\d{0,149})?")
#: Timeout for a store locked by another process, s.
_PATIENCE = 30.0
_TABLES = """
CREATE TABLE routine (
    id INTEGER PRIMARY KEY, host TEXT NOT NULL, name TEXT NOT NULL, library TEXT NOT NULL, processor TEXT NOT NULL,
    parameters TEXT NOT NULL, memory TEXT NOT NULL, cut TEXT NOT NULL, error REAL, measured REAL NOT NULL,
    UNIQUE (host, name, library));
CREATE TABLE point (
    routine INTEGER NOT NULL REFERENCES routine, sizes TEXT NOT NULL, seconds REAL NOT NULL, runs INTEGER NOT NULL);
CREATE TABLE figure (name TEXT PRIMARY KEY, value TEXT NOT NULL, measured REAL NOT NULL);
"""


@dataclass(frozen=True, slots=True)
class Measured:
    """A routine as it was measured on a host.

    Attributes:
        routine: The routine, with the version of its library.
        host: Host that it was measured on.
        processor: Processor model of that host.
        memory: Memory of its data.
        points: Measured points.
        cut: Cut of its ranges.
        error: Mean relative error of predictions for points before they were measured; ``None``: no predictions.
        measured: Time of measurement, seconds since 1970.
    """

    routine: Routine
    host: str
    processor: str
    memory: Memory
    points: tuple[Point, ...]
    cut: Cut | None
    error: float | None
    measured: float

    def fit(self) -> Segments:
        """Return the fitted times.

        Raises:
            ModelError: If there are no points.
        """
        return fitted(self.routine.parameters, self.routine.terms, self.points, self.cut)

    def document(self) -> dict[str, object]:
        """Return it as JSON, for another host."""
        return {
            "name": self.routine.name, "library": self.routine.library, "parameters": list(self.routine.parameters),
            "host": self.host, "processor": self.processor, "memory": memory_document(self.memory),
            "points": [asdict(point) for point in self.points], "cut": cut_document(self.cut), "error": self.error,
            "measured": self.measured,
        }  # fmt: skip

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Measured:
        """Return the measurement that a document describes.

        Raises:
            ValueError: If the document is invalid; KeyError and TypeError likewise.
        """
        parameters = tuple(text("parameter", each) for each in document["parameters"])
        if not 1 <= len(parameters) <= MOST_SIZES or len(set(parameters)) < len(parameters):
            raise ValueError(f"parameters must be 1 to {MOST_SIZES} different names, got {', '.join(parameters)[:60]}")
        stated = document["points"]
        if not 1 <= len(stated) <= _MOST_POINTS:
            raise ValueError(f"points must be 1 to {_MOST_POINTS:,}, got {len(stated):,}")
        points = tuple(_point(each["sizes"], each["seconds"], each["runs"], len(parameters)) for each in stated)
        error = document["error"]
        return cls(
            Routine(text("name", document["name"]), parameters, text("library", document["library"])),
            text("host", document["host"]), text("processor", document["processor"]),
            memory_of(document["memory"], parameters), points, cut_of(document["cut"], len(parameters)),
            None if error is None else number("error", error, 0, float("inf")),
            number("measured", document["measured"], 0, _LATEST),
        )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Store:
    """An open store."""

    path: Path
    _connection: sqlite3.Connection

    def keep(self, measured: Measured) -> None:
        """Store a routine, replacing its earlier measurement on the same host with the same library."""
        key = (measured.host, measured.routine.name, measured.routine.library)
        with told(self.path), self._connection as connection:
            connection.execute(
                "INSERT INTO routine (host, name, library, processor, parameters, memory, cut, error, measured) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (host, name, library) DO UPDATE SET "
                "processor = excluded.processor, parameters = excluded.parameters, memory = excluded.memory, "
                "cut = excluded.cut, error = excluded.error, measured = excluded.measured",
                (*key, measured.processor, json.dumps(measured.routine.parameters),
                 json.dumps(memory_document(measured.memory)), json.dumps(cut_document(measured.cut)),
                 measured.error, measured.measured),
            )  # fmt: skip
            row = connection.execute("SELECT id FROM routine WHERE host = ? AND name = ? AND library = ?", key)
            (number,) = row.fetchone()
            connection.execute("DELETE FROM point WHERE routine = ?", (number,))
            connection.executemany(
                "INSERT INTO point VALUES (?, ?, ?, ?)",
                [(number, json.dumps(point.sizes), point.seconds, point.runs) for point in measured.points],
            )

    def find(self, host: str, name: str, library: str | None = None) -> Measured | None:
        """Return the measurement of a routine on a host: with a given library, or the latest with any."""
        with told(self.path):
            row = self._connection.execute(
                "SELECT id, library, processor, parameters, memory, cut, error, measured FROM routine "
                "WHERE host = ? AND name = ? AND (? IS NULL OR library = ?) ORDER BY measured DESC, id DESC LIMIT 1",
                (host, name, library, library),
            ).fetchone()  # fmt: skip
            if row is None:
                return None
            key, library, processor, parameters, memory, cut, error, measured = row
            # A point more than is allowed, so that a store with too many is refused.
            rows = self._connection.execute(
                "SELECT sizes, seconds, runs FROM point WHERE routine = ? LIMIT ?", (key, _MOST_POINTS + 1)
            )
            points = [{"sizes": parsed(sizes), "seconds": seconds, "runs": runs} for sizes, seconds, runs in rows]
            return Measured.of({
                "name": name, "library": library, "parameters": parsed(parameters), "host": host,
                "processor": processor, "memory": parsed(memory), "points": points, "cut": parsed(cut), "error": error,
                "measured": measured,
            })  # fmt: skip

    def measured(self, host: str, name: str) -> float | None:
        """Return when a routine was last measured on a host, seconds since 1970; ``None``: never."""
        with told(self.path):
            row = self._connection.execute(
                "SELECT max(measured) FROM routine WHERE host = ? AND name = ?", (host, name)
            ).fetchone()
        latest: float | None = row[0]
        return latest

    def routines(self, host: str | None = None) -> list[tuple[str, str, str, int, float]]:
        """Return all routines: host, name, library, number of points, and time of measurement."""
        with told(self.path):
            return self._connection.execute(
                "SELECT host, name, library, (SELECT count(*) FROM point WHERE routine = id), measured FROM routine "
                "WHERE ? IS NULL OR host = ? ORDER BY host, name, measured", (host, host),
            ).fetchall()  # fmt: skip

    def note(self, name: str, value: object, measured: float | None = None) -> None:
        """Store a figure, replacing an earlier one; ``measured``: time in seconds since 1970 (default: now)."""
        with told(self.path), self._connection as connection:
            connection.execute(
                "INSERT OR REPLACE INTO figure VALUES (?, ?, ?)",
                (name, json.dumps(value), time.time() if measured is None else measured),
            )

    def noted(self, prefix: str = "") -> dict[str, tuple[Any, float]]:
        """Return figures whose names begin with a prefix, with the time of each."""
        with told(self.path):
            rows = self._connection.execute(
                "SELECT name, value, measured FROM figure WHERE name GLOB ?", (_like(prefix),)
            )
            return {
                text("name", name): (parsed(value), number("measured", measured, -_LATEST, _LATEST))
                for name, value, measured in rows
            }


def default_store() -> Path:
    """Return the path of the default store: among the user's data, as it is not a cache that may be deleted.

    Raises:
        StoreError: If neither the environment nor a home folder determines it.
    """
    folder = user_folder("XDG_DATA_HOME", ".local/share")
    if folder is None:
        raise StoreError("XDG_DATA_HOME must name a folder where there is no home folder, got none")
    return folder / "forecast.sqlite"


@contextmanager
def open_store(path: str | Path, *, make: bool = False) -> Iterator[Store]:
    """Open a store for the duration of a block.

    Args:
        path: The file.
        make: Whether to create a missing store; otherwise an empty one takes its place.

    Raises:
        StoreError: If it is not a store, of another version, or damaged; it is left as it is.
    """
    path = Path(path)
    there = is_file(path)
    if not there and kind_of(path):
        raise StoreError(f"{path}: store must be a file, got a {kind_of(path)}")
    if make and not there:
        _make_room(path)
    with told(path):
        connection = sqlite3.connect(
            str(path) if there or make else ":memory:", timeout=_PATIENCE, check_same_thread=False
        )
    try:
        with told(path):
            _prepare(connection, path)
        yield Store(path, connection)
    finally:
        connection.close()


def _make_room(path: Path) -> None:
    try:
        make_room(path)
    except OSError as error:
        raise StoreError(f"{path}: store must be a file that can be made, got: {error.strerror or error}") from None


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Check that a file is a store before anything is written; an empty file gets its tables."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    tables = [" ".join(sql.split()) for (sql,) in connection.execute("SELECT sql FROM sqlite_master") if sql]
    if application == version == len(tables) == 0:
        _make_tables(connection)
    elif application != APPLICATION:
        raise StoreError(f"{path}: store must be one that clue made, got another sqlite database")
    elif version != VERSION:
        advice = "remove it and measure again" if version < VERSION else "use the clue that made it"
        rule = f"must be of version {VERSION}, got {version}: name another one (--store), or {advice}"
        raise StoreError(f"{path}: store {rule}; it is left as it is")
    elif sorted(tables) != sorted(" ".join(each.split()) for each in _statements()):
        # Views, triggers and other columns could compute for ever.
        raise StoreError(f"{path}: store must have the tables that clue makes, got others; it is left as it is")


def _make_tables(connection: sqlite3.Connection) -> None:
    """Create the tables, unless another process was faster."""
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        if connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,):
            for statement in _statements():
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {VERSION}")


def _statements() -> list[str]:
    """Return the statements that make the tables."""
    return list(filter(str.strip, _TABLES.split(";")))


@contextmanager
def told(path: Path) -> Iterator[None]:
    """Turn errors of sqlite and of damaged content into one line."""
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(f"{path}: store must be readable and writable, got: {error}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{path}: store must hold what clue wrote, got {type(error).__name__}: {error}") from None


def _like(prefix: str) -> str:
    return "".join(f"[{c}]" if c in "*?[" else c for c in prefix) + "*"


def _point(sizes: Sequence[int], seconds: float, runs: int, parameters: int) -> Point:
    """Return a point.

    Raises:
        ValueError: If it is invalid, or its time is implausible.
    """
    found = tuple(whole("size", size, 1, LARGEST_SIZE) for size in sizes)
    if len(found) != parameters:
        raise ValueError(f"point must have {parameters} sizes, got {len(found)}")
    taken = number("seconds", seconds, 0, _LONGEST)
    return Point(found, taken and number("seconds", taken, _SHORTEST, _LONGEST), whole("runs", runs, 1, _MOST_RUNS))


def memory_document(memory: Memory) -> dict[str, object]:
    """Return a polynomial of memory as JSON."""
    return {"off": memory.off, "terms": [[list(names), str(c)] for names, c in memory.coefficients.items()]}


def memory_of(document: Mapping[str, Any], parameters: Sequence[str]) -> Memory:
    """Return the polynomial in some parameters that a document holds.

    Raises:
        ValueError: If it is invalid; KeyError and TypeError likewise.
    """
    coefficients = {}
    for names, coefficient in document["terms"]:
        if len(names) > DEGREE or not all(name in parameters for name in names):
            raise ValueError(f"terms of memory must be products of up to {DEGREE} parameters, got others")
        if not _COEFFICIENT.fullmatch(text("coefficient", coefficient)):
            raise ValueError(f"coefficient must be a fraction such as 8 or 1/2, got {coefficient[:60]!r}")
        coefficients[tuple(names)] = Fraction(coefficient)
    return Memory(coefficients, whole("off", document["off"], 0, _MOST_OFF))


def cut_document(cut: Cut | None) -> dict[str, object] | None:
    """Return a cut as JSON."""
    if cut is None:
        return None
    return {"along": cut.along, "at": cut.at, "below": cut_document(cut.below), "above": cut_document(cut.above)}


def cut_of(document: Mapping[str, Any] | None, parameters: int, depth: int = 0) -> Cut | None:
    """Return the cut of a number of parameters that a document holds.

    Raises:
        ValueError: If it is invalid; KeyError and TypeError likewise.
    """
    if document is None:
        return None
    if depth > _DEEPEST:
        raise ValueError(f"cuts must be at most {_DEEPEST} deep, got more")
    along, at = whole("along", document["along"], -1, parameters - 1), number("at", document["at"], 0, 1e300)
    below, above = (cut_of(document[side], parameters, depth + 1) for side in ("below", "above"))
    return Cut(along, at, below, above)
