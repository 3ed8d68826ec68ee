"""Makespans of samples, compared with closed forms and with single simulations."""

from __future__ import annotations

import math
from dataclasses import replace
from random import Random
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clue.errors import DeadlockError
from clue.kernel import compile_program, simulate
from clue.kernel.fast.library import ENGINE
from clue.machine import Curve, Flows, Link, LinkNoise, Machine, Network, NodeNoise, NodeType, Placement, Ports
from clue.machine.contention.topology import FatTree, Switch
from clue.native import NoLibraryError
from clue.trace import TraceBuilder
from clue.uncertainty import (
    BurstNoise,
    Sample,
    Sampled,
    Sampling,
    Spread,
    draw,
    draw_machine,
    is_uncertain,
    noise_of_recordings,
    sample_makespans,
    typical_recording,
)
from clue.uncertainty.makespans import deviation_bound
from clue.uncertainty.noise import log_deviation
from tests.kernel.cases import LINK, LOCAL_LINK, RECEIVE, machine, sending, transmission
from tests.kernel.random_cases import CASES, random_machine, random_placement, random_trace
from tests.uncertainty.cases import bursts, noisy
from tests.uncertainty.test_recordings import recording

ONE, TWO = Placement((0,)), Placement((0, 1))
MANY = Sampling(2000, 1)
#: Quantiles of samples may differ from the true ones by this many standard errors.
ERRORS = 5


def deviation_of_quantile(p: float, log: float) -> float:
    """Return the standard error of a quantile of the logarithms of MANY draws with deviation ``log``."""
    at = NormalDist().inv_cdf(p)
    return log * math.sqrt(p * (1 - p) / MANY.samples) / NormalDist().pdf(at)


@pytest.mark.long
def test_one_burst_is_log_normal() -> None:
    """A burst of 2 s with 10 % noise has percentiles 2 exp(-1.28 s), 2 and 2 exp(1.28 s), where s² = ln 1.01."""
    log = log_deviation(0.1)
    spread = Spread.of(sample_makespans(bursts([2.0]), noisy(1, computation=0.1), ONE, MANY))
    for p, figure in ((0.1, spread.low), (0.5, spread.median), (0.9, spread.high)):
        expected = math.log(2.0) + NormalDist().inv_cdf(p) * log
        assert abs(math.log(figure) - expected) < ERRORS * deviation_of_quantile(p, log)


def test_the_later_of_two_ranks() -> None:
    """Two ranks are done by x with probability F(x)², so the median of the makespan is where F is the root of 1/2."""
    log = log_deviation(0.1)
    spread = Spread.of(sample_makespans(bursts([1.0], [1.0]), noisy(2, computation=0.1), TWO, MANY))
    for p, figure in ((0.1, spread.low), (0.5, spread.median), (0.9, spread.high)):
        expected = NormalDist().inv_cdf(math.sqrt(p)) * log
        # Twice the standard error of a single variable is more than that of the later of two.
        assert abs(math.log(figure) - expected) < ERRORS * 2 * deviation_of_quantile(p, log)


@pytest.mark.long
def test_independent_noise_averages_out_and_that_of_a_factor_does_not() -> None:
    """The noise of 100 independent bursts averages out to a tenth; that of a performance factor stays."""
    program = bursts([0.01] * 100)
    independent = np.log(sample_makespans(program, noisy(1, computation=0.1), ONE, MANY))
    together = np.log(sample_makespans(program, noisy(1, factor=0.1), ONE, MANY))
    tolerance = ERRORS / math.sqrt(2 * MANY.samples)
    assert independent.std() == pytest.approx(log_deviation(0.1) / 10, rel=tolerance + 0.01)
    assert together.std() == pytest.approx(log_deviation(0.1), rel=tolerance)


