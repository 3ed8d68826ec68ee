"""Runs of skeletons compared with runs of their applications."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clue.cli import main
from clue.config.validations import load_validation
from clue.errors import ConfigError
from clue.skeleton.construction import recording_of
from clue.trace import Trace, TraceBuilder


def written(folder: Path, text: str, **keys: object) -> str:
    """Write a validation and a skeleton's outputs: 2 s here, 5 s where the application took 50 s; return its path."""
    run = {"skeleton": "feed", "ranks": 2, "seconds": 2.0, "scale": 9.0, "application": 50.0} | keys
    (folder / "here.json").write_text(json.dumps(run))
    (folder / "told.json").write_text(json.dumps({**run, "dedicated": 5.0}))
    (folder / "alone.json").write_text(json.dumps({**run, "seconds": 5.0}))
    (folder / "v.yaml").write_text(text)
    return str(folder / "v.yaml")


ONE = "{machine: kishimoto, cases: [{program: lu, measured: [24, 25, 26], measured_skeleton: SKELETON}]}"


@pytest.mark.parametrize("skeleton", ["told.json", "{here: here.json, dedicated: alone.json}"])
def test_a_skeleton_is_held_against_its_application(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], skeleton: str
) -> None:
    """The skeleton predicts 2 s × 50 / 5 = 20 s for a median run of 25 s, so it is 20 % too short.

    All runs lie above the interval's end, 20 s × e^(1.28 · 0.084).
    """
    assert main(["validate", written(tmp_path, ONE.replace("SKELETON", skeleton)), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (case,) = found["cases"]
    assert (case["predicted"], case["measured"], case["ranks"]) == (20.0, 25.0, 2)
    assert case["error"] == pytest.approx(-0.2)
    assert case["interval"]["high"] == pytest.approx(20 * 2.718281828 ** (1.2815516 * 0.084))
    assert (case["covered"], found["refits"]) == (0.0, [])
    assert any("measured by a skeleton, not simulated" in each for each in found["warnings"])


def test_skeletons_alone_are_not_recorded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``--repeats`` is refused where every case was measured by a skeleton."""
    assert main(["validate", written(tmp_path, ONE.replace("SKELETON", "told.json")), "--repeats", "2"]) == 2
    assert "v: --repeats must go with a script to record, got runs of skeletons only" in capsys.readouterr().err


def test_a_table_has_them_in_a_column(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A row of a CSV table can name the output of a skeleton."""
    (tmp_path / "t.csv").write_text("program,machine,measured,measured_skeleton\nlu,kishimoto,25,told.json\n")
    assert main(["validate", written(tmp_path, "table: t.csv"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cases"][0]["predicted"] == 20.0


@pytest.mark.parametrize("program", ["lu, programs: {lu: {trace: 'lu.{ranks}.clue'}}", "{trace: lu.2.clue}"])
def test_a_skeleton_of_another_program_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], program: str
) -> None:
    """A skeleton must be made from the recording of the case's program; an older run is accepted with a note."""
    TraceBuilder(2, "lu.py").build().save(tmp_path / "lu.2.clue")
    own = recording_of(Trace.open(tmp_path / "lu.2.clue"))
    text = f"{{machine: kishimoto, cases: [{{measured: 25, measured_skeleton: told.json}}], program: {program}}}"
    with pytest.raises(ConfigError, match=rf"told.json: recording must be {own} of .*lu.2.clue, got beef"):
        load_validation(written(tmp_path, text, recording="beef"))
    for recording, noted in (({}, True), ({"recording": own}, False)):
        assert main(["validate", written(tmp_path, text, **recording), "--json"]) == 0
        warnings = json.loads(capsys.readouterr().out)["warnings"]
        assert any("could not be checked" in each for each in warnings) == noted


def test_nothing_is_learned_from_skeletons(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Model errors are learned from simulations only, so skeletons alone are refused."""
    monkeypatch.setenv("CLUE_MODEL_ERROR", str(tmp_path / "model-error.yaml"))
    assert main(["validate", written(tmp_path, ONE.replace("SKELETON", "told.json")), "--learn"]) == 2
    assert "--learn must have cases that are simulated, got none" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("case", "rule"),
    [
        (
            "{measured: 25, measured_skeleton: none.json}",
            'measured_skeleton must be a file that exists, got "none.json"',
        ),
        ("{measured: 25, ranks: 4, measured_skeleton: told.json}", "must have 4 ranks like the case, got 2"),
        ("{measured: 25, instances: 2, measured_skeleton: told.json}", "must be a case with 1 instance"),
    ],
)
def test_what_a_case_must_not_say(tmp_path: Path, case: str, rule: str) -> None:
    """A wrong key in a case is refused with place, rule and value."""
    with pytest.raises(ConfigError, match=rule):
        load_validation(written(tmp_path, f"{{machine: kishimoto, cases: [{case}]}}"))
