"""What validation makes of traces and times, by hand; and a case of it for real, where that can be."""

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.accuracy.validate import cases
from benchmarks.accuracy.validate.deciding import LikeCalls, live_section
from benchmarks.accuracy.validate.figures import PredictedCase, in_hindsight, kendall, quantile, regret
from benchmarks.accuracy.validate.measured import MeasurementFolder
from benchmarks.accuracy.validate.predicting import ColdStart, Factor, HostRecordings, Prediction, predict
from benchmarks.accuracy.validate.sections import section
from benchmarks.accuracy.validate.tables import COLUMNS, page, read_csv, write_csv
from benchmarks.testbed import cluster
from benchmarks.testbed.description import hosts_of
from clue.config import load_machine
from clue.errors import TraceError
from clue.kernel import simulate
from clue.trace import PROC_NULL, Op, Trace, TraceBuilder
from clue.trace.calls import Call, LiveOp


def _program() -> Trace:
    """Two ranks: a second before the section; in it half a second, 1 MB from 0 to 1, a quarter; then two seconds."""
    built = TraceBuilder(2)
    for rank in built:
        rank.compute(1.0)
        rank.collective(Op.BARRIER)
        rank.compute(0.5)
    built[0].send(1, 1_000_000)
    built[1].recv(0)
    for rank in built:
        rank.compute(0.25)
        rank.collective(Op.BARRIER)
        rank.compute(2.0)
        rank.finish()
    return built.build()


MACHINE = load_machine(
    {
        "name": "two",
        "nodes": [{"count": 2, "type": "host"}],
        "node_types": {"host": {"performance_factor": 2}},
        "network": {
            "between_nodes": {"send_delay": "0 s", "transmission_delay": {"latency": "0 s", "bandwidth": "1 MB/s"}}
        },
    }
)


#: A program that does the same on every machine.
CASE = cases.CASES[0]


def test_a_section_is_what_lies_between_barriers() -> None:
    """Twice half a second, a second of travel, and twice a quarter; nothing of before and after."""
    cut = section(_program())
    result = simulate(cut, MACHINE)
    assert [rank.finish for rank in result.ranks] == pytest.approx([1.5, 2.5])


def test_a_program_without_section_is_refused() -> None:
    """A trace that has no two barriers has no section."""
    built = TraceBuilder(1)
    built[0].collective(Op.BARRIER)
    built[0].finish()
    with pytest.raises(TraceError, match="rank 0 must have a barrier before and after its section, got 1"):
        section(built.build())


def test_longer_bursts_are_predicted_longer() -> None:
    """With bursts three times as long as recorded: 6 · 0.5 + 1 + 6 · 0.25 seconds."""
    prediction = predict(CASE, [section(_program())], MACHINE, Factor(3.0))
    assert prediction.predicted == pytest.approx(5.5)
    assert prediction.low == prediction.high == pytest.approx(5.5)
    assert prediction.compute == pytest.approx(4.5)


def test_recordings_that_made_other_calls_have_their_turns() -> None:
    """Of three, of 1, 2 and 4 s on two ranks, that poll a different number of times: 1, 2 and 4 s at half the speed."""
    sections = [_trace(seconds, polls=polls) for polls, seconds in enumerate((1.0, 2.0, 4.0))]
    prediction = predict(CASE, sections, MACHINE, Factor(1.0))
    assert (prediction.low, prediction.predicted, prediction.high) == pytest.approx((1.0, 2.0, 4.0))


def test_what_predictions_missed_widens_the_interval() -> None:
    """By 10 %: without other noise it ends at the 10th and 90th percentile of 100 samples of a log-normal variable."""
    certain = predict(CASE, [section(_program())], MACHINE, Factor(3.0))
    prediction = predict(CASE, [section(_program())], MACHINE, Factor(3.0), 0.1)
    assert prediction.predicted == certain.predicted
    # 1.28 standard deviations of 0.1, known to 0.017 from 100 samples.
    assert math.log(prediction.low / 5.5) == pytest.approx(-0.128, abs=0.05)
    assert math.log(prediction.high / 5.5) == pytest.approx(0.128, abs=0.05)


def test_a_cold_start_costs_short_bursts_more() -> None:
    """Two bursts of 1 s that take 1.3 and 1.5 s take 0.4 s longer each; bursts of 4 s then take a tenth longer."""
    cold_start = ColdStart.of([2.6, 3.0], [_trace(2.0)])
    assert cold_start.seconds == pytest.approx(0.4)
    assert cold_start.deviation == pytest.approx(0.1 * 2**0.5 * 1.5**0.5)
    factor = cold_start.factor([_trace(8.0)])
    assert factor.value == pytest.approx(1.1)
    assert factor.deviation == pytest.approx(0.1 * 3**0.5 / 4 / 1.1)
    assert ColdStart.of([1.8, 1.7], [_trace(2.0)]).seconds == 0.0


