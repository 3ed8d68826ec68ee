"""Rules of a machine's figures, for machines that are made or changed in Python; forms check those of files.

Engines do not check figures: with a factor that is no number, or below 0, one of them reports that time runs backwards,
another one computes some makespan, or never ends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from itertools import chain, pairwise
from math import inf, isnan
from numbers import Integral, Real
from operator import is_, lt
from reprlib import Repr
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
    sizes, times, slopes = figure.sizes, figure.times, figure.slopes
    if not len(sizes) == len(times) == len(slopes) > 0:
        return False
    if _is_plain(figure) and sum(times) < inf and sum(slopes) < inf and min(*times, *slopes) >= 0:
        # Most delays never fall: each sample of a noisy machine has new ones, and this is several times as fast.
        return -inf < sizes[0] and sizes[-1] < inf and all(map(lt, sizes, sizes[1:]))
    if not all(isinstance(each, Real) and -inf < each < inf for each in chain(sizes, times, slopes)):
        return False
    # Beyond the last size, times that fall would end below 0. Rounding errors below 0 count as 0.
    segments = zip(pairwise(sizes), times, slopes, strict=False)
    ends = [time + (after - size) * slope for (size, after), time, slope in segments]
    rises = all(size < after for size, after in pairwise(sizes))
    return rises and min(*times, *ends, slopes[-1] * max(sizes[-1], 1)) >= -1e-12 * max(times)


COUNT = Rule("a whole number of at least 1", is_count)
AMOUNT = Rule("a finite number of at least 0", is_amount)
POSITIVE = Rule("a finite number above 0", lambda figure: is_amount(figure) and figure > 0)
SHARE = Rule("a number above 0 and up to 1", lambda figure: is_amount(figure) and 0 < figure <= 1)
#: Up to which, or from which size on, something holds; any number may decide for no message, or for all.
SIZE = Rule("a number of bytes", _is_size)
#: A delay by message size.
DELAY = Rule("a Curve through finite times of at least 0, by rising size, that does not fall at its end", _is_delay)
#: Python's own types of numbers.
_OWN = {float, int}
#: How messages show figures: of a million nodes, the first ones.
_SHOWN = Repr()
_SHOWN.maxstring = _SHOWN.maxlong = _SHOWN.maxother = 200


def check_figures(of: str, value: object, rules: Mapping[str, Rule]) -> None:
    """Check figures of a part of a machine, a frozen dataclass; numbers of other types become Python's own.

    Args:
        of: The part, for messages.
        value: Has the figures as attributes.
        rules: By attribute.

    Raises:
        UsageError: At the first figure that breaks its rule.
    """
    for name, rule in rules.items():
        if not rule.holds(figure := getattr(value, name)):
            raise UsageError(f"{of}: {name} must be {rule.words}, got {_SHOWN.repr(figure)}")
        if (own := _plain(figure)) is not figure:
            object.__setattr__(value, name, own)


def _is_plain(curve: Curve) -> bool:
    return _OWN.issuperset(map(type, chain(curve.sizes, curve.times, curve.slopes)))


def _plain(figure: Any) -> Any:
    """Return a figure with numbers of Python's own types; itself if it has no others.

    One engine would compute with numpy's float32 in single precision, the other one not with fractions at all.
    """
    if figure is None or type(figure) in _OWN:
        return figure
    if isinstance(figure, Curve):
        columns = (figure.sizes, figure.times, figure.slopes)
        return figure if _is_plain(figure) else Curve(*(tuple(map(_plain, column)) for column in columns))
    if isinstance(figure, Mapping):
        found = [(_plain(key), _plain(each)) for key, each in figure.items()]
        is_same = all(map(is_, chain(*found), chain(*figure.items())))
        return figure if is_same else dict(found)
    if isinstance(figure, Real):
        return int(figure) if isinstance(figure, Integral) else float(figure)
    return figure
