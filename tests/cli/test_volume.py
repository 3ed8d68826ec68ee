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
from tests.cli.commands import run

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
    """Write the inputs of some commands."""
    assert Path.cwd() == folder
    Path("osu.txt").write_text(
        "# OSU MPI Latency Test\n# Size  Latency (us)\n" + "".join(f"{2**k} {10 + k}\n" for k in range(12))
    )
    Path("v.yaml").write_text("program: {trace: pingpong.clue}\nmachine: pair.yaml\nmeasured: 0.5\n")


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
def test_quiet_says_nothing_that_is_no_error(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """With ``-q``, standard output stays the same, and standard error stays empty."""
    _, usual, _ = run(capsys, *command.split())
    status, out, err = run(capsys, *command.split(), "-q")
    assert (status, err) == (0, "")
    assert out == usual


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
def test_loud_says_more_and_prints_the_same(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """``--verbose`` adds lines to standard error, the last with the time taken; standard output stays the same."""
    _, usual, err = run(capsys, *command.split())
    status, out, steps = run(capsys, *command.split(), "--verbose")
    assert (status, out) == (0, usual)
    assert set(err.splitlines()) < set(steps.splitlines())
    assert re.fullmatch(r"clue: done in [\d.]+ \w+", steps.splitlines()[-1])
    assert "\x1b" not in steps and "\r" not in steps


def test_quiet_has_warnings_in_the_document(capsys: pytest.CaptureFixture[str]) -> None:
    """Warnings are part of the results: ``--quiet`` keeps them in the document."""
    Path("pair.yaml").write_text(Path("pair.yaml").read_text() + "notes: guessed\n")
    _, out, err = run(capsys, "simulate", "run.yaml", "--json")
    assert (json.loads(out)["warnings"], err) == (["pair: guessed"], "clue: warning: pair: guessed\n")
    _, out, err = run(capsys, "simulate", "run.yaml", "--json", "--quiet")
    assert (json.loads(out)["warnings"], err) == (["pair: guessed"], "")


@pytest.mark.parametrize("words", ["simulate none.yaml", "simulate run.yaml --top 3", "inspect none.clue"])
def test_quiet_says_errors(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Errors are the same with ``--quiet``."""
    _, _, usual = run(capsys, *words.split())
    status, _, err = run(capsys, *words.split(), "-q")
    assert (status, err) == (2, usual)


def test_loud_tells_whether_a_recording_was_there(capfd: pytest.CaptureFixture[str]) -> None:
    """The first run records, the second uses the cache; both state the recording, the engine and its reason."""
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
def test_loud_tells_why_an_engine_was_chosen(
    options: list[str], why: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The steps state in words why the reference engine was chosen; no picture is drawn here, which takes longer."""
    monkeypatch.setattr("clue.cli.simulate.plot_result", lambda *_: [])
    _, _, err = run(capsys, "simulate", "run.yaml", "-v", *options)
    assert f"clue: the reference engine replayed 4 ops: {why}" in err


def test_engine_of_a_comparison_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    """The document and the steps state the engine of a comparison and the reason, once."""
    _, out, err = run(capsys, "simulate", "which.yaml", "-v", "--json")
    document = json.loads(out)
    assert (document["engine"], "below 2,000 ops" in document["engine_reason"]) == ("reference", True)
    assert err.count(f"clue: engine: reference; {document['engine_reason']}\n") == 1


def test_loud_tells_what_bounds_ruled_out(capsys: pytest.CaptureFixture[str]) -> None:
    """With ``--top 1`` bounds rule out options, and the steps say how many were simulated."""
    text = Path("which.yaml").read_text().replace("2000 EUR", "9000 EUR")
    slow = "  slow: {machine: pair.yaml, with: {node_types: {host: {performance_factor: 50}}}}\n"
    Path("which.yaml").write_text(f"{text}{slow}criterion: makespan\n")
    _, _, err = run(capsys, "simulate", "which.yaml", "-v", "--top", "1")
    assert "options were ruled out by bounds: they cannot be among the first 1" in err
    assert "simulations ranked 1 options" in err


# --- progress ---


def first_lines(capsys: pytest.CaptureFixture[str]) -> str:
    """Wait until something is written to standard error, and return it."""
    for _ in range(2000):
        if told := capsys.readouterr().err:
            return told
        time.sleep(0.01)
    raise AssertionError("nothing was said")


def test_long_work_says_a_line_a_minute(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line states the step, how much of it is done and since when, without control characters, until work ends."""
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
    """Work that ends within a minute has no lines of progress."""
    with progress() as tell:
        tell("simulating", 1, 2)
    assert capsys.readouterr().err == ""


def test_quiet_work_says_nothing(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Quiet work has no lines of progress, however long it takes."""
    monkeypatch.setattr(terminal, "_EVERY", 0.01)
    with speaking(Volume.ERRORS), progress() as tell:
        tell("simulating", 1, 2)
        time.sleep(0.05)
        say(["wrote x"])
        say(["clue: fault"], at=Volume.ERRORS)
    assert capsys.readouterr().err == "clue: fault\n"


def test_each_step_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    """A step is reported when it begins; a count in front of its text does not make it another step."""
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
    """Each long command reports at least one step of progress."""
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
    """Return an environment whose only settings of colours are the given ones."""
    silent = {name: value for name, value in os.environ.items() if name not in {"NO_COLOR", "FORCE_COLOR"}}
    return silent | {"PYTHONPATH": str(Path(clue.__file__).parent.parent), "TERM": "xterm-256color"} | environment


def test_a_terminal_has_a_bar_and_a_file_has_none() -> None:
    """A file gets no bar even with FORCE_COLOR: control characters are for terminals."""
    forced = surroundings(FORCE_COLOR="1")
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True, env=forced)
    assert (done.stdout, done.stderr) == ("", "")
    assert b"simulating" in on_a_terminal()


def test_a_bar_has_colours_where_they_are_wanted() -> None:
    """The bar has colours unless NO_COLOR is set."""
    colour = re.compile(rb"\x1b\[(?:\d+;)*(?:3\d|9\d)")
    assert colour.search(on_a_terminal())
    assert not colour.search(on_a_terminal(NO_COLOR="1"))


def test_a_dumb_terminal_has_no_bar() -> None:
    """A dumb terminal knows no control characters, so it gets no bar."""
    assert on_a_terminal(TERM="dumb") == b"end"
