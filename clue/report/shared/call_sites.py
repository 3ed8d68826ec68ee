"""Call sites in words: short, and told apart where several have one name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from clue.trace.sites import Site

UNKNOWN = "(unknown)"


@dataclass(frozen=True, slots=True)
class Label:
    """What a call site is called among others.

    Attributes:
        name: File and line.
        function: The function that it is in, without those around it.
        callers: The callers by which it differs from others of its name, the innermost first.
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
    """Return what each of some call sites is called among them."""
    alike: dict[str, list[Site]] = {}
    for site in sites:
        alike.setdefault(site.name, []).append(site)
    differing = {name: _differing([each.callers for each in group]) for name, group in alike.items()}
    return [
        Label(
            site.name or UNKNOWN,
            site.function.rpartition(".<locals>.")[2],
            tuple(caller for i, caller in enumerate(site.callers) if i in differing[site.name]),
        )
        for site in sites
    ]


def _differing(callers: Sequence[tuple[str, ...]]) -> set[int]:
    """Return at which depth callers differ."""
    return {depth for depth, each in enumerate(zip_longest(*callers)) if len(set(each)) > 1}
