"""Cost figures changed one at a time, and samples of uncertain prices: computed by hand."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from statistics import NormalDist

import pytest

from clue.config import load_config
from clue.machine import NodeType
from clue.predict.replaying import ReplayPredictor
from clue.purchase import Criterion, Option, Ranking, Scenario, rank_options
from clue.purchase.costs import Cloud, Costs, Electricity, Licence, Number, Part, Per, Racks, Stated, hardware_of
from clue.purchase.prices import at_best, drawn, figures_for, figures_of, is_uncertain, with_factors
from clue.purchase.scenario import Limits
from clue.report.ranking.document import ranking_document
from clue.uncertainty import Sample, Sampling
from clue.units import YEAR, Money
from tests.config.documents import MACHINE
from tests.kernel.cases import machine
from tests.purchase.test_ranking import traces, workload

COSTS = Costs(
    parts=(Part("node", Number(Per.NODE), price=50.0, idle=100.0, busy=200.0, rack_units=1.0), Part("tool")),
    racks=Racks(rack_units=2.0, price=30.0),
    electricity=Electricity(1e-6, 1e-7, 1.2),
    licences=(Licence("solver", "nodes", ((2, 7.0), (8, 9.0))),),
    yearly={"staff": 1000.0},
    cloud=Cloud(1e-3, upfront=0.0, storage=5.0),
    residual=0.1,
    utilisation=0.95,
)


def priced(costs: Costs | None = COSTS, nodes: int = 3) -> Option:
    """Return nodes for 100 each, a console for 40, and the price of the parts in their costs."""
    stated = (Stated("node_types.host.price", 100.0, 0.05, nodes), Stated("console", 40.0))
    parts = 0.0 if costs is None else hardware_of(costs, {"host": nodes}).price
    return Option("ours", machine(nodes), Money(100.0 * nodes + 40 + parts, "EUR"), costs=costs, stated=stated)


def test_all_figures_have_names() -> None:
    """Each figure has a name; figures of 0 are left out."""
    assert {name: figure.value for name, figure in figures_of(priced()).items()} == {
        "node_types.host.price": 100.0,
        "console": 40.0,
        "parts.node.price": 50.0,
        "racks.price": 30.0,
        "electricity.price": 1e-6,
        "electricity.pue": 1.2,
        "electricity.carbon": 1e-7,
        "licences.solver.steps": 9.0,
        "staff": 1000.0,
        "cloud.price": 1e-3,
        "cloud.storage": 5.0,
        "utilisation": 0.95,
        "availability": 1.0,
        "residual": 0.1,
    }


@pytest.mark.parametrize(
    ("name", "price"),
    [
        # 3 nodes of 100 and a console of 40, 3 parts of 50, 2 racks of 30: 550.
        ("node_types.host.price", 580.0),
        ("console", 554.0),
        ("parts.node.price", 565.0),
        ("racks.price", 556.0),
        ("staff", 550.0),
        ("nothing like it", 550.0),
    ],
)
def test_a_price_is_the_sum_of_its_figures(name: str, price: float) -> None:
    """One figure that rises by a tenth changes the price by its share."""
    changed = with_factors(priced(), {name: 1.1})
    assert changed.price is not None
    assert changed.price.amount == pytest.approx(price)
    assert priced().price == Money(550.0, "EUR")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("electricity.price", 1.1e-6),
        ("electricity.pue", 1.32),
        ("electricity.carbon", 1.1e-7),
        ("licences.solver.steps", 9.9),
        ("staff", 1100.0),
        ("cloud.price", 1.1e-3),
        ("cloud.storage", 5.5),
        ("utilisation", 1.0),
        ("availability", 1.0),
        ("residual", 0.11),
    ],
)
def test_one_figure_changes_alone(name: str, value: float) -> None:
    """A factor changes only its figure, and shares are capped at 1."""
    before, after = figures_of(priced()), figures_of(with_factors(priced(), {name: 1.1}))
    assert after[name].value == pytest.approx(value)
    assert {k: v.value for k, v in after.items() if k != name} == {k: v.value for k, v in before.items() if k != name}


def test_a_site_takes_no_less_than_its_parts() -> None:
    """The PUE cannot fall below 1."""
    assert figures_of(with_factors(priced(), {"electricity.pue": 0.5}))["electricity.pue"].value == 1.0


def test_an_option_with_one_price_has_one_figure() -> None:
    """The single price is named after the option; it excludes the prices added by its costs."""
    option = replace(priced(), stated=())
    figure = figures_of(option)["options.ours.price"]
    assert figure.value == pytest.approx(340.0)
    changed = with_factors(option, {"options.ours.price": 2.0})
    assert changed.price == Money(pytest.approx(890.0), "EUR")  # type: ignore[arg-type]


def test_which_figures_a_criterion_depends_on() -> None:
    """Costs depend on all figures except carbon; energy depends on site and use figures; times on none."""
    assert "electricity.carbon" not in figures_for(Criterion.TOTAL_COST, priced())
    assert set(figures_for(Criterion.ENERGY_PER_RUN, priced())) == {
        "electricity.pue",
        "electricity.carbon",
        "utilisation",
        "availability",
    }
    assert not figures_for(Criterion.POINTS, priced())


# --- samples ---


def test_a_draw_changes_what_is_uncertain_alone() -> None:
    """Only the node's price is uncertain; the sample's multiplier scales it."""
    sample = Sample(3, 5)
    factor = sample.multiplier(0.05, "price", "node_types.host.price", 100.0)
    found = drawn(priced(), sample)
    assert found.price is not None
    assert found.price.amount == pytest.approx(550 + 300 * (factor - 1))
    certain = replace(priced(), stated=())
    assert drawn(certain, sample) is certain
    assert not is_uncertain(certain)


def test_what_is_uncertain_is_at_best_at_the_lower_end() -> None:
    """The best case sets an uncertain price to the lower end of its 80 % interval."""
    found = at_best(priced())
    low = math.exp(-NormalDist().inv_cdf(0.9) * math.sqrt(math.log1p(0.05**2)))
    assert found.price is not None
    assert found.price.amount == pytest.approx(250 + 300 * low)


def by_cost(*options: Option) -> Ranking:
    """Rank options by total cost, with samples."""
    asked = Scenario("by hand", (workload(ranks=(1,)),), options, criterion=Criterion.TOTAL_COST, service_life=YEAR)
    return rank_options(asked, ReplayPredictor(traces), sampling=Sampling(400, 2))


def of_price(name: str, value: float, deviation: float = 0.0, nodes: int = 1, of: str = "") -> Option:
    """Return an option whose nodes have this price each."""
    figure = Stated(of or f"options.{name}.price", value, deviation, nodes)
    return Option(name, machine(nodes), Money(value * nodes, "EUR"), stated=(figure,))


def test_uncertain_prices_make_the_first_place_uncertain() -> None:
    """100 ± 10 % against a fixed 105: the first is cheaper where z < ln 1.05 / deviation of the logarithm."""
    ranking = by_cost(of_price("may be", 100, 0.1), of_price("is", 105))
    assert [(entry.option, entry.position) for entry in ranking.entries] == [("may be", 1), ("is", 1)]
    share = NormalDist().cdf(math.log(1.05) / math.sqrt(math.log1p(0.01)))
    best = ranking.entries[0].best
    assert best is not None
    assert abs(best - share) < 4 * math.sqrt(share * (1 - share) / 400)
    spread = ranking.entries[0].spread
    assert spread is not None
    assert spread.low < 100 < spread.high
    assert ranking.entries[1].spread is None


def test_the_document_of_a_score_that_does_not_vary_says_how_often_it_is_the_best() -> None:
    """A fixed 105 is the best where 100 ± 10 % is dearer; it has no interval, and the shares add up to 1."""
    ranking = by_cost(of_price("may be", 100, 0.1), of_price("is", 105))
    document = json.loads(json.dumps(ranking_document(ranking)))
    varies, fixed = (each["uncertainty"] for each in document["ranking"])
    assert fixed["score"] is None and varies["score"]["low"] < 100 < varies["score"]["high"]
    assert 0 < fixed["best"] < 1 and varies["best"] + fixed["best"] == pytest.approx(1.0)


def test_a_price_that_options_have_in_common_does_not_make_their_order_uncertain() -> None:
    """Ten nodes cost less than eleven at any common price; if prices are drawn separately, this is uncertain."""
    common = [of_price(name, 100, 0.3, nodes, of="node") for name, nodes in (("ten", 10), ("eleven", 11))]
    assert [entry.best for entry in by_cost(*common).entries] == [1.0, 0.0]
    apart = [of_price("ten", 100, 0.3, 10), of_price("eleven", 100, 0.3, 11)]
    assert by_cost(*apart).entries[0].best != 1.0


@pytest.mark.parametrize(("other", "share"), [("one", 1.0), ("two", None)])
def test_the_price_of_a_machine_is_drawn_once_for_its_options(tmp_path: Path, other: str, share: float | None) -> None:
    """Of a machine for 1,000 EUR ± 10 % the option without staff for 30 EUR is cheaper, whatever it costs.

    Of two machines it is where exp(s x) < exp(s y) + 0.03, with normal x and y: in 58 % of all cases, on a fine grid.
    """
    for name in ("one", "two"):
        (tmp_path / f"{name}.yaml").write_text(f"{MACHINE}price: 1000 EUR ± 10 %\n")
    (tmp_path / "s.yaml").write_text(
        "workloads: {job: {program: {script: s.yaml}}}\ncriterion: total_cost\nservice_life: 3 years\noptions:\n"
        f"  plain: {{machine: one.yaml}}\n  staffed: {{machine: {other}.yaml, cost: {{staff: 10 EUR/year}}}}\n"
    )
    loaded = load_config(tmp_path / "s.yaml")
    assert isinstance(loaded, Scenario)
    asked = replace(loaded, workloads=(workload(ranks=(1,)),))
    ranking = rank_options(asked, ReplayPredictor(traces), sampling=Sampling(400, 2))
    assert [entry.score for entry in ranking.entries] == pytest.approx([1000, 1030])
    best = ranking.entries[0].best
    if share is None:
        normal, s = NormalDist(), math.sqrt(math.log1p(0.01))
        grid = [normal.inv_cdf((i + 0.5) / 1000) for i in range(1000)]
        share = sum(normal.cdf(math.log(math.exp(s * y) + 0.03) / s) for y in grid) / len(grid)
        assert share == pytest.approx(0.58, abs=0.01)
    assert best is not None and abs(best - share) <= 3 * math.sqrt(share * (1 - share) / 400)


def test_prices_do_not_make_times_uncertain() -> None:
    """By makespan no sample is drawn, and a warning says so."""
    options = (of_price("may be", 100, 0.1), of_price("is", 105))
    asked = Scenario("by hand", (workload(ranks=(1,)),), options, criterion=Criterion.MAKESPAN)
    ranking = rank_options(asked, ReplayPredictor(traces), sampling=Sampling(10))
    assert ranking.sampling is None
    assert any(warning.startswith("samples: ") for warning in ranking.warnings)


def test_a_weighted_sum_counts_the_money_in_it() -> None:
    """A weighted sum of total cost alone has the same first options per sample, and scores relative to them."""
    options = (of_price("may be", 100, 0.1), of_price("is", 105))
    asked = Scenario(
        "by hand", (workload(ranks=(1,)),), options, criterion=Criterion.WEIGHTED,
        weighted={Criterion.TOTAL_COST: 2.0}, service_life=YEAR,
    )  # fmt: skip
    ranking = rank_options(asked, ReplayPredictor(traces), sampling=Sampling(400, 2))
    assert [entry.best for entry in ranking.entries] == [entry.best for entry in by_cost(*options).entries]
    spread = ranking.entries[1].spread
    assert spread is not None
    assert spread.low < 100 * 100 / 105 < spread.high == 100.0


def test_a_limit_on_money_counts_uncertain_prices() -> None:
    """Makespans tie; 100 ± 10 % stays within the limit of 105 where z < ln 1.05 / deviation of the logarithm."""
    asked = Scenario(
        "by hand", (workload(ranks=(1,)),), (of_price("may be", 100, 0.1), of_price("is", 105)),
        criterion=Criterion.MAKESPAN, limits=Limits(total_cost=Money(105, "EUR")),
    )  # fmt: skip
    best = rank_options(asked, ReplayPredictor(traces), sampling=Sampling(400, 2)).entries[0].best
    share = NormalDist().cdf(math.log(1.05) / math.sqrt(math.log1p(0.01)))
    assert best is not None
    assert abs(best - share / 2) < 2 * math.sqrt(share * (1 - share) / 400)


def test_the_budget_counts_uncertain_prices() -> None:
    """100 ± 10 % keeps a budget of 105 where z < ln 1.05 / deviation of the logarithm; else the slower one is best."""
    slower = replace(of_price("slower", 100), machine=machine(1, performance_factor=10.0))
    asked = Scenario(
        "by hand", (workload(ranks=(1,)),), (of_price("may be", 100, 0.1), slower),
        criterion=Criterion.MAKESPAN, budget=Money(105, "EUR"),
    )  # fmt: skip
    ranking = rank_options(asked, ReplayPredictor(traces), sampling=Sampling(400, 2))
    share = NormalDist().cdf(math.log(1.05) / math.sqrt(math.log1p(0.01)))
    best = {entry.option: entry.best or 0.0 for entry in ranking.entries}
    assert abs(best["may be"] - share) < 2 * math.sqrt(share * (1 - share) / 400)
    assert math.isclose(best["slower"], 1 - best["may be"])
    assert (
        "samples: price must be at most the budget of 105 EUR: missed by may be in "
        f"{best['slower']:.1%} of them, where these do not count as the best"
    ) in ranking.warnings


def test_an_option_above_the_budget_says_how_often_it_is_within() -> None:
    """104 ± 10 % is within a budget of 100 where z < ln (100 / 104) / deviation of the logarithm; a fixed 104 never."""
    options = (of_price("in", 90), of_price("above", 104, 0.1), of_price("certain", 104), of_price("far", 900, 0.1))
    asked = Scenario(
        "by hand", (workload(ranks=(1,)),), options, criterion=Criterion.MAKESPAN, budget=Money(100, "EUR")
    )
    reasons = {
        each.option: each.reason
        for each in rank_options(asked, ReplayPredictor(traces), sampling=Sampling(400, 2)).entries
    }
    said, share = reasons.pop("above"), NormalDist().cdf(math.log(100 / 104) / math.sqrt(math.log1p(0.01)))
    told = re.fullmatch(
        r"costs more than the budget, but in (.*)% of the samples its price is within it: with a budget of the stated "
        "price or more, it is compared, too",
        said,
    )
    assert told and abs(float(told[1]) / 100 - share) < 3 * math.sqrt(share * (1 - share) / 400)
    assert reasons == {"in": "", "certain": "costs more than the budget", "far": "costs more than the budget"}
    plain = {each.reason for each in rank_options(asked, ReplayPredictor(traces)).entries}
    assert plain == {"", "costs more than the budget"}


def test_an_uncertain_cost_on_which_nothing_depends_is_no_noise() -> None:
    """Staff counts in the total cost, but not in the price, nor in the makespan: samples beside a budget are equal."""
    staffed = replace(of_price("one", 100), costs=Costs(yearly={"staff": 9.0}, deviations={"staff": 0.1}))
    asked = Scenario(
        "by hand", (workload(ranks=(1,)),), (staffed,), criterion=Criterion.MAKESPAN, budget=Money(105, "EUR")
    )
    ranking = rank_options(asked, ReplayPredictor(traces), sampling=Sampling(10))
    assert ranking.entries[0].best is None
    assert any("no noise is stated" in each for each in ranking.warnings)


def test_an_uncertain_price_may_bring_a_later_option_first() -> None:
    """With one position requested, an option whose uncertain price reaches the first one's is sampled as well."""
    asked = Scenario(
        "by hand", (workload(ranks=(1,)),), (of_price("is", 100), of_price("may be", 101, 0.1), of_price("no", 900)),
        criterion=Criterion.TOTAL_COST, service_life=YEAR,
    )  # fmt: skip
    ranking = rank_options(asked, ReplayPredictor(traces), top=1, sampling=Sampling(200, 1))
    assert {entry.option for entry in ranking.entries if entry.position} == {"is", "may be"}


def test_kinds_of_nodes_keep_their_figures() -> None:
    """A node type that computes and copies more slowly keeps its price with the price's deviation."""
    node = NodeType("host", copy_bandwidth=8.0, price=Money(1, "EUR", 0.1))
    assert node.slower(2.0).copying_longer(2.0).price == Money(1, "EUR", 0.1)
