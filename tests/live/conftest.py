"""Fixtures of the tests of live runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.live.programs import Live


@pytest.fixture
def live(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Live:
    """Return an object that runs programs in a folder of this test's own."""
    monkeypatch.chdir(tmp_path)
    return Live(tmp_path, capfd)