def test_bursts_of_like_calls_are_taken_in_turn() -> None:
    """Those of a rank before its sends, the last one before the barrier behind the section; other calls have none."""
    built = TraceBuilder(2)
    for seconds in (1.0, 2.0):
        built[0].compute(seconds)
        built[0].send(1, 0)
    built[0].compute(3.0)
    for rank in built:
        rank.finish()
    bursts = LikeCalls(built.build())
    calls = (Op.SEND, Op.RECV, Op.SEND, Op.BARRIER, Op.SEND)
    assert [bursts.burst(0, 0, Call(op)) * 1e-9 for op in calls] == [1.0, 0.0, 2.0, 3.0, 1.0]
    assert bursts.burst(1, 0, Call(Op.SEND)) == 0


def test_looks_for_messages_take_what_looks_took() -> None:
    """A recording knows an Iprobe as a probe or a poll, by whether it found a message; a live run asks first."""
    built = TraceBuilder(1)
    for seconds, op in ((1.0, Op.PROBE), (2.0, Op.POLL)):
        built[0].compute(seconds)
        built[0].add(op)
    bursts = LikeCalls(built.build())
    calls = (LiveOp.IPROBE, LiveOp.TEST, LiveOp.IMPROBE)
    assert [bursts.burst(0, 0, Call(op)) * 1e-9 for op in calls] == [1.0, 2.0, 1.0]


def test_who_is_faster_gets_more_where_a_program_decides() -> None:
    """Twelve blocks for two workers, of 10 and 20 ms each: 8 and 4, and each gets the message that none are left."""
    built = TraceBuilder(3)
    for rank, seconds in ((1, 0.01), (2, 0.02)):
        built[rank].compute(seconds)
        built[rank].send(0, 0)
    link = {"send_delay": "1 us", "transmission_delay": "1 us"}
    three = {"count": 3, "type": "host"}
    machine = load_machine(
        {"name": "three", "nodes": [three], "node_types": {"host": {}}, "network": {"between_nodes": link}}
    )
    lived = live_section([str(cases.PROGRAMS / "master_worker.py"), "20"], built.build(), machine)
    blocks = [int((lived.rank(rank).op == Op.SEND).sum()) for rank in (1, 2)]
    assert blocks == [8, 4]
    assert simulate(lived, machine).makespan == pytest.approx(0.08, rel=0.02)


def test_what_is_recorded_is_not_recorded_again(tmp_path: Path) -> None:
    """Two recordings are wanted, and both are there: none is made, in no turn."""
    case = cases.CASES[0]
    for turn in range(2):
        _trace(turn + 1.0).save(tmp_path / f"{MACHINE.name}-{case.program}-{case.size}-recording-{turn}.clue")
    recorder = HostRecordings(MeasurementFolder(tmp_path), 2, print)
    for turn in range(5):
        recorder.record(case, MACHINE, turn)
    assert [trace.ops.cpu.sum() * 1e-9 for trace in recorder.sections(case, MACHINE)] == pytest.approx([1.0, 2.0])


def _trace(seconds: float, polls: int = 0) -> Trace:
    """Return a trace in whose section two ranks compute these seconds in total, and one sends to PROC_NULL."""
    built = TraceBuilder(2)
    for rank in built:
        rank.collective(Op.BARRIER)
        rank.compute(seconds / 2)
        for _ in range(polls):
            rank.send(PROC_NULL, 0)
        rank.collective(Op.BARRIER)
        rank.finish()
    return built.build()


def test_kendalls_tau() -> None:
    """All in order is 1, all reversed -1; one pair of three exchanged is (2 - 1) / 3."""
    assert kendall([(1, 10), (2, 20), (3, 30)]) == 1
    assert kendall([(1, 30), (2, 20), (3, 10)]) == -1
    assert kendall([(1, 10), (2, 30), (3, 20)]) == pytest.approx(1 / 3)


def test_regret_is_what_the_choice_costs() -> None:
    """The machine predicted best takes 12 s where another takes 10: a fifth more."""
    assert regret([(1, 12), (2, 10)]) == pytest.approx(0.2)
    assert regret([(1, 10), (2, 12)]) == 0


def test_quantiles_are_values() -> None:
    """Nine of ten values do not exceed the ninth."""
    assert quantile(list(range(1, 11)), 0.9) == 9
    assert quantile([5.0], 0.9) == 5


