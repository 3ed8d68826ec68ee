"""``clue run`` from the command line: configurations, programs, what goes to which stream, and bad usage."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from clue.cli import main
from clue.cli.arguments import parse_arguments
from clue.cli.terminal import progress
from clue.progress import Reporter
from clue.trace import Trace, TraceBuilder
from tests.live.programs import MACHINE, processes_of
from tests.recording.cases import standard_input_from

PING_PONG = """\
import sys
from mpi4py import MPI
comm = MPI.COMM_WORLD
for _ in range(int(sys.argv[1])):
    if comm.rank == 0:
        comm.Send(bytearray(1000), dest=1)
        comm.Recv(bytearray(1000), source=1)
    elif comm.rank == 1:
        comm.Recv(bytearray(1000), source=0)
        comm.Send(bytearray(1000), dest=0)
if comm.rank == 0:
    print("played", *sys.argv[1:])
"""
#: Bursts count only what regions declare, which is nothing here, so a message of 50 us is all that takes time.
NOTHING_ELSE = ("--bursts", "1 Gflop/s")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder to work in that holds a program, a machine and configurations."""
    monkeypatch.chdir(tmp_path)
    Path("prog.py").write_text(PING_PONG)
    Path("four.yaml").write_text(MACHINE)
    Path("run.yaml").write_text("program: {script: prog.py, args: [3], ranks: 2}\nmachine: four.yaml\n")
    Path("which.yaml").write_text(
        "name: which\nworkloads: {pp: {program: {script: prog.py, args: [3]}, ranks: [2]}}\n"
        "options:\n  as-it-is: {machine: four.yaml}\n"
        "  slower: {machine: four.yaml, with: {network: {between_nodes: {transmission_delay: 80 us}}}}\n"
        "criterion: makespan\n"
    )
    return tmp_path


