"""MPI called from C in a live run is refused by name before it gives wrong results; sockets are reported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from clue.trace import Trace
from tests.live.programs import Live
from tests.objects import build, build_library, build_module

RULE = "clue: prog.py: rank {rank} must call MPI by mpi4py alone in a live run, got {got}, linked to MPI"
#: Opens a library by C's dlopen, as cffi and LLVM do, which no Python hook notices.
BY_HAND = """
import ctypes
dlopen = ctypes.CDLL(None).dlopen
dlopen.restype = ctypes.c_void_p
assert dlopen(b"{library}", 2)
"""


@pytest.mark.parametrize("mpi", ["", "from mpi4py import MPI"])
def test_a_library_is_refused_as_it_is_opened(live: Live, mpi: str) -> None:
    """With or without mpi4py, the error names the line that opened the library, and the rank cannot catch the error."""
    library = build_library(live.folder)
    ended = live(f"""\
        import ctypes
        {mpi}
        try:
            library = ctypes.CDLL("{library}")
        except BaseException:
            pass
        print(library.total(1))
        """)
    assert (ended.status, ended.out) == (1, "")
    assert RULE.format(rank=0, got="libbelow.so at prog.py:4") in ended.err
    assert "would find one rank instead of 2; leave it out" in ended.err


def test_a_module_is_refused_as_it_is_imported(live: Live) -> None:
    """The error names the program's line, however deep the import is, and the first rank that reaches it."""
    name = build_module(live.folder).name
    live.write("import below\n", "wrapper.py")
    ended = live("""\
        from mpi4py import MPI
        MPI.COMM_WORLD.Barrier()
        if MPI.COMM_WORLD.rank == 1:
            import wrapper
        MPI.COMM_WORLD.Barrier()
        print("went on")
        """)
    assert (ended.status, ended.out) == (1, "")
    assert RULE.format(rank=1, got=f"{name} at prog.py:4") in ended.err


def test_what_came_unnoticed_is_refused_at_the_end(live: Live) -> None:
    """A library that was opened without Python and ctypes is detected and refused at the end of the run."""
    ended = live(BY_HAND.format(library=build_library(live.folder)))
    assert ended.status == 1
    assert RULE.format(rank=0, got="libbelow.so") in ended.err


def test_what_was_there_before_is_refused_at_the_start(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    """A library that LD_PRELOAD loads into every process is refused before the program starts."""
    monkeypatch.setenv("LD_PRELOAD", str(build_library(live.folder)))
    path = live.write("print('started')")
    ran = subprocess.run(
        [sys.executable, "-m", "clue", "run", "-n", "2", "--machine", live.machine, str(path)],
        capture_output=True, text=True, check=False, cwd=Path(__file__).resolve().parents[2],
    )  # fmt: skip
    assert (ran.returncode, ran.stdout) == (1, "")
    assert RULE.format(rank=0, got="libbelow.so") in ran.stderr


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("import ctypes\nctypes.CDLL(None).MPI_Allreduce", "MPI_Allreduce"),
        ("MPI._addressof(MPI.COMM_WORLD)", "_addressof"),
        ("MPI._handleof(MPI.COMM_WORLD.Dup())", "_handleof"),
    ],
)
def test_functions_and_handles_are_refused(live: Live, text: str, named: str) -> None:
    """The error occurs where the program asks for a function of MPI or a handle, so it never gets one."""
    ended = live(f"from mpi4py import MPI\n{text}\nprint('went on')\n")
    assert (ended.status, ended.out) == (1, "")
    assert (
        f"must end well, got NotImplementedError: {named}: a live run does not support MPI called from C or Fortran"
    ) in ended.err


def test_one_rank_alone_may_call_what_it_likes(live: Live) -> None:
    """One rank may call MPI from C; several ranks may still get handles of objects that are local to a rank."""
    build_module(live.folder)
    ended = live("import below\nprint(below.total())\n", ranks=1)
    assert (ended.status, ended.out.splitlines()[0]) == (0, "1")
    own = "from mpi4py import MPI\nassert all(map(MPI._addressof, (MPI.COMM_SELF, MPI.INT, MPI.SUM, MPI.Status())))"
    assert live(own).status == 0


def test_what_does_not_communicate_is_not_suspected(live: Live) -> None:
    """Packages often used with mpi4py are accepted, as is a library that is linked to MPI but never calls it."""
    idle = build(live.folder, "libidle.so", "int idle(void) { return 7; }", "-Wl,--no-as-needed", "-lmpi")
    ended = live(f"""\
        import ctypes
        import matplotlib, schwimmbad, scipy.linalg, mpi4py.util.pkl5
        from mpi4py import MPI
        from mpi4py.futures import MPICommExecutor
        assert ctypes.CDLL("{idle}").idle() == 7
        with MPICommExecutor(MPI.COMM_WORLD) as pool:
            assert pool is None or list(pool.map(abs, (-1, 2))) == [1, 2]
        """)
    assert ended.status == 0
    assert "MPI" not in ended.out


def test_sockets_between_ranks_are_told_of(live: Live) -> None:
    """Sockets between ranks are reported with the result and in the kept trace; the sender does not block."""
    ended = live(
        """\
        import socket
        from mpi4py import MPI
        comm = MPI.COMM_WORLD
        if comm.rank == 0:
            own = socket.create_server(("127.0.0.1", 0))
            comm.send(own.getsockname(), 1)
            comm.Barrier()
            assert own.accept()[0].recv(1) == b"x"
        else:
            socket.create_connection(comm.recv(source=0)).sendall(b"x")
            comm.Barrier()
        """,
        "--record",
        "kept.clue",
    )
    assert ended.status == 0
    assert "prog.py: the ranks communicate by sockets besides MPI" in ended.out
    (note,) = Trace.open(live.folder / "kept.clue").head.notes
    assert "(rank 1 with rank 0 at port " in note
