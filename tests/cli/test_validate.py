"""``clue validate`` from the command line: measured times in, errors and their cause out, and all bad input."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from clue.config.model_errors import known_model_error, shipped_model_error
from clue.trace import TraceBuilder
from tests.cli.commands import run

pytestmark = pytest.mark.usefixtures("folder")

MACHINE = """\
name: {name}
nodes: [{{count: 4, type: host}}]
node_types: {{host: {{processors: 1, performance_factor: {factor}}}}}
network:
  between_nodes: {{send_delay: 100 us, transmission_delay: {{latency: 400 us, bandwidth: {bandwidth}}}}}
"""
#: Seconds in which a message of 1 MB arrives, by machine.
MESSAGE = {"near": 0.0005 + 0.01, "far": 0.0005 + 0.1}


def relay(ranks: int, seconds: float) -> TraceBuilder:
    """Return ranks that compute in turn and pass on 1 MB: ranks × seconds, and ranks - 1 messages."""
    trace = TraceBuilder(ranks, program="relay.py")
    for rank in range(ranks):
        if rank:
            trace[rank].recv(rank - 1)
        trace[rank].compute(seconds)
        if rank < ranks - 1:
            trace[rank].send(rank + 1, 1_000_000)
    return trace


def seconds(machine: str, ranks: int, burst: float, slower: float = 1.0) -> float:
    """Return the run time of a relay by hand, with processors slower by the given factor."""
    return ranks * burst * slower + (ranks - 1) * MESSAGE[machine]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder to work in: two machines, traces at two numbers of ranks and two sizes, and measured runs.

    The real processors take 1.25 times as long as the machine files state; each case ran twice, 1 % apart.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLUE_CACHE", str(tmp_path / "cache"))
    for name, bandwidth in (("near", "100 MB/s"), ("far", "10 MB/s")):
        Path(f"{name}.yaml").write_text(MACHINE.format(name=name, factor=1, bandwidth=bandwidth))
    lines = ["program,machine,ranks,size,measured,remark"]
    for size, burst in (("10", 0.1), ("1000", 1.0)):
        for ranks in (2, 4):
            relay(ranks, burst).build().save(f"relay-{size}-{ranks}.clue")
            for machine in MESSAGE:
                run = seconds(machine, ranks, burst, slower=1.25)
                lines += [f"relay,{machine},{ranks},{size},{run * times!r},x" for times in (0.995, 1.005)]
    Path("runs.csv").write_text("\n".join(lines) + "\n")
    Path("validate.yaml").write_text(
        "programs: {relay: {trace: 'relay-{size}-{ranks}.clue'}}\n"
        "machines: {near: near.yaml, far: far.yaml}\n"
        "table: runs.csv\n"
    )
    return tmp_path


def faults(capsys: pytest.CaptureFixture[str], text: str) -> list[str]:
    """Validate a file of this text, which must be refused, and return the faults."""
    Path("bad.yaml").write_text(text)
    status, out, err = run(capsys, "validate", "bad.yaml")
    assert (status, out) == (2, "")
    return [line.removeprefix("clue: ") for line in err.splitlines()]


def test_document_by_hand(capsys: pytest.CaptureFixture[str]) -> None:
    """Eight cases of two runs have prediction, median, half range, error, order and cause as computed by hand."""
    status, out, err = run(capsys, "validate", "validate.yaml", "--json")
    document = json.loads(out)
    assert (status, err) == (0, "")
    first = document["cases"][0]
    assert {key: first[key] for key in ("program", "machine", "ranks", "size")} == {
        "program": "relay",
        "machine": "near",
        "ranks": 2,
        "size": "10",
    }
    predicted, measured = seconds("near", 2, 0.1), seconds("near", 2, 0.1, 1.25)
    assert first["predicted"] == pytest.approx(predicted, rel=1e-12)
    assert first["measured"] == pytest.approx(measured, rel=1e-12)
    assert first["spread"] == pytest.approx(0.005 * measured)
    assert first["error"] == pytest.approx(predicted / measured - 1)
    assert first["interval"]["low"] < predicted < first["interval"]["high"] and len(first["runs"]) == 2
    assert len(document["cases"]) == 8
    assert document["error"]["noise"] == pytest.approx(0.005)
    assert [(each["size"], each["tau"], each["regret"]) for each in document["orders"]] == [
        ("10", 1, 0),
        ("1000", 1, 0),
    ]
    best = document["refits"][0]
    assert (best["parameter"], best["explains"], best["rival"]) == ("computation", True, True)
    assert best["multiplier"] == pytest.approx(1.25, rel=1e-4)
    assert not any(each["rival"] for each in document["refits"][1:])
    cases = [(machine, ranks, burst) for machine in MESSAGE for ranks in (2, 4) for burst in (0.1, 1.0)]
    error = sum(1 - seconds(*case) / seconds(*case, 1.25) for case in cases) / 8
    assert document["error"]["mean_absolute"] == pytest.approx(error, rel=1e-9)
    assert document["verdict"][1] == f"With computation taking 25% longer the error falls from {error:.0%} to 0.0%."


def test_table_for_people_and_picture(capsys: pytest.CaptureFixture[str]) -> None:
    """The table has errors, order, refits and verdict; the picture goes to the given folder."""
    status, out, err = run(capsys, "validate", "validate.yaml", "--plots", "new/plots")
    assert status == 0
    for expected in ("predicted (s)", "Kendall's tau", "Refitted one at a time", "Bandwidth alone cannot explain it"):
        assert expected in out
    assert err == "wrote new/plots/validation.png\n"
    assert Path("new/plots/validation.png").read_bytes().startswith(b"\x89PNG")


def test_cases_in_the_file_itself(capsys: pytest.CaptureFixture[str]) -> None:
    """Cases in the file have times with units; keys at the top hold for all cases unless a case replaces them."""
    Path("cases.yaml").write_text(
        "program: {trace: 'relay-{size}-{ranks}.clue'}\nmachine: near.yaml\nsize: 10\n"
        "cases:\n  - {ranks: 2, measured: [250 ms, 0.26]}\n  - {ranks: 4, measured: 0.5, spread: 10 ms}\n"
        "  - {ranks: 2, machine: far.yaml, placement: [3, 0], measured: [0.4]}\n"
    )
    status, out, _ = run(capsys, "validate", "cases.yaml", "--json")
    cases = json.loads(out)["cases"]
    assert status == 0
    assert {each["program"] for each in cases} == {"relay"}
    assert [(each["machine"], each["ranks"], each["measured"]) for each in cases] == [
        ("near.yaml", 2, pytest.approx(0.255)),
        ("near.yaml", 4, 0.5),
        ("far.yaml", 2, 0.4),
    ]
    assert [each["spread"] for each in cases] == [pytest.approx(0.005), pytest.approx(0.01), None]


def test_a_single_case_as_for_simulate(capsys: pytest.CaptureFixture[str]) -> None:
    """A file for ``simulate`` plus measured times is one case, on as many ranks as the trace has."""
    Path("one.yaml").write_text("program: {trace: relay-10-2.clue}\nmachine: near.yaml\nmeasured: [0.2, 0.3, 0.25]\n")
    status, out, _ = run(capsys, "validate", "one.yaml", "--json")
    document = json.loads(out)
    assert status == 0
    assert (document["cases"][0]["ranks"], document["cases"][0]["measured"]) == (2, 0.25)
    assert any("One case cannot tell parameters apart" in line for line in document["verdict"])


def test_interval_where_the_machine_states_noise(capsys: pytest.CaptureFixture[str]) -> None:
    """With noise of the performance factor, the case has an interval and the share of runs within it."""
    text = Path("near.yaml").read_text().replace("performance_factor: 1", "noise: {factor: 0.1}")
    Path("noisy.yaml").write_text(text)
    Path("one.yaml").write_text("program: {trace: relay-10-2.clue}\nmachine: noisy.yaml\nmeasured: [0.21, 9]\n")
    _, out, _ = run(capsys, "validate", "one.yaml", "--json", "--samples", "50", "--seed", "3")
    case = json.loads(out)["cases"][0]
    assert case["interval"]["low"] < case["predicted"] < case["interval"]["high"]
    assert case["covered"] == 0.5
    _, out, _ = run(capsys, "validate", "one.yaml", "--json", "--samples", "0")
    assert json.loads(out)["cases"][0]["interval"] is None


def test_what_a_site_learns_goes_before_what_is_shipped(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All eight cases have the same error: the learned shared deviation lies between it and the shipped one."""
    monkeypatch.setenv("CLUE_MODEL_ERROR", "of-site/errors.yaml")
    assert run(capsys, "validate", "validate.yaml")[0] == 2  # it does not exist yet, which only --learn may overlook
    _, _, err = run(capsys, "validate", "validate.yaml", "--learn", "--json")
    assert "wrote of-site/errors.yaml" in err
    learned, shipped = known_model_error(), shipped_model_error()
    assert (learned.cases, learned.programs) == (8, 1)
    assert "validated here" in learned.source
    _, out, _ = run(capsys, "validate", "validate.yaml", "--json")
    case = json.loads(out)["cases"][0]
    bounds = sorted((abs(math.log(case["measured"] / case["predicted"])), shipped.shared.deviation))
    assert bounds[0] < learned.shared.deviation < bounds[1]
    assert math.log(case["interval"]["high"] / case["predicted"]) >= learned.shared.deviation


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("there", "there: output must be a file, got a folder"),
        ("near.yaml/errors.yaml", "near.yaml/errors.yaml: output must be a file that can be made, got: "),
        ("runs.csv", "runs.csv: output must not be a file that the command reads, got runs.csv"),
    ],
)
def test_what_cannot_be_learned_is_refused_before_anything_is_predicted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, file: str, said: str
) -> None:
    """No error is shown first, and measured times are not lost."""
    Path("there").mkdir()
    before = Path("runs.csv").read_text()
    monkeypatch.setenv("CLUE_MODEL_ERROR", file)
    status, out, err = run(capsys, "validate", "validate.yaml", "--samples", "0", "--learn")
    assert (status, out) == (2, "")
    assert err.startswith(f"clue: {said}")
    assert Path("runs.csv").read_text() == before


