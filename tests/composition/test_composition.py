"""The time of critical paths at call sites, and the models composed of these times."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clue.balance import shares, vector_at
from clue.composition import ComposedModel, compose, on_critical_path, recorded, with_first_bursts
from clue.errors import DeadlockError, ModelError
from clue.kernel import simulate
from clue.machine import Curve, Link, Machine, Network, NoContention, NodeType
from clue.models import Among, Loop, fit_in_turn
from clue.models.parts import doubts, misfit
from clue.structure import Graph, Kind, examples_of
from clue.trace import Op, Trace, TraceBuilder
from clue.trace.sites import UNKNOWN, Frame, Site
from tests.extrapolation.families import STEPS, ring
from tests.kernel.random_cases import random_machine, random_placement, random_trace
from tests.properties import examples


def site(line: int, *loops: int) -> Site:
    """Return a call site of a program with one function."""
    return Site((Frame("deal.py", "main", line, line, loops),))


SEND, COLLECT, TAKE, RETURN = site(3, 2), site(5, 4), site(7), site(9)


def dealing(n: int, ranks: int, unit: float = 1e-3) -> Trace:
    """Return a program: a master exchanges 8 n bytes with each worker, which computes n²/workers units in between."""
    trace = TraceBuilder(ranks, "deal.py")
    for rank in range(1, ranks):
        trace[0].at(SEND)
        trace[0].send(rank, 8 * n)
        trace[rank].at(TAKE)
        trace[rank].recv(0)
        trace[rank].at(RETURN)
        trace[rank].compute(unit * n**2 / (ranks - 1))
        trace[rank].send(0, 8 * n)
    for rank in range(1, ranks):
        trace[0].at(COLLECT)
        trace[0].recv(rank)
    return trace.build()


def composed(recordings: Sequence[tuple[int, int, Trace]], where: Machine, **options: object) -> ComposedModel:
    """Return the model of recordings on a machine."""
    sites, examples = examples_of(recordings)
    times = [on_critical_path(each, len(sites), where) for each in examples]
    return compose(Graph.of(sites, examples), examples, times, **options)  # type: ignore[arg-type]


def network(send: Curve, transmission: Curve, receive: float = 0.0, count: int = 16) -> Machine:
    """Return a machine of nodes with one processor each and no contention."""
    link = Link(send, transmission, receive)
    return Machine("nodes", (NodeType("node"),) * count, Network(link, link, contention=NoContention()))


def test_the_critical_path_by_site_by_hand() -> None:
    """The critical path of a master and a worker is split by call site.

    It consists of a send (1 s), a transmission (2 s), a receive (0.5 s), computation (4 s), and the same message back.
    The path replaces the master's wait by its cause, so the master's receive keeps only the transmission back and its
    receive delay.
    """
    sites, examples = examples_of([(2, 2, dealing(2, 2, unit=1.0))])
    times = on_critical_path(examples[0], len(sites), network(Curve.line(1.0), Curve.line(2.0), 0.5))
    communication = {each: times.communication[sites.index(each)] for each in (SEND, TAKE, RETURN, COLLECT)}
    assert communication == {SEND: 1, TAKE: 2.5, RETURN: 1, COLLECT: 2.5}
    assert times.computation[sites.index(RETURN)] == 4 == times.computation.sum()
    assert times.total == 11


@pytest.mark.parametrize("ranks", [2, 5])
def test_sites_share_all_of_the_makespan(ranks: int) -> None:
    """The times of all call sites add up to the makespan of a replay."""
    where = network(Curve.line(1e-5, 1e-9), Curve.line(2e-5, 1e-8), 1e-6)
    for trace in (dealing(50, ranks), ring(40, ranks)):
        sites, examples = examples_of([(50, ranks, trace)])
        assert on_critical_path(examples[0], len(sites), where).total == pytest.approx(
            simulate(trace, where).makespan, rel=1e-12
        )


@pytest.mark.parametrize("seed", range(24))
def test_critical_paths_of_random_programs_are_shared_by_sites(seed: int) -> None:
    """For random programs and machines, the times of call sites add up to the makespan.

    These have collectives, rendezvous, contention, spawned worlds and crowded nodes.
    """
    random = Random(seed)
    trace = random_trace(random, ties=bool(seed % 2))
    where = random_machine(random, ("none", "factor", "ports", "flows")[seed % 4], ties=bool(seed % 2))
    placement = random_placement(random, where, trace.ranks)
    try:
        makespan = simulate(trace, where, placement, "reference").makespan
    except DeadlockError:
        return
    sites, examples = examples_of([(1, trace.ranks, trace)])
    found = on_critical_path(examples[0], len(sites), where, placement)
    assert found.total == pytest.approx(makespan, rel=1e-9)


def test_what_was_recorded_is_the_mean_over_ranks() -> None:
    """If one of two ranks computes for 4 s, the recorded computation is the mean, 2 s."""
    sites, examples = examples_of([(2, 2, dealing(2, 2, unit=1.0))])
    assert recorded(examples[0], len(sites)).computation[sites.index(RETURN)] == 2


def test_performance_factors_of_regions_hold_by_site() -> None:
    """Each site has the factor of its region: 1 s and 2 s at half the speed take 2 s and 4 s, 1 s at full speed 1 s."""
    trace = TraceBuilder(1, "two.py")
    for line, (seconds, region) in enumerate([(1.0, "slow"), (1.0, "fast"), (2.0, "slow")], 1):
        trace[0].at(site(line))
        trace[0].compute(seconds, region)
        trace[0].collective(Op.BARRIER)
    node = NodeType("node", performance_factors={"slow": 2.0})
    link = Link(Curve.line(0.0), Curve.line(0.0))
    sites, examples = examples_of([(1, 1, trace.build())])
    times = on_critical_path(examples[0], len(sites), Machine("one", (node,), Network(link, link)))
    assert [times.computation[sites.index(site(line))] for line in (1, 2, 3)] == [2, 1, 4]


PLACES = [(n, p) for n in (100, 200, 300, 400) for p in (3, 4, 5)]


def test_a_master_and_its_workers_are_met_beyond_what_was_recorded() -> None:
    """A model fitted on 2 to 4 workers and sizes up to 400 is exact for 15 workers and size 2000.

    The number of loop iterations is fitted as ranks minus one.
    """
    where = network(Curve.line(1e-4, 1e-8), Curve.line(1e-4))
    model = composed([(n, p, dealing(n, p)) for n, p in PLACES], where, fitted=fit_in_turn)
    assert np.abs(model.off).max() < 1e-9
    truth = simulate(dealing(2000, 16), where).makespan
    assert model.time(2000, 16) == pytest.approx(truth, rel=1e-6)
    assert not model.time.inside({"n": [2000], "P": [16]})[0]
    loops = [time for time in model.nodes.values() if isinstance(time, Loop)]
    assert {str(loop.count) for loop in loops} == {"-1 + 1 P"}


def started(n: int, ranks: int) -> Trace:
    """Return a program: a master computes for 1 ms in any run, and n² / workers units are computed by each worker."""
    trace = TraceBuilder(ranks, "deal.py")
    trace[0].at(site(1))
    trace[0].compute(1e-3)
    trace[0].send(-1, 0)
    for rank in range(1, ranks):
        trace[0].at(SEND)
        trace[0].send(rank, 8 * n)
        trace[rank].at(TAKE)
        trace[rank].recv(0)
        trace[rank].at(RETURN)
        trace[rank].compute(1e-6 * n**2 / (ranks - 1))
        trace[rank].send(0, 8 * n)
    for rank in range(1, ranks):
        trace[0].at(COLLECT)
        trace[0].recv(rank)
    return trace.build()


@pytest.mark.parametrize(("ranks", "among"), [((2, 3, 4), True), ((1, 2, 3, 4), False)])
def test_models_are_over_workers_if_every_recording_has_some(ranks: tuple[int, ...], among: bool) -> None:
    """On one rank there are no workers to divide by, so that all nodes are fitted over the ranks."""
    where = network(Curve.line(1e-4, 1e-8), Curve.line(1e-4))
    model = composed([(n, p, started(n, p)) for n in (100, 200, 300) for p in ranks], where)
    assert any(isinstance(time, Among) for time in model.nodes.values()) == among
    assert model.time(300, 2) > 0


def unlike(n: int, ranks: int) -> Trace:
    """Return a program: n² / workers units are computed twice, at a site for odd and one for even workers."""
    trace = TraceBuilder(ranks, "deal.py")
    trace[0].at(site(1))
    trace[0].send(-1, 0)
    for rank in range(1, ranks):
        trace[rank].at(site(13 if rank % 2 else 14, 12))
        for _ in range(2):
            trace[rank].compute((2e-6 if rank % 2 else 1e-6) * n**2 / (ranks - 1))
            trace[rank].send(-1, 0)
    return trace.build()


def test_branches_of_workers_are_modelled_over_workers() -> None:
    """The branches are side by side in the workers' loop; at size 1000, 16 workers take twice 2 us · 1000² / 16."""
    where = network(Curve.line(0.0), Curve.line(0.0))
    model = composed([(n, p, unlike(n, p)) for n in (100, 200, 300) for p in (2, 3, 4, 5)], where, fitted=fit_in_turn)
    assert model.time(1000, 17) == pytest.approx(0.25, rel=1e-3)


