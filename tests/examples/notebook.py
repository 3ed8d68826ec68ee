"""The notebook among the examples: running it, and keeping what it shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

from tests.examples.running import EXAMPLES

NOTEBOOK = EXAMPLES / "first-ranking.ipynb"
#: Seconds that a cell may take, its kernel's start included.
LIMIT = 120


def run_notebook(path: Path) -> Any:
    """Return the notebook with what its cells show here; runs in its folder."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=LIMIT, resources={"metadata": {"path": str(path.parent)}}).execute()
    return notebook


def write_notebook(notebook: Any) -> None:
    """Write the notebook without what differs by computer: times of execution, the version of Python."""
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    notebook.metadata.pop("language_info", None)
    NOTEBOOK.write_text(nbformat.writes(notebook) + "\n")
