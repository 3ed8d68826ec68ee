"""The parameters on which the first place of a ranking depends, by hand and compared with whole rankings."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from functools import partial
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from clue.config import load_config
from clue.explain import RankingExplanation, RankingSensitivity, explain_ranking
from clue.explain.ranking import FIRST, SharedFigure, SharedParameter, shared_figures, shared_parameters
from clue.explain.sensitivity import CHANGE
from clue.machine import LinkNoise, Machine, NodeNoise, NodeType
from clue.machine.parts import Processor, Sockets
from clue.predict.application import Application
from clue.predict.replaying import ReplayPredictor, TraceSource
from clue.progress import silent
from clue.purchase import Component, Criterion, Limits, Option, Scenario, Workload, rank_options
from clue.purchase.attempts import wanted_on
from clue.purchase.costs import Costs, Electricity, Number, Part, Per
from clue.purchase.queueing import QUEUED
from clue.purchase.sustained import Reference, ReferenceSystem
from clue.report.explanation.document import ranking_explanation_document
from clue.report.explanation.ranking_text import ranking_explanation_text, verdict
from clue.trace import Op, Trace, TraceBuilder
from clue.units import Money
from tests.kernel.cases import LINK, machine

FACTOR = "node_types.host.performance_factor"
LIMIT = "network.between_nodes.eager_limit"
POWERED = Costs((Part("node", Number(Per.NODE), idle=1.0, busy=9.0),), electricity=Electricity(1e-6, 1e-7))


def computing(_: Application, ranks: int) -> Trace:
    """Return a program of 12 s of computation, divided evenly over ranks."""
    trace = TraceBuilder(ranks)
    for rank in range(ranks):
        trace[rank].compute(12.0 / ranks)
    return trace.build()


def exchanging(application: Application, ranks: int) -> Trace:
    """Return a program that computes, exchanges messages of the size in its argument, and reduces."""
    trace = TraceBuilder(ranks)
    for rank in range(ranks):
        trace[rank].compute(2.0 / ranks, "solve")
        trace[rank].sendrecv((rank + 1) % ranks, int(application.arguments[0]), (rank - 1) % ranks)
        trace[rank].compute(1.0, "setup")
        trace[rank].collective(Op.ALLREDUCE, 8)
    return trace.build()


def face_to_face(_: Application, ranks: int) -> Trace:
    """Return two ranks that both send 9.5 KB before they receive."""
    trace = TraceBuilder(ranks)
    for rank in range(2):
        trace[rank].compute(1.0)
        trace[rank].send(1 - rank, 9500)
        trace[rank].recv(1 - rank)
    return trace.build()


def workload(name: str, argument: str, ranks: tuple[int, ...], weight: float = 1.0) -> Workload:
    """Return a workload with one kernel and one instance."""
    return Workload(
        name, (Component(name, Application(arguments=(argument,), trace="built")),), ranks=ranks, weight=weight
    )


def scenario(machines: dict[str, Machine], criterion: Criterion, *workloads: Workload) -> Scenario:
    """Return a comparison of machines, by default for one job of 4 ranks."""
    named = enumerate(machines.items())
    options = tuple(Option(name, on, Money(1000.0 + i, "EUR"), costs=POWERED) for i, (name, on) in named)
    return Scenario("by hand", workloads or (workload("job", "0", (4,)),), options, criterion=criterion)


def explained(compared: Scenario, traces: TraceSource, first: int = FIRST) -> RankingExplanation:
    """Return the explanation of a ranking."""
    predictor = ReplayPredictor(traces)
    found = explain_ranking(compared, rank_options(compared, predictor), predictor, first=first)
    assert found is not None
    return found


def of(explanation: RankingExplanation, parameter: str, *options: str) -> RankingSensitivity:
    """Return the sensitivity of a parameter of these options."""
    (found,) = (each for each in explanation.sensitivities if (each.parameter, each.options) == (parameter, options))
    return found


TWO = {"one": machine(4), "two": machine(4, performance_factor=1.05)}


def test_a_lead_of_a_twentieth() -> None:
    """3 s lead 3.15 s by 5 %: a factor 10 % higher for the first, or lower for the second, reverses the order."""
    explanation = explained(scenario(TWO, Criterion.MAKESPAN), computing)
    assert explanation.options == ("one", "two")
    assert (explanation.base.winner, explanation.base.lead) == ("one", pytest.approx(0.05))
    first, second = of(explanation, FACTOR, "one"), of(explanation, FACTOR, "two")
    assert (first.higher.winner, first.higher.lead) == ("two", pytest.approx(-0.15 / 3.15))
    assert (first.lower.winner, first.lower.lead) == ("one", pytest.approx(0.45 / 2.7))
    assert (second.lower.winner, second.lower.lead) == ("two", pytest.approx(-0.165 / 2.835))
    assert {each.parameter for each in explanation.altering} == {FACTOR}
    assert [each.options for each in explanation.sensitivities[:2]] == [("two",), ("one",)]


def test_what_options_have_in_common_changes_for_all() -> None:
    """A parameter that both options share changes for both: four nodes keep their lead of 1/3 over three.

    They run 4 and 3 ranks.
    """
    machines = {"four": machine(4), "three": machine(3)}
    job = workload("job", "0", (3, 4))
    explanation = explained(scenario(machines, Criterion.MAKESPAN, job), computing)
    both = of(explanation, FACTOR, "four", "three")
    assert (both.lower.lead, both.higher.lead) == pytest.approx((1 / 3, 1 / 3))
    assert explanation.altering == ()


def test_an_option_that_deadlocks_loses() -> None:
    """An option that deadlocks with an eager limit of 9 KB, 10 % lower, loses to one without a limit."""
    machines = {
        "limited": machine(2),
        "eager": machine(2, link=replace(LINK, eager_limit=None), performance_factor=1.5),
    }
    explanation = explained(scenario(machines, Criterion.MAKESPAN, workload("job", "0", (2,))), face_to_face)
    assert explanation.base.winner == "limited"
    limit = of(explanation, LIMIT, "limited")
    assert (limit.lower.winner, limit.lower.lead) == ("eager", -math.inf)
    assert limit.higher == explanation.base


def test_an_option_that_misses_its_deadline_loses() -> None:
    """Options take 3 and 3.15 s, within 3.2 s: after a change the first takes 3.3 s and loses to any other."""
    job = replace(workload("job", "0", (4,)), deadline=3.2)
    explanation = explained(scenario(TWO, Criterion.MAKESPAN, job), computing)
    first, second = of(explanation, FACTOR, "one"), of(explanation, FACTOR, "two")
    assert (first.higher.winner, first.higher.lead) == ("two", -math.inf)
    assert (second.higher.winner, second.higher.lead) == ("one", math.inf)


def test_all_options_that_deadlock() -> None:
    """If all options deadlock, none wins."""
    machines = {"one": machine(2), "two": machine(2, performance_factor=2.0)}
    explanation = explained(scenario(machines, Criterion.MAKESPAN, workload("job", "0", (2,))), face_to_face)
    assert of(explanation, LIMIT, "one", "two").lower.winner == ""


def test_one_option_has_nothing_to_lose_to() -> None:
    """A single option is not explained."""
    compared = scenario({"one": machine(4)}, Criterion.MAKESPAN)
    predictor = ReplayPredictor(computing)
    assert explain_ranking(compared, rank_options(compared, predictor), predictor) is None


SEVERAL = {
    "fast": machine(3, performance_factor=0.8),
    "many": machine(5, performance_factor=1.1),
    "dual": machine(2, processors=2, performance_factor=1.0, memory_contention={2: {"": 0.9}}),
    "slow": machine(4, performance_factor=1.4),
}
JOBS = (workload("small", "1000", (2, 3)), workload("large", "12000", (2, 4, 5), weight=3.0))


#: Criteria that can be explained.
EXPLAINED = [each for each in Criterion if each not in QUEUED and each is not Criterion.WEIGHTED]


@pytest.mark.long
@pytest.mark.parametrize("criterion", EXPLAINED)
def test_each_change_gives_what_a_whole_ranking_gives(criterion: Criterion) -> None:
    """The winner and lead after a change equal those of a ranking of the changed options, for each criterion."""
    compared = replace(
        scenario({name: SEVERAL[name] for name in ("fast", "many", "dual")}, criterion, *JOBS),
        operations={"small": 1e12, "large": 3e12},
        reference=ReferenceSystem(4, {"small": Reference(2, 100.0), "large": Reference(4, 200.0)}),
    )
    explanation = explained(compared, exchanging)
    by_name = {option.name: option for option in compared.options}
    placed = [by_name[name] for name in explanation.options]
    predictor = ReplayPredictor(exchanging)
    wanted = wanted_on(placed, compared)
    predictor.prepare(wanted, silent)
    parameters = shared_parameters(placed, [predictor.regions(key) for key in wanted])
    shared: list[SharedParameter | SharedFigure] = [*parameters, *shared_figures(placed, compared)]
    assert len(shared) == len(explanation.sensitivities)
    for each in [*parameters[::3], *shared[len(parameters) :]]:
        found = of(explanation, each.name, *each.owners)
        for factor, outcome in ((1 - CHANGE, found.lower), (1 + CHANGE, found.higher)):
            changed = {option.name: option for option in each.changed(factor)}
            ranking = rank_options(replace(compared, options=tuple({**by_name, **changed}.values())), predictor)
            assert outcome.winner == next(entry.option for entry in ranking.entries if entry.position == 1)
            scores = {entry.option: entry.score or 0.0 for entry in ranking.entries}
            assert outcome.lead == pytest.approx(_lead(scores, explanation.base.winner, ranking.higher_is_better))


def _lead(scores: dict[str, float], winner: str, higher_is_better: bool) -> float:
    mine, others = scores[winner], [score for name, score in scores.items() if name != winner]
    if higher_is_better:
        return (mine - max(others)) / min(mine, max(others))
    return (min(others) - mine) / min(mine, *others)


def test_points_stay_relative_to_options_that_are_not_tried() -> None:
    """If two of four options are varied, points remain relative to all options, and so does the lead."""
    compared = scenario(SEVERAL, Criterion.POINTS, *JOBS)
    ranking = rank_options(compared, ReplayPredictor(exchanging))
    explanation = explained(compared, exchanging, first=2)
    scores = {entry.option: entry.score or 0.0 for entry in ranking.entries}
    assert explanation.options == tuple(entry.option for entry in ranking.entries[:2])
    assert explanation.base.lead == pytest.approx(_lead(scores, ranking.entries[0].option, True))


def test_points_stay_relative_to_options_that_are_not_listed() -> None:
    """The same holds if only the first two options are ranked."""
    compared = scenario(SEVERAL, Criterion.POINTS, *JOBS)
    predictor = ReplayPredictor(exchanging)
    whole, first = rank_options(compared, predictor), rank_options(compared, predictor, top=2)
    explanations = [explain_ranking(compared, each, predictor, first=2) for each in (whole, first)]
    assert all(explanations)
    assert explanations[0] == explanations[1]


@pytest.mark.parametrize(("processors", "domains"), [(2, 2), (4, 2), (6, 3)])
def test_the_link_across_domains_is_varied_on_nodes_of_any_size(processors: int, domains: int) -> None:
    """The link between a node's domains is a parameter, though its first two ranks may share a domain."""
    on = machine(2, processors=processors, domains=domains)
    across = replace(LINK, receive_delay=0.5)
    option = Option("sockets", replace(on, network=replace(on.network, across_domains=across)), Money(1.0, "EUR"))
    names = {each.name for each in shared_parameters([option], [{"": False}])}
    assert "network.across_domains.receive_delay" in names


