"""Fixtures that write a program to a file, record it with mpiexec and open its trace."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from clue.recording import find_mpiexec, record
from clue.trace import Trace

Recorded = Callable[..., Trace]

#: Begins each program. Importing numpy takes as long as starting Python, so only programs that need it import it.
PREAMBLE = """
from array import array
from mpi4py import MPI
comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
other = 1 - rank
eight, room = array("d", [1.0] * 8), array("d", bytes(64))
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """Return a function that records a program given as text; a call that the layer cannot interpret is an error."""
    find_mpiexec()

    def run(text: str, ranks: int = 2, *, preamble: str = PREAMBLE, arguments: tuple[str, ...] = ()) -> Trace:
        folder = tmp_path_factory.mktemp("recorded")
        program = folder / "program.py"
        program.write_text(preamble + textwrap.dedent(text))
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("VIRTUAL_LAYER_STRICT", "1")
            return record(program, arguments, ranks, folder / "program.clue", timeout=120)

    return run


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str], Path]:
    """Return a function that writes a program to a file."""

    def write(text: str, preamble: str = PREAMBLE) -> Path:
        file = tmp_path / "program.py"
        file.write_text(preamble + textwrap.dedent(text))
        return file

    return write
