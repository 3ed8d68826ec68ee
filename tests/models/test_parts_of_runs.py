"""Parts of runs, fitted relative to the whole, and a reference that follows docs/pages/model/fitted-times.md."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clue.models import Run, Use, fit_cluster
from clue.models.terms import Floats
from tests.properties import examples

#: Exponents of n and P in the terms of N-T and P-T models.
N_T = {"compute": [(3, 0), (2, 0), (1, 0), (0, 0)], "communicate": [(2, 0), (1, 0), (0, 0)]}
P_T = {
    "compute": [(3, -1), (2, -1), (1, -1), (0, -1), (2, 0), (0, 0)],
    "communicate": [(2, 1), (1, 1), (0, 1), (2, 0), (1, 0), (0, 0), (2, -1)],
}


def least(design: Floats, times: Floats) -> Floats:
    """Return the non-negative least-squares coefficients, found by a search of all subsets."""
    best, at = float(times @ times), np.zeros(design.shape[1])
    for some in product([False, True], repeat=design.shape[1]):
        found, *_ = np.linalg.lstsq(design[:, some], times, rcond=None)
        left = design[:, some] @ found - times
        if (found >= 0).all() and left @ left < best:
            best, at = float(left @ left), np.zeros(design.shape[1])
            at[list(some)] = found
    return at


@settings(deadline=None, max_examples=examples(40))
@given(
    st.lists(st.integers(3, 6), min_size=5, max_size=8),
    st.integers(3, 5),
    st.integers(1, 3),
    st.sampled_from([1e-3, 0.1, 1.0, 10.0]),
    st.integers(0, 2**32 - 1),
)
def test_parts_of_runs_by_the_page(steps: list[int], most: int, repeats: int, share: float, seed: int) -> None:
    """Each part minimises squared residuals relative to the whole, using medians of the repeats.

    Errors are shares of the whole. For leave-one-out errors, terms with a coefficient of 0 stay out. The deviation of a
    run includes that of repeats.
    """
    draws = np.random.default_rng(seed)
    measured, noise, runs = {}, {}, []
    for n, p in product(100.0 * np.cumsum(steps), range(1, most + 2)):
        usual = np.array([2e-9 * n**3 / p + 1e-6 * n**2 / p + 0.01, share * (1e-7 * n**2 * (p + 2 / p) + 1e-3)])
        each = usual * draws.lognormal(0, (0.3, 0.6), (repeats, 2))
        measured[n, p] = np.median(each, axis=0)
        noise[n, p] = np.std(each.sum(axis=1), ddof=1) / measured[n, p].sum() if repeats > 1 else 0.0
        runs += [Run(n, {"": Use(p)}, a + c, {"compute": a, "communicate": c}) for a, c in each.tolist()]
    one, several = fit_cluster(runs).kinds[""]
    for model, exponents, alone in ((one, N_T, True), (several, P_T, False)):
        points = [at for at in measured if (at[1] == 1) == alone]
        n, p = np.array(points).T
        parts = np.array([measured[at] for at in points])
        whole = parts.sum(axis=1)
        for (name, fitted), times in zip(model.parts.items(), parts.T, strict=True):
            design = np.stack([n**i * p ** float(j) for i, j in exponents[name]], axis=1) / whole[:, None]
            design /= np.linalg.norm(design, axis=0)
            found = least(design, times / whole)
            off = np.abs(design @ found - times / whole)
            assert fitted.seconds({"n": n, "P": p}) / whole == pytest.approx(design @ found, abs=1e-6)
            errors = fitted.statistics.errors
            assert (errors.mean, errors.largest) == pytest.approx((off.mean(), off.max()), abs=1e-6)
            without = []
            for i in range(len(n)):
                rest, some = np.arange(len(n)) != i, fitted.coefficients > 0
                again, *_ = np.linalg.lstsq(design[rest][:, some], (times / whole)[rest], rcond=None)
                without.append(abs(design[i, some] @ again - times[i] / whole[i]))
            assert errors.leave_one_out == pytest.approx(np.mean(without), rel=1e-6)
            squares = np.square(without) + np.median([noise[at] for at in points]) ** 2 * times / whole
            own = np.sqrt(np.mean(squares) / np.mean((times / whole) ** 2))
            assert fitted.statistics.deviation == pytest.approx(own, rel=1e-6)
