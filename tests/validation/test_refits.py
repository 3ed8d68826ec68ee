"""Refits find the parameter that causes an error: each test measures on a machine with one parameter changed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from clue.errors import DeadlockError, UsageError
from clue.kernel import Candidate, Program, compile_program, simulate
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
)
from clue.machine.contention import NUMBERS
from clue.machine.contention.topology import Switch, Switches
from clue.progress import silent
from clue.report.validation.document import validation_document
from clue.report.validation.words import verdict
from clue.skeleton.prediction import Measured
from clue.trace import Op, TraceBuilder
from clue.validation import Case, Refit, Validation, validate
from clue.validation.cases import changed_makespans
from clue.validation.parameters import parameters_of
from clue.validation.search import losses, respond
from tests.kernel.random_cases import random_machine, random_placement, random_trace
from tests.properties import examples
from tests.validation.cases import (
    LATENCY,
    PER_BYTE,
    PROGRAMS,
    fan,
    in_turn,
    link,
    machine,
    measured,
    measured_on,
    slower,
)

TABLE = FactorTable(((1, 1.0), (4, 2.0)))


def far(latency: float = LATENCY, per_byte: float = PER_BYTE) -> Flows:
    """Return a topology with each node at a switch of its own, and a latency between switches."""
    return Flows(Switches(1, 1 / per_byte, 1.0, latency))


#: All models of contention.
MODELS = (NoContention(), TABLE, Ports(), Ports(Curve.line(0.0, PER_BYTE / 2)), Flows(Switch(1 / PER_BYTE)), far())


def named(each: Refit) -> str:
    """Return the name of a refit's parameter, with what it belongs to."""
    return f"{each.parameter.name} {each.parameter.of}".strip()


def refit(validation: Validation, name: str) -> Refit:
    """Return the refit of the parameter with this name."""
    return next(each for each in validation.refits if named(each) == name)


def check_found(validation: Validation, name: str, multiplier: float, within: float = 1e-3) -> None:
    """Check that only this parameter explains the error, that its multiplier is found, and that no error is left."""
    best = validation.refits[0]
    assert named(best) == name
    assert best.multiplier == pytest.approx(multiplier, rel=within)
    assert best.range == pytest.approx((multiplier, multiplier), rel=10 * within)
    assert best.error_left < within < validation.error
    assert best.explains and best.rival
    assert not any(each.rival for each in validation.refits[1:])


def programs_for(model: Contention) -> tuple[Program, ...]:
    """Return the programs whose times are continuous: with a table of factors, those of the ring jump by 3 %."""
    return tuple(each for each in PROGRAMS if each.name != "ring.py" or not isinstance(model, FactorTable))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("cost", [0.8, pytest.param(1.08, marks=pytest.mark.long)])
def test_slower_processors_are_found(model: Contention, cost: float) -> None:
    """Processors that are slower than described are found, with the multiplier of the performance factor."""
    described = machine(contention=model)
    cases = measured_on(slower(described, cost), described, programs_for(model))
    check_found(validate(cases), "computation", cost)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("cost", [0.6, pytest.param(2.0, marks=pytest.mark.long)])
def test_longer_latency_is_found(model: Contention, cost: float) -> None:
    """Longer latencies, of send and transmission delay and between switches, are found with their multiplier."""
    shared = far(latency=LATENCY * cost) if model == far() else model
    real = machine(contention=shared, between=link(latency=LATENCY * cost))
    check_found(validate(measured_on(real, machine(contention=model), programs_for(model))), "latency", cost)


@pytest.mark.parametrize("cost", [0.7, pytest.param(1.6, marks=pytest.mark.long)])
@pytest.mark.parametrize("model", MODELS)
def test_lower_bandwidth_is_found(model: Contention, cost: float) -> None:
    """A different bandwidth, of delays and of shared links, is found; the multiplier is that of the bandwidth."""
    shared = model
    if isinstance(model, Ports) and model.busy is not None:
        shared = Ports(Curve.line(0.0, PER_BYTE / 2 * cost))
    elif isinstance(model, Flows):
        shared = far(per_byte=PER_BYTE * cost) if model == far() else Flows(Switch(1 / PER_BYTE / cost))
    real = machine(contention=shared, between=link(per_byte=PER_BYTE * cost))
    check_found(validate(measured_on(real, machine(contention=model), programs_for(model))), "bandwidth", 1 / cost)


