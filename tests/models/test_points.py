"""Measurements by distinct points."""

import numpy as np
import pytest

from clue.errors import ModelError
from clue.models.points import Points


def test_repeats_count_by_their_median() -> None:
    """Three repeats at n = 1, one of them an outlier, and two at n = 2 have medians 2 and 5."""
    points = Points.of({"n": [1, 2, 1, 1, 2]}, [2, 4, 1.9, 90, 6])
    assert points.features["n"].tolist() == [1, 2]
    assert points.seconds.tolist() == [2, 5]
    assert points.counts.tolist() == [3, 2]
    assert points.weights == pytest.approx([3 / 4, 2 / 3])
    assert points.domain == {"n": (1, 2)}


def test_the_noise_is_that_of_most_points() -> None:
    """Deviations of 10 % at two points and an outlier at a third: the median is 10 % x sqrt(2)."""
    points = Points.of({"n": [1, 1, 2, 2, 3, 3]}, [0.9, 1.1, 9, 11, 1, 99])
    assert points.noise == pytest.approx(0.1 * 2**0.5)


def test_samples_may_stand_for_several_measurements() -> None:
    """In the weighted median, the value 3 has more than half of the weight; equal halves give the midpoint."""
    assert Points.of({}, [1, 2, 3], [1, 1, 3]).seconds.tolist() == [3]
    assert Points.of({}, [1, 2, 4], [1, 1, 2]).seconds.tolist() == [3]
    assert Points.of({}, [1, 2, 4], [1, 1, 2]).counts.tolist() == [4]


def test_no_time_is_compared_with_the_least() -> None:
    """A time of zero has no relative error, so the least positive time is its scale."""
    assert Points.of({"n": [1, 2, 3]}, [0, 4, 2]).scale.tolist() == [2, 4, 2]
    assert Points.of({"n": [1, 2]}, [0, 0]).scale.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("features", "seconds", "weights", "message"),
    [
        ({"n": []}, [], None, "seconds: at least one time must be given, got none"),
        ({"n": [1, 2]}, [1], None, r"n: shape must be \(1,\), got \(2,\)"),
        ({"n": [1]}, [[1]], None, r"seconds: shape must be \(samples,\), got \(1, 1\)"),
        ({"n": [1]}, [-1], None, "seconds: values must be finite and at least 0, got -1"),
        ({"n": [np.nan]}, [1], None, "n: values must be finite and at least 0, got nan"),
        ({"n": [1]}, [1], [0], "weights: values must be above 0, got 0"),
    ],
)
def test_other_samples_are_refused(
    features: dict[str, list[float]], seconds: list[float], weights: list[float] | None, message: str
) -> None:
    """The message gives the rule and the value that breaks it."""
    with pytest.raises(ModelError, match=message):
        Points.of(features, seconds, weights)
