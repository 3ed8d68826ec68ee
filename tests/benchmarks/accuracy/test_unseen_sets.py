"""The page of all unseen sets says what their tables say, and has every set that was looked at."""

from benchmarks.accuracy.unseen import sets
from benchmarks.accuracy.unseen.looks import LOOKS
from benchmarks.page import rows


def test_the_page_is_up_to_date() -> None:
    """The committed page is the one that the command writes now."""
    assert sets.PAGE.read_text() == sets.page()


def test_every_set_that_was_looked_at_is_on_it() -> None:
    """The log of looks and the page have the same number of sets."""
    assert len(sets.TABLES) == max(int(row["set"]) for row in rows(LOOKS))
