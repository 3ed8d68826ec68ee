"""Stores: measurements survive, and databases of other versions or programs are left alone."""

import sqlite3
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clue.errors import StoreError
from clue.forecasting.measuring import Point
from clue.forecasting.memory import Memory
from clue.forecasting.routines import Routine
from clue.forecasting.segments import Cut
from clue.forecasting.store import VERSION, Measured, default_store, open_store
from tests.forecasting.hosts import dgemm
from tests.properties import examples

NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20)


def cuts(sizes: int) -> st.SearchStrategy[Cut | None]:
    """Draw cuts of a number of sizes."""
    along, at = st.integers(-1, sizes - 1), st.floats(1, 1e9)
    return st.recursive(
        st.none() | st.builds(Cut, along, at), lambda inner: st.builds(Cut, along, at, inner, inner), max_leaves=4
    )


@st.composite
def measurements(draw: st.DrawFn) -> Measured:
    """Draw routines with all data that a store keeps."""
    parameters = tuple(draw(st.lists(NAMES, min_size=1, max_size=3, unique=True)))
    sizes = st.tuples(*[st.integers(1, 2**40)] * len(parameters))
    points = draw(
        st.lists(
            st.builds(Point, sizes, st.just(0.0) | st.floats(1e-9, 1e6), st.integers(1, 200)), min_size=1, max_size=5
        )
    )
    keys = st.lists(st.sampled_from(parameters), max_size=2).map(tuple)
    memory = Memory(draw(st.dictionaries(keys, st.fractions(), max_size=4)), draw(st.integers(0, 10**9)))
    routine = Routine(draw(NAMES), parameters, draw(NAMES))
    error = draw(st.none() | st.floats(0, 10))
    return Measured(
        routine,
        draw(NAMES),
        draw(NAMES),
        memory,
        tuple(points),
        draw(cuts(len(parameters))),
        error,
        draw(st.floats(0, 2e9)),
    )


@given(measurements())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(30))
def test_what_is_kept_is_found_again(tmp_path: Path, measured: Measured) -> None:
    """A measurement is read back equal, from the store and from a document for another host."""
    path = tmp_path / "s.sqlite"
    with open_store(path, make=True) as store:
        store.keep(measured)
    with open_store(path) as store:
        assert store.find(measured.host, measured.routine.name) == measured
    assert Measured.of(measured.document()) == measured
    path.unlink()


def test_versions_of_a_library_are_kept_apart(tmp_path: Path) -> None:
    """Measurements with different library versions are kept apart; the latest counts, and repeating one replaces it."""
    with open_store(tmp_path / "s.sqlite", make=True) as store:
        store.keep(dgemm(library="scipy 1, blas 1"))
        store.keep(replace(dgemm(library="scipy 2, blas 1"), measured=2e9))
        store.keep(dgemm("there"))
        found = store.find("here", "dgemm")
        assert found is not None and found.routine.library == "scipy 2, blas 1"
        store.keep(dgemm(library="scipy 1, blas 1"))
        assert [row[:3] for row in store.routines("here")] == [
            ("here", "dgemm", "scipy 1, blas 1"), ("here", "dgemm", "scipy 2, blas 1")
        ]  # fmt: skip
        assert len(store.routines()) == 3


@pytest.mark.parametrize(("other", "advice"), [(1, "use the clue that made it"), (-1, "remove it and measure again")])
def test_a_store_of_another_version_is_left_as_it_is(tmp_path: Path, other: int, advice: str) -> None:
    """A store of another version is refused with both versions and what can be done, and stays unchanged."""
    path = tmp_path / "s.sqlite"
    with open_store(path, make=True) as store:
        store.keep(dgemm())
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version = {VERSION + other}")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreError) as caught, open_store(path, make=True):
        pass
    assert str(caught.value).startswith(f"{path}: store must be of version {VERSION}, got {VERSION + other}: ")
    assert str(caught.value).endswith(f"or {advice}; it is left as it is")
    assert path.read_bytes() == before


