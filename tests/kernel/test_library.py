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
    """Have an empty cache, and a compiler that copies the real engine; tells how often it was asked."""
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
    """Return where the engine is kept."""
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


def test_engine_is_compiled_once(compiled: COMPILED) -> None:
    """The next process finds it."""
    for _ in range(2):
        ENGINE.load()
        ENGINE.forget()
    assert compiled() == 1
    assert ENGINE.is_there()


@pytest.mark.parametrize("size", [0, 100_000])
def test_engine_that_is_cut_off_is_compiled_again(compiled: COMPILED, size: int) -> None:
    """An empty file no longer means the reference for ever, nor a short one a bus error."""
    ENGINE.load()
    ENGINE.forget()
    shorter = engine().read_bytes()[:size]
    engine().unlink()  # what this process has loaded must not change under it
    engine().write_bytes(shorter)
    engine().chmod(0o700)
    assert not ENGINE.is_there()
    assert clue.simulate(busy(2), pair(), engine="fast").engine == "fast"
    assert compiled() == 2


def test_planted_engine_is_not_loaded(compiled: COMPILED) -> None:
    """A file that others may write, with the right digest beside it, is replaced before anything of it runs."""
    ENGINE.load()
    ENGINE.forget()
    for file in (engine(), engine().with_name(engine().name + DIGEST)):
        file.chmod(0o777)
    ENGINE.load()
    assert compiled() == 2
    assert engine().stat().st_mode & 0o077 == 0


def test_cache_that_is_refused_is_told_of(compiled: COMPILED) -> None:
    """The reference computes it, and says why: also where the engine was chosen by itself, so not for ever."""
    (home() / FOLDER).mkdir(parents=True)
    (home() / FOLDER).chmod(0o777)
    result = clue.simulate(busy(4000), pair())
    assert result.engine == "reference"
    (told,) = [warning for warning in result.warnings if "the fast engine is not used" in warning]
    assert "must be one that only you may write, got mode 0777" in told and "CLUE_CACHE" in told
    assert compiled() == 0


def test_small_programs_do_without_it(compiled: COMPILED) -> None:
    """If the engine would save no time, the cache is not used."""
    (home() / FOLDER).mkdir(parents=True)
    (home() / FOLDER).chmod(0o777)
    assert not any("engine" in warning for warning in clue.simulate(busy(100), pair()).warnings)
    assert compiled() == 0


def test_structures_that_are_not_those_of_python_do_not_compile(tmp_path: Path) -> None:
    """Two pointers that change places leave all sizes as they are; the compiler holds where each field lies."""
    if find_compiler() is None:
        pytest.skip("no C++ compiler")
    shutil.copytree(
        ENGINE.source.folder, tmp_path / "fast", ignore=shutil.ignore_patterns("*.py", "*.so", "__pycache__")
    )
    header = tmp_path / "fast" / "layout.hpp"
    text = header.read_text()
    header.write_text(
        text.replace("* answer;", "* x;").replace("* envelope;", "* answer;").replace("* x;", "* envelope;")
    )
    assert header.read_text() != text
    with pytest.raises(NoLibraryError, match=r"engine must compile, got .*Machine, (answer|envelope)"):
        compile_library(replace(ENGINE.source, main=tmp_path / "fast" / "engine.cpp"), tmp_path / "engine.so")


def test_a_field_that_python_does_not_see_does_not_compile(tmp_path: Path) -> None:
    """A last one that is not written as the others are moves none of them, but makes the structure larger."""
    if find_compiler() is None:
        pytest.skip("no C++ compiler")
    shutil.copytree(
        ENGINE.source.folder, tmp_path / "fast", ignore=shutil.ignore_patterns("*.py", "*.so", "__pycache__")
    )
    header = tmp_path / "fast" / "layout.hpp"
    text = header.read_text("utf-8")
    header.write_text(text.replace("int64_t done;", "int64_t done, further;"), "utf-8")
    assert header.read_text("utf-8") != text
    with pytest.raises(NoLibraryError, match=r"engine must compile, got .*sizeof\(Outcome"):
        compile_library(replace(ENGINE.source, main=tmp_path / "fast" / "engine.cpp"), tmp_path / "engine.so")


def test_structures_are_read_in_any_locale() -> None:
    """The header has letters that ASCII has not."""
    surroundings = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    subprocess.run([sys.executable, "-c", "import clue.kernel.fast.layout"], env=surroundings, check=True, timeout=60)
