"""MPI called from C is not recorded, and the trace says so; a program without such calls gets no note."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from mpi4py import MPI

from clue import Trace
from clue.cli import main
from clue.errors import RecordError
from clue.recording import record
from tests.busy import of_the_program
from tests.objects import build, build_library, build_module
from virtual_layer.below import name_some
from virtual_layer.elf import loaded_objects, mpi_symbols

Write = Callable[..., Path]
SAID = "MPI may be called from C or Fortran, past mpi4py: such calls are not recorded"
MACHINE = """\
name: two
nodes: [{count: 2, type: host}]
node_types: {host: {processors: 1}}
network: {between_nodes: {send_delay: 1 us, transmission_delay: 1 us, receive_delay: 1 us}}
"""


def _notes(program: Path, ranks: int = 2) -> list[str]:
    return of_the_program(record(program, [], ranks, program.with_suffix(".clue"), timeout=120).head.notes)


@pytest.fixture
def linked(program: Write, tmp_path: Path) -> Path:
    """Return a program that sums over all ranks in a C library."""
    text = f'import ctypes\nassert ctypes.CDLL("{build_library(tmp_path)}").total(1) == size\n'
    return program(text)


def test_a_linked_library_is_named_wherever_figures_are(
    linked: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The note appears once after recording, in the trace, in results as text and JSON, and on conversion."""
    named = "(libbelow.so is linked to MPI)"
    assert main(["record", "--repeats", "1", "-n", "2", "-o", str(tmp_path / "x.clue"), str(linked)]) == 0
    recorded = capfd.readouterr()
    assert SAID not in recorded.err
    assert recorded.out.count(SAID[:40]) == 1
    assert main(["record", "--repeats", "1", "-n", "2", "-o", str(tmp_path / "x.clue"), "--json", str(linked)]) == 0
    assert capfd.readouterr().err.count(f"clue: warning: {SAID}") == 1
    (note,) = of_the_program(Trace.open(tmp_path / "x.clue").head.notes)
    assert note.startswith(SAID)
    assert note.endswith(named)
    assert main(["inspect", str(tmp_path / "x.clue"), "--json"]) == 0
    assert of_the_program(json.loads(capfd.readouterr().out)["notes"]) == [note]
    (tmp_path / "two.yaml").write_text(MACHINE)
    one, several = tmp_path / "one.yaml", tmp_path / "several.yaml"
    one.write_text("program: {trace: x.clue}\nmachine: two.yaml\n")
    several.write_text(
        "name: several\ncriterion: makespan\nworkloads: {w: {program: {trace: x.clue}, ranks: 2}}\n"
        "options: {a: {machine: two.yaml}}\n"
    )
    for config, name in ((one, "x.clue"), (several, "w")):
        assert main(["simulate", str(config)]) == 0
        assert SAID[:40] in capfd.readouterr().out
        assert main(["simulate", str(config), "--json"]) == 0
        assert f"{name}: {note}" in json.loads(capfd.readouterr().out)["warnings"]
    assert main(["convert", str(tmp_path / "x.clue"), str(tmp_path / "x.goal")]) == 0
    assert f"note: {note}" in capfd.readouterr().err


