"""The benchmark of predictions for users: sums by hand, and frozen cases; nothing is measured here."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml

from benchmarks.accuracy.unseen import cases, looks, predicting, tables
from benchmarks.accuracy.unseen.buying import Buyer
from benchmarks.accuracy.unseen.experiment import Experiment, RealRun
from benchmarks.accuracy.unseen.figures import (
    COLUMNS,
    UnseenCase,
    Worth,
    are_distinct,
    close_pairs,
    repeatability,
    with_cores,
)
from benchmarks.accuracy.unseen.predicting import Figures, baseline
from benchmarks.accuracy.validate.measured import MeasurementFolder
from benchmarks.testbed.description import Host, Rack
from benchmarks.testbed.experiment import in_turns
from clue.config import load_machine
from clue.errors import RecordError, UsageError
from clue.kernel import compile_program, simulate
from clue.machine import Machine, Placement
from clue.trace import TraceBuilder
from tests.kernel.cases import machine


def case(name: str, on: str, measured: float, predicted: float, **changes: object) -> UnseenCase:
    """Return a case with equal predictions, except that the sum is twice as large."""
    figures = Figures(predicted, predicted, 2 * predicted, predicted)
    made = UnseenCase(
        program=name, machine=on, ranks=4, size="8", frozen=True, live=False, runs=(measured,) * 3,
        late=0.0, user=predicted, low=round(0.9 * predicted, 5), high=round(1.1 * predicted, 5),
        by_user=figures, calibrated=figures, hindsight=figures, message=100.0, commit="abc",
    )  # fmt: skip
    return replace(made, **changes)  # type: ignore[arg-type]


def test_the_sum_by_hand() -> None:
    """The sum by hand: ranks compute 1 and 2 s, and rank 0 sends three messages of 1000 B, which both ranks pay for.

    The last rank to finish counts.
    """
    trace = TraceBuilder(2)
    zero, one = trace
    for _ in range(3):
        zero.send(1, 1000)
        one.recv(0)
    program, on = compile_program(trace.build()), machine(2)
    placement = Placement((0, 1))
    result = simulate(program, on, placement, traffic=True)
    link = on.network.between_nodes

    def takes(nbytes: float) -> float:
        return link.send_delay(nbytes) + link.transmission_delay(nbytes) + link.receive_delay

    messages = 3 * (takes(0) + 1000 * (takes(2**20) - takes(0)) / 2**20)
    assert baseline(np.array([1.0, 2.0]), result, on, placement) == pytest.approx(2.0 + messages)
    assert baseline(np.array([3.0, 2.0]), result, on, placement) == pytest.approx(3.0 + messages)


def test_a_live_program_is_slower_by_the_ratio_of_total_computation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bursts of 1 and 3 s, multiplied by 1 and 3: 10 s instead of 4, on nodes that are slower by 1.5 themselves."""
    trace = TraceBuilder(2)
    for rank, seconds in enumerate((1.0, 3.0)):
        trace[rank].compute(seconds)
    trace.build().save(tmp_path / "program.clue")
    link = {"send_delay": "1 us", "transmission_delay": {"latency": "10 us", "bandwidth": "1 GB/s"}}
    file = tmp_path / "two.yaml"
    file.write_text(yaml.safe_dump({
        "nodes": [{"count": 2, "type": "host"}], "node_types": {"host": {"performance_factor": 1.5}},
        "network": {"between_nodes": link},
    }))  # fmt: skip
    slowdowns = []

    def run(_command: object, ranks: int, on: Machine, _placement: Placement, **_: object) -> SimpleNamespace:
        assert ranks == 2
        slowdowns.append(on.nodes[0].performance_factor)
        return SimpleNamespace(result=SimpleNamespace(makespan=7.0))

    monkeypatch.setattr(predicting, "run", run)
    program = replace(cases.UNSEEN_PROGRAMS[0], decides=True)
    found = predicting.figures(predicting.Recorded(program, (tmp_path / "program.clue",)), file, [1.0, 3.0])
    assert slowdowns == [pytest.approx(1.5 * 10 / 4)]
    assert (found.model, found.computation) == (7.0, pytest.approx(1.5 * 9))


