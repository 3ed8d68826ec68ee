"""Given terms, fitted to measured times: closed forms by hand, published figures, and scipy's results."""

import math
import pickle
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls
from scipy.stats import t as student

from clue.errors import ModelError
from clue.models import FittedTime, fit_each, fit_terms
from clue.models.fitted import Problem, beyond, fit_many
from clue.models.terms import Floats

#: Kishimoto and Ichikawa, "An Execution-Time Estimation Model for Heterogeneous Clusters", Tables 3 and 6: times summed
#: over configurations; sizes in thousands. A sum of cubics is a cubic, so N-T models fit these sums as well.
SIZES = np.array([400, 600, 800, 1200, 1600, 2400, 3200, 4800, 6400]) / 1000
ATHLON = np.array([3.9, 7.4, 10.8, 20.5, 37.4, 97.5, 197.2, 566.0, 1239.5])
PENTIUM = np.array([96.7, 130.1, 178.8, 305.2, 508.5, 1117.3, 2042.2, 5360.0, 10950.3])
CUBIC = ["n^3", "n^2", "n", "1"]
#: Indices of the sizes from which the paper builds its NS models.
SMALL = [0, 2, 3, 4]


@pytest.mark.parametrize(
    ("times", "coefficients", "largest"),
    [
        (PENTIUM, [24.316, 102.689, 48.722, 60.474], 0.015),
        (ATHLON, [3.699, 5.864, 4.428, 1.170], 0.090),
    ],
)
def test_plain_fits_of_published_times(times: np.ndarray, coefficients: list[float], largest: float) -> None:
    """Cubics by least squares in seconds, as in the paper."""
    fitted = fit_terms({"n": SIZES}, times, CUBIC, relative=False, signed=True)
    assert fitted.coefficients == pytest.approx(coefficients, abs=5e-4)
    assert fitted.statistics.errors.largest == pytest.approx(largest, abs=5e-4)
    assert fitted.domain == {"n": (0.4, 6.4)}
    assert fitted.statistics.points == 9


def test_relative_residuals_serve_short_times() -> None:
    """In seconds, the Athlon's shortest time is 9 % off; with relative residuals, no time is off by more than 5.4 %."""
    fitted = fit_terms({"n": SIZES}, ATHLON, CUBIC, signed=True)
    assert fitted.statistics.errors.largest == pytest.approx(0.054, abs=5e-4)


@pytest.mark.parametrize(("times", "plain", "careful"), [(ATHLON, 0.939, -0.123), (PENTIUM, 0.901, 0.563)])
def test_small_sizes_alone(times: np.ndarray, plain: float, careful: float) -> None:
    """From 400 to 1600, a plain cubic predicts twice the time of 6400; non-negative coefficients do far better.

    Both report that the size is outside of what was fitted; four points leave a plain cubic no error to estimate.
    """
    features = {"n": SIZES[SMALL]}
    cubic = fit_terms(features, times[SMALL], CUBIC, relative=False, signed=True)
    assert cubic(6.4) / times[-1] - 1 == pytest.approx(plain, abs=5e-4)
    assert not cubic.inside({"n": [6.4]})
    assert cubic.predict({"n": [6.4]})[2] == math.inf
    held = fit_terms(features, times[SMALL], CUBIC)
    assert held(6.4) / times[-1] - 1 == pytest.approx(careful, abs=5e-4)
    assert (held.coefficients >= 0).all()
    assert held.statistics.errors.leave_one_out < math.inf


def test_a_cubic_through_four_printed_times() -> None:
    """Two processes on the Athlon, Tables 7 and 9: 3200 to 8000 predict 642.7 s at 9600; 619.7 s were measured."""
    fitted = fit_terms({"n": [3.2, 4.8, 6.4, 8.0]}, [26.1, 82.3, 190.8, 371.1], CUBIC, relative=False, signed=True)
    assert fitted(9.6) == pytest.approx(642.7, abs=0.05)
    assert fitted(9.6) / 619.7 - 1 == pytest.approx(0.037, abs=5e-4)


