"""The compiled engine in the cache: the compiled library is loaded, and a refused cache is reported."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import clue
from clue.cache import DIGEST, home
from clue.kernel.fast.library import ENGINE
from clue.machine import Machine
from clue.native import NoLibraryError
from clue.native.compiler import compile_library, find_compiler
from clue.native.library import FOLDER
from clue.trace import TraceBuilder
from tests.compiled import know_again
from tests.kernel.cases import machine

COMPILED = Callable[[], int]


@pytest.fixture
def compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[COMPILED]:
    """Set an empty cache and a compiler that copies the real engine; yield a function that counts its compilations."""
    try:
        ENGINE.load()
    except NoLibraryError as error:
        pytest.skip(str(error))
    real = ENGINE.load()._name
    asked: list[Path] = []

    def compile_to(path: Path) -> None:
        asked.append(path)
        shutil.copy(real, path)

    monkeypatch.setattr(ENGINE, "compile", compile_to)
    monkeypatch.setattr(ENGINE, "shipped", lambda: None)
    monkeypatch.setenv("CLUE_CACHE", str(tmp_path / "cache"))
    ENGINE.forget()
    yield lambda: len(asked)
    monkeypatch.undo()
    know_again(ENGINE)


def engine() -> Path:
    """Return the engine's path in the cache."""
    return home() / FOLDER / ENGINE.name


def busy(ops: int) -> clue.Trace:
    """Return a program of this many ops."""
    trace = TraceBuilder(2)
    for _ in range(ops // 2):
        trace[0].send(1, 8)
        trace[1].recv(0)
    return trace.build()


def pair() -> Machine:
    """Return two nodes."""
    return machine(2)


def compile_changed(main: Path) -> None:
    """Compile a changed copy of the engine: once, and only up to the first error."""
    compile_library(replace(ENGINE.source, main=main), main.with_suffix(".so"), variants=[("-Wfatal-errors",)])


def test_engine_is_compiled_once(compiled: COMPILED) -> None:
    """The engine is compiled once; later loads find it in the cache."""
    for _ in range(2):
        ENGINE.load()
        ENGINE.forget()
    assert compiled() == 1
    assert ENGINE.is_there()


@pytest.mark.long  # quick tests have no compiler
def test_a_compiler_with_one_quotation_mark_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """``CXX`` is split into words as a shell does."""
    monkeypatch.setenv("CXX", "g++ '-O2")
    with pytest.raises(NoLibraryError, match=r"CXX must be a command, got g\+\+ '-O2"):
        find_compiler()


@pytest.mark.parametrize("size", [0, 100_000])
def test_engine_that_is_cut_off_is_compiled_again(compiled: COMPILED, size: int) -> None:
    """An engine file that is empty or truncated is compiled again."""
    ENGINE.load()
    ENGINE.forget()
    shorter = engine().read_bytes()[:size]
    engine().unlink()  # this process has loaded the file, so it must not be overwritten in place
    engine().write_bytes(shorter)
    engine().chmod(0o700)
    assert not ENGINE.is_there()
    assert clue.simulate(busy(2), pair(), engine="fast").engine == "fast"
    assert compiled() == 2


def test_planted_engine_is_not_loaded(compiled: COMPILED) -> None:
    """An engine file that others may write is replaced before it is loaded, even with the right digest."""
    ENGINE.load()
    ENGINE.forget()
    for file in (engine(), engine().with_name(engine().name + DIGEST)):
        file.chmod(0o777)
    ENGINE.load()
    assert compiled() == 2
    assert engine().stat().st_mode & 0o077 == 0


def test_cache_that_is_refused_is_told_of(compiled: COMPILED) -> None:
    """If the cache is refused, the reference computes the result, and one warning says why."""
    (home() / FOLDER).mkdir(parents=True)
    (home() / FOLDER).chmod(0o777)
    result = clue.simulate(busy(4000), pair())
    assert result.engine == "reference"
    (told,) = [warning for warning in result.warnings if "the fast engine is not used" in warning]
    assert "must be one that only you may write, got mode 0777" in told and "CLUE_CACHE" in told
    assert compiled() == 0


def test_small_programs_do_without_it(compiled: COMPILED) -> None:
    """For a small program the engine would save no time, so a refused cache causes no warning."""
    (home() / FOLDER).mkdir(parents=True)
    (home() / FOLDER).chmod(0o777)
    assert not any("engine" in warning for warning in clue.simulate(busy(100), pair()).warnings)
    assert compiled() == 0


def altered(folder: Path, change: Callable[[str], str]) -> Path:
    """Return the engine's source in a folder, with another header; skip the test without a compiler."""
    if find_compiler() is None:
        pytest.skip("no C++ compiler")
    shutil.copytree(ENGINE.source.folder, folder / "fast", ignore=shutil.ignore_patterns("*.py", "*.so", "__pycache__"))
    header = folder / "fast" / "layout.hpp"
    text = header.read_text("utf-8")
    header.write_text(change(text), "utf-8")
    assert header.read_text("utf-8") != text
    return folder / "fast" / "engine.cpp"


def test_structures_that_are_not_those_of_python_do_not_compile(tmp_path: Path) -> None:
    """Two swapped pointers, which leave all sizes unchanged, fail to compile: the offset of each field is checked."""

    def swap(text: str) -> str:
        return text.replace("* answer;", "* x;").replace("* envelope;", "* answer;").replace("* x;", "* envelope;")

    with pytest.raises(NoLibraryError, match=r"engine must compile, got .*Machine, (answer|envelope)"):
        compile_changed(altered(tmp_path, swap))


def test_a_field_that_python_does_not_see_does_not_compile(tmp_path: Path) -> None:
    """An additional last field moves no other field but fails to compile, as the structure is larger."""
    source = altered(tmp_path, lambda text: text.replace("int64_t done;", "int64_t done, further;"))
    with pytest.raises(NoLibraryError, match=r"engine must compile, got .*sizeof\(Outcome"):
        compile_changed(source)


def test_structures_are_read_in_any_locale() -> None:
    """The header, which has non-ASCII letters, is read correctly in the C locale."""
    surroundings = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    subprocess.run([sys.executable, "-c", "import clue.kernel.fast.layout"], env=surroundings, check=True, timeout=60)