def test_a_speed_is_a_parameter_where_all_applications_declare_their_operations() -> None:
    """If one of two applications declares no operations, all computation is varied, not the speed alone."""
    option = Option("one", machine(2, speeds={"solve": 1e9}), Money(1.0, "EUR"))
    found = []
    for other in (True, False):
        computing = [{"solve": True}, {"solve": other}]
        found.append({each.name for each in shared_parameters([option], computing)})
    assert "node_types.host.speed.solve" in found[0] and FACTOR not in found[0]
    assert "node_types.host.speed.solve" not in found[1] and FACTOR in found[1]


def test_figures_on_which_no_time_depends_do_not_part_parameters() -> None:
    """Two options alike but for memory, processors' names and noise have their parameters in common."""
    plain = machine(2)
    parts = Sockets(Processor("part", "a processor", "by hand", "2026-11-02"))
    other = plain.map(
        lambda node: replace(node, memory=64e9, sockets=parts, noise=NodeNoise(0.1, 0.1)),
        lambda network: network.map(lambda link, _: replace(link, noise=LinkNoise(0.1, 0.1))),
    )
    options = [Option("plain", plain), Option("other", other)]
    assert {each.owners for each in shared_parameters(options, [{"": False}])} == {("plain", "other")}
    faster = Option("faster", machine(2, performance_factor=0.5))
    owners = {each.name: each.owners for each in shared_parameters([options[0], faster], [{"": False}])}
    assert owners[LIMIT] == ("plain", "faster") and owners[FACTOR] == ("faster",)


