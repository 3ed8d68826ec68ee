"""Samples of rankings: certain and uncertain orders; each sample is a ranking of its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from clue.kernel import compile_program
from clue.machine import LinkNoise, Machine, Network, NoContention, NodeNoise, Placement, Ports
from clue.predict.application import Application
from clue.predict.replaying import ReplayPredictor
from clue.purchase import Component, Criterion, Limits, Option, Ranking, Scenario, Workload, rank_options
from clue.purchase.costs import Stated
from clue.trace import Trace, TraceBuilder
from clue.uncertainty import Sampling, Spread, draw, draw_machine, sample_makespans
from clue.units import Money
from tests.kernel.cases import LINK, LOCAL_LINK, machine
from tests.purchase.test_ranking import at_once, traces, workload

SAMPLING = Sampling(200, 1)


def option(
    name: str, price: float = 1000, nodes: int = 2, *, computation: float = 0.0, factor: float = 0.0, pf: float = 1.0
) -> Option:
    """Return an option of equal nodes with the given noise."""
    on = machine(nodes, noise=NodeNoise(computation, factor), performance_factor=pf)
    return Option(name, on, Money(price, "EUR"))


def ranked(*options: Option, criterion: Criterion = Criterion.MAKESPAN, **arguments: object) -> Ranking:
    """Rank options on a job of 12 s on one rank."""
    scenario = Scenario("by hand", (workload(ranks=(1,)),), options, criterion=criterion)
    return rank_options(scenario, ReplayPredictor(traces), sampling=SAMPLING, **arguments)  # type: ignore[arg-type]


def positions(ranking: Ranking) -> list[tuple[str, int | None]]:
    """Return options with their positions, in the listed order."""
    return [(entry.option, entry.position) for entry in ranking.entries]


def test_who_is_twice_as_fast_is_the_best_for_certain() -> None:
    """5 % of noise on each option cannot offset a factor of 2."""
    ranking = ranked(option("slow", factor=0.05, pf=2.0), option("fast", factor=0.05))
    assert positions(ranking) == [("fast", 1), ("slow", 2)]
    assert [entry.best for entry in ranking.entries] == [1.0, 0.0]


def test_few_samples_say_little() -> None:
    """One sample puts either option first for certain, so a ranking of fewer than 20 says that they say little."""
    options = option("a", factor=0.1), option("b", factor=0.1, pf=1.01)
    scenario = Scenario("by hand", (workload(ranks=(1,)),), options, criterion=Criterion.MAKESPAN)
    for samples, says in ((1, "1 sample says little of"), (19, "19 samples say little of"), (20, "")):
        ranking = rank_options(scenario, ReplayPredictor(traces), sampling=Sampling(samples))
        found = [warning for warning in ranking.warnings if "little of" in warning]
        assert [warning.startswith(says) for warning in found] == [True] * bool(says)


def test_who_is_a_little_faster_may_not_be() -> None:
    """A lead of 1 % against 10 % of noise: both share the position, and either may be best."""
    ranking = ranked(option("a", factor=0.1, pf=1.01), option("b", factor=0.1))
    assert positions(ranking) == [("b", 1), ("a", 1)]
    (b, a) = (entry.best for entry in ranking.entries)
    assert a is not None and b is not None
    assert a + b == pytest.approx(1.0)
    # P(factor of b < 1.01 factor of a) = 0.53; five standard errors of 200 samples.
    assert abs(b - 0.53) < 5 * 0.036


def test_noise_in_common_does_not_make_an_order_uncertain() -> None:
    """Both options have the same bursts with 20 % of noise, so a lead of 1 % wins in every sample."""
    ranking = ranked(option("a", computation=0.2, pf=1.01), option("b", computation=0.2))
    assert positions(ranking) == [("b", 1), ("a", 2)]
    first = ranking.entries[0]
    assert first.best == 1.0
    assert first.spread is not None
    assert first.spread.low < 10.0
    assert first.spread.high > 14.0


def test_equal_options_share_everything() -> None:
    """Two names for the same cluster are best in half of the samples each."""
    ranking = ranked(option("a", factor=0.1), option("b", factor=0.1), criterion=Criterion.POINTS)
    assert positions(ranking) == [("a", 1), ("b", 1)]
    assert [entry.best for entry in ranking.entries] == [0.5, 0.5]
    # Points are relative to the best of the sample, and both are best.
    assert [entry.spread for entry in ranking.entries] == [None, None]


def test_without_noise_there_are_no_intervals() -> None:
    """The ranking is unchanged, without intervals, and a warning says that no noise is stated."""
    ranking = ranked(option("a"), option("b", pf=2.0))
    assert positions(ranking) == [("a", 1), ("b", 2)]
    assert ranking.sampling is None
    assert all(entry.spread is None and entry.best is None for entry in ranking.entries)
    assert any("no noise is stated" in warning for warning in ranking.warnings)


def test_options_without_noise_are_named() -> None:
    """An option without noise has no interval, and a warning names it; its position may still be uncertain."""
    ranking = ranked(option("sure"), option("unsure", factor=0.1, pf=1.01))
    assert [entry.spread is None for entry in ranking.entries] == [True, False]
    assert [entry.workloads[0].spread is None for entry in ranking.entries] == [True, False]
    assert any(warning.startswith("sure: no noise is stated") for warning in ranking.warnings)
    assert [position for _, position in positions(ranking)] == [1, 1]


def test_who_may_come_among_the_first_is_sampled_and_listed() -> None:
    """With one position requested, the second option shares it, and the third is far behind."""
    options = [option(name, factor=0.1, pf=pf) for name, pf in (("a", 1.0), ("b", 1.01), ("c", 2.0))]
    ranking = ranked(*options, top=1)
    assert positions(ranking)[:2] == [("a", 1), ("b", 1)]
    last = ranking.entries[2]
    assert (last.option, last.position, last.best) == ("c", None, None)
    assert last.bound is not None
    assert ranking.first == 1


def test_the_spread_of_a_makespan_is_that_of_its_samples() -> None:
    """Two instances in turn on one processor: each sample is twice the makespan of one instance."""
    single = option("one", nodes=1, computation=0.1, factor=0.1)
    scenario = Scenario("turns", (workload(ranks=(1,), instances=2),), (single,), criterion=Criterion.MAKESPAN)
    (entry,) = rank_options(scenario, ReplayPredictor(traces), sampling=SAMPLING).entries
    program = compile_program(traces(Application(arguments=("1",)), 1))
    found = sample_makespans(program, single.machine, Placement((0,)), SAMPLING)
    assert entry.workloads[0].spread == Spread.of(2 * found)


def test_who_misses_a_limit_in_a_sample_is_not_the_best_in_it() -> None:
    """12 s ± 10 % must end within 13 s, or run every 12.5 s; where it does not, the dearer option is best."""
    cheap, sure = option("cheap", 100, nodes=1, factor=0.1), option("sure", 200, nodes=1)
    program = compile_program(traces(Application(arguments=("1",)), 1))
    seconds = sample_makespans(program, cheap.machine, Placement((0,)), SAMPLING)
    for job, limit, said in (
        (workload(ranks=(1,), deadline=13.0), 13.0, "job: a run must end within 13 s"),
        (
            workload(ranks=(1,), demand=1 / 12.5),
            12.5,
            "share of the time that the runs a month take must be at most 100.0%",
        ),
    ):
        asked = Scenario(
            "by hand", (job,), (cheap, sure), criterion=Criterion.TOTAL_COST
        )  # fmt: skip
        ranking = rank_options(asked, ReplayPredictor(traces), sampling=SAMPLING)
        kept = float((seconds <= limit).mean())
        assert 0.5 < kept < 0.95
        assert [entry.best for entry in ranking.entries] == pytest.approx([kept, 1 - kept])
        told = f"samples: {said}: missed by cheap in {1 - kept:.1%} of them, where these do not count as the best"
        assert told in ranking.warnings


@pytest.mark.parametrize("weighted", [False, True])
def test_samples_are_relative_to_the_best_of_all(weighted: bool) -> None:
    """C is too dear, and the best at both jobs: in each sample A has 100 + 10 points, B 33.3 + 33.3.

    Relative to A and B alone, A would have 100 + 30 points, and B 33.3 + 100.
    """

    def by_region(application: Application, ranks: int) -> Trace:
        trace = TraceBuilder(ranks)
        trace[0].compute(float(application.arguments[0]), str(application.trace))
        return trace.build()

    jobs = tuple(
        Workload(name, (Component(name, Application(arguments=(seconds,), trace=name)),))
        for name, seconds in (("one", "10"), ("two", "4"))
    )
    times: tuple[tuple[str, float, dict[str, float]], ...] = (
        ("A", 1000, {"two": 10.0}), ("B", 1000, {"one": 3.0, "two": 3.0}), ("C", 3000, {})
    )  # fmt: skip
    options = tuple(
        Option(name, machine(1, noise=NodeNoise(0.0, 0.001), performance_factors=factors), Money(price, "EUR"))
        for name, price, factors in times
    )
    asked = Scenario("by hand", jobs, options, limits=Limits(total_cost=Money(2000, "EUR")))
    if weighted:
        asked = replace(asked, criterion=Criterion.WEIGHTED, weighted={Criterion.POINTS: 1.0})
    ranking = rank_options(asked, ReplayPredictor(by_region), sampling=SAMPLING)
    assert positions(ranking) == [("A", 1), ("B", 2), ("C", None)]
    assert [entry.best for entry in ranking.entries] == [1.0, 0.0, None]


def test_without_any_option_in_time_there_is_nothing_to_sample() -> None:
    """If no option meets its deadline, there are no samples and no warnings, even if a price is uncertain."""
    figure = Stated("options.a.price", 1000.0, 0.1)
    asked = Scenario(
        "by hand", (workload(ranks=(1,), deadline=1.0),), (replace(option("a"), stated=(figure,)),),
        criterion=Criterion.TOTAL_COST,
    )  # fmt: skip
    ranking = rank_options(asked, ReplayPredictor(traces), sampling=SAMPLING)
    assert [(entry.position, ranking.sampling) for entry in ranking.entries] == [(None, None)]
    assert not any(warning.startswith("samples: ") for warning in ranking.warnings)


def exchange(application: Application, ranks: int) -> Trace:
    """Return a program whose ranks compute and send one another ``{arguments[0]}`` KB, five times."""
    trace = TraceBuilder(ranks, "exchange.py")
    for rank in range(ranks):
        for _ in range(5):
            trace[rank].compute(0.2 + 0.01 * rank)
            trace[rank].sendrecv((rank + 1) % ranks, int(application.arguments[0]) * 1000, (rank - 1) % ranks)
    return trace.build()


def networked(name: str, contention: bool, delay: float) -> Option:
    """Return an option of four nodes with all kinds of noise, with contention at ports or none."""
    link = replace(LINK, noise=LinkNoise(0.1, 0.1), receive_delay=delay)
    on = machine(4, noise=NodeNoise(0.1, 0.05))
    network = Network(link, LOCAL_LINK, contention=Ports() if contention else NoContention())
    return Option(name, replace(on, network=network), Money(1000, "EUR"))


def exchanges(*options: Option) -> Scenario:
    """Return a comparison by points on two workloads, of two and four ranks; the second has two kernels."""
    kernels = [Component(f"{kb} KB", Application(arguments=(kb,), trace="built"), 0.5) for kb in ("1", "20")]
    workloads = Workload("small", (kernels[0],), ranks=(2,)), Workload("large", tuple(kernels), ranks=(4,), weight=3.0)
    return Scenario("exchanges", workloads, options)


def test_every_sample_is_a_ranking_of_what_was_drawn() -> None:
    """One ranking per sample, with its machines and bursts, gives the same scores and shares of first places."""
    options = [networked("a", False, 0.001), networked("b", True, 0.001), networked("c", False, 0.02)]
    sampling = Sampling(12, 3)
    ranking = rank_options(exchanges(*options), ReplayPredictor(exchange), sampling=sampling)
    scores: dict[str, list[float]] = {option.name: [] for option in options}
    for sample in sampling.each():

        def drawn(application: Application, ranks: int, sample=sample) -> Trace:  # type: ignore[no-untyped-def]
            trace = exchange(application, ranks)
            on, placement = options[0].machine, Placement(tuple(range(ranks)))
            bursts = draw(compile_program(trace), on, placement, sample)[0].columns.cpu
            return replace(trace, ops=replace(trace.ops, cpu=bursts))

        machines = [replace(option, machine=draw_machine(option.machine, sample)) for option in options]
        for entry in rank_options(exchanges(*machines), ReplayPredictor(drawn)).entries:
            assert entry.score is not None
            scores[entry.option].append(entry.score)
    for entry in ranking.entries:
        assert entry.spread is not None
        expected = Spread.of(scores[entry.option])
        assert (entry.spread.low, entry.spread.high) == pytest.approx((expected.low, expected.high), rel=1e-9)
        mine = scores[entry.option]
        firsts = [row.count(max(row)) for row in zip(*scores.values(), strict=True)]
        wins = [score == max(row) for score, row in zip(mine, zip(*scores.values(), strict=True), strict=True)]
        assert entry.best == pytest.approx(np.mean([win / of for win, of in zip(wins, firsts, strict=True)]))


def test_figures_do_not_depend_on_who_simulates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are the same with one process or two, and with either engine."""
    options = [networked("a", False, 0.001), networked("b", True, 0.001)]
    sampling = Sampling(6, 3)
    told: list[list[tuple[str, int, int]]] = [[], []]

    def sampled(predictor: ReplayPredictor, told: list[tuple[str, int, int]]) -> Ranking:
        return rank_options(exchanges(*options), predictor, lambda *what: told.append(what), sampling=sampling)

    alone = sampled(ReplayPredictor(exchange, engine="reference"), told[0])
    at_once(monkeypatch)
    two = sampled(ReplayPredictor(exchange, engine="fast", workers=2), told[1])
    for one, other in zip(alone.entries, two.entries, strict=True):
        assert (one.option, one.position, one.spread, one.best) == (
            other.option,
            other.position,
            other.spread,
            other.best,
        )
        assert [each.spread for each in one.workloads] == [each.spread for each in other.workloads]
    for each in told:
        of_samples = [(done, total) for what, done, total in each if what.startswith("samples")]
        # Two workloads, three components, two options, six samples.
        assert of_samples == sorted(of_samples)
        assert of_samples[-1] == (36, 36)


