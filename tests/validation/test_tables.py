"""Tables of measured times: valid and invalid content."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clue.config.validation_schema import CaseForm
from clue.config.validations import load_validation
from clue.errors import ConfigError
from clue.trace import TraceBuilder
from tests.properties import examples

MACHINE = {
    "nodes": [{"count": 2, "type": "host"}],
    "node_types": {"host": {"processors": 1}},
    "network": {"between_nodes": {"send_delay": "1 us", "transmission_delay": "1 us"}},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a trace of two ranks."""
    path = tmp_path_factory.mktemp("tables")
    trace = TraceBuilder(2, program="p.py")
    trace[0].compute(1.0)
    trace.build().save(path / "p.clue")
    return path


def load(folder: Path, table: bytes) -> list[tuple[str, str, tuple[float, ...]]]:
    """Load a table, and return machine, size and runs of each case."""
    (folder / "runs.csv").write_bytes(table)
    mapping = {"program": {"trace": "p.clue"}, "machines": {"a": MACHINE, "b, c": MACHINE}, "table": "runs.csv"}
    config = load_validation(mapping, relative_to=folder)
    return [(case.machine_name, case.size, case.runs) for case in config.cases]


def test_rows_of_one_case_are_its_runs(folder: Path) -> None:
    """Rows of the same machine and size are runs of one case; byte order mark, blanks and quotes are accepted."""
    table = '\ufeffmachine , size,measured\r\na,1, 2\r\n"b, c",,1 min\n\na,1,3.5 s\na,2,1e-3\n'
    assert load(folder, table.encode()) == [("a", "1", (2.0, 3.5)), ("b, c", "", (60.0,)), ("a", "2", (0.001,))]


def test_short_lines_leave_cells_empty(folder: Path) -> None:
    """A line may end early if the missing cells are optional."""
    assert load(folder, b"measured,machine,ranks,spread\n1,a\n") == [("a", "", (1.0,))]


@pytest.mark.parametrize(
    ("table", "fault"),
    [
        (b"machine,measured\na," + b"9" * 5000, "must be a run time above 0"),
        (b"machine,measured\na,1" + b"0" * 310, "runs.csv:2:3: measured must be a run time below 1e308 s, got 1000"),
        (b"machine,measured\na,\xff\n", "file must be UTF-8 text"),
        (
            b"machine;measured\na;40,25\n",
            'runs.csv:2:3: measured must be a run time in seconds, got "40,25": did you mean 40.25?',
        ),
        (b"machine;measured\na;1,500\n", "measured must be a time that can be read in one way, got '1,500'"),
        (b"machine,measured\na,nan\n", "runs.csv:2:3: measured must be a run time above 0, got nan"),
        (b"machine,measured\na,1e999\n", "runs.csv:2:3: measured must be a run time above 0, got inf"),
        (
            b"machine,measured,measured\na,1,2\n",
            "runs.csv:1:1: columns must have distinct names, got measured twice",
        ),
        (
            b"machine,measured,rank\na,1,2\n",
            'runs.csv:1:1: column must not look like one that is missing, got rank: did you mean "ranks"?',
        ),
        (b"machine,measured,ranks\na,1,3\n", "runs.csv:2:5: ranks must be at most 2 on a"),
    ],
)
def test_cells_that_make_no_sense(folder: Path, table: bytes, fault: str) -> None:
    """Numbers out of range, invalid bytes, text instead of numbers and misspelt columns are refused."""
    with pytest.raises(ConfigError, match=re.escape(fault)):
        load(folder, table)


def test_other_columns_are_ignored(folder: Path) -> None:
    """A column that is not read may resemble one that is there."""
    assert load(folder, b"machine,measured,measured_by,remark\na,1,me,x\n") == [("a", "", (1.0,))]


CELLS = st.sampled_from(["a", "b, c", "1", "0", "-1", "2.5", "1 s", "1 2", '"', "x", "", "nan", "\x00", "#", "é"])


@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.sampled_from(["machine", "size", "measured", "ranks", "runs", "spread", "x", ""]), max_size=6),
    st.lists(st.lists(CELLS, max_size=7), max_size=4),
    st.sampled_from(["\n", "\r\n"]),
)
def test_any_table_is_read_or_refused(folder: Path, head: list[str], rows: list[list[str]], end: str) -> None:
    """Any table gives cases with run times above 0, or faults that name the file."""
    table = end.join(",".join(cells) for cells in [head, *rows])
    try:
        found = load(folder, table.encode())
    except ConfigError as error:
        assert all("runs.csv" in fault or "must have measured" in fault for fault in error.faults)
    else:
        assert all(runs and min(runs) > 0 for *_, runs in found)


def test_ranks_of_an_extrapolated_program_are_those_of_its_cases(folder: Path) -> None:
    """The number of ranks to predict may be stated with the program, as in comparisons; another one is refused."""
    for size, ranks in ((8, 2), (16, 4)):
        TraceBuilder(ranks, program="h.py").build().save(folder / f"h-{size}-{ranks}.clue")
    program = {"extrapolate": {"traces": "h-{size}-{ranks}.clue", "size": 64, "ranks": 2}}
    validation: dict[str, object] = {"program": program, "machine": MACHINE, "measured": 1.0}
    (case,) = load_validation(validation, relative_to=folder).cases
    assert case.ranks == 2
    with pytest.raises(ConfigError, match=r"extrapolate\.ranks must be 1, as stated elsewhere, or left out, got 2"):
        load_validation({**validation, "ranks": 1}, relative_to=folder)


#: A validation with every key.
WHOLE = {
    "name": "whole",
    "programs": {"p": {"trace": "p.clue"}},
    "machines": {"a": MACHINE},
    "program": "p",
    "machine": "a",
    "ranks": 2,
    "size": "1",
    "placement": [0, 1],
    "instances": 1,
    "measured": [1.0, "2 s"],
    "cases": [
        {"size": "2", "measured": 3, "spread": "1 s"},
        {"program": {"trace": "p.clue"}, "machine": MACHINE, "measured": [4]},
    ],
}
VALUES = st.sampled_from([None, True, 0, -1, 3, 1.5, float("nan"), "", "p", "a", "x", [], [0], ["x"], {}, {"x": 1}])


def test_everything_at_once_is_read(folder: Path) -> None:
    """A file with a case at the top level and further cases in a list is read."""
    config = load_validation(WHOLE, relative_to=folder)
    assert [(case.program_name, case.runs, case.spread) for case in config.cases] == [
        ("p", (1.0, 2.0), None),
        ("p", (3.0,), 1.0),
        ("p", (4.0,), None),
    ]


@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from([*WHOLE, "table", "typo"]), VALUES, st.sampled_from([None, *CaseForm.model_fields]), VALUES)
def test_any_value_anywhere_is_read_or_refused(
    folder: Path, key: str, value: object, in_case: str | None, other: object
) -> None:
    """Any value for any key of the file or of a case is read or refused with faults."""
    changed = {**WHOLE, key: value}
    if in_case is not None and key != "cases":
        changed["cases"] = [{"measured": 3, in_case: other}]
    try:
        assert load_validation(changed, relative_to=folder).cases
    except ConfigError as error:
        assert error.faults