def test_table_of_several_runs_in_a_cell(capsys: pytest.CaptureFixture[str]) -> None:
    """A column of runs replaces that of their median, and lines with # are comments."""
    Path("runs.csv").write_text(
        "# three runs\nmachine,ranks,size,predicted,measured,spread,runs\n"
        "near,2,10,1,0.3,0.1,0.2 0.3 0.5\nfar,4,10,1,0.7,0.07,\n"
    )
    Path("validate.yaml").write_text(
        "program: {trace: 'relay-{size}-{ranks}.clue'}\nmachines: {near: near.yaml, far: far.yaml}\ntable: runs.csv\n"
    )
    _, out, _ = run(capsys, "validate", "validate.yaml", "--json")
    cases = json.loads(out)["cases"]
    assert [each["runs"] for each in cases] == [[0.2, 0.3, 0.5], [0.7]]
    assert [each["spread"] for each in cases] == [pytest.approx(0.15), 0.07]


def test_table_as_spreadsheets_write_it(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    """A table may begin with a byte order mark, and have semicolons as separators, and faults keep their columns."""
    _, expected, _ = run(capsys, "validate", "validate.yaml", "--json", "--samples", "0")
    text = Path("runs.csv").read_text().replace(",", ";")
    (folder / "runs.csv").write_text("\ufeff" + text)
    assert run(capsys, "validate", "validate.yaml", "--json", "--samples", "0") == (0, expected, "")
    Path("runs.csv").write_text("ranks;measured\n2;1,5\n")
    said = 'runs.csv:2:3: measured must be a run time in seconds, got "1,5": did you mean 1.5?'
    assert faults(capsys, TOP + "table: runs.csv\n")[0] == said


TOP = "program: {trace: relay-10-2.clue}\nmachine: near.yaml\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TOP, "bad.yaml:1:1: file must have measured times, cases or a table, got none"),
        (
            TOP + "measured: fast\n",
            "bad.yaml:3:11: measured must be a time with a unit such as \"12.5 us\", got 'fast'",
        ),
        (TOP + "measured: [1, 0]\n", "bad.yaml:3:15: measured[1] must be a run time above 0, got 0"),
        (TOP + "measured: [1, -2 s]\n", "bad.yaml:3:15: measured[1] must be a time not below 0, got '-2 s'"),
        (TOP + "measured: []\n", "bad.yaml:3:11: measured must have at least 1 entries, got an empty list"),
        (TOP + "measured: true\n", "bad.yaml:3:11: measured must be a run time in seconds, or with a unit such as"),
        (TOP + "measurd: 1\n", 'bad.yaml:3:1: measurd must be a known key, got "measurd": did you mean "measured"?'),
        (TOP + "cases: [{ranks: 2}]\n", "bad.yaml:3:9: cases[0].measured must be given, got nothing"),
        (TOP + "cases: [{ranks: 9, measured: 1}]\n", "bad.yaml:3:17: cases[0].ranks must be at most 4 on near"),
        (TOP + "cases: [{machine: nera, measured: 1}]\n", "bad.yaml:3:19: cases[0].machine must be a file or one of"),
        (
            TOP + "cases: [{program: x, measured: 1}]\n",
            "bad.yaml:3:19: cases[0].program must be a name under programs, got",
        ),
        (TOP + "table: none.csv\n", 'bad.yaml:3:8: table must be a file that exists, got "none.csv"'),
        ("machine: near.yaml\nmeasured: 1\n", "bad.yaml:1:1: program must be given for the case or the whole file"),
        ("program: {trace: relay-10-2.clue}\nmeasured: 1\n", "bad.yaml:1:1: machine must be given for the case or"),
        (
            "program: {trace: 'relay-{size}-2.clue'}\nmachine: near.yaml\nmeasured: 1\n",
            "bad.yaml:1:1: size must be given if program relay-2 has {size}, got nothing",
        ),
        (
            "program: {trace: 'relay-10-{ranks}.clue'}\nmachine: near.yaml\nmeasured: 1\n",
            "bad.yaml:1:1: ranks must be given if no trace states it, got nothing",
        ),
        (
            "program: {trace: 'relay-10-{ranks}.clue'}\nmachine: near.yaml\nranks: 3\nmeasured: 1\n",
            'bad.yaml:1:18: program.trace must be a trace that exists, got "relay-10-3.clue"',
        ),
    ],
)
def test_bad_file_names_line_rule_and_value(capsys: pytest.CaptureFixture[str], text: str, expected: str) -> None:
    """Each fault is reported with its place, the rule and the value."""
    assert any(line.startswith(expected) for line in faults(capsys, text)), faults(capsys, text)