def test_a_processor_is_changed_in_all_kinds_of_nodes_that_have_it() -> None:
    """Nodes of 64 and 128 GB have one processor: 10 % slower, both take 3.3 s and lose to the one of 3.15 s."""
    machines = {name: on.map(partial(_offered, name)) for name, on in {**TWO, "one 128 GB": machine(4)}.items()}
    explanation = explained(scenario(machines, Criterion.MAKESPAN), computing)
    assert explanation.options == ("one", "one 128 GB", "two")
    both = of(explanation, "node_types.one.performance_factor", "one", "one 128 GB")
    assert (both.higher.winner, both.higher.lead) == ("two", pytest.approx(-0.15 / 3.15))
    assert (both.lower.winner, both.lower.lead) == ("one", 0.0)


def _offered(name: str, node: NodeType) -> NodeType:
    return replace(node, name=name, stated_by={"performance_factor": name.removesuffix(" 128 GB")})


CATALOGUE = """\
workloads: {job: {program: {script: prog.py}, ranks: [2]}}
generate:
  nodes: [2]
  mixed: true
  node_types: {thin: {copy_bandwidth: 1 GB/s}, fat: {copy_bandwidth: 2 GB/s}}
  processors: {slow: {performance_factor: 0.8}, fast: {performance_factor: 0.5, copy_bandwidth: 4 GB/s}}
  memory: [{size: 64 GB}, {size: 128 GB}]
  networks: {eth: {between_nodes: {send_delay: 10 us, transmission_delay: 40 us}}}
"""


