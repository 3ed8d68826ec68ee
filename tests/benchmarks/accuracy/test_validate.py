"""Validation of traces and times, by hand, and one case on the real testbed."""

import math
import sys
from pathlib import Path

import pytest

from benchmarks.accuracy.learn import read
from benchmarks.accuracy.validate import __main__ as command
from benchmarks.accuracy.validate import cases, experiment
from benchmarks.accuracy.validate.calibrating import Calibrator
from benchmarks.accuracy.validate.deciding import LikeCalls, live_section
from benchmarks.accuracy.validate.experiment import run_once
from benchmarks.accuracy.validate.figures import PredictedCase, in_hindsight, median_tau, regret, tau_text
from benchmarks.accuracy.validate.measured import MeasurementFolder
from benchmarks.accuracy.validate.predicting import ColdStart, Factor, HostRecordings, Prediction, predict
from benchmarks.accuracy.validate.sections import section
from benchmarks.accuracy.validate.tables import COLUMNS, page, read_csv, write_csv
from benchmarks.testbed import cluster, launch
from benchmarks.testbed.description import hosts_of
from benchmarks.testbed.launch import RunOutput
from clue.config import load_machine
from clue.errors import RecordError, TraceError
from clue.kernel import simulate
from clue.trace import PROC_NULL, Op, Trace, TraceBuilder
from clue.trace.calls import Call, LiveOp


def _program() -> Trace:
    """Return a trace of two ranks: 1 s, the section between barriers, and 2 s.

    The section is half a second, a message of 1 MB from 0 to 1, and a quarter of a second.
    """
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


#: A program that makes the same calls on every machine.
CASE = cases.CASES[0]


def test_a_section_is_what_lies_between_barriers() -> None:
    """The section takes twice half a second, a second of travel, and twice a quarter; the rest is cut off."""
    cut = section(_program())
    result = simulate(cut, MACHINE)
    assert [rank.finish for rank in result.ranks] == pytest.approx([1.5, 2.5])


def test_a_program_without_section_is_refused() -> None:
    """A trace with fewer than two barriers is refused."""
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
    """Three recordings of 1, 2 and 4 s with different calls are predicted one by one: 1, 2 and 4 s at half speed."""
    sections = [_trace(seconds, polls=polls) for polls, seconds in enumerate((1.0, 2.0, 4.0))]
    prediction = predict(CASE, sections, MACHINE, Factor(1.0))
    assert (prediction.low, prediction.predicted, prediction.high) == pytest.approx((1.0, 2.0, 4.0))


def test_what_predictions_missed_widens_the_interval() -> None:
    """A deviation of 10 % of predictions widens the interval to the percentiles of a log-normal variable.

    It ends at the 10th and 90th percentile of 100 samples.
    """
    certain = predict(CASE, [section(_program())], MACHINE, Factor(3.0))
    prediction = predict(CASE, [section(_program())], MACHINE, Factor(3.0), 0.1)
    assert prediction.predicted == certain.predicted
    # 1.28 standard deviations of 0.1, known to 0.017 from 100 samples.
    assert math.log(prediction.low / 5.5) == pytest.approx(-0.128, abs=0.05)
    assert math.log(prediction.high / 5.5) == pytest.approx(0.128, abs=0.05)


def test_a_cold_start_costs_short_bursts_more() -> None:
    """Two bursts of 1 s take 1.3 and 1.5 s, 0.4 s longer on average, so bursts of 4 s take 10 % longer."""
    cold_start = ColdStart.of([2.6, 3.0], [_trace(2.0)])
    assert cold_start.seconds == pytest.approx(0.4)
    assert cold_start.deviation == pytest.approx(0.1 * 2**0.5 * 1.5**0.5)
    factor = cold_start.factor([_trace(8.0)])
    assert factor.value == pytest.approx(1.1)
    assert factor.deviation == pytest.approx(0.1 * 3**0.5 / 4 / 1.1)
    assert ColdStart.of([1.8, 1.7], [_trace(2.0)]).seconds == 0.0