@pytest.mark.parametrize(
    ("stated", "real", "cost"),
    [
        (TABLE, FactorTable(((1, 1.0), (4, 2.6))), 1.6),
        (TABLE, FactorTable(((1, 1.0), (4, 1.5))), 0.5),
        (Ports(), Ports(Curve.line(0.0, PER_BYTE / 2 * 1.7)), 1.7),
        (Ports(Curve.line(0.0, PER_BYTE)), Ports(Curve.line(0.0, PER_BYTE * 0.6)), 0.6),
        (Flows(Switch(1 / PER_BYTE)), Flows(Switch(1 / PER_BYTE / 1.5)), 1.5),
    ],
)
def test_stronger_contention_is_found(stated: Contention, real: Contention, cost: float) -> None:
    """Stronger or weaker contention is found while messages alone take the same time: factors, busy ports, flows."""
    cases = measured_on(machine(contention=real), machine(contention=stated), programs_for(stated))
    check_found(validate(cases), "contention", cost)


def test_makespans_that_jump_are_refitted_as_closely_as_they_jump() -> None:
    """A makespan that jumps by 3 % limits the precision of its refit to 3 %.

    With a ring under a table of factors, a change of a burst by a thousandth reorders messages.
    """
    described = machine(contention=TABLE)
    check_found(validate(measured_on(slower(described, 0.8), described)), "computation", 0.8, within=0.03)


def test_one_of_two_node_types_is_found() -> None:
    """Of two node types, the one that is 1.25 times as slow as described is found."""
    between = link()

    def described(factor: float) -> Machine:
        fast, slow = NodeType("fast"), NodeType("slow", performance_factor=factor)
        return Machine("mixed", (fast, slow), Network(between, between))

    first = TraceBuilder(2)
    for rank, seconds in enumerate((1.0, 0.1)):
        first[rank].compute(seconds)
        first[rank].sendrecv(1 - rank, 1000, 1 - rank)
    programs = (in_turn(5, 20e-3, 100), compile_program(first.build()))
    second = TraceBuilder(2)
    for rank, seconds in enumerate((0.1, 1.0)):
        second[rank].compute(seconds)
        second[rank].sendrecv(1 - rank, 1000, 1 - rank)
    cases = measured_on(described(2.5), described(2.0), (*programs, *[compile_program(second.build())] * 2))
    check_found(validate(cases), "computation slow", 1.25)


def test_where_nothing_is_wrong_nothing_is_blamed() -> None:
    """If measurements equal predictions, there is no error, multipliers are 1, and no parameter explains anything."""
    described = machine(contention=Ports())
    validation = validate(measured_on(described, described))
    assert validation.error == pytest.approx(0, abs=1e-12) and validation.is_within_noise
    assert [each.multiplier for each in validation.refits] == pytest.approx([1.0] * 4)
    assert not any(each.explains for each in validation.refits)


def test_error_by_hand_and_what_one_multiplier_leaves() -> None:
    """Two bursts of 1 and 2 s, measured as 1.1 and 1.8 s, have errors of 1/11 and 1/9; one multiplier centres them.

    The logarithms are off by 0.0953 and -0.1054, so the multiplier is e^-0.005, and no parameter explains the error.
    """
    programs = []
    for seconds in (1.0, 2.0):
        trace = TraceBuilder(1)
        trace[0].compute(seconds)
        programs.append(compile_program(trace.build()))
    described = machine(1)
    cases = [measured(each, described, described, times=t) for each, t in zip(programs, (1.1, 0.9), strict=True)]
    validation = validate(cases)
    assert [each.error for each in validation.compared] == pytest.approx([1 / 1.1 - 1, 1 / 0.9 - 1])
    assert validation.error == pytest.approx((1 / 11 + 1 / 9) / 2)
    (best,) = validation.refits
    assert best.multiplier == pytest.approx((1.1 * 0.9) ** 0.5, rel=1e-3)
    assert not best.explains