def test_each_figure_of_a_catalogue_is_one_parameter(tmp_path: Path) -> None:
    """Each processor's speed, and each bandwidth, is one parameter of all clusters for which it is stated."""
    (tmp_path / "prog.py").touch()
    (tmp_path / "s.yaml").write_text(CATALOGUE)
    compared = load_config(tmp_path / "s.yaml")
    assert isinstance(compared, Scenario)
    found = [each for each in shared_parameters(compared.options, [{"": False}]) if "node_types" in each.name]
    names = [each.name.removeprefix("node_types.") for each in found]
    assert sorted(names) == [
        *("fast.copy_bandwidth", "fast.performance_factor", "fat.copy_bandwidth"),
        *("slow.performance_factor", "thin.copy_bandwidth"),
    ]
    factor = found[names.index("slow.performance_factor")]
    assert set(factor.owners) == {option.name for option in compared.options if " slow " in option.name}
    for option in factor.changed(1.1):
        kinds = {node.name.split()[1]: node.factor("") for node in option.machine.nodes}
        assert kinds == pytest.approx({"slow": 0.88} | ({"fast": 0.5} if "fast" in kinds else {}))
    rate = found[names.index("thin.copy_bandwidth")]
    assert set(rate.owners) == {option.name for option in compared.options if "thin slow" in option.name}


def test_parameters_of_one_name_in_a_machine_are_told_apart() -> None:
    """Where one processor has two speeds in a machine, each is changed alone, and its node types are named."""
    slow, fast = (NodeType(name, performance_factor=f, stated_by={"performance_factor": "x"}) for name, f in NODES)
    mixed = replace(machine(2), nodes=(slow, fast))
    found = shared_parameters([Option("mixed", mixed), Option("alone", replace(mixed, nodes=(slow,)))], [{"": False}])
    owners = {each.name: each.owners for each in found if "factor" in each.name}
    assert owners == {
        "node_types.x.performance_factor (slow)": ("mixed", "alone"),
        "node_types.x.performance_factor (fast)": ("mixed",),
    }
    (changed,) = next(each for each in found if each.name.endswith("(fast)")).changed(1.1)
    assert [node.factor("") for node in changed.machine.nodes] == pytest.approx([1.0, 0.55])


NODES = (("slow", 1.0), ("fast", 0.5))


