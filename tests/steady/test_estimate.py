"""What many iterations take by the slopes of a few: closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from clue.steady.estimate import Slopes, estimate
from clue.uncertainty import TAIL, student


def slopes(seconds: list[float], computing: list[float], known: list[float], *, coupled: bool = True) -> Slopes:
    """Return slopes of strata that represent 100 iterations each; a tenth of these was measured."""
    strata = len(seconds)
    return Slopes(
        np.array(seconds), np.array(computing), np.array(known), np.full(strata, 100.0), np.full(strata, 10.0), coupled
    )


def test_what_stays_or_falls_evenly_is_certain() -> None:
    """4 × 100 iterations of 2 s are 800 s; of 4, 3, 2 and 1 s, 1,000 s; second differences are 0."""
    none = [0.0] * 4
    for seconds, total in (([2.0] * 4, 800.0), ([4.0, 3.0, 2.0, 1.0], 1000.0)):
        told = estimate([slopes(seconds, none, none)])
        assert (told.seconds, told.half) == (pytest.approx(total), pytest.approx(0.0))


def test_computation_that_was_not_measured_is_added() -> None:
    """Slopes differ as computation does, which is 1 s on average everywhere: 1.5 s an iteration, not 1.6."""
    computing = [1.0, 1.4, 1.0, 1.0]
    told = estimate([slopes([0.5 + each for each in computing], computing, [1.0] * 4)])
    assert told.seconds == pytest.approx(600.0)
    # It was moved by 100 × 0.4 s, and reaches half as far.
    assert told.half == pytest.approx(20.0)


def test_computation_that_explains_nothing_is_left_out() -> None:
    """Slopes are equal, computation is not: messages alone are waited for."""
    told = estimate([slopes([2.0] * 4, [1.0, 1.4, 1.0, 1.4], [1.0] * 4)])
    assert (told.seconds, told.half) == (pytest.approx(800.0), pytest.approx(0.0))


def test_where_ranks_drift_apart_computation_always_counts() -> None:
    """Blocks have 0.1 s an iteration more than the slowest rank has in the long run: 40 s, all of it uncertain."""
    told = estimate([slopes([2.1] * 4, [1.1] * 4, [1.0] * 4, coupled=False)])
    assert (told.seconds, told.half) == (pytest.approx(800.0), pytest.approx(40.0))


def test_the_interval_is_that_of_second_differences() -> None:
    """Of 1, 1, 1, 4 they are 0 and 3: variance 3² / 6 / 2 an iteration's, 4 × 100² × 0.9 times that for the sum."""
    none = [0.0] * 4
    told = estimate([slopes([1.0, 1.0, 1.0, 4.0], none, none)])
    assert told.half == pytest.approx(student(TAIL, 2) * (9 / 6 / 2 * 4 * 100**2 * 0.9) ** 0.5)


def test_stretches_are_added() -> None:
    """Two loops take what each takes; their variances are added, and their degrees of freedom."""
    none = [0.0] * 4
    one = slopes([1.0, 1.0, 1.0, 4.0], none, none)
    told = estimate([one, one])
    assert told.seconds == pytest.approx(1400.0)
    assert told.half == pytest.approx(student(TAIL, 4) * (2 * 9 / 6 / 2 * 4 * 100**2 * 0.9) ** 0.5)
