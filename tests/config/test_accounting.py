"""The output of sacct, and lines that sacct does not write."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clue.config.accounting import AccountedJob, notes_of, read_accounting
from clue.errors import ConfigError
from tests.config.documents import faults_of

HEAD = "JobName|Submit|NNodes|Timelimit|Elapsed\n"
LINE = "cg|2026-01-05T09:00:00|2|04:00:00|01:00:00\n"


def read(path: Path, text: str) -> list[AccountedJob]:
    """Return the jobs of a file with the given text."""
    (path / "s.txt").write_text(text)
    return read_accounting(path / "s.txt").jobs


def faults(path: Path, text: str) -> list[str]:
    """Return the faults of a file with the given text, without its name."""
    (path / "s.txt").write_text(text)
    return [each.removeprefix(f"{path}/s.txt:") for each in faults_of(read_accounting, path / "s.txt")]


def test_columns_may_be_in_any_order_and_more(tmp_path: Path) -> None:
    """Columns may be in any order, Start and End may replace Elapsed, and lines may end with a bar."""
    text = (
        "User|NNodes|End|Start|Timelimit|Submit|JobName|\n"
        "me|3|2026-01-05T11:00:00|2026-01-05T10:00:00|2-00:00:00|2026-01-05T09:00:00|a b|\n"
    )
    (job,) = read(tmp_path, text)
    assert (job.name, job.nodes, job.run, job.limit, job.waited) == ("a b", 3, 3600.0, 172_800.0, 3600.0)


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("00:00:01", 1), ("10:00", 600), ("02:30:00", 9000), ("3-00:00:00", 259_200), ("1-02:03:04", 93_784)],
)
def test_durations_are_those_of_slurm(tmp_path: Path, written: str, seconds: float) -> None:
    """Durations have Slurm's form [days-][hours:]minutes:seconds."""
    (job,) = read(tmp_path, HEAD + LINE.replace("01:00:00", written).replace("04:00:00", "9-00:00:00"))
    assert job.run == seconds


def test_jobs_come_in_the_order_of_submission(tmp_path: Path) -> None:
    """Jobs are sorted by submission, and empty lines are ignored."""
    later = LINE.replace("cg", "late").replace("T09", "T10")
    assert [job.name for job in read(tmp_path, f"{HEAD}\n{later}\n{LINE}")] == ["cg", "late"]


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("cg", "", "JobName must be given, got nothing"),
        ("2026-01-05T09:00:00", "Unknown", 'Submit must be a time such as 2026-11-02T09:30:00, got "Unknown"'),
        ("2026-01-05", "2026-02-30", 'Submit must be a time such as 2026-11-02T09:30:00, got "2026-02-30T09:00:00"'),
        ("|2|", "|0|", 'NNodes must be a whole number above 0, got "0"'),
        ("|2|", "|-2|", 'NNodes must be a whole number above 0, got "-2"'),
        ("|2|", "|²|", 'NNodes must be a whole number above 0, got "²"'),
        ("04:00:00", "four", 'Timelimit must be a duration such as 1-02:03:04, got "four"'),
        ("04:00:00", "", 'Timelimit must be a duration such as 1-02:03:04, got ""'),
        ("01:00:00", "-1:00:00", 'Elapsed must be a duration such as 1-02:03:04, got "-1:00:00"'),
        ("|01:00:00", "", "line must have 5 cells, got 4"),
        ("|01:00:00", "|1:00|2|3", "line must have 5 cells, got 7"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, old: str, new: str, fault: str) -> None:
    """The fault states the line number."""
    assert faults(tmp_path, HEAD + LINE + LINE.replace(old, new)) == [f"3:1: {fault}"]


