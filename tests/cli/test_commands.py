"""The command line as a user meets it: what is printed where, exit statuses, and every kind of bad input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import clue
from clue.cli import main
from clue.kernel.fast import library
from clue.recording import kept, kept_recordings
from clue.trace import Op, Trace, TraceBuilder

pytestmark = pytest.mark.usefixtures("folder")

MACHINE = """\
name: pair
nodes: [{count: 2, type: host}]
node_types: {host: {processors: 1, performance_factor: 0.5, price: 900 EUR}}
network:
  between_nodes:
    send_delay: {latency: 10 us, bandwidth: 1 GB/s}
    transmission_delay: 40 us
    receive_delay: 5 us
    eager_limit: 64 KB
"""


def ping_pong(nbytes: int = 1000) -> Trace:
    """Return a program of two ranks: a second of computation, then 1 KB there and back."""
    trace = TraceBuilder(2, program="pingpong.py")
    trace[0].compute(1.0)
    for source, dest in ((0, 1), (1, 0)):
        trace[source].send(dest, nbytes)
        trace[dest].recv(source)
    return trace.build()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder to work in, with a trace, a machine, a simulation and a comparison."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLUE_CACHE", str(tmp_path / "cache"))
    ping_pong().save("pingpong.clue")
    Path("pair.yaml").write_text(MACHINE)
    Path("run.yaml").write_text("program: {trace: pingpong.clue}\nmachine: pair.yaml\n")
    Path("which.yaml").write_text(
        "name: which\nbudget: 2000 EUR\nworkloads: {pp: {program: {trace: pingpong.clue}, ranks: 2}}\n"
        "options:\n  two: {machine: pair.yaml}\n  four: {machine: pair.yaml, nodes: 4}\n"
    )
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Run a command; returns exit status, standard output and standard error."""
    status = main(arguments)
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_simulate_prints_one_json_document(capsys: pytest.CaptureFixture[str]) -> None:
    """The keys of the interface, and the makespan added up by hand: 0.5 s and two messages of 11 + 40 + 5 us."""
    status, out, _ = run(capsys, "simulate", "run.yaml", "--json")
    document = json.loads(out)
    assert status == 0
    assert document["makespan"] == pytest.approx(0.5 + 2 * 56e-6, rel=1e-12)
    assert document["engine"] == "reference"
    first = document["ranks"][0]
    assert set(first) >= {"rank", "node", "finish", "compute", "communicate", "wait"}
    assert first["compute"] + first["communicate"] + first["wait"] == pytest.approx(first["finish"], rel=1e-12)


def test_simulate_prints_a_table_and_draws(capsys: pytest.CaptureFixture[str]) -> None:
    """Text for people, and pictures in the folder asked for."""
    status, out, err = run(capsys, "simulate", "run.yaml", "--plots", "new/plots")
    assert status == 0
    assert "makespan" in out and "500.1 ms" in out
    assert {path.name for path in Path("new/plots").iterdir()} == {"timeline.png", "communication.png", "delays.png"}
    assert "timeline.png" in err


def test_comparison_ranks_what_the_budget_covers(capsys: pytest.CaptureFixture[str]) -> None:
    """Four nodes of 900 EUR are over the budget of 2000 EUR: listed last, without a position."""
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
    """Options by position, with the reason of those that have none."""
    status, out, _ = run(capsys, "simulate", "which.yaml")
    assert status == 0
    assert out.index("two") < out.index("four")
    assert "costs more than the budget" in out


