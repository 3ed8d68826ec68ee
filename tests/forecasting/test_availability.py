"""Availability: the share of a core, and the threads that compete for it; the oracle follows the documentation."""

import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clue.errors import ForecastError
from clue.forecasting.availability import here, runnable, share
from tests.properties import examples


@given(st.floats(0, 1000), st.integers(1, 64))
def test_the_share_of_a_core(runnable: float, processors: int) -> None:
    """A new process gets a whole core while one is free; otherwise its share is cores over processes."""
    assert share(runnable, processors) == (1.0 if runnable + 1 <= processors else processors / (runnable + 1))


def test_what_is_available_here() -> None:
    """This computer has a share above 0 and some free memory."""
    found = here("me")
    assert found.host == "me" and 0 < found.cpu <= 1 and found.memory > 0 and found.processors >= 1


def _proc(folder: Path, tasks: list[tuple[int, str, int]], threads: int = 1, policy: int = 0) -> Path:
    """Write a /proc folder with processes of a scheduling policy, given by number, state and nice value."""
    for number, state, nice in tasks:
        within = folder / str(number)
        within.mkdir()
        stat = f"{number} (a (name) R) {state} " + " ".join(["0"] * 15) + f" {nice} {threads} {'0 ' * 20}{policy} 0\n"
        (within / "stat").write_text(stat)
        for thread in range(threads if threads > 1 else 0):
            (within / "task" / str(thread)).mkdir(parents=True)
            (within / "task" / str(thread) / "stat").write_text(stat)
    return folder


def looked(proc: Path, nice: int = 0, own: int = 9) -> float:
    """Return the load of competing threads on a computer with one core."""
    return runnable(proc, own, nice, affinity=lambda _: {0}, cores=1)


def test_processes_count_by_their_weight(tmp_path: Path) -> None:
    """A process of nice 10 weighs about a tenth of one of nice 0; sleeping ones and the asking one do not count."""
    proc = _proc(tmp_path, [(1, "R", 0), (2, "R", 10), (3, "S", 0), (4, "R", 0)])
    assert looked(proc, own=4) == pytest.approx(1 + 1.25**-10)
    assert looked(proc, nice=10, own=4) == pytest.approx(1.25**10 + 1)


@pytest.mark.parametrize(
    ("nice", "others", "cores", "expected"),
    [
        (19, [0], 2, 1.0),  # the other one has a core of its own
        (10, [0, 0, 0], 4, 1.0),
        (19, [0, 0], 2, 2 / (1 + 2 * 1.25**19)),  # neither takes more than a core
        (10, [0, 10, 10], 2, 1 / 3),  # one takes a core, three share the other
        (10, [0, 0, 0, 10], 4, 1 / 2),
        (10, [9, 10], 2, 2 / (1 + 1 + 1.25)),
    ],
)
def test_threads_take_one_core_at_most(
    tmp_path: Path, nice: int, others: list[int], cores: int, expected: float
) -> None:
    """A thread of more weight than the new process leaves it all that it cannot use itself."""
    proc = _proc(tmp_path, [(number, "R", its) for number, its in enumerate(others, 1)])
    found = runnable(proc, own=99, nice=nice, affinity=lambda _: range(cores), cores=cores)
    assert share(found, cores) == pytest.approx(expected)


def test_confined_threads_take_one_core_at_most(tmp_path: Path) -> None:
    """Of four cores, a process may use two: heavy threads confined to both leave it little, to one of them a core."""
    proc = _proc(tmp_path, [(1, "R", 0), (2, "R", 0)])
    for other, expected in (({0, 1}, 2 / (1 + 2 * 1.25**19)), ({2, 3}, 1.0)):
        cores = {0: {0, 1}, 1: {0, 1}, 2: other}
        found = runnable(proc, own=99, nice=19, affinity=cores.__getitem__, cores=4)
        assert share(found, 2) == pytest.approx(expected)


