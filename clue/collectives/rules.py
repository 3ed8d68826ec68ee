"""The building blocks of the rules of both libraries."""

from __future__ import annotations

from collections.abc import Callable

from clue.collectives.schedule import Collective

#: Chooses the algorithm of a collective.
Rule = Callable[[Collective], str]


def always(name: str) -> Rule:
    """Return the rule that always chooses the same algorithm."""
    return lambda _: name
