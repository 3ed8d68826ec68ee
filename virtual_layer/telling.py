"""Lines of the layer on standard error. Names come from others, and a terminal obeys what some characters say."""

from __future__ import annotations

import sys


def tell(line: str) -> None:
    r"""Print a line; what a terminal would obey is written as an escape: ``\x1b[31m``."""
    shown = "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in line)
    sys.stderr.write(f"virtual_layer: {shown}\n")