def test_a_line_by_hand() -> None:
    """1 s + 2 s n through (1, 3), (2, 5), (3, 7.6): slope 2.3, mean 5.2, so 0.6 at 0.

    Residuals are 0.1, -0.2, 0.1: a residual variance of 0.06, and 0.06 / 2 for the slope, as Σ (n - 2)² = 2. Without
    the first point, the line through the others is 2.6 n - 0.2: 2.4 s instead of 3.
    """
    fitted = fit_terms({"n": [1, 2, 3]}, [3.0, 5.0, 7.6], ["n", "1"], relative=False, signed=True)
    assert fitted.coefficients == pytest.approx([2.3, 0.6])
    assert fitted.statistics.covariance[0, 0] == pytest.approx(0.03)
    assert fitted.statistics.errors.mean == pytest.approx((0.1 / 3 + 0.2 / 5 + 0.1 / 7.6) / 3)
    left = [0.6 / 3, 0.3 / 5, 0.6 / 7.6]
    assert fitted.statistics.errors.leave_one_out == pytest.approx(np.mean(left))
    assert fitted.statistics.deviation == pytest.approx(np.sqrt(np.mean(np.square(left))))
    assert str(fitted) == "2.3 n + 0.6"


def test_an_interval_by_hand() -> None:
    """A constant of 2 s, measured as 1.9, 2.0, 2.1 at n from 1 to 4: the mean has a variance of 0.01 / 3.

    If left out, each point is predicted by the mean of the others, 2.05, 2.0, 1.95, so it is 0.15, 0, 0.15 s off. At 8,
    a doubling beyond the points, 7 % are added.
    """
    fitted = fit_terms({"n": [1, 2, 4]}, [1.9, 2.0, 2.1], ["1"], relative=False)
    deviation = math.sqrt(((0.15 / 1.9) ** 2 + (0.15 / 2.1) ** 2) / 3)
    assert fitted.statistics.deviation == pytest.approx(deviation)
    variance = 4 * (deviation**2 + np.array([0, 0.07**2])) + 0.01 / 3
    assert fitted.estimate({"n": [2, 8]}).variance == pytest.approx(variance)
    seconds, low, high = fitted.predict({"n": [2, 8]})
    assert seconds == pytest.approx([2, 2])
    assert high == pytest.approx(2 * np.exp(1.2816 * np.sqrt(variance) / 2), rel=1e-4)
    assert low * high == pytest.approx(seconds**2)
    assert fitted.inside({"n": [2, 8]}).tolist() == [True, False]


def test_an_outlier_is_named() -> None:
    """On a line with 1 % of noise, one time is 30 % off: only its size is an outlier."""
    n = np.arange(1.0, 11.0)
    times = (3 + 2 * n) * (1 + 0.01 * np.array([1, -1, 1, -1, 1, -1, -1, 1, -1, 1]))
    assert fit_terms({"n": n}, times, ["n", "1"]).statistics.outliers == ()
    times[6] *= 1.3
    assert fit_terms({"n": n}, times, ["n", "1"]).statistics.outliers == ({"n": 7.0},)


@given(
    st.lists(st.floats(0.1, 10), min_size=3, max_size=3),
    st.lists(st.floats(0.5, 2), min_size=8, max_size=8),
    st.booleans(),
)
def test_fits_agree_with_scipy(truth: list[float], noise: list[float], relative: bool) -> None:
    """Non-negative coefficients equal those of scipy's nnls, signed ones those of numpy's lstsq."""
    n = np.array([1.0, 2, 3, 4, 5, 6, 8, 9])
    columns = np.stack([n**2, n, np.ones(8)], axis=1)
    times = columns @ truth * noise
    weight = 1 / times if relative else np.ones(8)
    held = fit_terms({"n": n}, times, ["n^2", "n", "1"], relative=relative)
    assert held.coefficients == pytest.approx(nnls(columns * weight[:, None], times * weight)[0], rel=1e-6, abs=1e-6)
    plain = fit_terms({"n": n}, times, ["n^2", "n", "1"], relative=relative, signed=True)
    exact = np.linalg.lstsq(columns * weight[:, None], times * weight, rcond=None)[0]
    assert plain.coefficients == pytest.approx(exact, rel=1e-6, abs=1e-6)


@given(st.floats(0, 50), st.integers(1, 30))
def test_students_t(t: float, degrees: int) -> None:
    """The probability beyond t counts both tails."""
    assert beyond(t, degrees) == pytest.approx(2 * student.sf(t, degrees), abs=1e-9)