def test_databases_of_others_are_left_alone(tmp_path: Path) -> None:
    """An sqlite database of another program is refused and stays unchanged."""
    path = tmp_path / "s.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE letters (text)")
    connection.close()
    before = path.read_bytes()
    with (
        pytest.raises(StoreError, match="store must be one that clue made, got another sqlite database"),
        open_store(path),
    ):
        pass
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "content", [b"no database at all, but long enough to be one", b"SQLite format 3\0" + bytes(200)]
)
def test_files_that_are_no_stores(tmp_path: Path, content: bytes) -> None:
    """A file that is no database is refused with one line and stays unchanged."""
    path = tmp_path / "s.sqlite"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"s\.sqlite: store must be "), open_store(path, make=True):
        pass
    assert path.read_bytes() == content


def changed(folder: Path, statement: str) -> Path:
    """Return a store with a routine after a statement that clue would not execute."""
    path = folder / "s.sqlite"
    with open_store(path, make=True) as store:
        store.keep(dgemm())
    with sqlite3.connect(path) as connection:
        connection.execute(statement)
    connection.close()
    return path


@pytest.mark.parametrize(
    "damage",
    ["UPDATE point SET seconds = -1", "UPDATE point SET seconds = 1e300", "UPDATE point SET seconds = 1e-300",
     "UPDATE point SET sizes = '[1, 2]'", "UPDATE point SET sizes = '[1, 2, -3]'", "UPDATE point SET sizes = '['",
     "UPDATE point SET runs = 0",
     "UPDATE routine SET cut = '3'", "UPDATE routine SET memory = '{}'", "DROP TABLE point"],
)  # fmt: skip
def test_damaged_rows(tmp_path: Path, damage: str) -> None:
    """Damaged values and missing tables are reported."""
    path = changed(tmp_path, damage)
    with pytest.raises(StoreError, match=r"s\.sqlite: store must "), open_store(path) as store:
        store.find("here", "dgemm")


def _deep(levels: int) -> str:
    return "[" * levels + "]" * levels


def _cut(levels: int) -> str:
    return '{"along": 0, "at": 1, "above": null, "below": ' * levels + "null" + "}" * levels


@pytest.mark.parametrize(
    ("column", "value", "told"),
    [
        ("memory", '{"off": 0, "terms": [[[], "1e999999999"]]}', "coefficient must be a fraction such as 8 or 1/2"),
        ("memory", '{"off": 0, "terms": [[[], Infinity]]}', "coefficient must be text, got inf"),
        ("memory", '{"off": 0, "terms": [[["z"], "8"]]}', "terms of memory must be products of up to 3 parameters"),
        ("memory", '{"off": 0, "terms": [[["m", "m", "m", "m"], "8"]]}', "terms of memory must be products of up to 3"),
        ("memory", '{"off": Infinity, "terms": []}', "off must be a whole number from 0 to 9,223,372,036,854,775,808"),
        ("memory", _deep(100_000), "JSON must not be nested deeper than a measurement"),
        ("parameters", '["m", "m", "k"]', "parameters must be 1 to 8 different names, got m, m, k"),
        ("parameters", "[1, 2, 3]", "parameter must be text, got 1"),
        ("parameters", '[["m"], "n", "k"]', "parameter must be text, got a list"),
        (
            "cut",
            '{"along": 7, "at": 1, "below": null, "above": null}',
            "along must be a whole number from -1 to 2, got 7",
        ),
        (
            "cut",
            '{"along": 0, "at": NaN, "below": null, "above": null}',
            "at must be a number from 0 to 1e+300, got nan",
        ),
        ("cut", _cut(102), "cuts must be at most 100 deep, got more"),
        ("processor", b"\xff", "processor must be text, got b'"),
        ("measured", "now", "measured must be a number from 0 to 1e+12, got 'now'"),
        ("measured", 1e300, "measured must be a number from 0 to 1e+12, got 1e+300"),
    ],
)
def test_stores_of_others(tmp_path: Path, column: str, value: object, told: str) -> None:
    """Values that clue does not write are refused before anything is computed with them, which could take for ever."""
    path = tmp_path / "s.sqlite"
    with open_store(path, make=True) as store:
        store.keep(dgemm())
    with sqlite3.connect(path) as connection:
        connection.execute(f"UPDATE routine SET {column} = ?", (value,))
    connection.close()
    with pytest.raises(StoreError) as caught, open_store(path) as store:
        store.find("here", "dgemm")
    assert str(caught.value).startswith(f"{path}: store must hold what clue wrote, got ValueError: {told}")