def test_refits_are_compared_with_the_cases_that_they_change() -> None:
    """A skeleton's case is 60 % off, which no parameter changes; the simulated ones are 10 % off by their processors.

    Over all cases that is 27 %, and the error of the simulated ones falls from 10 % to nothing.
    """
    trace = TraceBuilder(1)
    trace[0].compute(0.9)
    described = machine(1)
    own = measured(compile_program(trace.build()), described, described, times=1 / 0.9)
    run = Measured("feed", "here.json", 1, 1.6, 1.0, 0.1, is_ratio_measured=True)
    skeleton = replace(own, source=run, runs=(1.0,))
    validation = validate([own, replace(own, size="again"), skeleton])
    assert (validation.error, validation.error_simulated) == pytest.approx((0.8 / 3, 0.1))
    told = list(verdict(validation))
    assert any("the error of the simulated cases falls from 10% to 0.0%" in each for each in told)
    assert validate([skeleton]).unchangeable == ()


def two_types(computing: Sequence[tuple[float, float]], times: Sequence[float]) -> list[Case]:
    """Return cases of two ranks that compute for these seconds on nodes of different types, with the measured times."""
    types = (NodeType("x"), NodeType("y"))
    where = Candidate(Machine("two types", types, Network(link(), link())), Placement((0, 1)))
    cases = []
    for i, (pair, seconds) in enumerate(zip(computing, times, strict=True)):
        trace = TraceBuilder(2)
        for rank, burst in zip(trace, pair, strict=True):
            rank.compute(burst)
        cases.append(Case("p", "m", str(i), compile_program(trace.build()), where, (seconds,)))
    return cases


def test_a_case_left_out_leaves_the_multiplier_of_the_others() -> None:
    """Makespans are max(c, 3) s for a cost of c on x; two are measured as 3.5 s, three as 9 s.

    A case draws by twice its distance on the logarithm, at most by 0.2. With all, 2 · 0.2 = 3 · 2 (ln 9 - x), so that
    x = ln 9 - 0.0667; without one of 3.5 s, 0.2 = 3 · 2 (ln 9 - x). Without one of 9 s, all from 3.5 e^0.1 to 9 e^-0.1
    is as good, of which the least counts.
    """
    validation = validate(two_types([(1.0, 3.0)] * 5, [3.5, 3.5, 9.0, 9.0, 9.0]))
    found = refit(validation, "computation x")
    assert found.multiplier == pytest.approx(9 * math.exp(-0.2 / 3), rel=1e-3)
    assert found.range == pytest.approx((3.5 * math.exp(0.1), 9 * math.exp(-0.1 / 3)), rel=2e-3)


@settings(max_examples=examples(15), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.floats(0.5, 1.0), st.floats(0.2, 4.0), st.floats(0.3, 8.0)), min_size=3, max_size=6))
def test_multipliers_lose_as_little_as_any_other(cases: list[tuple[float, float, float]]) -> None:
    """With makespans of max(c a, b), no cost from 1/16 to 16 is better than the best one, also without a case.

    The loss at the best cost is that of a fine grid, to the thousandth to which interpolation holds.
    """
    burst, other, times = np.array(cases).T
    grid = np.geomspace(1 / 16, 16, 20001)

    def loss(costs: np.ndarray, kept: np.ndarray) -> np.ndarray:
        return losses(np.maximum(costs[:, None] * burst[kept], other[kept]), times[kept])

    described = two_types([(a, b) for a, b, _ in cases], times.tolist())
    predicted = [max(a, b) for a, b, _ in cases]
    simulated = partial(changed_makespans, described, predicted, engine="auto", workers=1, progress=silent)
    parameter = next(each for each in parameters_of(described)[0] if each.of == "x")
    (response,) = respond(described, predicted, [parameter], simulated)
    for out in range(-1, len(cases)):
        kept = np.arange(len(cases)) != out
        best = response.of_cases(kept).best(times[kept])
        # A prediction that is off by 0.1 % changes the loss of a case by 2 · 0.1 · 0.001 at most.
        assert loss(np.array([best]), kept)[0] <= loss(grid, kept).min() + 2 * 2e-4 * kept.sum()