def test_interrupted_samples_leave_the_ranking() -> None:
    """After Ctrl-C during samples, positions and scores stand, but there are no intervals."""

    def tell(what: str, _done: int, _total: int) -> None:
        if what.startswith("samples"):
            raise KeyboardInterrupt

    ranking = ranked(option("a", factor=0.1), option("b", factor=0.1, pf=2.0), progress=tell)
    assert positions(ranking) == [("a", 1), ("b", 2)]
    assert ranking.interrupted
    assert ranking.certain == 2
    assert ranking.sampling is None


def test_a_machine_is_drawn_once_for_all_its_nodes() -> None:
    """Drawn nodes of one type stay one type, so thousands of nodes cost no more to simulate."""
    drawn: Machine = draw_machine(option("a", nodes=4, factor=0.1).machine, SAMPLING.each()[0])
    assert len({id(node) for node in drawn.nodes}) == 1


def test_of_very_many_that_may_come_among_the_first_some_are_only_counted() -> None:
    """One of eight similar clusters is requested: another one is sampled, and six are reported as left out."""
    options = [option(f"{i}", factor=0.1, pf=1 + i / 1000) for i in range(8)]
    ranking = ranked(*options, top=1)
    assert [position for _, position in positions(ranking)] == [1, 1, *[None] * 6]
    (said,) = (warning for warning in ranking.warnings if "6 more options may be among the first" in warning)
    assert "so the others are the best in fewer samples than shown" in said
