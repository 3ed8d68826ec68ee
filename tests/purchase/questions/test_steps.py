"""The best use of additional money; all steps are computed by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clue.config import load_config
from clue.errors import UsageError
from clue.predict.application import Application
from clue.predict.replaying import ReplayPredictor
from clue.purchase import Criterion, Ranking, Scenario, rank_options
from clue.purchase.costs import Costs, Licence, Number, Part, Per
from clue.purchase.questions.answers import Steps
from clue.purchase.queue.mix import JobClass, Mix
from clue.report.answers.document import answer_rows
from clue.report.answers.text import steps_sentence
from clue.report.ranking.text import format_score
from clue.trace import Trace, TraceBuilder
from clue.units import Money
from tests.purchase.test_ranking import option, scenario, traces, workload

GENERATED = """\
budget: 300 EUR
criterion: {criterion}
{more}
workloads:
  job: {{program: {{trace: "job-{{ranks}}.clue"}}, ranks: [1, 2, 3]}}
generate:
  nodes: {{from: 2, to: 3}}
  node_types: {{host: {{price: 100 EUR}}}}
  processors:
    plain: {{}}
    quick: {{performance_factor: 0.5, price: 40 EUR}}
  memory: [{{size: 1 GB}}, {{size: 2 GB, price: 10 EUR}}]
  networks:
    slow: {{between_nodes: {{send_delay: 1 s, transmission_delay: 1 s}}, contention: none}}
    fast: {{between_nodes: {{send_delay: 0.1 s, transmission_delay: 0.1 s}}, contention: none, price_per_node: 20 EUR}}
"""


def job(_: Application, ranks: int) -> Trace:
    """Return a trace of 12 s divided over the ranks; each rank but the first then sends a message to the first."""
    built = TraceBuilder(ranks)
    for rank in range(ranks):
        built[rank].compute(12.0 / ranks)
        if rank:
            built[rank].send(0, 0)
            built[0].recv(rank)
    return built.build()


def generated(folder: Path, more: str = "next: 120 EUR", criterion: str = "makespan") -> Scenario:
    """Write the traces and the scenario to the folder, and load the scenario."""
    for ranks in (1, 2, 3):
        job(Application(), ranks).save(folder / f"job-{ranks}.clue")
    (folder / "s.yaml").write_text(GENERATED.format(more=more, criterion=criterion))
    loaded = load_config(folder / "s.yaml")
    assert isinstance(loaded, Scenario)
    return loaded


def steps_of(ranking: Ranking) -> Steps:
    """Return the ranking's steps, which must exist."""
    assert ranking.answers.steps is not None
    return ranking.answers.steps


def test_every_step_of_a_generated_option(tmp_path: Path) -> None:
    """From two plain nodes on the slow network (200 EUR; 6 s and 2 s of message): steps by gain per money."""
    base = "2 × host plain 1 GB, slow"
    ranking = rank_options(generated(tmp_path, f'next: {{amount: 120 EUR, from: "{base}"}}'), ReplayPredictor(job))
    steps = steps_of(ranking)
    assert (steps.base, steps.amount) == (base, Money(120, "EUR"))
    assert steps.score == pytest.approx(8.0)
    found = {step.what: (step.price.amount, step.score, step.gain) for step in steps.steps}
    assert found == {
        "network fast instead of slow": (40.0, pytest.approx(6.2), pytest.approx(1.8)),
        "processor quick instead of plain": (80.0, pytest.approx(5.0), pytest.approx(3.0)),
        "1 node more of host plain 1 GB": (100.0, pytest.approx(6.0), pytest.approx(2.0)),
        "memory 2 GB instead of 1 GB": (20.0, pytest.approx(8.0), pytest.approx(0.0)),
    }
    assert [step.what.split()[0] for step in steps.steps] == ["network", "processor", "1", "memory"]
    assert [step.gain_per_unit for step in steps.steps] == pytest.approx([0.045, 0.0375, 0.02, 0.0])
    assert steps_sentence(steps, lambda score: format_score(score, "s")) == (
        f"120 EUR more on {base} (8 s): the best value is network fast instead of slow for 40.00 EUR, which "
        "makes 6.2 s of it."
    )


