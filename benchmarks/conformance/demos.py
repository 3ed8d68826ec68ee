"""mpi4py's demo programs, schwimmbad's MPIPool and mpi4py.futures' MPICommExecutor, both ways.

A program succeeds or fails; if its output depends on neither time nor order, the output is compared as well.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.conformance.files import LIVE, REAL, RunEnd, start

_OWN = Path(__file__).with_name("programs")
#: Prefix of an argument that stands for an executable copy of a file.
_EXECUTABLE = "executable:"
#: Attempts by mpiexec: schwimmbad's pool sends to ranks that have ended, which may fail with MPICH.
_TRIES = 5
_THREADS = "it is told that threads take turns (MPI.THREAD_SERIALIZED), and leaves it at that"
_EARLY = "MPI is initialised before a live program begins, which cannot configure its import any more (mpi4py.rc)"
#: End of the heading of clue's own table.
_TABLE = "run live"
#: Placeholder of times and addresses in compared outputs.
_VARYING = re.compile(r"\d+\.\d+(e[-+]?\d+)?|0x[0-9a-f]+")


@dataclass(frozen=True, slots=True)
class DemoProgram:
    """A program to be tried.

    Attributes:
        words: Its file below the folder of demos (``own:`` for those beside this file), and its arguments.
        ranks: Number of ranks.
        compare: Whether its output is the same each time, up to the order of lines.
        remark: What a reader should know about it.
    """

    words: tuple[str, ...]
    ranks: int = 3
    compare: bool = True
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Demo:
    """The outcome of a program: whether it succeeds either way, and prints the same (``None``: not compared)."""

    name: str
    ranks: int
    real: bool
    live: bool
    same: bool | None
    remark: str


def _cases() -> Iterator[DemoProgram]:
    yield DemoProgram(("helloworld.py",), 5, compare=False)
    yield DemoProgram(("compute-pi/cpi-cco.py",), 3, compare=False)
    yield DemoProgram(("compute-pi/cpi-rma.py",), 3, compare=False)
    yield DemoProgram(("compute-pi/cpi-dpm.py",), 1, compare=False)
    yield DemoProgram(("mandelbrot/mandelbrot.py",), 3, compare=False)
    for number in ("2.01", "2.08", "2.16", "2.29", "2.32", "2.34", "2.35"):
        yield DemoProgram((f"mpi-ref-v1/ex-{number}.py",), 2)
    for number in ("3.01", "3.02", "3.03", "3.04", "3.05", "3.06", "3.07", "3.08", "3.09", "3.11", "3.12", "3.13"):
        yield DemoProgram((f"mpi-ref-v1/ex-{number}.py",), 4)
    for name in ("dynproc", "mpi3", "onesided", "scalable"):
        yield DemoProgram((f"nxtval/nxtval-{name}.py",), 3, compare=False)
    yield DemoProgram(("nxtval/nxtval-threads.py",), 3, compare=False, remark=_THREADS)
    yield DemoProgram(("reductions/test_reductions.py",), 3, compare=False)
    yield DemoProgram(("sequential/test_seq.py",), 3, compare=False)
    yield DemoProgram(("spawning/cpi-master.py", _EXECUTABLE + "spawning/cpi-worker.py"), 1)
    yield DemoProgram(("threads/sendrecv.py",), 2, compare=False, remark=_THREADS)
    for number in ("0", "1", "2", "3", "4", "5", "6", "mpi40"):
        yield DemoProgram((f"init-fini/test_{number}.py",), 2, remark=_EARLY if number in {"3", "5", "6"} else "")
    for name in ("run_hello", "run_cpi", "run_primes", "run_julia", "run_mandelbrot"):
        yield DemoProgram((f"futures/{name}.py",), 3, compare=False)
    for name in ("allgather", "alltoall", "alltoallv", "barrier", "bcast", "bibw", "bw", "gather", "latency"):
        yield DemoProgram((f"osu_{name}.py",), 2, compare=False)
    yield DemoProgram(("osu_multi_lat.py",), 4, compare=False)
    yield DemoProgram(("osu_scatter.py",), 2, compare=False)
    yield DemoProgram(("own:mpipool.py",), 4)
    yield DemoProgram(("own:commexecutor.py",), 4)


def run_all(folder: Path, tell: Callable[[str], None]) -> Iterator[Demo]:
    """Run every program both ways."""
    for case in _cases():
        demo = run_case(case, folder)
        tell(f"{demo.name}: mpiexec {demo.real}, clue run {demo.live}, same {demo.same} {demo.remark}")
        yield demo


def run_case(case: DemoProgram, folder: Path) -> Demo:
    """Run one program both ways."""
    name, *arguments = case.words
    file = _OWN / name.removeprefix("own:") if name.startswith("own:") else folder / name
    with tempfile.TemporaryDirectory() as scratch:
        words = [str(file), *(_argument(each, folder, Path(scratch)) for each in arguments)]
        for _ in range(_TRIES):
            real = start(REAL, case.ranks, words, folder=file.parent)
            if real.status == 0:
                break
        live = start(LIVE, case.ranks, words, folder=file.parent)
    ends = real.status == 0, live.status == 0
    same = _alike(real, live) if case.compare and all(ends) else None
    return Demo(
        f"{file.parent.name}/{file.name}", case.ranks, *ends, same, case.remark or ("" if ends[1] else live.why)
    )


def _argument(word: str, folder: Path, scratch: Path) -> str:
    if not word.startswith(_EXECUTABLE):
        return word
    source = folder / word.removeprefix(_EXECUTABLE)
    copy = scratch / source.name
    copy.write_text(f"#!{sys.executable}\n{source.read_text()}")
    copy.chmod(0o755)
    return str(copy)


def _alike(real: RunEnd, live: RunEnd) -> bool:
    return sorted(_lines(real.output)) == sorted(_lines(live.output))


def _lines(output: str) -> Iterator[str]:
    """Yield the lines that the program printed: everything before the heading of clue's own table."""
    for line in output.splitlines():
        if line.endswith(_TABLE):
            return
        if line.strip():
            yield _VARYING.sub("#", line.strip())
