"""Text from others, made safe to show: characters that a terminal would interpret become escapes."""

from __future__ import annotations

import unicodedata

#: Unicode's categories of invisible characters with an effect: control characters, format characters such as those that
#: change the direction of writing, separators of lines and paragraphs, and surrogates.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
#: Maximum number of characters of a text that are shown.
_LONGEST = 4000


def printable(text: str) -> str:
    r"""Return text with an escape for each character that a terminal would interpret: ``\x1b[2J`` for ESC ``[2J``.

    A newline is one of them, so that no name can begin a line that looks like one of clue's own. Text that is too long
    to read is cut.
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
