"""Remembered predictions give the same ranking without repeated simulations."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clue.machine import Machine, NodeNoise, NodeType
from clue.predict.remembering import RememberingPredictor
from clue.predict.replaying import ReplayPredictor
from clue.purchase import Option, Ranking, Scenario, rank_options
from clue.uncertainty import Sampling
from clue.units import Money
from tests.kernel.cases import machine
from tests.predict.test_modelling import by_parts, cluster, composed, modelling
from tests.predict.test_predictor import Formula
from tests.purchase.test_ranking import option, scenario, traces, workload


def told(ranking: Ranking) -> list[tuple[str, int | None, float | None, float | None]]:
    """Return option, position, score and probability of being best of each entry."""
    return [(each.option, each.position, each.score, each.best) for each in ranking.entries]


def described_anew(of: Scenario, price: float) -> Scenario:
    """Return the same comparison with new but equal machines at another price."""
    options = tuple(
        Option(each.name, priced(machine(len(each.machine.nodes)), price), Money(price, "EUR")) for each in of.options
    )
    return replace(of, options=options)


def priced(of: Machine, price: float) -> Machine:
    """Return a machine whose nodes have a price."""

    def node(each: NodeType) -> NodeType:
        return replace(each, price=Money(price, "EUR"))

    return of.map(node=node)


def test_other_prices_are_no_reason_to_simulate() -> None:
    """Equal machines at another price are not simulated again."""
    asked = scenario(option("two", 2, 100), option("four", 4, 200), budget=Money(300, "EUR"))
    predictor = RememberingPredictor(ReplayPredictor(traces))
    first = rank_options(asked, predictor)
    made = predictor.asked
    assert made > 0
    again = rank_options(described_anew(asked, 250.0), predictor)
    assert predictor.asked == made
    assert told(again) == told(rank_options(described_anew(asked, 250.0), ReplayPredictor(traces)))
    assert [each[0] for each in told(first)] == [each[0] for each in told(again)]


def test_another_machine_is_simulated() -> None:
    """A machine of half the speed is simulated."""
    predictor = RememberingPredictor(ReplayPredictor(traces))
    rank_options(scenario(option("two", 2)), predictor)
    made = predictor.asked
    slower = scenario(Option("two", machine(2, performance_factor=2.0)))
    assert told(rank_options(slower, predictor)) == told(rank_options(slower, ReplayPredictor(traces)))
    assert predictor.asked > made


def test_samples_are_drawn_once() -> None:
    """Samples are drawn once, so probabilities stay the same without new simulations."""
    noise = NodeNoise(computation=0.1, factor=0.2)
    noisy = scenario(option("one", 1, noise=noise), option("two", 2, noise=noise), workloads=(workload(ranks=(1, 2)),))
    sampling = Sampling(20)
    predictor = RememberingPredictor(ReplayPredictor(traces))
    first, made = rank_options(noisy, predictor, sampling=sampling), predictor.asked
    assert told(rank_options(noisy, predictor, sampling=sampling)) == told(first)
    assert predictor.asked == made
    assert told(first) == told(rank_options(noisy, ReplayPredictor(traces), sampling=sampling))
    assert first.entries[0].best is not None


def test_machines_of_other_names_have_models_of_their_own() -> None:
    """Two machines are described alike, but a program's parts took 0.74 s on one and 0.62 s on the other."""
    one, other = cluster("slow", "slow"), replace(cluster("slow", "slow"), name="other")
    files = {f"heat-{one.name}.yaml": composed(one), "heat-other.yaml": composed(other, 3e-4)}
    predictor = RememberingPredictor(modelling(files.__getitem__, Formula()))
    found = [(each.option, each.score) for each in rank_options(by_parts(800, [one, other]), predictor).entries]
    assert found == [("option other", pytest.approx(0.62)), ("option slow+slow", pytest.approx(0.74))]