def test_bursts_of_like_calls_are_taken_in_turn() -> None:
    """A call takes the bursts that its rank had before calls of the same kind, in turn; other calls take none."""
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
    """A live Iprobe or Test takes the recorded bursts of probes and polls, whether they found a message or not."""
    built = TraceBuilder(1)
    for seconds, op in ((1.0, Op.PROBE), (2.0, Op.POLL)):
        built[0].compute(seconds)
        built[0].add(op)
    bursts = LikeCalls(built.build())
    calls = (LiveOp.IPROBE, LiveOp.TEST, LiveOp.IMPROBE)
    assert [bursts.burst(0, 0, Call(op)) * 1e-9 for op in calls] == [1.0, 2.0, 1.0]


def test_who_is_faster_gets_more_where_a_program_decides() -> None:
    """Of twelve blocks, workers that take 10 and 20 ms for each get 8 and 4, and both get a final message."""
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
    """If all recordings exist, none is made."""
    case = cases.CASES[0]
    for turn in range(2):
        _trace(turn + 1.0).save(tmp_path / f"{MACHINE.name}-{case.program}-{case.size}-recording-{turn}.clue")
    recorder = HostRecordings(MeasurementFolder(tmp_path), 2, print)
    for turn in range(5):
        recorder.record(case, MACHINE, turn)
    assert [trace.ops.cpu.sum() * 1e-9 for trace in recorder.sections(case, MACHINE)] == pytest.approx([1.0, 2.0])


def _trace(seconds: float, polls: int = 0) -> Trace:
    """Return a trace in whose section two ranks compute these seconds in total, with sends to PROC_NULL as polls."""
    built = TraceBuilder(2)
    for rank in built:
        rank.collective(Op.BARRIER)
        rank.compute(seconds / 2)
        for _ in range(polls):
            rank.send(PROC_NULL, 0)
        rank.collective(Op.BARRIER)
        rank.finish()
    return built.build()


def test_the_median_of_kendalls_tau() -> None:
    """Tau-b is 1 for equal order, -1 for reverse order, and (2 - 1) / 3 if one of three pairs is exchanged.

    If two of three predictions are equal, it is 2 / sqrt(2 · 3), where tau-a is 2 / 3; if all are, it is unknown.
    """
    equal, reverse, exchanged = [(1, 10), (2, 20), (3, 30)], [(1, 30), (2, 20), (3, 10)], [(1, 10), (2, 30), (3, 20)]
    assert median_tau([equal]) == pytest.approx(1)
    assert median_tau([equal, reverse, exchanged, [(1, 10), (1, 20)]]) == pytest.approx(1 / 3)
    assert median_tau([[(1, 10), (1, 20), (2, 30)]]) == pytest.approx(2 / 6**0.5)
    assert median_tau([[(1, 10), (1, 20)], [(1, 10)]]) is None
    assert [tau_text(tau) for tau in (0.875, None)] == ["0.88", "–"]


def test_regret_is_what_the_choice_costs() -> None:
    """If the machine predicted best takes 12 s where another takes 10 s, the regret is 1/5."""
    assert regret([(1, 12), (2, 10)]) == pytest.approx(0.2)
    assert regret([(1, 10), (2, 12)]) == 0
    assert regret([(1, 10), (1, 12), (2, 9)]) == pytest.approx(1 / 3)


def test_a_case_compared() -> None:
    """A case has its median, half the range, the relative error, and the share of runs in the interval."""
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
    """Runs that differ by 20 %, ranks 4 % late, or bursts 15 % above the calibration (1.3) mark a disturbed case."""
    case = PredictedCase("cg", "two", 2, 100, Prediction(9.0, 8.0, 10.0, 1.0), runs, late, burst_ratio, 1.3, 9.0, 8.0)
    assert case.disturbed is disturbed


def test_the_table_and_its_page(tmp_path: Path) -> None:
    """Each case is a row with all columns; the page has the mean error and the order."""
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