def test_plausible_models_meet_what_follows_their_terms() -> None:
    """For a ring that computes n²/P three times, plausible models are within 2 % at four times the size and ranks.

    The interval holds the middle.
    """
    where = network(Curve.line(1e-5), Curve.line(1e-5))
    model = composed([(n, p, ring(n, p)) for n in (100, 150, 200, 300, 400) for p in (2, 3, 4, 6)], where)
    truth = simulate(ring(1600, 16), where).makespan
    middle, low, high = (each[0] for each in model.time.predict({"n": [1600], "P": [16]}))
    assert middle == pytest.approx(truth, rel=0.02)
    assert low <= middle <= high
    (loop,) = (node for node in model.nodes if node.kind is Kind.LOOP)
    assert loop.mean_times(0) == STEPS


@given(st.integers(1, 5), st.integers(1, 4))
@settings(max_examples=examples(10), deadline=None)
def test_parts_add_up_to_the_makespan_where_they_were_measured(sizes: int, ranks: int) -> None:
    """With as many terms as points, each model passes through its points, so their sum is the makespan there."""
    where = network(Curve.line(1e-5, 1e-9), Curve.line(3e-5, 1e-8), 1e-6)
    places = [(100 * (i + 1), 2 + j) for i in range(sizes) for j in range(ranks)]
    inner = [f"n^{i}" if i else "1" for i in range(sizes)]
    outer = [f"P^{i}" if i else "1" for i in range(ranks)]
    model = composed(
        [(n, p, ring(n, p)) for n, p in places], where, fitted=partial(fit_in_turn, inner=inner, outer=outer)
    )
    assert np.abs(model.off).max() < 1e-6