def test_one_wild_case_among_many_does_not_decide() -> None:
    """One extreme case among ten barely changes the refit.

    Nine processors are 20 % slower than described, and the tenth case takes ten times as long. Squared errors would
    give 1.2 × 8.33^0.1 = 1.48; proportional errors add at most a tenth of 1/9 to 1.2.
    """
    described = machine()
    program = in_turn(5, 10e-3, 8)
    cases = [measured(program, slower(described, 1.2), described, times=10.0 if i == 0 else 1.0) for i in range(10)]
    best = refit(validate(cases), "computation")
    assert 1.2 < best.multiplier < 1.2 * 1.013
    assert best.range is not None and best.range[0] == pytest.approx(1.2, rel=1e-4)


@pytest.mark.parametrize("cost", [0.8, 1.3])
def test_parameters_are_found_under_runs_that_differ(cost: float) -> None:
    """With three runs per program and errors of 2 %, a wrong latency is still found, within the spread of the runs."""
    described = machine(contention=Ports())
    real = machine(contention=Ports(), between=link(latency=LATENCY * cost))
    cases = []
    for i, case in enumerate(measured_on(real, described)):
        run = case.measured * (1.02 if i % 2 else 0.98)
        cases.append(replace(case, runs=(0.98 * run, run, 1.02 * run)))
    validation = validate(cases)
    assert validation.noise == pytest.approx(0.02)
    assert named(validation.refits[0]) == "latency" and validation.refits[0].rival
    assert validation.refits[0].multiplier == pytest.approx(cost, rel=0.06)


def test_parameter_without_effect_is_not_blamed() -> None:
    """In a program that only computes, network parameters have no effect and are not blamed; computation is found."""
    trace = TraceBuilder(2)
    for rank in range(2):
        trace[rank].compute(1.0)
    described = machine(2, contention=TABLE)
    validation = validate([measured(compile_program(trace.build()), slower(described, 1.3), described)])
    assert [named(each) for each in validation.refits if not each.has_effect] == ["latency", "bandwidth", "contention"]
    check = validation.refits[0]
    assert (named(check), check.multiplier) == ("computation", pytest.approx(1.3, rel=1e-4))
    assert all(each.multiplier == 1 and not each.rival for each in validation.refits[1:])


def test_one_case_cannot_tell_parameters_apart() -> None:
    """In a single case each effective parameter can explain any time, so no parameters can be told apart."""
    described = machine()
    validation = validate([measured(in_turn(10, 1e-3, 100_000), slower(described, 1.2), described)])
    assert len(validation.alike) == 3
    assert all(each.rival for each in validation.refits)
    assert validation.refits[0].range is None


def test_messages_of_one_size_cannot_tell_latency_from_bandwidth() -> None:
    """If all messages have 10 KB, latency and bandwidth cannot be told apart, but computation can."""
    described = machine()
    programs = (in_turn(10, 1e-3, 10_000), in_turn(10, 100e-6, 10_000), in_turn(10, 1e-2, 10_000))
    validation = validate(measured_on(machine(between=link(latency=LATENCY * 1.5)), described, programs))
    assert [{first.name, second.name} for first, second in validation.alike] == [{"latency", "bandwidth"}]
    assert refit(validation, "bandwidth").rival and not refit(validation, "computation").rival


def test_two_wrong_parameters_are_explained_by_none() -> None:
    """Faster processors and a longer latency together are explained by no single parameter.

    Computation decides the first program, predicted 25 % too long; in the second it is 40 us beside 75 us of latency,
    predicted 13 % too short.
    """
    described = machine()
    real = slower(machine(between=link(latency=1.5 * LATENCY)), 0.8)
    validation = validate(measured_on(real, described, PROGRAMS[:2]))
    assert not any(each.explains for each in validation.refits)


