"""Lines of words in a large text, as columns: words are found and converted to numbers all at once.

Words are separated by blanks. The reader of each format interprets them.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from clue.errors import UsageError
from clue.files import read_bytes

Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_BLANK, _NEWLINE = ord(" "), ord("\n")
#: Maximum number of digits of a whole number: larger numbers are not sizes, and products must not overflow.
DIGITS = 15
#: Largest file of another format, bytes: reading it takes ten times this memory, in addition to the file.
LARGEST_FILE = 2 * 10**9
#: Beginning of a file that gzip compressed.
_GZIP = b"\x1f\x8b"
#: Maximum length of a name that can be compared, bytes.
_NAME = 16


@dataclass(frozen=True)
class Text:
    """All words of a text.

    Attributes:
        file: The file that contains it.
        letters: The whole text, as bytes.
        starts: Start of each word, shape (words,).
        ends: End of each word, shape (words,).
    """

    file: Path
    letters: npt.NDArray[np.uint8]
    starts: Integers
    ends: Integers

    @cached_property
    def numbers(self) -> tuple[Integers, Mask]:
        """The values of words as whole numbers (decimal digits, optionally a minus), and which words are valid."""
        negative = self.letters[self.starts] == ord("-")
        starts = self.starts + negative
        lengths = self.ends - starts
        good = (lengths > 0) & (lengths <= DIGITS)
        values = np.zeros(len(starts), np.int64)
        some = np.flatnonzero(good)
        for i in range(int(lengths[some].max(initial=0))):
            some = some[lengths[some] > i]
            digits = self.letters[starts[some] + i].astype(np.int64) - ord("0")
            decimal = (digits >= 0) & (digits <= 9)
            if not decimal.all():
                good[some[~decimal]] = False
                some, digits = some[decimal], digits[decimal]
            values[some] = 10 * values[some] + digits
        return np.where(good, np.where(negative, -values, values), 0), good


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of a text that have words and are not comments (which begin with ``#``).

    Attributes:
        text: The words.
        first: First word of each line, shape (lines,).
        count: Number of its words, shape (lines,).
        number: Its number in the file, from 1, shape (lines,).
    """

    text: Text
    first: Integers
    count: Integers
    number: Integers

    def __len__(self) -> int:
        return len(self.first)

    def where(self, those: Mask | Integers) -> Lines:
        """Return some of the lines."""
        return Lines(self.text, self.first[those], self.count[those], self.number[those])

    def words(self, line: int) -> list[str]:
        """Return the words of one line."""
        first = self.first[line]
        return [self._word(word).decode() for word in range(first, first + self.count[line])]

    def _word(self, word: int) -> bytes:
        return self.text.letters[self.text.starts[word] : self.text.ends[word]].tobytes()

    def content(self, line: int) -> str:
        """Return one line from its first word to its last, with the blanks between them."""
        first, last = self.first[line], self.first[line] + self.count[line] - 1
        return self.text.letters[self.text.starts[first] : self.text.ends[last]].tobytes().decode()

    def place(self, line: int) -> str:
        """Return file and number of a line, for messages."""
        return f"{self.text.file}:{self.number[line]}"

    def has(self, lines: Integers, word: int) -> Mask:
        """Tell which lines have a word at this position, from 0."""
        return self.count[lines] > word

    def whole(self, lines: Integers, word: int | Integers) -> tuple[Integers, Mask]:
        """Return the values of words of lines as whole numbers, and which of these words exist and are numbers.

        Args:
            lines: Lines, shape (n,).
            word: The word's number in its line, from 0; one number for all lines, or shape (n,).
        """
        values, good = self.text.numbers
        there = self.count[lines] > word
        at = np.where(there, self.first[lines] + word, self.first[lines])
        return values[at], good[at] & there

    def real(self, lines: Integers, word: int) -> tuple[npt.NDArray[np.float64], Mask]:
        """Return the values of words as finite numbers, and which of these words exist and are such numbers."""
        values, good = self.whole(lines, word)
        reals = values.astype(np.float64)
        rest = np.flatnonzero(~good & self.has(lines, word))
        for i, at in zip(rest.tolist(), (self.first[lines[rest]] + word).tolist(), strict=True):
            if b"_" in (letters := self._word(at)):  # only Python reads it as a number
                continue
            try:
                reals[i] = float(letters)
            except ValueError:
                continue
            good[i] = np.isfinite(reals[i])
        return reals, good

    def listed(self, lines: Integers, word: int, length: int) -> tuple[Integers, Mask]:
        """Return lists of whole numbers that begin at a word, shape (n, length), and which of them are valid."""
        values, good = self.whole(np.repeat(lines, length), np.tile(word + np.arange(length), len(lines)))
        shape = (len(lines), length)
        all_good: Mask = np.all(good.reshape(shape), axis=1)
        return values.reshape(shape), all_good

    def which(self, word: int, names: Names) -> Integers:
        """Return the index, among some names, of a word of each line; -1 if it is not among them or is missing."""
        found = np.full(len(self), -1)
        there = np.flatnonzero(self.count > word)
        found[there] = names.find(self.text, self.first[there] + word)
        return found


