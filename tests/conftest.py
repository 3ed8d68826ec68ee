"""What holds for all tests."""

import os

from hypothesis import settings

# How long an example takes says more of what else the computer does than of clue.
settings.register_profile("clue", deadline=None)
# CI draws the same examples each time, so that a change is judged by what it changes; everybody else draws new ones.
settings.register_profile("reproducible", deadline=None, derandomize=True)
settings.load_profile("clue")
# Nor do intervals depend on what this computer's user has validated.
os.environ.pop("CLUE_MODEL_ERROR", None)
os.environ["XDG_CONFIG_HOME"] = os.devnull
