"""The notebook runs and shows its kept output."""

from __future__ import annotations

from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat", reason="the notebook needs nbformat, of the extra test")
pytest.importorskip("nbclient", reason="the notebook needs nbclient, of the extra test")
pytest.importorskip("pandas", reason="the notebook needs pandas, of the extra pandas")

from tests.examples.notebook import NOTEBOOK, run_notebook  # noqa: E402 - skipped where that cannot be imported


def shown(notebook: Any) -> list[str]:
    """Return the output of cells for clue's own values; frames are left to pandas."""
    texts = [
        text
        for cell in notebook.cells
        for output in cell.get("outputs", ())
        for kind, text in sorted(output.get("data", {}).items())
        if kind == "text/plain" or (kind == "text/html" and "dataframe" not in text)
    ]
    return [text for text in texts if text.startswith("<")]


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_the_notebook_shows_what_it_has_kept() -> None:
    """Each cell is run in a separate kernel; after an intended change, python -m tests.examples renews the output."""
    from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel  # noqa: PLC0415 - of the extra test

    try:
        KernelSpecManager().get_kernel_spec("python3")
    except NoSuchKernel:
        pytest.skip("no Python kernel is installed for notebooks (ipykernel)")
    kept = shown(nbformat.read(NOTEBOOK, as_version=4))
    assert len(kept) >= 8
    assert shown(run_notebook(NOTEBOOK)) == kept
