"""Efficiencies and sensitivities by hand, and their properties for random programs and machines."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clue.errors import DeadlockError
from clue.explain import Explanation, Sensitivity, explain
from clue.explain.shares import part_shares, rank_shares, site_shares
from clue.kernel import compile_program, simulate
from clue.machine import (
    Contention,
    Curve,
    FactorTable,
    Flows,
    Link,
    Machine,
    Network,
    NoContention,
    NodeType,
    Placement,
    Ports,
    SpeedCurve,
)
from clue.machine.contention import NUMBERS
from clue.machine.contention.topology import FatTree, Switch, Switches
from clue.result import Part
from clue.trace import Op, TraceBuilder
from clue.trace.sites import Frame, Site
from tests.kernel.cases import RECEIVE, SEND, TRANSMIT, machine, sending, transmission
from tests.kernel.random_cases import random_machine, random_placement, random_trace
from tests.properties import examples


def explanation_of(trace: TraceBuilder, on: Machine, placement: tuple[int, ...] | None = None) -> Explanation:
    """Explain a program, with one rank per node unless a placement is given."""
    program = compile_program(trace.build())
    nodes = placement if placement is not None else tuple(range(program.ranks))
    return explain(program, on, Placement(nodes))


def by_name(explanation: Explanation) -> dict[str, Sensitivity]:
    """Return the sensitivities by parameter."""
    return {each.parameter: each for each in explanation.sensitivities}


def in_turn() -> TraceBuilder:
    """Return a program whose rank 0 computes 3 s and sends 1 KB to rank 1, which then computes 1 s."""
    trace = TraceBuilder(2)
    trace[0].compute(3.0, "solve")
    trace[0].send(1, 1000)
    trace[1].recv(0)
    trace[1].compute(1.0, "solve")
    return trace


#: Time of the message on the hand-made machine.
MESSAGE = sending(1) + transmission(1) + RECEIVE


def test_efficiencies_of_two_ranks_in_turn() -> None:
    """With 3 s and then 1 s of computation, load balance is 2/3 and serialisation 3/4; transfer loses the message."""
    found = explanation_of(in_turn(), machine()).efficiencies
    assert found is not None
    makespan = 4.0 + MESSAGE
    assert found.load_balance == pytest.approx(2 / 3)
    assert found.serialisation == pytest.approx(3 / 4)
    assert found.sharing == 1
    assert found.transfer == pytest.approx(4.0 / makespan)
    assert found.communication == pytest.approx(3.0 / makespan)
    assert found.parallel == pytest.approx(2.0 / makespan)


def test_efficiency_of_a_shared_processor() -> None:
    """Two bursts of 1 s share one processor: only sharing loses, namely a half."""
    trace = TraceBuilder(2)
    for rank in range(2):
        trace[rank].compute(1.0)
    found = explanation_of(trace, machine(1), (0, 0)).efficiencies
    assert found is not None
    assert (found.load_balance, found.serialisation, found.sharing, found.transfer) == pytest.approx((1, 1, 0.5, 1))


def test_nothing_computed_has_no_efficiency() -> None:
    """A program without computation has no efficiencies."""
    trace = TraceBuilder(2)
    trace[0].send(1, 0)
    trace[1].recv(0)
    assert explanation_of(trace, machine()).efficiencies is None


def test_sensitivities_of_two_ranks_in_turn() -> None:
    """A change of 10 % changes the makespan by 10 % of the parameter's share, and by 1/0.9 and 1/1.1 for bandwidths."""
    explanation = explanation_of(in_turn(), machine())
    found, makespan = by_name(explanation), 4.0 + MESSAGE
    assert explanation.makespan == pytest.approx(makespan)
    expected = {
        "node_types.host.performance_factor": 4.0,
        "network.between_nodes.send_delay.latency": SEND,
        "network.between_nodes.transmission_delay.latency": TRANSMIT,
        "network.between_nodes.receive_delay": RECEIVE,
    }
    for name, seconds in expected.items():
        assert found[name].lower == pytest.approx(makespan - 0.1 * seconds)
        assert found[name].higher == pytest.approx(makespan + 0.1 * seconds)
        assert found[name].elasticity == pytest.approx(seconds / makespan)
    wider = found["network.between_nodes.transmission_delay.bandwidth"]
    assert wider.lower == pytest.approx(makespan + 0.002 * (1 / 0.9 - 1))
    assert wider.higher == pytest.approx(makespan + 0.002 * (1 / 1.1 - 1))
    assert explanation.sensitivities[0].parameter == "node_types.host.performance_factor"


