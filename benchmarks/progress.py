"""Progress messages of a long measurement."""

from __future__ import annotations

import sys
import time


def tell(text: str) -> None:
    """Print a line with the time of day to standard error."""
    print(time.strftime("%H:%M:%S"), text, file=sys.stderr, flush=True)
