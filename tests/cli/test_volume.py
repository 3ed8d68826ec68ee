"""Verbosity on standard error: errors only, the usual messages, or each step; and progress of long work."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

import clue
from clue.cli import main, terminal
from clue.cli.terminal import Volume, detail, progress, say, speaking
from tests.cli import test_commands
from tests.cli.test_commands import run

folder = test_commands.folder
pytestmark = pytest.mark.usefixtures("folder")

PROGRAM = "from mpi4py import MPI\nsum(range(10000))\nMPI.COMM_WORLD.Barrier()\n"
COMMANDS = {
    "simulate": "simulate run.yaml",
    "compare": "simulate which.yaml",
    "inspect": "inspect pair.yaml",
    "convert": "convert pingpong.clue x.ti",
    "schema": "schema machine",
    "validate": "validate v.yaml",
    "import": "calibrate network osu.txt -o net.yaml",
}


@pytest.fixture(autouse=True)
def inputs(folder: Path) -> None:
    """Add what some commands need."""
    assert Path.cwd() == folder
    Path("osu.txt").write_text(
        "# OSU MPI Latency Test\n# Size  Latency (us)\n" + "".join(f"{2**k} {10 + k}\n" for k in range(12))
    )
    Path("v.yaml").write_text("program: {trace: pingpong.clue}\nmachine: pair.yaml\nmeasured: 0.5\n")


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
def test_quiet_says_nothing_that_is_no_error(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What is printed stays the same; nothing of it is on standard error."""
    _, usual, _ = run(capsys, *command.split())
    status, out, err = run(capsys, *command.split(), "-q")
    assert (status, err) == (0, "")
    assert out == usual


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
def test_loud_says_more_and_prints_the_same(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Every line begins with the program's name, the last tells how long it took."""
    _, usual, err = run(capsys, *command.split())
    status, out, steps = run(capsys, *command.split(), "--verbose")
    assert (status, out) == (0, usual)
    assert set(err.splitlines()) < set(steps.splitlines())
    assert re.fullmatch(r"clue: done in [\d.]+ \w+", steps.splitlines()[-1])
    assert "\x1b" not in steps and "\r" not in steps


def test_quiet_has_warnings_in_the_document(capsys: pytest.CaptureFixture[str]) -> None:
    """They belong to the figures."""
    Path("pair.yaml").write_text(Path("pair.yaml").read_text() + "notes: guessed\n")
    _, out, err = run(capsys, "simulate", "run.yaml", "--json")
    assert (json.loads(out)["warnings"], err) == (["pair: guessed"], "clue: warning: pair: guessed\n")
    _, out, err = run(capsys, "simulate", "run.yaml", "--json", "--quiet")
    assert (json.loads(out)["warnings"], err) == (["pair: guessed"], "")


@pytest.mark.parametrize("words", ["simulate none.yaml", "simulate run.yaml --top 3", "inspect none.clue"])
def test_quiet_says_errors(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    """As loud as ever."""
    _, _, usual = run(capsys, *words.split())
    status, _, err = run(capsys, *words.split(), "-q")
    assert (status, err) == (2, usual)


def test_loud_tells_whether_a_recording_was_there(capfd: pytest.CaptureFixture[str]) -> None:
    """Recorded at first, then taken from the cache; and which engine replayed it, and why."""
    Path("prog.py").write_text(PROGRAM)
    Path("run.yaml").write_text("program: {script: prog.py, ranks: 2}\nmachine: pair.yaml\n")
    told = []
    for _ in range(2):
        assert main(["simulate", "run.yaml", "-v"]) == 0
        told.append(capfd.readouterr().err)
    assert "clue: recording prog.py on 2 ranks\n" in told[0] and "recording prog.py on" not in told[1]
    for each in told:
        assert re.search(r"clue: took prog\.py on 2 ranks from \S+\.clue: the typical one of 3 recordings", each)
    assert "clue: the reference engine replayed 4 ops: below 2,000 ops the reference is done before" in told[1]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--engine", "reference"], "reference was requested"),
        (["--plots", "p"], "only the reference keeps a timeline"),
        (["--plots", "p", "--engine", "fast"], "only the reference keeps a timeline"),
    ],
)
def test_loud_tells_why_an_engine_was_chosen(options: list[str], why: str, capsys: pytest.CaptureFixture[str]) -> None:
    """In words."""
    _, _, err = run(capsys, "simulate", "run.yaml", "-v", *options)
    assert f"clue: the reference engine replayed 4 ops: {why}" in err


def test_engine_of_a_comparison_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    """In the document, and with the steps: which one, and why."""
    _, out, err = run(capsys, "simulate", "which.yaml", "-v", "--json")
    document = json.loads(out)
    assert (document["engine"], "below 2,000 ops" in document["engine_reason"]) == ("reference", True)
    assert err.count(f"clue: engine: reference; {document['engine_reason']}\n") == 1


def test_loud_tells_what_bounds_ruled_out(capsys: pytest.CaptureFixture[str]) -> None:
    """Of two options one is asked for; the other has its bound."""
    text = Path("which.yaml").read_text().replace("2000 EUR", "9000 EUR")
    slow = "  slow: {machine: pair.yaml, with: {node_types: {host: {performance_factor: 50}}}}\n"
    Path("which.yaml").write_text(f"{text}{slow}criterion: makespan\n")
    _, _, err = run(capsys, "simulate", "which.yaml", "-v", "--top", "1")
    assert "options were ruled out by bounds: they cannot be among the first 1" in err
    assert "simulations ranked 1 options" in err


