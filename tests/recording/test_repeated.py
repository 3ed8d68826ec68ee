"""Several recordings of one program: which is the trace, where the others go, and how much they differ."""

from __future__ import annotations

from pathlib import Path

import pytest

from clue.errors import UsageError
from clue.recording import record_repeatedly, repeated
from clue.trace import Trace
from tests.recording.cases import Recorder


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    """Have recordings that take no time: 3, 3.01 and 3.02 s of computation of one rank."""
    recorder = Recorder()
    monkeypatch.setattr(repeated, "record", recorder)
    return recorder


def test_least_disturbed_is_the_trace(recorder: Recorder, tmp_path: Path) -> None:
    """The third; the first takes its place. Computation is 3.02 s in it, and 3 to 3.02 s in all."""
    recorder.delayed = (0.9, 0.6, 0.3)
    target = tmp_path / "x.clue"
    told: list[str] = []
    found = record_repeatedly(Path("heat.py"), (), 1, target, 3, progress=told.append)
    assert told[1] == "recording heat.py on 1 rank (2 of 3)"
    assert found.repeats == (tmp_path / "x.2.clue", tmp_path / "x.3.clue")
    delayed = [Trace.open(each).head.rank_heads[0].delayed for each in (target, *found.repeats)]
    assert delayed == [0.3, 0.6, 0.9]
    assert found.computing == pytest.approx((3.02, 3.01, 3.00))
    assert found.spread == pytest.approx(0.01 / 3.01)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.2.clue", "x.3.clue", "x.clue"]


def test_where_none_is_disturbed_the_shortest_is_the_trace(recorder: Recorder, tmp_path: Path) -> None:
    """Nothing that disturbs a burst makes it shorter; what cannot be measured does not count."""
    recorder.delayed = (0.04, 0.0, 0.0)
    found = record_repeatedly(Path("heat.py"), (), 1, tmp_path / "x.clue", 3)
    assert found.computing[0] == pytest.approx(3.0)


def test_a_single_recording(recorder: Recorder, tmp_path: Path) -> None:
    """No others, no spread."""
    found = record_repeatedly(Path("heat.py"), ("1",), 2, tmp_path / "x.clue", 1)
    assert (found.repeats, found.spread, recorder.recorded) == ((), 0.0, ["heat.py 1 2"])


def test_places_are_checked_before_anything_is_recorded(recorder: Recorder, tmp_path: Path) -> None:
    """Also that of the third."""
    (tmp_path / "x.3.clue").mkdir()
    (tmp_path / "x.3.clue" / "thesis.tex").write_text("years")
    with pytest.raises(UsageError, match=r"x\.3\.clue: trace must be a new folder or replace a trace"):
        record_repeatedly(Path("heat.py"), (), 1, tmp_path / "x.clue", 3)
    assert recorder.recorded == []


@pytest.mark.usefixtures("recorder")
def test_bursts_are_typical_of_all_recordings_and_stay_as_recorded(tmp_path: Path) -> None:
    """3, 3.01 and 3.02 s: the least disturbed is the trace, with the median beside what it recorded itself."""
    record_repeatedly(Path("heat.py"), (), 1, tmp_path / "x.clue", 3)
    trace = Trace.open(tmp_path / "x.clue")
    assert (trace.ops.cpu.tolist(), trace.bursts.tolist()) == ([3_000_000_000], [3_010_000_000])
    assert trace.head.typical is not None
    assert (trace.head.typical.recordings, trace.head.typical.spread) == (3, pytest.approx(0.01 / 3.01))
    assert Trace.open(tmp_path / "x.2.clue").typical is None
    assert (tmp_path / "x.clue" / "imports.json").exists()


@pytest.mark.parametrize(("wall", "times"), [(59.0, 3), (60.0, 1)])
def test_short_programs_are_recorded_three_times(wall: float, times: int, recorder: Recorder, tmp_path: Path) -> None:
    """Where nothing else is asked for."""
    recorder.wall = {"heat.py": wall}
    found = record_repeatedly(Path("heat.py"), (), 1, tmp_path / "x.clue")
    assert (len(recorder.recorded), len(found.computing)) == (times, times)
    assert (found.trace.head.typical is None) == (times == 1)


def test_recordings_that_made_other_calls_are_not_mixed(recorder: Recorder, tmp_path: Path) -> None:
    """That in the middle is the trace, 3.01 s, and says so."""
    recorder.more_calls = True
    found = record_repeatedly(Path("heat.py"), (), 1, tmp_path / "x.clue", 3)
    trace = Trace.open(tmp_path / "x.clue")
    assert (trace.bursts.sum(), trace.typical) == (3_010_000_000, None)
    assert trace.head.notes[-1] == (
        "3 recordings did not make the same calls: bursts are those of the one in the middle"
    )
    assert found.spread == 0.0


def test_recordings_of_the_same_bursts_are_one(recorder: Recorder, tmp_path: Path) -> None:
    """A program that computes next to nothing may do so in the same nanoseconds; that tells nothing of a spread."""
    recorder.longer = 0.0
    found = record_repeatedly(Path("heat.py"), (), 1, tmp_path / "x.clue", 3)
    assert (found.trace.typical, found.spread) == (None, 0.0)
