"""The best configuration: by hand, and a search with bounds compared with an exhaustive one."""

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clue.errors import ModelError
from clue.models import Adjustment, Bin, ClusterModel, Errors, FittedTime, Statistics, Term, Use, best
from tests.properties import examples


def time_of(**coefficients: float) -> FittedTime:
    """Return an exact time of terms such as ``n^3``, ``over_P`` for n/P, and ``P``, valid anywhere."""
    texts = {"over_P": "n/P", "one": "1"}
    terms = tuple(Term.parse(texts.get(name, name)) for name in coefficients)
    values = np.array(list(coefficients.values()))
    certain = partial(Statistics, np.zeros((len(terms), len(terms))), 0.0, Errors(0, 0, 0), 9)
    return FittedTime(terms, values, {}, certain)


def on_any(processes: int, **coefficients: float) -> tuple[Bin, Bin]:
    """Return a kind's models for P = M and for any P above M, which are equal."""
    time = {"time": time_of(**coefficients)}
    return Bin(processes, time, processes), Bin(processes, time)


#: A fast processor takes n/P per process, a slow one four times as long; each rank costs another tenth of a second.
TWO = ClusterModel(
    {
        "fast": tuple(each for m in (1, 2, 3, 4) for each in on_any(m, over_P=float(m), P=0.1)),
        "slow": on_any(1, over_P=4.0, P=0.1),
    }
)


def test_a_search_by_hand() -> None:
    """Size 100: the fast processor alone takes 100.1 s; with 4 processes and 4 slow ones, 8 ranks take 400/8 + 0.8.

    With 3 of either kind, P is 7, and slow ones take 400/7 + 0.7; of equal times, the one on fewer processors comes
    first.
    """
    found = best(TWO, 100.0, {"fast": 1, "slow": 4})
    assert found.total == (1 + 4) * (1 + 4) - 1
    assert found.exhaustive
    assert found.best.uses == {"fast": Use(1, 4), "slow": Use(4, 1)}
    assert found.best.forecast.seconds == pytest.approx(50.8)
    second, third = found.candidates[1:3]
    assert second.uses == {"fast": Use(1, 4), "slow": Use(3, 1)}
    assert third.uses == {"fast": Use(1, 3), "slow": Use(4, 1)}
    assert second.loss == third.loss == pytest.approx((400 / 7 + 0.7) / 50.8 - 1)
    assert len(found.candidates) == 20


def test_small_problems_stay_on_the_fast_processor() -> None:
    """At size 1, one process takes 1.1 s; two processes on one processor take longer: 2 × 0.5 + 0.2."""
    assert best(TWO, 1.0, {"fast": 1, "slow": 4}).best.uses == {"fast": Use(1, 1)}


def test_processes_can_be_set() -> None:
    """With one process per slow processor and two on the fast one, there are 2 × 5 - 1 candidates."""
    found = best(TWO, 100.0, {"fast": 1, "slow": 4}, processes={"fast": [2]})
    assert found.total == len(found.candidates) == 9
    assert found.best.uses == {"fast": Use(1, 2), "slow": Use(4, 1)}


def test_an_adjustment_goes_by_its_kind() -> None:
    """With 4 processes on the fast processor, all takes twice as long as predicted, so 3 processes are better."""
    adjusted = ClusterModel(TWO.kinds, adjusted="fast", adjustments={4: Adjustment(2.0)})
    for whole in (True, False):
        found = best(adjusted, 100.0, {"fast": 1, "slow": 4}, exhaustive=whole)
        assert found.best.uses == {"fast": Use(1, 3), "slow": Use(4, 1)}
    assert adjusted.predict(100.0, {"fast": Use(1, 4), "slow": Use(4)}).seconds == pytest.approx(2 * 50.8)


@pytest.mark.parametrize("whole", [True, False])
def test_no_time_is_below_0(whole: bool) -> None:
    """A plain n - 5 is -4 s at n = 1, predicted as 0 s, as elsewhere; how much longer others take is unknown.

    With three processes on the slow kind all takes twice as long, which changes nothing where it is not used.
    """
    kinds = {"fast": on_any(1, n=1.0, one=-5.0), "slow": (*on_any(1, n=7.0), *on_any(3, n=7.0))}
    adjusted = ClusterModel(kinds, adjusted="slow", adjustments={3: Adjustment(2.0)})
    for model in (ClusterModel(kinds), adjusted):
        found = best(model, 1.0, {"fast": 1, "slow": 1}, exhaustive=whole)
        assert found.best.uses == {"fast": Use(1)}
        assert [each.forecast for each in found.candidates] == [
            model.predict(1.0, each.uses) for each in found.candidates
        ]
        assert (found.best.forecast.seconds, found.candidates[1].forecast.seconds) == (0, 7)
        assert {each.loss for each in found.candidates} == {None}


