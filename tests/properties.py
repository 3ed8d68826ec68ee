"""The number of examples that a property draws."""

from hypothesis import settings

#: Examples of a property in the usual profile; this is hypothesis's default.
_USUAL = 100
#: Fewer examples prove little.
_FEWEST = 5


def examples(usual: int) -> int:
    """Return how many examples a property draws now if it draws *usual* of them in the usual profile.

    Other profiles (``tests/conftest.py``) scale all properties by one factor: ``--quick`` draws a fifth.
    """
    return max(usual * settings().max_examples // _USUAL, min(usual, _FEWEST))