def test_many_fits_are_those_of_each() -> None:
    """Times measured at the same points are fitted together and have the same coefficients as alone."""
    both = fit_each({"n": SIZES}, [ATHLON, PENTIUM], CUBIC)
    for fitted, times in zip(both, (ATHLON, PENTIUM), strict=True):
        assert fitted.coefficients == pytest.approx(fit_terms({"n": SIZES}, times, CUBIC).coefficients)


#: Terms for the following test, and the columns that they stand for.
SEVERAL: dict[tuple[str, ...], Callable[[Floats, Floats], list[Floats]]] = {
    ("n^2", "n", "1"): lambda n, _: [n**2, n, 1 + 0 * n],
    ("n^2/P", "P"): lambda n, p: [n**2 / p, p],
    ("n P", "n", "1/P", "1"): lambda n, p: [n * p, n, 1 / p, 1 + 0 * n],
}


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(list(SEVERAL)), min_size=1, max_size=6),
    st.integers(0, 2**32 - 1),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_fits_of_different_terms_are_those_of_each_alone(
    terms: list[tuple[str, ...]], seed: int, relative: bool, signed: bool, parts: bool
) -> None:
    """Problems with equal numbers of points are solved together; the reference solves each alone, by lstsq or nnls.

    Its leave-one-out errors are those of fits without the point, over the terms with a nonzero coefficient.
    """
    draws = np.random.default_rng(seed)
    features = [dict(zip("nP", draws.uniform(1, 20, (2, 9)), strict=True)) for _ in terms]
    times = [draws.lognormal(2, 1, 9) for _ in terms]
    wholes = [each + draws.lognormal(2, 1, 9) if parts and i % 2 else None for i, each in enumerate(times)]
    problems = [Problem(*each) for each in zip(features, times, terms, wholes, strict=True)]
    fits = fit_many(problems, relative=relative, signed=signed)
    for fitted, problem, names in zip(fits, problems, terms, strict=True):
        assert isinstance(fitted, FittedTime)
        seconds = np.asarray(problem.seconds)
        scale = seconds if problem.scale is None else np.asarray(problem.scale)
        weight = 1 / scale if relative else np.ones(9)
        n, p = (np.asarray(problem.features[name]) for name in "nP")
        design = np.stack(SEVERAL[names](n, p), axis=1) * weight[:, None]
        length = np.linalg.norm(design, axis=0)
        exact = _solved(design / length, seconds * weight, signed) / length
        assert fitted.coefficients == pytest.approx(
            exact, rel=1e-9, abs=1e-9 * np.max(np.abs(exact * length)) / length.min()
        )
        active, left = exact != 0, []
        for i in range(9):
            rest = np.arange(9) != i
            without = _solved((design / length)[rest][:, active], (seconds * weight)[rest], True) / length[active]
            left.append(abs(design[i, active] @ without / weight[i] - seconds[i]) / scale[i])
        assert fitted.statistics.errors.leave_one_out == pytest.approx(np.mean(left), rel=1e-6)
        own = np.sqrt(np.mean(np.square(left)) / np.mean(np.square(seconds / scale)))
        assert fitted.statistics.deviation == pytest.approx(own, rel=1e-6)
        assert fitted.statistics.covariance.shape == (len(problem.terms), len(problem.terms))
        again = pickle.loads(pickle.dumps(fitted))
        assert again.statistics.deviation == fitted.statistics.deviation


def test_a_part_is_fitted_relative_to_the_whole() -> None:
    """A part takes 1 s of 1 s and 4 s of 2 s: the constant c with the least (c - 1)^2 + (c - 4)^2 / 4 is 2 / 1.25.

    Without the other point, each is off by 3 s: by 3 of 1 s, and by 3 of 2 s. Their root mean square is √5.625 of the
    whole, and that of the part is √2.5.
    """
    (fitted,) = fit_many([Problem({"n": [1, 2]}, [1, 4], ("1",), [1, 2])])
    assert isinstance(fitted, FittedTime)
    assert fitted.coefficients == pytest.approx([1.6])
    assert fitted.statistics.errors.mean == pytest.approx((0.6 + 1.2) / 2)
    assert fitted.statistics.errors.largest == pytest.approx(1.2)
    assert fitted.statistics.errors.leave_one_out == pytest.approx((3 + 1.5) / 2)
    assert fitted.statistics.deviation == pytest.approx(1.5)


