"""The model of contention is found from simultaneous pairs, as far as the data distinguish models."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest

from clue.calibration import contention
from clue.calibration.contention import (
    Experiment,
    Judged,
    Model,
    PairMeasurement,
    PairRow,
    as_good,
    contention_file,
    explained,
    judge,
)
from clue.calibration.measurement import Estimate
from clue.calibration.programs.measure_pairs import numbers, paired
from clue.config import load_machine
from clue.config.yaml12 import parse_yaml
from clue.errors import UsageError
from clue.machine import (
    NO_WITHIN_NODE,
    Contention,
    Curve,
    FactorTable,
    Flows,
    Link,
    Machine,
    Network,
    NoContention,
    NodeType,
    Ports,
    Progress,
)
from clue.machine.contention.topology import Switch, Switches

LINK = Link(Curve.line(1e-6, 1e-10), Curve.line(9e-6, 1e-9), 1e-6, 65536.0)
SIZES = (1 << 10, 1 << 14, 1 << 17, 1 << 20)
#: All pairs between the same two nodes, and each pair between its own two nodes.
SHARED, APART = ((0, 1),) * 4, tuple((k, k + 4) for k in range(4))


@pytest.fixture(autouse=True, scope="module")
def _simulated_once() -> Iterator[None]:
    """Let fits to the same pairs share their simulations: most of the models that they try are the same."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contention, "Experiment", cache(Experiment))
        yield


