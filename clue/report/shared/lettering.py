"""Text that fits: measured in the font of the pictures, wrapped, and shortened in the middle if it is still too long.

Names come from users: they may contain "$", which does not start mathematics here, line breaks, and letters of any
script. Letters that the usual font lacks are looked up in the fonts of the computer; letters that no font has are
escaped as in Python, so that two different names never look alike as boxes.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from matplotlib import font_manager
from matplotlib.font_manager import FontProperties

from clue.printable import escaped

#: The font that comes with matplotlib.
FAMILY = "DejaVu Sans"
#: Fonts that draw a box for every letter.
_NO_LETTERS = "Last Resort"
#: Pictures have normal and bold text.
_WEIGHTS = ("normal", "bold")
_DPI, _SUBPIXELS = 150.0, 64.0
#: Factor by which rounding letters to whole pixels makes text wider.
_HINTED = 1.03
#: Characters after which a word that is too long for a line is broken.
_JOINTS = re.compile(r"(?<=[-_/.,:;+→=])")
_ELLIPSIS = "…"


def fit(text: str, inches: float, lines: int = 1, size: float = 9.0, *, bold: bool = False, prose: bool = False) -> str:
    """Wrap a text to a width; if it needs too many lines, leave out its middle, or the end if it is prose."""

    def broken(text: str) -> list[str]:
        return list(_lines(text, lambda line: width(line, size, bold) <= inches))

    whole, cut = visible(text), _without_end if prose else _without_middle
    best = broken(whole)
    low, high = 0, len(whole)
    while len(best) > lines and high - low > 1:
        kept = (low + high) // 2
        low, high = (kept, high) if len(broken(cut(whole, kept))) <= lines else (low, kept)
    return "\n".join(best if len(best) <= lines else broken(cut(whole, low)))


def _without_end(text: str, kept: int) -> str:
    return (text[:kept].rpartition(" ")[0] or text[:kept]).rstrip(",;: ") + f" {_ELLIPSIS}"


def _without_middle(text: str, kept: int) -> str:
    head, tail = -(-kept // 2), kept // 2
    return text[:head].rstrip() + _ELLIPSIS + text[len(text) - tail :].lstrip()


def _lines(text: str, fits: Callable[[str], bool]) -> Iterator[str]:
    """Yield lines, broken between words; within a word only if it does not fit on a line of its own."""
    line = ""
    for word in text.split():
        for i, piece in enumerate([word] if fits(word) else _pieces(word, fits)):
            longer = f"{line}{' ' * (not i and bool(line))}{piece}"
            if line and not fits(longer):
                yield line
                longer = piece
            line = longer
    yield line


def _pieces(word: str, fits: Callable[[str], bool]) -> Iterator[str]:
    for part in filter(None, _JOINTS.split(word)):
        ends = [0]
        for end in range(1, len(part) + 1):
            if end - ends[-1] > 1 and not fits(part[ends[-1] : end]):
                ends.append(end - 1)
        yield from (part[begin:end] for begin, end in pairwise([*ends, len(part)]))


def visible(text: str) -> str:
    """Return a text on one line whose letters can all be drawn."""
    return drawable(" ".join(text.split()))


def drawable(line: str) -> str:
    """Return a line with an escape for each letter that cannot be drawn."""
    return "".join(each if family_of(each) is not None else escaped(each) for each in line)


@lru_cache(maxsize=4096)
def width(text: str, size: float, bold: bool = False) -> float:
    """Return the width of one line, inches."""
    weight = "bold" if bold else "normal"
    font = font_manager.get_font([_face(name, weight) for name in families(text)])
    font.set_size(size, _DPI)
    font.set_text(text)
    return _HINTED * float(font.get_width_height()[0]) / _SUBPIXELS / _DPI


def families(text: str) -> list[str]:
    """Return the fonts that a text needs, the usual one first."""
    found = (family_of(each) for each in text)
    return list(dict.fromkeys((FAMILY, *(name for name in found if name is not None))))


@cache
def family_of(letter: str) -> str | None:
    """Return a font that has a letter: the usual one if possible, ``None`` if no font has it.

    A font is a family of faces, one of which is drawn for each weight. Faces of a family may have different letters, so
    those that are drawn are checked.
    """
    if not letter.isprintable():
        return None
    if _is_drawn(FAMILY, letter):
        return FAMILY
    faces = (each for each in font_manager.fontManager.ttflist if each.style == "normal")
    having = (each.name for each in faces if _NO_LETTERS not in each.name and _has(each.fname, letter))
    return next((name for name in having if _is_drawn(name, letter)), None)


def _is_drawn(family: str, letter: str) -> bool:
    """Tell whether a font draws a letter in every weight."""
    try:
        return all(_has(_face(family, weight), letter) for weight in _WEIGHTS)
    except ValueError:
        return False  # its file is gone


def _face(family: str, weight: str) -> str:
    """Return the file that is drawn for a font and a weight.

    Raises:
        ValueError: If there is none.
    """
    log = logging.getLogger("matplotlib.font_manager")
    level = log.level
    # A font without a bold face uses its normal one, without a message.
    log.setLevel(logging.ERROR)
    try:
        wanted = FontProperties(family=[family], weight=weight)
        return str(font_manager.findfont(wanted, fallback_to_default=False, rebuild_if_missing=False))
    finally:
        log.setLevel(level)


def _has(path: str, letter: str) -> bool:
    return bool(np.isin(ord(letter), _letters(path)))


@cache
def _letters(path: str) -> npt.NDArray[np.uint32]:
    try:
        return np.array(list(font_manager.get_font(path).get_charmap()), np.uint32)
    except (OSError, RuntimeError):
        return np.zeros(0, np.uint32)  # a damaged file among the computer's fonts has no letters, and is no fault here