# --- progress ---


def first_lines(capsys: pytest.CaptureFixture[str]) -> str:
    """Wait for lines on standard error, and return them."""
    for _ in range(2000):
        if told := capsys.readouterr().err:
            return told
        time.sleep(0.01)
    raise AssertionError("nothing was said")


def test_long_work_says_a_line_a_minute(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done, how much of it, and since when; no control characters, and nothing once it has ended."""
    assert terminal._EVERY == 60
    monkeypatch.setattr(terminal, "_EVERY", 0.01)
    with progress() as tell:
        assert first_lines(capsys).splitlines()[0] == "clue: at work, after 0 min"
        tell("samples of \x1b[31mred\r:", 3, 10_000)
        first_lines(capsys)
        told = first_lines(capsys)
    assert told.splitlines()[-1] == r"clue: samples of \x1b[31mred\r: 3 of 10,000, after 0 min"
    assert not re.search(r"[^\n\x20-\x7e]", told)
    capsys.readouterr()
    time.sleep(0.05)
    assert capsys.readouterr().err == ""


def test_short_work_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """Within a minute."""
    with progress() as tell:
        tell("simulating", 1, 2)
    assert capsys.readouterr().err == ""


def test_quiet_work_says_nothing(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """However long it takes."""
    monkeypatch.setattr(terminal, "_EVERY", 0.01)
    with speaking(Volume.ERRORS), progress() as tell:
        tell("simulating", 1, 2)
        time.sleep(0.05)
        say(["wrote x"])
        say(["clue: fault"], at=Volume.ERRORS)
    assert capsys.readouterr().err == "clue: fault\n"


def test_each_step_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    """When it begins; a number in front that counts up makes no other step of it."""
    with speaking(Volume.STEPS), progress() as tell:
        for done in range(3):
            tell("bounding", done, 3)
        for done in range(3):
            tell(f"{done} simulations, options compared:", done, 3)
    detail("nobody asked")
    assert capsys.readouterr().err.splitlines() == ["clue: bounding", "clue: … simulations, options compared"]


LONG = {
    "record": "record --repeats 1 -n 1 slow.py",
    "simulate": "simulate run.yaml --json",
    "explain": "simulate run.yaml --json --explain",
    "samples": "simulate noisy.yaml --json --samples 5",
    "compare": "simulate which.yaml --json",
    "validate": "validate v.yaml --json",
    "calibrate": "calibrate network --time 0.5 --largest 1KiB -o here.yaml --json",
    "live": "run -n 1 --machine pair.yaml slow.py",
    "compare live": "run live.yaml --json",
}


@pytest.mark.parametrize("command", LONG.values(), ids=LONG.keys())
def test_every_long_command_tells_of_its_progress(
    command: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of them has the lines, here one for each step it tells of, and none without a step."""
    Path("slow.py").write_text(PROGRAM)
    Path("live.yaml").write_text("workloads: {w: {program: {script: slow.py}}}\noptions: {o: {machine: pair.yaml}}\n")
    noise = "performance_factor: 0.5, noise: {computation: 0.03}"
    Path("noise.yaml").write_text(Path("pair.yaml").read_text().replace("performance_factor: 0.5", noise))
    Path("noisy.yaml").write_text("program: {trace: pingpong.clue}\nmachine: noise.yaml\n")
    told: list[str] = []
    monkeypatch.setattr(terminal._Step, "begin", lambda _, what: told.append(what))
    assert main(command.split()) == 0
    assert told and all(told)
    assert "\x1b" not in capfd.readouterr().err


CODE = "from clue.cli.terminal import progress\nwith progress() as tell:\n    tell('simulating', 1, 2)\n"


def on_a_terminal(**environment: str) -> bytes:
    """Return what progress writes to a terminal."""
    ours, theirs = pty.openpty()
    subprocess.run([sys.executable, "-c", CODE], stderr=theirs, check=True, env=surroundings(**environment))
    os.write(theirs, b"end")
    os.close(theirs)
    written = os.read(ours, 100_000)
    os.close(ours)
    return written


def surroundings(**environment: str) -> dict[str, str]:
    """Return an environment that says nothing of colours but what is given."""
    silent = {name: value for name, value in os.environ.items() if name not in {"NO_COLOR", "FORCE_COLOR"}}
    return silent | {"PYTHONPATH": str(Path(clue.__file__).parent.parent), "TERM": "xterm-256color"} | environment


def test_a_terminal_has_a_bar_and_a_file_has_none() -> None:
    """Whatever FORCE_COLOR says of colours: control characters are for terminals."""
    forced = surroundings(FORCE_COLOR="1")
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True, env=forced)
    assert (done.stdout, done.stderr) == ("", "")
    assert b"simulating" in on_a_terminal()


def test_a_bar_has_colours_where_they_are_wanted() -> None:
    """NO_COLOR takes them away."""
    colour = re.compile(rb"\x1b\[(?:\d+;)*(?:3\d|9\d)")
    assert colour.search(on_a_terminal())
    assert not colour.search(on_a_terminal(NO_COLOR="1"))


def test_a_dumb_terminal_has_no_bar() -> None:
    """It knows no control characters."""
    assert on_a_terminal(TERM="dumb") == b"end"