def test_a_parameter_without_effect() -> None:
    """An eager limit of 10 KB has no effect on a message of 1 KB, between 9 and 11 KB."""
    limit = by_name(explanation_of(in_turn(), machine()))["network.between_nodes.eager_limit"]
    assert not limit.has_effect
    assert limit.elasticity == 0


def test_an_eager_limit_that_decides() -> None:
    """With a limit 10 % lower, a message of 9.5 KB waits for its receive, which is 1 s later."""
    trace = TraceBuilder(2)
    trace[0].send(1, 9500)
    trace[0].compute(1.0)
    trace[1].compute(1.0)
    trace[1].recv(0)
    limit = by_name(explanation_of(trace, machine()))["network.between_nodes.eager_limit"]
    assert limit.higher == limit.makespan
    assert limit.lower == pytest.approx(1.0 + SEND + TRANSMIT + sending(9.5) + 1.0)


def test_a_limit_that_lets_a_program_deadlock() -> None:
    """A deadlock under a lower limit is reported as no makespan, not raised.

    Two ranks send 9.5 KB to each other before they receive.
    """
    trace = TraceBuilder(2)
    for rank in range(2):
        trace[rank].send(1 - rank, 9500)
        trace[rank].recv(1 - rank)
    limit = by_name(explanation_of(trace, machine()))["network.between_nodes.eager_limit"]
    assert limit.lower is None
    assert limit.elasticity is None
    assert limit.has_effect


@pytest.mark.parametrize("speed", [0.5e9, SpeedCurve.through([(1e9, 0.4e9), (2e9, 0.5e9)])])
def test_speed_by_region_is_a_parameter_of_its_own(speed: float | SpeedCurve) -> None:
    """A speed by region is a parameter: 2 s in a region with half the host's speed (4 s), and 1 s in another."""
    trace = TraceBuilder(1)
    trace[0].compute(2.0, "solve")
    trace.declare(0, region="solve", flops=2 * 10**9)
    trace[0].compute(1.0, "setup")
    found = by_name(explanation_of(trace, machine(1, speeds={"solve": speed})))
    assert set(found) == {
        f"node_types.host.{x}" for x in ("performance_factor", "speed.solve", "performance_factor.setup")
    }
    assert found["node_types.host.speed.solve"].higher == pytest.approx(1.0 + 4.0 / 1.1)
    assert found["node_types.host.performance_factor.setup"].higher == pytest.approx(4.0 + 1.1)
    assert found["node_types.host.performance_factor"].higher == pytest.approx(1.1 * 5.0)


def test_computation_outside_of_regions_is_a_parameter_of_its_own() -> None:
    """Of 6 s, 3 are outside of regions, 2 in a region and 1 in one named default: each is a parameter with its name."""
    trace = TraceBuilder(1)
    for seconds, region in ((3.0, ""), (2.0, "solve"), (1.0, "default")):
        trace[0].compute(seconds, region)
    found = by_name(explanation_of(trace, machine(1)))
    path = "node_types.host.performance_factor"
    assert {name: each.higher for name, each in found.items()} == pytest.approx(
        {path: 6.6, f"{path}.(no region)": 6.3, f"{path}.solve": 6.2, f"{path}.default": 6.1}
    )


def test_a_speed_outside_of_regions_is_a_parameter_of_its_own() -> None:
    """3 s outside of regions with half the host's speed take 6 s; 2 s in a region do not depend on that."""
    trace = TraceBuilder(1)
    trace[0].compute(3.0)
    trace.declare(0, region="", flops=3 * 10**9)
    trace[0].compute(2.0, "solve")
    found = by_name(explanation_of(trace, machine(1, speeds={"": 0.5e9})))
    assert found["node_types.host.speed.(no region)"].higher == pytest.approx(6 / 1.1 + 2)


