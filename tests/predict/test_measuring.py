"""Comparisons in which some options were measured by skeletons, beside other predictors."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path

import pytest

from clue.cli.comparing import check_repeats
from clue.config import load_config
from clue.errors import ConfigError, UsageError
from clue.predict.application import Application
from clue.predict.dispatching import DispatchingPredictor
from clue.predict.measuring import SkeletonPredictor
from clue.purchase import Component, Criterion, Option, Scenario, Workload, rank_options
from clue.skeleton.construction import recording_of
from clue.skeleton.prediction import SkeletonRun, predict
from clue.trace import Trace, TraceBuilder
from clue.uncertainty import Sampling
from tests.kernel.cases import machine
from tests.predict.test_predictor import Formula
from tests.uncertainty.test_model_error import known

MEASURED = predict(SkeletonRun("here.json", "feed", 2, 0.5, 10.0, 100.0, dedicated=10.0))


def scenario(*options: Option, ranks: tuple[int, ...] = (2,)) -> Scenario:
    """Return a comparison by makespan for a program that takes 12 s over its ranks by Formula."""
    workload = Workload("w", (Component("w", Application(trace="other")),), ranks=ranks)
    return Scenario("by skeleton", (workload,), options, criterion=Criterion.MAKESPAN)


def asked(formula: Formula) -> DispatchingPredictor:
    """Return a predictor that uses measured skeletons where there are any, and a formula otherwise."""
    return DispatchingPredictor([SkeletonPredictor()], formula)


def test_a_measured_option_beside_a_predicted_one() -> None:
    """The measured option takes 0.5 s × (100 / 10) = 5 s, the predicted one 12 / 2 = 6 s."""
    options = Option("drawn", machine(2)), Option("there", machine(2), measured={"w": MEASURED})
    ranking = rank_options(scenario(*options), asked(Formula()))
    assert [(each.option, each.score) for each in ranking.entries] == [("there", 5.0), ("drawn", 6.0)]
    assert ranking.warnings == ("w on there: this was measured by a skeleton, not simulated",)


def test_nobody_is_asked_what_was_measured_everywhere() -> None:
    """If all options were measured, the other predictor is not asked, so nothing is recorded."""
    formula = Formula()
    ranking = rank_options(scenario(Option("there", machine(2), measured={"w": MEASURED})), asked(formula))
    assert ranking.entries[0].score == 5.0
    assert formula.wanted == []


def test_repeats_have_no_effect_on_what_was_measured_everywhere() -> None:
    """If the skeleton was run on all options, nothing is recorded, so a number of recordings is refused."""
    there, drawn = Option("there", machine(2), measured={"w": MEASURED}), Option("drawn", machine(2))
    arguments = argparse.Namespace(repeats=2)
    check_repeats(scenario(there, drawn), arguments)
    rule = "by skeleton: --repeats must go with a script to record, got runs of skeletons only"
    with pytest.raises(UsageError, match=rule):
        check_repeats(scenario(there), arguments)


def test_only_the_ranks_of_the_skeleton_count() -> None:
    """A measured option has the skeleton's 2 ranks, although the formula would give 3 s on 4 ranks."""
    option = Option("there", machine(4), measured={"w": MEASURED})
    ranking = rank_options(scenario(option, ranks=(4, 2)), asked(Formula()))
    (workload,) = ranking.entries[0].workloads
    assert (workload.ranks, workload.makespan) == (2, 5.0)


def test_samples_are_drawn_from_what_skeletons_are_off_by() -> None:
    """Samples of a measured option spread by the deviation of skeletons."""
    option = Option("there", machine(2), measured={"w": MEASURED})
    other = Option("there, too", machine(2), measured={"w": replace(MEASURED, place="other.json", seconds=8.0)})
    ranking = rank_options(scenario(option, other), asked(Formula()), sampling=Sampling(400, 1))
    first = ranking.entries[0]
    assert first.option == "there"
    assert first.spread is not None
    assert 4.3 < first.spread.low < 4.7
    assert 5.3 < first.spread.high < 5.8


def test_errors_of_simulations_do_not_count_for_skeletons() -> None:
    """Simulations are off by 50 %: 6 s by a formula are 3.2 to 11.4 s, 5 s by a skeleton 4.5 to 5.6 s as without."""
    options = Option("there", machine(2), measured={"w": MEASURED}), Option("drawn", machine(2))
    ranking = rank_options(scenario(*options), asked(Formula()), sampling=Sampling(400, 1), error=known(0.5))
    spreads = {entry.option: entry.spread for entry in ranking.entries}
    there, drawn = spreads["there"], spreads["drawn"]
    assert there is not None and drawn is not None
    assert 4.3 < there.low < 4.7
    assert 5.3 < there.high < 5.8
    assert drawn.low < 4
    assert drawn.high > 9


