"""Where a user's files are: XDG Base Directory Specification 0.8."""

from __future__ import annotations

import os
from pathlib import Path


def user_folder(variable: str, usual: str) -> Path | None:
    """Return clue's folder among a user's files, which need not exist; ``None`` if nothing determines it.

    Args:
        variable: Environment variable that names the folder of all programs.
        usual: That folder within the home folder if the variable is empty, or a relative path, which is invalid.
    """
    stated = Path(os.environ.get(variable, ""))
    try:
        return (stated if stated.is_absolute() else Path.home() / usual) / "clue"
    except RuntimeError:  # no home folder
        return None