def test_memory_contention_and_background_load() -> None:
    """For a burst of 1 s at a share of 0.8 beside half a process, contention's loss grows from 0.2 to 0.22."""
    trace = TraceBuilder(1)
    trace[0].compute(1.0)
    on = machine(1, background_load=0.5, memory_contention={1: {"": 0.8}})
    found = by_name(explanation_of(trace, on))
    assert found["node_types.host.memory_contention_factor"].higher == pytest.approx(1.5 / 0.78)
    assert found["node_types.host.background_load"].higher == pytest.approx(1.55 / 0.8)


def test_the_contention_table_counts_above_one() -> None:
    """A contention factor is scaled in its excess over 1: 1.5 becomes 1.55."""
    trace = TraceBuilder(4)
    for source in (0, 2):
        trace[source].send(source + 1, 0)
        trace[source + 1].recv(source)
    found = by_name(explanation_of(trace, machine(4, contention={1: 1.0, 2: 1.5})))
    assert found["network.contention.factors"].higher == pytest.approx(1.55 * (SEND + TRANSMIT) + RECEIVE)


@pytest.mark.parametrize(
    ("contention", "name", "higher"),
    [
        (Flows(Switch(0.5e6)), "network.contention.bandwidth", 4 / 1.1),
        (Flows(FatTree((4,), (1,), (1,), (0.5e6,))), "network.contention.bandwidth[0]", 4 / 1.1),
        (Ports(Curve.line(0.0, 2e-6)), "network.contention.busy", 2 * 1.1 + 1),
        (Ports(), "network.between_nodes.busy", 1.1 + 1),
    ],
)
def test_what_messages_share_is_a_parameter(contention: Flows | Ports, name: str, higher: float) -> None:
    """Two messages of 1 MB into one node share a link or a port, whose figure is a parameter.

    They take 4 s through a link of 0.5 MB/s; at its port 2 s, or 1 s, and then 1 s.
    """
    link = Link(Curve.line(0.0), Curve.line(0.0, 1e-6))
    trace = TraceBuilder(3)
    for source in (1, 2):
        trace[source].send(0, 10**6)
        trace[0].recv(source)
    on = Machine("shared", (NodeType("host"),) * 3, Network(link, link, contention=contention))
    assert by_name(explanation_of(trace, on))[name].higher == pytest.approx(higher)


def test_each_level_of_a_fat_tree_is_a_parameter() -> None:
    """Two messages of 1 MB between switches share a cable of 1 MB/s for 2 s; the nodes' cables of 2 MB/s do not count.

    Then a message of 3 MB within a switch takes 1.5 s through the nodes' cables.
    """
    link = Link(Curve.line(0.0), Curve.line(0.0, 1e-9))
    trace = TraceBuilder(4)
    for source in (0, 1):
        trace[source].send(source + 2, 10**6)
        trace[source + 2].recv(source)
    trace[2].send(3, 3 * 10**6)
    trace[3].recv(2)
    tree = FatTree((2, 2), (1, 1), (1, 1), (2e6, 1e6))
    on = Machine("tree", (NodeType("host"),) * 4, Network(link, link, contention=Flows(tree)))
    explanation = explanation_of(trace, on)
    found = {name.removeprefix("network.contention."): each for name, each in by_name(explanation).items()}
    assert explanation.makespan == pytest.approx(2 + 1.5)
    assert found["bandwidth[0]"].higher == pytest.approx(2 + 1.5 / 1.1)
    assert (found["bandwidth[1]"].lower, found["bandwidth[1]"].higher) == pytest.approx((2 / 0.9 + 1.5, 2 / 1.1 + 1.5))


def test_the_oversubscription_of_uplinks_is_a_parameter() -> None:
    """Two messages of 1 MB over an uplink of 2 × 1 MB/s / 4 take 4 s: over-subscription counts, in proportion."""
    link = Link(Curve.line(0.0), Curve.line(0.0, 1e-9))
    trace = TraceBuilder(4)
    for source in (0, 1):
        trace[source].send(source + 2, 10**6)
        trace[source + 2].recv(source)
    on = Machine("two", (NodeType("host"),) * 4, Network(link, link, contention=Flows(Switches(2, 1e6, 4.0))))
    found = by_name(explanation_of(trace, on))
    uplinks, nodes = (found[f"network.contention.{name}"] for name in ("oversubscription", "bandwidth"))
    assert (uplinks.lower, uplinks.higher) == pytest.approx((4 * 0.9, 4 * 1.1))
    assert nodes.higher == pytest.approx(4 / 1.1)


