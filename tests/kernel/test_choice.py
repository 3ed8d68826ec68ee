"""The choice of the engine: decided once for all of the work, also while it is compiled; and how a compiler ends."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import clue
from clue.kernel import contention_free, engine_for, engines, is_awaited, reason_for
from clue.kernel.engines import WHEN_COMPILED
from clue.kernel.fast.library import ENGINE
from clue.kernel.model.candidate import Candidate
from clue.kernel.model.program import compile_program
from clue.machine import Placement
from clue.native import NoLibraryError
from clue.predict import executors
from clue.predict.executors import Pool
from clue.predict.replaying import ReplayPredictor
from clue.purchase import Criterion, rank_options
from clue.trace import Op, TraceBuilder
from tests.compiled import know_again
from tests.kernel.cases import machine
from tests.purchase.test_search import many, trace

MUCH = 10_000_000


def ping_pong(rounds: int) -> clue.Trace:
    """Return a program with four ops per round."""
    built = TraceBuilder(2)
    for _ in range(rounds):
        for one, other in ((0, 1), (1, 0)):
            built[one].send(other, 8)
            built[other].recv(one)
    return built.build()


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Set an empty cache and a compiler that copies the real engine once the yielded event is set."""
    try:
        real = ENGINE.load()._name
    except NoLibraryError as error:
        pytest.skip(str(error))
    go = threading.Event()

    def compile_to(path: Path) -> None:
        assert go.wait(60)
        shutil.copy(real, path)

    monkeypatch.setattr(ENGINE, "compile", compile_to)
    monkeypatch.setattr(ENGINE, "shipped", lambda: None)
    monkeypatch.setenv("CLUE_CACHE", str(tmp_path / "cache"))
    ENGINE.forget()
    yield go
    go.set()
    ENGINE.wait()
    monkeypatch.undo()
    know_again(ENGINE)


@pytest.mark.parametrize(
    ("op", "work"),
    [(Op.ALLTOALL, 45 + 45 * 45), (Op.ALLGATHER, 45 + 45 * 45), (Op.ALLREDUCE, 45)],
    ids=["alltoall", "allgather", "allreduce"],
)
def test_messages_of_total_exchanges_are_work(op: Op, work: int) -> None:
    """A call in which each of 45 ranks sends to all of them counts 45 messages a rank: too many for the reference."""
    built = TraceBuilder(45)
    for rank in built:
        rank.collective(op, 100)
    program = compile_program(built.build())
    assert program.work == work
    try:
        ENGINE.load()
    except NoLibraryError as error:
        pytest.skip(str(error))
    assert clue.simulate(program, machine(45)).engine == ("fast" if work > 2000 else "reference")


def test_engine_is_chosen_by_all_of_the_work(compiler: threading.Event) -> None:
    """If the engine is not compiled, only much work has it compiled; if it is, all but the least work uses it."""
    sizes = (1999, 999_999, 1_000_000)
    absent = ["reference", "reference", WHEN_COMPILED]
    assert [engine_for(work) for work in sizes] == absent
    compiler.set()
    ENGINE.load()
    there = ["reference", "fast", "fast"]
    assert [engine_for(work) for work in sizes] == there
    for decided, work in zip([*absent, *there], 2 * sizes, strict=True):
        assert engine_for(MUCH, decided) == decided  # a decision stays
        assert reason_for("auto", decided, work)
    assert reason_for("fast", "fast", 1) == "fast was requested"


def test_reference_begins_while_the_engine_is_compiled(compiler: threading.Event) -> None:
    """The reference replays while the fast engine is compiled; then the fast engine does, with the same figures."""
    engine = engine_for(MUCH)
    program = compile_program(ping_pong(3))
    first = clue.simulate(program, machine(2), engine=engine)
    assert (first.engine, is_awaited(engine)) == ("reference", True)
    where = [Candidate(machine(2), Placement((0, 1)))]
    assert not contention_free(program, where, engine=engine)[1].any()
    compiler.set()
    ENGINE.wait()
    then = clue.simulate(program, machine(2), engine=engine)
    assert (then.engine, is_awaited(engine)) == ("fast", False)
    assert (then.ranks, then.warnings) == (first.ranks, first.warnings)
    assert contention_free(program, where, engine=engine)[1].all()


