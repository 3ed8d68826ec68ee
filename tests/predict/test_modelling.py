"""Comparisons by fitted models, beside other predictors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from clue.config import load_machine
from clue.errors import ModelError, UsageError
from clue.explain import explain_ranking
from clue.kernel import Candidate
from clue.machine import Curve, Link, Machine, Network, Placement
from clue.machine.parts import Processor, Sockets
from clue.models import Method, Run, Use, fit_cluster
from clue.models.model import Model
from clue.models.parts import Part, ProgramModel, Repeated, Runs
from clue.predict.application import Application, Modelled
from clue.predict.dispatching import DispatchingPredictor
from clue.predict.modelling import ModelPredictor, description_of, placed, uses_of
from clue.predict.predictor import Predictor
from clue.purchase import Component, Criterion, Option, Scenario, Workload, rank_options
from clue.report.explanation.ranking_text import verdict
from clue.uncertainty import Sampling
from clue.units import Money
from tests.kernel.cases import machine
from tests.predict.test_predictor import Formula
from tests.uncertainty.cases import noisy

SIZES = (100.0, 200.0, 400.0, 800.0)


def model(kinds: dict[str, float]) -> Model:
    """Return a model of kinds of processors, by the seconds of size 1000 on one; work is divided evenly."""
    runs = tuple(
        Run(size, {kind: Use(ranks)}, seconds * (size / 1000) ** 3 / ranks)
        for kind, seconds in kinds.items()
        for ranks in range(1, 6)
        for size in SIZES
    )
    return Model("hpl", "pt", False, "", "", runs, fit_cluster(runs))


def cluster(*kinds: str) -> Machine:
    """Return a machine with one single-processor node of each given type."""
    node = machine(1).nodes[0]
    return replace(machine(1), name="+".join(kinds), nodes=tuple(replace(node, name=kind) for kind in kinds))


def modelling(load: Callable[[str], Model | ProgramModel], others: Predictor) -> Predictor:
    """Return a predictor that asks models first."""
    return DispatchingPredictor([ModelPredictor(load)], others)


def scenario(size: float, machines: list[Machine], *others: Component, ranks: int = 2) -> Scenario:
    """Return a comparison of machines by makespan for a program that a model describes."""
    known = Component("hpl", Application(modelled=Modelled("hpl.yaml", size)), 1.0)
    options = tuple(Option(each.name, each) for each in machines)
    workload = Workload("w", (known, *others), ranks=(ranks,))
    return Scenario("by model", (workload,), options, criterion=Criterion.MAKESPAN)


TWO = model({"slow": 8.0, "fast": 2.0})


def test_a_model_of_unknown_processors_is_the_same_everywhere() -> None:
    """Its runs have no column processor: all machines get one time, and the result says why."""
    slow_and_fast = scenario(1000.0, [cluster("slow", "slow"), cluster("fast", "fast")])
    ranking = rank_options(slow_and_fast, modelling(lambda _: model({"any": 8.0}), Formula()))
    assert {each.position for each in ranking.entries} == {1}
    assert any("its model gives the same time on all machines" in each for each in ranking.warnings)
    known = rank_options(slow_and_fast, modelling(lambda _: TWO, Formula()))
    assert not any("the same time on all machines" in each for each in known.warnings)


def test_node_types_of_one_name_with_different_figures_are_told() -> None:
    """A model knows node types by name: twice as slow ones, or another network, change nothing, and the result says so.

    More nodes of the same kind, another price and kinds that are not used are no reason.
    """
    one = cluster("slow", "slow", "fast")
    alike = replace(one, name="more", nodes=(*one.nodes[:2] * 2, one.nodes[2].slower(3)), price=Money(1.0, "EUR"))
    said = "its model gives the same time on all node types of one name (slow), although the machines state different"
    same = rank_options(scenario(800, [one, alike]), modelling(lambda _: TWO, Formula()))
    assert not any(said in warning for warning in same.warnings)
    link = Link(Curve.line(1.0), Curve.line(1.0), 0.0)
    slower = one.map(lambda node: node.slower(2))
    for other in (replace(slower, name="slower"), replace(one, name="far", network=Network(link, link))):
        ranking = rank_options(scenario(800, [one, alike, other]), modelling(lambda _: TWO, Formula()))
        assert {each.position for each in ranking.entries} == {1}
        assert sum(said in warning for warning in ranking.warnings) == 1


def test_idle_processors_beside_a_model_ask_for_no_recording() -> None:
    """Of five processors, a workload of two ranks leaves three idle; a model has neither recordings nor instances."""
    (warning,) = rank_options(scenario(800, [cluster(*["slow"] * 5)]), modelling(lambda _: TWO, Formula())).warnings
    assert warning.endswith("the workload asks for 2 ranks at most: add larger numbers to ranks")


def test_a_model_that_is_far_off_at_its_own_runs_is_told() -> None:
    """Times that grow as n⁴ follow no term up to n³: the comparison says that the model must not be used."""
    runs = tuple(Run(size, {"slow": Use(2)}, (size / 1000) ** 4) for size in (*SIZES, 1600.0))
    fourth = Model("hpl", "nt", False, "", "", runs, fit_cluster(runs, Method("nt")))
    ranking = rank_options(scenario(800, [cluster("slow", "slow")]), modelling(lambda _: fourth, Formula()))
    assert sum("on average at the runs that it was fitted to and must not be used" in w for w in ranking.warnings) == 1


def test_parameters_change_no_time_of_a_model() -> None:
    """Nothing alters the first place of machines compared by a model alone, and the explanation says why."""
    compared = scenario(800, [cluster("slow", "slow"), cluster("fast", "fast")])
    predictor = modelling(lambda _: TWO, Formula())
    found = explain_ranking(compared, rank_options(compared, predictor), predictor)
    assert found is not None and found.fixed == ("hpl",) and not found.altering
    assert verdict(found).endswith(
        "Times of hpl come from models or skeletons, and depend on no parameter of machines."
    )


def test_a_comparison_by_a_model() -> None:
    """At size 800, two slow nodes take 2.048 s, two fast ones 0.512 s, so the fast ones win.

    Size 1000 takes 8 s on a slow processor and 2 s on a fast one; times grow as n³ and are divided by ranks.
    """
    machines = [cluster("slow", "slow"), cluster("fast", "fast"), cluster("fast", "slow")]
    predictor = modelling(lambda path: {"hpl.yaml": TWO}[path], Formula())
    ranking = rank_options(scenario(800, machines), predictor)
    found = [(each.option, pytest.approx(each.score, rel=1e-4)) for each in ranking.entries]
    assert found == [("fast+fast", 0.512), ("slow+slow", 2.048), ("fast+slow", 2.048)]
    assert not ranking.warnings


def test_beyond_what_was_fitted_the_ranking_says_so() -> None:
    """At size 1600 the model of 100 to 800 still predicts, with a warning."""
    ranking = rank_options(scenario(1600, [cluster("fast", "fast")]), modelling(lambda _: TWO, Formula()))
    (warning,) = ranking.warnings
    assert "lies outside the range to which its model was fitted, so positions may be wrong" in warning
    assert "n must be 100 to 800 to be inside what was fitted, got 1600" in warning


def test_models_beside_others() -> None:
    """In a workload of two components a model predicts one, and a formula of 12 s over the ranks the other."""
    other = Component("other", Application(trace="other"), 1.0)
    formula = Formula()
    ranking = rank_options(scenario(800, [cluster("slow", "slow")], other), modelling(lambda _: TWO, formula))
    assert ranking.entries[0].score == pytest.approx(2.048 + 6, rel=1e-4)
    assert formula.wanted == ["w, other on 2 ranks"]


def test_samples_are_drawn_from_a_models_interval() -> None:
    """10 % noise in the measured times gives an interval of that width; clearly different options keep their order."""
    noisy = tuple(replace(run, seconds=run.seconds * (1.1 if i % 2 else 0.9)) for i, run in enumerate(TWO.runs))
    fitted = Model("hpl", "pt", False, "", "", noisy, fit_cluster(noisy))
    machines = [cluster("slow", "slow"), cluster("fast", "fast")]
    ranking = rank_options(scenario(800, machines), modelling(lambda _: fitted, Formula()), sampling=Sampling(200, 1))
    first = ranking.entries[0]
    assert first.option == "fast+fast"
    assert first.best == 1.0
    assert first.spread is not None
    assert first.spread.low < 0.512 < first.spread.high
    assert 1.1 < first.spread.high / first.spread.low < 2


def test_processors_that_were_not_fitted() -> None:
    """A model cannot predict processors that it was not fitted to."""
    with pytest.raises(ModelError, match=r"hpl.yaml on gpu\+gpu: processors must be of a kind that was fitted"):
        rank_options(scenario(800, [cluster("gpu", "gpu")]), modelling(lambda _: TWO, Formula()))


def test_several_instances_are_refused() -> None:
    """Several instances are refused, because measured runs had all processors to themselves."""
    known = scenario(800, [cluster("fast", "fast")])
    several = replace(known, workloads=(replace(known.workloads[0], instances=2, ranks=(1,)),))
    with pytest.raises(UsageError, match="instances of hpl must be 1 with a model, got 2"):
        rank_options(several, modelling(lambda _: TWO, Formula()))


def test_uses_of_a_placement() -> None:
    """The uses of a placement count processors and processes per processor, by kind of node.

    Ranks beyond a node's processors share them: 3 on a node of one, 3 and 2 on nodes of two.
    """
    where = replace(cluster("fast", "slow", "slow"), name="mixed")
    where = replace(where, nodes=(where.nodes[0], *(replace(each, processors=2) for each in where.nodes[1:])))
    candidate = Candidate(where, Placement((0, 0, 0, 1, 1, 1, 2, 2)))
    assert uses_of(candidate) == {"fast": Use(1, 3), "slow": Use(4, 2)}
    assert uses_of(candidate, "any") == {"any": Use(5, 3)}
    assert placed(where, {"fast": Use(1, 3), "slow": Use(3, 1)}).nodes == (0, 0, 0, 1, 1, 2)
    with pytest.raises(UsageError, match="mixed: processors of slow must suffice, got too few"):
        placed(where, {"slow": Use(5)})


def test_ranks_that_share_processors_unevenly_are_counted() -> None:
    """Six ranks on four processors, in turn: one with two of six processes has a third of the work of 8 s."""
    runs = tuple(
        Run(size, {"slow": Use(count, 2)}, 8.0 * (size / 1000) ** 3 / count) for count in (1, 2, 3, 4) for size in SIZES
    )
    found = fit_cluster(runs)
    assert found.predict(400.0, {"slow": Use(4, 2)}, 6).seconds == pytest.approx(16.0 * 0.4**3 / 6)
    assert found.predict(400.0, {"slow": Use(4, 2)}).seconds == pytest.approx(16.0 * 0.4**3 / 8)
    assert found.outside(400.0, {"slow": Use(4, 2)}, 9) and not found.outside(400.0, {"slow": Use(4, 2)}, 6)


# --- models that are composed of a program's parts ---


def composed(on: Machine, seconds: float = 6e-4) -> ProgramModel:
    """Return the model of a program that computes ``seconds`` × n / P in ten iterations, and 0.5 s on each rank."""
    at = [(n, p) for p in (1.0, 2.0, 4.0) for n in SIZES]
    body = Part("before Send", tuple(seconds * n / p / 10 for n, p in at))
    parts = (Repeated("loop", (10.0,) * len(at), (body,)), Part("Barrier", (0.5,) * len(at)))
    runs = Runs(tuple(n for n, _ in at), tuple(p for _, p in at), parts)
    return ProgramModel("heat", "in-turn", on.name, "heat-{size}-{ranks}.clue", "", runs, description_of(on))


def by_parts(size: float, machines: list[Machine], ranks: int = 2) -> Scenario:
    """Return a comparison of machines by a model of each."""
    known = Component("heat", Application(modelled=Modelled("heat-{machine}.yaml", size)), 1.0)
    options = tuple(Option(f"option {each.name}", each) for each in machines)
    workload = Workload("w", (known,), ranks=(ranks,))
    return Scenario("by parts", (workload,), options, criterion=Criterion.MAKESPAN)


def test_a_comparison_by_models_of_a_programs_parts() -> None:
    """The slow machine takes half of 0.6 ms × 800 and 0.5 s, so 0.74 s; the other computes half as long: 0.62 s."""
    one, other = cluster("slow", "slow"), cluster("fast", "fast")
    files = {f"heat-{one.name}.yaml": composed(one), f"heat-{other.name}.yaml": composed(other, 3e-4)}
    ranking = rank_options(by_parts(800, [one, other]), modelling(files.__getitem__, Formula()))
    found = [(each.option, pytest.approx(each.score)) for each in ranking.entries]
    assert found == [("option fast+fast", 0.62), ("option slow+slow", 0.74)]
    assert ranking.engine == "model"
    assert not ranking.warnings


def test_machines_of_the_same_parts_have_models_of_their_own() -> None:
    """Machines that share their nodes and network are predicted by their own models: 0.74, 0.62 and 0.54 s at 800."""
    one = cluster("slow", "slow")
    more = replace(one, nodes=(*one.nodes, one.nodes[0]), name="more")
    speeds = [(one, 6e-4), (replace(one, name="other"), 3e-4), (more, 1e-4)]
    files = {f"heat-{each.name}.yaml": composed(each, seconds) for each, seconds in speeds}
    ranking = rank_options(by_parts(800, [each for each, _ in speeds]), modelling(files.__getitem__, Formula()))
    found = {each.option: pytest.approx(each.score) for each in ranking.entries}
    assert found == {"option slow+slow": 0.74, "option other": 0.62, "option more": 0.54}


def test_a_prediction_below_0_is_refused() -> None:
    """A part that takes n - 90 ms takes -40 ms at size 50, with which a machine would come first."""
    one = cluster("slow", "slow")
    known = composed(one)
    part = Part("Barrier", tuple((n - 90) * 1e-3 for n in known.runs.sizes))
    falling = replace(known, runs=replace(known.runs, parts=(part,)))
    said = r"heat-slow\+slow.yaml on slow\+slow: predicted time must be above 0, got -0.04 s: fit without --plain or"
    with pytest.raises(ModelError, match=said):
        rank_options(by_parts(50, [one]), modelling(lambda _: falling, Formula()))


def test_beyond_what_parts_were_measured_at_the_ranking_says_so() -> None:
    """At size 1600 the sum of parts is 0.98 s, with a warning that measured sizes end at 800."""
    one = cluster("slow", "slow")
    ranking = rank_options(by_parts(1600, [one]), modelling(lambda _: composed(one), Formula()))
    assert ranking.entries[0].score == pytest.approx(0.98)
    (warning,) = ranking.warnings
    assert "lies outside the range to which its model was fitted, so positions may be wrong" in warning
    assert "n must be 100 to 800 to be inside what was fitted, got 1600" in warning


def test_ranks_that_leave_the_node_are_told() -> None:
    """A model fitted to 1, 2 and 4 ranks with two per node warns at 3 ranks: messages between nodes are unknown."""
    one = cluster("slow", "slow", "slow")
    model = replace(composed(one), node_ranks=2)
    ranking = rank_options(by_parts(800, [one], ranks=3), modelling(lambda _: model, Formula()))
    (warning,) = ranking.warnings
    assert "messages of 2 ranks stay within a node and those of 4 ranks do not" in warning


def test_samples_of_a_composed_model() -> None:
    """A model that fits exactly has no width; otherwise samples spread by the deviations of the parts."""
    one = cluster("slow", "slow")
    exact = composed(one)
    jagged = Part("Barrier", tuple(0.55 if i % 2 else 0.45 for i in range(len(exact.runs.sizes))))
    noisy = replace(exact, runs=replace(exact.runs, parts=(exact.runs.parts[0], jagged)))
    ranking = rank_options(by_parts(800, [one]), modelling(lambda _: noisy, Formula()), sampling=Sampling(200, 1))
    spread = ranking.entries[0].spread
    assert spread is not None
    said = noisy.predict(800, 2)
    assert 1.01 < spread.high / said.seconds == pytest.approx(said.high / said.seconds, rel=0.15)
    assert exact.predict(800, 2).high == pytest.approx(0.74)


def test_a_composed_model_holds_for_its_machine_alone() -> None:
    """A composed model is refused for another machine or placement; a model of kinds is refused in its place."""
    one, other = cluster("slow", "slow"), cluster("fast", "fast")
    with pytest.raises(
        ModelError, match=r"heat-fast\+fast.yaml on fast\+fast: machine must be slow\+slow, where the pro"
    ):
        rank_options(by_parts(800, [other]), modelling(lambda _: composed(one), Formula()))
    shared = by_parts(800, [one])
    both = replace(shared, workloads=(replace(shared.workloads[0], ranks_per_processor=2),))
    with pytest.raises(ModelError, match="placement must be block, each rank on a processor of its own"):
        rank_options(both, modelling(lambda _: composed(one), Formula()))
    with pytest.raises(
        ModelError, match=r"model must be composed of a program's parts where \{machine\} is in its name"
    ):
        rank_options(by_parts(800, [one]), modelling(lambda _: TWO, Formula()))


def test_a_machine_that_was_described_otherwise() -> None:
    """A changed figure of nodes or network causes a warning; price, source, parts, noise, number and order do not."""
    one = cluster("slow", "slow")
    more = replace(one, nodes=one.nodes * 2, price=Money(1.0, "EUR"), source="elsewhere")
    parts = Sockets(Processor("part", "a processor", "by hand", "2026-11-02", price=Money(900.0, "EUR")))
    more = more.map(lambda node: replace(node, sockets=parts))
    assert not rank_options(by_parts(800, [more]), modelling(lambda _: composed(one), Formula())).warnings
    slower = one.map(lambda node: node.slower(1.5))
    ranking = rank_options(by_parts(800, [slower]), modelling(lambda _: composed(one), Formula()))
    assert any(
        "description is not the one by which the parts of heat-{machine}.yaml were" in w for w in ranking.warnings
    )
    assert description_of(load_machine("kishimoto")) == description_of(load_machine("kishimoto"))
    orders = [machine(1, performance_factors=each) for each in ({"a": 2.0, "b": 3.0}, {"b": 3.0, "a": 2.0})]
    assert description_of(orders[0]) == description_of(orders[1])
    quiet, *loud = noisy(), noisy(computation=0.1), noisy(factor=0.1), noisy(send=0.1), noisy(transmission=0.1)
    assert {description_of(each) for each in loud} == {description_of(quiet)}
