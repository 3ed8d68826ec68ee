"""The cache keeps the best readings of a host, improves them by later recordings, and separates kinds of work."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from clue.trace import Trace, TraceBuilder
from clue.trace.head import Probe
from clue.trace.hosts import with_best


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use an empty cache, and return its path."""
    monkeypatch.setenv("CLUE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def recorded(core: float, memory: float, work: str = "pieces") -> Trace:
    """Return a recording with these best readings."""
    trace = TraceBuilder(1).build()
    return replace(trace, head=replace(trace.head, probe=Probe(work, (0, 0), (core, memory))))


def best(trace: Trace) -> tuple[float, float]:
    """Return the best readings that the head then has."""
    probe = with_best(trace).probe
    assert probe is not None
    return probe.best


def test_the_best_of_all_recordings_counts() -> None:
    """The best of all recordings counts for each piece; a piece without readings is ignored, other work is separate."""
    assert best(recorded(2e-5, 3e-5)) == (2e-5, 3e-5)
    assert best(recorded(4e-5, 1e-5)) == (2e-5, 1e-5)
    assert best(recorded(1e-5, 0.0)) == (1e-5, 1e-5)
    assert best(recorded(5e-5, 5e-5)) == (1e-5, 1e-5)
    assert best(recorded(5e-5, 5e-5, "others")) == (5e-5, 5e-5)


def test_a_recording_without_readings_stays_what_it_is(cache: Path) -> None:
    """A recording without readings keeps its head and writes nothing to the cache."""
    trace = TraceBuilder(1).build()
    assert with_best(trace) is trace.head
    assert not cache.exists()


def test_what_somebody_else_may_have_written_is_not_believed(cache: Path) -> None:
    """A cached value that does not match its digest is not used."""
    best(recorded(2e-5, 2e-5))
    (kept,) = [file for file in (cache / "hosts").iterdir() if file.suffix != ".sha256"]
    kept.write_text("[1e-9, 1e-9]")
    assert best(recorded(3e-5, 3e-5)) == (3e-5, 3e-5)


def test_a_cache_that_is_refused_is_said(cache: Path) -> None:
    """If others can write to the cache, the recording is relative to its own best, and a note says so."""
    cache.mkdir()
    cache.chmod(0o777)
    (cache / "hosts").mkdir()
    (cache / "hosts").chmod(0o777)
    head = with_best(recorded(2e-5, 2e-5))
    assert head.probe is not None and head.probe.best == (2e-5, 2e-5)
    assert "relative to the best that this recording shows of its host" in head.notes[-1]