def run(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Run a command and return its exit status, standard output and standard error."""
    status = main(["run", *arguments])
    captured = capfd.readouterr()
    assert processes_of(Path.cwd()) == []
    return status, captured.out, captured.err


def test_a_configuration_runs_live_and_json_is_all_there_is(capfd: pytest.CaptureFixture[str]) -> None:
    """Six messages take 50 us each; the program prints to standard error, and the keys are those of ``simulate``."""
    status, out, err = run(capfd, "run.yaml", "--json", *NOTHING_ELSE)
    document = json.loads(out)
    assert status == 0
    assert document["makespan"] == pytest.approx(6 * 50e-6, rel=1e-9)
    assert "played 3" in err
    first = document["ranks"][0]
    assert set(first) >= {"rank", "node", "finish", "compute", "communicate", "wait"}
    assert first["compute"] + first["communicate"] + first["wait"] == pytest.approx(first["finish"], rel=1e-9)


def test_a_program_runs_with_its_own_options(capfd: pytest.CaptureFixture[str]) -> None:
    """Words after the program belong to the program, also ``--json``; its output precedes the table."""
    status, out, _ = run(capfd, "-n", "2", "--machine", "four.yaml", "prog.py", "5", "--json")
    assert status == 0
    assert out.index("played 5 --json") < out.index("makespan")
    assert "prog.py on four" in out


def test_a_module_and_code_run_like_a_program(capfd: pytest.CaptureFixture[str]) -> None:
    """``-c`` and ``-m`` run code and a module, as Python does."""
    code = "from mpi4py import MPI; print(MPI.COMM_WORLD.allreduce(MPI.COMM_WORLD.rank), end=' ')"
    status, out, _ = run(capfd, "-n", "3", "--machine", "four.yaml", "-c", code)
    assert (status, out[:6]) == (0, "3 3 3 ")
    Path("module.py").write_text(PING_PONG)
    status, out, _ = run(capfd, "-n", "2", "--machine", "four.yaml", "-m", "module", "1")
    assert (status, out.splitlines()[0]) == (0, "played 1")


def test_what_is_recorded_replays_to_the_same_makespan(capfd: pytest.CaptureFixture[str]) -> None:
    """With synthetic bursts nothing is measured twice: the recording replays to the makespan of the live run."""
    _, live, err = run(capfd, "run.yaml", "--json", "--bursts", "synthetic", "--record", "kept.clue")
    assert "wrote kept.clue" in err
    assert Trace.open("kept.clue").ranks == 2
    Path("replay.yaml").write_text("program: {trace: kept.clue}\nmachine: four.yaml\n")
    assert main(["simulate", "replay.yaml", "--json"]) == 0
    replayed = json.loads(capfd.readouterr().out)
    assert replayed["makespan"] == pytest.approx(json.loads(live)["makespan"], rel=1e-9)


def test_bursts_of_a_trace_give_the_same_run_again(capfd: pytest.CaptureFixture[str]) -> None:
    """A run with the bursts of a recording has exactly the recorded run's makespan."""
    _, first, _ = run(capfd, "run.yaml", "--json", "--record", "kept.clue")
    _, again, _ = run(capfd, "run.yaml", "--json", "--bursts", "kept.clue")
    assert json.loads(again)["makespan"] == json.loads(first)["makespan"]


def test_the_command_line_has_the_last_word(capfd: pytest.CaptureFixture[str]) -> None:
    """Ranks, machine and placement on the command line replace those of the configuration."""
    Path("two.yaml").write_text(MACHINE.replace("name: four", "name: other").replace("30 us", "80 us"))
    _, out, _ = run(
        capfd, "run.yaml", "--json", "-n", "3", "--machine", "two.yaml", "--placement", "2,0,1", *NOTHING_ELSE
    )
    document = json.loads(out)
    assert [rank["node"] for rank in document["ranks"]] == [2, 0, 1]
    assert document["makespan"] == pytest.approx(6 * 100e-6, rel=1e-9)


def test_options_are_ranked_by_what_ran_live(capfd: pytest.CaptureFixture[str]) -> None:
    """Six messages of 50 us rank before six of 100 us."""
    status, out, _ = run(capfd, "which.yaml", "--json", *NOTHING_ELSE)
    assert status == 0
    ranking = json.loads(out)["ranking"]
    assert [entry["option"] for entry in ranking] == ["as-it-is", "slower"]
    assert [entry["score"] for entry in ranking] == pytest.approx([6 * 50e-6, 6 * 100e-6], rel=1e-9)


def test_no_bar_is_drawn_where_programs_print(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The programs of a comparison print to the terminal, too."""
    bars: list[bool] = []

    def watched(*, bar: bool = True) -> AbstractContextManager[Reporter]:
        bars.append(bar)
        return progress(bar=bar)

    monkeypatch.setattr("clue.cli.run.progress", watched)
    for configuration in ("run.yaml", "which.yaml"):
        assert run(capfd, configuration, *NOTHING_ELSE)[0] == 0
    assert bars == [False, False]


def test_only_a_single_run_reads_the_standard_input(capfd: pytest.CaptureFixture[str]) -> None:
    """A program reads what clue is given; in a comparison, where the first run would use it up, none reads anything."""
    reads = "import sys\nfrom mpi4py import MPI\nMPI.COMM_WORLD.rank or print(f'read {sys.stdin.read()!r}')\n"
    Path("prog.py").write_text(reads)
    Path("input").write_text("100")
    with Path("input").open("rb") as file, standard_input_from(file.fileno()):
        _, compared, _ = run(capfd, "which.yaml", *NOTHING_ELSE)
        _, single, _ = run(capfd, "run.yaml", *NOTHING_ELSE)
    assert "read ''" in compared
    assert "read '" not in compared.replace("read ''", "")
    assert "read '100'" in single


def test_pictures_are_drawn(capfd: pytest.CaptureFixture[str]) -> None:
    """A live run gives the same pictures as a replay, including the timeline."""
    status, _, err = run(capfd, "run.yaml", "--plots", "plots")
    assert status == 0
    assert list(Path("plots").glob("*timeline*"))
    assert "wrote plots" in err


def test_a_virtual_clock_makes_sleeping_free(capfd: pytest.CaptureFixture[str]) -> None:
    """An hour of sleep takes no real time, and an hour of virtual time."""
    Path("sleeps.py").write_text(
        "import time\nfrom mpi4py import MPI\nbegin = time.time()\ntime.sleep(3600)\n"
        "print(round(time.time() - begin), round(MPI.Wtime()))\n"
    )
    status, out, _ = run(capfd, "-n", "1", "--machine", "four.yaml", "--virtual-clock", "sleeps.py")
    assert (status, out.splitlines()[0]) == (0, "3600 3600")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "run must have a configuration or a program, got neither"),
        (["prog.py"], "prog.py: -n must be given before a program, got none"),
        (["-n", "2", "prog.py"], "prog.py: --machine must be given before a program, got none"),
        (["-n", "2", "--machine", "four.yaml", "no.py"], "no.py: program must exist, got no such file"),
        (["-n", "2", "--machine", "four.yaml", "--", "no.py"], "no.py: program must exist, got no such file"),
        (["-n", "2", "--machine", "four.yaml", "-m"], "-m must be followed by a module or code, got nothing"),
        (["run.yaml", "other.yaml"], "run must have one configuration, or a program that ends in .py"),
        (["run.yaml", "--placement", "around"], "placement must be block, cyclic, block:2 or node indices"),
        (
            ["run.yaml", "--placement", f"block:{'9' * 5000}"],
            "placement must be block, cyclic, block:2 or node indices",
        ),
        (["run.yaml", "--placement", f"0,{'9' * 5000}"], "placement must be block, cyclic, block:2 or node indices"),
        (["run.yaml", "--bursts", "1 GB/s"], "bursts must be a speed"),
        (["run.yaml", "--bursts", "no.clue"], "no.clue: trace must exist"),
        (["run.yaml", "--record", "taken"], "taken: trace must be a new folder or replace a trace"),
        (
            ["run.yaml", "--machine", "four.yaml", "--record", "four.yaml"],
            "four.yaml: output must not be a file that the command reads",
        ),
        (["own.yaml", "--record", "own.clue"], "own.clue: output must not be a file that the command reads"),
        (["run.yaml", "-n", "5"], "placement: ranks must be at most 4 on four"),
        (
            ["crowded.yaml"],
            "crowded.yaml:1:35: placement: ranks must be at most 4 on four (4 nodes, 4 processors), got 5",
        ),
        (
            ["crowded.yaml", "-n", "6"],
            "clue: placement: ranks must be at most 4 on four (4 nodes, 4 processors), got 6",
        ),
        (["listed.yaml"], "listed.yaml:3:12: placement: list must name one node per rank (2), got 3"),
        (["twice.yaml"], "twice.yaml:3:12: instances must be 1 in a live run, got 2"),
        (["which.yaml", "-n", "2"], "which: -n must go with one program on one machine, got a comparison"),
        (["which.yaml", "--record", "r.clue"], "which: --record must go with one program on one machine"),
    ],
)
def test_bad_usage_is_told_before_anything_runs(capfd: pytest.CaptureFixture[str], words: list[str], said: str) -> None:
    """Each mistake is reported with status 2, and standard output stays empty."""
    Path("taken").mkdir()
    Path("taken/thing").touch()
    recorded = TraceBuilder(2)
    for rank in recorded:
        rank.compute(1.0)
    recorded.build().save("own.clue")
    Path("own.yaml").write_text(Path("run.yaml").read_text().replace("ranks: 2", "ranks: 2, trace: own.clue"))
    Path("crowded.yaml").write_text("program: {script: prog.py, ranks: 5}\nmachine: four.yaml\n")
    for name, line in (("listed", "placement: [0, 0, 1]"), ("twice", "instances: 2")):
        Path(f"{name}.yaml").write_text(f"{Path('run.yaml').read_text()}{line}\n")
    status, out, err = run(capfd, *words)
    assert (status, out) == (2, "")
    assert said in err


def test_a_comparison_names_the_place_of_what_cannot_run(capfd: pytest.CaptureFixture[str]) -> None:
    """Too many ranks for every option, and two instances: each message begins with file, line and column."""
    Path("which.yaml").write_text(Path("which.yaml").read_text().replace("ranks: [2]", "ranks: [5]"))
    status, _, err = run(capfd, "which.yaml")
    said = "as-it-is, slower: pp: 5 ranks need as many processors, the machine has 4\n"
    assert (status, err) == (1, f"clue: which.yaml:3:1: at least one option must be ranked, got none: {said}")
    Path("which.yaml").write_text(Path("which.yaml").read_text().replace("ranks: [5]", "ranks: 2, instances: 2"))
    status, _, err = run(capfd, "which.yaml")
    assert (status, err) == (2, "clue: which.yaml:2:27: pp: instances must be 1 in a live run, got 2\n")


def test_a_trace_alone_cannot_run(capfd: pytest.CaptureFixture[str]) -> None:
    """The message recommends ``clue simulate``."""
    Path("t.clue").mkdir()
    Path("replay.yaml").write_text("program: {trace: t.clue, ranks: 2}\nmachine: four.yaml\n")
    status, _, err = run(capfd, "replay.yaml")
    assert status == 2
    assert "replay.yaml:1:18: program must have a script to run live, got a trace only: use clue simulate" in err


@pytest.mark.parametrize("words", [["c.yaml", "--json", "--plots", "d"], ["--plots", "d", "c.yaml", "--json"]])
def test_options_may_stand_behind_a_configuration(words: list[str]) -> None:
    """Options after a configuration belong to clue."""
    parsed = parse_arguments(["run", *words])
    assert (parsed.words, parsed.json, parsed.plots) == (["c.yaml"], True, "d")