def test_instances_beside_each_other_are_not_what_a_skeleton_says() -> None:
    """Two instances on four nodes are said to take 5 s each, as a skeleton took alone; one after the other do so."""
    said = "w: 2 instances run side by side, each for as long as the skeleton says"
    for nodes, makespan in ((4, 5.0), (2, 10.0)):
        single = scenario(Option("there", machine(nodes), measured={"w": MEASURED}))
        two = replace(single, workloads=(replace(single.workloads[0], instances=2),))
        ranking = rank_options(two, asked(Formula()))
        assert ranking.entries[0].score == makespan
        assert any(said in each for each in ranking.warnings) == (nodes == 4)


CONFIG = """\
workloads:
  heat: {program: {trace: "heat.clue"}, ranks: 2}
  both:
    ranks: 2
    kernels: {a: {program: {trace: "heat.clue"}, share: 1}, b: {program: {trace: "heat.clue"}, share: 1}}
options:
  there:
    machine: kishimoto
    measured_skeleton: {SKELETON}
"""


def loaded(folder: Path, skeleton: str, **keys: object) -> Scenario:
    """Load a comparison with a run of a skeleton, some of whose keys are changed."""
    run = {"skeleton": "feed", "ranks": 2, "seconds": 0.5, "scale": 10.0, "application": 100.0} | keys
    (folder / "here.json").write_text(json.dumps(run))
    (folder / "alone.json").write_text(json.dumps({**run, "seconds": 20.0}))
    (folder / "other.json").write_text(json.dumps({**run, "skeleton": "f00d"}))
    TraceBuilder(2, "heat.py").build().save(folder / "heat.clue")
    (folder / "c.yaml").write_text(CONFIG.replace("SKELETON", skeleton))
    config = load_config(folder / "c.yaml")
    assert isinstance(config, Scenario)
    return config


@pytest.mark.parametrize(
    ("skeleton", "seconds"),
    [
        ("heat: here.json", 5.0),
        ("heat: {here: here.json, dedicated: alone.json}", 2.5),
        ("heat: {here: here.json, dedicated: alone.json, application: 2 min}", 3.0),
    ],
)
def test_what_an_option_says(tmp_path: Path, skeleton: str, seconds: float) -> None:
    """0.5 s scaled by 10, by 100 s / 20 s and by 120 s / 20 s."""
    assert loaded(tmp_path, skeleton).options[0].measured["heat"].seconds == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("skeleton", "rule"),
    [
        ("haet: here.json", r'measured_skeleton.haet must be a workload \(heat, both\), got "haet"'),
        ("both: here.json", "must be a workload with one program, got 2 kernels"),
        ("heat: none.json", 'must be a file that exists, got "none.json"'),
        ("heat: {here: here.json, dedicated: other.json}", "skeleton must be f00d of .*other.json, got feed"),
        ("heat: {here: here.json, application: 3}", "application must be given with dedicated, got none"),
        ("heat: {here: heat.clue}", "must be a file that exists"),
    ],
)
def test_what_an_option_must_not_say(tmp_path: Path, skeleton: str, rule: str) -> None:
    """A wrong entry for a skeleton is refused with place, rule and value."""
    with pytest.raises(ConfigError, match=rule):
        loaded(tmp_path, skeleton)


def test_a_skeleton_of_another_program_is_refused(tmp_path: Path) -> None:
    """A skeleton must be made from the workload's recording, if its run states from which one it was made."""
    other = recording_of(TraceBuilder(2, "sort.py").build())
    with pytest.raises(ConfigError, match=rf"here.json: recording must be \w+ of .*heat.clue, got {other}") as raised:
        loaded(tmp_path, "heat: {here: here.json, dedicated: alone.json}", recording=other)
    assert "options.there.measured_skeleton.heat" in str(raised.value)
    saved = recording_of(Trace.open(tmp_path / "heat.clue"))
    measured = loaded(tmp_path, "heat: here.json", recording=saved).options[0].measured["heat"]
    assert (measured.recording, measured.is_unchecked) == (saved, False)


def test_an_older_run_is_accepted_with_a_note(tmp_path: Path) -> None:
    """A run that does not state its recording is accepted; a note says that it could not be checked."""
    measured = loaded(tmp_path, "heat: here.json").options[0].measured["heat"]
    assert any("could not be checked" in each for each in measured.caveats("heat"))
    assert not any("could not be checked" in each for each in MEASURED.caveats("heat"))


def test_ranks_that_the_recording_has_not(tmp_path: Path) -> None:
    """A skeleton of 3 ranks is refused for a recording on 2 ranks, even if the workload says 3."""
    loaded(tmp_path, "heat: here.json")
    text = (tmp_path / "c.yaml").read_text().replace("ranks: 2", "ranks: 3", 1)
    (tmp_path / "c.yaml").write_text(text)
    (tmp_path / "here.json").write_text((tmp_path / "here.json").read_text().replace('"ranks": 2', '"ranks": 3'))
    with pytest.raises(ConfigError, match=r"here.json: ranks must be 2 as in .*heat.clue, got 3"):
        load_config(tmp_path / "c.yaml")


def test_ranks_that_the_workload_has_not(tmp_path: Path) -> None:
    """A skeleton of 3 ranks is refused for a workload on 2 ranks."""
    with pytest.raises(ConfigError, match=r"must have a number of ranks that the workload allows \(2\), got 3"):
        loaded(tmp_path, "heat: here.json", ranks=3)