def test_a_store_with_too_many_points(tmp_path: Path) -> None:
    """A store with 10,000 points is read, one with 10,001 is not: a fit of millions would take for ever."""
    path = tmp_path / "s.sqlite"
    with open_store(path, make=True) as store:
        store.keep(replace(dgemm(), points=(Point((1, 1, 1), 1.0),) * 10_000))
        assert store.find("here", "dgemm") is not None
        store.keep(replace(dgemm(), points=(Point((1, 1, 1), 1.0),) * 10_001))
        with pytest.raises(StoreError, match="points must be 1 to 10,000, got 10,001"):
            store.find("here", "dgemm")


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE VIEW endless AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT 1 FROM c) SELECT x FROM c",
        "CREATE TRIGGER t AFTER INSERT ON figure BEGIN DELETE FROM routine; END",
        "ALTER TABLE point ADD COLUMN further",
        "DROP TABLE figure",
    ],
)
def test_other_tables_are_refused(tmp_path: Path, statement: str) -> None:
    """A store with a view, a trigger, another column or without a table is refused and stays unchanged."""
    path = changed(tmp_path, statement)
    before = path.read_bytes()
    with pytest.raises(StoreError, match="store must have the tables that clue makes, got others"), open_store(path):
        pass
    assert path.read_bytes() == before


def test_folders_and_places_that_cannot_be_made(tmp_path: Path) -> None:
    """A folder in place of the store, and a file in place of its folder, are errors."""
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="store must be a file, got a folder"), open_store(tmp_path):
        pass
    within = tmp_path / "file" / "s.sqlite"
    with pytest.raises(StoreError, match="store must be a file that can be made"), open_store(within, make=True):
        pass


def test_a_store_that_is_not_there_is_empty(tmp_path: Path) -> None:
    """A missing store is empty, and only writing creates it."""
    with open_store(tmp_path / "s.sqlite") as store:
        assert store.find("here", "dgemm") is None
    assert not list(tmp_path.iterdir())


def test_figures_are_kept_with_their_times(tmp_path: Path) -> None:
    """The latest figure of each name is kept with its time; names are not patterns."""
    with open_store(tmp_path / "s.sqlite", make=True) as store:
        store.note("link a b", {"latency": Fraction(1, 2).__float__()}, 5.0)
        store.note("link a b", {"latency": 1.0}, 6.0)
        store.note("host [a-z]*", 3, 7.0)
        assert store.noted("link ") == {"link a b": ({"latency": 1.0}, 6.0)}
        assert store.noted("host [a-z]*") == {"host [a-z]*": (3, 7.0)}
        assert store.noted("host b") == {}


@pytest.mark.parametrize(
    "change",
    [{"points": []}, {"parameters": []}, {"points": 3}, {"cut": {"along": 0}},
     {"memory": {"terms": [["m", "x"]], "off": 0}}, {"points": [{"sizes": [1, 1, 0], "seconds": 1, "runs": 1}]},
     {"measured": None}, {"memory": {"terms": [[[], "1e999999999"]], "off": 0}}, {"measured": float("nan")},
     {"cut": {"along": 3, "at": 1, "below": None, "above": None}}, {"parameters": list("abcdefghi")}],
)  # fmt: skip
def test_documents_that_are_none(change: dict[str, object]) -> None:
    """An invalid document of another host is an error."""
    with pytest.raises((ValueError, KeyError, TypeError)):
        Measured.of({**dgemm().document(), **change})


def test_a_store_needs_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a home folder, XDG_DATA_HOME must name one."""
    monkeypatch.setattr(Path, "home", no_home)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    with pytest.raises(StoreError, match="XDG_DATA_HOME must name a folder where there is no home folder, got none"):
        default_store()
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert default_store() == Path("/data/clue/forecast.sqlite")


def no_home() -> Path:
    """Take the place of ``Path.home`` for a user without one."""
    raise RuntimeError("Could not determine home directory.")


def test_a_store_is_named_by_a_string_or_a_path(tmp_path: Path) -> None:
    """A path may be a string, as for ``clue.forecast``."""
    with open_store(str(tmp_path / "s.sqlite"), make=True) as store:
        store.keep(dgemm())
    with open_store(tmp_path / "s.sqlite") as store:
        assert len(store.routines()) == 1
