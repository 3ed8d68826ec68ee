"""Messages of the layer on standard error. They contain names from outside, whose control characters are escaped."""

from __future__ import annotations

import sys


def tell(line: str) -> None:
    r"""Print a line; control characters that a terminal would obey are escaped: ``\x1b[31m``."""
    shown = "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in line)
    sys.stderr.write(f"virtual_layer: {shown}\n")
