"""The cheapest option that meets all deadlines, compared with a ranking worked out in full."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clue.predict.replaying import ReplayPredictor
from clue.purchase import Criterion, Limits, Ranking, Scenario, rank_options
from clue.purchase.questions.answers import Cheapest, Nearest
from clue.report.answers.text import cheapest_sentences
from clue.units import MONTH, Money
from tests.properties import examples
from tests.purchase.in_full import all_outcomes, whole_ranking
from tests.purchase.test_ranking import option, scenario, traces, workload
from tests.purchase.test_search import bounds_of_quality, scenarios, trace


def ranked(deadline: float = math.inf, criterion: Criterion = Criterion.MAKESPAN, top: int | None = None) -> Ranking:
    """Rank one, two and four nodes, on which 12 s of work take 12, 6 and 3 s."""
    options = (option("one", 1, 100), option("two", 2, 300), option("four", 4, 900))
    job = workload(ranks=(1, 2, 4), deadline=deadline)
    return rank_options(scenario(*options, workloads=(job,), criterion=criterion), ReplayPredictor(traces), top=top)


def test_the_cheapest_in_time_need_not_be_the_first() -> None:
    """Two nodes meet a deadline of 7 s and are cheapest, although four nodes rank first by makespan."""
    ranking = ranked(7.0)
    assert ranking.entries[0].option == "four"
    assert ranking.answers.cheapest == Cheapest("two", Money(300, "EUR"))


def test_it_is_found_beyond_the_first() -> None:
    """The cheapest option is found even if only the first position is requested."""
    assert ranked(7.0, top=1).answers.cheapest == Cheapest("two", Money(300, "EUR"))


def test_where_none_is_in_time_the_nearest_is_named() -> None:
    """No option meets a deadline of 2 s; the nearest is four nodes with 3 s, whichever option ranks first."""
    for criterion in (Criterion.MAKESPAN, Criterion.TOTAL_COST):
        found = ranked(2.0, criterion).answers.cheapest
        assert found == Cheapest("", nearest=(Nearest("job", 2.0, "four", pytest.approx(3.0)),))  # type: ignore[arg-type]
        assert found is not None
        assert cheapest_sentences(found) == [
            "job within 2 s: none of the options meets it; the nearest is four with 3 s."
        ]


def test_runs_a_month_have_to_be_done_as_well() -> None:
    """500,000 runs a month of 6 s each exceed a month on two nodes, but fit on four nodes."""
    options = (option("two", 2, 300), option("four", 4, 900))
    job = workload(ranks=(1, 2, 4), demand=500_000 / MONTH)
    ranking = rank_options(scenario(*options, workloads=(job,)), ReplayPredictor(traces))
    assert ranking.answers.cheapest == Cheapest("four", Money(900, "EUR"))


def test_each_deadline_may_be_met_and_all_of_them_by_none() -> None:
    """If each deadline is met by some option but no option meets all, the answer says so."""
    limits = Limits(total_cost=Money(800, "EUR"))
    jobs = (workload(ranks=(1, 2, 4), deadline=4.0),)
    asked = scenario(option("two", 2, 300), option("four", 4, 900), workloads=jobs, limits=limits)
    found = rank_options(asked, ReplayPredictor(traces)).answers.cheapest
    assert found is not None and not found.nearest
    assert cheapest_sentences(found) == [
        "None of the options meets every deadline and limit. two: job: a run must end within 4 s, got 6 s. "
        "four: total cost must be at most 800 EUR, got 900 EUR."
    ]


def test_nothing_is_asked_without_deadlines_or_prices() -> None:
    """Without deadlines, or without prices, there is no answer."""
    assert ranked().answers.cheapest is None
    job = workload(ranks=(1,), deadline=99.0)
    assert rank_options(scenario(option("one", 1), workloads=(job,)), ReplayPredictor(traces)).answers.cheapest is None


@settings(max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(scenario=scenarios(), top=st.integers(1, 3), quality=st.sampled_from((0.0, 0.9)))
def test_it_is_the_first_by_total_cost_of_those_in_time(
    scenario: Scenario, top: int, quality: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cheapest option is the first by total cost, for any ranking criterion and any quality of bounds.

    There is no answer only if none is asked for, or if no option can run all workloads.
    """
    monkeypatch.setattr("clue.predict.replaying.contention_free", bounds_of_quality([quality]))
    monkeypatch.setattr("clue.purchase.search._FEW_RUNS", 0)
    found = rank_options(scenario, ReplayPredictor(trace), top=top).answers.cheapest
    outcomes = all_outcomes(scenario, trace)
    whole = whole_ranking(replace(scenario, criterion=Criterion.TOTAL_COST), trace, outcomes)
    if not outcomes or all(each.deadline == math.inf and each.demand is None for each in scenario.workloads):
        assert found is None
        return
    assert found is not None
    assert found.option == (whole[0][0] if whole else "")
    assert (found.total is None) == (not whole)
    if found.total is not None:
        assert found.total.amount == pytest.approx(whole[0][1])
