"""Run ``python -m clue.cli`` like ``clue``."""

import sys

from clue.cli import main

if __name__ == "__main__":
    sys.exit(main())
