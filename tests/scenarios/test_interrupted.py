"""Ctrl-C at any point of a comparison: status 130, certain results are shown, and no process is left behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.purchase.in_full import whole_ranking
from tests.scenarios.generated import outcomes, source, write

#: Ctrl-C reaches all processes of a terminal at once. Here it is sent when the command reports a certain step.
DRIVER = """\
import os, signal, sys
from clue.cli import main, terminal
from clue.predict import executors

def tell(step, what):
    if sys.argv[1] in what:
        os.killpg(0, signal.SIGINT)

if __name__ == "__main__":
    # Shells let what they start in the background ignore it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    terminal._Step.begin = tell
    executors._ALONE = executors._WORTH_PROCESSES = 0.0
    sys.exit(main(sys.argv[2:]))
"""


def interrupted(folder: Path, moment: str, *arguments: str) -> tuple[int, str, str]:
    """Simulate until a step with this text is reported; return exit status, standard output and standard error."""
    write(folder, "makespan")
    (folder / "driver.py").write_text(DRIVER)
    command = [sys.executable, "driver.py", moment, "simulate", "s.yaml", *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=folder, stdout=pipe, stderr=pipe, text=True, start_new_session=True) as running:
        out, err = running.communicate(timeout=120)
    assert all_ended(running.pid)
    assert "Traceback" not in err, err
    return running.returncode, out, err


def all_ended(group: int) -> bool:
    """Return whether all processes of a group end within half a minute."""
    for _ in range(600):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("phase", ["reading", "placing", "bounding"])
def test_before_anything_is_certain_nothing_is_shown(phase: str, tmp_path: Path) -> None:
    """The output is one line, with the status that shells expect."""
    assert interrupted(tmp_path, phase, "--engine", "fast") == (130, "", "clue: interrupted\n")


@pytest.mark.parametrize("workers", ["1", "2"])
def test_what_is_certain_by_then_is_shown(workers: str, tmp_path: Path) -> None:
    """With one worker or two, the positions that are shown as certain are those of the whole ranking."""
    arguments = ("--json", "--engine", "fast", "--top", "30", "--workers", workers)
    status, out, err = interrupted(tmp_path, "34 simulations", *arguments)
    document = json.loads(out)
    assert (status, document["interrupted"]) == (130, True)
    listed = [each["option"] for each in document["ranking"] if "position" in each]
    certain = document["certain"]
    # One worker begins with the options that look best; of two, the one that has these may be the last to answer.
    assert (workers == "1") <= certain < 30
    whole = whole_ranking(write(tmp_path, "makespan"), source, outcomes())
    assert listed[:certain] == [name for name, _ in whole[:certain]]
    assert all(line.startswith("clue: warning: ") for line in err.splitlines())


def test_an_interrupted_table_says_so(tmp_path: Path) -> None:
    """The table for people states the interruption."""
    status, out, err = interrupted(tmp_path, "simulations")
    assert (status, err) == (130, "")
    assert "Interrupted: " in out
