"""Text that is safe to print: names come from others' traces and files, and terminals interpret control characters.

Every text that is shown passes :func:`printable`: cells and lines of reports (:mod:`clue.report.shared.table`), labels
of pictures (:mod:`clue.report.shared.lettering`), errors and warnings (:mod:`clue.cli.streams`), progress. What an
encoding lacks is written in letters that it has (:func:`use_readable_errors`).
"""

from __future__ import annotations

import codecs
import unicodedata

#: Unicode's categories of invisible characters with an effect: control characters, format characters such as those that
#: change the direction of writing, separators of lines and paragraphs, and surrogates.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
#: Most characters of a text that are shown.
_LONGEST = 4000
#: What clue's own words use that ASCII and Latin-1 lack, in letters that they have.
_LETTERS = str.maketrans({
    "–": "-", "—": "-", "−": "-", "─": "-", "┼": "+", "×": "x", "·": "*", "…": "...", "→": "->", "▶": ">", "µ": "u",
    "μ": "u", "≤": "<=", "≥": ">=", "²": "^2", "€": "EUR", "“": '"', "”": '"', "’": "'",
})  # fmt: skip
#: The name under which :mod:`codecs` knows how clue writes what an encoding lacks.
READABLE = "clue.readable"


def printable(text: str) -> str:
    r"""Return text with an escape for each character that a terminal would interpret: ``\x1b[2J`` for ESC ``[2J``.

    A newline is one of them: a name must not begin a line that looks like one of clue's own. What is longer than
    anybody reads is cut.
    """
    shown = text[:_LONGEST]
    if not shown.isprintable():
        shown = "".join(escaped(letter) if unicodedata.category(letter) in _UNSEEN else letter for letter in shown)
    if len(text) > _LONGEST or len(shown) > _LONGEST:
        return f"{shown[:_LONGEST]}… ({len(text):,} characters)"
    return shown


def escaped(letter: str) -> str:
    r"""Return a character as Python writes it in text: ``\u202e``."""
    return letter.encode("unicode_escape").decode()


def use_readable_errors() -> None:
    """Let streams with ``errors=READABLE`` write what their encoding lacks in letters that it has."""
    codecs.register_error(READABLE, _written_otherwise)


def _written_otherwise(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError), "only writing replaces letters"
    lacking = error.object[error.start : error.end]
    instead = "".join(
        plain if (plain := letter.translate(_LETTERS)).isascii() else escaped(letter) for letter in lacking
    )
    return instead, error.end