def test_models_on_kinds_of_processors_give_relative_performance() -> None:
    """At a size that was not recorded, a kind of processor that takes four times as long gets 20 of 100 rows."""
    fast = network(Curve.line(1e-9), Curve.line(1e-9))
    slow = Machine("slow", (NodeType("slow", performance_factor=4.0),) * 16, fast.network)
    recordings = [(n, p, dealing(n, p)) for n, p in PLACES]
    models = [composed(recordings, where, fitted=fit_in_turn).time for where in (slow, fast)]
    vector = vector_at(models, 1000, 8)
    assert vector == pytest.approx((1, 4), rel=1e-4)
    assert shares(100, vector) == (20, 80)


def test_a_part_that_nobody_can_be_sure_of_is_named() -> None:
    """If only messages between nodes take time, 2 to 4 ranks do not determine 16, and a doubt names the loop."""
    between, within = (Link(Curve.line(seconds), Curve.line(seconds)) for seconds in (1.0, 1e-6))
    where = Machine("pairs", (NodeType("pair", processors=2),) * 8, Network(between, within))
    model = composed([(n, p, ring(n, p, 1e-6)) for n in (100, 200, 300) for p in (2, 3, 4)], where)
    (doubt,) = doubts(model.time, 600, 16)
    assert doubt.startswith(
        "loop in step ring.py:2/Sendrecv ring.py:3 takes 78% of the time, by models that may be off"
    )