def test_a_case_compared() -> None:
    """Median, half the range, the error relative to what was measured, and the share of runs in the interval."""
    case = PredictedCase(
        "cg", "two", 2, 100, Prediction(1.1, 0.9, 1.05, 1.0), (1.0, 0.8, 1.2, 1.0, 0.9), 0.0, 1.0, 1.0, 1.05, 8.0
    )
    assert case.measured == 1.0
    assert case.spread == pytest.approx(0.2)
    assert case.error == pytest.approx(0.1)
    assert case.covered == pytest.approx(0.6)
    assert in_hindsight(case).error == pytest.approx(0.05)
    assert in_hindsight(case).prediction.low == pytest.approx(0.9 * 1.05 / 1.1)


@pytest.mark.parametrize(
    ("runs", "late", "burst_ratio", "disturbed"),
    [
        ((1.0, 1.0, 1.0), 0.0, 1.3, False),
        ((1.0, 1.0, 1.2), 0.0, 1.3, True),
        ((1.0, 1.0, 1.0), 0.04, 1.3, True),
        ((1.0, 1.0, 1.0), 0.0, 1.5, True),
    ],
)
def test_disturbed_measurements(runs: tuple[float, ...], late: float, burst_ratio: float, disturbed: bool) -> None:
    """Runs that differ by a fifth, ranks 4 % late, and bursts 15 % longer than calibrated (1.3) each tell."""
    case = PredictedCase("cg", "two", 2, 100, Prediction(9.0, 8.0, 10.0, 1.0), runs, late, burst_ratio, 1.3, 9.0, 8.0)
    assert case.disturbed is disturbed


def test_the_table_and_its_page(tmp_path: Path) -> None:
    """Each case is a row with all columns; the page tells mean error and order."""
    compared = [
        PredictedCase(
            "cg", name, 2, 100, Prediction(predicted, 0.9, 1.5, 1.0), (measured,) * 5, 0.0, 1.05, 1.0, measured, 8.0
        )
        for name, predicted, measured in (("slow", 2.2, 2.0), ("fast", 0.9, 1.0))
    ]
    write_csv(tmp_path / "validation.csv", compared)
    lines = (tmp_path / "validation.csv").read_text().splitlines()
    assert lines[0].split(",") == list(COLUMNS)
    assert [line.split(",")[:5] for line in lines[1:]] == [
        ["cg", "slow", "2", "100", "2.20000"],
        ["cg", "fast", "2", "100", "0.90000"],
    ]
    text = page(compared, "command", [], [])
    assert "| mean absolute error | ≤ 5 % | 10.0% | 0.0% | 10.0% |" in text
    assert read_csv(tmp_path / "validation.csv") == compared
    assert "| cg | 10.0% | +10.0% on slow | 1.00 | 0.0% |" in text


@pytest.mark.parametrize("name", cases.MACHINE_NAMES)
def test_machines_can_be_simulated_and_built(name: str) -> None:
    """Every machine of the testbed is one that clue simulates, and fits a small computer, loaded or with room left."""
    machine = cases.machine(name)
    hosts = hosts_of(machine)
    assert machine.name == name
    assert sum(host.cores for host in hosts) <= (2.0 if any(host.background for host in hosts) else 1.0 + 1e-9)


@pytest.mark.skipif(cluster.missing() is not None, reason=cluster.missing() or "")
@pytest.mark.usefixtures("the_only_testbed")
def test_a_case_for_real(tmp_path: Path) -> None:
    """A program is recorded more often than run, its machine calibrated, its time predicted and measured; once only.

    How right the prediction is depends on what else this computer does: here it only must not be nonsense.
    """
    chosen = ["--quick", "--programs=jacobi", "--machines=2x100m", "--runs=1"]
    command = [sys.executable, "-m", "benchmarks.accuracy.validate", *chosen, "--measured=kept", "-o", "validation.csv"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    first, second = (
        subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        for _ in range(2)
    )
    assert first.returncode == 0, first.stderr
    (case,) = read_csv(tmp_path / "validation.csv")
    assert (case.program, case.machine, case.ranks, len(case.runs)) == ("jacobi", "2x100m", 2, 1)
    assert 0.5 < case.prediction.predicted / case.measured < 2.0
    assert case.prediction.low < case.prediction.predicted < case.prediction.high
    assert "calibrating" in first.stderr
    assert "| jacobi |" in (tmp_path / "validation.md").read_text()
    assert second.returncode == 0, second.stderr
    assert not {"calibrating", "recording", "running"} & set(second.stderr.split())
