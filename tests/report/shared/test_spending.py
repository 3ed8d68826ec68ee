"""Shares of time in words."""

from __future__ import annotations

import pytest

from clue.report.shared.spending import percent


@pytest.mark.parametrize(
    ("share", "text"), [(0.0, "0%"), (0.0004, "<1%"), (1 / 200, "<1%"), (0.0051, "1%"), (0.126, "13%"), (1.0, "100%")]
)
def test_only_a_share_of_zero_is_shown_as_zero(share: float, text: str) -> None:
    """A share that would be rounded to zero is less than one percent, also one of exactly half a percent."""
    assert percent(share) == text