def test_what_cannot_be_composed_is_refused() -> None:
    """Composing without recordings, or from too few sizes for the terms, is an error."""
    where = network(Curve.line(1e-5), Curve.line(1e-5))
    with pytest.raises(ModelError, match="compose: recordings must be at least one, got none"):
        composed([], where)
    with pytest.raises(ModelError, match=r"n: values must be at least 3 different ones for the terms 1, n, n\^2"):
        composed([(100, p, ring(100, p)) for p in (2, 3)], where, fitted=fit_in_turn)


WORK = site(4, 3)


def beginning(n: int, ranks: int, begin: float) -> Trace:
    """Return a program that computes before a loop whose body computes for 1 ms before a barrier, n times."""
    trace = TraceBuilder(ranks, "begin.py")
    for rank in range(ranks):
        trace[rank].at(WORK)
        for i in range(n):
            trace[rank].compute(0.001 + (begin if i == 0 else 0.0))
            trace[rank].collective(Op.BARRIER)
    return trace.build()


def test_a_long_burst_before_a_loop_is_a_part_of_its_own() -> None:
    """1 s and n iterations of 1 ms: in the body of the loop, it would be 1 s / n a time; size 400 takes 1.4 s."""
    where = network(Curve.line(0.0), Curve.line(0.0))
    sites, examples = examples_of([(n, p, beginning(n, p, 1.0)) for n in (20, 50, 100) for p in (2, 4)])
    times = [on_critical_path(each, len(sites), where) for each in examples]
    at, graph = sites.index(WORK), Graph.of(sites, examples)
    assert [each.first[at] for each in times] == [pytest.approx(1.001)] * 6
    apart, found = with_first_bursts(graph, examples, times)
    assert [each.before_loops[at] for each in found] == [pytest.approx(1.0)] * 6
    assert [each.computation[at] for each in found] == pytest.approx([n * 1e-3 for n in (20, 20, 50, 50, 100, 100)])
    assert [each.total for each in found] == pytest.approx([each.total for each in times])
    first, loop = apart.root.children
    assert (first.name, first.is_first, loop.kind) == ("until the loop, before Barrier", True, Kind.LOOP)
    model = compose(apart, examples, found)
    assert max(map(abs, model.off)) < 1e-3 and model.time(400, 4) == pytest.approx(1.4, rel=0.01)
    assert not misfit(model.off)
    worse = compose(graph, examples, times)
    (said,) = misfit(worse.off)
    assert said.startswith(f"the model is off by up to {max(map(abs, worse.off)):.0%} at its own recordings and must")


def test_bursts_before_loops_that_do_not_matter_stay_where_they_are() -> None:
    """1 % of a time is the least that matters; a loop that never runs twice does not tell what an iteration takes."""
    where = network(Curve.line(0.0), Curve.line(0.0))
    for n, begin in ((100, 0.0009), (1, 1.0)):
        sites, examples = examples_of([(n, 2, beginning(n, 2, begin))])
        times = [on_critical_path(examples[0], len(sites), where)]
        graph = Graph.of(sites, examples)
        apart, found = with_first_bursts(graph, examples, times)
        assert apart is graph and found[0].computation.tolist() == times[0].computation.tolist()
    assert recorded(examples[0], len(sites)).first.sum() == pytest.approx(1.001)


def test_first_bursts_at_the_unknown_site_stay_where_they_are() -> None:
    """The unknown site is in no loop of the graph: 1 s and twice 1 ms before its calls are 1.002 s of the program."""
    trace = TraceBuilder(1, "part.py")
    trace[0].at(site(1))
    trace[0].send(-1, 0)
    trace[0].at(UNKNOWN)
    for seconds in (1.0, 1e-3, 1e-3):
        trace[0].compute(seconds)
        trace[0].send(-1, 0)
    sites, examples = examples_of([(1, 1, trace.build())])
    graph, (times,) = with_first_bursts(Graph.of(sites, examples), examples, [recorded(examples[0], len(sites))])
    assert sum(times.of(node) for _, node in graph.root.walk() if not node.children) == pytest.approx(1.002)
