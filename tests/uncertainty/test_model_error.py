"""Errors of the model, by hand, against closed forms, and learned from synthetic validations."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from clue.config.model_errors import known_model_error, load_model_error, shipped_model_error, site_file
from clue.errors import ConfigError, UsageError
from clue.kernel import Candidate, compile_program, simulate
from clue.machine import Machine, Network, NodeType, Placement
from clue.predict.application import Application
from clue.predict.replaying import ReplayPredictor
from clue.purchase import Component, Criterion, Option, Scenario, Workload, rank_options
from clue.trace import PROC_NULL, Op, TraceBuilder
from clue.uncertainty import Character, Expected, ModelError, Sampling, Spread, sample_errors
from clue.uncertainty.model_error import Kind, Scatter, model_of, student
from clue.units import Money
from clue.validation.learning import Known, as_yaml, learn
from tests.kernel.cases import LINK, machine
from tests.purchase.test_ranking import traces, workload
from tests.purchase.test_sampling import option
from tests.uncertainty.cases import bursts, noisy

COMPUTING = Character(0.0, 0.0)
ONE = Placement((0,))


def known(own: float, shared: float = 0.0, degrees: float = 1e9) -> ModelError:
    """Return model errors that are the same for all kinds of programs."""
    everything = Kind((0.0, math.inf), (0.0, math.inf), 10, Scatter(own, degrees))
    return ModelError("by hand", "2026-01-01", 10, 2, Scatter(shared, degrees), (everything,))


def everywhere(on: Machine) -> Candidate:
    """Return a machine with a rank on each node."""
    return Candidate(on, Placement(tuple(range(len(on.nodes)))))


@pytest.mark.parametrize("degrees", [3, 5, 10, 100, 1e9])
def test_the_expansion_is_students_t(degrees: float) -> None:
    """At the end of an 80 % interval, student() maps the normal quantile to that of Student's t."""
    assert student(stats.norm.ppf(0.9), degrees) == pytest.approx(stats.t.ppf(0.9, degrees), rel=1e-3)
    assert student(-1.0, degrees) == -student(1.0, degrees)


def test_parts_add_up_as_variances() -> None:
    """Deviations of 3 and 4 % add up to 5 %; two equal ones with 5 degrees of freedom have 10 (Satterthwaite)."""
    both = Expected(Scatter(0.03, 1e9), Scatter(0.04, 1e9), 1)
    assert both.total.deviation == pytest.approx(0.05)
    assert both.reach == pytest.approx(0.05 * stats.norm.ppf(0.9))
    assert Expected(Scatter(0.1, 5), Scatter(0.1, 5), 1).total.degrees == pytest.approx(10)


def test_samples_have_the_quantiles_of_the_error() -> None:
    """The 10th and 90th percentiles of samples without noise are those of both error parts together.

    The tolerance is 5 standard errors of 4000 samples.
    """
    error = known(0.08, 0.06)
    found = sample_errors(bursts([1.0]), Candidate(machine(1), ONE), 1.0, Sampling(4000), error)
    assert np.log(Spread.of(found.makespans).high) == pytest.approx(0.1 * 1.2816, abs=5 * 0.1 * 0.027)
    assert np.log(Spread.of(found.makespans).low) == pytest.approx(-0.1 * 1.2816, abs=5 * 0.1 * 0.027)


def test_noise_is_a_part_of_the_error() -> None:
    """Errors of 5 % of which noise explains 3 % leave 4 %, divided between both parts as before; 6 % leave nothing."""
    whole = Expected(Scatter(0.03, 1e9), Scatter(0.04, 1e9), 1)
    left = whole.beyond(0.03 * stats.norm.ppf(0.9))
    assert left.total.deviation == pytest.approx(0.04)
    assert left.own.deviation / left.shared.deviation == pytest.approx(4 / 3)
    assert whole.beyond(0.0) == whole
    assert whole.beyond(0.06 * stats.norm.ppf(0.9)).reach == 0
    assert Expected(Scatter(0.0, 1e9), Scatter(1e-158, 1e9), 9).beyond(0.1).reach == 0


