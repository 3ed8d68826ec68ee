"""Log of predictions of frozen cases, with the commit of the model each time: a second look is not blind."""

from __future__ import annotations

import datetime
import subprocess
from pathlib import Path

from benchmarks.page import rows, write_rows
from clue.errors import UsageError

_ROOT = Path(__file__).parents[3]
#: One line for each model with which frozen cases were predicted.
LOOKS = Path(__file__).with_name("looks.csv")
#: Number of the present set of frozen cases; looks at earlier sets stay in the log.
SET = 12


def commit() -> str:
    """Return the checked-out commit."""
    return _git("rev-parse", "HEAD").strip()[:12]


def frozen_commit(written: list[Path]) -> str:
    """Return the commit of the model; no file may differ from it except those that the benchmark itself writes.

    Raises:
        UsageError: If any other file differs.
    """
    own = {str(file.resolve()) for file in (*written, LOOKS)}
    changed = [
        name
        for name in (line[3:] for line in _git("status", "--porcelain").splitlines())
        if str((_ROOT / name).resolve()) not in own
    ]
    if changed:
        raise UsageError(f"unseen: the model must be committed before frozen cases are measured, got {changed[0]}")
    return commit()


def looks() -> list[tuple[str, str]]:
    """Return date and commit of each look at the present frozen cases."""
    return [(date, commit) for number, date, commit in _log() if number == SET]


def look(at: str) -> int:
    """Record a look at frozen cases by the model of a commit, unless it continues the last one; return the number."""
    if (SET, at) not in [(number, commit) for number, _, commit in _log()[-1:]]:
        write_rows(LOOKS, [("set", "date", "commit"), *_log(), (SET, datetime.date.today().isoformat(), at)])
    return len(looks())


def _log() -> list[tuple[int, str, str]]:
    """Return the set of cases, the date and the commit of every look."""
    return [(int(row["set"]), row["date"], row["commit"]) for row in rows(LOOKS)]


def _git(*words: str) -> str:
    return subprocess.run(["git", "-C", str(_ROOT), *words], check=True, capture_output=True, text=True).stdout
