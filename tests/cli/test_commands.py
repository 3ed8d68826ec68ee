"""The command line: what goes to which stream, exit statuses, and every kind of bad input."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import clue
from clue.cli import main
from clue.kernel.fast.library import ENGINE
from clue.recording import kept, kept_recordings
from clue.trace import Op, Trace, TraceBuilder
from clue.trace.sites import UNKNOWN, Frame, Site
from tests.cli.commands import edit, ping_pong, run
from tests.compiled import know_again

pytestmark = pytest.mark.usefixtures("folder")


def test_simulate_prints_one_json_document(capsys: pytest.CaptureFixture[str]) -> None:
    """The document has the documented keys, and the makespan by hand: 0.5 s and two messages of 11 + 40 + 5 us."""
    status, out, _ = run(capsys, "simulate", "run.yaml", "--json")
    document = json.loads(out)
    assert status == 0
    assert document["makespan"] == pytest.approx(0.5 + 2 * 56e-6, rel=1e-12)
    assert document["engine"] == "reference"
    first = document["ranks"][0]
    assert set(first) >= {"rank", "node", "finish", "compute", "communicate", "wait"}
    assert first["compute"] + first["communicate"] + first["wait"] == pytest.approx(first["finish"], rel=1e-12)


@pytest.mark.long
def test_simulate_prints_a_table_and_draws(capsys: pytest.CaptureFixture[str]) -> None:
    """A table goes to standard output, and pictures to the given folder."""
    status, out, err = run(capsys, "simulate", "run.yaml", "--plots", "new/plots")
    assert status == 0
    assert "makespan" in out and "500.1 ms" in out
    assert {path.name for path in Path("new/plots").iterdir()} == {"timeline.png", "communication.png", "delays.png"}
    assert "timeline.png" in err


def test_comparison_ranks_what_the_budget_covers(capsys: pytest.CaptureFixture[str]) -> None:
    """Four nodes of 900 EUR exceed the budget of 2000 EUR: the option is listed last, without a position."""
    status, out, _ = run(capsys, "simulate", "which.yaml", "--json")
    document = json.loads(out)
    assert status == 0
    assert (document["scenario"], document["criterion"]) == ("which", "points")
    two, four = document["ranking"]
    assert (two["option"], two["position"], two["score"], two["affordable"]) == ("two", 1, 100.0, True)
    assert two["price"] == {"amount": 1800, "currency": "EUR"}
    assert set(two["workloads"]["pp"]) >= {"makespan", "instances", "ranks", "points"}
    assert (four["option"], four["affordable"], "position" in four) == ("four", False, False)


def test_comparison_prints_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    """The table lists options by position; options without one follow with the reason."""
    status, out, _ = run(capsys, "simulate", "which.yaml")
    assert status == 0
    assert out.index("two") < out.index("four")
    assert "costs more than the budget" in out


def test_fast_engine_computes_or_says_why_not(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without a C++ compiler the reference engine takes over, warns, and gives the same figures."""
    _, out, _ = run(capsys, "simulate", "run.yaml", "--engine", "reference", "--json")
    expected = json.loads(out)
    monkeypatch.setenv("CLUE_CACHE", str(tmp_path))
    monkeypatch.setenv("CXX", "")
    monkeypatch.setattr(ENGINE, "shipped", lambda: None)
    ENGINE.forget()
    _, out, _ = run(capsys, "simulate", "run.yaml", "--engine", "fast", "--json")
    monkeypatch.undo()
    know_again(ENGINE)
    document = json.loads(out)
    assert document["engine"] == "reference"
    assert any("no C++ compiler was found" in warning for warning in document["warnings"])
    assert document["ranks"] == expected["ranks"]


@pytest.mark.parametrize("subject", ["pingpong.clue", "pair.yaml", "run.yaml", "which.yaml", "kishimoto", "wien97"])
def test_inspect_shows_anything(subject: str, capsys: pytest.CaptureFixture[str]) -> None:
    """``inspect`` shows traces, machines, simulations and comparisons, as text and as JSON."""
    assert run(capsys, "inspect", subject)[0] == 0
    status, out, _ = run(capsys, "inspect", subject, "--json")
    assert status == 0
    assert isinstance(json.loads(out), dict)