def test_text_says_what_alters_the_first_place() -> None:
    """The text states the verdict and the leads."""
    file = StringIO()
    Console(file=file, width=120).print(
        ranking_explanation_text(explained(scenario(TWO, Criterion.MAKESPAN), computing))
    )
    lines = [" ".join(line.split()) for line in file.getvalue().splitlines()]
    assert lines[2].startswith("one leads two by 5.00% of the smaller score.")
    assert "2 of them give the first place to another option" in " ".join(lines[2:4])
    assert f"{FACTOR} two -5.82% (two first) +15.50%" in lines


def test_a_score_of_zero_has_no_share_to_lead_by() -> None:
    """A gift leads an option for 100 EUR by an infinite share, whatever changes, and ties with another gift."""
    options = [Option(name, machine(4), Money(price, "EUR")) for name, price in (("gift", 0), ("dear", 100))]
    compared = replace(scenario({}, Criterion.TOTAL_COST), options=tuple(options))
    explanation = explained(compared, computing)
    assert (explanation.base.winner, explanation.base.lead) == ("gift", math.inf)
    assert verdict(explanation).startswith("gift leads dear (the smaller score is 0). ")
    gifts = replace(compared, options=(options[0], replace(options[0], name="other")))
    assert explained(gifts, computing).base.lead == 0.0


def test_text_calls_a_tie_a_tie() -> None:
    """Two equal machines tie, whatever changes for both; their prices decide the order."""
    machines = {"one": machine(4), "two": machine(4)}
    file = StringIO()
    explanation = explained(scenario(machines, Criterion.MAKESPAN), computing)
    Console(file=file, width=120).print(ranking_explanation_text(explanation))
    assert f"{FACTOR} all tie tie" in [" ".join(line.split()) for line in file.getvalue().splitlines()]


def test_document_is_json() -> None:
    """An infinite lead is null in the JSON document."""
    machines = {
        "limited": machine(2),
        "eager": machine(2, link=replace(LINK, eager_limit=None), performance_factor=1.5),
    }
    explanation = explained(scenario(machines, Criterion.MAKESPAN, workload("job", "0", (2,))), face_to_face)
    document = json.loads(json.dumps(ranking_explanation_document(explanation), allow_nan=False))
    assert document["options"] == ["limited", "eager"]
    assert document["altering"] == [LIMIT]
    assert document["sensitivities"][0]["lower"] == {"winner": "eager", "lead": None}


# --- figures of costs ---


def costing(name: str, price: float, watts: float) -> Option:
    """Return an option of one node with this price and power (W), at 0.5 EUR per kWh."""
    costs = Costs((Part("node", Number(Per.NODE), busy=watts),), electricity=Electricity(0.5 / 3.6e6))
    return Option(name, machine(1), Money(price, "EUR"), costs=costs)


def test_figures_of_costs_are_changed_like_parameters() -> None:
    """Costs over a year: 1,000 and 100 W (438) against 950 and 110 W (481.80), so 1,438 and 1,431.80.

    Each price alone, 10 % up or down, decides. Electricity does not: at 0.9 times its price they cost 1,394.20 and
    1,383.62, at 1.1 times 1,481.80 and 1,479.98.
    """
    options = (costing("dear", 1000, 100), costing("thirsty", 950, 110))
    job = Workload("job", (Component("job", Application()),))
    asked = Scenario("costs", (job,), options, criterion=Criterion.TOTAL_COST, service_life=365 * 86400.0)
    predictor = ReplayPredictor(computing)
    ranking = rank_options(asked, predictor)
    assert [entry.option for entry in ranking.entries] == ["thirsty", "dear"]
    found = explain_ranking(asked, ranking, predictor)
    assert found is not None
    of_costs = {each.parameter: each for each in found.sensitivities if each.of_costs}
    assert {name: each.options for name, each in of_costs.items()} == {
        "options.dear.price": ("dear",),
        "options.thirsty.price": ("thirsty",),
        "electricity.price": ("thirsty", "dear"),
        "electricity.pue": ("thirsty", "dear"),
        "utilisation": ("thirsty", "dear"),
        "availability": ("thirsty", "dear"),
    }
    assert (of_costs["options.dear.price"].lower.winner, of_costs["options.dear.price"].higher.winner) == (
        "dear",
        "thirsty",
    )
    electricity = of_costs["electricity.price"]
    assert electricity.lower.lead == pytest.approx(1394.2 / 1383.62 - 1)
    assert electricity.higher.lead == pytest.approx(1481.8 / 1479.98 - 1)
    assert "options.thirsty.price" in {each.parameter for each in found.altering}


