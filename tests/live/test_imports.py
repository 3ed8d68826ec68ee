"""The modules that are imported before ranks are forked: those of well-known packages that the program's file names."""

from __future__ import annotations

from pathlib import Path

import pytest

from clue.execution.imports import shared_imports


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("import os, scipy.linalg", ("numpy", "scipy.linalg")),
        ("def f():\n    from scipy import sparse", ("numpy", "scipy", "scipy.sparse")),
        ("import numpy as np\nfrom numpy import *", ("numpy",)),
        ("from .scipy import x\nimport mine.scipy", ("numpy",)),
        ("this is no Python", ("numpy",)),
    ],
)
def test_modules_of_known_packages_are_found(tmp_path: Path, text: str, names: tuple[str, ...]) -> None:
    """Imports are found anywhere in the file; a file that is not Python is left to the ranks to report."""
    program = tmp_path / "program.py"
    program.write_text(text)
    assert shared_imports((str(program), "argument")) == names


def test_what_is_no_file_imports_nothing_special() -> None:
    """Modules (-m) and empty commands have no file to inspect, so only numpy is imported."""
    assert shared_imports(("-m", "scipy")) == shared_imports(()) == ("numpy",)
