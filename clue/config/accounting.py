"""Read Slurm's accounting of jobs (sacct -P): lines of cells separated by bars; the first line names the columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from clue.caveats import Count
from clue.config.document import format_value
from clue.errors import ConfigError
from clue.files import not_text, read_text

#: Columns that are read. Elapsed may be missing if there are Start and End, and JobID and State in any case.
COLUMNS = ("JobName", "Submit", "NNodes", "Timelimit", "Elapsed", "Start", "End", "JobID", "State")
_NEEDED = ("JobName", "Submit", "NNodes", "Timelimit")
_DURATION = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d{1,2}):(\d{2}(?:\.\d+)?)")
#: Values of Timelimit for jobs without a time limit of their own.
_UNLIMITED = {"UNLIMITED", "Partition_Limit", "NOT_SET"}
#: Values of Start and End for a time that is unknown.
_NEVER = {"Unknown", "None", "N/A", ""}
#: Values of State for jobs that have not ended: their time so far is not their run time.
_UNENDED = {"PENDING", "RUNNING", "SUSPENDED"}
#: Largest accounting file that is read, bytes, and largest number of its faults that are reported.
_LONGEST, _MOST_FAULTS = 2**30, 100


@dataclass(frozen=True, slots=True)
class AccountedJob:
    """A job as it was recorded.

    Attributes:
        name: Its name.
        submit: Submission time, seconds since 1970 by the file's clock.
        nodes: Number of nodes that it used.
        run: Its run time, seconds.
        limit: Its time limit, seconds; at least its run time.
        waited: Time from its submission to its start, seconds; ``None`` if unknown.
    """

    name: str
    submit: float
    nodes: int
    run: float
    limit: float
    waited: float | None = None


@dataclass(slots=True)
class Accounting:
    """The contents of an accounting file.

    Attributes:
        jobs: Jobs that ran, in order of submission.
        steps: Number of lines about steps of jobs, which are skipped.
        never: Number of jobs that never ran.
        unended: Number of jobs that had not ended.
        unlimited: Number of jobs without a time limit; their run time stands for it.
    """

    jobs: list[AccountedJob] = field(default_factory=list)
    steps: int = 0
    never: int = 0
    unended: int = 0
    unlimited: int = 0


def read_accounting(path: Path) -> Accounting:
    """Read the output of ``sacct -P``.

    Raises:
        ConfigError: If the file cannot be read, or with all its faults.
    """
    lines = _text(path).splitlines()
    head = [cell.strip() for cell in lines[0].split("|")] if lines else []
    lacking = [column for column in _NEEDED if column not in head]
    if "Elapsed" not in head and not {"Start", "End"} <= set(head):
        lacking.append("Elapsed, or Start and End")
    if lacking:
        got = ", ".join(filter(None, head)) or "an empty line"
        raise ConfigError(f"{path}:1:1: first line must name the columns {' and '.join(lacking)}, got {got}")
    if twice := [column for column in COLUMNS if head.count(column) > 1]:
        raise ConfigError(f"{path}:1:1: columns must have distinct names, got {twice[0]} twice")
    reader = _Reader(path, head)
    for number, line in enumerate(lines[1:], 2):
        if line.strip():
            reader.take(number, line)
    if len(reader.faults) > _MOST_FAULTS:
        more = f"{path}: and {len(reader.faults) - _MOST_FAULTS:,} more faults"
        reader.faults = [*reader.faults[:_MOST_FAULTS], more]
    if not reader.faults and not reader.found.jobs:
        reader.faults.append(f"{path}: file must have jobs that ran, got none")
    if reader.faults:
        raise ConfigError(reader.faults)
    reader.found.jobs.sort(key=lambda job: job.submit)
    return reader.found


def _text(path: Path) -> str:
    try:
        return read_text(path, most=_LONGEST)
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}:{not_text(error)}") from None
    except OSError as error:
        raise ConfigError(f"{path}: file must be readable, got: {error.strerror or error}") from None


class _Reader:
    def __init__(self, path: Path, head: Sequence[str]) -> None:
        self.found = Accounting()
        self.faults: list[str] = []
        self._path = path
        self._head = head
        self._number = 0

    def take(self, number: int, line: str) -> None:
        """Read a line."""
        self._number = number
        cells = line.split("|")
        # sacct -p, unlike -P, ends each line with a bar.
        if len(cells) == len(self._head) + 1 and not cells[-1].strip():
            cells.pop()
        if len(cells) != len(self._head):
            self._fault("line", f"must have {len(self._head)} cells, got {len(cells)}")
            return
        row = dict(zip(self._head, map(str.strip, cells), strict=True))
        if "." in row.get("JobID", ""):
            self.found.steps += 1
        elif self._is_unended(row):
            self.found.unended += 1
        elif self._never_ran(row):
            self.found.never += 1
        else:
            self._take_job(row)

    def _is_unended(self, row: Mapping[str, str]) -> bool:
        begun = row.get("Start", "") not in _NEVER or not self._never_ran(row)
        return row.get("State") in _UNENDED or (begun and "End" in row and row["End"] in _NEVER)

    def _never_ran(self, row: Mapping[str, str]) -> bool:
        if "Elapsed" in row:
            return row["Elapsed"] in _NEVER or not row["Elapsed"].strip("0:-")
        return row["Start"] in _NEVER or row["End"] in _NEVER or row["Start"] == row["End"]

    def _take_job(self, row: Mapping[str, str]) -> None:
        before = len(self.faults)
        submit, run, limit = self._time(row, "Submit"), self._run(row), self._limit(row)
        nodes = self._nodes(row)
        start = self._time(row, "Start") if row.get("Start", "") not in _NEVER else None
        if not row["JobName"]:
            self._fault("JobName", "must be given, got nothing")
        if len(self.faults) == before and run:
            self.found.unlimited += limit is None
            # Slurm ends a job a few seconds after its limit.
            waited = None if start is None else max(start - submit, 0.0)
            self.found.jobs.append(AccountedJob(row["JobName"], submit, nodes, run, max(limit or run, run), waited))

    def _run(self, row: Mapping[str, str]) -> float:
        if "Elapsed" in row:
            return self._duration(row, "Elapsed")
        begin, end = self._time(row, "Start"), self._time(row, "End")
        if begin >= end > 0:
            self._fault("End", f"must be after Start ({row['Start']}), got {format_value(row['End'])}")
        return end - begin

    def _limit(self, row: Mapping[str, str]) -> float | None:
        return None if row["Timelimit"] in _UNLIMITED else self._duration(row, "Timelimit")

    def _duration(self, row: Mapping[str, str], column: str) -> float:
        match = _DURATION.fullmatch(row[column])
        if match is None:
            self._fault(column, f"must be a duration such as 1-02:03:04, got {format_value(row[column])}")
            return 0.0
        days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
        return 86400 * days + 3600 * hours + 60 * minutes + seconds

    def _time(self, row: Mapping[str, str], column: str) -> float:
        try:
            return (datetime.fromisoformat(row[column]).replace(tzinfo=None) - datetime(1970, 1, 1)).total_seconds()
        except ValueError:
            self._fault(column, f"must be a time such as 2026-11-02T09:30:00, got {format_value(row[column])}")
            return 0.0

    def _nodes(self, row: Mapping[str, str]) -> int:
        text = row["NNodes"]
        if text.isascii() and text.isdecimal() and 0 < int(text) < 10**9:
            return int(text)
        self._fault("NNodes", f"must be a whole number above 0, got {format_value(text)}")
        return 0

    def _fault(self, subject: str, rule: str) -> None:
        self.faults.append(f"{self._path}:{self._number}:1: {subject} {rule}")


def notes_of(accounting: Accounting, file: str) -> Iterator[str]:
    """Yield notes about what was read, for the reader of results."""
    if accounting.never:
        yield f"{file}: {Count(accounting.never):job that never ran is|jobs that never ran are} left out"
    if accounting.unended:
        yield f"{file}: {Count(accounting.unended):job that had not ended is|jobs that had not ended are} left out"
    if accounting.steps:
        yield f"{file}: {Count(accounting.steps):job step is|job steps are} left out"
    if accounting.unlimited:
        yield f"{file}: {Count(accounting.unlimited):job has|jobs have} no time limit: the run time counts as the limit"
