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


def commit() -> str:
    """Return the commit of what is checked out."""
    return _git("rev-parse", "HEAD").strip()[:12]


def frozen_commit(written: list[Path]) -> str:
    """Return the commit of the model, which nothing may differ from but what the benchmark itself writes.

    Raises:
        UsageError: If anything does.
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
    """Return date and commit of each look."""
    return [(row["date"], row["commit"]) for row in rows(LOOKS)]


def look(at: str) -> int:
    """Record a look at frozen cases by the model of a commit, unless it continues the last one; return the number."""
    known = looks()
    if not known or known[-1][1] != at:
        known.append((datetime.date.today().isoformat(), at))
        write_rows(LOOKS, [("date", "commit"), *known])
    return len(known)


def _git(*words: str) -> str:
    return subprocess.run(["git", "-C", str(_ROOT), *words], check=True, capture_output=True, text=True).stdout
