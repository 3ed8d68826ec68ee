"""Repeated recordings of a program: which becomes the trace, where the others are stored, and their spread."""

from __future__ import annotations

from pathlib import Path

import pytest

from clue.errors import RecordError, UsageError
from clue.recording import record_repeatedly, repeated, repeats_beside
from clue.trace import Trace, TraceBuilder
from tests.recording.cases import Recorder


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    """Replace recordings by fakes with bursts of 3, 3.01 and 3.02 s on one rank."""
    recorder = Recorder()
    monkeypatch.setattr(repeated, "record", recorder)
    return recorder


def test_least_disturbed_is_the_trace(recorder: Recorder, tmp_path: Path) -> None:
    """The third recording is least disturbed and becomes the trace; it and the first change places.

    Computation is 3.02 s in it and 3 to 3.02 s in all; the spread is the median deviation, 0.01 of 3.01 s.
    """
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
    """If no recording is measurably disturbed, the shortest is the trace; a delay of 0.04 s is too small to measure."""
    recorder.delayed = (0.04, 0.0, 0.0)
    found = record_repeatedly(Path("heat.py"), (), 1, tmp_path / "x.clue", 3)
    assert found.computing[0] == pytest.approx(3.0)


def test_a_single_recording(recorder: Recorder, tmp_path: Path) -> None:
    """A single recording has no repeats and no spread."""
    found = record_repeatedly(Path("heat.py"), ("1",), 2, tmp_path / "x.clue", 1)
    assert (found.repeats, found.spread, recorder.recorded) == ((), 0.0, ["heat.py 1 2"])


def test_recordings_of_another_job_are_no_repeats(recorder: Recorder, tmp_path: Path) -> None:
    """If another job writes the same trace meanwhile, nothing is computed from both, and the error says why."""
    target = tmp_path / "x.clue"

    def disturb() -> None:
        if len(recorder.recorded) == 2:
            TraceBuilder(1, program="other.py").build().save(target)

    recorder.meanwhile = disturb
    with pytest.raises(
        RecordError, match=r"x\.clue: trace must be written by one recording at a time, got another one"
    ):
        record_repeatedly(Path("heat.py"), (), 1, target, 3)
    assert Trace.open(target).head.program == "other.py"


def test_places_are_checked_before_anything_is_recorded(recorder: Recorder, tmp_path: Path) -> None:
    """All target folders, also that of the third recording, are checked before anything is recorded."""
    (tmp_path / "x.3.clue").mkdir()
    (tmp_path / "x.3.clue" / "thesis.tex").write_text("years")
    with pytest.raises(UsageError, match=r"x\.3\.clue: trace must be a new folder or replace a trace"):
        record_repeatedly(Path("heat.py"), (), 1, tmp_path / "x.clue", 3)
    assert recorder.recorded == []


def test_recordings_of_an_earlier_run_are_gone(recorder: Recorder, tmp_path: Path) -> None:
    """Two recordings replace four: of the earlier run nothing is left that could be taken for a repeat."""
    target = tmp_path / "x.clue"
    record_repeatedly(Path("heat.py"), (), 1, target, 4)
    found = record_repeatedly(Path("heat.py"), (), 1, target, 2)
    assert len(recorder.recorded) == 6
    assert found.repeats == tuple(repeats_beside(target)) == (tmp_path / "x.2.clue",)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.2.clue", "x.clue"]


def test_what_fills_a_gap_is_removed(recorder: Recorder, tmp_path: Path) -> None:
    """A fourth recording of an earlier run, whose second and third are gone, would count as one of the new run."""
    record_repeatedly(Path("heat.py"), (), 1, tmp_path / "x.4.clue", 1)
    record_repeatedly(Path("heat.py"), (), 1, tmp_path / "x.clue", 3)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.2.clue", "x.3.clue", "x.clue"]
    assert len(recorder.recorded) == 4


def test_a_run_that_fails_later_leaves_none_of_an_earlier_one(recorder: Recorder, tmp_path: Path) -> None:
    """If the second recording fails, the new first one stays alone: repeats of the earlier run are gone already."""
    target = tmp_path / "x.clue"
    record_repeatedly(Path("heat.py"), (), 1, target, 3)

    def fail() -> None:
        if len(recorder.recorded) == 5:
            raise RecordError("out of memory")

    recorder.meanwhile = fail
    with pytest.raises(RecordError, match="out of memory"):
        record_repeatedly(Path("heat.py"), (), 1, target, 3)
    assert int(Trace.open(target).bursts.sum()) == 3_030_000_000
    assert repeats_beside(target) == []


def test_what_is_no_repeat_is_not_removed(recorder: Recorder, tmp_path: Path) -> None:
    """A folder named like a repeat that is no trace is refused before anything is recorded."""
    (tmp_path / "x.2.clue").mkdir()
    (tmp_path / "x.2.clue" / "thesis.tex").write_text("years")
    with pytest.raises(UsageError, match=r"x\.2\.clue: trace must be a new folder or replace a trace"):
        record_repeatedly(Path("heat.py"), (), 1, tmp_path / "x.clue", 1)
    assert recorder.recorded == []


@pytest.mark.usefixtures("recorder")
def test_bursts_are_typical_of_all_recordings_and_stay_as_recorded(tmp_path: Path) -> None:
    """With bursts of 3, 3.01 and 3.02 s, the trace keeps its recorded 3 s and the median, 3.01 s, as typical burst."""
    record_repeatedly(Path("heat.py"), (), 1, tmp_path / "x.clue", 3)
    trace = Trace.open(tmp_path / "x.clue")
    assert (trace.ops.cpu.tolist(), trace.bursts.tolist()) == ([3_000_000_000], [3_010_000_000])
    assert trace.head.typical is not None
    assert (trace.head.typical.recordings, trace.head.typical.spread) == (3, pytest.approx(0.01 / 3.01))
    assert Trace.open(tmp_path / "x.2.clue").typical is None
    assert (tmp_path / "x.clue" / "imports.json").exists()


@pytest.mark.parametrize(("wall", "times"), [(59.0, 3), (60.0, 1)])
def test_short_programs_are_recorded_three_times(wall: float, times: int, recorder: Recorder, tmp_path: Path) -> None:
    """By default, programs shorter than a minute are recorded three times, others once."""
    recorder.wall = {"heat.py": wall}
    found = record_repeatedly(Path("heat.py"), (), 1, tmp_path / "x.clue")
    assert (len(recorder.recorded), len(found.computing)) == (times, times)
    assert (found.trace.head.typical is None) == (times == 1)


def test_recordings_that_made_other_calls_are_not_mixed(recorder: Recorder, tmp_path: Path) -> None:
    """If recordings made different calls, the median one, 3.01 s, is the trace as recorded, and a note says so."""
    recorder.more_calls = True
    found = record_repeatedly(Path("heat.py"), (), 1, tmp_path / "x.clue", 3)
    trace = Trace.open(tmp_path / "x.clue")
    assert (trace.bursts.sum(), trace.typical) == (3_010_000_000, None)
    assert trace.head.notes[-1] == (
        "3 recordings did not make the same calls: bursts are those of the one in the middle"
    )
    assert found.spread == 0.0


def test_recordings_of_the_same_bursts_are_one(recorder: Recorder, tmp_path: Path) -> None:
    """Recordings with equal bursts count as one, so they have no typical bursts and no spread."""
    recorder.longer = 0.0
    found = record_repeatedly(Path("heat.py"), (), 1, tmp_path / "x.clue", 3)
    assert (found.trace.typical, found.spread) == (None, 0.0)
