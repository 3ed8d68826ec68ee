"""Scores computed by columns for many options equal the scores computed one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clue.predict.replaying import ReplayPredictor
from clue.progress import silent
from clue.purchase import Criterion, Scenario
from clue.purchase.attempts import attempts_on
from clue.purchase.columns import Columns, near_least, not_above
from clue.purchase.scores import Scores
from clue.purchase.search import Search
from tests.properties import examples
from tests.purchase.test_search import scenarios, trace

CRITERIA = (
    *(Criterion.POINTS, Criterion.MAKESPAN, Criterion.THROUGHPUT),
    *(Criterion.TOTAL_COST, Criterion.COST_PER_RUN),
)


@settings(max_examples=examples(40), deadline=None)
@given(scenario=scenarios(), criterion=st.sampled_from(CRITERIA), settled=st.integers(0, 8))
def test_scores_by_columns_are_those_one_by_one(scenario: Scenario, criterion: Criterion, settled: int) -> None:
    """Scores and settled flags agree before any option is settled, after some are, and after all are."""
    plain = tuple(replace(each, deadline=float("inf"), demand=None) for each in scenario.workloads)
    priced = tuple(replace(each, costs=None) for each in scenario.options)
    asked = replace(scenario, workloads=plain, options=priced, criterion=criterion)
    prices = np.array([each.price.amount for each in priced if each.price is not None])
    predictor, columns = ReplayPredictor(trace), Columns()
    attempts = [a for a in attempts_on(asked.options, asked, predictor, silent) if a.cells]
    scores = Scores(asked, asked.options)
    search = Search(attempts, scores, len(attempts), predictor, silent, columns)
    rows = columns.rows([each.cells for each in attempts])
    with predictor.at_work():
        for number in (0, settled, len(attempts)):
            search.settle(attempts[:number])
            search.find_best_rates()
            columns.look()
            found = scores.by_columns(columns, rows, prices[[each.order for each in attempts]])
            if attempts:
                assert found is not None
                assert found.tolist() == pytest.approx([scores.score(each) for each in attempts], rel=1e-12)
            assert columns.settled[rows].all(axis=1).tolist() == [each.settled for each in attempts]


def test_where_options_are_limited_they_are_looked_at_one_by_one() -> None:
    """Criteria of costs and energy without plain prices have no scores by columns."""
    for criterion in (Criterion.TOTAL_COST, Criterion.ENERGY_PER_RUN):
        scenario = Scenario("none", (), (), criterion=criterion)
        assert Scores(scenario, ()).by_columns(Columns(), np.zeros((1, 0), np.int64)) is None


@pytest.mark.parametrize(
    ("figures", "number", "near"),
    [
        ((3.0, 1.0, 2.0), 1, [1]),
        ((3.0, 1.0, 2.0), 2, [1, 2]),
        ((3.0, 1.0, 2.0), 5, [0, 1, 2]),
        ((1.0, 1.0 + 1e-12, 1.1), 1, [0, 1]),
        ((-1.0, -1.0 + 1e-12, -0.9), 1, [0, 1]),
        ((np.inf, np.inf, 0.0), 2, [0, 1, 2]),
        ((1.0, -np.inf, 2.0), 1, [1]),
    ],
)
def test_what_rounding_may_put_among_the_least_is_near(figures: Sequence[float], number: int, near: list[int]) -> None:
    """Entries that tie with the least within rounding are included; if there are fewer entries than wanted, all are."""
    found = np.array(figures)
    assert near_least(found, number).tolist() == near
    assert not_above(found, sorted(figures)[min(number, len(figures)) - 1]).tolist() == near