@pytest.mark.parametrize(("computation", "whole"), [(0.06, 0.1), (0.3, 0.3)])
def test_samples_count_noise_once(computation: float, whole: float) -> None:
    """Noise of 6 % in an error of 10 % gives intervals of 10 %; noise of 30 % gives intervals of 30 %.

    The tolerance is 5 standard errors of 4000 samples.
    """
    on, deviation = noisy(1, computation=computation), whole if whole == 0.1 else math.sqrt(math.log1p(whole**2))
    found = sample_errors(bursts([1.0]), Candidate(on, ONE), 1.0, Sampling(4000), known(0.08, 0.06))
    ends = Spread.of(found.makespans)
    assert np.log(ends.high / ends.low) / 2 == pytest.approx(deviation * 1.2816, abs=5 * deviation * 0.027)


@given(
    samples=st.integers(1, 40),
    seed=st.integers(0, 100),
    own=st.floats(0, 0.5),
    computation=st.sampled_from([0.0, 0.3]),
)
def test_a_prediction_lies_in_its_interval(samples: int, seed: int, own: float, computation: float) -> None:
    """The interval contains the prediction and its error range, with few samples and with noise to one side, too."""
    program, on, two = bursts([1.0], [1.0]), noisy(2, computation=computation), Placement((0, 1))
    makespan = simulate(program, on, two).makespan
    found = sample_errors(program, Candidate(on, two), makespan, Sampling(samples, seed), known(own))
    assert found.spread.low <= makespan * math.exp(-found.reach)
    assert makespan * math.exp(found.reach) <= found.spread.high


def test_the_machines_of_a_program_share_its_part() -> None:
    """Two machines of a program differ only by their own parts of the error: 10 % each make 14 %."""
    expected = known(0.1, 0.5).of(COMPUTING)
    machines = [machine(2, performance_factor=factor) for factor in (1.0, 2.0)]
    slow, fast = (expected.multipliers(Sampling(2000), "p.py", everywhere(on)) for on in machines)
    assert np.log(slow / fast).std() == pytest.approx(0.1 * math.sqrt(2), rel=0.08)
    assert np.log(slow).std() == pytest.approx(math.hypot(0.1, 0.5), rel=0.08)
    other = expected.multipliers(Sampling(2000), "q.py", everywhere(machine(2)))
    assert abs(np.corrcoef(np.log(slow), np.log(other))[0, 1]) < 5 / math.sqrt(2000)


def test_a_model_of_a_machine_has_no_number_of_nodes_and_no_name() -> None:
    """The error of a machine does not depend on its number of nodes or its name, but on the speed of its nodes."""
    two, four, fast = machine(2), machine(4), machine(2, performance_factor=0.5)
    named = replace(two, name="b", nodes=tuple(replace(node, name="other") for node in two.nodes))
    models = [model_of(everywhere(each)) for each in (two, four, named, fast)]
    assert models[0] == models[1] == models[2] != models[3]
    expected = known(0.1).of(COMPUTING)
    drawn = [expected.multipliers(Sampling(10), "p.py", everywhere(on)).tolist() for on in (two, four)]
    assert drawn[0] == drawn[1]


def test_a_model_of_a_machine_has_only_what_times_depend_on() -> None:
    """Memory, and nodes without ranks, change no time, so the error is that of the same machine."""
    plain, large = machine(2, memory=64e9), machine(2, memory=128e9)
    mixed = replace(plain, nodes=(*plain.nodes, replace(plain.nodes[0], name="other", performance_factor=2.0)))
    assert model_of(Candidate(plain, ONE)) == model_of(Candidate(large, ONE)) == model_of(Candidate(mixed, ONE))
    assert model_of(Candidate(mixed, ONE)) != model_of(Candidate(mixed, Placement((0, 2))))


def test_a_model_of_a_machine_has_its_changes() -> None:
    """A machine that gets slower during the run has an error of its own: two of 10 % make 14 %.

    The figures and the time of the change count, but not the number of nodes.
    """

    def slowing(nodes: int, at: float, factor: float) -> Machine:
        return machine(nodes, changes=((at, machine(nodes, performance_factor=factor)),))

    two, four, later, slower = slowing(2, 5.0, 2.0), slowing(4, 5.0, 2.0), slowing(2, 6.0, 2.0), slowing(2, 5.0, 3.0)
    assert model_of(everywhere(two)) == model_of(everywhere(four))
    assert len({model_of(everywhere(each)) for each in (machine(2), two, later, slower)}) == 4
    expected = known(0.1).of(COMPUTING)
    plain, changing = (expected.multipliers(Sampling(2000), "p.py", everywhere(on)) for on in (machine(2), two))
    assert np.log(plain / changing).std() == pytest.approx(0.1 * math.sqrt(2), rel=0.08)


