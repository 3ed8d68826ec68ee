"""The command line and environment of mpiexec, and the time limits of a program."""

from __future__ import annotations

import math
import time
from pathlib import Path

import pytest

from clue.calibration.launching import launcher
from clue.cli.effects import mpiexec_words
from clue.errors import UsageError
from clue.recording import launching, record, record_repeatedly
from clue.recording.launching import Launch, TimeLimits, command_of, environment_of


def test_ranks_of_this_computer_listen_for_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """On one computer MPI is limited to the loopback device, unless the user or a batch job decides how MPI starts."""
    monkeypatch.setattr(launching, "_has_loopback", lambda: True)
    local = {"UCX_NET_DEVICES": "lo", "FI_TCP_IFACE": "lo"}
    assert local.items() <= environment_of({}, None).items()
    assert environment_of({"UCX_NET_DEVICES": "eth0"}, None)["UCX_NET_DEVICES"] == "eth0"
    for variables, mpiexec in (
        ({}, ["mpiexec", "-hosts", "a,b"]),
        ({"SLURM_JOB_ID": "7"}, None),
        ({"PBS_NODEFILE": "x"}, None),
    ):
        assert not local.keys() & environment_of(variables, mpiexec).keys()
    monkeypatch.setattr(launching, "_has_loopback", lambda: False)
    assert not local.keys() & environment_of({}, None).keys()


@pytest.mark.parametrize("answer", ["Open MPI 4.1", "mpirun (OpenRTE)", "prte (PRRTE) 3.0 \\377", "HYDRA"], ids=str)
def test_one_rule_for_whose_launcher_it_is(answer: str, tmp_path: Path) -> None:
    """Recordings and measurements build the same command, whatever mpiexec prints as its version, in any encoding."""
    mpiexec = tmp_path / "of mine" / "mpiexec"
    mpiexec.parent.mkdir()
    mpiexec.write_text(f"#!/bin/sh\nprintf '{answer}\\n'\n")
    mpiexec.chmod(0o755)
    words = mpiexec_words(f"'{mpiexec}' --bind-to 'none of them'")
    command = command_of(Launch(Path("p.py"), (), 4), Path("x.clue"), words)
    assert command[:3] == [str(mpiexec), "--bind-to", "none of them"]
    assert command[: command.index("-n") + 2] == launcher(words, 4)
    assert ("--oversubscribe" in command) == (answer != "HYDRA")


def test_what_was_recorded_here_is_packed_by_clue(monkeypatch: pytest.MonkeyPatch) -> None:
    """Elsewhere files may come late: the first rank waits for them, and packs the trace."""
    launch, target = Launch(Path("p.py"), (), 2), Path("x.clue")
    for name in launching._ELSEWHERE:
        monkeypatch.delenv(name, raising=False)
    assert "--unpacked" in command_of(launch, target, None)
    assert "--unpacked" not in command_of(launch, target, [launching.find_mpiexec()])
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    assert "--unpacked" not in command_of(launch, target, None)


def test_time_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limits are 10 s after the last sign of life and 60 s after the start."""
    times, signs = iter([100.0, 100.0, 109.0, 115.0, 124.9, 125.0, 159.5, 160.0]), iter([0, 0, 1, 1, 1, 2, 3])
    monkeypatch.setattr(time, "monotonic", lambda: next(times))
    limits = TimeLimits(60.0, 10.0, lambda: next(signs))
    assert limits.pause == 1.0
    expected = ["", "", "", "end an MPI call on some rank every 10 s", "", "end within 60 s"]
    assert [limits.exceeded() for _ in expected] == expected
    monkeypatch.undo()
    assert TimeLimits(None, None, lambda: 0).pause is None
    assert TimeLimits(None, None, lambda: 0).exceeded() == ""


def test_arguments_are_words(tmp_path: Path) -> None:
    """A text in place of a list is refused: its letters would be the arguments. So are numbers; paths are words."""
    (tmp_path / "p.py").write_text("")
    program, target = tmp_path / "p.py", tmp_path / "x.clue"
    for make in (record, record_repeatedly):
        with pytest.raises(UsageError, match="arguments must be a list of words, got '100 1': put each word into the"):
            make(program, "100 1", 2, target)
        with pytest.raises(UsageError, match="arguments must be a list of words, got 1 among them: write it as text"):
            make(program, ["100", 1], 2, target)  # type: ignore[list-item]
        with pytest.raises(UsageError, match="mpiexec must be a list of words, got 'mpiexec -v': put each word"):
            make(program, [], 2, target, mpiexec="mpiexec -v")
        with pytest.raises(UsageError, match="arguments must be a list of words, got None"):
            make(program, None, 2, target)  # type: ignore[arg-type]
        with pytest.raises(UsageError, match=r"mpiexec must be a list of words, got .*: put each word"):
            make(program, [], 2, target, mpiexec=Path("mpiexec"))  # type: ignore[arg-type]
    assert not target.exists()
    assert launching.words_of("arguments", ("-i", Path("a b"))) == ("-i", "a b")


@pytest.mark.parametrize("ranks", [0, 2.0, "2"], ids=repr)
def test_numbers_of_ranks_are_whole(ranks: int, tmp_path: Path) -> None:
    """Two and a half processes cannot be started, nor can a text."""
    (tmp_path / "p.py").write_text("")
    with pytest.raises(UsageError, match=f"ranks must be an integer > 0, got {ranks!r}"):
        record(tmp_path / "p.py", [], ranks, tmp_path / "x.clue")


@pytest.mark.parametrize("seconds", ["60 s", 0, -1.0, float("nan")], ids=repr)
def test_time_limits_are_numbers_of_seconds(seconds: float) -> None:
    """A limit that is not a number would never be reached."""
    with pytest.raises(UsageError, match=f"timeout must be a number of seconds above 0, or None, got {seconds!r}"):
        TimeLimits(seconds, None, lambda: 0)
    with pytest.raises(UsageError, match="limit must be a number of seconds above 0"):
        TimeLimits(None, seconds, lambda: 0)


def test_a_limit_may_be_infinite() -> None:
    """An infinite limit is never reached, as none is."""
    assert TimeLimits(math.inf, math.inf, lambda: 0).exceeded() == ""