def test_ports_of_different_links_are_refitted_together() -> None:
    """Busy times of ports that follow from two different links are refitted together: both are 1.5 times as long."""
    types = (NodeType("a"), NodeType("a"), NodeType("b"))
    wide, narrow = link(), link(per_byte=5 * PER_BYTE)

    def two(wide: Link, narrow: Link) -> Machine:
        return Machine("two", types, Network(wide, wide, {("a", "b"): narrow, ("b", "a"): narrow}, contention=Ports()))

    # Without a stated busy time, a port is busy for half of what both delays grow by with size.
    kept = [replace(each, busy=each.send_delay.growth.scaled(1.5)) for each in (wide, narrow)]
    programs = (fan(3, 2, 1e-3, 1000), fan(3, 5, 1e-5, 10_000), fan(3, 5, 1e-4, 100_000))
    check_found(validate(measured_on(two(*kept), two(wide, narrow), programs)), "contention", 1.5)


@pytest.mark.parametrize("domains", [1, 2])
def test_links_within_nodes_are_refitted_apart(domains: int) -> None:
    """The latency within nodes, or across their domains alone, is refitted on its own and found 1.5 times as long."""
    within = link(latency=LATENCY / 10)

    def described(inside: Link) -> Machine:
        one = link()
        network = Network(one, inside) if domains == 1 else Network(one, one, across_domains=inside)
        return Machine("m", (NodeType("host", processors=2, domains=domains),) * 2, network)

    real = described(link(LATENCY * 0.15))
    runs = ((in_turn(50, 1e-6, 8), (0, 0)), (in_turn(50, 1e-3, 8), (0, 1)), (in_turn(9, 1e-3, 99999), (0, 0)))
    cases = [measured(program, real, described(within), nodes=nodes) for program, nodes in runs]
    check_found(validate(cases), "latency within nodes", 1.5)


def test_what_is_within_nodes_changes_nothing_between_them() -> None:
    """A change of the link within nodes leaves the link between nodes as it is, also on a machine with one link."""
    own = Machine("own", (NodeType("host", processors=2),) * 2, Network(link(), link(latency=LATENCY / 10)))
    shared = Network(one := link(), one)
    common = replace(own, name="common", network=shared)
    cases = [measured(PROGRAMS[0], on, on, nodes=nodes) for on, nodes in ((own, (0, 0)), (common, (0, 1)))]
    (within,) = [each for each in parameters_of(cases)[0] if (each.name, each.of) == ("latency", "within nodes")]
    changed = within.change(common, 2.0).network
    assert changed.between_nodes == shared.between_nodes
    assert changed.within_node.send_delay(0) == pytest.approx(2 * shared.within_node.send_delay(0))


def test_a_link_across_domains_alone_is_what_is_within_nodes() -> None:
    """Messages within a domain use the link between nodes, so they take longer with it, and not with the other one."""
    one = link()
    network = Network(one, one, across_domains=link(latency=LATENCY / 10))
    on = Machine("m", (NodeType("host", processors=2, domains=2),) * 2, network)
    cases = [measured(PROGRAMS[0], on, on, nodes=nodes) for nodes in ((0, 0), (0, 1))]
    for parameter in parameters_of(cases)[0]:
        if parameter.name == "latency":
            changed = parameter.change(on, 2.0).network
            across = changed.across_domains
            assert across is not None
            delays = [each.send_delay(0) for each in (changed.between_nodes, changed.within_node, across)]
            expected = (0.5, 0.5, 0.1) if parameter.of == "within nodes" else (1.0, 1.0, 0.05)
            assert delays == pytest.approx([LATENCY * each for each in expected])