def test_a_message_has_the_draws_of_its_link() -> None:
    """Send and receive delays share one multiplier, transmission has another: s·m + t·n + r·m for 2 KB."""
    trace = TraceBuilder(2)
    trace[0].send(1, 2000)
    trace[1].recv(0)
    on = noisy(send=0.2, transmission=0.3)
    sampling = Sampling(8, 3)
    found = sample_makespans(compile_program(trace.build()), on, TWO, sampling)
    for sample, makespan in zip(sampling.each(), found.tolist(), strict=True):
        drawn = draw_machine(on, sample).network.between_nodes
        send = drawn.send_delay(0) / LINK.send_delay(0)
        travel = drawn.transmission_delay(0) / LINK.transmission_delay(0)
        assert send not in (1.0, travel)
        assert drawn.receive_delay == pytest.approx(LINK.receive_delay * send, rel=1e-12)
        assert makespan == pytest.approx(sending(2) * send + transmission(2) * travel + RECEIVE * send, rel=1e-12)


def test_machines_share_the_draws_of_what_they_have_in_common() -> None:
    """With half the performance factor and the same draws, every sample's makespan is half, up to rounding to 1 ns."""
    program, sampling = bursts([1.0, 2.0], [2.5]), Sampling(20)
    slow = sample_makespans(program, noisy(computation=0.1), TWO, sampling)
    fast = sample_makespans(program, noisy(computation=0.1, performance_factor=0.5), TWO, sampling)
    assert fast == pytest.approx(slow / 2, rel=1e-12)


def test_one_kind_of_node_is_as_fast_in_any_number_whatever_it_costs() -> None:
    """Machines with two and four equal nodes draw the same factor; a node with another factor draws its own."""
    sample = Sample(0, 0)
    two, four = (draw_machine(noisy(nodes, factor=0.1), sample).nodes[0].performance_factor for nodes in (2, 4))
    other = draw_machine(noisy(factor=0.1, performance_factor=2.0), sample).nodes[0].performance_factor
    assert two == four
    assert other / 2 != two


def test_all_that_gives_a_speed_is_drawn_together() -> None:
    """Factors by region, the default factor of 0 (as recorded) and speeds share one draw."""
    node = NodeType("pc", 1, None, 0.0, {"fft": 2.0}, {"lu": 1e9}, noise=NodeNoise(factor=0.1))
    drawn = draw_machine(Machine("m", (node,), Network(LINK, LINK)), Sample(0, 0)).nodes[0]
    factor = drawn.performance_factor
    assert factor != 1.0
    assert drawn.performance_factors["fft"] == pytest.approx(2 * factor, rel=1e-12)
    assert drawn.speeds["lu"] == pytest.approx(1e9 / factor, rel=1e-12)


def test_ports_and_cables_go_with_the_link_between_nodes() -> None:
    """Ports' busy times and cables' bandwidths are scaled by the draw of the link between nodes."""
    link = replace(LINK, noise=LinkNoise(transmission=0.2))
    for contention in (
        Ports(Curve.line(0.0, 1e-6)),
        Flows(Switch(1e6)),
        Flows(FatTree((2, 2), (1, 2), (1, 1), (1e6, 2e6))),
    ):
        on = Machine("m", (NodeType("pc"),) * 2, Network(link, LOCAL_LINK, contention=contention))
        network = draw_machine(on, Sample(0, 0)).network
        factor = network.between_nodes.transmission_delay(0) / LINK.transmission_delay(0)
        assert factor != 1.0
        if isinstance(network.contention, Ports):
            assert network.contention.busy is not None
            assert network.contention.busy(1000) == pytest.approx(1e-3 * factor, rel=1e-12)
        else:
            assert isinstance(network.contention, Flows)
            before = on.network.contention.topology.capacities(2)  # type: ignore[union-attr]
            assert network.contention.topology.capacities(2) == pytest.approx(before / factor, rel=1e-12)


def test_changes_during_a_run_keep_the_draws() -> None:
    """A node that changes during the run keeps its draw; only its background load changes."""
    loaded = noisy(factor=0.1, send=0.1)
    later = replace(loaded, nodes=tuple(replace(node, background_load=1.0) for node in loaded.nodes))
    drawn = draw_machine(replace(loaded, changes=((1.0, later),)), Sample(0, 0))
    (_, changed) = drawn.changes[0]
    assert changed.nodes[0].performance_factor == drawn.nodes[0].performance_factor != 1.0
    assert changed.network.between_nodes == drawn.network.between_nodes
    assert changed.nodes[0].background_load == 1.0


