"""``clue simulate --explain`` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clue.cli import main
from clue.cli.signals import INTERRUPTED

pytestmark = pytest.mark.usefixtures("folder")

#: 1 s at a factor of 0.5, and two messages of 11 + 40 + 5 us.
MAKESPAN = 0.5 + 2 * 56e-6


def test_explanation_is_part_of_the_document(capsys: pytest.CaptureFixture[str]) -> None:
    """``--json`` prints one document, which holds the explanation beside the keys of any simulation."""
    assert main(["simulate", "run.yaml", "--explain", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    explanation = document["explanation"]
    assert document["makespan"] == pytest.approx(MAKESPAN)
    assert sum(each["seconds"] for each in explanation["critical_path"]) == pytest.approx(MAKESPAN)
    assert explanation["sensitivities"][0]["parameter"] == "node_types.host.performance_factor"


@pytest.mark.long
def test_explanation_is_printed_and_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    """Tables of the critical path and the sensitivities follow those of the simulation; one more picture is written."""
    assert main(["simulate", "run.yaml", "--explain", "--plots", "plots"]) == 0
    out = capsys.readouterr().out
    assert out.index("makespan") < out.index("Critical path") < out.index("Sensitivity")
    assert Path("plots/explanation.png").exists()


def test_without_the_option_nothing_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    """Without ``--explain`` the document has no explanation."""
    assert main(["simulate", "run.yaml", "--json"]) == 0
    assert "explanation" not in json.loads(capsys.readouterr().out)


def test_ranking_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    """For a comparison, the explanation is what the first place depends on."""
    text = Path("which.yaml").read_text()
    Path("which.yaml").write_text(text.replace("2000 EUR", "9000 EUR"))
    assert main(["simulate", "which.yaml", "--explain", "--json"]) == 0
    explanation = json.loads(capsys.readouterr().out)["explanation"]
    assert (explanation["options"], explanation["lead"], explanation["altering"]) == (["two", "four"], 0.0, [])
    assert main(["simulate", "which.yaml", "--explain"]) == 0
    assert "What the first place of two depends on" in capsys.readouterr().out


def _interrupt(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_interrupted_explanation_leaves_the_ranking(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C during the explanation keeps the whole ranking, and a message says what was left out."""
    monkeypatch.setattr("clue.cli.simulate.explain_ranking", _interrupt)
    assert main(["simulate", "which.yaml", "--explain", "--json"]) == INTERRUPTED
    captured = capsys.readouterr()
    assert json.loads(captured.out)["ranking"][0]["option"] == "two"
    assert "left out" in captured.err


def test_interrupted_timelines_leave_the_ranking(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C while the page's timelines are simulated keeps the whole ranking, and the page without them."""
    monkeypatch.setattr("clue.cli.simulate.tasks_of", _interrupt)
    line = ["simulate", "which.yaml", "--html", "r.html", "--explain", "--json"]
    assert main(line) == INTERRUPTED
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert document["ranking"][0]["option"] == "two" and "explanation" not in document
    assert "interrupted: the timelines and the explanation of the first place are left out" in captured.err
    assert Path("r.html").exists()
