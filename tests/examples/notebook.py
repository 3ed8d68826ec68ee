"""Runs the notebook among the examples, and writes its output."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

from tests.examples.running import EXAMPLES

NOTEBOOK = EXAMPLES / "first-ranking.ipynb"
#: Seconds that a cell may take, including the start of its kernel.
LIMIT = 120


def run_notebook(path: Path) -> Any:
    """Run the notebook in its folder, and return it with the output of this run."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=LIMIT, resources={"metadata": {"path": str(path.parent)}}).execute()
    return notebook


def write_notebook(notebook: Any) -> None:
    """Write the notebook without what depends on the computer: execution times and the version of Python."""
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    notebook.metadata.pop("language_info", None)
    NOTEBOOK.write_text(nbformat.writes(notebook) + "\n")
