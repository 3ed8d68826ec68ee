"""The ranking of generated options by the command line equals one computed option by option."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from clue.cli import main
from clue.kernel.fast.library import ENGINE
from clue.native import NoLibraryError
from tests.compiled import know_again
from tests.purchase.in_full import whole_ranking
from tests.scenarios.generated import OPTIONS, outcomes, source, write


def simulated(folder: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, list[dict[str, object]]]:
    """Return the document that ``clue simulate`` prints of the comparison."""
    assert main(("simulate", f"{folder}/s.yaml", "--json", "--workers", "1", *arguments)) == 0
    document: dict[str, list[dict[str, object]]] = json.loads(capsys.readouterr().out)
    return document


@pytest.mark.parametrize("engine", [pytest.param("reference", marks=pytest.mark.long), "fast"])
@pytest.mark.parametrize("criterion", ["points", "makespan", "throughput", "cost_per_run"])
def test_generated_options_are_ranked_as_one_by_one(
    criterion: str, engine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All scores agree, also with ``--top 5``, where no other option is better than its bound."""
    scenario = write(tmp_path, criterion)
    assert len(scenario.options) + scenario.left_out == OPTIONS
    assert len(scenario.options) == 40
    whole = whole_ranking(scenario, source, outcomes())
    every = simulated(tmp_path, capsys, "--engine", engine)["ranking"]
    assert [each["option"] for each in every if "position" in each] == [name for name, _ in whole]
    assert [each["score"] for each in every if "position" in each] == pytest.approx([score for _, score in whole])
    first = simulated(tmp_path, capsys, "--engine", engine, "--top", "5")
    assert [each["option"] for each in first["ranking"][:5]] == [name for name, _ in whole[:5]]
    assert [each["score"] for each in first["ranking"][:5]] == pytest.approx([score for _, score in whole[:5]])
    scores, sign = dict(whole), 1 if first["higher_is_better"] else -1
    for each in first["ranking"][5:]:
        if "bound" in each:
            assert sign * each["bound"] >= sign * scores[str(each["option"])] * (1 - sign * 1e-12)  # type: ignore[operator]


@pytest.mark.long
def test_without_a_compiler_the_ranking_is_the_same_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The failing compiler is called twice for 40 options: with and without the instructions of this processor."""
    write(tmp_path)
    expected = simulated(tmp_path, capsys, "--engine", "reference", "--top", "5")
    compiler = tmp_path / "compiler"
    compiler.write_text(f"#!/bin/sh\necho asked >> {tmp_path}/asked\necho 'error: no such luck' >&2\nexit 1\n")
    compiler.chmod(compiler.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("CLUE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("CXX", str(compiler))
    monkeypatch.setattr(ENGINE, "shipped", lambda: None)
    ENGINE.forget()
    try:
        found = simulated(tmp_path, capsys, "--engine", "fast", "--top", "5")
        for _ in range(2):
            with pytest.raises(NoLibraryError, match="engine must compile, got error: no such luck"):
                ENGINE.load()
    finally:
        monkeypatch.undo()
        know_again(ENGINE)
    told = [str(warning) for warning in found.pop("warnings") if "fast engine" in str(warning)]
    expected.pop("warnings")
    assert (found.pop("engine_reason"), expected.pop("engine_reason")) == (
        "fast was requested",
        "reference was requested",
    )
    assert found == expected
    assert len(told) == 1
    assert "no such luck; the reference engine computed this" in told[0]
    assert (tmp_path / "asked").read_text() == "asked\n" * 2
