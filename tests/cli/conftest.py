"""The folder in which commands are tested, unless a file has one of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.commands import MACHINE, ping_pong


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder to work in, with a trace, a machine, a simulation and a comparison."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLUE_CACHE", str(tmp_path / "cache"))
    ping_pong().save("pingpong.clue")
    Path("pair.yaml").write_text(MACHINE)
    Path("run.yaml").write_text("program: {trace: pingpong.clue}\nmachine: pair.yaml\n")
    Path("which.yaml").write_text(
        "name: which\nbudget: 2000 EUR\nworkloads: {pp: {program: {trace: pingpong.clue}, ranks: 2}}\n"
        "options:\n  two: {machine: pair.yaml}\n  four: {machine: pair.yaml, nodes: 4}\n"
    )
    return tmp_path
