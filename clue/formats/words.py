"""Lines of words in a large text, as columns: found and turned into numbers all at once.

A word is what stands between blanks. What the words mean is for the readers of each form.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from clue.errors import UsageError

Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_BLANK, _NEWLINE = ord(" "), ord("\n")
#: Longest whole number: larger ones are no sizes, and must not overflow when they are multiplied.
_DIGITS = 15
#: Bytes of a name that can be compared.
_NAME = 16


@dataclass(frozen=True)
class Lines:
    """The lines of a text that have words and are no comments (beginning with ``#``).

    Attributes:
        file: Where it is from.
        text: All of it, as bytes.
        starts: Where each word begins, shape (words,).
        ends: Where it ends, shape (words,).
        first: Each line's first word, shape (lines,).
        count: How many words it has, shape (lines,).
        number: Its number in the file, from 1, shape (lines,).
    """

    file: Path
    text: npt.NDArray[np.uint8]
    starts: Integers
    ends: Integers
    first: Integers
    count: Integers
    number: Integers

    def __len__(self) -> int:
        return len(self.first)

    def where(self, those: Mask | Integers) -> Lines:
        """Return some of the lines."""
        return replace(self, first=self.first[those], count=self.count[those], number=self.number[those])

    def words(self, line: int) -> list[str]:
        """Return the words of one line."""
        first = self.first[line]
        bounds = zip(self.starts[first:], self.ends[first : first + self.count[line]], strict=False)
        return [self.text[start:end].tobytes().decode() for start, end in bounds]

    def place(self, line: int) -> str:
        """Return file and number of a line, for messages."""
        return f"{self.file}:{self.number[line]}"

    def has(self, lines: Integers, word: int) -> Mask:
        """Tell which lines have a word of that number, from 0."""
        return self.count[lines] > word

    def whole(self, lines: Integers, word: int | Integers) -> tuple[Integers, Mask]:
        """Return the whole numbers that words of lines are, and which of them are there and are ones.

        Args:
            lines: Lines, shape (n,).
            word: The word's number in its line, from 0; one for all, or shape (n,).
        """
        there = self.count[lines] > word
        at = np.where(there, self.first[lines] + word, self.first[lines])
        return _whole(self.text, self.starts[at], self.ends[at], there)

    def real(self, lines: Integers, word: int | Integers) -> tuple[npt.NDArray[np.float64], Mask]:
        """Return the same as numbers of any kind, finite ones."""
        values, good = self.whole(lines, word)
        reals = values.astype(np.float64)
        rest = np.flatnonzero(~good & (self.count[lines] > word))
        at = (self.first[lines] + word)[rest]
        for i, start, end in zip(rest.tolist(), self.starts[at].tolist(), self.ends[at].tolist(), strict=True):
            try:
                reals[i] = float(self.text[start:end].tobytes())
            except ValueError:
                continue
            good[i] = np.isfinite(reals[i])
        return reals, good

    def listed(self, lines: Integers, word: int, length: int) -> tuple[Integers, Mask]:
        """Return lists of whole numbers that begin at a word, shape (n, length), and which are there and ones."""
        values, good = self.whole(np.repeat(lines, length), np.tile(word + np.arange(length), len(lines)))
        shape = (len(lines), length)
        all_good: Mask = np.all(good.reshape(shape), axis=1)
        return values.reshape(shape), all_good

    def is_name(self, word: int, name: str) -> Mask:
        """Tell on which lines a word is this name, of up to 16 ASCII characters."""
        head, tail = np.frombuffer(name.encode().ljust(_NAME, b"\0"), "<u8")
        lengths, heads, tails = self._names[word]
        same: Mask = (lengths == len(name)) & (heads == head) & (tails == tail)
        return same

    @cached_property
    def _names(self) -> _Names:
        return _Names(self)


class _Names(dict[int, tuple[Integers, npt.NDArray[np.uint64], npt.NDArray[np.uint64]]]):
    """Length, first and next eight bytes of the words of one number on all lines; made on first use."""

    def __init__(self, lines: Lines) -> None:
        super().__init__()
        self._lines = lines

    def __missing__(self, word: int) -> tuple[Integers, npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
        lines = self._lines
        there = lines.count > word
        at = np.where(there, lines.first + word, lines.first)
        lengths = np.where(there, lines.ends[at] - lines.starts[at], 0)
        letters = np.zeros((len(lines), _NAME), np.uint8)
        for i in range(min(_NAME, int(lengths.max(initial=0)))):
            long = lengths > i
            letters[long, i] = lines.text[lines.starts[at[long]] + i]
        halves = letters.view("<u8")
        self[word] = lengths, halves[:, 0], halves[:, 1]
        return self[word]


def read_lines(file: Path) -> Lines:
    """Read a file.

    Raises:
        UsageError: If it is missing, or no text.
    """
    try:
        content = file.read_bytes()
        if not content.isascii():
            content.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: file must be readable text, got {error}") from None
    return _split(file, np.frombuffer(content, np.uint8))


def _split(file: Path, text: npt.NDArray[np.uint8]) -> Lines:
    inside = np.zeros(len(text) + 2, np.bool_)
    inside[1:-1] = text > _BLANK
    starts = np.flatnonzero(inside[1:] & ~inside[:-1])
    ends = np.flatnonzero(inside[:-1] & ~inside[1:])
    number = 1 + np.cumsum(text == _NEWLINE, dtype=np.int64)[starts] if len(starts) else np.zeros(0, np.int64)
    first = np.flatnonzero(np.diff(number, prepend=0))
    lines = Lines(file, text, starts, ends, first, np.diff(first, append=len(starts)), number[first])
    return lines.where(text[starts[first]] != ord("#")) if len(first) else lines


def _whole(text: npt.NDArray[np.uint8], starts: Integers, ends: Integers, good: Mask) -> tuple[Integers, Mask]:
    """Turn decimal digits, and a minus before them, into numbers."""
    if not len(starts):
        return np.zeros(0, np.int64), good
    negative = text[starts] == ord("-")
    starts = starts + negative
    lengths = ends - starts
    good = good & (lengths > 0) & (lengths <= _DIGITS)
    values = np.zeros(len(starts), np.int64)
    for i in range(min(_DIGITS, int(lengths.max()))):
        longer = lengths > i
        digits = text[np.where(longer, starts + i, starts)].astype(np.int64) - ord("0")
        good &= ~longer | ((digits >= 0) & (digits <= 9))
        values = np.where(longer, 10 * values + digits, values)
    return np.where(good, np.where(negative, -values, values), 0), good