class Names:
    """Names to compare words with, of up to 16 ASCII characters each.

    Attributes:
        names: The names.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        letters = b"".join(name.encode().ljust(_NAME, b"\0") for name in names)
        halves = np.frombuffer(letters, np.uint64).reshape(-1, 2)
        self._order = np.argsort(_mixed(halves))
        self._halves = halves[self._order]
        self._keys = _mixed(self._halves)

    def find(self, text: Text, words: Integers) -> Integers:
        """Return the index of the name that each word equals; -1 if none."""
        starts, lengths = text.starts[words], text.ends[words] - text.starts[words]
        letters = np.zeros((len(words), _NAME), np.uint8)
        for i in range(min(_NAME, int(lengths.max(initial=0)))):
            long = np.flatnonzero(lengths > i)
            letters[long, i] = text.letters[starts[long] + i]
        halves = letters.view(np.uint64)
        at = np.minimum(np.searchsorted(self._keys, _mixed(halves)), len(self._keys) - 1)
        same = (self._halves[at] == halves).all(axis=1) & (lengths <= _NAME)
        return np.where(same, self._order[at], -1)


def _mixed(halves: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Combine the two numbers of a name into one, which differs between these names."""
    mixed: npt.NDArray[np.uint64] = halves[:, 0] + halves[:, 1] * np.uint64(0x9E3779B97F4A7C15)
    return mixed


def unreadable(file: Path, error: OSError | ValueError, what: str, place: str = "") -> UsageError:
    """Return the error for a file that is missing or not text, with the place where the file is named."""
    why: object = error.strerror if isinstance(error, OSError) and error.strerror else error
    if isinstance(error, UnicodeDecodeError) and error.object.startswith(_GZIP):
        why = "one that gzip compressed: unpack it"
    return UsageError(f"{place}{': ' if place else ''}{file}: {what} must be readable text, got {why}")


def read_lines(file: Path, place: str = "") -> Lines:
    """Read a file, which may be named at a place in another file.

    Raises:
        UsageError: If it is missing or not text.
    """
    try:
        content = read_bytes(file, most=LARGEST_FILE)
        if not content.isascii():
            content.decode()
    except (OSError, ValueError) as error:  # a name with a NUL is a ValueError
        raise unreadable(file, error, "file", place) from None
    return _split(file, np.frombuffer(content.removeprefix(BOM_UTF8), np.uint8))


def _split(file: Path, letters: npt.NDArray[np.uint8]) -> Lines:
    inside = np.zeros(len(letters) + 2, np.bool_)
    inside[1:-1] = letters > _BLANK
    starts = np.flatnonzero(inside[1:] & ~inside[:-1])
    text = Text(file, letters, starts, np.flatnonzero(inside[:-1] & ~inside[1:]))
    if not len(starts):
        return Lines(text, starts, starts, starts)
    number = 1 + np.cumsum(letters == _NEWLINE, dtype=np.int64)[starts]
    first = np.flatnonzero(np.diff(number, prepend=0))
    lines = Lines(text, first, np.diff(first, append=len(starts)), number[first])
    return lines.where(letters[starts[first]] != ord("#"))
