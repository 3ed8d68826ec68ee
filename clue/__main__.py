"""Run ``python -m clue`` like ``clue``."""

import sys

from clue.cli import main

if __name__ == "__main__":
    sys.exit(main())