def measured(truth: Contention, nodes: tuple[tuple[int, int], ...]) -> PairMeasurement:
    """Return the times of pairs under a given model of contention, with errors of up to 1 % in both directions."""
    experiment = Experiment(LINK, nodes, Ports())
    alone = {size: 10e-6 + size * 1e-9 for size in SIZES}
    rows = []
    for n in (1, 2, 4):
        for k, size in enumerate(SIZES):
            off = 1.0 if n == 1 else 1 + 0.01 * (-1) ** (n // 2 + k)
            rows.append(PairRow(n, size, Estimate.alone(alone[size] * experiment.slowdown(truth, n, size) * off)))
    return PairMeasurement(tuple(rows), nodes, tuple(f"host{k}" for k in range(1 + max(b for _, b in nodes))))


TRUTHS: dict[str, tuple[Contention, tuple[tuple[int, int], ...]]] = {
    "ports": (Ports(), SHARED),
    "ports, 2 times as slow": (Ports(Curve.line(0.0, 2e-9)), SHARED),
    "flows, one switch": (Flows(Switch(2e9)), SHARED),
    "flows, a shared uplink": (Flows(Switches(4, 2e9, 4.0)), APART),
    "factor": (FactorTable(((1, 1.0), (2, 1.5), (4, 2.2))), APART),
    "none": (NoContention(), SHARED),
}


@cache
def judged_of(name: str) -> list[Judged]:
    """Return the models in the order of how well they explain the times of a named true model."""
    truth, nodes = TRUTHS[name]
    return judge(measured(truth, nodes), LINK)


@pytest.mark.long
@pytest.mark.parametrize("name", TRUTHS, ids=str)
def test_the_model_that_made_the_data_is_found(name: str) -> None:
    """The true model predicts numbers of pairs and sizes that were held out best; its fitted parameters are close."""
    truth, _ = TRUTHS[name]
    best = judged_of(name)[0]
    assert best.model.name == name
    assert best.fitted < 0.03
    found = best.model.contention
    if isinstance(truth, FactorTable):
        assert isinstance(found, FactorTable)
        assert dict(found.factors) == pytest.approx(dict(truth.factors), rel=0.02)
    if isinstance(truth, Flows) and isinstance(truth.topology, Switch):
        assert isinstance(found, Flows) and isinstance(found.topology, Switch)
        assert found.topology.bandwidth == pytest.approx(2e9, rel=0.15)
    if isinstance(truth, Ports) and truth.busy is not None:
        assert isinstance(found, Ports) and found.busy is not None
        assert found.busy(10**6) == pytest.approx(2e-3, rel=0.2)


@pytest.mark.long
def test_where_pairs_share_nothing_ports_are_taken_and_the_tie_is_said() -> None:
    """Pairs on separate nodes do not slow each other, with ports or without: ports are chosen; the tie is stated."""
    judged = judge(measured(Ports(), APART), LINK)
    assert judged[0].model.name == "ports"
    assert "none" in {each.model.name for each in as_good(judged)}
    assert "the data do not distinguish it from" in explained(judged)


def test_a_model_that_explains_little_is_not_praised() -> None:
    """A mean error of 15 % or more is reported as no good explanation."""
    poor = Judged(Model("ports", Ports(), ("ports",), 0), 0.5, 0.5)
    assert explained([poor]).endswith("no model explains the data well")


@pytest.mark.long
@pytest.mark.parametrize("name", TRUTHS, ids=str)
def test_what_is_written_is_the_model_that_was_fitted(name: str) -> None:
    """The written machine file has the fitted contention, and all other figures of the nodes and the link."""
    truth, nodes = TRUTHS[name]
    measurement = measured(truth, nodes)
    judged = judged_of(name)
    node = NodeType("fast", 4, memory=8e9, performance_factors={"a b": 0.5}, memory_contention={2: {"": 0.9}})
    machine = Machine("m", (node,) * 8, Network(LINK, LINK), source="measured: here")
    written = parse_yaml(contention_file(machine, measurement, judged).text(), "m.yaml").value
    assert isinstance(written, dict)
    again = load_machine(written)
    found, expected = again.network.contention, judged[0].model.contention
    assert type(found) is type(expected)
    if isinstance(found, Ports) and isinstance(expected, Ports):
        assert (found.busy is None) == (expected.busy is None)
        if found.busy is not None and expected.busy is not None:
            assert found.busy(10**6) == pytest.approx(expected.busy(10**6), rel=1e-3)
    if isinstance(found, Flows) and isinstance(expected, Flows):
        assert type(found.topology) is type(expected.topology)
        assert found.topology.capacities(8) == pytest.approx(expected.topology.capacities(8), rel=1e-3)
    if isinstance(found, FactorTable) and isinstance(expected, FactorTable):
        assert dict(found.factors) == pytest.approx(dict(expected.factors), rel=1e-3)
    assert (again.nodes[0].processors, again.nodes[0].memory, len(again.nodes)) == (4, 8e9, 8)
    assert again.nodes[0].factor("a b") == 0.5
    assert again.nodes[0].share_kept(2, "x") == 0.9
    link = again.network.between_nodes
    for size in (0, 10**6):
        assert link.send_delay(size) == pytest.approx(LINK.send_delay(size), rel=1e-4)
        assert link.transmission_delay(size) == pytest.approx(LINK.transmission_delay(size), rel=1e-4)
    assert (link.receive_delay, link.eager_limit) == (1e-6, 65536.0)


def test_a_machine_of_several_kinds_is_not_rewritten() -> None:
    """A machine with several node types is refused, as its file has more than could be written."""
    machine = Machine("m", (NodeType("a"), NodeType("b")), Network(LINK, LINK))
    judged = [Judged(Model("ports", Ports(), ("ports",), 0), 0.0, 0.0)]
    with pytest.raises(UsageError, match="one kind of nodes"):
        contention_file(machine, measured(NoContention(), SHARED), judged)


def test_a_missing_link_within_a_node_is_noted_by_the_reader_alone() -> None:
    """The file does not state the note that its reader adds, or a link within a node added later would leave it."""
    machine = Machine("m", (NodeType("a", 2),) * 2, Network(LINK, LINK), notes=("a note", NO_WITHIN_NODE))
    judged = [Judged(Model("ports", Ports(), ("ports",), 0), 0.0, 0.0)]
    written = parse_yaml(contention_file(machine, PairMeasurement((), SHARED), judged).text(), "m.yaml").value
    assert isinstance(written, dict)
    assert written["notes"][0] == "a note" and NO_WITHIN_NODE not in written["notes"]
    assert load_machine(written).notes.count(NO_WITHIN_NODE) == 1


def test_a_link_within_a_node_that_equals_the_one_between_stays_stated() -> None:
    """Without the reader's note, the link within a node was stated, though it is the same; the file states it again."""
    machine = Machine("m", (NodeType("a", 2),) * 2, Network(LINK, LINK))
    judged = [Judged(Model("ports", Ports(), ("ports",), 0), 0.0, 0.0)]
    written = parse_yaml(contention_file(machine, PairMeasurement((), SHARED), judged).text(), "m.yaml").value
    assert isinstance(written, dict)
    again = load_machine(written)
    assert again.network.within_node == again.network.between_nodes
    assert "within_node" in written["network"] and NO_WITHIN_NODE not in again.notes


def test_nothing_to_hold_out_is_an_error() -> None:
    """With one size and two numbers of pairs nothing can be held out for testing, which is an error."""
    rows = (PairRow(1, 8, Estimate.alone(1e-6)), PairRow(2, 8, Estimate.alone(2e-6)))
    with pytest.raises(UsageError, match="two or more sizes, or in three or more numbers"):
        judge(PairMeasurement(rows, SHARED), LINK)


@pytest.mark.parametrize(
    ("progress", "alone", "together"), [(Progress.ASYNCHRONOUS, 300e-6, 407.5e-6), (Progress.CALLS, 400e-6, 417.5e-6)]
)
def test_the_progress_of_the_library_counts(progress: Progress, alone: float, together: float) -> None:
    """Eight pairs exchange rendezvous messages, each of which keeps a port for 100 us.

    Envelope and answer take 100 us each, and the data 200 us. If the library progresses messages within calls only, the
    answer waits for the envelope: a round trip takes 800 us, in which a port serves all eight pairs without a further
    wait. The pairs end 0, 100, ... 700 us later than one alone, after 10 round trips. Otherwise a round trip takes
    600 us alone. The port makes it 800 us from the second one on, so that the pairs end 1800, 1900, ... 2500 us later.
    """
    link = Link(Curve.line(0.0), Curve.line(100e-6, 1e-9), 0.0, 0.0)
    experiment = Experiment(link, ((0, 1),) * 8, Ports(), progress)
    assert experiment.slowdown(Ports(), 8, 100_000) == pytest.approx(together / alone)


@pytest.mark.long
def test_empty_messages_show_no_bandwidth() -> None:
    """Empty messages do not slow each other in any model, and all models can be fitted to them."""
    rows = tuple(PairRow(pairs, 0, Estimate.alone(1e-5)) for pairs in (1, 2, 4))
    judged = judge(PairMeasurement(rows, APART), LINK)
    assert len(judged) == 5
    assert max(each.held_out for each in judged) < 1e-3


def test_pairs_are_across_computers_and_spread_over_them_first() -> None:
    """Pairs connect different computers; the second pair uses computers that the first does not."""
    assert paired(["a", "b", "c", "d", "a", "b", "c", "d"]) == [(0, 2), (1, 3), (4, 6), (5, 7)]
    assert paired(["a", "a", "b", "b"]) == [(0, 2), (1, 3)]
    assert paired(["a", "a"]) == []
    assert [numbers(most) for most in (1, 2, 3, 4, 6)] == [[1], [1, 2], [1, 2, 3], [1, 2, 4], [1, 2, 4, 6]]
