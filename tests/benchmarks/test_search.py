"""The search over generated parts, compared with a full evaluation of random subsets."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from benchmarks.speed.search import PROGRAMS, subset, write
from clue.config import load_config
from clue.predict.application import Application
from clue.predict.replaying import ReplayPredictor
from clue.purchase import Criterion, Scenario, rank_options
from clue.purchase.questions.answers import Cheapest
from clue.trace import Trace, TraceBuilder


@cache
def trace(name: str, ranks: int) -> Trace:
    """Return one round of a program."""
    built = TraceBuilder(ranks, name)
    PROGRAMS[name](built, ranks)
    return built.build()


def source(application: Application, ranks: int) -> Trace:
    """Return the trace that the scenario's file contains."""
    return trace(Path(application.trace or "").name.split("-")[0], ranks)


@pytest.fixture(scope="module")
def scenario(tmp_path_factory: pytest.TempPathFactory) -> Scenario:
    """Write and load the comparison with few numbers of nodes."""
    loaded = load_config(write(tmp_path_factory.mktemp("search"), rounds=1, counts="[1, 2]"))
    assert isinstance(loaded, Scenario)
    return loaded


@pytest.mark.long
@pytest.mark.parametrize("criterion", [Criterion.TOTAL_COST, Criterion.POINTS])
def test_the_first_and_the_front_of_500_options_are_those_of_all_simulated(
    scenario: Scenario, criterion: Criterion, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For 500 generated clusters with all limits, the search finds the first 20, the Pareto front and the cheapest."""
    monkeypatch.setattr("clue.purchase.search._FEW_RUNS", 0)
    asked = subset(replace(scenario, criterion=criterion), 500, seed=7)
    found = rank_options(asked, ReplayPredictor(source, engine="fast"), top=20)
    whole = rank_options(asked, ReplayPredictor(source, engine="fast"), top=len(asked.options))
    every = [(each.option, each.score) for each in whole.entries if each.position is not None]
    first = [(each.option, each.score) for each in found.entries if each.position is not None]
    assert len(every) > 50
    assert first == every[:20]
    assert set(found.pareto or ()) == set(whole.pareto or ())
    assert found.answers.cheapest == whole.answers.cheapest
    assert isinstance(found.answers.cheapest, Cheapest) and found.answers.cheapest.option
    assert found.simulations < whole.simulations