def test_faults_of_times_and_machines_are_told_together(capsys: pytest.CaptureFixture[str]) -> None:
    """A bad time and a bad machine are both reported."""
    found = faults(capsys, "program: {trace: relay-10-2.clue}\nmachines: {a: nera}\nmachine: a\nmeasured: [1, x]\n")
    assert [line.split(" ")[:2] for line in found] == [
        ["bad.yaml:2:15:", "machines.a"],
        ["bad.yaml:4:15:", "measured[1]"],
    ]


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (
            "",
            "runs.csv:1:1: first line must name columns among program, machine, ranks, size, measured, runs, spread,",
        ),
        ("a,b\n1,2\n", "runs.csv:1:1: first line must name columns among"),
        ("# times\n\na,b\n1,2\n", "runs.csv:3:1: first line must name columns among"),
        ("ranks,measured\n", 'bad.yaml:3:8: table must be a file with rows, got none in "runs.csv"'),
        ("ranks,measured\n2,soon\n", "runs.csv:2:3: measured must be a time with a unit"),
        ("ranks,measured\n2,\n", "runs.csv:2:3: measured must be given, got nothing"),
        ("ranks,measured\ntwo,1\n", 'runs.csv:2:1: ranks must be a whole number, got "two"'),
        ("ranks,measured\n2,1\n# x\n2,1,3\n", "runs.csv:4:1: line must have at most 2 cells, got 3"),
        ("ranks,runs\n2,1 x 3\n", "runs.csv:2:3: runs[1] must be a time with a unit"),
        ("machine,measured\nnear,1\n", "runs.csv:2:1: machine must be a file or one of the machines"),
    ],
)
def test_bad_table_names_line_and_column(capsys: pytest.CaptureFixture[str], table: str, expected: str) -> None:
    """Faults of a CSV file are reported with the line and the column of the cell."""
    Path("runs.csv").write_text(table)
    found = faults(capsys, TOP + "table: runs.csv\n")
    assert any(line.startswith(expected) for line in found), found


def test_trace_of_other_ranks_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """A trace of two ranks cannot serve a case of four ranks."""
    status, _, err = run_file(capsys, TOP + "ranks: 4\nmeasured: 1\n")
    assert status == 2
    assert "trace must have 4 ranks, got 2" in err


def test_ranks_of_the_trace_must_fit(capsys: pytest.CaptureFixture[str]) -> None:
    """A list of nodes for another number of ranks is found once the trace is read; the message names the case."""
    status, _, err = run_file(capsys, TOP + "placement: [0]\nmeasured: 1\n")
    assert status == 2
    assert err == "clue: relay-10-2 on near.yaml: placement: list must name one node per rank (2), got 1\n"


def run_file(capsys: pytest.CaptureFixture[str], text: str) -> tuple[int, str, str]:
    """Validate a file of this text and return exit status, standard output and standard error."""
    Path("bad.yaml").write_text(text)
    return run(capsys, "validate", "bad.yaml")
