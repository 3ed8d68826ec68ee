"""What holds for all tests."""

import os

from hypothesis import settings

# How long an example takes says more of what else the computer does than of clue.
settings.register_profile("clue", deadline=None)
settings.load_profile("clue")
# Nor do intervals depend on what this computer's user has validated.
os.environ.pop("CLUE_MODEL_ERROR", None)
os.environ["XDG_CONFIG_HOME"] = os.devnull