@pytest.mark.parametrize(("options", "times"), [([], 1), (["-q"], 0)])
def test_the_layer_says_what_nobody_else_will_show(linked: Path, options: list[str], times: int) -> None:
    """A program started by hand prints the note once; the option -q, which clue's own commands use, silences it."""
    linked.write_text(linked.read_text().replace("== size", "== 1"))
    done = subprocess.run(
        [sys.executable, "-m", "virtual_layer", *options, linked.name],
        cwd=linked.parent, capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert done.stderr.count(f"virtual_layer: {linked.name}: rank 0: {SAID}") == times
    assert Trace.open(linked.with_suffix(".clue")).head.notes


@pytest.mark.parametrize(
    "text",
    ["import below\nfrom mpi4py import MPI\n", "from mpi4py import MPI\nMPI.COMM_WORLD.Barrier()\nimport below\n"],
)
def test_a_module_is_seen_before_and_after_mpi_begins(program: Write, tmp_path: Path, text: str) -> None:
    """A module in C is noted whether it is imported before or after MPI is initialised, and whoever initialises MPI."""
    name = build_module(tmp_path).name
    (note,) = _notes(program(f"{text}assert below.total() == 2\n", preamble=""))
    assert note.endswith(f"({name} is linked to MPI)")


def test_ctypes_on_the_library_itself_is_seen(program: Write) -> None:
    """The note names functions of the MPI library that ctypes looked up, and handles that were given to C."""
    library = next(path for path in loaded_objects() if "MPI_Init" in mpi_symbols(path).defined)
    (note,) = _notes(program(f'import ctypes\nctypes.CDLL("{library}").MPI_Barrier\nMPI._addressof(comm)\n'))
    assert note.endswith("(ctypes looked up MPI_Barrier; MPI._addressof gave handles to C)")


def test_a_program_whose_mpi_is_all_in_c_is_told_so(
    program: Write, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A program that calls MPI only from C cannot be recorded; the error names the module that calls MPI."""
    build_module(tmp_path)
    with pytest.raises(RecordError, match=r"must initialise MPI by mpi4py .*, got none on any of 2 ranks"):
        record(program("import below\nbelow.total()\n", preamble=""), [], 2, tmp_path / "x.clue", timeout=60)
    assert "calls from C or Fortran are not recorded (below." in capfd.readouterr().err


def test_what_does_not_communicate_is_not_suspected(program: Write, tmp_path: Path) -> None:
    """Packages often used with mpi4py give no note, nor do libraries that use no MPI or only MPI_Initialized."""
    idle = build(tmp_path, "libidle.so", "int idle(void) { return 7; }", "-Wl,--no-as-needed", "-lmpi")
    asks = "#include <mpi.h>\nint asks(void) { int yes; MPI_Initialized(&yes); return yes; }"
    needed = subprocess.run(["readelf", "-d", str(idle)], capture_output=True, text=True, check=True).stdout
    assert "libmpi" in needed
    text = f"""
        import ctypes
        import matplotlib, schwimmbad, scipy.linalg, mpi4py.util.pkl5, mpi4py.futures
        matplotlib.use("agg")
        import matplotlib.pyplot
        assert ctypes.CDLL("{idle}").idle() == 7
        assert ctypes.CDLL("{build(tmp_path, "libasks.so", asks)}").asks()
        assert MPI._addressof(MPI.INT) and MPI._sizeof(comm)
        comm.Barrier()
        """
    assert _notes(program(text), ranks=1) == []


def test_symbols_of_objects() -> None:
    """Objects have wanted and defined symbols of MPI; a file that is not such an object has neither."""
    mine = mpi_symbols(MPI.__file__)
    assert {"MPI_Init_thread", "MPI_Comm_free"} <= mine.wanted
    assert not mine.defined
    assert MPI.__file__ in loaded_objects()
    for nothing in (__file__, sys.executable, "/dev/null", "/nowhere"):
        assert mpi_symbols(nothing) == (frozenset(), frozenset())


def test_a_cut_object_has_no_symbols(tmp_path: Path) -> None:
    """A truncated object file has no symbols, as it cannot be loaded either."""
    whole = Path(MPI.__file__).read_bytes()
    for length in (0, 5, 64, 1000, len(whole) // 2):
        (tmp_path / "cut.so").write_bytes(whole[:length])
        assert mpi_symbols(str(tmp_path / "cut.so")) == (frozenset(), frozenset())


@pytest.mark.parametrize(
    ("names", "text"),
    [(["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c"), (list("abcde"), "a, b, c and 2 more")],
)
def test_few_are_named(names: list[str], text: str) -> None:
    """Up to three names are listed; more are counted."""
    assert name_some(names) == text
