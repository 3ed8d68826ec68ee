"""Fixtures of the tests of live runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.live.programs import Live


@pytest.fixture
def live(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Live:
    """Return what runs programs in a folder of their own."""
    monkeypatch.chdir(tmp_path)
    return Live(tmp_path, capfd)