def test_a_burst_that_is_there_stays_and_one_that_is_not_does_not_come() -> None:
    """With 1000 % noise, no burst of 1 ns becomes 0, and no burst of 0 appears."""
    program = bursts([1e-9, 0.0] * 50)
    for sample in Sampling(5).each():
        drawn, _ = draw(program, noisy(1, computation=10.0), ONE, sample)
        assert ((drawn.columns.cpu > 0) == (program.columns.cpu > 0)).all()


@pytest.mark.long
def test_instances_on_other_kinds_of_nodes_take_the_mean_of_their_noise() -> None:
    """Instances on different node types have the root mean square of the types' noise, here of 0 and 10 %."""
    quiet, loud = NodeType("quiet"), NodeType("loud", noise=NodeNoise(computation=0.1))
    on = Machine("mixed", (quiet, loud), Network(LINK, LOCAL_LINK))
    logs = np.log(sample_makespans(bursts([1.0]), on, TWO, MANY, instances=2))
    expected = log_deviation(0.1) / math.sqrt(2)
    assert logs.std() == pytest.approx(expected, rel=ERRORS / math.sqrt(2 * MANY.samples))


@pytest.mark.long
def test_recordings_take_the_place_of_what_node_types_say() -> None:
    """If recordings give the noise of bursts, the computation noise of node types is ignored."""
    noise = BurstNoise({"": 0.2}, 10**9)
    logs = np.log(sample_makespans(bursts([0.1] * 10), noisy(1, computation=5.0), ONE, MANY, noise=noise))
    assert logs.std() == pytest.approx(0.2, rel=ERRORS / math.sqrt(2 * MANY.samples))


def test_samples_depend_on_seed_and_number_alone() -> None:
    """Samples depend on seed and number only, not on the number of samples or threads."""
    on = noisy(computation=0.1, factor=0.1)
    on = replace(on, network=replace(on.network, contention=Ports()))
    program = bursts([1.0], [1.0])
    ten = sample_makespans(program, on, TWO, Sampling(10, 5))
    assert sample_makespans(program, on, TWO, Sampling(20, 5), workers=3)[:10].tolist() == ten.tolist()
    assert sample_makespans(program, on, TWO, Sampling(10, 6)).tolist() != ten.tolist()


def test_progress_is_told() -> None:
    """Progress reports the number of finished samples, up to all of them."""
    for on in (noisy(factor=0.1), replace(noisy(factor=0.1), network=Network(LINK, LINK, contention=Ports()))):
        told: list[int] = []
        sample_makespans(bursts([1.0]), on, ONE, Sampling(5), tell=told.append)
        assert told[-1] == 5


def test_what_states_noise() -> None:
    """A prediction is uncertain if the machine states any of four kinds of noise, or recordings are repeated."""
    assert not is_uncertain(noisy(), None)
    assert is_uncertain(noisy(), BurstNoise())
    for noise in ({"computation": 0.1}, {"factor": 0.1}, {"send": 0.1}, {"transmission": 0.1}):
        assert is_uncertain(noisy(1, **noise), None)


def with_noise(random: Random, on: Machine) -> Machine:
    """Return a machine with noise of every kind."""
    types = {
        name: replace(node, noise=NodeNoise(random.random() / 5, random.random() / 5))
        for name, node in on.node_types().items()
    }

    def noisily(link: Link) -> Link:
        return replace(link, noise=LinkNoise(random.random() / 5, random.random() / 5))

    network = replace(
        on.network, between_nodes=noisily(on.network.between_nodes), within_node=noisily(on.network.within_node)
    )
    return replace(on, nodes=tuple(types[node.name] for node in on.nodes), network=network)


