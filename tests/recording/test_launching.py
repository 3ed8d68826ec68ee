"""The command line and environment of mpiexec, and the time limits of a program."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from clue.calibration.launching import launcher
from clue.cli.effects import mpiexec_words
from clue.recording import launching
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
