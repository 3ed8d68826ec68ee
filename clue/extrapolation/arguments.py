"""Command lines of one program at several sizes and numbers of ranks: which of their numbers follow the size.

Words must be equal except for the numbers in them. A number that varies must be the size on every command line, or the
number of ranks on every command line: ``--n 64``, ``--mesh=64x64`` and ``mesh-64.msh`` follow the size.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from clue.extrapolation.pattern import RANKS, SIZE

_NUMBERS = re.compile(r"([0-9]+)")


@dataclass(frozen=True, slots=True)
class CommandLine:
    """Arguments of a program at a size and a number of ranks.

    Attributes:
        name: Its name in messages.
        size: The size.
        ranks: The number of ranks.
        words: The arguments.
    """

    name: str
    size: int
    ranks: int
    words: tuple[str, ...]


def filled(words: Sequence[str], size: int, ranks: int) -> tuple[str, ...]:
    """Return arguments with placeholders replaced by a size and a number of ranks."""
    return tuple(word.replace(SIZE, str(size)).replace(RANKS, str(ranks)) for word in words)


def common(lines: Sequence[CommandLine]) -> tuple[tuple[str, ...], list[str]]:
    """Return the arguments with placeholders ``{size}`` and ``{ranks}``, and a line on each argument that misfits."""
    first = lines[0]
    faults = [
        f"{line.name}: number of arguments must be that of {first.name} ({_said(first.words)}), got {_said(line.words)}"
        for line in lines
        if len(line.words) != len(first.words)
    ]
    if faults:
        return first.words, faults
    found = [_word(lines, place) for place in range(len(first.words))]
    told = dict.fromkeys(fault for _, faults_of_word in found for fault in faults_of_word)
    return tuple(word for word, _ in found), list(told)


def _word(lines: Sequence[CommandLine], place: int) -> tuple[str, list[str]]:
    words = [line.words[place] for line in lines]
    if len(set(words)) == 1:
        return words[0], []
    parts = [_NUMBERS.split(word) for word in words]
    faults = [
        _fault(lines[0], line, place) for line, own in zip(lines, parts, strict=True) if own[::2] != parts[0][::2]
    ]
    if faults:
        return words[0], faults
    pieces = list(parts[0])
    for at in range(1, len(pieces), 2):
        numbers = [own[at] for own in parts]
        named = _named(lines, numbers)
        if named is None:
            return words[0], _odd(lines, numbers, place)
        pieces[at] = named
    return "".join(pieces), []


def _named(lines: Sequence[CommandLine], numbers: Sequence[str]) -> str | None:
    """Return the placeholder for these numbers, one from each line; ``None`` if they follow neither size nor ranks."""
    if len(set(numbers)) == 1:
        return numbers[0]
    if all(number == str(line.size) for line, number in zip(lines, numbers, strict=True)):
        return SIZE
    if all(number == str(line.ranks) for line, number in zip(lines, numbers, strict=True)):
        return RANKS
    return None


def _odd(lines: Sequence[CommandLine], numbers: Sequence[str], place: int) -> list[str]:
    """Return a line on each number that breaks the majority's pattern: the size, the ranks, or the first number."""
    follows = [[str(line.size) for line in lines], [str(line.ranks) for line in lines], [numbers[0]] * len(lines)]
    most = max(follows, key=lambda wanted: sum(map(str.__eq__, wanted, numbers)))
    what = ("the size", "the number of ranks", f"that of {lines[0].name}")[follows.index(most)]
    return [
        f"{line.name}: argument {place + 1} must have {what} ({wanted}), got {line.words[place]}"
        for line, wanted, number in zip(lines, most, numbers, strict=True)
        if number != wanted
    ]


def _fault(first: CommandLine, line: CommandLine, place: int) -> str:
    return (
        f"{line.name}: argument {place + 1} must be that of {first.name} ({first.words[place]}) but for size and "
        f"ranks, got {line.words[place]}"
    )


def _said(words: Sequence[str]) -> str:
    return " ".join(words) or "none"