def test_the_latency_between_switches_is_a_parameter_where_it_is_stated() -> None:
    """A message of 1 MB between switches takes 1 s, and 2 s of latency between switches, which is then a parameter."""
    link = Link(Curve.line(0.0), Curve.line(0.0, 1e-6))
    trace = TraceBuilder(2)
    trace[0].send(1, 10**6)
    trace[1].recv(0)
    far, near = (
        Machine("two", (NodeType("host"),) * 2, Network(link, link, contention=Flows(Switches(1, 1e6, 1.0, latency))))
        for latency in (2.0, 0.0)
    )
    found = by_name(explanation_of(trace, far))["network.contention.latency_between_switches"]
    assert (found.lower, found.higher) == (pytest.approx(1 + 2 * 0.9), pytest.approx(1 + 2 * 1.1))
    assert "network.contention.latency_between_switches" not in by_name(explanation_of(trace, near))


@pytest.mark.parametrize("contention", [Ports(), Ports(Curve.line(0.0, 1.0)), Flows(Switch(1.0)), NoContention()])
def test_a_bucket_is_a_parameter_where_something_is_shared(contention: Contention) -> None:
    """The bucket of a link is a parameter where contention exists: three messages of 2 B, a bucket of 2.5 or 2.75 B.

    They travel for 1 s and keep the shared resource for 2 s. A port is free at 4 s for the third, which may begin 2.75
    - (2 - 1) = 1.75 s earlier and takes 1 s. Over links of 1 B/s, 1, 1 and 0.75 B pass at once and 3.25 B one after the
    other. Either way the last message arrives at 3.25 s.
    """
    link = Link(Curve.line(0.0), Curve.line(1.0), busy=Curve.line(0.0, 1.0), bucket=2.5)
    trace = TraceBuilder(2)
    for _ in range(3):
        trace[0].send(1, 2)
        trace[1].recv(0)
    found, name = [], "network.between_nodes.bucket"
    for each in (link, replace(link, bucket=0.0)):
        on = Machine("shaped", (NodeType("host"),) * 2, Network(each, each, contention=contention))
        found.append(by_name(explanation_of(trace, on)))
    if contention == NoContention():
        assert name not in found[0]
    else:
        assert found[0][name].higher == pytest.approx(3.25)
    assert name not in found[1]


def test_links_that_nobody_uses_are_no_parameters() -> None:
    """Only links between used nodes are varied, so a single rank has none."""
    trace = TraceBuilder(1)
    trace[0].compute(1.0)
    assert set(by_name(explanation_of(trace, machine(4)))) == {"node_types.host.performance_factor"}


def test_links_of_pairs_and_of_nodes_have_names() -> None:
    """Links of a pair of types and within a node have their own names."""
    base = machine(1)
    pair = Link(Curve.line(0.2), Curve.line(0.0))
    network = replace(base.network, pairs={("fast", "slow"): pair, ("slow", "fast"): pair})
    on = Machine("mixed", (NodeType("fast"), NodeType("slow")), network)
    trace = TraceBuilder(3)
    for dest in (1, 2):
        trace[0].send(dest, 0)
        trace[dest].recv(0)
    found = by_name(explanation_of(trace, on, (0, 0, 1)))
    assert found["network.pairs.fast–slow.send_delay.latency"].higher == pytest.approx(SEND / 10 + 0.2 * 1.1)
    assert found["network.within_node.send_delay.latency"].higher == pytest.approx(SEND / 10 * 1.1 + 0.2)
    assert not any("between_nodes" in name for name in found)


def test_changes_over_time_change_alike() -> None:
    """Factors before and after a change vary together: a burst of 2 s, with factor 3 from 1 s on.

    With both 10 % higher it takes 1.1 + (2 - 1/1.1) * 3.3 s in total, where the change is at 1 s.
    """
    trace = TraceBuilder(1)
    trace[0].compute(2.0)
    on = machine(1, changes=((1.0, machine(1, performance_factor=3.0)),))
    found = by_name(explanation_of(trace, on))["node_types.host.performance_factor"]
    assert found.higher == pytest.approx(1.0 + (2 - 1 / 1.1) * 3.3)


