"""The engine in a wheel: used if it is intact and of these sources, otherwise compiled as without it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import clue
from clue.kernel.fast.library import ENGINE
from clue.native import NoLibraryError, shipped
from clue.native.compiler import key
from tests.compiled import know_again
from tests.kernel.cases import machine
from tests.kernel.test_library import busy


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Set up an installation with an engine but without cache and compiler; yield the engine's path."""
    try:
        real = ENGINE.load()._name
    except NoLibraryError as error:
        pytest.skip(str(error))
    package = tmp_path / "fast"
    shutil.copytree(ENGINE.source.folder, package, ignore=shutil.ignore_patterns("*.py", "*.so", "__pycache__"))
    monkeypatch.setattr(shipped, "compile_library", lambda _, path, __: shutil.copy(real, path))
    monkeypatch.setattr(ENGINE, "source", replace(ENGINE.source, main=package / "engine.cpp"))
    monkeypatch.setenv("CLUE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("CXX", "")
    key.cache_clear()
    ENGINE.forget()
    yield shipped.ship(ENGINE.source, package)
    monkeypatch.undo()
    key.cache_clear()
    know_again(ENGINE)


def replayed() -> clue.Result:
    """Replay a program that is large enough for the engine."""
    return clue.simulate(busy(4000), machine(2))


@pytest.mark.usefixtures("installed")
def test_shipped_engine_answers_without_compiler_and_cache(tmp_path: Path) -> None:
    """A shipped engine is used without a compiler, and no cache folder is made."""
    assert replayed().engine == "fast"
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("fault", ["cut off", "other sources", "no library"])
def test_shipped_engine_that_does_not_fit_is_not_taken(fault: str, installed: Path) -> None:
    """A shipped engine that is truncated, of other sources or for another system is not used."""
    if fault == "cut off":
        installed.write_bytes(installed.read_bytes()[:100_000])
    elif fault == "other sources":
        (installed.parent / "engine.hpp").write_text("// changed\n")
        key.cache_clear()
    else:
        installed.write_bytes(b"for another system")
        installed.rename(installed.parent / f"engine-{key(ENGINE.source)}-{shipped._content(installed)}.so")
    assert not ENGINE.is_there()
    assert replayed().engine == "reference"
