"""Observing the processes of a live run from outside."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.live.processes import FOLDER, Live, family, proportional
from benchmarks.page import processor


def test_a_family_is_a_process_and_its_descendants() -> None:
    """The family of a shell with a sleeping child is these two processes."""
    with subprocess.Popen(["/bin/sh", "-c", "sleep 60 & echo $!; wait"], stdout=subprocess.PIPE, text=True) as shell:
        assert shell.stdout is not None
        child = int(shell.stdout.readline())
        assert list(family(shell.pid)) == [shell.pid, child]
        os.kill(child, 9)


def test_memory_of_a_process_is_what_it_touches() -> None:
    """A process that fills 32 MiB has at least that much memory, without this process's own."""
    fill = "block = b'1' * (32 << 20); print(); input()"
    with subprocess.Popen([sys.executable, "-c", fill], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert 32 << 20 < proportional(process.pid) < 64 << 20
        process.communicate(b"\n")


def test_processor_time_is_that_of_all_threads() -> None:
    """A process whose second thread has used 0.3 s, while its first one waits, has used more than that."""
    burn = """
import sys, threading, time
def burn():
    while time.thread_time() < 0.3:
        pass
    print(flush=True)
    sys.stdin.readline()
threading.Thread(target=burn).start()
"""
    seconds_of = runpy.run_path(str(FOLDER / "programs" / "calls.py"))["seconds_of"]
    with subprocess.Popen([sys.executable, "-c", burn], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert seconds_of(process.pid) > 0.3
        process.communicate(b"\n")


def test_cores_are_counted_where_processors_have_no_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """On ARM, Linux gives no model name: a computer with four cores has four."""
    with monkeypatch.context() as arm:
        arm.setattr(Path, "read_text", lambda *_, **__: "processor\t: 0\nBogoMIPS\t: 50.00\n")
        arm.setattr("platform.machine", lambda: "aarch64")
        arm.setattr("os.cpu_count", lambda: 4)
        assert processor() == "aarch64 (4 cores)"


def test_a_live_run_is_a_command_line() -> None:
    """A live run's command has the options of `clue run` before the program and the program's arguments after it."""
    words = Live("calls.py", ("pingpong",), 64, options=("--bursts", "synthetic")).command
    assert words[1:6] == ["-m", "clue", "run", "-n", "64"]
    assert words[-2].endswith("calls.py")
    assert words[-1] == "pingpong"
    assert words.index("--bursts") < words.index(words[-2])