def test_all_bad_lines_are_named_at_once(tmp_path: Path) -> None:
    """All faults are reported, but of very many only the first hundred and the number of the others."""
    assert faults(tmp_path, HEAD + "a|b|c|d|01:00\n" + LINE + "x\n") == [
        '2:1: Submit must be a time such as 2026-11-02T09:30:00, got "b"',
        '2:1: Timelimit must be a duration such as 1-02:03:04, got "d"',
        '2:1: NNodes must be a whole number above 0, got "c"',
        "4:1: line must have 5 cells, got 1",
    ]
    many = faults(tmp_path, HEAD + "x\n" * 150)
    assert len(many) == 101 and many[-1].endswith("and 50 more faults")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "first line must name the columns JobName and Submit and NNodes and Timelimit and Elapsed, or Start"),
        ("JobName|Submit|NNodes|Timelimit|Start\n", "first line must name the columns Elapsed, or Start and End, got"),
        (f"Submit|{HEAD}", "columns must have distinct names, got Submit twice"),
        (HEAD, "file must have jobs that ran, got none"),
        (HEAD + LINE.replace("01:00:00", "00:00:00"), "file must have jobs that ran, got none"),
        (
            "JobName|Submit|NNodes|Timelimit|Start|End\n"
            "a|2026-01-05T09:00:00|1|10:00|2026-01-05T09:00:00|2026-01-05T08:00:00\n",
            'End must be after Start (2026-01-05T09:00:00), got "2026-01-05T08:00:00"',
        ),
    ],
)
def test_a_file_without_jobs_is_refused(tmp_path: Path, text: str, fault: str) -> None:
    """A file without jobs that ran, or without the columns, is refused."""
    (found,) = faults(tmp_path, text)
    assert fault in found


def test_a_job_that_ends_when_it_starts_never_ran(tmp_path: Path) -> None:
    """Of two jobs, the one cancelled at its start is left out and counted, with Elapsed or without it."""
    for column, ran, cancelled in (("Elapsed", "00:30:00", "00:00:00"), ("End", "2026-01-05T10:30:00", "")):
        cells = "a|2026-01-05T09:00:00|1|10:00|2026-01-05T10:00:00|"
        text = f"JobName|Submit|NNodes|Timelimit|Start|{column}\n{cells}{ran}\n{cells}{cancelled or cells[-20:-1]}\n"
        (tmp_path / "s.txt").write_text(text)
        found = read_accounting(tmp_path / "s.txt")
        assert ([job.run for job in found.jobs], found.never) == ([1800.0], 1)
        assert list(notes_of(found, "s.txt")) == ["s.txt: 1 job that never ran is left out"]


@pytest.mark.parametrize(
    ("columns", "cells"),
    [
        ("Elapsed|State", ["00:30:00|COMPLETED", "00:10:00|RUNNING", "00:10:00|SUSPENDED", "00:00:00|PENDING"]),
        ("Start|End", ["2026-01-05T10:00:00|2026-01-05T10:30:00", *["2026-01-05T10:00:00|Unknown"] * 3]),
        ("Elapsed|End", ["30:00|2026-01-05T10:30:00", *["1:00|Unknown"] * 3]),
    ],
)
def test_a_job_that_has_not_ended_is_left_out(tmp_path: Path, columns: str, cells: list[str]) -> None:
    """Of four jobs one has ended: the time that others have run so far is not their run time."""
    lines = [f"a|2026-01-05T09:00:00|1|5-00:00:00|{each}" for each in cells]
    (tmp_path / "s.txt").write_text("\n".join([f"JobName|Submit|NNodes|Timelimit|{columns}", *lines]))
    found = read_accounting(tmp_path / "s.txt")
    assert ([job.run for job in found.jobs], found.unended, found.never) == ([1800.0], 3, 0)
    assert list(notes_of(found, "s.txt")) == ["s.txt: 3 jobs that had not ended are left out"]


def test_other_bytes_are_refused(tmp_path: Path) -> None:
    """A file that is not UTF-8 text is refused."""
    (tmp_path / "s.txt").write_bytes(b"JobName|\xff\n")
    with pytest.raises(ConfigError, match=r"s\.txt:1:9: file must be UTF-8 text, got byte 0xFF"):
        read_accounting(tmp_path / "s.txt")


@given(st.text(max_size=80))
def test_any_text_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    """Any text after the header gives jobs or a ``ConfigError``."""
    file = tmp_path_factory.mktemp("any") / "s.txt"
    file.write_text(HEAD + text, encoding="utf-8", errors="replace")
    try:
        read_accounting(file)
    except ConfigError as error:
        assert error.faults
