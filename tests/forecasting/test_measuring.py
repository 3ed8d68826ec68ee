"""Measuring routines: real ones in processes of their own at small sizes, and exact polynomials of memory."""

import platform
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import comb, prod
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clue.errors import ForecastError, UsageError
from clue.forecasting import worker
from clue.forecasting.adaptive import Goal, Survey, first, measure, ranges_of
from clue.forecasting.benchmarking import benchmark
from clue.forecasting.measuring import Point, bench
from clue.forecasting.memory import Memory, measure_memory
from clue.forecasting.routines import Routine, products, specification
from clue.forecasting.segments import Cut, find_cut, fitted
from clue.forecasting.shipped import TERMS
from clue.forecasting.store import open_store
from clue.forecasting.worker import LEAST, times_of
from clue.report.forecast.text import benchmark_text
from tests.report.cases import rendered

#: Number of s × s operands of each shipped routine.
OPERANDS = {"dgeadd": 2, "dgemm": 3, "dtrsm": 2, "dsyrk": 2, "dgetrf": 1, "dpotrf": 1, "dgesv": 2}


@pytest.mark.parametrize("name", TERMS)
def test_shipped_routines_need_their_operands(name: str) -> None:
    """The memory of shipped routines is exactly 8 bytes per element of each operand, and their times are above 0."""
    with bench(name) as running:
        sizes = tuple(range(100, 100 + len(running.routine.parameters)))
        memory = measure_memory(running.routine.parameters, running.memory)
        assert memory.off == 0
        assert memory.of(dict.fromkeys(running.routine.parameters, 1000)) == 8 * 10**6 * OPERANDS[name]
        assert memory.of(dict(zip(running.routine.parameters, sizes, strict=True))) == running.memory(sizes)
        point = running.point(sizes, 0.01)
        assert point.seconds > 0 and point.runs >= 3
        assert running.routine.library.startswith("scipy ")


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 looks in the current folder first")
def test_a_routine_may_stand_beside_a_script_of_clues_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Routines are found in the current folder; clue.py there does not stand for clue."""
    (tmp_path / "clue.py").write_text("raise SystemExit('imported')\n")
    (tmp_path / "mine.py").write_text("def work(n):\n    return sum(range(n))\n")
    monkeypatch.chdir(tmp_path)
    with bench("mine:work") as running:
        assert running.routine.parameters == ("n",)
        assert running.point((1000,), 0.01).seconds > 0


@given(st.lists(st.integers(0, 64), min_size=10, max_size=10))
def test_polynomials_of_memory_are_found_exactly(coefficients: list[int]) -> None:
    """Polynomials of memory are found exactly for any coefficients, also at sizes that were not measured."""
    names = ("m", "n", "k")
    keys = [(), *((a,) for a in names), ("m", "m"), ("m", "n"), ("m", "k"), ("n", "n"), ("n", "k"), ("k", "k")]

    def size(point: tuple[int, ...]) -> int:
        given = dict(zip(names, point, strict=True))
        total = 0
        for coefficient, key in zip(coefficients, keys, strict=True):
            product = coefficient
            for name in key:
                product *= given[name]
            total += product
        return total

    found = measure_memory(names, size)
    assert found.off == 0
    assert found.of({"m": 12345, "n": 7, "k": 999}) == size((12345, 7, 999))
    assert [found.coefficients[key] for key in keys] == list(map(Fraction, coefficients))


def test_memory_is_measured_at_sizes_that_the_ranges_allow() -> None:
    """A routine that refuses sizes below its ranges has its memory measured, and just as exactly."""

    def size(point: tuple[int, ...]) -> int:
        assert point[0] >= 1000 and point[1] >= 5
        return 8 * point[0] * point[1] + 16

    found = measure_memory(("m", "n"), size, ((1000, 9000), (5, 500)))
    assert (found.off, found.of({"m": 3, "n": 4})) == (0, 112)


@pytest.mark.parametrize("width", [4, 11, 181])
def test_memory_is_not_measured_beyond_ranges_of_five_sizes_or_more(width: int) -> None:
    """A routine may refuse larger sizes, or need memory that grows with 2^n; memory within the range is exact."""

    def size(point: tuple[int, ...]) -> int:
        assert 1 <= point[0] <= 1 + width and 64 <= point[1] <= 1024
        return 8 * point[0] ** 2 + 24 * point[0] * point[1] + 16

    found = measure_memory(("level", "n"), size, ((1, 1 + width), (64, 1024)))
    assert (found.off, found.of({"level": 2, "n": 1000})) == (0, 48048)


def test_memory_of_few_sizes_is_measured_above_them() -> None:
    """A range of one size does not tell how memory depends on it."""
    found = measure_memory(("n",), lambda point: 8 * point[0] ** 2, ((512, 512),))
    assert (found.off, found.of({"n": 10})) == (0, 800)


@pytest.mark.parametrize("count", range(4, 9))
def test_memory_of_many_sizes_is_exact(count: int) -> None:
    """The memory of a routine of up to eight sizes: that of a product of any two, of squares, and a constant."""
    names = tuple("abcdefgh"[:count])

    def size(point: tuple[int, ...]) -> int:
        return 8 * point[0] * point[-1] + sum(8 * each**2 for each in point) + 100

    assert measure_memory(names, size).off == 0
    assert measure_memory(names, size).of(dict.fromkeys(names, 1000)) == (1 + count) * 8_000_000 + 100


@pytest.mark.parametrize("count", range(1, 5))
@pytest.mark.parametrize("ends", [(1, 7), (16, 200), (1000, 9000)])
def test_memory_of_grids_in_three_dimensions_is_exact(count: int, ends: tuple[int, int]) -> None:
    """Memory with cubes and products of three sizes: 8 n^3 of one size of 1,600 is 32.768 GB, not 2.6 GB."""
    names = "abcd"[:count]

    def size(point: tuple[int, ...]) -> int:
        return 8 * sum(map(prod, combinations_with_replacement(point, 3)))

    found = measure_memory(names, size, [ends] * count)
    assert found.off == 0 and found.of(dict.fromkeys(names, 1600)) == 8 * comb(count + 2, 3) * 1600**3


@pytest.mark.parametrize("low", [64, 1000])
def test_memory_beyond_the_third_degree_is_a_guess(low: int) -> None:
    """Memory of n^4 bytes fits no polynomial of up to third degree; jitter of a few bytes is no reason to doubt one."""
    found = measure_memory(("n",), lambda point: point[0] ** 4, [(low, 9000)])
    assert found.is_guess({"n": 9000}, {"n": low}) and 2 * found.of({"n": 9000}) < 9000**4
    found = measure_memory(("n",), lambda point: 8 * point[0] ** 2 + point[0] % 3, [(low, 9000)])
    assert not found.is_guess({"n": 9000}, {"n": low})
    assert found.of({"n": 9000}) == pytest.approx(8 * 9000**2, rel=0.01)


def test_memory_that_is_no_polynomial_says_how_far_it_is_off() -> None:
    """For memory rounded up to pages of 4,096 B, the polynomial states by how much it is off."""
    found = measure_memory(("n",), lambda point: -(-8 * point[0] ** 2 // 4096) * 4096)
    assert 0 < found.off < 8192
    assert abs(found.of({"n": 100}) - 81920) < 8192


def test_memory_is_written_with_all_digits_before_the_point() -> None:
    """Exact coefficients keep their digits: 8 m n + 1,234,567."""
    assert str(Memory({("m", "n"): Fraction(8), (): Fraction(1234567)})) == "8 m n + 1,234,567"
    assert str(Memory({("n",): Fraction(1, 3)}, 2000)) == "0.333333 n (off by up to 2 KB)"
    assert str(Memory({(): Fraction(50), ("n",): Fraction(-5)})) == "50 - 5 n"
    assert str(Memory({("n", "n", "n"): Fraction(8), ("m", "n", "n"): Fraction(2)})) == "8 n^3 + 2 m n^2"


def test_terms_of_routines_of_users() -> None:
    """The terms of users' routines are all products up to the third degree."""
    assert products(["n"]) == ("1", "n", "n^2", "n^3")
    assert products("mn") == ("1", "m", "n", "m^2", "m n", "n^2", "m^3", "m^2 n", "m n^2", "n^3")