def test_idle_threads_hardly_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two threads of the policy SCHED_IDLE weigh 3 / 1024 each, whatever their nice value (sched(7)).

    To a process of that policy they count as one each.
    """
    proc = _proc(tmp_path, [(1, "R", 0), (2, "R", 19)], policy=5)
    assert looked(proc) == pytest.approx(2 * 3 / 1024)
    monkeypatch.setattr("os.sched_getscheduler", lambda _: 5)
    assert looked(proc) == pytest.approx(2)


def test_threads_count_each(tmp_path: Path) -> None:
    """Three running threads of a process count as three."""
    assert looked(_proc(tmp_path, [(1, "R", 0)], threads=3)) == 3


def test_processes_that_cannot_be_seen_count_one(tmp_path: Path) -> None:
    """The kernel counts five other running processes, of which two are visible: each hidden one has weight 1."""
    proc = _proc(tmp_path, [(1, "R", 10), (2, "R", 10)])
    (proc / "loadavg").write_text("0.1 0.2 0.3 6/150 99\n")
    assert looked(proc) == pytest.approx(3 + 2 * 1.25**-10)


@pytest.mark.parametrize(
    ("here", "places", "expected"),
    [
        ({0}, [{1}], 0),
        ({0}, [{0}], 1),
        ({0}, [{0}, {0, 1}], 1),
        ({0}, [{0}, {0, 1}, {1}], 1.5),
        ({0}, [{0, 1}, {1}, {1}], 1),
        ({0, 1}, [{0}, {0, 1}, {0, 1}], 3),
        ({0}, [{0, 1}], 0.5),
    ],
)
def test_threads_of_other_cores_do_not_count(
    tmp_path: Path, here: set[int], places: list[set[int]], expected: float
) -> None:
    """On two cores, threads count by the cores that they may use; those with a choice go where the load is lower.

    Three threads on two cores, one of each kind, give both cores a load of 1.5.
    """
    proc = _proc(tmp_path, [(number, "R", 0) for number in range(1, len(places) + 1)])
    cores = {0: here, **dict(enumerate(places, 1))}
    assert runnable(proc, own=9, nice=0, affinity=cores.__getitem__, cores=2) == expected


def test_threads_that_nobody_sees_may_run_anywhere(tmp_path: Path) -> None:
    """One thread is confined to this core, and two hidden ones may run anywhere: both cores have a load of 1.5."""
    proc = _proc(tmp_path, [(1, "R", 0)])
    (proc / "loadavg").write_text("0.1 0.2 0.3 4/150 99\n")
    assert runnable(proc, own=9, nice=0, affinity=lambda _: {0}, cores=2) == 1.5


def test_processes_that_end_meanwhile(tmp_path: Path) -> None:
    """A process that ends while it is read does not count."""
    (_proc(tmp_path, [(1, "R", 0)]) / "1" / "stat").unlink()
    (tmp_path / "2").mkdir()
    (tmp_path / "2" / "stat").write_text("")
    assert looked(tmp_path) == 0


def test_without_psutil_load_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without psutil, the error says what to install."""
    monkeypatch.setitem(sys.modules, "psutil", None)
    with pytest.raises(
        ForecastError, match=r'load must be measured by psutil, got none: pip install "clue\[forecast\]"'
    ):
        here()


# --- docs/pages/model/forecasts.md ---

CORES = range(4)
SOME = st.sets(st.sampled_from(CORES), min_size=1)
#: Nice values of threads, and the cores that each may use.
THREADS = st.lists(st.tuples(st.integers(-5, 19), SOME), max_size=6)


def competing(own: set[int], threads: list[tuple[float, set[int]]]) -> float:
    """Return the weight of threads on a process's cores, as the documentation defines it.

    Threads are given by weight and allowed cores. A thread that may run on both sides goes to the side with less load
    per core, until the loads are equal.
    """
    away = set(CORES) - own
    inside, outside, both = (
        sum(weight for weight, allowed in threads if (bool(allowed & own), bool(allowed & away)) == sides)
        for sides in ((True, False), (False, True), (True, True))
    )
    low, high = 0.0, both
    for _ in range(100 if away else 0):
        moved = (low + high) / 2
        if (inside + moved) / len(own) < (outside + both - moved) / len(away):
            low = moved
        else:
            high = moved
    return inside + low


@settings(deadline=None, max_examples=examples(100))
@given(SOME, THREADS, st.integers(0, 3))
def test_threads_compete_by_the_page(own: set[int], threads: list[tuple[int, set[int]]], hidden: int) -> None:
    """Threads of any cores, including hidden ones, no heavier than the process, compete as the documentation says."""
    nice = -5
    with tempfile.TemporaryDirectory() as folder:
        proc = _proc(Path(folder), [(i, "R", its) for i, (its, _) in enumerate(threads, 1)])
        (proc / "loadavg").write_text(f"0.1 0.2 0.3 {1 + len(threads) + hidden}/150 99\n")
        cores = {0: own, **{i: allowed for i, (_, allowed) in enumerate(threads, 1)}}
        found = runnable(proc, own=99, nice=nice, affinity=cores.__getitem__, cores=len(CORES))
    weighed = [(1.25 ** -(its - nice), allowed) for its, allowed in threads]
    assert found == pytest.approx(competing(own, [*weighed, *[(1.0, set(CORES))] * hidden]), rel=1e-9)