def test_a_model_of_a_machine_has_no_noise() -> None:
    """Noise of nodes and of links changes no prediction, so the error is that of the same machine."""
    quiet, *loud = noisy(), noisy(factor=0.1), noisy(send=0.1), noisy(transmission=0.1)
    assert {model_of(everywhere(each)) for each in loud} == {model_of(everywhere(quiet))}


def test_a_model_of_a_machine_has_no_order_of_regions_or_links() -> None:
    """Regions and links that are written in another order change no time, so the error is the same."""

    def written(*regions: str) -> Machine:
        shares = {region: {"a": 0.5, "b": 0.8}[region] for region in regions}
        found = machine(2, performance_factors=shares, speeds=shares, memory_contention={2: shares})
        links = dict.fromkeys(regions, found.network.between_nodes)
        return replace(found, network=replace(found.network, within=links))

    one, other = written("a", "b"), written("b", "a")
    assert one == other and model_of(everywhere(one)) == model_of(everywhere(other))


def test_a_model_of_a_machine_has_no_links_that_no_message_takes() -> None:
    """Within a node the links and the contention between nodes change no time, nor does the other way round.

    Instances exchange no messages: two of them on a node each do not use the link between these.
    """
    slow, quick = replace(LINK, receive_delay=1.0), replace(LINK, receive_delay=0.1)
    one, other = machine(2, link=slow), machine(2, link=quick, contention={1: 1.0, 2: 2.0})
    local = replace(one, network=replace(one.network, within_node=quick))

    def alike(first: Machine, second: Machine, *nodes: int, instances: int = 1) -> bool:
        placed = [Candidate(on, Placement(nodes), instances) for on in (first, second)]
        return model_of(placed[0]) == model_of(placed[1])

    assert alike(one, other, 0) and alike(one, other, 0, 0) and not alike(one, other, 0, 1)
    assert alike(one, local, 0) and alike(one, local, 0, 1) and not alike(one, local, 0, 0)
    assert not alike(one, local, 0, 0, 1)
    assert alike(one, other, 0, 0, 1, 1, instances=2) and not alike(one, other, 0, 1, 0, 1, instances=2)


def test_a_model_of_a_machine_has_no_links_of_nodes_without_ranks() -> None:
    """Links of a pair of types, and within nodes of a type, count where ranks are on such nodes."""
    a, b = NodeType("a"), NodeType("b", performance_factor=2.0)
    own = replace(LINK, receive_delay=1.0)
    plain = Machine("plain", (a, a, b, b), Network(LINK, LINK))
    pairs = replace(plain, network=replace(plain.network, pairs={("a", "b"): own, ("b", "a"): own}))
    within = replace(plain, network=replace(plain.network, within={"b": own}, across_domains=own))

    def model(on: Machine, *nodes: int) -> tuple[str, ...]:
        return model_of(Candidate(on, Placement(nodes)))

    assert model(plain, 0, 1) == model(pairs, 0, 1) == model(within, 0, 1)
    assert model(plain, 0, 2) == model(within, 0, 2) != model(pairs, 0, 2)
    assert model(plain, 2, 2) == model(pairs, 2, 2) != model(within, 2, 2)


def test_instances_in_domains_of_their_own_do_not_use_the_link_between_domains() -> None:
    """A node has two domains of two processors: the two ranks of each of two instances share one."""
    node = NodeType("a", processors=4, domains=2)
    networks = [Network(LINK, LINK, across_domains=link) for link in (LINK, replace(LINK, receive_delay=1.0))]
    machines = [Machine("one", (node,), network) for network in networks]
    for instances, models in ((1, 2), (2, 1)):
        assert len({model_of(Candidate(on, Placement((0,) * 4), instances)) for on in machines}) == models