def test_steps_may_lie_beyond_the_budget(tmp_path: Path) -> None:
    """The first option costs 280 of 300 EUR; with 120 EUR more it can pay for the fast network beyond the budget.

    Two nodes with quick processors and the fast network cost 320 EUR, or 340 EUR with 2 GB. Three plain nodes with 2 GB
    cost 330 EUR, on the fast network 360 or 390 EUR. Three with quick processors cost 420 EUR, as much as there is.
    """
    asked = generated(tmp_path)
    prices = sorted(option.price.amount for option in asked.beyond if option.price)
    assert prices == [320, 330, 340, 360, 390, 420]
    ranking = rank_options(asked, ReplayPredictor(job))
    steps = steps_of(ranking)
    assert steps.base == ranking.entries[0].option == "2 × host quick 1 GB, slow"
    first = steps.steps[0]
    assert (first.option, first.price) == ("2 × host quick 1 GB, fast", Money(40, "EUR"))
    assert (first.score, first.gain) == pytest.approx((3.2, 1.8))
    assert first.option not in {entry.option for entry in ranking.entries}


def test_points_of_steps_are_relative_to_the_best_of_all(tmp_path: Path) -> None:
    """The fast network makes 3.2 s of 5 s, less than any option within the budget takes: 100 points, and 64 before.

    2 GB for 20 EUR change nothing, so they leave 64 points.
    """
    asked = generated(tmp_path, "next: 120 EUR")
    ranking = rank_options(
        Scenario(asked.name, asked.workloads, asked.options, asked.budget, Criterion.POINTS,
                 next_amount=asked.next_amount, beyond=asked.beyond),
        ReplayPredictor(job),
    )  # fmt: skip
    steps = steps_of(ranking)
    assert steps.score == pytest.approx(64.0)
    assert {step.what: step.score for step in steps.steps} == pytest.approx(
        {"network fast instead of slow": 100.0, "memory 2 GB instead of 1 GB": 64.0}
    )


def test_of_listed_options_a_step_is_another_one() -> None:
    """A step leads to another option that costs more, by at most the additional money."""
    options = (option("one", 1, 100), option("two", 2, 150), option("four", 4, 900), option("none", 3))
    asked = scenario(*options, criterion=Criterion.MAKESPAN, next_amount=Money(60, "EUR"), next_from="one")
    steps = steps_of(rank_options(asked, ReplayPredictor(traces)))
    assert [(step.what, step.price, step.gain) for step in steps.steps] == [
        ("two instead", Money(50, "EUR"), pytest.approx(6.0))
    ]
    columns, (row,) = answer_rows(rank_options(asked, ReplayPredictor(traces)))
    assert set(row) <= set(columns)
    assert (row["option"], row["beside"], row["amount"], row["gain"]) == ("two", "one", 50.0, pytest.approx(6.0))


def test_where_nothing_costs_so_little_that_is_said() -> None:
    """If no option is affordable, there are no steps, and the text says so."""
    asked = scenario(option("one", 1, 100), option("two", 2, 500), next_amount=Money(9, "EUR"), next_from="one")
    steps = steps_of(rank_options(asked, ReplayPredictor(traces)))
    assert steps.steps == ()
    assert steps_sentence(steps, str).endswith("no step is affordable and keeps all limits.")


def test_steps_keep_limits_in_use() -> None:
    """An option that misses the deadline is not a step, even if it is cheap."""
    job_in_time = workload(ranks=(1, 2, 4), deadline=7.0)
    options = (option("two", 2, 100), option("one", 1, 120), option("four", 4, 150))
    asked = scenario(*options, workloads=(job_in_time,), next_amount=Money(99, "EUR"), next_from="two")
    assert [step.option for step in steps_of(rank_options(asked, ReplayPredictor(traces))).steps] == ["four"]


@pytest.mark.parametrize(
    ("price", "currency", "told"),
    [(None, "EUR", "price of one must be stated to spend more on it, got none"),
     (100.0, "USD", "additional money must be in EUR like prices, got 9.00 USD")],
)  # fmt: skip
def test_what_nobody_can_answer_is_refused(price: float | None, currency: str, told: str) -> None:
    """A base option without a price, or an amount in another currency, is refused."""
    asked = scenario(option("one", 1, price), next_amount=Money(9, currency), next_from="one")
    with pytest.raises(UsageError, match=told):
        rank_options(asked, ReplayPredictor(traces))