@st.composite
def clusters(draw: st.DrawFn) -> tuple[ClusterModel, dict[str, int]]:
    """Draw kinds with models for some numbers of processes, alone or beside others, and perhaps an adjustment."""
    kinds = [f"kind{i}" for i in range(draw(st.integers(1, 3)))]
    seconds = st.sampled_from([0.5, 1.0, 1.5, 2.0, 3.7, 5.0])
    bins: dict[str, tuple[Bin, ...]] = {}
    for kind in kinds:
        held: list[Bin] = []
        for m in draw(st.lists(st.integers(1, 4), min_size=1, max_size=3, unique=True)):
            alone, any_other = on_any(m, over_P=draw(seconds) * m, P=draw(seconds) / 10, one=draw(seconds))
            held += draw(st.sampled_from([[alone], [any_other], [alone, any_other]]))
        bins[kind] = tuple(held)
    adjusted = draw(st.sampled_from(["", *kinds]))
    by = {m: Adjustment(draw(seconds), draw(seconds)) for m in (1, 2)} if adjusted else {}
    return ClusterModel(bins, adjusted=adjusted, adjustments=by), {kind: draw(st.integers(1, 4)) for kind in kinds}


@given(clusters(), st.sampled_from([1.0, 10.0, 100.0]), st.integers(1, 30))
@settings(max_examples=examples(200))
def test_bounds_find_what_a_look_at_all_finds(
    cluster: tuple[ClusterModel, dict[str, int]], size: float, keep: int
) -> None:
    """Both searches return the same times in the same order, and each time is the model's prediction."""
    model, available = cluster
    try:
        whole = best(model, size, available, keep=keep, exhaustive=True)
    except ModelError:
        with pytest.raises(ModelError, match="must have models"):
            best(model, size, available, keep=keep, exhaustive=False)
        return
    bounded = best(model, size, available, keep=keep, exhaustive=False)
    assert bounded.total == whole.total
    assert [each.forecast.seconds for each in bounded.candidates] == [
        each.forecast.seconds for each in whole.candidates
    ]
    assert len({str(sorted(each.uses.items())) for each in bounded.candidates}) == len(bounded.candidates)
    for each in bounded.candidates:
        said = model.predict(size, each.uses)
        assert each.forecast.seconds == pytest.approx(said.seconds)
        assert all(use.processors <= available[kind] for kind, use in each.uses.items())


def test_a_million_candidates() -> None:
    """Six kinds with three processors and up to three processes each: the best is near the ideal time."""
    speeds = [1.0, 1.3, 1.7, 2.2, 2.9, 3.7]
    model = ClusterModel(
        {f"kind{i}": tuple(b for m in (1, 2, 3) for b in on_any(m, over_P=m / s, P=0.01)) for i, s in enumerate(speeds)}
    )
    found = best(model, 1000.0, dict.fromkeys(model.kinds, 3))
    assert found.total == 10**6 - 1
    assert not found.exhaustive
    # No time is below that of a perfect division of the work over all processors.
    perfect = 1000 / (3 * sum(speeds))
    assert perfect < found.best.forecast.seconds < 1.4 * perfect
    assert all(math.isfinite(each.forecast.seconds) for each in found.candidates)


@pytest.mark.parametrize(
    ("size", "available", "processes", "fault"),
    [
        (10.0, {"gpu": 4}, {}, r"processors must be of kinds that were fitted \(fast, slow\), got gpu"),
        (10.0, {}, {}, r"processors must be of kinds that were fitted \(fast, slow\), got none"),
        (10.0, {"slow": 2}, {"slow": [2]}, r"slow: processes per processor must be among those fitted \(1\), got 2"),
        (0.0, {"slow": 2}, {}, "size must be a number above 0, got 0"),
        (math.nan, {"slow": 2}, {}, "size must be a number above 0, got nan"),
    ],
)
def test_bad_questions(size: float, available: dict[str, int], processes: dict[str, list[int]], fault: str) -> None:
    """A question that the model cannot answer raises an error with the reason."""
    with pytest.raises(ModelError, match=fault):
        best(TWO, size, available, processes=processes)
