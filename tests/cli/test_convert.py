"""``clue convert`` from the command line: all pairs of formats, the remarks on each, and invalid input."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from clue.cli import main
from clue.trace import Op, Trace, TraceBuilder
from tests.cli.commands import run as run_clue

pytestmark = pytest.mark.usefixtures("folder")

MACHINE = """\
name: pair
nodes: [{count: 2, type: host}]
node_types: {host: {processors: 2, performance_factor: 0.5}}
network:
  between_nodes: {send_delay: 10 us, transmission_delay: {latency: 40 us, bandwidth: 1 GB/s}, eager_limit: 64 KB}
  contention: {flows: {topology: switch, bandwidth: 1 GB/s}}
"""
FORMS = ("first.clue", "first.clue.zip", "first.ti", "first.goal")


def exchange() -> Trace:
    """Return a program of two ranks: a burst of 2 ms, two non-blocking messages, and a blocking message back."""
    trace = TraceBuilder(2, "exchange.py")
    trace[0].compute(2e-3)
    trace[0].wait(trace[0].isend(1, 1000, tag=3), trace[0].isend(1, 2000, tag=4))
    trace[1].wait(trace[1].irecv(0, tag=3), trace[1].irecv(0, tag=4))
    trace[1].send(0, 8)
    trace[0].recv(1)
    return trace.build()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder to work in that holds a trace and a machine."""
    monkeypatch.chdir(tmp_path)
    exchange().save("exchange.clue")
    Path("pair.yaml").write_text(MACHINE)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Run the command and return its exit status, standard output and standard error."""
    return run_clue(capsys, "convert", *arguments)


@pytest.mark.parametrize("second", FORMS)
@pytest.mark.parametrize("first", FORMS)
def test_every_form_into_every_other(first: str, second: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A trace that goes through any two formats keeps what all formats can hold; standard output stays empty."""
    names = ("exchange.clue", first, second.replace("first", "second"), "last.clue")
    for source, target in pairwise(names):
        assert run(capsys, source, target)[:2] == (0, "")
    one, other = Trace.open("exchange.clue").ops, Trace.open("last.clue").ops
    for name in ("op", "cpu", "peer", "tag", "nbytes", "request", "count", "extras"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


def test_time_independent_traces_are_a_list_and_a_file_for_each_rank(capsys: pytest.CaptureFixture[str]) -> None:
    """Bursts are written at the given speed in flop/s and read at the reader's speed; both are reported."""
    status, _, told = run(capsys, "exchange.clue", "x.ti", "--flops-per-second", "2e9")
    assert status == 0
    assert Path("x.ti").read_text() == "x.ti.0\nx.ti.1\n"
    assert Path("x.ti.0").read_text().splitlines()[1] == "0 compute 4000000"
    assert "2e+09 flop/s" in told
    assert "x.ti and 2 files beside it" in told
    run(capsys, "x.ti", "half.clue", "--flops-per-second", "4e9")
    assert Trace.open("half.clue").rank(0).cpu[0] == 1_000_000


def test_forms_may_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    """``--from`` and ``--to`` state formats that file names do not reveal."""
    assert run(capsys, "exchange.clue", "schedule.txt", "--to", "goal")[0] == 0
    assert Path("schedule.txt").read_text().startswith("num_ranks 2\n")
    assert run(capsys, "schedule.txt", "again", "--from", "goal", "--to", "clue")[0] == 0
    assert Trace.open("again").ranks == 2


def test_collectives_stay_or_become_messages(capsys: pytest.CaptureFixture[str]) -> None:
    """Time-independent traces keep collectives unless ``--lower`` turns them into messages; schedules need messages."""
    trace = TraceBuilder(2)
    for rank in range(2):
        trace[rank].collective(Op.ALLREDUCE, 8)
    trace.build().save("sum.clue")
    algorithms = "SimGrid chooses the algorithms of collectives"
    assert algorithms in run(capsys, "sum.clue", "kept.ti")[2]
    assert "0 allreduce 8 0" in Path("kept.ti.0").read_text()
    for target in ("lowered.ti", "sum.goal"):
        told = run(capsys, "sum.clue", target, "--lower", "--collectives", "openmpi")[2]
        assert "2 calls of ranks to collectives are lowered to messages" in told
        assert algorithms not in told
    assert "allreduce" not in Path("lowered.ti.0").read_text()


def test_machine_becomes_a_platform(capsys: pytest.CaptureFixture[str]) -> None:
    """A machine becomes XML with a list of hosts beside it; a message states the options that smpirun needs."""
    status, out, told = run(capsys, "pair.yaml", "pair.xml", "--flops-per-second", "1e9")
    assert (status, out) == (0, "")
    hosts = list(ET.parse("pair.xml").iter("host"))
    assert [(host.get("id"), host.get("speed"), host.get("core")) for host in hosts] == [
        ("node-0", "2000000000f", "2"),
        ("node-1", "2000000000f", "2"),
    ]
    assert Path("pair.hosts").read_text() == "node-0\nnode-0\nnode-1\nnode-1\n"
    assert "--cfg=smpi/send-is-detached-thresh:64001" in told


def file(name: str, text: str) -> Callable[[], None]:
    """Return a function that writes a file."""

    def write() -> None:
        Path(name).write_text(text)

    return write


def nothing() -> None:
    """Do nothing."""


def lonely() -> None:
    """Write the actions of a single rank that receives from another rank."""
    Path("list.ti").write_text("actions\n")
    Path("actions").write_text("0 init\n0 recv 1 0 8\n")


def folder_beside() -> None:
    """Make a folder where the actions of rank 1 would go."""
    Path("x.ti.1").mkdir()


def one_of_its_outputs() -> None:
    """Write the actions of a single rank under the name that conversion to ``actions.ti`` gives them."""
    Path("list.ti").write_text("actions.ti.0\n")
    Path("actions.ti.0").write_text("0 init\n0 compute 5\n0 finalize\n")


BAD = {
    "no source": (("none.ti", "x.clue"), nothing, "none.ti: file must be readable text"),
    "no schedule": (("none.goal", "x.clue"), nothing, "none.goal: schedule must be readable text"),
    "no trace": (("none.clue", "x.ti"), nothing, "none.clue"),
    "empty list": (("list.ti", "x.clue"), file("list.ti", "\n"), "list.ti: list must name a file of actions"),
    "no actions": (("list.ti", "x.clue"), file("list.ti", "a\nb\n"), "list.ti:1: a: file must be readable text"),
    "no rank": (("list.ti", "x.clue"), file("list.ti", "list.ti\n"), "list.ti:1: line must begin with a rank"),
    "no partner": (("list.ti", "x.clue"), lonely, "actions:2: partner must be a rank from 0 to 0, got 1"),
    "no GOAL": (("x.goal", "x.clue"), file("x.goal", "num_ranks 1\nrank 0 {\nfly\n}\n"), "x.goal:3: line must be one"),
    "no end": (("x.goal", "x.clue"), file("x.goal", "num_ranks 1\nrank 0 {\n"), "last rank must end with a bracket"),
    "no machine": (("none.yaml", "x.xml"), nothing, "none.yaml"),
    "bad machine": (("pair.yaml", "x.xml"), file("pair.yaml", MACHINE.replace("10 us", "10 MB")), "pair.yaml:5"),
    "platform to read": (("pair.xml", "x.clue"), nothing, "source must be one that clue reads"),
    "trace to a platform": (
        ("exchange.clue", "x.xml"),
        nothing,
        "exchange.clue: source must be a machine for a target",
    ),
    "no folder": (("exchange.clue", "pair.yaml/x.ti"), nothing, "pair.yaml/x.ti: output must be a file that can be"),
    "a pipe": (("exchange.clue", "pipe.ti"), lambda: os.mkfifo("pipe.ti"), "pipe.ti: output must be a file"),
    "standard output": (("exchange.clue", "-"), nothing, '-: output must be a file, got "-"'),
    "itself": (("exchange.clue", "./exchange.clue"), nothing, "output must not be a file that the command reads"),
    "folder beside it": (
        ("exchange.clue", "x.ti"),
        folder_beside,
        "x.ti.1: output must be a file, got a folder",
    ),
    "input beside it": (
        ("list.ti", "actions.ti"),
        one_of_its_outputs,
        "actions.ti.0: output must not be a file that the command reads, got actions.ti.0",
    ),
    "folder of others": (("exchange.clue", "."), nothing, "trace must be a new folder or replace a trace"),
}


@pytest.mark.parametrize("case", BAD, ids=str)
def test_bad_input_is_a_short_message_with_exit_status_2(case: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The message has place, rule and value; standard output stays empty, and there is no traceback."""
    arguments, spoil, rule = BAD[case]
    spoil()
    status, out, told = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert rule in told.splitlines()[-1]
    assert told.splitlines()[-1].startswith("clue: ")
    assert "Traceback" not in told


@pytest.mark.parametrize(
    "options",
    [
        ("--from", "xml"),
        ("--to", "otf2"),
        (),
        *(("--flops-per-second", speed) for speed in ("fast", "0", "nan", "inf", "-3")),
    ],
)
def test_bad_usage_has_exit_status_2(options: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """Unknown formats, invalid speeds and a missing target are usage errors."""
    with pytest.raises(SystemExit) as caught:
        main(("convert", "exchange.clue", *(("x.ti", *options) if options else ())))
    assert caught.value.code == 2
    assert "usage: clue convert" in capsys.readouterr().err


def test_an_unknown_ending_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """A misspelt ending would silently make a folder; --to says what is meant."""
    rule = "target must end in one of .clue, .zip, .ti, .goal, .xml, .jsonl, or have --to, got .gaol"
    assert run(capsys, "x.goal", "x.gaol") == (2, "", f"clue: x.gaol: {rule}\n")


@pytest.mark.parametrize(("name", "got"), [("smpi_simgrid.txt", ".txt"), ("run.prv", ".prv"), ("schedule", "none")])
def test_a_source_of_an_unknown_form_is_told_with_the_known_ones(
    name: str, got: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file whose name tells no form, such as SimGrid's own name of a list, needs --from; with it the list is read."""
    Path("actions.0").write_text("0 init\n0 compute 5\n0 finalize\n")
    Path(name).write_text("actions.0\n")
    rule = f"source must end in one of .clue, .zip, .ti, .goal, or have --from, got {got}"
    assert run(capsys, name, "x.clue") == (2, "", f"clue: {name}: {rule}\n")
    assert run(capsys, name, "x.clue", "--from", "ti")[0] == 0


def test_a_compressed_trace_may_have_any_name(capsys: pytest.CaptureFixture[str]) -> None:
    """The content of a compressed trace of clue tells its form."""
    assert run(capsys, "exchange.clue", "x.clue.zip")[0] == 0
    Path("x.clue.zip").rename("x.backup")
    assert run(capsys, "x.backup", "y.clue")[0] == 0


def test_too_little_memory_is_a_short_message(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Running out of memory is a failure with status 1, without a traceback."""

    def greedy(_path: Path) -> None:
        raise MemoryError("Unable to allocate 7.28 TiB")

    monkeypatch.setattr("clue.formats.goal_reading.read_goal", greedy)
    assert run(capsys, "x.goal", "x.clue") == (
        1,
        "",
        "clue: memory must suffice for this command, got Unable to allocate 7.28 TiB\n",
    )


def test_one_file_beside_a_list_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """A trace of one rank becomes a list with one file of actions, which the message names."""
    TraceBuilder(1).build().save("alone.clue")
    _, _, told = run(capsys, "alone.clue", "alone.ti")
    assert told.splitlines()[-1] == "wrote alone.ti and alone.ti.0"


@pytest.mark.parametrize("target", ["x.clue", "x.goal"])
def test_remarks_on_reading_are_told_once(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    """They are among the notes of the trace, which are told, too, where the target cannot hold them."""
    Path("t.ti").write_text("actions\n")
    Path("actions").write_text("0 comm_split\n0 compute 5\n")
    status, _, told = run(capsys, "t.ti", target)
    assert status == 0
    note = "note: 1 action makes a communicator whose members these traces do not state and is left out"
    assert [line.startswith(note) for line in told.splitlines()].count(True) == 1


@pytest.mark.parametrize("form", FORMS)
def test_a_trace_is_inspected_in_any_form(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever its format, the trace has the same ops on the same ranks."""
    assert run(capsys, "exchange.clue", form)[0] == 0
    assert main(("inspect", form, "--json")) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(each["ops"], each["compute"]) for each in found["ranks"]] == [(4, 0.002), (4, 0.0)]
