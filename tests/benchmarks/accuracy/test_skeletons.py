"""The study of skeletons: its programs verify themselves, its clusters can be built, and its tables add up."""

import csv
import json
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from benchmarks.accuracy.skeletons import __main__ as command
from benchmarks.accuracy.skeletons import experiment, plotting, tables
from benchmarks.accuracy.skeletons.cases import ALONE, PROGRAMS, SCENARIOS, StudyProgram
from benchmarks.accuracy.skeletons.experiment import Study, Subject
from benchmarks.accuracy.skeletons.figures import (
    APPLICATION,
    AVERAGE,
    CLASS_S,
    Board,
    Measured,
    SkeletonFacts,
    by_predictor,
    predictions,
)
from benchmarks.accuracy.skeletons.making import document
from benchmarks.accuracy.validate.measured import MeasurementFolder
from benchmarks.testbed import cluster
from benchmarks.testbed.truth import hosts_at
from clue.config import load_machine
from clue.errors import ClueError, RecordError
from clue.recording import find_mpiexec
from tests.in_turn import in_turn

try:
    find_mpiexec()
    LACK = ""
except ClueError as error:
    LACK = str(error)
needs_mpi = pytest.mark.skipif(bool(LACK), reason=LACK)
needs_testbed = pytest.mark.skipif((lack := cluster.missing()) is not None, reason=lack or "")


