"""A fixed selection of hostile inputs: each ends in success with finite figures or in one error of clue.

``CLUE_MUTATIONS=5000 pytest tests/hostile`` tries more, ``CLUE_MUTATION_SEED=7`` others; ``python -m tests.hostile
traces 7000017 1`` tries one again.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hostile.__main__ import SECONDS

#: Number of mutated traces, to which the numbers of other inputs are proportional.
_TRACES = int(os.environ.get("CLUE_MUTATIONS", "200"))
_CASES = {"traces": _TRACES, "parts": _TRACES // 2, "inputs": _TRACES * 2 // 5}
#: The first case has a million times this number.
_SEED = int(os.environ.get("CLUE_MUTATION_SEED", "0"))


@pytest.mark.parametrize("kind", _CASES)
def test_what_is_hostile_ends_well(kind: str, tmp_path: Path) -> None:
    """No case ends in a traceback, crash or hang, uses all memory, or prints control characters; both engines agree.

    The cases run in a separate process, which one of them may end.
    """
    command = [sys.executable, "-m", "tests.hostile", kind, str(_SEED * 10**6), str(_CASES[kind])]
    environment = {**os.environ, "TMPDIR": str(tmp_path), "OPENBLAS_NUM_THREADS": "1"}
    log = tmp_path / "log"
    with log.open("wb") as said:
        done = subprocess.run(
            command, stdout=said, stderr=subprocess.STDOUT, env=environment, check=False, timeout=_CASES[kind] * SECONDS
        )
    lines = log.read_text().splitlines()
    failed = [line for line in lines if not line.startswith(("begin", "end"))]
    assert not failed, "\n".join(failed[:20])
    assert done.returncode == 0, lines[-1]
    assert sum(line.startswith("end") for line in lines) == _CASES[kind]