def test_a_long_replay_waits(compiler: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long replay waits for the compiler, as the reference cannot be stopped midway; a short one does not wait."""
    monkeypatch.setattr(engines, "_OPS_WORTH_WAITING", 12)
    engine = engine_for(MUCH)
    assert clue.simulate(ping_pong(2), machine(2), engine=engine).engine == "reference"
    threading.Timer(0.1, compiler.set).start()
    assert clue.simulate(ping_pong(3), machine(2), engine=engine).engine == "fast"


def test_no_processes_are_started_while_the_engine_is_compiled(
    compiler: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Worker processes would compete with the compiler, so none is started until the engine is there."""
    monkeypatch.setattr(executors, "_ALONE", -1.0)
    monkeypatch.setattr(executors, "_WORTH_PROCESSES", -1.0)
    monkeypatch.setattr(Pool, "_open", None)
    ranking = rank_options(many(Criterion.POINTS), ReplayPredictor(trace, engine=WHEN_COMPILED, workers=2), top=3)
    assert ranking.engine == "reference"
    assert not compiler.is_set()


@pytest.mark.usefixtures("compiler")
def test_a_compiler_that_fails_beside_the_work_is_told_of_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the compiler fails, the reference computes the ranking, with one warning."""

    def fail(_: Path) -> None:
        raise NoLibraryError("no such luck")

    monkeypatch.setattr(ENGINE, "compile", fail)
    engine = engine_for(MUCH)
    ENGINE.wait()
    ranking = rank_options(many(Criterion.POINTS), ReplayPredictor(trace, engine=engine), top=3)
    told = [warning for warning in ranking.warnings if "fast engine" in warning]
    assert told == ["engine: the fast engine is not used: no such luck; the reference engine computed this"]
    assert ranking.engine == "reference"


# --- compilers of other processes ---

#: A slow compiler that works in a child process, as real ones do.
SLOW = "#!/bin/sh\nsleep 60 &\necho $! > {folder}/inner\necho $$ > {folder}/outer\nwait\n"
#: A program that starts the compiler and then ends, works or waits.
WANTS = """\
import sys, time
from pathlib import Path
from clue.kernel import engine_for
from clue.kernel.fast.library import ENGINE
ENGINE.shipped = lambda: None
assert engine_for(10**7) == "fast when compiled"
while not Path(sys.argv[1], "outer").exists():
    time.sleep(0.01)
{"ends": int, "works": lambda: time.sleep(60), "waits": ENGINE.load}[sys.argv[2]]()
"""


def script(path: Path, text: str) -> Path:
    """Write an executable script."""
    path.write_text(text)
    path.chmod(0o755)
    return path


def wanting(code: str, folder: Path, compiler: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start a process with an empty cache that has the engine compiled by this compiler."""
    surroundings = {**os.environ, "CLUE_CACHE": str(folder / "cache"), "CXX": str(compiler)}
    command = [sys.executable, "-c", code, str(folder), *arguments]
    return subprocess.Popen(
        command, env=surroundings, stderr=subprocess.PIPE, text=True, cwd=Path(clue.__file__).parents[1]
    )


def waits_for(path: Path) -> None:
    """Wait until a file exists."""
    until = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < until
        time.sleep(0.01)


def is_running(number: str) -> bool:
    """Tell whether a process exists and is no zombie."""
    with suppress(OSError):
        return Path("/proc", number.strip(), "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


@pytest.mark.parametrize("doing", ["ends", "works", "waits"])
def test_a_compiler_ends_with_the_process_that_wants_it(doing: str, tmp_path: Path) -> None:
    """If the process ends, by itself or by Ctrl-C, so do its compiler and the compiler's children; no draft is left."""
    compiler = script(tmp_path / "compiler", SLOW.format(folder=tmp_path))
    with wanting(WANTS, tmp_path, compiler, doing) as process:
        waits_for(tmp_path / "outer")
        if doing != "ends":
            time.sleep(0.3)  # until it works or waits
            process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    numbers = [(tmp_path / name).read_text() for name in ("inner", "outer")]
    assert not any(map(is_running, numbers))
    assert list((tmp_path / "cache" / "engine").iterdir()) == []
    assert err.strip().splitlines()[-1:] == ([] if doing == "ends" else ["KeyboardInterrupt"])


#: A program that needs the engine at the same time as others.
TOGETHER = """\
import clue
from clue.kernel import engine_for
from clue.kernel.fast.library import ENGINE
ENGINE.shipped = lambda: None
assert engine_for(10**7) in {"fast", "fast when compiled"}
ENGINE.load()
"""


def test_several_processes_compile_it_once(tmp_path: Path) -> None:
    """Of several processes, the first compiles the engine; the others wait and load it."""
    try:
        shutil.copy(ENGINE.load()._name, tmp_path / "real.so")
    except NoLibraryError as error:
        pytest.skip(str(error))
    copy = f"#!/bin/sh\necho asked >> {tmp_path}/asked\nsleep 1\nfor last; do :; done\ncp {tmp_path}/real.so $last\n"
    compiler = script(tmp_path / "compiler", copy)
    processes = [wanting(TOGETHER, tmp_path, compiler) for _ in range(3)]
    assert [process.communicate(timeout=60)[1] for process in processes] == [""] * 3
    assert [process.returncode for process in processes] == [0] * 3
    assert (tmp_path / "asked").read_text() == "asked\n"
