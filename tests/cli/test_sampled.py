"""``clue simulate --sampled``: the part that was simulated, its interval, and why all was replayed if it was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clue.cli import main
from tests.cli import test_commands
from tests.steady.programs import looped
from tests.steady.test_simulate import ping_pong

folder = test_commands.folder
pytestmark = pytest.mark.usefixtures("folder")


@pytest.fixture
def config() -> str:
    """Save a ping-pong of 400 iterations, and what is to be simulated."""
    looped(2, 400, ping_pong).save("long.clue")
    Path("long.yaml").write_text("program: {trace: long.clue}\nmachine: pair.yaml\n")
    return "long.yaml"


def test_the_document_tells_part_and_interval(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    """400 × (0.5 s + 2 × (11 + 40 + 5 us)) + 0.125 s, of 40 iterations at most and what is beside the loop."""
    assert main(["simulate", config, "--sampled", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    makespan = 400 * (0.5 + 2 * 56e-6) + 0.125
    assert told["makespan"] == pytest.approx(makespan)
    part = told["sampled"]
    assert part["of"] == 4 * 400 + 2
    assert part["ops"] == told["ops"] <= 0.1 * part["of"]
    assert part["low"] == pytest.approx(makespan) == part["high"]
    assert (part["level"], part["why"]) == (0.8, None)
    assert part["loops"] == [{"name": "loop.py:10", "iterations": 400, "simulated": (part["ops"] - 2) / 4}]
    for rank in told["ranks"]:
        assert rank["compute"] + rank["communicate"] + rank["wait"] == pytest.approx(rank["finish"])


def test_the_text_tells_them_too(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Interval, iterations and ops."""
    assert main(["simulate", config, "--sampled"]) == 0
    shown = capsys.readouterr().out
    for words in ("80 % interval", "of 400 iterations of loop.py:10", " of 1,602"):
        assert words in shown


def test_a_program_that_is_not_steady_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    """Without call sites, all is replayed: the figures are those of a whole simulation."""
    assert main(["simulate", "run.yaml", "--sampled", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert main(["simulate", "run.yaml", "--json"]) == 0
    assert told["makespan"] == json.loads(capsys.readouterr().out)["makespan"]
    assert told["sampled"]["ops"] == told["sampled"]["of"] == told["ops"]
    assert "must know call sites" in told["sampled"]["why"]
    assert told["sampled"]["low"] is None
    assert any("all was replayed" in warning for warning in told["warnings"])