def test_what_a_column_is_worth() -> None:
    """Errors of 10, 17 and 50 %; of two machines within 25 % the wrong one is chosen, at a cost of 20 %."""
    found = [case("a", "x", 1.0, 1.1), case("a", "y", 1.2, 1.0, runs=(1.2,)), case("a", "z", 4.0, 6.0)]
    worth = Worth.of(found, COLUMNS["user"])
    assert worth.mean == pytest.approx((0.1 + 1 / 6 + 0.5) / 3)
    assert worth.most == pytest.approx(0.5)
    assert (worth.ordered, worth.distinct) == (0.0, 0.0)
    assert worth.regret == pytest.approx(0.2)
    assert worth.tau == pytest.approx(1 / 3)
    assert [each.covered for each in found] == [True, False, False]
    assert found[1].kind == "computes and communicates, short messages"


def test_one_machine_has_no_order() -> None:
    """On one machine there are no pairs, no regret and no tau."""
    worth = Worth.of([case("a", "x", 1.0, 1.1), case("b", "x", 1.0, 1.1)], COLUMNS["user"])
    assert (worth.ordered, worth.distinct, worth.regret, worth.tau) == (None, None, None, None)


def test_how_often_runs_repeat_their_own_order() -> None:
    """Close machines x and y overlap; y and z differ in all runs; w is not close.

    Of x, half of the runs is 1.0 and the other 1.2; of y both are 1.12. So one half is shorter than that of y, and the
    other longer: no two halves agree. Of y and z, all do.
    """
    x, y, z, w = (
        case("a", name, runs[0], predicted, runs=runs)
        for name, runs, predicted in (
            ("x", (1.0, 1.2), 1.0), ("y", (1.12, 1.12), 0.9), ("z", (1.3, 1.3), 1.1), ("w", (9.0, 9.0), 1.0),
        )
    )  # fmt: skip
    pairs = close_pairs([x, y, z, w, replace(z, program="b")])
    assert pairs == [(x, y), (x, z), (y, z)]
    assert [are_distinct(*pair) for pair in pairs] == [False, True, True]
    assert [repeatability([pair]) for pair in pairs] == [0.0, 1.0, 1.0]
    assert repeatability(pairs) == pytest.approx(2 / 3)
    assert repeatability([(replace(x, runs=(1.0,)), y)]) is None
    worth = Worth.of([x, y, z, w], COLUMNS["user"])
    assert (worth.ordered, worth.distinct) == (pytest.approx(2 / 3), 1.0)  # x is predicted longer than y


def test_the_table_and_its_page(tmp_path: Path) -> None:
    """The table has the documented columns and is read back equal; the page has the goals."""
    found = [case("a", "x", 1.0, 1.1), case("a", "y", 2.0, 1.9, dilation=4)]
    file = tmp_path / "unseen.csv"
    tables.write_csv(file, found)
    promised = "program, machine, ranks, size, measured, user, calibrated, hindsight, baseline, low, high, commit"
    assert set(promised.split(", ")) <= set(file.read_text().splitlines()[0].split(","))
    assert tables.read_csv(file) == found
    found[1] = replace(found[1], dilation=1)
    page = tables.page(found, "python -m benchmarks.accuracy.unseen", [("2026-01-01", "abc")], ["a remark"])
    assert "| as a user: mean / 90th percentile | ≤ 12 % / ≤ 25 % | 7.5% / 10.0% |" in page
    assert "Number of looks at them so far: 1 (2026-01-01 with abc)" in page
    assert "ratio of mean errors | ≤ 0.5 | 0.07 |" in page
    assert "a remark" in page
    rehearsal = tables.page([replace(each, frozen=False) for each in found], "", [], [])
    assert "Rehearsal" in rehearsal and "looks" not in rehearsal


def test_late_cases_are_replaced_by_dilated_ones() -> None:
    """Of two late cases one was measured again: it counts in its place, and competes with no undilated machine.

    *a* on *x* was 50 % off, and is 10 % off on the dilated cluster; *a* on *y* and *b* stay 20 and 30 % off.
    """
    late = case("a", "x", 1.0, 0.5, late=0.2)
    again = case("a", "x", 4.0, 4.4, dilation=4)
    y, b = case("a", "y", 1.0, 1.2), case("b", "x", 1.0, 1.3, late=0.2)
    found = [late, y, b, again]
    assert with_cores(found) == [again, y, b]
    assert with_cores([again, late]) == [again]
    assert [each.is_late for each in found] == [True, False, True, False]
    assert close_pairs(found) == [(late, y)]
    assert close_pairs(with_cores(found)) == []
    assert close_pairs([again, replace(again, machine="y")]) != []
    assert str(again).startswith("a on x, dilated 4 times: measured 4.000 s") and str(y).startswith("a on y: measured")
    page = tables.page(found, "", [], [])
    assert "| figure | goal | first measured (3 cases) | late ones dilated (3 cases) |" in page
    assert "| as a user: mean / 90th percentile | ≤ 12 % / ≤ 25 % | 33.3% / 50.0% | 20.0% / 30.0% |" in page
    assert "| for more than 5% of the time | 2 | 40.0%" in page and "| for at most 5%, dilated | 1 | 10.0%" in page
    assert "Errors by case, dilated 4 times, in %" in page and "processors and networks are\n4 times slower" in page
    assert "dilated" not in tables.page([y, b], "", [], [])


