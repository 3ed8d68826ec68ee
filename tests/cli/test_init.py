"""``clue init`` by options and by questions on a terminal; clue accepts the files it writes."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clue.cli import main
from clue.config import load_config, load_machine
from clue.config.starter import Starter, comparison_text, machine_text
from clue.purchase import Scenario
from clue.trace import TraceBuilder
from tests.cli.commands import run as run_clue
from tests.properties import examples

#: Seconds within which a program asks its next question.
PATIENCE = 30.0


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLUE_CACHE", str(tmp_path.with_name(f"{tmp_path.name}-cache")))
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Run ``clue init`` and return its exit status, standard output and standard error."""
    return run_clue(capsys, "init", *words)


def record(name: str, ranks: int) -> None:
    """Save a recording on a number of ranks, each of which computes for a second."""
    trace = TraceBuilder(ranks, program="solve.py")
    for rank in trace:
        rank.compute(1.0)
    trace.build().save(name)


# --- by options ---


def test_defaults_are_written_and_simulated_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    """In an empty folder the shipped example is copied; the last line printed is the next command, which works."""
    status, out, err = run(capsys, "--yes")
    assert (status, out) == (0, "clue simulate first.yaml\n")
    assert err.splitlines() == ["wrote pingpong-2.clue.zip", "wrote first-machine.yaml", "wrote first.yaml"]
    scenario = load_config("first.yaml")
    assert isinstance(scenario, Scenario) and len(scenario.options) == 2
    assert main(["simulate", "first.yaml"]) == 0
    assert "first: ranked by makespan" in capsys.readouterr().out


def test_the_only_recording_of_a_folder_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    """The recording's number of ranks is known, and the compared machines have enough nodes for it."""
    record("solve.clue", 5)
    assert run(capsys, "--yes", "--processors", "2")[0] == 0
    scenario = load_config("first.yaml")
    assert isinstance(scenario, Scenario)
    assert [(each.name, each.ranks) for each in scenario.workloads] == [("solve", (5,))]
    assert [len(each.machine.nodes) for each in scenario.options] == [3, 6]


@pytest.mark.parametrize("ending", [".clue", ".clue.zip"])
def test_repeats_of_the_only_recording_are_none_of_their_own(ending: str, capsys: pytest.CaptureFixture[str]) -> None:
    """``clue record`` makes three recordings of a short program; without the first one, the others are two.

    Their copies by ``clue convert`` are recordings of one program, too.
    """
    for name in ("solve", "solve.2", "solve.3"):
        record(f"{name}{ending}", 5)
    assert run(capsys, "--yes")[0] == 0
    scenario = load_config("first.yaml")
    assert isinstance(scenario, Scenario)
    assert [each.name for each in scenario.workloads] == ["solve"]
    Path(f"solve{ending}").rename("kept")
    assert "wrote pingpong-2.clue.zip" in run(capsys, "second.yaml", "--yes")[2]


def test_every_question_is_an_option(capsys: pytest.CaptureFixture[str]) -> None:
    """Each option's value is found in the files, which name the program relative to their own folder."""
    Path("heat.py").write_text("from mpi4py import MPI\nMPI.COMM_WORLD.Barrier()\n")
    words = ["new/heat.yaml", "--program", "heat.py", "--args", "--n '1 000'", "--ranks", "4,1,2", "--processors", "8",
             "--memory", "32 GB", "--latency", "2 us", "--bandwidth", "100 Gbit/s", "--nodes", "1,3", "--price",
             "€ 4000", "--budget", "9000 EUR", "--other", "kishimoto"]  # fmt: skip
    assert run(capsys, *words)[:2] == (0, "clue simulate new/heat.yaml\n")
    scenario = load_config("new/heat.yaml")
    assert isinstance(scenario, Scenario)
    (workload,) = scenario.workloads
    application = workload.components[0].application
    assert application.script is not None and application.script.resolve() == Path("heat.py").resolve()
    assert (application.arguments, workload.ranks) == (("--n", "1 000"), (1, 2, 4))
    assert [(each.name, str(each.price)) for each in scenario.options] == [
        ("1-node", "4,000 EUR"), ("3-nodes", "12,000 EUR"), ("other", "None")
    ]  # fmt: skip
    node, link = scenario.options[0].machine.nodes[0], scenario.options[0].machine.network.between_nodes
    assert (node.processors, node.memory) == (8, 32e9)
    # 2 us, and 1.25 MB at 12.5 GB/s.
    assert link.send_delay(1_250_000) + link.transmission_delay(1_250_000) == pytest.approx(2e-6 + 1e-4, rel=1e-12)


