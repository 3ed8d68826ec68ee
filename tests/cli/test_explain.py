"""``clue simulate --explain`` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clue.cli import main
from tests.cli import test_commands

pytestmark = pytest.mark.usefixtures("folder")
folder = test_commands.folder

#: 1 s at a factor of 0.5, and two messages of 11 + 40 + 5 us.
MAKESPAN = 0.5 + 2 * 56e-6


def test_explanation_is_part_of_the_document(capsys: pytest.CaptureFixture[str]) -> None:
    """With --json all is one document, beside the keys of any simulation."""
    assert main(["simulate", "run.yaml", "--explain", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    explanation = document["explanation"]
    assert document["makespan"] == pytest.approx(MAKESPAN)
    assert sum(each["seconds"] for each in explanation["critical_path"]) == pytest.approx(MAKESPAN)
    assert explanation["sensitivities"][0]["parameter"] == "node_types.host.performance_factor"


def test_explanation_is_printed_and_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    """Tables below those of the simulation, and one more picture."""
    assert main(["simulate", "run.yaml", "--explain", "--plots", "plots"]) == 0
    out = capsys.readouterr().out
    assert out.index("makespan") < out.index("Critical path") < out.index("Sensitivity")
    assert Path("plots/explanation.png").exists()


def test_without_the_option_nothing_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    """A plain simulation stays as it is."""
    assert main(["simulate", "run.yaml", "--json"]) == 0
    assert "explanation" not in json.loads(capsys.readouterr().out)