def test_late_cases_are_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the programs that were late run again on the dilated machine, and none if dilation is 1."""
    measured: list[tuple[int, list[str]]] = []

    def at(_self: Experiment, _unseen: object, dilation: int, programs: list[cases.UnseenProgram]) -> object:
        measured.append((dilation, [each.name for each in programs]))
        for program in programs:
            late = 0.2 * (program.name == "multigrid")
            yield case(program.name, "x", 1.0, 1.0, dilation=dilation, late=late)

    monkeypatch.setattr(Experiment, "_at", at)
    chosen = [each for each in cases.UNSEEN_PROGRAMS if each.name in {"multigrid", "overlap"}]
    buyer = Buyer(tmp_path, 1.0, print)
    for dilation, expected in ((4, [1, 1, 4]), (1, [1, 1])):
        measured.clear()
        experiment = Experiment(chosen, 1, MeasurementFolder(tmp_path), buyer, "abc", print, dilation)
        assert [each.dilation for each in experiment.on(cases.UNSEEN_MACHINES[0])] == expected
        assert measured == [(1, ["multigrid", "overlap"]), (4, ["multigrid"])][: len(expected) - 1]


def test_rehearsal_and_frozen_cases_never_meet() -> None:
    """A set contains its own programs and machines only."""
    for of in cases.Set:
        programs, machines = cases.chosen(of)
        assert programs and machines
        assert all(each.of is of for each in programs) and all(each.of is of for each in machines)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a repository of one committed file."""
    monkeypatch.setattr(looks, "_ROOT", tmp_path)
    monkeypatch.setattr(looks, "LOOKS", tmp_path / "looks.csv")
    (tmp_path / "model.py").write_text("1\n")
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"]):
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True)
    return tmp_path


def test_a_model_that_is_not_committed_is_refused(repository: Path) -> None:
    """Uncommitted changes and new files are refused, except for the benchmark's own output."""
    table = repository / "unseen.csv"
    table.write_text("written before\n")
    (repository / "looks.csv").write_text("date,commit\n")
    assert looks.frozen_commit([table]) == looks.commit()
    (repository / "new.py").write_text("2\n")
    with pytest.raises(UsageError, match=r"must be committed before .*, got new.py"):
        looks.frozen_commit([table])
    (repository / "new.py").unlink()
    (repository / "model.py").write_text("2\n")
    with pytest.raises(UsageError, match=r"got model.py"):
        looks.frozen_commit([table])


def test_looks_are_counted_by_commit(repository: Path) -> None:
    """Repeated looks with the same commit count once; another commit is a further look."""
    assert repository.is_dir() and looks.looks() == []
    assert [looks.look(commit) for commit in ("a", "a", "b", "a")] == [1, 1, 2, 3]
    assert [commit for _, commit in looks.looks()] == ["a", "b", "a"]


def test_cases_take_turns() -> None:
    """All cases run once before any runs again."""
    done: list[tuple[str, int]] = []

    def run(case: str, turn: int) -> int:
        done.append((case, turn))
        return turn

    found = in_turns("ab", 2, run)
    assert done == [("a", 0), ("b", 0), ("a", 1), ("b", 1)]
    assert found == {"a": [0, 1], "b": [0, 1]}


LINK = "{{send_delay: {}, transmission_delay: {{latency: 30 us, bandwidth: 1 Gbit/s}}}}"


