"""Recorded ranks ask for the longest time slices of the default scheduling policy."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from virtual_layer.scheduling import LONGEST, lengthen_slices, time_slice


def _kernel_knows_slices() -> bool:
    """Tell whether the kernel has slices of single processes: Linux 6.12 and later."""
    major, minor = (int(word) for word in os.uname().release.split(".")[:2])
    return sys.platform.startswith("linux") and (major, minor) >= (6, 12)


pytestmark = pytest.mark.skipif(not _kernel_knows_slices(), reason="needs Linux 6.12 or later")

_SHOWN = "from virtual_layer.scheduling import time_slice; print(time_slice())"


def _run(*words: str) -> str:
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def test_the_longest_slice_is_granted_and_inherited() -> None:
    """The call changes the slice of the calling process and of its children, but not its nice value."""
    program = (
        "import os, subprocess, sys\n"
        "from virtual_layer.scheduling import lengthen_slices, time_slice\n"
        "os.nice(3)\n"
        "before = time_slice()\n"
        "lengthen_slices()\n"
        f"child = subprocess.run([sys.executable, '-c', {_SHOWN!r}], capture_output=True, text=True).stdout.strip()\n"
        "print(before <= time_slice(), time_slice(), child, os.nice(0))\n"
    )
    assert _run("-c", program) == f"True {LONGEST} {LONGEST} {os.nice(0) + 3}"


def test_the_layer_lengthens_the_slices_of_the_program(tmp_path: Path) -> None:
    """A program that runs under the layer has the longest slice."""
    assert _run("-m", "virtual_layer", "-o", str(tmp_path / "trace.clue"), "-c", _SHOWN) == str(LONGEST)


def test_other_policies_stay_as_they_are() -> None:
    """A process under SCHED_BATCH keeps its policy and its slice."""
    program = (
        "import os\n"
        "from virtual_layer.scheduling import lengthen_slices, time_slice\n"
        "os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))\n"
        "before = time_slice()\n"
        "lengthen_slices()\n"
        "print(time_slice() == before, os.sched_getscheduler(0) == os.SCHED_BATCH)\n"
    )
    assert _run("-c", program) == "True True"


def test_nothing_happens_on_unknown_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a processor whose system calls are not known, nothing is called and no slice is told."""
    monkeypatch.setattr(platform, "machine", lambda: "pdp11")
    lengthen_slices()
    assert time_slice() is None
