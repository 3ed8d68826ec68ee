"""Predictions of an application's time from runs of its skeleton."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clue.caveats import Said, gathered
from clue.cli import main
from clue.config.skeleton_runs import load_skeleton_run
from clue.errors import ConfigError, SkeletonError
from clue.skeleton.prediction import DEVIATION, UNMEASURED, SkeletonRun, predict

#: The application took 100 s when it was recorded; its skeleton was built to take 10 s and takes 30 s here.
HERE = SkeletonRun("here.json", "0123456789abcdef", 8, 30.0, 10.0, 100.0)
#: On the host of the recording the skeleton takes 12.5 s, so the measured scaling ratio is 8.
ALONE = replace(HERE, place="alone.json", seconds=12.5)


def test_by_the_measured_scaling_ratio() -> None:
    """By the measured ratio, the prediction is 30 s × (100 s / 12.5 s) = 240 s."""
    measured = predict(HERE, ALONE)
    assert (measured.seconds, measured.scale, measured.is_ratio_measured) == (240.0, 8.0, True)
    assert measured.deviation == DEVIATION
    assert [caveat.said for caveat in measured.caveats("lu")] == ["this was measured by a skeleton, not simulated"]


def test_computation_and_communication_have_ratios_of_their_own() -> None:
    """12 s of computation and 18 s of communication make 12 × 7.5 + 18 × 10 = 270 s.

    On the host of the recording the skeleton computes for 10 s and communicates for 2.5 s. The latter correspond to 25
    s of the application's 100 s, so its computation takes 7.5 times as long as the skeleton's.
    """
    alone = replace(ALONE, compute=0.8)
    assert predict(replace(HERE, compute=0.4), alone).seconds == pytest.approx(270.0)
    assert predict(alone, alone).seconds == pytest.approx(100.0)
    assert predict(replace(HERE, compute=0.4, dedicated=12.5, dedicated_compute=0.8)).seconds == pytest.approx(270.0)


def test_one_ratio_where_nothing_tells_the_parts_apart() -> None:
    """One ratio is used if a share of computation is unknown, or if the parts cannot be told apart.

    The latter holds where the skeleton's 11 s of communication exceed the application's, and where all is
    communication.
    """
    for here, alone in ((0.4, None), (None, 0.8), (0.4, 0.12), (0.4, 0.0)):
        assert predict(replace(HERE, compute=here), replace(ALONE, compute=alone)).seconds == 240.0


SECONDS, SHARES = st.floats(1.0, 1e3), st.floats(0.0, 1.0)


@example(2.0, (1.0, 5e-324), (1.0, 0.5), 1.0)  # computation divided by its share overflows
@given(SECONDS, st.tuples(SECONDS, SHARES), st.tuples(SECONDS, SHARES), st.floats(1.0, 100.0))
def test_the_dedicated_run_predicts_the_recorded_time(
    application: float, alone: tuple[float, float], here: tuple[float, float], scale: float
) -> None:
    """The prediction from the dedicated run is the recorded time, and doubling a run doubles its prediction."""
    dedicated = replace(ALONE, seconds=alone[0], compute=alone[1], scale=scale, application=application)
    assert predict(dedicated, dedicated).seconds == pytest.approx(application)
    run = replace(dedicated, seconds=here[0], compute=here[1])
    twice = replace(run, seconds=2 * here[0])
    assert predict(twice, dedicated).seconds == pytest.approx(2 * predict(run, dedicated).seconds)


def test_an_application_that_was_measured_elsewhere() -> None:
    """If the application takes 150 s on the dedicated host, the ratio is 150 / 12.5 = 12, and 30 s predict 360 s."""
    assert predict(HERE, ALONE, 150.0).seconds == 360.0


def test_a_run_that_knows_the_dedicated_time() -> None:
    """A run that states the dedicated time gives the same prediction as with a separate dedicated run."""
    assert predict(replace(HERE, dedicated=12.5)).seconds == 240.0


def test_without_a_dedicated_run_the_scale_is_a_wish() -> None:
    """Without a dedicated run, the prediction is 30 s × 10; a remark says so, and the interval is wider."""
    measured = predict(HERE)
    assert (measured.seconds, measured.is_ratio_measured) == (300.0, False)
    assert measured.deviation == pytest.approx(math.hypot(DEVIATION, UNMEASURED))
    assert "its scale of 10 is the intended one" in list(measured.caveats("lu"))[1]


def test_of_several_intended_scales_the_largest_is_told() -> None:
    """Skeletons built for a tenth and a twentieth of the time share a warning, which states the larger scale."""
    runs = {"lu": predict(HERE), "cg": predict(replace(HERE, scale=20.0))}
    said = [Said(caveat, "here", name) for name, run in runs.items() for caveat in run.caveats(name)]
    (_, line) = gathered(said, ["here"], "machines")
    assert line.startswith("lu, cg: ")
    assert "its scale of up to 20 is the intended one" in line


def test_runs_that_differ_widen_the_interval() -> None:
    """Two runs differ by a factor e: their deviation of 1/√2, times √(π/4) for the median, widens the interval."""
    twice = replace(HERE, runs=(30.0, 30.0 * math.e))
    expected = math.hypot(DEVIATION, math.sqrt(1 / 2) * math.sqrt(math.pi / 4))
    assert predict(twice, ALONE).deviation == pytest.approx(expected)


def test_two_skeletons_are_told_apart() -> None:
    """Runs of two different skeletons, or on different numbers of ranks, are refused."""
    with pytest.raises(SkeletonError, match=r"here.json: skeleton must be feed of alone.json, got 0123456789abcdef"):
        predict(HERE, replace(ALONE, skeleton="feed"))
    with pytest.raises(SkeletonError, match=r"here.json: ranks must be 4 as in alone.json, got 8"):
        predict(HERE, replace(ALONE, ranks=4))


def written(path: Path, run: SkeletonRun, **others: object) -> str:
    """Write a skeleton's output as JSON with some keys changed; a key with value ``None`` is left out."""
    keys = {name: getattr(run, name) for name in ("skeleton", "ranks", "seconds", "scale", "application")} | others
    path.write_text(json.dumps({name: value for name, value in keys.items() if value is not None}))
    return str(path)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command prints seconds, scale and the 80 % interval as JSON and as text."""
    here, alone = written(tmp_path / "here.json", HERE), written(tmp_path / "alone.json", ALONE)
    assert main(["skeleton", "predict", "--dedicated", alone, "--here", here, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["seconds"], found["scale"], found["measured_ratio"]) == (240.0, 8.0, True)
    assert (found["skeleton_seconds"], found["application"]) == (30.0, 100.0)
    assert found["low"] < 240.0 < found["high"]
    assert main(["skeleton", "predict", "--dedicated", alone, "--here", here]) == 0
    told = capsys.readouterr().out
    assert "240 s on 8 ranks" in told
    assert "8, measured where it was recorded" in told


@pytest.mark.parametrize(
    ("key", "value", "rule"),
    [
        ("seconds", -1, r"seconds must be above 0, got -1"),
        ("seconds", None, r"seconds must be given"),
        ("skeleton", 7, r"skeleton must be text, got 7"),
        ("ranks", 0, r"ranks must be at least 1, got 0"),
        ("colour", "red", r"colour"),
    ],
)
def test_files_that_no_skeleton_wrote(tmp_path: Path, key: str, value: object, rule: str) -> None:
    """A wrong key in a skeleton's output is an error with file, line and rule."""
    path = tmp_path / "here.json"
    written(path, HERE, **{key: value})
    with pytest.raises(ConfigError, match=rf"here.json:1:\d+: {rule}|here.json: {rule}"):
        load_skeleton_run(path)


def test_a_file_of_something_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Files of another skeleton, missing files and --application without --dedicated give exit status 2."""
    here = written(tmp_path / "here.json", HERE)
    other = written(tmp_path / "other.json", ALONE, skeleton="feedfeedfeedfeed")
    assert main(["skeleton", "predict", "--dedicated", other, "--here", here]) == 2
    assert "skeleton must be feedfeedfeedfeed of" in capsys.readouterr().err
    assert main(["skeleton", "predict", "--here", str(tmp_path / "none.json")]) == 2
    assert "none.json: file must be readable" in capsys.readouterr().err
    assert main(["skeleton", "predict", "--here", here, "--application", "3"]) == 2