def test_one_machine_has_no_order() -> None:
    """A program on a single machine has neither an order of machines nor a choice that could cost anything."""
    case = PredictedCase("cg", "slow", 2, 100, Prediction(2.2, 0.9, 2.5, 1.0), (2.0,) * 5, 0.0, 1.05, 1.0, 2.0, 8.0)
    text = page([case], "command", [], [])
    assert "| cg | 10.0% | +10.0% on slow | – | – |" in text
    assert "| Kendall's tau-b of the machines' order, median of programs | ≥ 0.9 | – | – | – |" in text
    assert "| regret of the chosen machine, worst of programs | ≤ 3.6 % | – | – | – |" in text


def test_a_result_that_is_no_number_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program whose result has an error of NaN is refused."""
    said = '{"program": "jacobi", "seconds": 1.0, "error": NaN}'
    monkeypatch.setattr(launch, "run", lambda *_, **__: RunOutput(said, ()))
    with pytest.raises(RecordError, match="jacobi: result must be right, got an error of nan"):
        run_once("testbed", [], CASE)


@pytest.mark.parametrize(("options", "place"), [([], "kept"), (["--quick"], "kept/quick")])
def test_quick_measurements_are_kept_apart(options: list[str], place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Links measured in the short time of --quick do not become those of a full run in the same folder."""
    found: list[MeasurementFolder] = []
    monkeypatch.setattr("sys.argv", ["validate", "--measured", "kept", *options])
    monkeypatch.setattr(cluster, "missing", lambda: None)
    monkeypatch.setattr(command, "_validate", lambda _, measured: found.append(measured))
    assert command.main() == 0
    assert found == [MeasurementFolder(Path(place))]


def test_errors_are_learned_with_the_computation_of_their_own_predictions(tmp_path: Path) -> None:
    """Of 2 s, 1.5 s are computation by the column of these predictions, 0.5 s by that of others; it may be alone."""
    table = tmp_path / "cases.csv"
    for more, value in (("computation,", "0.5,"), ("", "")):
        table.write_text(f"program,measured,user,{more}user_computation,message\ncg,2.5,2.0,{value}1.5,8\n")
        (known,) = read(table, "user")
        assert known.character.communication == pytest.approx(0.25)


@pytest.mark.parametrize("name", cases.MACHINE_NAMES)
def test_machines_can_be_simulated_and_built(name: str) -> None:
    """Each machine of the testbed can be simulated and emulated on a small computer."""
    machine = cases.machine(name)
    hosts = hosts_of(machine)
    assert machine.name == name
    assert sum(host.cores for host in hosts) <= (2.0 if any(host.background for host in hosts) else 1.0 + 1e-9)


@pytest.mark.skipif(cluster.missing() is not None, reason=cluster.missing() or "")
@pytest.mark.usefixtures("the_only_testbed")
def test_a_case_for_real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A program is recorded, its machine calibrated, its time predicted and measured; a second call repeats nothing.

    The precision depends on this computer's load: the prediction must only be within a factor of 2.
    """
    chosen = ["--quick", "--programs=jacobi", "--machines=2x100m", "--runs=1"]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))
    monkeypatch.setattr(sys, "argv", ["validate", *chosen, "--measured=kept", "-o", "validation.csv"])
    # Less than in the study is enough for this precision.
    monkeypatch.setattr(cases, "QUICK_CASES", (cases.SizedProgram("jacobi", 192, 128),))
    monkeypatch.setattr(experiment, "_CALIBRATION_RUNS", 2)
    monkeypatch.setattr(command, "Calibrator", lambda _, *rest: Calibrator(3.0, *rest))
    said: list[str] = []
    for _ in range(2):
        status = command.main()
        said.append(capsys.readouterr().err)
        assert status == 0, said[-1]
    (case,) = read_csv(tmp_path / "validation.csv")
    assert (case.program, case.machine, case.ranks, len(case.runs)) == ("jacobi", "2x100m", 2, 1)
    assert 0.5 < case.prediction.predicted / case.measured < 2.0
    assert case.prediction.low < case.prediction.predicted < case.prediction.high
    assert "calibrating" in said[0]
    assert "| jacobi |" in (tmp_path / "validation.md").read_text()
    assert not {"calibrating", "recording", "running"} & set(said[1].split())
