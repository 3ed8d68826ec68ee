"""Runs an example by the command in its first lines, such as ``Run: clue simulate ping-pong.yaml``."""

from __future__ import annotations

import contextlib
import io
import os
import re
import runpy
import shlex
from pathlib import Path

from clue.cli import main

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
_RUN = re.compile(r"^(?:# )?Run: (.+)$", re.MULTILINE)


def command_of(file: Path) -> str | None:
    """Return the command that an example names, or None."""
    found = _RUN.search(file.read_text())
    return found[1] if found else None


def examples() -> list[Path]:
    """Return all files that name the command that runs them, in sorted order."""
    files = sorted([*EXAMPLES.rglob("*.yaml"), *EXAMPLES.rglob("*.py")])
    return [file for file in files if command_of(file) is not None]


def output_of(file: Path) -> str:
    """Run an example in its folder, and return its standard output without trailing blanks."""
    words = shlex.split(command_of(file) or "")
    before, output = Path.cwd(), io.StringIO()
    os.chdir(file.parent)
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(io.StringIO()):
            if words[0] == "python":
                runpy.run_path(words[1], run_name="__main__")
            else:
                assert main(words[1:]) == 0
    finally:
        os.chdir(before)
    return "".join(f"{line.rstrip()}\n" for line in output.getvalue().splitlines())