def test_inspect_opens_the_trace_of_a_number_of_ranks(capsys: pytest.CaptureFixture[str]) -> None:
    """A trace named by ``{ranks}`` is shown if it exists; if not, it is called missing, not yet to be recorded."""
    Path("run.yaml").write_text('program: {trace: "pingpong-{ranks}.clue", ranks: 2}\nmachine: pair.yaml\n')
    _, out, _ = run(capsys, "inspect", "run.yaml")
    assert "pingpong-2.clue: a trace that does not exist" in " ".join(out.split()) and "recorded" not in out
    document = json.loads(run(capsys, "inspect", "run.yaml", "--json")[1])
    assert (Path(document["program"]["trace"]).name, document["ranks"]) == ("pingpong-2.clue", 2)
    assert "trace" not in document
    ping_pong().save("pingpong-2.clue")
    assert run(capsys, "inspect", "pingpong-2.clue")[1] in run(capsys, "inspect", "run.yaml")[1]
    alone = json.loads(run(capsys, "inspect", document["program"]["trace"], "--json")[1])
    assert json.loads(run(capsys, "inspect", "run.yaml", "--json")[1])["trace"] == alone


def test_inspect_says_which_calls_are_not_modelled(capsys: pytest.CaptureFixture[str]) -> None:
    """A call that is not modelled is listed with its name, its count and its time."""
    trace = TraceBuilder(1)
    trace[0].add(Op.OTHER, call="Win.Put", took=250_000_000)
    trace.build().save("put.clue")
    _, out, _ = run(capsys, "inspect", "put.clue")
    assert "Win.Put" in out and "250 ms" in out


def test_inspect_shows_where_calls_come_from(capsys: pytest.CaptureFixture[str]) -> None:
    """Call paths are sorted by time: sends of 100 and 50 B after bursts of 1 and 3 s, and a burst at the end."""
    main = Frame("lib/cg.py", "<module>", 90, 4)
    send = Site((main, Frame("cg.py", "exchange", 72, 8, (60,))))
    receive = Site((main, Frame("cg.py", "exchange", 73, 8, (60,), ((71, 1),))))
    trace = TraceBuilder(2, "cg.py")
    for seconds, nbytes in ((1.0, 100), (3.0, 50)):
        trace[0].compute(seconds)
        trace[0].at(send)
        trace[0].add(Op.SEND, peer=1, nbytes=nbytes, took=500_000_000)
        trace[1].at(receive)
        trace[1].add(Op.RECV, peer=0, took=2_500_000_000)
    trace[0].at(UNKNOWN)
    trace[0].compute(0.25)
    trace.build().save("cg.clue")

    status, out, _ = run(capsys, "inspect", "cg.clue", "--sites")
    assert status == 0
    lines = [line.split() for line in out.splitlines()]
    table = [line for line in lines if line and line[0] in {"cg.py:72", "cg.py:73", "(unknown)"}]
    assert table == [
        ["cg.py:72", "exchange", "cg.py:90", "Send", "2", "150", "B", "4", "s", "1", "s"],
        ["cg.py:73", "exchange", "cg.py:90", "Recv", "2", "0", "s", "5", "s"],
        ["(unknown)", "–", "0", "250", "ms", "0", "s"],
    ]
    document = json.loads(run(capsys, "inspect", "cg.clue", "--sites", "--json")[1])
    assert [(each["site"], each["name"], each["count"]) for each in document["sites"]] == [
        (1, "cg.py:72", 2), (2, "cg.py:73", 2), (0, "", 0),
    ]  # fmt: skip
    first = document["sites"][0]
    assert (first["calls"], first["nbytes"], first["compute"], first["seconds"]) == (["Send"], 150, 4.0, 1.0)
    assert first["frames"][1] == {
        "file": "cg.py", "function": "exchange", "line": 72, "at": 8, "loops": [60], "branches": [],
    }  # fmt: skip
    assert [each["branches"] for each in document["sites"][1]["frames"]] == [[], [{"line": 71, "else": True}]]


def test_inspect_says_that_no_sites_are_known(capsys: pytest.CaptureFixture[str]) -> None:
    """A trace without call sites, as earlier versions recorded it, is shown with the advice to record again."""
    _, out, _ = run(capsys, "inspect", "pingpong.clue", "--sites")
    assert "(unknown)" in out and "none is known: record the program again" in out
    _, out, _ = run(capsys, "inspect", "pingpong.clue", "--sites", "--json")
    assert json.loads(out)["notes"] == ["call sites: none is known: record the program again"]


def test_convert_there_and_back(capsys: pytest.CaptureFixture[str]) -> None:
    """A trace converted to a compressed file and back to a folder has the same checksums."""
    assert run(capsys, "convert", "pingpong.clue", "small.clue.zip")[0] == 0
    assert run(capsys, "convert", "small.clue.zip", "again.clue")[0] == 0
    first, again = Trace.open("pingpong.clue"), Trace.open("again.clue")
    assert first.head.checksums == again.head.checksums