def test_a_buyer_puts_measured_links_into_the_machines_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each pair of node types gets its measured link, types with several processors also one within nodes.

    The rest of the machine's file stays as stated.
    """
    file = tmp_path / "stated.yaml"
    file.write_text(
        "name: stated\nnodes: [{count: 2, type: a}, {count: 1, type: b}]\n"
        "node_types: {a: {performance_factor: 2, processors: 2}, b: {performance_factor: 4}}\n"
        f"network: {{between_nodes: {LINK.format('20 us')}, contention: none}}\n"
    )
    hosts = (*(Host(index, 2.0, 2, 0, None) for index in range(2)), Host(2, 4.0, 1, 0, None))
    measured: list[int] = []

    def calibrated(_buyer: Buyer, ends: list[Host], _testbed: object) -> dict[str, object]:
        measured.append(len(ends))
        between = yaml.safe_load(LINK.format(f"{len(measured)} us"))
        within = yaml.safe_load(LINK.format(f"{10 * len(measured)} us"))
        if len(measured) == 1:
            between |= {"eager_limit": "8 KiB", "acknowledged_from": "1 KiB"}
        return {"between_nodes": between, "within_node": within}

    monkeypatch.setattr(Buyer, "_calibrated", calibrated)
    folder = tmp_path / "measured"
    folder.mkdir()
    (folder / "cold-start-stated.json").write_text('{"after": [[0.0, 0.0], [0.001, 5e-05]], "at_most": 1.5}')
    told = load_machine(Buyer(folder, 1.0, print).described(file, hosts, lambda: ""))
    assert measured == [2, 2]
    waits_cost = [(node.cold_start.after(1e-3), node.cold_start.at_most) for node in told.nodes[1:]]
    assert waits_cost == [(pytest.approx(100e-6), 1.5), (pytest.approx(200e-6), 1.5)]
    network = told.network
    sends = [network.link(*pair, same_node=False).send_delay(0) for pair in (("a", "a"), ("a", "b"), ("b", "a"))]
    assert sends == pytest.approx([1e-6, 2e-6, 2e-6])
    assert network.link("a", "a", same_node=True).send_delay(0) == pytest.approx(10e-6)
    limits = [(link.eager_limit, link.acknowledged_from) for link in (network.between_nodes, network.pairs["a", "b"])]
    assert limits == [(8192, 1024), (None, None)]
    assert network.contention.name == "none"


@pytest.mark.parametrize(("racks", "apart"), [("aabb", 600e-6), ("abab", 0.0)])
def test_a_buyer_states_how_far_switches_are_apart(
    racks: str, apart: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Messages take 50 us within a rack and 650 us between racks, so switches are 600 us apart.

    If switches mix racks, no distance is stated.
    """
    file = tmp_path / "stated.yaml"
    flows = "{topology: switches, nodes_per_switch: 2, bandwidth: 1 Gbit/s}"
    file.write_text(
        "name: stated\nnodes: [{count: 4, type: a}]\nnode_types: {a: {}}\n"
        f"network: {{between_nodes: {LINK.format('20 us')}, contention: {{flows: {flows}}}}}\n"
    )
    hosts = tuple(Host(index, 1.0, 1, 0, None, 0.0, Rack(rack)) for index, rack in enumerate(racks))

    def calibrated(_buyer: Buyer, ends: list[Host], _testbed: object) -> dict[str, object]:
        return {"between_nodes": yaml.safe_load(LINK.format("20 us" if ends[0].rack == ends[1].rack else "620 us"))}

    monkeypatch.setattr(Buyer, "_calibrated", calibrated)
    (tmp_path / "cold-start-stated.json").write_text('{"after": [[0.0, 0.0]], "at_most": 1.5}')
    told = load_machine(Buyer(tmp_path, 1.0, print).described(file, hosts, lambda: ""))
    assert told.contention.topology is not None
    assert told.contention.topology.further == pytest.approx(apart)


def test_what_loading_takes_is_taken_off() -> None:
    """The median of empty runs is subtracted from the seconds and from each rank's CPU time, which stays at least 0."""
    nothing = [RealRun(seconds, 0.0, [0.01, cpu]) for seconds, cpu in ((0.1, 0.01), (0.2, 0.02), (0.9, 0.03))]
    net = RealRun(1.0, 0.5, [0.11, 0.015]).beyond(nothing)
    assert net.seconds == pytest.approx(0.8)
    assert (net.late, list(net.computing)) == (0.5, pytest.approx([0.1, 0.0]))


def test_a_recording_is_kept_whole_or_not_at_all(tmp_path: Path) -> None:
    """A failed recording leaves nothing, and a finished one is not made again."""
    experiment = Experiment([], 1, MeasurementFolder(tmp_path), Buyer(tmp_path, 1.0, print), "abc", print)

    def fail(target: Path) -> None:
        target.write_text("half")
        raise RecordError("ended early")

    def record(target: Path) -> None:
        target.write_text("first")
        target.with_name("program.2.clue").write_text("second")

    with pytest.raises(RecordError):
        experiment._kept("a", fail)
    for made in (record, fail):
        first, repeats = experiment._kept("a", made)
        assert (first.read_text(), [each.read_text() for each in repeats]) == ("first", ["second"])
