"""The Pareto front found with few simulations equals the front of all options, worked out in full."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clue.predict.replaying import ReplayPredictor
from clue.purchase import Criterion, Scenario, rank_options
from clue.purchase.queueing import QUEUED
from clue.purchase.scores import twelve_digits
from tests.properties import examples
from tests.purchase.in_full import all_outcomes, whole_ranking
from tests.purchase.test_search import bounds_of_quality, many, scenarios, trace

HIGHER = {Criterion.POINTS, Criterion.THROUGHPUT, Criterion.SSP, Criterion.SSI}
#: Criteria that need neither a queue nor the figures of all options.
BOUNDED = [each for each in Criterion if each not in QUEUED and each is not Criterion.WEIGHTED]


def whole_front(scenario: Scenario) -> set[str]:
    """Return the front by its definition, from rankings worked out in full."""
    found = all_outcomes(scenario, trace)
    tables = [dict(whole_ranking(replace(scenario, criterion=each), trace, found)) for each in scenario.pareto]
    signs = [-1 if each in HIGHER else 1 for each in scenario.pareto]
    rows = {
        name: tuple(sign * twelve_digits(table[name]) for sign, table in zip(signs, tables, strict=True))
        for name in tables[0]
    }

    def beaten(row: tuple[float, ...]) -> bool:
        return any(all(a <= b for a, b in zip(o, row, strict=True)) and o != row for o in rows.values())

    return {name for name, row in rows.items() if not beaten(row)}


CRITERIA = st.lists(st.sampled_from(BOUNDED), min_size=2, max_size=3, unique=True)


@pytest.mark.long
@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    scenario=scenarios(),
    criteria=CRITERIA,
    top=st.integers(1, 4),
    qualities=st.lists(st.sampled_from((0.0, 0.3, 0.9, 1.0)), min_size=1),
    few=st.sampled_from((0, 2000)),
)
def test_the_front_is_that_of_all_options_whatever_the_bounds(  # noqa: PLR0917 - hypothesis names them
    scenario: Scenario,
    criteria: list[Criterion],
    top: int,
    qualities: list[float],
    few: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The front and its figures are correct for any number of positions and any quality of bounds."""
    monkeypatch.setattr("clue.predict.replaying.contention_free", bounds_of_quality(qualities))
    monkeypatch.setattr("clue.purchase.search._FEW_RUNS", few)
    asked = replace(scenario, pareto=tuple(criteria))
    ranking = rank_options(asked, ReplayPredictor(trace), top=top)
    assert ranking.pareto is not None
    assert set(ranking.pareto) == whole_front(asked)
    entries = {entry.option: entry for entry in ranking.entries}
    assert len(entries) == len(ranking.entries)
    for criterion in criteria:
        true = dict(whole_ranking(replace(scenario, criterion=criterion), trace, all_outcomes(scenario, trace)))
        for name in ranking.pareto:
            assert entries[name].figures[criterion] == pytest.approx(true[name], rel=1e-9)
            assert entries[name].workloads


def test_few_of_many_options_are_simulated_for_the_front(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fastest of 300 options is also best in energy and forms the front; few options are simulated to find it."""
    monkeypatch.setattr("clue.predict.replaying.contention_free", bounds_of_quality([0.99]))
    monkeypatch.setattr("clue.purchase.search._FEW_RUNS", 0)
    asked = replace(many(Criterion.MAKESPAN), pareto=(Criterion.MAKESPAN, Criterion.ENERGY_PER_RUN))
    ranking = rank_options(asked, ReplayPredictor(trace), top=1)
    assert ranking.pareto == ("0",)
    assert ranking.simulations < 60
