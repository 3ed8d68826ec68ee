"""Short names of call sites, with callers if several sites have the same name, and numbers if callers agree, too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from clue.trace.sites import Site

UNKNOWN = "(unknown)"


@dataclass(frozen=True, slots=True)
class Label:
    """The name of a call site among others.

    Attributes:
        name: File and line; ``cg.py:72 (2)`` for the second of several calls there that do not differ otherwise, in the
            order of the program. A region that begins there counts, and so does its end.
        function: The function that it is in, without enclosing ones.
        callers: The callers by which it differs from other sites of the same name, the innermost first.
    """

    name: str
    function: str
    callers: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join(filter(None, (self.name, self.function, self.where)))

    @property
    def where(self) -> str:
        """The callers in words."""
        return f"(from {', '.join(self.callers)})" if self.callers else ""


def labels(sites: Sequence[Site]) -> list[Label]:
    """Return a name for each of some call sites that distinguishes it from the others."""
    alike: dict[str, list[Site]] = {}
    for site in sites:
        alike.setdefault(site.name, []).append(site)
    differing = {name: _differing([each.callers for each in group]) for name, group in alike.items()}
    found = [
        Label(
            site.name or UNKNOWN,
            site.function.rpartition(".<locals>.")[2],
            tuple(caller for i, caller in enumerate(site.callers) if i in differing[site.name]),
        )
        for site in sites
    ]
    return _numbered(found, [[(each.line, each.at) for each in site.frames] for site in sites])


def _numbered(found: list[Label], places: list[list[tuple[int, int]]]) -> list[Label]:
    """Number labels that are the same by their places in the program."""
    alike: dict[Label, list[int]] = {}
    for i in sorted(range(len(found)), key=lambda i: places[i]):
        alike.setdefault(found[i], []).append(i)
    for label, same in alike.items():
        for number, i in enumerate(same, 1):
            if len(same) > 1:
                found[i] = replace(label, name=f"{label.name} ({number})")
    return found


def _differing(callers: Sequence[tuple[str, ...]]) -> set[int]:
    """Return the depths at which callers differ."""
    return {depth for depth, each in enumerate(zip_longest(*callers)) if len(set(each)) > 1}