@pytest.mark.parametrize(
    "by", [{"criterion": Criterion.ENERGY_PER_RUN},
           {"criterion": Criterion.WEIGHTED, "weighted": {Criterion.ENERGY_PER_RUN: 1.0}}]
)  # fmt: skip
def test_steps_state_what_the_criterion_needs(by: dict[str, Any]) -> None:
    """Beyond the budget, an option whose power is unknown is no step: it would take no energy."""
    power = Costs((Part("node", Number(Per.NODE), busy=100.0),))
    known, more = (replace(each, costs=power) for each in (option("a", 1, 1000), option("c", 2, 1600)))
    asked = scenario(
        known, option("b", 2, 1500), more, budget=Money(1200, "EUR"), next_amount=Money(600, "EUR"), **by
    )  # fmt: skip
    assert [step.option for step in steps_of(rank_options(asked, ReplayPredictor(traces))).steps] == ["c"]
    with pytest.raises(UsageError, match="power of b must be stated to spend more on it, got none"):
        rank_options(replace(asked, next_from="b"), ReplayPredictor(traces))


def test_what_no_licence_covers_has_no_steps() -> None:
    """The licence covers two nodes, and the money is for four: the ranking stands, and a warning says so."""
    costs = Costs(licences=(Licence("solver", "nodes", ((2, 100.0),)),))
    options = (option("one", 1, 1000), option("four", 4, 1500), option("two", 2, 2000))
    asked = scenario(
        *(replace(each, costs=costs) for each in options),
        criterion=Criterion.TOTAL_COST, next_amount=Money(1000, "EUR"), next_from="four",
    )  # fmt: skip
    ranking = rank_options(asked, ReplayPredictor(traces))
    assert [(each.option, each.position) for each in ranking.entries] == [("one", 1), ("two", 2), ("four", None)]
    assert ranking.answers.steps is None
    assert ranking.warnings[-1] == "the best use of more money is left out: four has no score"


@pytest.mark.parametrize("criterion", [Criterion.WAITING, Criterion.SLOWDOWN])
def test_a_queue_that_grows_without_bound_has_no_steps(criterion: Criterion) -> None:
    """A job every 5 s takes 6 s on two nodes and 3 s on four: no gain over an endless wait is finite."""
    jobs = Mix((JobClass("job", "job", 0.2),), jobs=200, replications=2)
    asked = scenario(
        option("two", 2, 100), option("four", 4, 150),
        criterion=criterion, queue=jobs, next_amount=Money(60, "EUR"), next_from="two",
    )  # fmt: skip
    ranking = rank_options(asked, ReplayPredictor(traces))
    assert [(each.option, each.position) for each in ranking.entries] == [("four", 1), ("two", None)]
    assert ranking.answers.steps is None
    assert ranking.warnings[-1] == "the best use of more money is left out: two has no score"


@pytest.mark.parametrize("start", ["", "2 × host plain 1 GB, slow"])
def test_steps_by_a_weighted_sum(tmp_path: Path, start: str) -> None:
    """Each criterion is relative to the best of all options and steps, including steps beyond the budget.

    Total costs are the prices alone here.
    """
    more = "next: 120 EUR" if not start else f'next: {{amount: 120 EUR, from: "{start}"}}'
    weighted = generated(tmp_path, f"{more}\nweighted: {{makespan: 3, total_cost: 1}}", "weighted")
    loaded = replace(weighted, criterion=Criterion.MAKESPAN)
    ranking = rank_options(weighted, ReplayPredictor(job))
    steps = steps_of(ranking)
    known = {each.name: each for each in (*loaded.options, *loaded.beyond)}
    by_makespan = replace(loaded, options=tuple(known.values()), budget=None)
    makespans = {
        entry.option: entry.score or 0.0
        for entry in rank_options(by_makespan, ReplayPredictor(job), top=len(known)).entries
    }
    prices = {name: each.price.amount if each.price is not None else 0.0 for name, each in known.items()}
    everybody = {*(each.option for each in ranking.entries if each.position), *(step.option for step in steps.steps)}
    fastest, cheapest = min(makespans[name] for name in everybody), min(prices[name] for name in everybody)

    def score(name: str) -> float:
        return 100 * (3 * fastest / makespans[name] + cheapest / prices[name]) / 4

    assert steps.score == pytest.approx(score(steps.base))
    assert len(steps.steps) >= 2
    for step in steps.steps:
        assert step.score == pytest.approx(score(step.option))
        assert step.gain == pytest.approx(score(step.option) - score(steps.base))
    gains = [step.gain_per_unit for step in steps.steps]
    assert gains == sorted(gains, reverse=True)