def test_who_runs_in_one_node_is_as_fast_with_any_network() -> None:
    """1 % more money for another network between nodes, and two ranks in one node: the cheaper option wins always.

    With errors of their own, of 13 % each, it would win in 52 % of the samples.
    """
    options = tuple(
        Option(name, machine(2, link=link, processors=2), Money(price, "EUR"))
        for name, link, price in (("near", LINK, 1000.0), ("far", replace(LINK, receive_delay=1.0), 1010.0))
    )
    scenario = Scenario("by hand", (workload(ranks=(2,)),), options, criterion=Criterion.COST_PER_RUN)
    ranking = rank_options(scenario, ReplayPredictor(traces), sampling=Sampling(100), error=known(0.13))
    found = [(entry.option, entry.position, entry.best) for entry in ranking.entries]
    assert found == [("near", 1, 1.0), ("far", 2, 0.0)]


def test_who_is_as_fast_and_cheaper_is_the_best_for_certain() -> None:
    """5 % more money for twice the memory: both options take the same time in each sample, so the cheaper one wins.

    With errors of their own, of 13 % each, it would win in 60 % of the samples.
    """
    options = tuple(
        Option(name, machine(1, memory=memory), Money(price, "EUR"))
        for name, memory, price in (("small", 64e9, 1000.0), ("large", 128e9, 1050.0))
    )
    scenario = Scenario("by hand", (workload(ranks=(1,)),), options, criterion=Criterion.COST_PER_RUN)
    ranking = rank_options(scenario, ReplayPredictor(traces), sampling=Sampling(100), error=known(0.13))
    found = [(entry.option, entry.position, entry.best) for entry in ranking.entries]
    assert found == [("small", 1, 1.0), ("large", 2, 0.0)]


def test_the_order_of_options_changes_no_interval() -> None:
    """Two options share a run, as one rank uses the first node of either; further nodes do not count for its error.

    So both have one interval around 12 s.
    """
    plain = machine(1)
    mixed = replace(plain, nodes=(*plain.nodes, replace(plain.nodes[0], name="other", performance_factor=2.0)))
    options = [Option("plain", plain), Option("mixed", mixed)]
    spreads = []
    for each in (options, options[::-1]):
        scenario = Scenario("by hand", (workload(ranks=(1,)),), tuple(each), criterion=Criterion.MAKESPAN)
        ranking = rank_options(scenario, ReplayPredictor(traces), sampling=Sampling(20), error=known(0.1))
        spreads.append({entry.option: entry.spread for entry in ranking.entries})
    assert spreads[0] == spreads[1]
    spread = spreads[0]["plain"]
    assert spread is not None and spread.low < 12.0 < spread.high
    assert spreads[0]["mixed"] == spread


def test_programs_of_one_file_name_have_errors_of_their_own() -> None:
    """Two jobs of 12 s have errors of 13 % each, so that their mean has one of 13 % / sqrt 2.

    If both were one program, it would be 13 %. The tolerance is 5 standard errors of 1000 samples.
    """
    jobs = tuple(
        Workload(name, (Component(name, Application(trace=f"{name}/{{ranks}}.clue")),)) for name in ("lu", "cg")
    )
    scenario = Scenario("by hand", jobs, (Option("one", machine(1)),), criterion=Criterion.MAKESPAN)
    ranking = rank_options(scenario, ReplayPredictor(traces), sampling=Sampling(1000), error=known(0.13))
    (entry,) = ranking.entries
    assert entry.spread is not None
    width = math.log(entry.spread.high / entry.spread.low) / 2
    assert width == pytest.approx(0.13 / math.sqrt(2) * stats.norm.ppf(0.9), rel=0.15)


def test_a_machine_that_changes_computes_at_its_mean_speed() -> None:
    """10 s of computation take twice as long from 5 s on: a makespan of 15 s is computation alone.

    In a makespan of 30 s the mean speed is 1/6 + 5/6 / 2 = 7/12, so the computation takes 120/7 s, and 3/7 are left.
    """
    changing = machine(1, changes=((5.0, machine(1, performance_factor=2.0)),))
    found = [Character.of(bursts([10.0]), Candidate(changing, ONE), makespan) for makespan in (4.0, 15.0, 30.0)]
    assert [each.communication for each in found] == pytest.approx([0.0, 0.0, 3 / 7], abs=1e-6)
    assert Character.of(bursts([]), Candidate(changing, ONE), 15.0).communication == 1.0