def test_shares_of_the_path() -> None:
    """Shares of the critical path by part and by rank add up; rank 1 waits for rank 0."""
    path = explanation_of(in_turn(), machine()).path
    shares = [(each.part, each.region, each.where, each.seconds) for each in part_shares(path)]
    assert shares == [
        (Part.COMPUTATION, "solve", "host", pytest.approx(4.0)),
        (Part.SEND, "", "host", pytest.approx(sending(1))),
        (Part.TRANSMISSION, "", "host → host", pytest.approx(transmission(1))),
        (Part.RECEIVE, "", "host", pytest.approx(RECEIVE)),
    ]
    ranks = [(each.rank, each.computing, each.calls, each.messages, each.turns) for each in rank_shares(path)]
    assert ranks == [
        (0, 3.0, pytest.approx(sending(1)), pytest.approx(transmission(1)), 1),
        (1, pytest.approx(1.0), pytest.approx(RECEIVE), 0.0, 1),
    ]


def test_call_sites_that_send_nothing_have_their_share_of_the_path() -> None:
    """An empty message travels for 2 s, the whole makespan, all of it for the call that sends it.

    That call takes no time itself; the receiver waits for 2 s. So shares by call site add up to the makespan.
    """
    link = Link(Curve.line(0.0), Curve.line(2.0))
    sends, receives = (Site((Frame("p.py", "<module>", line, 1),)) for line in (10, 20))
    trace = TraceBuilder(2)
    trace[0].at(sends)
    trace[0].send(1, 0)
    trace[1].at(receives)
    trace[1].recv(0)
    found = explanation_of(trace, Machine("slow", (NodeType("host"),) * 2, Network(link, link)))
    shares = [(each.site, each.messages, each.seconds, each.wait) for each in site_shares(found.path, found.sites)]
    assert shares == [(sends, 2.0, 2.0, 0.0), (receives, 0.0, 0.0, 2.0)]


@pytest.mark.long
@pytest.mark.parametrize("kind", NUMBERS)
@settings(max_examples=examples(8), deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**48), plain=st.booleans())
def test_an_explanation_fits_the_simulation(kind: str, seed: int, plain: bool) -> None:
    """For any program and machine, the makespan is the simulation's, shares add up to it, efficiencies are in range."""
    random = Random(seed)
    trace = random_trace(random, ties=False)
    on = random_machine(random, kind, ties=False, plain=plain)
    placement = Placement(tuple(random_placement(random, on, trace.ranks)))
    try:
        result = simulate(trace, on, placement, "reference")
    except DeadlockError:
        return
    explanation = explain(compile_program(trace), on, placement)
    assert explanation.makespan == result.makespan
    assert sum(each.seconds for each in part_shares(explanation.path)) == pytest.approx(result.makespan, rel=1e-9)
    assert sum(each.seconds for each in rank_shares(explanation.path)) == pytest.approx(result.makespan, rel=1e-9)
    found = explanation.efficiencies
    # Changes at fixed times take effect at another point of an ideal run.
    if found is not None and not on.changes:
        assert 0 < found.load_balance <= 1 + 1e-12
        assert 0 < found.serialisation <= 1 + 1e-9
    sizes = [each.size for each in explanation.sensitivities]
    assert sizes == sorted(sizes, reverse=True)


def test_a_sweep_gives_what_replays_give() -> None:
    """A sweep over many machines at once gives the same sensitivities as single replays."""
    trace = TraceBuilder(4)
    for rank in range(4):
        for _ in range(50):
            trace[rank].compute(0.01, "solve")
            trace[rank].sendrecv((rank + 1) % 4, 5000, (rank - 1) % 4)
            trace[rank].collective(Op.ALLREDUCE, 8)
    program, placement = compile_program(trace.build()), Placement((0, 1, 2, 3))
    swept, replayed = (explain(program, machine(4), placement, engine=each) for each in ("fast", "reference"))
    assert swept.sensitivities == replayed.sensitivities


def test_a_table_below_one_scales_what_is_above() -> None:
    """Only the part of a contention table above 1 is scaled, so a single message is not affected."""
    trace = TraceBuilder(2)
    trace[0].send(1, 0)
    trace[1].recv(0)
    base = machine()
    on = replace(base, network=replace(base.network, contention=FactorTable(((1, 1.0), (2, 2.0)))))
    assert not by_name(explanation_of(trace, on))["network.contention.factors"].has_effect