OWN = """\
import time
def plain(n): return bytearray(1000 * n)
def steps(n, k=1):
    made = list(range(n))
    yield
    made.sort()
def adds(n):
    import numpy
    a, b = numpy.ones((n, n)), numpy.ones((n, n))
    yield
    c = a + b
    c += 1
def masks(n):
    import numpy
    a = numpy.ones((n, n))
    yield
    a > 2
def doubles(n):
    import numpy
    a = numpy.ones((n, n))
    yield
    a *= 2
def fails(n): raise ValueError("n is odd" if n % 2 else "n is even")
def ends(n): import os; os._exit(3)
def sleeps(n): time.sleep(9)
def loud(n): print("result", n)
def spawns(n): import subprocess; subprocess.run(["echo", "5"])
def waits(n): time.sleep(n / 1000)
def nothing(): pass
def some(*sizes): pass
def twice(n):
    yield
    yield
value = 3
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a module of users' routines to the current folder, and return the folder."""
    (tmp_path / "own.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("own")
def test_any_function_can_be_measured() -> None:
    """Any function can be measured by the names of its sizes; its library is its module's text.

    What it prints, or a process that it starts, does not disturb that.
    """
    for name in ("own:plain", "own:steps", "own:loud", "own:spawns"):
        with bench(name) as running:
            assert running.routine.parameters == ("n",)
            assert running.routine.library.startswith("own ")
            assert running.point((100,), 0.0).runs == 3
            if name == "own:plain":
                assert 1_000_000 <= running.memory((1000,)) < 1_010_000


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize(("name", "each"), [("own:adds", 24), ("own:masks", 9), ("own:doubles", 8)])
def test_memory_that_a_routine_allocates_counts(name: str, each: int) -> None:
    """Bytes of each element: a sum needs its operands and its result, a mask a byte, and what is done in place none."""
    with bench(name) as running:
        memory = measure_memory(running.routine.parameters, running.memory)
        assert memory.off == 0
        assert each * 10**6 <= memory.of({"n": 1000}) < each * 10**6 + 1000


def events_of(size: int) -> list[str]:
    """Return the order in which operands of a size in bytes are made and used."""
    events: list[str] = []

    def routine(n: int) -> Iterator[None]:
        operand = np.zeros(n, np.int8)
        events.append("made")
        yield
        events.append(f"used {operand.size}")

    assert len(times_of(routine, {"n": size}, 0.0)) == LEAST
    return [event.partition(" ")[0] for event in events]


@pytest.mark.usefixtures("own")
def test_what_a_routine_waits_for_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A routine that sleeps for 40 ms takes 40 ms, though it hardly computes; waiting for a core does not count.

    Here it is held up for 2 of 5 s of each run, in which it computes for 1 s: without any wait, this is its time.
    """
    with bench("own:waits") as running:
        assert running.point((40,), 0.0).seconds >= 0.04
    for waits, own in (((3, 4), 3.0), ((3, 3), 1.0)):
        clocks = SimpleNamespace(perf_counter=iter((0.0, 5.0)).__next__, process_time=iter((7.0, 8.0)).__next__)
        with monkeypatch.context() as patch:
            patch.setattr(worker, "time", clocks)
            patch.setattr(worker, "_held_up", iter((1.0, 3.0)).__next__)
            patch.setattr(worker, "_waits", iter(waits).__next__)
            assert worker._timed(worker._Run(int, ())) == (own, 5.0)


def test_operands_are_made_well_before_they_are_used() -> None:
    """Between making operands of 16 MB and using them, three others are made, so that no cache holds them.

    A warm-up comes before, and another one whose operands are not used.
    """
    assert events_of(16 << 20) == ["made", "used", "made", *["made"] * 4, *["used"] * 3]


def test_large_operands_are_made_one_by_one() -> None:
    """Operands larger than any cache, and routines without arrays, are made one by one."""
    assert events_of(65 << 20) == ["made", "used", "made", *["made", "used"] * 3]
    assert events_of(0) == ["made", "used", "made", *["made", "used"] * 3]


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("own:fails", "own:fails at n=5: routine must finish, got ValueError: n is odd"),
        ("own:ends", "own:ends at n=5: routine must finish, got exit status 3"),
        ("own:sleeps", "own:sleeps at n=5: routine must finish, got none within 0.5 s"),
        ("own:absent", "own:absent: function must be one of own, got absent"),
        ("own:value", "own:value: function must be one of own, got value"),
        ("own:nothing", "own:nothing: routine must have a size"),
        ("own:some", "own:some: routine must have a size"),
        ("own:twice", "own:twice at n=5: routine must yield once, when its operands are made, got 2 times"),
        ("absent:f", "absent:f: routine must finish, got ModuleNotFoundError: No module named 'absent'"),
    ],
)  # fmt: skip
def test_routines_that_cannot_be_measured(name: str, said: str) -> None:
    """A routine that fails is an error of one line with its name, sizes and reason."""
    with pytest.raises(ForecastError) as caught, bench(name, limit=0.5 if "sleeps" in name else 60.0) as running:
        running.point((5,), 0.0)
    assert str(caught.value).startswith(said)


@pytest.mark.usefixtures("own")
def test_an_interrupted_measurement_waits_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """After Ctrl-C no timer of the limit is left, for which Python would wait before it ends."""

    def interrupted() -> str:
        raise KeyboardInterrupt

    with bench("own:sleeps", limit=60.0) as running, monkeypatch.context() as patch:
        patch.setattr(running._process, "stdout", SimpleNamespace(readline=interrupted))
        with pytest.raises(KeyboardInterrupt):
            running.point((5,), 0.0)
    left = [each for each in threading.enumerate() if isinstance(each, threading.Timer)]
    assert all(each.finished.is_set() for each in left)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("dgemmm", "routine must be one of dgeadd, dgemm, dtrsm, dsyrk, dgetrf, dpotrf, dgesv, or MODULE:FUNCTION, "
         "got 'dgemmm': did you mean dgemm?"),
        ("os.system", "routine must be one of .*, or MODULE:FUNCTION, got 'os.system'"),
        ("a:b:c", "routine must be one of .*, got 'a:b:c'"),
    ],
)  # fmt: skip
def test_names_that_are_none(name: str, said: str) -> None:
    """An unknown routine is refused with the closest known name."""
    with pytest.raises(UsageError, match=said):
        specification(name)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"x": (1, 2)}, "dgemm: sizes must be m, n, k, got x"),
        ({"m": (-4, 2)}, "dgemm: m must be a whole number from 1 to .*, got -4"),
        ({"m": (8, 8)}, "dgemm: m must go from a size to a larger one, got 8 to 8"),
    ],
)
def test_ranges_that_are_none(given: dict[str, tuple[int, int]], said: str) -> None:
    """Wrong ranges are refused before anything is measured."""
    with pytest.raises(UsageError, match=said):
        ranges_of(Routine("dgemm", ("m", "n", "k"), ""), given)


def test_a_size_has_a_name_that_terms_can_contain(own: Path) -> None:
    """In a term, ``log x`` is the logarithm of x and not the product of two sizes: the name is refused at once."""
    (own / "named.py").write_text("def f(x, log): return x * log\ndef g(x, logs): return x * logs\n")
    with bench("named:g") as running:
        assert running.routine.terms[:5] == ("1", "x", "logs", "x^2", "x logs")
    with (
        pytest.raises(UsageError, match="named:f: sizes must have names other than log, which terms contain, got log"),
        bench("named:f"),
    ):
        pass


def test_a_routine_has_at_most_eight_sizes() -> None:
    """Eight sizes get their default ranges; nine are refused before anything is measured."""
    assert len(ranges_of(Routine("f", tuple("abcdefgh"), ""), {})) == 8
    with pytest.raises(UsageError, match="f: sizes must be at most 8, got 9"):
        ranges_of(Routine("f", tuple("abcdefghi"), ""), {})


def test_sizes_to_measure_first() -> None:
    """The first sizes are the corners and the middle on a logarithmic scale, smallest first."""
    assert first([(10, 1000)]) == [(10,), (100,), (1000,)]
    assert first([(1, 4), (1, 16)]) == [(1, 1), (4, 1), (2, 4), (1, 16), (4, 16)]


def test_the_next_sizes_are_where_least_is_known() -> None:
    """If one end of a range was measured densely, the next size is in the other part."""
    survey = Survey(Routine("f", ("n",), ""), [Point((n,), n * 1e-6) for n in (1, 2, 3, 4, 6, 8, 1000)])
    assert 20 < (survey.next() or (0,))[0] < 400


def test_smaller_sizes_than_those_known_are_measured() -> None:
    """A routine takes n ms, 20 and 40 s at known sizes: there is time for sizes up to 1000, none to repeat the others.

    The smallest are estimated by the smallest known size, in proportion: 4 × 20 s × 10 / 20000 for n = 10.
    """

    def point(sizes: tuple[int, ...], _seconds: float = 0.0) -> Point:
        return Point(sizes, sizes[0] * 1e-3)

    quick = SimpleNamespace(routine=Routine("f", ("n",), ""), point=point)
    known = [point((n,)) for n in (20_000, 40_000)]
    *_, survey = measure(quick, [(10, 1000)], Goal(points=3), known=known)  # type: ignore[arg-type]
    assert [each.sizes for each in survey.points] == [(20_000,), (40_000,), (10,), (100,), (1000,)]
    assert survey.left_out == []


@pytest.mark.parametrize("names", ["mnk", "nkP"])
def test_names_of_sizes_do_not_matter(names: str) -> None:
    """Times that no sum of products meets, so that several are plausible, are forecast alike under other names."""
    sizes = list(product((64, 256, 1024), repeat=3))
    points = [Point(size, 1e-9 * prod(size) * (1 + 0.1 * (i % 4))) for i, size in enumerate(sizes)]
    mine, other = (fitted(tuple(each), products(each), points, None) for each in (names, "abc"))
    for size in ((100, 200, 300), (4096, 128, 64)):
        assert mine.need(size) == other.need(size)


def test_where_times_leap_a_range_is_cut() -> None:
    """Times of 1 ns per step up to 200 and 5 ns above are cut there, and each part is fitted on its own."""

    def seconds(n: int) -> float:
        return n**2 * (1e-9 if n <= 200 else 5e-9)

    points = [Point((n,), seconds(n)) for n in range(20, 420, 10)]
    terms = ("1", "n", "n^2")
    cut = find_cut(("n",), terms, points)
    assert cut is not None and 190 <= cut.at < 210
    found = fitted(("n",), terms, points, cut)
    for n in (35, 155, 265, 405):
        assert found.need((n,)).seconds == pytest.approx(seconds(n), rel=0.02)
    assert fitted(("n",), terms, points, None).error > 5 * found.error


def test_what_is_known_keeps_its_cut_from_the_first_new_point_on() -> None:
    """Known times of 1 ns per step up to 200 and 5 ns above stay cut there, also if the measurement ends early."""

    def point(sizes: tuple[int, ...], _seconds: float = 0.0) -> Point:
        return Point(sizes, sizes[0] ** 2 * (1e-9 if sizes[0] <= 200 else 5e-9))

    quick = SimpleNamespace(routine=Routine("f", ("n",), ""), point=point)
    known = [point((n,)) for n in range(20, 420, 10)]
    survey = next(measure(quick, [(5, 400)], Goal(), known=known))  # type: ignore[arg-type]
    assert len(survey.points) == 41
    assert survey.cut is not None and 190 <= survey.cut.at < 210


def test_smooth_times_are_not_cut() -> None:
    """Smooth times are fitted by one polynomial without a cut."""
    points = [Point((n,), 1e-9 * n**2 + 1e-6) for n in range(20, 420, 10)]
    assert find_cut(("n",), ("1", "n", "n^2"), points) is None


def test_a_cut_without_points_on_one_side_is_left_out() -> None:
    """A cut with points on one side only is dropped."""
    points = [Point((n,), 1e-9 * n) for n in (10, 20, 40)]
    assert fitted(("n",), ("n",), points, Cut(0, 100.0)).cut is None


@pytest.mark.usefixtures("own")
def test_what_was_measured_is_kept_though_the_rest_fails(tmp_path: Path) -> None:
    """Points that were measured before a failure stay in the store."""
    (tmp_path / "own.py").write_text("def f(n):\n    if n > 1000: raise ValueError('too large')\n")
    with open_store(tmp_path / "s.sqlite", make=True) as store:
        with pytest.raises(ForecastError, match=r"own:f at n=4000: .* ValueError: too large"):
            benchmark("own:f", store, {"n": (10, 4000)}, Goal())
        kept = store.find(platform.node(), "own:f")
        assert kept is not None and [point.sizes for point in kept.points] == [(10,), (200,)]


@pytest.mark.usefixtures("own")
def test_a_range_that_takes_too_long_is_left_out(tmp_path: Path) -> None:
    """The largest corner is left out if there is no time for it, which the result states."""
    (tmp_path / "own.py").write_text("def f(n):\n    return sum(range(n * 100))\n")
    with open_store(tmp_path / "s.sqlite", make=True) as store:
        found = benchmark("own:f", store, {"n": (10, 10**7)}, Goal(seconds=0.5))
    assert (10**7,) in found.left_out and found.domain["n"][1] < 10**7
    for corners, said in ((((9,),), "1 corner of"), (((9,), (8,)), "2 corners of")):
        text = rendered(benchmark_text([replace(found, left_out=corners)], "s"), 200)
        verb = "is" if len(corners) == 1 else "are"
        assert f"own:f: {said} its ranges would have taken longer than there was time for, and {verb} not" in text
    for error, said in (
        (0.5, "errors at new points are still above the target"),
        (None, "no points were left to tell"),
    ):
        unsure = replace(found, reached=False, measured=replace(found.measured, error=error))
        assert f"own:f: {said}" in rendered(benchmark_text([unsure], "s"), 200)


@pytest.mark.usefixtures("own")
def test_what_was_measured_earlier_counts_on(tmp_path: Path) -> None:
    """A second range is added to the first, also if it fails; another version of the module has its own points."""
    (tmp_path / "own.py").write_text("def f(n):\n    if n > 5000: raise ValueError\n")
    with open_store(tmp_path / "s.sqlite", make=True) as store:
        benchmark("own:f", store, {"n": (10, 100)}, Goal(points=4))
        found = benchmark("own:f", store, {"n": (200, 400)}, Goal(points=4))
        assert found.domain["n"] == (10, 400) and len(found.measured.points) == 8
        with pytest.raises(ForecastError, match="own:f at n=9000"):
            benchmark("own:f", store, {"n": (500, 9000)}, Goal())
        kept = store.find(platform.node(), "own:f")
        assert kept is not None and {point.sizes for point in found.measured.points} < {p.sizes for p in kept.points}
        (tmp_path / "own.py").write_text("def f(n): return n\n")
        assert len(benchmark("own:f", store, {"n": (10, 100)}, Goal(points=4)).measured.points) == 4
        assert len(store.routines()) == 2


@pytest.mark.usefixtures("own")
def test_points_of_another_process_are_kept(tmp_path: Path) -> None:
    """A routine is measured from 500 to 700 while it is measured from 10 to 100: the store has the points of both."""
    (tmp_path / "own.py").write_text("def f(n): return sum(range(n))\n")
    begun = list[tuple[str, int, int]]()

    def meanwhile(what: str, done: int = 0, total: int = 0) -> None:
        begun.append((what, done, total))
        if len(begun) == 1:
            with open_store(tmp_path / "s.sqlite") as other:
                benchmark("own:f", other, {"n": (500, 700)}, Goal(points=3))

    with open_store(tmp_path / "s.sqlite", make=True) as store:
        found = benchmark("own:f", store, {"n": (10, 100)}, Goal(points=3), meanwhile)
        kept = store.find(platform.node(), "own:f")
    assert found.domain["n"] == (10, 700)
    assert kept is not None and sorted(point.sizes[0] for point in kept.points) == [10, 32, 100, 500, 592, 700]
