"""``--window``: a period of the timeline, given with units; refused where it would have no effect."""

from __future__ import annotations

from pathlib import Path

import pytest

from clue.cli import main
from clue.cli.arguments import parse_arguments
from clue.trace import TraceBuilder

pytestmark = pytest.mark.usefixtures("folder")

MACHINE = """\
name: one
nodes: [{count: 1, type: host}]
node_types: {host: {processors: 1, performance_factor: 1}}
network: {between_nodes: {send_delay: 10 us, transmission_delay: 40 us}}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder to work in that holds a rank that computes for two seconds, and a comparison of one option."""
    monkeypatch.chdir(tmp_path)
    trace = TraceBuilder(1, program="compute.py")
    trace[0].compute(2.0)
    trace.build().save("compute.clue")
    Path("machine.yaml").write_text(MACHINE)
    Path("run.yaml").write_text("program: {trace: compute.clue}\nmachine: machine.yaml\n")
    Path("which.yaml").write_text(
        "name: which\nworkloads: {w: {program: {trace: compute.clue}, ranks: [1]}}\n"
        "options: {a: {machine: machine.yaml}}\n"
    )
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Run a command and return its exit status and standard error."""
    try:
        status = main(arguments)
    except SystemExit as ended:
        status = int(str(ended.code))
    return status, capsys.readouterr().err


@pytest.mark.long
def test_a_window_is_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    """The window is a second panel of the timeline, so the picture is higher than without."""
    heights = []
    for more in ((), ("--window", "0.5 s:700ms")):
        assert run(capsys, "simulate", "run.yaml", "--plots", "plots", *more)[0] == 0
        heights.append(int.from_bytes(Path("plots/timeline.png").read_bytes()[20:24], "big"))
    assert heights[1] > heights[0]


@pytest.mark.parametrize("command", ["simulate", "run"])
def test_a_window_needs_plots(capsys: pytest.CaptureFixture[str], command: str) -> None:
    """A window without plots has no effect, so it is refused."""
    status, err = run(capsys, command, "--window", "1s:2s", "run.yaml")
    assert (status, err) == (2, "clue: --window must go with --plots, got no folder for plots\n")


@pytest.mark.parametrize("command", ["simulate", "run"])
def test_a_window_needs_one_program(capsys: pytest.CaptureFixture[str], command: str) -> None:
    """A comparison has no timeline, so a window is refused."""
    status, err = run(capsys, command, "which.yaml", "--plots", "plots", "--window", "1s:2s")
    assert (status, err) == (
        2, "clue: which: --window must go with one program on one machine, got a comparison\n"
    )  # fmt: skip
    assert not Path("plots").exists()


@pytest.mark.parametrize(
    ("window", "fault"),
    [
        ("1s", "must be two times such as 1.2s:1.25s, got '1s'"),
        ("1:2s", 'must be a time with a unit, got \'1\': did you mean "1 us" or "1 ms" or "1 s"?'),
        ("1s:", "must be a time with a unit such as \"12.5 us\", got ''"),
        ("1s:2 B", "must be a time in a known unit"),
        ("2s:1000ms", "must begin before it ends, got '2s:1000ms'"),
        ("1s:1s", "must begin before it ends, got '1s:1s'"),
        ("-1s:1s", "must be a time not below 0, got '-1s'"),
    ],
)
def test_a_window_is_two_times(capsys: pytest.CaptureFixture[str], window: str, fault: str) -> None:
    """A bad window is refused with rule and value, and status 2."""
    status, err = run(capsys, "simulate", "run.yaml", "--plots", "plots", f"--window={window}")
    assert status == 2
    assert f"argument --window: {fault}" in err


def test_a_window_behind_the_end_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """A window that begins when the program ends, after two seconds, is refused."""
    status, err = run(capsys, "simulate", "run.yaml", "--plots", "plots", "--window", "2s:3s")
    assert (status, err) == (2, "clue: window must begin before the end of the program at 2 s, got 2 s\n")


def test_a_window_may_stand_behind_the_configuration_of_a_run() -> None:
    """The value of ``--window`` is not mistaken for the configuration."""
    for words in (["c.yaml", "--window", "1s:2s"], ["--window", "1s:2s", "c.yaml"]):
        parsed = parse_arguments(["run", *words])
        assert (parsed.words, parsed.window) == (["c.yaml"], (1.0, 2.0))