@settings(max_examples=max(CASES // 8, 5), deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**48), plain=st.booleans())
def test_samples_are_simulations_of_what_is_drawn(seed: int, plain: bool) -> None:
    """Samples equal single simulations of drawn programs on drawn machines to the last bit, on either engine."""
    try:
        ENGINE.load()
    except NoLibraryError as error:
        pytest.skip(f"no fast engine here: {error}")
    random = Random(seed)
    program = compile_program(random_trace(random, ties=False, spoilt=False))
    kind = "none" if plain else random.choice(("factor", "ports", "flows"))
    on = with_noise(random, random_machine(random, kind, ties=False, plain=plain))
    placement = Placement(tuple(random_placement(random, on, program.ranks)))
    sampling = Sampling(3, seed % 1000)
    try:
        simulate(program, on, placement, "reference")
    except DeadlockError:
        with pytest.raises(DeadlockError):
            sample_makespans(program, on, placement, sampling, engine="fast")
        return
    fast = sample_makespans(program, on, placement, sampling, engine="fast")
    one_by_one = []
    for sample in sampling.each():
        drawn, where = draw(program, on, placement, sample)
        one_by_one.append(simulate(drawn, where, placement, "reference").makespan)
    assert fast.tolist() == one_by_one


def test_the_machine_without_noise_is_the_one_given() -> None:
    """A machine without noise stays the same in a sample."""
    plain = machine(3)
    drawn = draw_machine(plain, Sample(0, 0))
    assert drawn == plain


def test_who_reads_an_interval_is_told_what_it_is_worth() -> None:
    """Few samples cause a remark, and so does a makespan below nine of ten samples that are not few.

    A single sample is above the makespan in half of all cases, whether there is noise or not.
    """
    few = Sampled(Sampling(10), np.arange(10.0, 20.0), 15.0)
    many = Sampled(Sampling(20), np.arange(10.0, 30.0), 20.0)
    assert [text.split()[0] for text in few.remarks()] == ["10"]
    for makespan in (15.0, 14.0):
        (alone,) = Sampled(Sampling(1), np.array([15.0]), makespan).remarks()
        assert alone == "1 sample says little of an interval: 20 or more are better"
    assert list(many.remarks()) == []
    (remark,) = replace(many, makespan=10.0).remarks()
    assert "below nine of ten samples" in remark


@pytest.mark.long
def test_few_recordings_make_wide_intervals() -> None:
    """Few recordings make wide intervals, by Student's t times sqrt(1 + 1/n).

    The 90th percentile of t is 3.078 with one degree of freedom and 1.533 with four.
    """
    for recordings, quantile in ((2, 3.078), (5, 1.533)):
        noise = BurstNoise({"": 0.01}, recordings)
        spread = Spread.of(sample_makespans(bursts([1.0]), noisy(1), ONE, MANY, noise=noise))
        expected = 0.01 * quantile * math.sqrt(1 + 1 / recordings)
        assert math.log(spread.high) == pytest.approx(expected, rel=0.25)
        assert math.log(spread.low) == pytest.approx(-expected, rel=0.25)
        assert noise.largest_deviation * NormalDist().inv_cdf(0.9) >= expected


def test_recorded_bursts_and_a_stated_factor_multiply() -> None:
    """Logarithms of bursts deviate by 0.3 from run to run and by 0.4 between processors, so by 0.5 in all.

    The noise of bursts that the machine states does not count beside that of recordings.
    """
    factor = math.sqrt(math.expm1(0.4**2))
    recorded = BurstNoise({"": 0.3}, estimated=False)
    assert deviation_bound(noisy(1, computation=2.0, factor=factor), recorded) == pytest.approx(0.5)
    assert deviation_bound(noisy(1, factor=factor), None) == pytest.approx(0.4)


@pytest.mark.long
def test_intervals_from_recordings_cover_further_runs() -> None:
    """Intervals from five runs cover about 80 % of further runs, which vary by 5 % together and 10 % per burst."""
    random = np.random.default_rng(11)

    def run() -> list[float]:
        factors: npt.NDArray[np.float64] = np.exp(0.05 * random.standard_normal() + 0.1 * random.standard_normal(20))
        return [0.1 * float(each) for each in factors]

    covered = []
    for seed in range(40):
        recordings = [recording(*run()) for _ in range(5)]
        program, noise = compile_program(typical_recording(recordings)), noise_of_recordings(recordings)
        spread = Spread.of(sample_makespans(program, noisy(1), ONE, Sampling(100, seed), noise=noise))
        covered += [spread.low <= sum(run()) <= spread.high for _ in range(20)]
    # With 100 samples a coverage of 0.77 is expected, with a deviation of 0.2 between sets of recordings.
    assert np.mean(covered) == pytest.approx(0.77, abs=4 * 0.2 / math.sqrt(40))
