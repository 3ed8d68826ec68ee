"""How many examples a property draws."""

from hypothesis import settings

#: Examples of a property in the usual profile, which is what hypothesis draws by default.
_USUAL = 100
#: Fewer say little.
_FEWEST = 5


def examples(usual: int) -> int:
    """Return how many examples a property draws that draws *usual* of them in the usual profile.

    Other profiles (``tests/conftest.py``) draw as many times more or fewer of every property: ``--quick`` a fifth.
    """
    return max(usual * settings().max_examples // _USUAL, min(usual, _FEWEST))