def test_fast_engine_computes_or_says_why_not(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without a compiler the reference stands in, says so, and says the same."""
    _, out, _ = run(capsys, "simulate", "run.yaml", "--engine", "reference", "--json")
    expected = json.loads(out)
    monkeypatch.setenv("CLUE_CACHE", str(tmp_path))
    monkeypatch.setenv("CXX", "")
    library._key.cache_clear()
    library._found.cache_clear()
    _, out, _ = run(capsys, "simulate", "run.yaml", "--engine", "fast", "--json")
    monkeypatch.undo()
    library._key.cache_clear()
    library._found.cache_clear()
    document = json.loads(out)
    assert document["engine"] == "reference"
    assert any("no C++ compiler was found" in warning for warning in document["warnings"])
    assert document["ranks"] == expected["ranks"]


@pytest.mark.parametrize("subject", ["pingpong.clue", "pair.yaml", "run.yaml", "which.yaml", "kishimoto", "wien97"])
def test_inspect_shows_anything(subject: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Traces, machines, simulations, comparisons; as text and as JSON."""
    assert run(capsys, "inspect", subject)[0] == 0
    status, out, _ = run(capsys, "inspect", subject, "--json")
    assert status == 0
    assert isinstance(json.loads(out), dict)


def test_inspect_says_which_calls_are_not_modelled(capsys: pytest.CaptureFixture[str]) -> None:
    """By name, number and time."""
    trace = TraceBuilder(1)
    trace[0].add(Op.OTHER, call="Win.Put", took=250_000_000)
    trace.build().save("put.clue")
    _, out, _ = run(capsys, "inspect", "put.clue")
    assert "Win.Put" in out and "250 ms" in out


def test_convert_there_and_back(capsys: pytest.CaptureFixture[str]) -> None:
    """A folder, a compressed file, a folder again: the same trace."""
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
    """3, with who waits for what."""
    deadlock()
    status, out, err = run(capsys, "simulate", "run.yaml", "--json")
    assert (status, out) == (3, "")
    assert "rank 0 at 0 s waits for recv from rank 1" in err


def edit(name: str, old: str, new: str) -> Callable[[], None]:
    """Return what replaces text in a file."""

    def change() -> None:
        text = Path(name).read_text()
        assert old in text
        Path(name).write_text(text.replace(old, new))

    return change


def truncate() -> None:
    """Cut a column short."""
    column = Path("pingpong.clue/nbytes.npy")
    column.write_bytes(column.read_bytes()[:-8])


def corrupt() -> None:
    """Flip bits in a column."""
    column = Path("pingpong.clue/tag.npy")
    data = bytearray(column.read_bytes())
    data[-1] ^= 0xFF
    column.write_bytes(bytes(data))


BAD = {
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
        edit("pingpong.clue/head.json", '"version": 1', '"version": 99'),
        "version must be 1, got 99",
    ),
    "not a trace": (("inspect", "cache"), lambda: Path("cache").mkdir(), "cache"),
    "script missing": (("record", "-n", "1", "none.py"), lambda: None, "none.py"),
    "plots into a file": (("simulate", "run.yaml", "--plots", "run.yaml"), lambda: None, "plots must go to a folder"),
    "no full size": (("simulate", "which.yaml", "--full"), lambda: None, "full"),
    "repeats of traces": (("simulate", "run.yaml", "--repeats", "2"), lambda: None, "--repeats must go with a script"),
    "convert onto itself": (("convert", "pingpong.clue", "pingpong.clue"), lambda: None, "must differ"),
}


@pytest.mark.parametrize("case", BAD, ids=str)
def test_bad_input_is_a_short_message_with_exit_status_2(case: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Place, rule and value in a line; nothing on standard output, never a traceback."""
    arguments, spoil, told = BAD[case]
    spoil()
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert told in err
    assert "Traceback" not in err
    assert all(line.startswith("clue: ") for line in err.splitlines())


@pytest.mark.parametrize("arguments", [(), ("fly",), ("record", "-n", "0", "x.py"), ("simulate",)])
def test_bad_usage_has_exit_status_2(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """No command, an unknown one, a number of ranks that is none, a missing argument."""
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "usage: clue" in capsys.readouterr().err


CRASHES = "from mpi4py import MPI\nMPI.COMM_WORLD.Barrier()\nraise RuntimeError('on purpose')\n"


@pytest.mark.parametrize(
    ("script", "told"), [(CRASHES, "exit"), ("print('no MPI here')\n", "MPI")], ids=["crashes", "never calls MPI"]
)
def test_program_that_cannot_be_recorded(script: str, told: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Exit status 1 and a message; what a crashed program left behind is refused by simulate with its last ops."""
    Path("prog.py").write_text(script)
    assert main(("record", "-n", "1", "prog.py")) == 1
    captured = capfd.readouterr()
    assert captured.out == ""
    assert told in captured.err.splitlines()[-1]
    if Path("prog.clue").exists():
        assert main(("inspect", "prog.clue")) == 2
        assert "prog.clue: trace must be complete" in capfd.readouterr().err


SUMS = "from mpi4py import MPI\nimport helper\nsum(range(10000))\nMPI.COMM_WORLD.Barrier()\n"


def test_script_is_recorded_on_first_use_and_cached(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three times, so there is an interval; the second simulation finds them: fresh bursts would be others."""
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
    """Each at all its numbers of ranks, and once if once is wanted."""
    Path("prog.py").write_text(SUMS)
    Path("helper.py").write_text("")
    Path("which.yaml").write_text(
        Path("which.yaml").read_text().replace("{trace: pingpong.clue}, ranks: 2", "{script: prog.py}, ranks: [1, 2]")
    )
    assert main(("simulate", "which.yaml", "--json", "--repeats", "1")) == 0
    assert len(json.loads(capfd.readouterr().out)["ranking"]) == 2
    assert [(each.facts and each.facts.ranks, each.recordings) for each in kept_recordings()] == [(1, 1), (2, 1)]


def test_repeated_recording(capfd: pytest.CaptureFixture[str]) -> None:
    """The trace and its repeats, which a configuration can name; how much they differ is told."""
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
    """``clue … | head`` ends quietly."""
    command = f"{sys.executable} -m clue schema machine | head -n 1"
    environment = os.environ | {"PYTHONPATH": str(Path(clue.__file__).parent.parent)}
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, env=environment)
    assert done.stderr == ""


def test_exported_names() -> None:
    """``clue.__all__`` is part of the public interface, and every name of it is there."""
    assert all(getattr(clue, name) is not None for name in clue.__all__)
    with pytest.raises(AttributeError, match="no attribute 'simulat'"):
        _ = clue.simulat
