"""Non-negative least squares over all subsets: closed forms by hand, and scipy's results."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from clue.models import least_squares
from clue.models.least_squares import Fits, all_subsets, covariance, nonnegative
from tests.properties import examples


def fits_of(columns: np.ndarray, target: np.ndarray, largest: int = 3) -> list[Fits]:
    """Return the fits of one problem, by the size of the subsets."""
    return list(all_subsets((columns.T @ columns)[None], (columns.T @ target)[None], largest))


def test_a_line_through_three_points() -> None:
    """1 + 2 x through (0, 1), (1, 3), (2, 5); alone, 1 gives the mean, 3, and x gives (3 + 10) / 5."""
    x = np.array([0.0, 1.0, 2.0])
    one, two = fits_of(np.stack([np.ones(3), x], axis=1), 1 + 2 * x)
    assert one.coefficients[0] == pytest.approx(np.array([[3.0, 0.0], [0.0, 2.6]]))
    assert two.coefficients[0, 0] == pytest.approx([1, 2])
    assert two.proper.all()
    assert two.loss[0, 0] == pytest.approx(-(1 + 9 + 25))


def test_what_would_be_negative_is_zero() -> None:
    """Plain least squares of (0, 0), (1, 0), (2, 3) give -0.5 + 1.5 x; without the constant, x has (2 * 3) / 5."""
    x = np.array([0.0, 1.0, 2.0])
    _, two = fits_of(np.stack([np.ones(3), x], axis=1), np.array([0.0, 0.0, 3.0]))
    assert not two.proper.any()
    assert two.coefficients[0, 0] == pytest.approx([0, 1.2])


def test_dependent_columns_are_not_fitted_together() -> None:
    """Each of x and 3 x has a coefficient; the pair is improper and uses one of the two."""
    x = np.array([1.0, 2.0])
    one, two = fits_of(np.stack([x, 3 * x], axis=1), 6 * x)
    assert one.coefficients[0] == pytest.approx(np.array([[6, 0], [0, 2]]))
    assert not two.proper.any()
    assert sorted(two.coefficients[0, 0].tolist()) in ([0, pytest.approx(6)], [0, pytest.approx(2)])


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(3, 12), st.integers(1, 5))
def test_every_subset_has_the_answer_of_scipy(seed: int, rows: int, columns: int) -> None:
    """For random columns, coefficients equal those of an active-set method."""
    generator = np.random.default_rng(seed)
    matrix, target = generator.standard_normal((rows, columns)), generator.standard_normal(rows)
    for fits in fits_of(matrix, target):
        for subset, coefficients in zip(fits.subsets.tolist(), fits.coefficients[0], strict=True):
            expected = np.zeros(columns)
            expected[subset] = nnls(matrix[:, subset], target)[0]
            assert coefficients == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("steps", [least_squares._STEPS, 0])
@settings(max_examples=examples(60), deadline=None)
@given(seed=st.integers(0, 2**32 - 1), rows=st.integers(0, 9), columns=st.integers(1, 8), common=st.floats(0, 50))
def test_a_search_finds_what_all_subsets_have(steps: int, seed: int, rows: int, columns: int, common: float) -> None:
    """Several correlated problems are solved at once, also if the search gives up at once."""
    generator = np.random.default_rng(seed)
    matrix = generator.standard_normal((5, columns + rows, columns)) + common * generator.random((5, columns + rows, 1))
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    target = generator.standard_normal((5, columns + rows, 1)) + common / 25
    target /= np.linalg.norm(target, axis=1, keepdims=True)
    across = matrix.transpose(0, 2, 1)
    gram, moment = across @ matrix, (across @ target)[..., 0]
    plain = np.stack([np.linalg.lstsq(*each, rcond=None)[0][:, 0] for each in zip(matrix, target, strict=True)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(least_squares, "_STEPS", steps)
        found = nonnegative(gram, moment, plain)
    *_, every = all_subsets(gram, moment, columns)
    assert found == pytest.approx(every.coefficients[:, 0], rel=1e-9, abs=1e-8)
    assert ((found == 0) == (every.coefficients[:, 0] == 0)).all()


def test_a_covariance_is_an_inverse_whatever_the_units() -> None:
    """For columns of scale 1 and 1e12, the covariance is the inverse of their Gram matrix, within rounding."""
    gram = np.array([[4.0, 2e12], [2e12, 4e24]])
    assert covariance(gram) @ gram == pytest.approx(np.eye(2), abs=1e-3)
    assert covariance(gram)[0, 0] == pytest.approx(1 / 3)