def test_messages_to_nobody_do_not_count_in_the_mean_message() -> None:
    """A send of 100 B, two calls of an allreduce of 400 B, and 9,000 B to a null partner, which go nowhere: 300 B."""
    trace = TraceBuilder(2)
    trace[0].send(1, 100)
    trace[0].send(PROC_NULL, 9000)
    trace[0].wait(trace[0].isend(PROC_NULL, 9000))
    trace[1].recv(0)
    for rank in (0, 1):
        trace[rank].collective(Op.ALLREDUCE, 400)
    program = compile_program(trace.build())
    assert Character.of(program, everywhere(machine(2)), 1.0).message == 300.0


def test_a_small_lead_is_no_order() -> None:
    """A lead of 1.5 % with errors of 6 % per machine is real with a probability of 57 %, so both share position 1.

    P(lead > N(0, 0.06 sqrt 2)) = 57 %.
    """
    options = option("a", pf=1.0), option("b", pf=1.015)
    scenario = Scenario("by hand", (workload(ranks=(1,)),), options, criterion=Criterion.MAKESPAN)
    sampling = Sampling(400)
    ranking = rank_options(scenario, ReplayPredictor(traces), sampling=sampling, error=known(0.06, 0.3))
    assert [entry.position for entry in ranking.entries] == [1, 1]
    assert ranking.entries[0].best == pytest.approx(stats.norm.cdf(math.log(1.015) / 0.0849), abs=5 * 0.025)
    for entry in ranking.entries:
        assert entry.spread is not None and entry.score is not None
        assert entry.spread.low < entry.score < entry.spread.high
    certain = rank_options(scenario, ReplayPredictor(traces), sampling=sampling, error=known(0.001, 0.3))
    assert [entry.position for entry in certain.entries] == [1, 2]


# --- learning ---


def test_components_of_variance_by_hand() -> None:
    """Errors of 0.1 ± 0.02 and -0.1 ± 0.02 give 0.02 sqrt 2 within programs.

    Between programs the mean square, reduced by what chance adds, remains.
    """
    cases = [Known(p, e, COMPUTING) for p, e in (("a", 0.12), ("a", 0.08), ("b", -0.12), ("b", -0.08))]
    found = learn(cases, source="by hand", date="2026-01-01")
    assert found.of(COMPUTING).own.deviation == pytest.approx(0.02 * math.sqrt(2))
    assert found.shared.deviation == pytest.approx(math.sqrt(0.1**2 - 0.02**2))
    assert (found.shared.degrees, found.of(COMPUTING).own.degrees) == (2, 4)


def test_an_error_that_all_have_makes_intervals_wider() -> None:
    """If all predictions are 20 % too short, the shared part of the error is 20 %."""
    cases = [Known(p, 0.2 + e, COMPUTING) for p in "abc" for e in (-0.01, 0.01)]
    assert learn(cases, source="by hand", date="").shared.deviation == pytest.approx(0.2, rel=0.01)


def test_a_kind_with_few_cases_is_as_all_are() -> None:
    """A kind without cases gets the deviation of all cases; a kind with many cases its own."""
    loud = Character(0.9, 1e6)
    generator = np.random.default_rng(0)
    cases = [
        Known(p, float(generator.normal(0, s)), c)
        for p in "abcde" for s, c in ((0.02, COMPUTING), (0.2, loud)) for _ in range(40)
    ]  # fmt: skip
    found = learn(cases, source="by hand", date="")
    quiet, wide, none = (found.of(c).own.deviation for c in (COMPUTING, loud, Character(0.3, 1e6)))
    assert 0.02 < quiet < 0.06
    assert 0.17 < wide < 0.21
    assert none == pytest.approx(math.sqrt((0.02**2 + 0.2**2) / 2), rel=0.15)