def test_costs_do_not_move_a_ranking_by_time() -> None:
    """In a ranking by time, no figures of costs are varied, but for those on which the budget or a limit depends."""
    options = (costing("dear", 1000, 100), costing("thirsty", 950, 110))
    job = Workload("job", (Component("job", Application()),))
    asked = Scenario("time", (job,), options, criterion=Criterion.MAKESPAN)
    limited = replace(asked, limits=Limits(power=1e3), workloads=(replace(job, demand=1e-9),))

    def varied(scenario: Scenario) -> set[str]:
        return {each.name for each in shared_figures(options, scenario)}

    assert not varied(asked)
    assert varied(replace(asked, budget=Money(1e6, "EUR"))) == {"options.dear.price", "options.thirsty.price"}
    assert varied(limited) == {"electricity.pue", "utilisation", "availability"}
    assert varied(replace(asked, limits=Limits(total_cost=Money(1e6, "EUR")))) == varied(
        replace(asked, criterion=Criterion.TOTAL_COST)
    )


def test_a_price_moves_a_ranking_by_time_where_it_exceeds_the_budget() -> None:
    """3 s for 1,000 EUR lead 3.15 s for 1,001 by 5 %; 1,100 EUR exceed a budget of 1,050, so the other comes first."""
    asked = scenario(TWO, Criterion.MAKESPAN)
    assert not [each for each in explained(asked, computing).sensitivities if each.of_costs]
    price = of(explained(replace(asked, budget=Money(1050, "EUR")), computing), "options.one.price", "one")
    assert (price.lower.winner, price.lower.lead) == ("one", pytest.approx(0.05))
    assert (price.higher.winner, price.higher.lead) == ("two", -math.inf)


def of_total_cost(
    options: tuple[Option, ...], budget: Money | None = None, limits: Limits | None = None
) -> dict[str, RankingSensitivity]:
    """Return the effects of figures of costs on a ranking by total cost over a year; the first option is first."""
    job = Workload("job", (Component("job", Application()),))
    asked = Scenario("costs", (job,), options, budget, Criterion.TOTAL_COST, service_life=365 * 86400.0)
    asked = replace(asked, limits=limits or Limits())
    predictor = ReplayPredictor(computing)
    found = explain_ranking(asked, rank_options(asked, predictor), predictor)
    assert found is not None and found.base.winner == options[0].name
    return {each.parameter: each for each in found.sensitivities if each.of_costs}


def test_an_option_that_gets_too_expensive_loses_its_place() -> None:
    """Costs over a year: 950 and 10 W (43.80) against 900 and 100 W (438) EUR, so 993.80 and 1,338.

    With its price 10 % higher, 1,045, the first exceeds a budget of 1,000 EUR, although it still costs less over the
    year. Without a budget it leads by 1,338 / 1,088.80 - 1.
    """
    options = (costing("thrifty", 950, 10), costing("cheap", 900, 100))
    price = "options.thrifty.price"
    within = of_total_cost(options, Money(1000, "EUR"))
    assert (within[price].higher.winner, within[price].higher.lead) == ("cheap", -math.inf)
    assert within["options.cheap.price"].higher.winner == "thrifty"  # 990 EUR are within the budget
    assert of_total_cost(options)[price].higher.lead == pytest.approx(1338 / 1088.8 - 1)


def test_an_option_that_needs_too_much_power_loses_its_place() -> None:
    """Costs over a year: 1,000 and 100 W (438) against 2,000 and 10 W (43.80) EUR.

    With a PUE of 1.1 the first needs 110 W, more than the 105 W that there are; so the other comes first.
    """
    options = (costing("hungry", 1000, 100), costing("thrifty", 2000, 10))
    pue = of_total_cost(options, limits=Limits(power=105.0))["electricity.pue"]
    assert pue.options == ("hungry", "thrifty")
    assert (pue.higher.winner, pue.higher.lead) == ("thrifty", -math.inf)
    assert pue.lower.winner == "hungry"
    assert of_total_cost(options)["electricity.pue"].higher.winner == "hungry"