@pytest.mark.parametrize("latency", ["1 us", "0.000020 s", "20.0000000 us", "0.00002000000000 s"])
def test_a_latency_of_any_length_is_read_back(capsys: pytest.CaptureFixture[str], latency: str) -> None:
    """The comment behind the latency begins after a blank, however long the latency is written."""
    assert run(capsys, "--yes", "--latency", latency)[0] == 0
    link = load_machine("first-machine.yaml").network.between_nodes
    assert link.transmission_delay(0) == pytest.approx(1e-6 if latency == "1 us" else 20e-6, rel=1e-12)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--processors 0", "init: --processors must be a whole number from 1 to 1,000,000, got '0'"),
        ("--processors two", "init: --processors must be a whole number from 1 to 1,000,000, got 'two'"),
        ("--memory 16", "init: --memory must be a size with a unit, got '16'"),
        ("--latency 0us", "init: --latency must be a time above 0, got '0us'"),
        ("--latency 1e400", "init: --latency must be a time with a unit, got '1e400'"),
        ("--bandwidth fast", 'init: --bandwidth must be a bandwidth with a unit such as "100 Mbit/s", got'),
        ("--nodes 1,,2", "init: --nodes must be whole numbers from 1 to 1,000,000, with commas between, got '1,,2'"),
        ("--processors 2 --nodes 1,2 --program five.clue",
         "init: --nodes must have 3 or more among them, for 5 ranks on nodes of 2 processors, got '1,2'"),
        ("--price cheap", "init: --price must be "),
        ("--program none.py", "init: --program must be a file that exists, got 'none.py'"),
        ("--program none", "init: --program must be a program (.py) or a recording that exists, got 'none'"),
        ("--program x.txt", "init: --program x.txt: trace must be a folder or a .zip of one, got another kind of file"),
        ("--other none.yaml", "init: --other none.yaml: machine must be a file that exists"),
        ("--args 'x", "init: --args must be words in shell syntax"),
        ("--budget 9EUR", "init: --budget must go with --price, got none"),
        ("--price 100EUR --budget 1000USD", "init: --budget must be in EUR, as the price is, got '1000USD'"),
        ("--price 100EUR+-5% --budget 900EUR+-5%",
         "init: --budget must be an amount without a spread, got '900EUR+-5%'"),
    ],
)  # fmt: skip
def test_a_bad_option_is_named(words: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each mistake is a usage error with rule and value, and nothing is written."""
    record("five.clue", 5)
    Path("x.txt").write_text("")
    before = set(Path().iterdir())
    status, out, err = run(capsys, "--yes", *words.split(" "))
    assert (status, out) == (2, "") and said in err
    assert set(Path().iterdir()) == before


def test_all_bad_options_are_told_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    """Three bad options give three lines."""
    err = run(capsys, "--yes", "--processors", "0", "--memory", "1", "--nodes", "x")[2]
    assert [line.split()[2] for line in err.splitlines()] == ["--processors", "--memory", "--nodes"]


@pytest.mark.parametrize("there", ["first.yaml", "first-machine.yaml", "pingpong-2.clue.zip"])
def test_nothing_is_overwritten(there: str, capsys: pytest.CaptureFixture[str]) -> None:
    """If one of the files exists, it stays and none is written."""
    Path(there).write_text("mine")
    status, _, err = run(capsys, "--yes", "--program", "example")
    assert (status, err) == (
        2, f"clue: {there}: file must not exist yet, got one: name another, or remove it\n"
    )  # fmt: skip
    assert [path.name for path in Path().iterdir()] == [there] and Path(there).read_text() == "mine"


def test_without_a_terminal_nobody_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    """The message names the first missing option and ``--yes``, which accepts the defaults."""
    status, _, err = run(capsys, "--program", "example", "--processors", "2")
    assert status == 2
    assert (
        err
        == "clue: init: --memory must be given if standard input is no terminal, or --yes for defaults, got neither\n"
    )
    assert not list(Path().iterdir())


NAMES = st.one_of(
    st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=12),
    st.sampled_from(
        ["true", "No", "null", "1e5", "20", "20 us", "a: b", "a #b", "-x", "jacobi.py", "x/y", "Ünï cöde", ".5"]
    ),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(25))
@given(
    name=NAMES, workload=NAMES, arguments=st.lists(NAMES, max_size=3), nodes=st.sets(st.integers(1, 9), min_size=1),
    price=st.sampled_from(["", "900 EUR", "$ 1,200"]),
)  # fmt: skip
def test_whatever_is_answered_can_be_read(
    folder: Path, *, name: str, workload: str, arguments: list[str], nodes: set[int], price: str
) -> None:
    """Names and arguments of any characters are read back unchanged."""
    (folder / "prog.py").write_text("")
    starter = Starter(name, workload, "prog.py", False, tuple(arguments), (1, 2), 4, "8 GB", "20 us", "1 GB/s",
                      tuple(sorted(nodes)), price, price, "kishimoto")  # fmt: skip
    (folder / "m.yaml").write_text(machine_text(starter), encoding="utf-8")
    (folder / "c.yaml").write_text(comparison_text(starter, "m.yaml", "clue simulate c.yaml"), encoding="utf-8")
    assert load_machine(folder / "m.yaml").processors == 4 * max(nodes)
    scenario = load_config(folder / "c.yaml")
    assert isinstance(scenario, Scenario)
    assert (scenario.name, scenario.workloads[0].name, len(scenario.options)) == (name, workload, len(nodes) + 1)
    assert scenario.workloads[0].components[0].application.arguments == tuple(arguments)


# --- on a terminal ---


#: Makes the pseudo-terminal on standard input the controlling one, which Ctrl-C interrupts, and becomes clue.
_ON_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    "os.execv(sys.executable, [sys.executable, '-m', 'clue', 'init', *sys.argv[1:]])"
)


class Conversation:
    """``clue init`` on a pseudo-terminal."""

    def __init__(self, *words: str) -> None:
        self._terminal, inside = pty.openpty()
        self._process = subprocess.Popen(
            [sys.executable, "-c", _ON_TERMINAL, *words],
            stdin=inside, stdout=inside, stderr=inside, start_new_session=True,
        )  # fmt: skip
        os.close(inside)
        self._unread = ""
        self.said = ""

    def until(self, text: str) -> str:
        """Read until a text appears, and return the output since the last call."""
        end = time.monotonic() + PATIENCE
        while text not in self._unread:
            assert time.monotonic() < end, f"{text!r} must be said, got {self._unread!r}"
            if select.select([self._terminal], [], [], 0.1)[0]:
                self._hear(os.read(self._terminal, 4096))
        heard, found, self._unread = self._unread.partition(text)
        return heard + found

    def type(self, text: str) -> None:
        """Type a text."""
        os.write(self._terminal, text.encode())

    def answer(self, question: str, text: str) -> str:
        """Wait for a question, type an answer, and return the output before the question."""
        heard = self.until(f"{question} [") + self.until("]: ")
        self.type(text)
        return heard

    def end(self, again: str = "") -> int:
        """Wait for the end and return the exit status; type a text again whenever nothing happens for a while.

        Python's ``input`` loses an interrupt that comes after it has written its question and before it waits.
        """
        while True:
            if again and not select.select([self._terminal], [], [], 5)[0]:
                self.type(again)
                continue
            try:
                heard = os.read(self._terminal, 4096)
            except OSError:  # raised by Linux once no process has the terminal open
                break
            if not heard:
                break
            self._hear(heard)
        os.close(self._terminal)
        return self._process.wait(PATIENCE)

    def _hear(self, heard: bytes) -> None:
        text = heard.decode().replace("\r\n", "\n")
        self.said += text
        self._unread += text


QUESTIONS = (
    "recorded ping-pong", "cores) of a node", "Memory of a node, or none", "between nodes", "Bandwidth between nodes",
    "nodes to compare", "Price of a node, or none", "Budget, or none", "name, or none",
)  # fmt: skip


def test_questions_are_asked_and_asked_again(capsys: pytest.CaptureFixture[str]) -> None:
    """An empty line accepts the default in brackets; after a bad answer the question is repeated."""
    answers = {"cores) of a node": "4\n", "Price of a node, or none": "1200 EUR\n", "Budget, or none": "3000 EUR\n"}
    talk = Conversation()
    for question in QUESTIONS:
        if question == "nodes to compare":
            talk.answer(question, "no\n")
            heard = talk.answer(question, "1,2\n")
            assert "clue: nodes must be whole numbers from 1 to 1,000,000, with commas between, got 'no'" in heard
        else:
            talk.answer(question, answers.get(question, "\n"))
    assert talk.end() == 0
    assert "clue simulate first.yaml" in talk.said
    assert main(["simulate", "first.yaml"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"1-node\s+1,200 EUR", out) and re.search(r"2-nodes\s+2,400 EUR", out)


def test_what_is_given_is_not_asked() -> None:
    """Options are not asked for, and a recording needs neither arguments nor ranks."""
    record("solve.clue", 2)
    talk = Conversation("--program", "solve.clue", "--nodes", "1", "--price", "none")
    for question in (
        "cores) of a node",
        "Memory of a node, or none",
        "message between nodes",
        "between nodes",
        "name, or none",
    ):
        talk.answer(question, "\n")
    assert talk.end() == 0
    assert not any(word in talk.said for word in ("recorded ping-pong", "Price", "Budget", "ranks to choose"))


@pytest.mark.parametrize(("typed", "status", "said"), [("\x04", 2, "got the end of input"), ("\x03", 130, "")])
def test_leaving_writes_nothing(typed: str, status: int, said: str) -> None:
    """Ctrl-D ends the input, with status 2, and Ctrl-C interrupts, with status 130."""
    talk = Conversation()
    talk.until("]: ")
    talk.type(typed)
    assert talk.end(again=typed) == status
    assert said in talk.said
    assert not list(Path().iterdir())
