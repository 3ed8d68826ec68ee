"""Names of recordings with placeholders: ``cg-{size}-{ranks}.clue``, with ``{repeat}`` where there are several."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from glob import escape
from pathlib import Path

from clue.errors import UsageError
from clue.trace.place import numbered, repeats_beside

SIZE, RANKS, REPEAT = "{size}", "{ranks}", "{repeat}"
_NEEDED = (SIZE, RANKS)
_NAMES = {*_NEEDED, REPEAT}
#: Regular expression of a placeholder's value: a number in its canonical form.
_NUMBER = "[1-9][0-9]{0,17}"


@dataclass(frozen=True, slots=True)
class Pattern:
    """Names of the recordings of a program.

    Attributes:
        text: Text with ``{size}`` and ``{ranks}``, each once, and at most one ``{repeat}``.
    """

    text: str

    def check(self) -> None:
        """Check the placeholders.

        Raises:
            UsageError: If one is missing, repeated or unknown.
        """
        if fault := self.fault():
            raise UsageError(f"{self.text}: pattern {fault}")

    def fault(self) -> str:
        """Fault of the pattern; ``""`` if it is valid."""
        found = re.findall(r"\{[^{}]*\}", self.text)
        got = " ".join(found) or "neither"
        if any(found.count(name) != 1 for name in _NEEDED) or found.count(REPEAT) > 1 or set(found) - _NAMES:
            return (
                f'must have {SIZE} and {RANKS} once, as "cg-{SIZE}-{RANKS}.clue", and no other but {REPEAT}, got {got}'
            )
        return ""

    def path(self, size: int, ranks: int, repeat: int = 1) -> Path:
        """Return the path of a recording; repeats follow ``{repeat}``, or else the naming of ``clue record``."""
        filled = self.text.replace(SIZE, str(size)).replace(RANKS, str(ranks))
        return Path(filled.replace(REPEAT, str(repeat))) if REPEAT in filled else numbered(Path(filled), repeat)

    def names(self, path: Path) -> bool:
        """Tell whether a path is that of one of the recordings; either may be relative or absolute."""
        shape = Pattern(os.path.relpath(self.text))._expression()
        return shape.fullmatch(os.path.relpath(path)) is not None

    def found(self) -> Mapping[tuple[int, int], tuple[Path, ...]]:
        """Return the existing recordings by size and ranks: for each the first, then its repeats."""
        places: dict[tuple[int, int], dict[int, Path]] = {}
        for path, size, ranks, repeat in self._matches():
            places.setdefault((size, ranks), {})[repeat] = path
        return {key: self._repeats(*key, places[key]) for key in sorted(places)}

    def _repeats(self, size: int, ranks: int, named: Mapping[int, Path]) -> tuple[Path, ...]:
        if REPEAT in self.text:
            return tuple(named[repeat] for repeat in sorted(named))
        return (*named.values(), *repeats_beside(self.path(size, ranks)))

    def _matches(self) -> Iterator[tuple[Path, int, int, int]]:
        path = Path(self.text)
        shape = escape(str(path.relative_to(path.anchor)))
        for name in _NAMES:
            shape = shape.replace(name, "*")
        for found in Path(path.anchor).glob(shape):
            if (match := self._expression().fullmatch(str(found))) is not None:
                numbers = {name: int(number) for name, number in match.groupdict().items()}
                yield found, numbers["size"], numbers["ranks"], numbers.get("repeat", 1)

    def _expression(self) -> re.Pattern[str]:
        shape = re.escape(str(Path(self.text)))
        for name in _NAMES:
            shape = shape.replace(re.escape(name), f"(?P<{name[1:-1]}>{_NUMBER})")
        return re.compile(shape)
