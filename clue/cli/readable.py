"""Output in encodings that lack some characters: they are replaced by letters that the encoding has.

Every shown text passes :func:`clue.printable.printable`: cells and lines of reports (:mod:`clue.report.shared.table`),
labels of pictures (:mod:`clue.report.shared.lettering`), errors and warnings (:mod:`clue.cli.streams`), progress.
"""

from __future__ import annotations

import codecs

from clue.printable import escaped

#: Characters in clue's own words that ASCII and Latin-1 lack, and their replacements.
_LETTERS = str.maketrans({
    "–": "-", "—": "-", "−": "-", "─": "-", "┼": "+", "×": "x", "·": "*", "…": "...", "→": "->", "▶": ">", "µ": "u",
    "μ": "u", "≤": "<=", "≥": ">=", "²": "^2", "€": "EUR", "“": '"', "”": '"', "’": "'",
})  # fmt: skip
#: The name under which :mod:`codecs` finds clue's replacement of characters that an encoding lacks.
READABLE = "clue.readable"


def use_readable_errors() -> None:
    """Let streams with ``errors=READABLE`` replace characters that their encoding lacks by letters that it has."""
    codecs.register_error(READABLE, _written_otherwise)


def _written_otherwise(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError), "only writing replaces letters"
    lacking = error.object[error.start : error.end]
    instead = "".join(
        plain if (plain := letter.translate(_LETTERS)).isascii() else escaped(letter) for letter in lacking
    )
    return instead, error.end
