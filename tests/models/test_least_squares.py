"""Non-negative least squares over all subsets: closed forms by hand, and scipy's answers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from clue.models.least_squares import Fits, all_subsets, covariance
from tests.properties import examples


def fits_of(columns: np.ndarray, target: np.ndarray, largest: int = 3) -> list[Fits]:
    """Return the fits of one problem by rising size."""
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
    """Plain least squares of 1 and x through (0, 0), (1, 0), (2, 3) are -0.5 + 1.5 x: without 1, x has (2 * 3) / 5."""
    x = np.array([0.0, 1.0, 2.0])
    _, two = fits_of(np.stack([np.ones(3), x], axis=1), np.array([0.0, 0.0, 3.0]))
    assert not two.proper.any()
    assert two.coefficients[0, 0] == pytest.approx([0, 1.2])


def test_dependent_columns_are_not_fitted_together() -> None:
    """Of x and 3 x, each has its own coefficient, and the pair that of the better one."""
    x = np.array([1.0, 2.0])
    one, two = fits_of(np.stack([x, 3 * x], axis=1), 6 * x)
    assert one.coefficients[0] == pytest.approx(np.array([[6, 0], [0, 2]]))
    assert not two.proper.any()
    assert sorted(two.coefficients[0, 0].tolist()) in ([0, pytest.approx(6)], [0, pytest.approx(2)])


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(3, 12), st.integers(1, 5))
def test_every_subset_has_the_answer_of_scipy(seed: int, rows: int, columns: int) -> None:
    """Random columns of any sign: coefficients are those of an active-set method."""
    generator = np.random.default_rng(seed)
    matrix, target = generator.standard_normal((rows, columns)), generator.standard_normal(rows)
    for fits in fits_of(matrix, target):
        for subset, coefficients in zip(fits.subsets.tolist(), fits.coefficients[0], strict=True):
            expected = np.zeros(columns)
            expected[subset] = nnls(matrix[:, subset], target)[0]
            assert coefficients == pytest.approx(expected, abs=1e-6)


def test_a_covariance_is_an_inverse_whatever_the_units() -> None:
    """Columns of 1 and of 1e12: the inverse of their Gram matrix, to rounding."""
    gram = np.array([[4.0, 2e12], [2e12, 4e24]])
    assert covariance(gram) @ gram == pytest.approx(np.eye(2), abs=1e-3)
    assert covariance(gram)[0, 0] == pytest.approx(1 / 3)