@pytest.mark.parametrize("form", ["machine", "scenario", "simulation"])
def test_schema_is_json(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    """``clue schema`` prints a JSON Schema."""
    status, out, _ = run(capsys, "schema", form)
    assert status == 0
    assert "properties" in json.loads(out)


def deadlock() -> None:
    """Make the program of ``run.yaml`` deadlock."""
    trace = TraceBuilder(2)
    trace[0].recv(1)
    trace[1].recv(0)
    trace.build().save("pingpong.clue")


def test_deadlock_has_an_exit_status_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    """A deadlock has status 3, and the message says which rank waits for what."""
    deadlock()
    status, out, err = run(capsys, "simulate", "run.yaml", "--json")
    assert (status, out) == (3, "")
    assert "rank 0 at 0 s waits for recv from rank 1" in err


def truncate() -> None:
    """Truncate a column of the trace."""
    column = Path("pingpong.clue/nbytes.npy")
    column.write_bytes(column.read_bytes()[:-8])


def corrupt() -> None:
    """Flip bits in a column."""
    column = Path("pingpong.clue/tag.npy")
    data = bytearray(column.read_bytes())
    data[-1] ^= 0xFF
    column.write_bytes(bytes(data))


BAD: dict[str, tuple[tuple[str, ...], Callable[[], None], str]] = {
    "missing file": (("simulate", "none.yaml"), lambda: None, "none.yaml"),
    "unknown scenario": (("simulate", "wien98"), lambda: None, "wien97"),
    "bad YAML": (("simulate", "pair.yaml"), edit("pair.yaml", "nodes: [", "nodes: [["), "pair.yaml:"),
    "unknown key": (("simulate", "run.yaml"), edit("pair.yaml", "receive_delay", "recieve_delay"), "receive_delay"),
    "wrong unit": (("simulate", "run.yaml"), edit("pair.yaml", "10 us", "10 MB"), "pair.yaml:6"),
    "no unit": (("simulate", "run.yaml"), edit("pair.yaml", "10 us", "10"), "unit"),
    "negative delay": (("simulate", "run.yaml"), edit("pair.yaml", "40 us", "-40 us"), "pair.yaml:7"),
    "unsorted points": (
        ("simulate", "run.yaml"),
        edit("pair.yaml", "transmission_delay: 40 us", "transmission_delay: {points: [[1 KB, 1 us], [0 B, 2 us]]}"),
        "pair.yaml:7",
    ),
    "unknown machine": (("simulate", "run.yaml"), edit("run.yaml", "pair.yaml", "pairs"), "pairs"),
    "too many ranks": (
        ("simulate", "run.yaml"),
        edit("pair.yaml", "count: 2", "count: 1"),
        "ranks must be at most 1",
    ),
    "nothing affordable": (("simulate", "which.yaml"), edit("which.yaml", "2000 EUR", "20 EUR"), "budget must afford"),
    "weights of nothing": (
        ("simulate", "which.yaml"),
        edit("which.yaml", "ranks: 2", "ranks: 2, weight: 0"),
        "weights that sum to more than 0",
    ),
    "no trace": (("simulate", "run.yaml"), edit("run.yaml", "pingpong.clue", "none.clue"), "none.clue"),
    "truncated trace": (("simulate", "run.yaml"), truncate, "nbytes.npy"),
    "damaged trace": (("simulate", "run.yaml"), corrupt, "tag.npy: checksum"),
    "trace of another version": (
        ("inspect", "pingpong.clue"),
        edit("pingpong.clue/head.json", '"version": 3', '"version": 99'),
        "version must be 1, 2 or 3, got 99",
    ),
    "not a trace": (("inspect", "cache"), lambda: Path("cache").mkdir(), "cache"),
    "script missing": (("record", "-n", "1", "none.py"), lambda: None, "none.py"),
    "plots into a file": (("simulate", "run.yaml", "--plots", "run.yaml"), lambda: None, "plots must go to a folder"),
    "no full size": (("simulate", "which.yaml", "--full"), lambda: None, "full"),
    "repeats of traces": (("simulate", "run.yaml", "--repeats", "2"), lambda: None, "--repeats must go with a script"),
    "convert onto itself": (("convert", "pingpong.clue", "pingpong.clue"), lambda: None, "output must not be a file"),
}


@pytest.mark.parametrize("case", BAD, ids=str)
def test_bad_input_is_a_short_message_with_exit_status_2(case: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The message is one line with place, rule and value; standard output stays empty, and there is no traceback."""
    arguments, spoil, told = BAD[case]
    spoil()
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert told in err
    assert "Traceback" not in err
    assert all(line.startswith("clue: ") for line in err.splitlines())


@pytest.mark.parametrize("arguments", [(), ("fly",), ("record", "-n", "0", "x.py"), ("simulate",)])
def test_bad_usage_has_exit_status_2(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """A missing command, an unknown command, 0 ranks and a missing argument are usage errors."""
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "usage: clue" in capsys.readouterr().err


def test_help_names_the_exit_statuses(capsys: pytest.CaptureFixture[str]) -> None:
    """They are those of the exceptions, 0, and those of signals."""
    with pytest.raises(SystemExit) as caught:
        main(["--help"])
    told = " ".join(capsys.readouterr().out.split())
    assert caught.value.code == 0
    kinds: dict[str, type[clue.ClueError]] = {
        "failure": clue.RecordError,
        "a mistake in the command or in a file that it reads": clue.ConfigError,
        "deadlock of the simulated program": clue.DeadlockError,
    }
    for said, kind in kinds.items():
        assert f"{kind.exit_status} {said}; " in told


CRASHES = "from mpi4py import MPI\nMPI.COMM_WORLD.Barrier()\nraise RuntimeError('on purpose')\n"


@pytest.mark.parametrize(
    ("script", "told"), [(CRASHES, "exit"), ("print('no MPI here')\n", "MPI")], ids=["crashes", "never calls MPI"]
)
def test_program_that_cannot_be_recorded(script: str, told: str, capfd: pytest.CaptureFixture[str]) -> None:
    """A crash, or no MPI call, gives status 1 and a message; ``inspect`` refuses a trace that is incomplete."""
    Path("prog.py").write_text(script)
    assert main(("record", "-n", "1", "prog.py")) == 1
    captured = capfd.readouterr()
    assert captured.out == ""
    assert told in captured.err.splitlines()[-1]
    if Path("prog.clue").exists():
        assert main(("inspect", "prog.clue")) == 2
        assert "prog.clue: trace must be complete" in capfd.readouterr().err


def test_options_behind_a_program_are_its_own_and_said_to_be(capfd: pytest.CaptureFixture[str]) -> None:
    """Options after the program belong to the program, with a warning: ``-o`` there does not name the trace."""
    Path("prog.py").write_text("from mpi4py import MPI\nMPI.COMM_WORLD.Barrier()\n")
    assert main(("record", "-n", "1", "--repeats", "1", "prog.py", "-o", "other.clue", "--json")) == 0
    said = capfd.readouterr().err
    assert "prog.py: -o, --json went to the program: options of clue must precede the program" in said
    assert Path("prog.clue").exists()
    assert not Path("other.clue").exists()


SUMS = "from mpi4py import MPI\nimport helper\nsum(range(10000))\nMPI.COMM_WORLD.Barrier()\n"


def test_script_is_recorded_on_first_use_and_cached(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A script is recorded three times, which gives an interval; a second simulation reuses these recordings.

    New recordings would have other bursts, hence another makespan.
    """
    Path("prog.py").write_text(SUMS)
    Path("helper.py").write_text("")
    Path("run.yaml").write_text("program: {script: prog.py, ranks: 2}\nmachine: pair.yaml\n")
    documents = []
    for _ in range(2):
        assert main(("simulate", "run.yaml", "--json", "--samples", "20")) == 0
        documents.append(json.loads(capfd.readouterr().out))
        monkeypatch.setattr(kept, "record", None)
    assert documents[0]["makespan"] == documents[1]["makespan"] > 0
    interval = documents[0]["uncertainty"]["makespan"]
    assert interval["low"] < interval["high"]
    (kept_ones,) = kept_recordings()
    assert kept_ones.recordings == 3
    assert kept_ones.facts is not None and set(kept_ones.facts.files) == {"prog.py", "helper.py"}


def test_scripts_of_a_comparison_are_recorded_as_often_as_is_asked_for(capfd: pytest.CaptureFixture[str]) -> None:
    """Each script is recorded at each of its numbers of ranks, and only once with ``--repeats 1``."""
    Path("prog.py").write_text(SUMS)
    Path("helper.py").write_text("")
    Path("which.yaml").write_text(
        Path("which.yaml").read_text().replace("{trace: pingpong.clue}, ranks: 2", "{script: prog.py}, ranks: [1, 2]")
    )
    assert main(("simulate", "which.yaml", "--json", "--repeats", "1")) == 0
    assert len(json.loads(capfd.readouterr().out)["ranking"]) == 2
    assert [(each.facts and each.facts.ranks, each.recordings) for each in kept_recordings()] == [(1, 1), (2, 1)]


def test_repeated_recording(capfd: pytest.CaptureFixture[str]) -> None:
    """``--repeats 3`` writes a trace and two repeats that a configuration can name, and reports their spread."""
    Path("prog.py").write_text(SUMS)
    Path("helper.py").write_text("")
    assert main(("record", "-n", "2", "--repeats", "3", "--json", "prog.py")) == 0
    captured = capfd.readouterr()
    document = json.loads(captured.out)
    assert captured.err.endswith("wrote prog.clue\nwrote prog.2.clue\nwrote prog.3.clue\n")
    assert document["repeats"] == ["prog.2.clue", "prog.3.clue"]
    assert len(document["computing"]) == 3 and document["spread"] >= 0
    Path("run.yaml").write_text(
        "program: {trace: prog.clue, repeats: [prog.2.clue, prog.3.clue]}\nmachine: pair.yaml\n"
    )
    assert main(("simulate", "run.yaml", "--samples", "20")) == 0


def test_help_loads_nothing_heavy() -> None:
    """``clue --help`` must answer at once: no numpy, matplotlib, pydantic, rich, simpy or mpi4py."""
    script = (
        "import sys\nfrom clue.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = {'numpy', 'matplotlib', 'pydantic', 'rich', 'simpy', 'mpi4py', 'scipy'} & set(sys.modules)\n"
        "sys.exit(repr(heavy) if heavy else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_output_to_a_closed_pipe_is_no_error() -> None:
    """A closed pipe, as in ``clue … | head``, causes no message."""
    command = f"{sys.executable} -m clue schema machine | head -n 1"
    environment = os.environ | {"PYTHONPATH": str(Path(clue.__file__).parent.parent)}
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, env=environment)
    assert done.stderr == ""


def test_exported_names() -> None:
    """Each name in ``clue.__all__`` exists, and an unknown attribute raises ``AttributeError``."""
    assert all(getattr(clue, name) is not None for name in clue.__all__)
    with pytest.raises(AttributeError, match="no attribute 'simulat'"):
        _ = clue.simulat


# --- comparisons in which little or nothing can be ranked ---


def test_an_option_without_a_price_is_neither_affordable_nor_not(capsys: pytest.CaptureFixture[str]) -> None:
    """Under a budget, an option without a price has no position and is listed before those over the budget."""
    edit("which.yaml", "options:\n", "options:\n  some: {machine: kishimoto}\n")()
    status, out, _ = run(capsys, "simulate", "which.yaml", "--json")
    listed = json.loads(out)["ranking"]
    assert status == 0
    assert [(each["option"], each.get("position"), each["affordable"]) for each in listed] == [
        *(("two", 1, True), ("some", None, None), ("four", None, False)),
    ]
    assert listed[1]["reason"].startswith("no price is stated, so it is unknown whether the budget covers it")
    _, out, _ = run(capsys, "simulate", "which.yaml")
    assert "- some: no price is stated, so it is unknown whether the budget covers it: state its price, or" in out
    assert out.index("- some:") < out.index("- four (3,600 EUR): costs more than the budget")


def test_a_price_of_some_nodes_is_no_price_of_an_option(capsys: pytest.CaptureFixture[str]) -> None:
    """The reason names the node types without one: a sum over the others would be too low."""
    priced = "{machine: kishimoto, with: {node_types: {athlon: {price: 500 EUR}}}}"
    edit("which.yaml", "options:\n", f"options:\n  some: {priced}\n")()
    status, out, _ = run(capsys, "simulate", "which.yaml", "--json")
    (some,) = (each for each in json.loads(out)["ranking"] if each["option"] == "some")
    assert status == 0
    assert some["reason"].startswith("no price is stated for some of its nodes (pentium-ii), so it is unknown whether")


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (
            (
                edit("which.yaml", "ranks: 2}", "ranks: 2, memory: 1 TB}"),
                edit("pair.yaml", "price", "memory: 1 GB, price"),
            ),
            "two: pp: 1 rank needs 1 TB of memory on a node, a host has 1 GB; four: costs more than the budget",
        ),
        (
            (edit("pair.yaml", ", price: 900 EUR", ""),),
            "two, four: no price is stated, so it is unknown whether the budget covers it: state its price, or leave",
        ),
    ],
    ids=["no memory", "no prices"],
)
@pytest.mark.parametrize("form", [(), ("--json",), ("--plots", "plots"), ("-q",)], ids=str)
def test_nothing_ranked_is_a_failure_that_says_why(
    spoil: tuple[Callable[[], None], ...], said: str, form: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """If no option is ranked, the listing is printed, the last message gives the reason, and the status is 1."""
    for each in spoil:
        each()
    status, out, err = run(capsys, "simulate", "which.yaml", *form)
    assert status == 1
    assert err.splitlines()[-1].startswith(
        f"clue: which.yaml:4:1: at least one option must be ranked, got none: {said}"
    )
    assert not Path("plots").exists()
    if form == ("--json",):
        assert all("position" not in each for each in json.loads(out)["ranking"])
    else:
        assert "No option can be ranked." in out and "Not ranked" in out


def test_an_explanation_of_nothing_is_said_to_be_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    """With only one ranked option there is no lead to explain: the document says that the explanation is left out."""
    _, out, _ = run(capsys, "simulate", "which.yaml", "--json", "--explain")
    document = json.loads(out)
    assert "explanation" not in document
    assert document["warnings"] == ["explanation: at least two options must have a position, got fewer: it is left out"]


# --- messages on traces and memory ---


def test_a_simulation_asks_for_memory_as_a_comparison_does(capsys: pytest.CaptureFixture[str]) -> None:
    """Two ranks need 600 MB on a node of 500 MB: a comparison refuses them, a simulation predicts them and warns."""
    trace = TraceBuilder(2)
    for rank in range(2):
        trace[rank].compute(1.0)
        trace.declare(rank, peak_memory=300_000_000)
    trace.build().save("pingpong.clue")
    edit("pair.yaml", "processors: 1", "processors: 2, memory: 500 MB")()
    edit("pair.yaml", "name: pair\n", "name: pair\nnotes: guessed\n")()
    status, out, _ = run(capsys, "simulate", "run.yaml", "--json")
    assert (status, json.loads(out)["makespan"]) == (0, 0.5)
    fault = "2 ranks need 600 MB of memory on a node, a host has 500 MB"
    assert json.loads(out)["warnings"][0] == (
        f"pair: memory does not suffice: {fault}. The program would not run there; the figures are those of nodes with "
        "enough memory. Place fewer ranks on a node, or take larger nodes"
    )
    status, _, err = run(capsys, "simulate", "which.yaml")
    assert status == 1 and f"two: pp: {fault}" in err
    edit("run.yaml", "machine: pair.yaml", "machine: pair.yaml\nplacement: cyclic")()
    _, out, _ = run(capsys, "simulate", "run.yaml", "--json")
    assert not any("memory" in warning for warning in json.loads(out)["warnings"])


def test_memory_counts_all_instances(capsys: pytest.CaptureFixture[str]) -> None:
    """Two instances on a node need twice the memory of one."""
    trace = TraceBuilder(1)
    trace[0].compute(1.0)
    trace.declare(0, peak_memory=300_000_000)
    trace.build().save("pingpong.clue")
    edit("pair.yaml", "processors: 1", "processors: 2, memory: 500 MB")()
    edit("run.yaml", "machine", "instances: 2\nmachine")()
    _, out, _ = run(capsys, "simulate", "run.yaml", "--json")
    assert "2 ranks need 600 MB of memory on a node" in json.loads(out)["warnings"][0]


def test_a_missing_recording_is_told_with_those_that_are_there(capsys: pytest.CaptureFixture[str]) -> None:
    """The message lists the existing recordings by ranks, and says how to make the missing one."""
    Path("run.yaml").write_text("program: {trace: 'pp-{ranks}.clue', ranks: 512}\nmachine: pair.yaml\n")
    status, _, err = run(capsys, "simulate", "run.yaml")
    missing = "clue: run.yaml:1:18: pp-512.clue: trace must exist, got no such file or folder."
    advice = (
        "record the program on 512 ranks (clue record -n 512 -o pp-512.clue): this computer will do, more ranks than "
        "cores are fine as long as memory lasts; or extrapolate it from recordings of smaller sizes on fewer ranks "
        "(clue extrapolate --plan says which)\n"
    )
    assert (status, err) == (2, f"{missing} First {advice}")
    for name in ("pp-2.clue", "pp-16.clue", "pp-x.clue"):
        ping_pong().save(name)
    status, _, err = run(capsys, "simulate", "run.yaml")
    assert (status, err) == (
        *(2, f"{missing} Recordings exist for these numbers of ranks: 2, 16. Use them, or {advice}"),
    )


def test_a_recording_of_another_size_is_told_with_what_is_possible(capsys: pytest.CaptureFixture[str]) -> None:
    """If a trace has other ranks than requested, the message suggests its own ranks or another recording."""
    edit("run.yaml", "trace: pingpong.clue", "trace: pingpong.clue, ranks: 512")()
    status, _, err = run(capsys, "simulate", "run.yaml")
    assert (status, err) == (
        2,
        "clue: run.yaml:1:18: pingpong.clue: trace must have 512 ranks, got 2. Ask for ranks: 2, as a recording serves "
        "one number of ranks; or name traces with {ranks} and record the program on 512 ranks (clue record -n 512): "
        "this computer will do, more ranks than cores are fine as long as memory lasts; or extrapolate it from "
        "recordings of smaller sizes on fewer ranks (clue extrapolate --plan says which)\n",
    )


def test_a_comparison_names_the_place_of_a_recording_of_another_size(capsys: pytest.CaptureFixture[str]) -> None:
    """The recording has 2 ranks and the workload asks for 1: file, line and column of the trace come first."""
    edit("which.yaml", "ranks: 2}", "ranks: 1}")()
    status, _, err = run(capsys, "simulate", "which.yaml")
    assert status == 2
    assert err.startswith("clue: which.yaml:3:35: pingpong.clue: trace must have 1 rank, got 2. Ask for ranks: 2")


def test_a_script_beside_a_trace_must_be_what_it_records(capsys: pytest.CaptureFixture[str]) -> None:
    """The trace is replayed: one of another program is refused, in a comparison too; other arguments are told."""
    for name in ("prog.py", "other.py"):
        Path(name).write_text("raise SystemExit('it was run')\n")
    plain = ping_pong()
    head = replace(plain.head, program="/home/me/prog.py", arguments=("--n", "5"), mpi="MPICH")
    replace(plain, head=head).save("recorded.clue")
    for name, place in (("run.yaml", "1:36"), ("which.yaml", "3:53")):
        edit(name, "{trace: pingpong.clue", "{script: other.py, trace: recorded.clue")()
        status, _, err = run(capsys, "simulate", name)
        assert (status, err.replace(place, "PLACE")) == (
            2,
            f"clue: {name}:PLACE: recorded.clue: trace must record the script other.py beside it, or be named without "
            "a script, got a recording of prog.py\n",
        )
        for arguments, told in (("--n, 6", 1), ("--n, 5", 0)):
            edit(name, "script: other.py", f"script: prog.py, args: [{arguments}]")()
            status, out, _ = run(capsys, "simulate", name, "--json")
            said = "the trace is replayed, whose arguments (--n 5) are not those of the script beside it (--n 6)"
            assert (status, sum(said in each for each in json.loads(out)["warnings"])) == (0, told)
            edit(name, f"script: prog.py, args: [{arguments}]", "script: other.py")()


WILD = """
from mpi4py import MPI
MPI.File.Open(MPI.COMM_WORLD, "wild.dat", MPI.MODE_CREATE | MPI.MODE_WRONLY).Close()
"""


def test_what_is_said_of_recorded_programs_names_no_file_of_the_cache(capfd: pytest.CaptureFixture[str]) -> None:
    """Warnings name the script or the workload instead of cached files, once per workload, with what to do."""
    Path("prog.py").write_text(WILD)
    Path("run.yaml").write_text("program: {script: prog.py, ranks: 2}\nmachine: pair.yaml\n")
    assert main(("simulate", "run.yaml", "--json", "--repeats", "2")) == 0
    said = [each for each in json.loads(capfd.readouterr().out)["warnings"] if "not modelled" in each]
    assert said and all(each.startswith("prog.py: ") for each in said)
    edit("which.yaml", "{trace: pingpong.clue}, ranks: 2", "{script: prog.py}, ranks: [1, 2]")()
    edit("which.yaml", "2000 EUR", "9000 EUR")()
    assert main(("simulate", "which.yaml", "--json", "--repeats", "2")) == 0
    told = [each for each in json.loads(capfd.readouterr().out)["warnings"] if "not modelled" in each]
    assert len(told) == len(said) and all(each.startswith("pp: ") for each in told)


def idle(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return the warnings of a comparison about idle processors."""
    _, out, _ = run(capsys, "simulate", "which.yaml", "--json")
    return [each for each in json.loads(out)["warnings"] if "idle" in each]


def test_idle_processors_are_explained(capsys: pytest.CaptureFixture[str]) -> None:
    """Idle processors are reported if the workload asks for too few ranks and more than half of the machine is idle."""
    edit("which.yaml", "nodes: 4}", "nodes: 1000, price: 1900 EUR}")()
    advice = "add larger numbers to ranks (the program has to be recorded at each), or more instances"
    assert idle(capsys) == [
        "pp on four: 998 of 1,000 processors stay idle, because the workload asks for 2 ranks at most: " + advice
    ]
    edit("which.yaml", "ranks: 2}", "ranks: 2, instances: 400}")()
    assert idle(capsys) == []
    edit("which.yaml", "instances: 400", "instances: 3")()
    (said,) = idle(capsys)
    assert said.startswith(
        "pp on four: 994 of 1,000 processors stay idle, because the workload asks for 2 ranks × 3 inst"
    )


def test_idle_processors_may_be_of_no_use(capsys: pytest.CaptureFixture[str]) -> None:
    """One rank takes 1 s and four take 2 s each, so three of four processors stay idle: more ranks are no faster."""
    for ranks in (1, 4):
        trace = TraceBuilder(ranks)
        for rank in trace:
            rank.compute(1.0 if ranks == 1 else 2.0)
        trace.build().save(f"pp-{ranks}.clue")
    edit("which.yaml", "trace: pingpong.clue}, ranks: 2", "trace: 'pp-{ranks}.clue'}, ranks: [1, 4]")()
    edit("which.yaml", "nodes: 4}", "nodes: 4, price: 1900 EUR}")()
    assert idle(capsys) == ["pp on four: 3 of 4 processors stay idle, because it is no faster with more of them"]


def test_idle_processors_may_have_no_memory(capsys: pytest.CaptureFixture[str]) -> None:
    """Memory has room for one of three instances on a node of four processors, so three processors stay idle."""
    edit("which.yaml", "ranks: 2}", "ranks: 1, memory: 1 GB, instances: 3}")()
    trace = TraceBuilder(1)
    trace[0].compute(1.0)
    trace.build().save("pingpong.clue")
    edit("pair.yaml", "count: 2, type: host}]", "type: host}]")()
    edit("pair.yaml", "processors: 1", "processors: 4, memory: 1 GB")()
    edit("which.yaml", "four: {machine: pair.yaml, nodes: 4}", "four: {machine: pair.yaml}")()
    assert idle(capsys) == [
        "pp: 3 of 4 processors stay idle, because nothing larger fits there (memory, and the numbers of ranks)"
    ]


def test_huge_figures_have_an_exponent(capsys: pytest.CaptureFixture[str]) -> None:
    """Times of 10^29 s, prices of 10^29 EUR and 10^12 instances are printed with an exponent in every table."""
    edit("pair.yaml", "performance_factor: 0.5, price: 900 EUR", "performance_factor: 1e12, price: 1e29 EUR")()
    edit("pair.yaml", "10 us", "1e29 s")()
    edit("which.yaml", "2000 EUR", "1e30 EUR")()
    edit("which.yaml", "ranks: 2}", f"ranks: 2, instances: {10**12}}}")()
    _, out, _ = run(capsys, "simulate", "run.yaml", "--explain")
    assert re.search(r"\d\.\d+e\+21 years", out)
    _, compared, _ = run(capsys, "simulate", "which.yaml")
    assert all(text in compared for text in ("2e+29 EUR", "budget 1e+30 EUR", "1 × 2 in 1e+12 turns"))
    _, document, _ = run(capsys, "simulate", "which.yaml", "--json")
    assert '"amount": 2e+29' in document
    for text in (out, compared, *(run(capsys, "inspect", name)[1] for name in ("pair.yaml", "which.yaml"))):
        assert not re.search(r"[\d.,]{16}", text)


def test_a_placement_of_other_ranks_is_refused_with_its_file(capsys: pytest.CaptureFixture[str]) -> None:
    """That a list of nodes has another length shows once the trace is read; the message names file and line."""
    edit("run.yaml", "machine: pair.yaml", "machine: pair.yaml\nplacement: [0, 1, 1]")()
    line = Path("run.yaml").read_text().split("placement")[0].count("\n") + 1
    status, _, err = run(capsys, "simulate", "run.yaml")
    assert (status, err) == (2, f"clue: run.yaml:{line}:12: placement: list must name one node per rank (2), got 3\n")


def test_room_for_ranks_is_asked_for_before_they_are_recorded(capsys: pytest.CaptureFixture[str]) -> None:
    """A machine of two processors cannot hold three ranks: this is refused before a recording that could take hours."""
    Path("never.py").write_text("raise SystemExit('it was run')\n")
    Path("run.yaml").write_text("program: {script: never.py, ranks: 3}\nmachine: pair.yaml\n")
    status, _, err = run(capsys, "simulate", "run.yaml")
    assert status == 2
    assert err.startswith("clue: run.yaml:1:36: placement: ranks must be at most 2 on pair") and "it was run" not in err
