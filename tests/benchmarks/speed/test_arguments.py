"""The command line of the benchmarks reports errors before it measures."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.speed.__main__ import main


@pytest.mark.parametrize("kind", ["missing", "folder", "text"])
def test_loggopsim_must_be_a_program(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing path, a folder and a file that is not executable are refused as LogGOPSim."""
    path = tmp_path / kind
    if kind == "folder":
        path.mkdir()
    elif kind == "text":
        path.write_text("no program")
    monkeypatch.setattr("sys.argv", ["benchmarks", "--loggopsim", str(path)])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 2
    assert f"loggopsim must be an executable file, got {path}" in capsys.readouterr().err
