"""What holds for all tests."""

from hypothesis import settings

# How long an example takes says more of what else the computer does than of clue.
settings.register_profile("clue", deadline=None)
settings.load_profile("clue")