def test_memory_copies_less_where_the_bandwidth_within_nodes_does() -> None:
    """Twice the cost within nodes halves the copy bandwidth; the cost between nodes does not change it."""
    node = NodeType("host", processors=2, copy_bandwidth=8e9)
    on = Machine("m", (node,) * 2, Network(link(), link(latency=LATENCY / 10)))
    cases = [measured(PROGRAMS[0], on, on, nodes=nodes) for nodes in ((0, 0), (0, 1))]
    changed = {each.of: each.change(on, 2.0) for each in parameters_of(cases)[0] if each.name == "bandwidth"}
    assert {of: each.nodes[0].copy_bandwidth for of, each in changed.items()} == {
        "between nodes": 8e9,
        "within nodes": 4e9,
    }


def test_the_one_link_is_refitted_where_all_ranks_share_a_node() -> None:
    """On a machine with one link for all, that link is refitted although all ranks share a node."""

    def described(between: Link) -> Machine:
        return Machine("m", (NodeType("host", processors=2),), Network(between, between))

    real = described(link(latency=1.5 * LATENCY))
    cases = [measured(program, real, described(link()), nodes=(0, 0)) for program in PROGRAMS[:3]]
    check_found(validate(cases), "latency", 1.5)


@pytest.mark.parametrize(("overhead", "before"), [(None, 23e-6), (1e-6, 23e-6), (5e-6, 25e-6)])
def test_latency_is_the_whole_time_of_an_empty_message(overhead: float | None, before: float) -> None:
    """20 us of travel and a receive of 3 us, or of 5 us in all, are both 1.5 times as long at 1.5 times the latency."""
    half = Curve.line(10e-6, 1e-9)
    one = Link(half, half, receive_delay=3e-6, receive_overhead=overhead)
    on = Machine("m", (NodeType("host"),) * 2, Network(one, one))
    program = in_turn(1, 0.0, 0)
    (latency,) = [each for each in parameters_of([measured(program, on, on)])[0] if each.name == "latency"]
    changed = latency.change(on, 1.5)
    found = [simulate(program, each, Placement((0, 1))).makespan for each in (on, changed)]
    assert found == pytest.approx([before, 1.5 * before])
    assert changed.network.between_nodes.one_way(1e4) == pytest.approx(1.5 * before + 20e-6)


def test_program_without_time_is_refused() -> None:
    """A program with a makespan of 0 is refused, because a relative error needs a prediction above 0."""
    described = machine()
    empty = compile_program(TraceBuilder(1, program="empty.py").build())
    case = replace(measured(empty, described, described), runs=(1.0,))
    with pytest.raises(UsageError, match=r"empty.py on m, 1 rank: program must take time, got a makespan of 0 s"):
        validate([case])


def test_warnings_of_the_simulation_are_kept() -> None:
    """Warnings of the simulation are kept with the case."""
    described = replace(machine(), notes=("guessed",))
    assert validate([measured(PROGRAMS[0], described, described)]).compared[0].warnings == ("m: guessed",)


def test_warnings_name_cases_and_come_once() -> None:
    """A warning names its cases by their own names, appears once with the largest figure, or says "all machines"."""
    described = replace(machine(), notes=("guessed",))
    other = replace(described, name="other")
    programs = []
    for count in (1, 3):
        trace = TraceBuilder(1, program="a-1-0c0ffee.clue")
        trace[0].compute(1.0)
        for _ in range(count):
            trace[0].add(Op.POLL)
        programs.append(compile_program(trace.build()))
    cases = [measured(program, on, on) for program in programs for on in (described, other)]
    names = ("m", "other") * 2
    found = validate(
        [replace(c, program="jacobi", size="7", machine=name) for c, name in zip(cases, names, strict=True)]
    )
    nothing = "up to 3 Test, probe or Win.Sync calls found nothing when recorded"
    polls = f"{nothing}; a replay polls as often, with the computation"
    said = list(found.caveats)
    assert said[0] == "all machines: guessed"
    assert said[1].startswith(f"jacobi 7: {polls}")
    assert len(said) == 2
    assert validation_document(found, "v")["warnings"] == said


