"""Ensembles: recovered formulas, uncertainty, and predictions where little is known."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from clue.errors import ModelError
from clue.models import Ensemble, Formula, Lines, Member, Term, fit
from tests.properties import examples

#: Recordings at three sizes on three numbers of ranks; a rank's local size is m = n^2 / P.
N, P = (np.repeat([500.0, 1000.0, 2000.0], 3), np.tile([4.0, 8.0, 16.0], 3))
RUNS = {"n": N, "P": P, "m": N**2 / P}
#: Targets of twice the size, on four times the ranks and on the same ranks.
TARGETS = {"n": np.array([4000.0, 4000.0]), "P": np.array([64.0, 16.0]), "m": np.array([250e3, 1e6])}


def formula(ensemble: Ensemble) -> Formula:
    """Return the most plausible formula."""
    return next(member.model for member in ensemble.members if isinstance(member.model, Formula))


def noisy(seconds: np.ndarray, seed: int, share: float = 0.05) -> np.ndarray:
    """Return the times with multiplicative noise."""
    return np.asarray(seconds * np.exp(share * np.random.default_rng(seed).standard_normal(len(seconds))))


@pytest.mark.long
@settings(max_examples=examples(40), deadline=None)
@given(
    st.sampled_from(["m", "m log m", "m^(3/2)", "m^2", "n^3/P", "n^2"]),
    st.floats(1e-12, 1e-6),
    st.sampled_from([0.0, 0.1, 1.0]),
)
def test_without_noise_terms_are_recovered(text: str, coefficient: float, constant: float) -> None:
    """A term, with or without a constant: coefficients and times are recovered."""
    term = Term.parse(text)
    least = coefficient * term.of(RUNS, 9).min()
    ensemble = fit(RUNS, coefficient * term.of(RUNS, 9) + constant * least)
    found = dict(zip(map(str, formula(ensemble).terms), formula(ensemble).coefficients, strict=True))
    assert found == pytest.approx(
        {"1": constant * least, text: coefficient} if constant else {text: coefficient}, rel=1e-5
    )
    mean, low, high = ensemble.predict(TARGETS)
    truth = coefficient * term.of(TARGETS, 2) + constant * least
    assert mean == pytest.approx(truth, rel=0.01)
    assert ((low <= truth * 1.0001) & (truth <= high * 1.0001)).all()


@pytest.mark.long
@settings(max_examples=examples(40), deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@example([174.0, 128, 128, 207, 386, 518, 713, 1, 1], 28.0)
@given(st.lists(st.floats(1e-6, 1e3), min_size=9, max_size=9), st.floats(0.01, 100))
def test_predictions_are_positive_and_never_fall_as_a_size_grows(seconds: list[float], scale: float) -> None:
    """Predictions hold for any measurements, including noise that no formula describes."""
    ensemble = fit(RUNS, seconds)
    m = 250e3 * scale * np.geomspace(1, 4, 9)
    for grown in (
        {"n": np.sqrt(m * 64), "P": np.full(9, 64.0), "m": m},
        {"n": np.full(9, 4e3), "P": np.full(9, 64.0), "m": m},
    ):
        mean, low, high = ensemble.predict(grown)
        assert (np.diff(mean) >= -1e-9 * mean[1:]).all()
        assert ((low > 0) & (low <= mean) & (mean <= high)).all()
    assert sum(member.weight for member in ensemble.members) == pytest.approx(1)


@pytest.mark.long
@settings(max_examples=examples(20), deadline=None)
@given(st.floats(1e-6, 1e6), st.permutations(range(27)))
def test_units_and_order_do_not_matter(unit: float, order: list[int]) -> None:
    """Times in another unit give the same prediction in that unit; the order of samples has no effect."""
    runs = {name: np.repeat(values, 3) for name, values in RUNS.items()}
    seconds = noisy(2.5e-9 * runs["m"] + 40e-6, 1)
    shuffled = {name: values[order] for name, values in runs.items()}
    for mine, other in zip(
        fit(runs, seconds).predict(TARGETS), fit(shuffled, unit * seconds[order]).predict(TARGETS), strict=True
    ):
        assert other == pytest.approx(unit * mine, rel=1e-4)


def test_ten_percent_count_alike_whatever_takes_long() -> None:
    """1.1 m at 1 and 0.9 m at 10^6: relative residuals of c m are least at c = sum(1/y) / sum(1/y^2), y = 1.1, 0.9."""
    ensemble = fit({"m": [1, 1e6]}, [1.1, 0.9e6], terms=["m"])
    assert formula(ensemble).coefficients == pytest.approx([(1 / 1.1 + 1 / 0.9) / (1 / 1.1**2 + 1 / 0.9**2)])


def test_what_fits_equally_well_stays_and_parts_beyond() -> None:
    """On one number of ranks, n and n / P fit equally well; at four times the ranks, the interval covers both."""
    n = np.array([100.0, 200.0, 400.0, 800.0])
    ensemble = fit({"n": n, "P": np.full(4, 4.0)}, noisy(1e-6 * n, 3, 0.01))
    assert {"n", "n/P"} <= {str(each.model.terms[0]) for each in ensemble.members if isinstance(each.model, Formula)}
    _, low, high = ensemble.predict({"n": [800], "P": [16]})
    assert low[0] < 800e-6 / 4 * 1.2
    assert high[0] > 800e-6 * 0.8


def of_two(likely: str, other: str, weight: float, times: float = 1.0) -> Ensemble:
    """Return an ensemble of a term and of a multiple of another one, which has a weight."""
    pairs = ((likely, 1.0, 1 - weight), (other, times, weight))
    made = [
        (Formula((Term.parse(text),), (c,), ((0.0,),), ((0.0, 24.0),), 0.0, 0.0), share) for text, c, share in pairs
    ]
    return Ensemble(tuple(Member(*each) for each in made), {"n": (1.0, 8.0)}, 4)


def test_an_implausible_member_that_says_0_changes_little() -> None:
    """1 s with a weight of 99.5 %, and n log n = 0 at n = 1, which counts as 0.01 s: 0.01^0.005 s = 0.977 s."""
    mean, low, high = of_two("1", "n log n", 0.005).predict({"n": [1]})
    assert mean[0] == pytest.approx(0.01**0.005)
    assert 0.5 < low[0] < 1 < high[0] < 2


@pytest.mark.parametrize("times", [500.0, 1e-9])
def test_members_above_0_count_as_they_are(times: float) -> None:
    """1 s with a weight of 99 %, far more or less with 1 %: the mean of the logarithms is that to the power of 0.01."""
    assert of_two("1", "1", 0.01, times).predict({"n": [1]})[0][0] == pytest.approx(times**0.01)


def test_members_that_all_say_0() -> None:
    """Two members of n log n take no time at n = 1."""
    assert of_two("n log n", "n^2 log n", 0.5).predict({"n": [1]})[0][0] == 0


def test_lines_tell_what_formulas_do_not_know() -> None:
    """Times rise faster beyond a cache of m = 10^5: between measured sizes, lines dominate and predict well."""

    def truth(m: np.ndarray) -> np.ndarray:
        return 1e-9 * m * np.where(m > 1e5, 3.0, 1.0)

    m = np.geomspace(1e3, 1e7, 17)
    ensemble = fit({"m": m}, truth(m))
    assert isinstance(ensemble.members[0].model, Lines)
    target = np.array([2e3, 2e4, 6e5, 3e6])
    assert ensemble.predict({"m": target})[0] == pytest.approx(truth(target), rel=0.2)
    assert ensemble.inside({"m": target}).all()
    assert ensemble.inside({"m": [500, 2e7]}).tolist() == [False, False]


def test_noise_that_makes_times_fall_does_not_make_predictions_fall() -> None:
    """Times that fall from size 2 to 4 are noise, so the prediction between them lies in their range."""
    ensemble = fit({"m": [1, 2, 4, 8]}, [1.0, 2.6, 2.4, 8.0])
    mean, _, _ = ensemble.predict({"m": [1, 2, 3, 4, 8]})
    assert (np.diff(mean) > 0).all()
    assert 2 < mean[2] < 4


def test_an_outlier_among_three_repeats_changes_little() -> None:
    """One of 27 samples took a hundred times as long, but predictions change by less than 3 %."""
    runs = {name: np.repeat(values, 3) for name, values in RUNS.items()}
    seconds = noisy(2.5e-9 * runs["m"] + 40e-6, 5, 0.02)
    struck = seconds.copy()
    struck[4] *= 100
    assert fit(runs, struck).predict(TARGETS)[0] == pytest.approx(fit(runs, seconds).predict(TARGETS)[0], rel=0.03)


def test_of_one_point_nothing_is_known_elsewhere() -> None:
    """At a single measured point, the interval comes from the repeats; elsewhere it is from 0 to infinity."""
    ensemble = fit({"n": [10, 10], "P": [4, 4]}, [0.9, 1.1])
    assert str(ensemble).endswith("off  1")
    mean, low, high = ensemble.predict({"n": [10, 20], "P": [4, 4]})
    assert mean.tolist() == [1, 1]
    assert 0.7 < low[0] < 1 < high[0] < 1.4
    assert (low[1], high[1]) == (0, math.inf)
    assert ensemble.inside({"n": [10, 20], "P": [4, 4]}).tolist() == [True, False]


def test_two_points_are_joined() -> None:
    """1 s at 1 and 8 s at 4 follow m^1.5, as formula and as lines; beyond them, the interval widens."""
    ensemble = fit({"m": [1, 4]}, [1, 8])
    assert {type(member.model) for member in ensemble.members} == {Formula, Lines}
    mean, low, high = ensemble.predict({"m": [2, 4, 16]})
    assert mean == pytest.approx([2**1.5, 8, 64])
    assert high[2] / low[2] > high[1] / low[1]


@pytest.mark.parametrize("seconds", [[0, 0, 0, 0, 0, 0], [0, 0, 1, 2, 3, 6]])
def test_what_takes_no_time_is_fitted(seconds: list[float]) -> None:
    """Times of zero are fitted, alone or together with longer ones."""
    mean, low, high = fit({"m": [1, 2, 100, 200, 300, 600]}, seconds).predict({"m": [300, 600]})
    assert np.isfinite([mean, low, high]).all()
    assert mean == pytest.approx(seconds[4:], rel=0.15)
    assert (low <= mean).all()


def test_a_constant_is_a_constant() -> None:
    """Bursts that do not depend on any feature are fitted by a constant, which holds at all targets."""
    ensemble = fit(RUNS, noisy(np.full(9, 3e-5), 7, 0.01))
    assert str(formula(ensemble)).endswith("e-05")
    assert ensemble.predict(TARGETS)[0] == pytest.approx(3e-5, rel=0.1)


def test_collinear_features_are_fitted_apart() -> None:
    """As bytes = 8 m, no formula uses both features, and each gives the same prediction."""
    m = np.array([1e3, 2e3, 4e3, 8e3])
    ensemble = fit({"m": m, "bytes": 8 * m}, 1e-9 * m)
    assert all(
        {"m", "bytes"} - set(map(str, each.model.terms)) for each in ensemble.members if isinstance(each.model, Formula)
    )
    assert ensemble.predict({"m": [16e3], "bytes": [128e3]})[0] == pytest.approx([16e-6], rel=0.01)


def test_more_points_than_parts_are_judged_in_parts() -> None:
    """400 steps of a factorisation have different sizes; the square of the size is found."""
    left = np.arange(400.0, 0.0, -1.0)
    ensemble = fit({"n": np.full(400, 400.0), "left": left}, noisy(1e-9 * left**2 + 1e-6, 2))
    assert set(map(str, formula(ensemble).terms)) == {"1", "left^2"}
    assert ensemble.points == 400
    assert ensemble.predict({"n": [400], "left": [200.5]})[0] == pytest.approx([1e-9 * 200.5**2 + 1e-6], rel=0.05)


def test_an_ensemble_tells_what_it_is() -> None:
    """An ensemble has a domain, an error and a line per member, and survives pickling."""
    ensemble = fit({"m": [1, 2, 4, 8]}, [3, 5, 9, 17])
    assert ensemble.domain == {"m": (1, 8)}
    assert ensemble.error < 0.01
    assert str(formula(ensemble)) in {"1 + 2 m", "2 m + 1"}
    assert next(iter(ensemble.describe())).split("off")[0].count("%") == 2
    assert str(pickle.loads(pickle.dumps(ensemble))) == str(ensemble)


@pytest.mark.parametrize(
    ("features", "terms", "message"),
    [
        ({"n": [1, 2]}, ["m"], "term m needs m, got n"),
        ({"n": [1, 2]}, [], "terms: at least one must be given, got none"),
        ({"n": [1, 2], "P": [0, 1]}, None, "P: values must be above 0 for term n/P.*, got 0"),
        ({"n": [1, 2]}, ["n +"], "term must be a product"),
    ],
)
def test_other_terms_are_refused(features: dict[str, list[float]], terms: list[str] | None, message: str) -> None:
    """Refused are terms whose features are missing, and terms that divide by 0."""
    with pytest.raises(ModelError, match=message):
        fit(features, [1, 2], terms)


def test_what_was_fitted_must_be_asked_for() -> None:
    """A missing feature is named, and an additional one is ignored."""
    ensemble = fit({"m": [1, 2, 4], "P": [4, 4, 4]}, [1, 2, 4])
    with pytest.raises(ModelError, match="features: P must be given, got m"):
        ensemble.predict({"m": [1]})
    with pytest.raises(ModelError, match=r"P: shape must be \(1,\), got \(2,\)"):
        ensemble.inside({"m": [1], "P": [4, 4]})
    assert ensemble.predict({"m": [2], "P": [4], "more": [3]})[0] == pytest.approx([2])