def _ran(program: StudyProgram, *words: str, ranks: int = 4) -> "subprocess.CompletedProcess[str]":
    command = [find_mpiexec(), "-n", str(ranks), sys.executable, str(program.script), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@needs_mpi
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_programs_check_themselves(program: StudyProgram, shared: Path) -> None:
    """The small class of each program succeeds, and prints its time and the error of its result."""
    runs = [(each.script, ["S"]) for each in PROGRAMS]
    done = in_turn(shared / "study of skeletons", [find_mpiexec(), "-n", "4"], runs)[PROGRAMS.index(program)]
    assert (done.returncode, done.stderr) == (0, "")
    said = json.loads(done.stdout)
    assert (said["program"], said["class"]) == (program.name, "S")
    assert said["seconds"] > 0
    assert 0 <= said["error"] < 0.2


@needs_mpi
def test_a_wrong_result_is_told(tmp_path: Path) -> None:
    """A result with too large an error ends a program with status 1; another number of ranks than four is an error."""
    program = tmp_path / "wrong.py"
    folder = PROGRAMS[0].script.parent
    program.write_text(
        f"import sys; sys.path.append({str(folder)!r})\nfrom suite import main\n"
        "main(__file__, {'S': lambda iterations: iterations}, lambda comm, size: (2.0 + size, 1.0))\n"
    )
    wrong = subprocess.run(
        [find_mpiexec(), "-n", "4", sys.executable, str(program), "S", "3"], capture_output=True, text=True, check=False
    )
    assert wrong.returncode == 1
    assert "wrong: error must be at most 1, got 5" in wrong.stderr
    few = _ran(PROGRAMS[0], "S", ranks=2)
    assert few.returncode != 0
    assert "bt: must be given 4 ranks and a class among S, B, got 2 and S" in few.stderr


def test_the_cluster_is_what_the_scenarios_say() -> None:
    """Each scenario has four hosts of two processors, with competitors and slow links exactly where stated."""
    for setting in (ALONE, *SCENARIOS):
        hosts = hosts_at(setting.file)
        assert load_machine(setting.file).name == setting.name
        assert [(host.factor, host.processors) for host in hosts] == [(8, 2)] * 4
        every = setting.name.endswith("all")
        busy = [2 if setting.processors and (every or host.index == 0) else 0 for host in hosts]
        slow = [1.25e6 if setting.network and (every or host.index == 0) else 125e6 for host in hosts]
        assert [host.background for host in hosts] == busy
        assert [host.bandwidth for host in hosts] == pytest.approx(slow)


def _run(seconds: float, communication: float = 0.25) -> Measured:
    return Measured(seconds, communication, 0.001, 1.0)


def _facts(seconds: float, *, good: bool) -> SkeletonFacts:
    return SkeletonFacts(seconds, 30 / seconds, 0.05, 20.0, good, 1.5, "bt.py:70", 2.0)


#: Two programs in a scenario: bt takes 1.5 times as long and cg 2 times; both of their skeletons take 1.6 times as
#: long.
RUNS = {
    ("bt", "dedicated", APPLICATION): _run(30),
    ("bt", "busy-one", APPLICATION): _run(45),
    ("bt", "dedicated", "10 s"): _run(10),
    ("bt", "busy-one", "10 s"): _run(16),
    ("bt", "dedicated", "0.5 s"): _run(0.5),
    ("bt", "busy-one", "0.5 s"): _run(0.6),
    ("bt", "dedicated", CLASS_S): _run(0.4),
    ("bt", "busy-one", CLASS_S): _run(0.4),
    ("cg", "dedicated", APPLICATION): _run(20),
    ("cg", "busy-one", APPLICATION): _run(40),
    ("cg", "dedicated", "10 s"): _run(10),
    ("cg", "busy-one", "10 s"): _run(16),
}
SKELETONS = {
    ("bt", "10 s"): _facts(10, good=True),
    ("bt", "0.5 s"): _facts(0.5, good=False),
    ("cg", "10 s"): _facts(10, good=True),
}


def test_predictions_are_measured_times_application_over_skeleton() -> None:
    """A prediction is 16 s x 30 / 10 = 48 s for a run of 45 s; class S shows no slowdown.

    The average slowdown of 1.5 and 2 is 1.75.
    """
    found = {(each.program, each.predictor): each for each in predictions(RUNS, SKELETONS)}
    assert found["bt", "10 s"].predicted == pytest.approx(48)
    assert found["bt", "10 s"].error == pytest.approx(48 / 45 - 1)
    assert found["bt", CLASS_S].error == pytest.approx(30 / 45 - 1)
    assert found["bt", AVERAGE].error == pytest.approx(1.75 / 1.5 - 1)
    assert found["cg", AVERAGE].error == pytest.approx(1.75 / 2 - 1)
    assert [each.flagged for each in found.values()] == [False, True, False, False, False, False]
    assert not any(each.disturbed for each in found.values())
    assert [each.by_skeleton for each in found.values()] == [True, True, False, True, False, False]


def test_means_and_worst_cases_are_those_of_the_groups() -> None:
    """The skeleton of 0.5 s predicts 1.2 for 1.5, which is 20 % off and the worst; 10 s are 6.7 % and 20 % off."""
    board = Board(predictions(RUNS, SKELETONS))
    assert board.mean(by_predictor("10 s")) == pytest.approx((0.2 + 1 / 15) / 2)
    assert board.mean(by_predictor("2 s")) is None
    worst = board.worst()
    assert [(program, name, flag) for program, name, _, flag in worst][-1] == ("bt", "10 s", False)
    assert {case[:2] for case in worst[:2]} == {("bt", "0.5 s"), ("cg", "10 s")}


def test_the_table_and_the_page_say_what_was_found(tmp_path: Path) -> None:
    """The table has all columns; the page has the goals, a star for flagged skeletons, and the picture."""
    results = tables.Results(
        RUNS, SKELETONS, predictions(RUNS, SKELETONS), {"bt": 30.2}, {"ops": 10**6, "seconds": 7.0, "wall": 8.0}
    )
    table, plot = tmp_path / "skeletons.csv", tmp_path / "skeletons.svg"
    tables.write_csv(table, results)
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert [(row["program"], row["seconds"], row["flagged"]) for row in rows][:2] == [
        ("bt", "10", "no"),
        ("bt", "0.5", "yes"),
    ]
    assert float(rows[0]["predicted"]) == pytest.approx(48)
    plotting.draw(plot, results)
    assert plot.read_text().startswith("<?xml")
    text = tables.page(results, "python -m benchmarks.accuracy.skeletons", plot.name, ["By hand."])
    assert "| making from 10^6 ops | – | ≤ 10 s | 8.0 s (1000000 ops, the whole command) | yes |" in text
    assert "| recording | < 1 % | < 1 % | +0.7% | yes |" in text
    assert "| bt | 6.7% | 20.0% * | 33.3% | 16.7% |" in text
    assert "![Errors, and predicted beside measured](skeletons.svg)" in text
    assert "| bt | 1.50 s | 1.01 s | bt.py:70 | 0.5 s |" in text


def test_a_document_is_found_between_warnings() -> None:
    """The JSON document is found among other output; output without one is an error."""
    assert document('warning: {odd}\n{"seconds": 1,\n "runs": []}\nbye\n') == {"seconds": 1, "runs": []}
    with pytest.raises(RecordError, match="program must print a JSON document, got nothing"):
        document("nothing")


#: A fake skeleton, which only calls a barrier.
STUB = """
import json, sys
from mpi4py import MPI
MPI.COMM_WORLD.Barrier()
if MPI.COMM_WORLD.rank == 0:
    print(json.dumps({"skeleton": "stub", "seconds": 0.5}), flush=True)
"""


def _stub(trace: Path, application: float, seconds: float, target: Path) -> dict[str, Any]:
    assert trace.exists()
    assert application > 0
    target.write_text(STUB)
    return vars_of(_facts(seconds, good=True))


def vars_of(facts: SkeletonFacts) -> dict[str, Any]:
    """Return the facts of a skeleton as a document."""
    return {name: getattr(facts, name) for name in SkeletonFacts.__dataclass_fields__}


@pytest.mark.long
@needs_testbed
@pytest.mark.usefixtures("the_only_testbed")
def test_an_interrupted_study_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two programs are recorded and run on the dedicated cluster; a second call repeats nothing."""
    monkeypatch.setattr(experiment, "making_of_a_million", lambda _: {"ops": 1, "wall": 0.1})
    monkeypatch.setattr(experiment, "STUDIED", "S")
    monkeypatch.setattr(experiment, "_SMALL_RUNS", 1)
    monkeypatch.setattr(experiment, "_DEDICATED_RUNS", 1)
    said: list[str] = []
    study = Study(
        PROGRAMS[1:3], [], [0.5], MeasurementFolder(tmp_path), 2, said.append, maker=_stub, iterations=1,
        language="python",
    )  # fmt: skip
    study.prepare()
    study.measure()
    runs = study.runs()
    whats = (APPLICATION, "0.5 s", CLASS_S)
    assert set(runs) == set(product(("cg", "integer_sort"), ("dedicated",), whats))
    assert all(0 < run.communication < 1 for run in runs.values())
    assert study.recordings()["cg"] > 0
    assert any("min left" in line for line in said)
    said.clear()
    study.prepare()
    study.measure()
    assert not said
    assert study.runs() == runs


def test_trials_keep_their_measurements_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Applications of other iterations are measured in a folder of their own, which the whole study does not read."""
    folders: list[Path] = []

    def prepare(study: Study) -> None:
        folders.append(study.measured.folder)
        raise RecordError("enough")

    monkeypatch.setattr(cluster, "missing", lambda: None)
    monkeypatch.setattr(Study, "prepare", prepare)
    for more in ("", "--iterations 3"):
        monkeypatch.setattr("sys.argv", ["skeletons", "--measured", str(tmp_path), *more.split()])
        assert command.main() == RecordError.exit_status
    assert folders == [tmp_path, tmp_path / "3-iterations"]


def test_a_disturbed_case_is_told() -> None:
    """A skeleton whose CPU time grows by 10 % more than its application's marks the case as disturbed."""
    changed = dict(RUNS) | {("cg", "busy-one", "10 s"): Measured(16, 0.25, 0.001, 1.1)}
    assert [each.program for each in predictions(changed, SKELETONS) if each.disturbed] == ["cg"]


def test_short_skeletons_run_several_times() -> None:
    """The planned time of a run includes its start and the slowdown of its setting."""
    assert Subject("1 s", [], 2.0).planned(ALONE) == pytest.approx(3.5)
    assert Subject("1 s", [], 2.0).planned(SCENARIOS[3]) == pytest.approx(1.5 + 2 * 1.8)
