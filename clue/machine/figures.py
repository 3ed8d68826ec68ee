"""Rules of a machine's figures, for machines that are made or changed in Python; forms check those of files.

Engines do not check figures: with a factor that is no number, or below 0, one of them reports that time runs backwards,
another one computes some makespan, or never ends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from math import inf, isfinite, isnan
from numbers import Real
from typing import Any, NamedTuple

from clue.errors import UsageError
from clue.machine.curve import Curve
from clue.units import is_amount, is_count


class Rule(NamedTuple):
    """A rule of a figure.

    Attributes:
        words: What the figure must be, for messages.
        holds: Tells whether it is.
    """

    words: str
    holds: Callable[[Any], bool]

    @property
    def or_none(self) -> Rule:
        """The rule of a figure that need not be stated."""
        return Rule(f"{self.words}, or None", lambda figure: figure is None or self.holds(figure))

    @property
    def for_each(self) -> Rule:
        """The rule of a mapping to such figures."""
        return Rule(
            f"a mapping to {self.words}",
            lambda figures: isinstance(figures, Mapping) and all(map(self.holds, figures.values())),
        )


def a(*kinds: type) -> Rule:
    """Return the rule of a figure of one of some types."""
    names = [name for kind in kinds for name in (map(str, kind) if issubclass(kind, Enum) else (kind.__name__,))]
    return Rule(" or ".join(names), lambda figure: isinstance(figure, kinds))


def _is_size(figure: Any) -> bool:
    return isinstance(figure, Real) and not isnan(figure)


def _is_delay(figure: Any) -> bool:
    if not isinstance(figure, Curve):
        return False
    longest = max(figure.times)
    # A rounding error below 0 counts as 0.
    return min(figure.times) >= -1e-12 * longest and longest < inf and all(map(isfinite, figure.slopes))


COUNT = Rule("a whole number of at least 1", is_count)
AMOUNT = Rule("a finite number of at least 0", is_amount)
POSITIVE = Rule("a finite number above 0", lambda figure: is_amount(figure) and figure > 0)
SHARE = Rule("a number above 0 and up to 1", lambda figure: is_amount(figure) and 0 < figure <= 1)
#: Up to which, or from which size on, something holds; any number may decide for no message, or for all.
SIZE = Rule("a number of bytes", _is_size)
#: A delay by message size.
DELAY = Rule("a Curve through finite times of at least 0", _is_delay)


def check_figures(of: str, value: object, rules: Mapping[str, Rule]) -> None:
    """Check figures of a part of a machine.

    Args:
        of: The part, for messages.
        value: Has the figures as attributes.
        rules: By attribute.

    Raises:
        UsageError: At the first figure that breaks its rule.
    """
    for name, rule in rules.items():
        if not rule.holds(figure := getattr(value, name)):
            raise UsageError(f"{of}: {name} must be {rule.words}, got {figure!r}")