@pytest.mark.parametrize(("programs", "machines"), [(4, 3), (8, 8), (20, 2)])
def test_intervals_hold_four_of_five_new_programs(programs: int, machines: int) -> None:
    """Intervals learned from few or many programs contain about 80 % of new programs on new machines.

    This is the average of 400 synthetic validations.
    """
    generator = np.random.default_rng(1)
    inside = []
    for _ in range(400):
        errors = generator.normal(0, 0.05, (programs + 1, 1)) + generator.normal(0, 0.05, (programs + 1, machines))
        cases = [Known(str(p), e, COMPUTING) for p, row in enumerate(errors[1:].tolist()) for e in row]
        inside.append(abs(errors[0, 0]) <= learn(cases, source="", date="").of(COMPUTING).reach)
    assert 0.74 < np.mean(inside) < 0.9


def test_too_few_cases_are_refused() -> None:
    """One case per program is too few to learn from, unless there is prior knowledge."""
    cases = [Known(p, 0.1, COMPUTING) for p in "abc"]
    with pytest.raises(UsageError, match="must be two more than programs"):
        learn(cases, source="by hand", date="")
    before = known(0.05, 0.02, degrees=100)
    after = learn(cases, source="by hand", date="", prior=before)
    assert after.of(COMPUTING).own.deviation == pytest.approx(0.05)
    assert after.shared.deviation == pytest.approx(math.sqrt((3 * 0.02**2 + 3 * (0.1**2 - 0.05**2)) / 6))


def test_errors_that_no_file_may_state_are_not_learned() -> None:
    """Times in us taken for s are off by ln 10^6 = 13.8: beside the prior, 9.8 for three programs, 10.4 for four."""
    cases = [Known(p, -math.log(1e6), COMPUTING) for p in "abcd"]
    prior = known(0.05, 0.02, degrees=100)
    three = learn(cases[:3], source="by hand", date="", prior=prior)
    assert three.shared.deviation == pytest.approx(13.8155 * math.sqrt(3 / 6), rel=1e-3)
    with pytest.raises(UsageError, match=r"must be at most 10 \(a factor of 22,026\).*got 10\.4: check the units"):
        learn(cases, source="by hand", date="", prior=prior)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(-1, 1), st.floats(0, 1), st.floats(0, 1e6)), min_size=8))
def test_a_file_says_what_was_learned(rows: list[tuple[str, float, float, float]]) -> None:
    """Learned errors are the same after writing and reading a file, to its number of digits."""
    cases = [Known(p, e, Character(share, message)) for p, e, share, message in rows]
    learned = learn(cases, source="it's: by hand", date="2026-01-01", prior=shipped_model_error())
    assert learned.cases == sum(kind.cases for kind in learned.kinds)
    text = as_yaml(learned)
    file = Path("model-error.yaml")
    file.write_text(text)
    assert as_yaml(load_model_error(file)) == text


@pytest.fixture(autouse=True, scope="module")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("errors"))
        yield


def test_what_is_shipped_says_where_it_comes_from() -> None:
    """The shipped errors state source, date and cases, and the interval of an unknown kind is the widest."""
    shipped = shipped_model_error()
    assert shipped.source and shipped.date
    assert shipped.cases == sum(kind.cases for kind in shipped.kinds) > 10
    assert all(shipped.of(None).reach >= Expected(shipped.shared, k.scatter, k.cases).reach for k in shipped.kinds)


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("message: [0, 4096]", "message: [0, 2048]", "must cover every case once"),
        ("degrees: 9.0", "degrees: 0", "degrees.*must be"),
        ("programs:", "program:", "programs"),
    ],
)
def test_files_that_make_no_sense(old: str, new: str, rule: str) -> None:
    """A gap between kinds, zero degrees of freedom and an unknown key are errors with their place."""
    text = as_yaml(replace(shipped_model_error(), shared=Scatter(0.1, 9.0)))
    Path("wrong.yaml").write_text(text.replace(old, new, 1))
    with pytest.raises(ConfigError, match=rule):
        load_model_error(Path("wrong.yaml"))


def test_without_a_home_folder_the_shipped_errors_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody without a home folder has settings in it; a file to be written must be named."""

    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", no_home)
    for name in ("CLUE_MODEL_ERROR", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert known_model_error() == shipped_model_error()
    with pytest.raises(UsageError, match="CLUE_MODEL_ERROR must name a file where there is no home folder, got none"):
        site_file()