def test_a_part_that_takes_no_time_deviates_by_none() -> None:
    """A part whose times are all 0 has a fit of 0 without deviation."""
    (fitted,) = fit_many([Problem({"n": [1, 2, 3]}, [0, 0, 0], ("n",), [1, 2, 3])])
    assert isinstance(fitted, FittedTime)
    assert (fitted.coefficients.tolist(), fitted.statistics.deviation) == ([0.0], 0.0)


def _solved(design: Floats, target: Floats, signed: bool) -> Floats:
    return np.asarray(np.linalg.lstsq(design, target, rcond=None)[0] if signed else nnls(design, target)[0])


def test_one_of_many_that_cannot_be_fitted() -> None:
    """A problem whose terms cannot be told apart, or with a feature of 0, gets a reason; the others get their fits."""
    good = Problem({"n": [1, 2, 3]}, [2, 3, 4], ("n", "1"))
    equal, zero = replace(good, features={"n": [7, 7, 7]}), replace(good, features={"n": [0, 2, 3]})
    one, other, third = fit_many([good, equal, good])
    assert isinstance(one, FittedTime) and isinstance(third, FittedTime)
    assert one.coefficients == pytest.approx([1, 1]) == third.coefficients
    assert str(other).startswith("points: values must differ enough to tell 1 from other terms, got n of 7")
    bad, fine = fit_many([replace(zero, terms=("1/n",)), replace(good, terms=("1/n",))])
    assert str(bad) == "n: values must be above 0 for term 1/n, got 0"
    assert isinstance(fine, FittedTime)


def test_a_scaled_time() -> None:
    """Scaling a time for another processor scales its prediction and its variance."""
    fitted = fit_terms({"n": SIZES}, PENTIUM, CUBIC)
    scaled = fitted.scaled(0.27)
    assert scaled(3.2) == pytest.approx(0.27 * fitted(3.2))
    assert scaled.estimate({"n": [3.2]}).variance == pytest.approx(0.27**2 * fitted.estimate({"n": [3.2]}).variance)


def test_no_time_at_all() -> None:
    """Times of zero are fitted by zero."""
    fitted = fit_terms({"n": [1, 2, 3]}, [0, 0, 0], ["n", "1"])
    assert fitted.predict({"n": [5]})[0] == 0
    assert str(fitted) == "0"


@pytest.mark.parametrize(
    ("sizes", "times", "terms", "fault"),
    [
        ([1, 2, 3], [1, 2, 3], CUBIC, "points: at least 4 must be measured for the terms n^3, n^2, n, 1, got 3"),
        ([7, 7, 7], [1, 2, 3], ["n", "1"], "points: values must differ enough to tell 1 from other terms, got n of 7"),
        (
            [9, 80, 700, 9],
            [1, 2, 3, 4],
            CUBIC,
            "points: values must differ enough to tell 1 from other terms, got n of 9, 80, 700",
        ),
        ([1, 2, 3], [1, -2, 3], ["n"], "seconds: values must be finite and at least 0, got -2"),
        ([1, 2, 3], [1, 2, 3], [], "terms: at least one must be given, got none"),
        ([1, 2, 3], [1, 2], ["n"], "n: shape must be (2,), got (3,)"),
    ],
)
def test_bad_input(sizes: list[float], times: list[float], terms: list[str], fault: str) -> None:
    """Data that cannot be fitted raise an error with the reason."""
    with pytest.raises(ModelError) as error:
        fit_terms({"n": sizes}, times, terms)
    assert str(error.value) == fault


def test_a_question_without_its_features() -> None:
    """Features that a model depends on must be given, and a factor must be positive."""
    fitted: FittedTime = fit_terms({"n": SIZES}, PENTIUM, CUBIC)
    with pytest.raises(ModelError, match="features: n must be given, got P"):
        fitted.seconds({"P": [1]})
    with pytest.raises(ModelError, match="factor must be a number above 0, got 0"):
        fitted.scaled(0)