def test_speeds_by_region_and_factors_of_0_are_slowed_too() -> None:
    """Speeds by region, factors by region and a factor of 0 (as recorded) are all slowed by 1.5."""
    trace = TraceBuilder(1)
    for region, seconds in (("fast", 1.0), ("own", 2.0), ("other", 4.0)):
        trace[0].compute(seconds, region)
    trace.declare(0, region="fast", flops=1e9)
    program = compile_program(trace.build())

    def described(slower: float) -> Machine:
        node = NodeType("host", 1, None, 0.0, {"own": 0.5 * slower}, {"fast": 2e9 / slower})
        factor = slower if slower != 1 else 0.0
        return Machine("m", (replace(node, performance_factor=factor),), Network(link(), link()))

    case = measured(program, described(1.5), described(1.0))
    assert case.measured == pytest.approx(1.5 * (0.5 + 1.0 + 4.0))
    check = validate([case]).refits[0]
    assert (named(check), check.multiplier) == ("computation", pytest.approx(1.5, rel=1e-4))


def test_what_changes_over_time_changes_alike() -> None:
    """The refit scales all speeds of a machine that changes after 1 s, but not the time of the change.

    Of 4 s of bursts 1 / 1.2 s are done within the first second, the rest at twice the speed.
    """
    trace = TraceBuilder(1)
    trace[0].compute(4.0)
    program = compile_program(trace.build())

    def described(slower: float) -> Machine:
        later = machine(1, factor=0.5 * slower)
        return replace(machine(1, factor=slower), changes=((1.0, later),))

    case = measured(program, described(1.2), described(1.0))
    assert case.measured == pytest.approx(1 + (4 - 1 / 1.2) * 0.6)
    assert validate([case]).refits[0].multiplier == pytest.approx(1.2, rel=1e-4)


@settings(max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.randoms(use_true_random=False))
def test_parameters_at_cost_1_change_nothing(random: Random) -> None:
    """On random programs and machines, each parameter at cost 1 leaves the makespan equal to the last bit.

    Rounding would matter: it decides the order of messages that arrive at the same time. Only contention may change
    within rounding, because busy times of ports are then stated in another form.
    """
    program = compile_program(random_trace(random, ties=False))
    on = random_machine(random, random.choice(list(NUMBERS)), ties=False)
    where = Candidate(on, Placement(tuple(random_placement(random, on, program.ranks))))
    case = Case("p", "m", "", program, where, (1.0,))
    try:
        before = simulate(program, on, where.placement).makespan
    except DeadlockError:
        return
    for parameter in parameters_of([case])[0]:
        after = simulate(program, parameter.change(on, 1.0), where.placement).makespan
        assert after == (pytest.approx(before, rel=1e-9, abs=1e-12) if parameter.name == "contention" else before)


@settings(max_examples=examples(15), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.randoms(use_true_random=False), st.floats(0.5, 2.0))
def test_any_cost_of_any_parameter_is_found_again(random: Random, cost: float) -> None:
    """For random programs without contention, any changed cost of any parameter is found, and no error is left."""
    on = random_machine(random, "none", ties=False, plain=True)
    cases, programs = [], [compile_program(random_trace(random, ties=False)) for _ in range(2)]
    for i, program in enumerate(programs):
        where = Candidate(on, Placement(tuple(random_placement(random, on, program.ranks))))
        cases.append(Case("p", "m", str(i), program, where, (1.0,)))

    def makespans(changed: Callable[[Case], Machine]) -> list[float]:
        return [
            simulate(program, changed(each), each.where.placement).makespan
            for program, each in zip(programs, cases, strict=True)
        ]

    try:
        predicted = makespans(lambda case: case.where.machine)
    except DeadlockError:
        return
    assume(min(predicted) > 0)
    parameter = random.choice(parameters_of(cases)[0])
    runs = makespans(lambda case: parameter.change(case.where.machine, cost))
    measured = [replace(each, runs=(run,)) for each, run in zip(cases, runs, strict=True)]
    simulated = partial(changed_makespans, measured, predicted, engine="auto", workers=1, progress=silent)
    (found,) = respond(measured, predicted, [parameter], simulated)
    again = found.at(np.array([found.best(np.array(runs))]))[0]
    assert again == pytest.approx(runs, rel=1e-3)
