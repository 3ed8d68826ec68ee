"""Numbers of a program that are the same in all recordings but differ at a target.

On 4, 6 and 8 ranks, the most square grid always has two rows. A loop over its rows then has two iterations, like a loop
over two directions, and no recording distinguishes them. Rules take the number that was recorded; so at a target where
the grid has another number of rows, everything that may depend on it is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from clue.structure.atoms import cubest, squarest
from clue.structure.forms import Rule, UndeterminedError

#: Fields that are bits, and fields that may be a number itself, or one less: the last of that many ranks.
_BITS, _COUNTED = frozenset({"flags", "requested"}), frozenset({"count", "peer", "entries", "entry"})


@dataclass(frozen=True, slots=True)
class Number:
    """A number that programs compute from their size and number of ranks alone.

    Attributes:
        name: Its name, as in rules.
        at: Returns it, given size and number of ranks.
        grid: The process grid of which it is a side; "" if it is none.
    """

    name: str
    at: Callable[[int, int], int]
    grid: str = ""


NUMBERS = (
    Number("p", lambda _, ranks: squarest(ranks)[0], "plane"),
    Number("q", lambda _, ranks: squarest(ranks)[1], "plane"),
    Number("a", lambda _, ranks: cubest(ranks)[0], "cube"),
    Number("b", lambda _, ranks: cubest(ranks)[1], "cube"),
    Number("c", lambda _, ranks: cubest(ranks)[2], "cube"),
    Number("P // 2", lambda _, ranks: ranks // 2),
    Number("ceil(P / 2)", lambda _, ranks: -(-ranks // 2)),
    Number("log2 P", lambda _, ranks: (ranks - 1).bit_length()),
    Number("log2 n", lambda size, _: (size - 1).bit_length()),
)


@dataclass(frozen=True, slots=True)
class Unvaried:
    """A number that is the same in all recordings.

    Attributes:
        number: The number.
        recorded: Its value in all recordings.
        used: Whether the program is known to use the grid of which it is a side.
    """

    number: Number
    recorded: int
    used: bool

    def may_be_in(self, rules: Mapping[str, Sequence[Rule]], grids: frozenset[str]) -> bool:
        """Tell whether rules by field, or a group of ranks in these grids, may depend on it.

        The side of a grid may be a factor of any number, and decides where a rank is in the grid. Halves and logarithms
        are only numbers of iterations, or ranks.
        """
        if not self.number.grid:
            return any(_is(self.recorded, each) for name in _COUNTED & rules.keys() for each in rules[name])
        if self.number.grid in grids:
            return True
        return self.used and any(
            self._may_be(name, each) for name, every in rules.items() if name not in _BITS for each in every
        )

    def _may_be(self, name: str, rule: Rule) -> bool:
        forms, conditions = list(rule.every_form()), list(rule.every_condition())
        comparisons = (part for condition in conditions for part in condition.parts)
        grids = frozenset[str]().union(*(each.grids for each in forms), *(each.grids for each in conditions))
        if self.number.grid in grids:
            return True
        return (
            any(self._divides(coefficient) for form in forms for coefficient, _ in form.terms)
            or any(each.constant in (self.recorded, self.recorded - 1) and each.constant for each in comparisons)
            or (name in _COUNTED and _is(self.recorded - 1, rule))
        )

    def _divides(self, coefficient: Fraction) -> bool:
        """Tell whether a coefficient may contain it as a factor or a divisor."""
        above, below = coefficient.numerator, coefficient.denominator
        return above % self.recorded == 0 or (below > 1 and below % self.recorded == 0)


def unvaried(
    recorded: Sequence[tuple[int, int]], grids: frozenset[str], partners: frozenset[str] = frozenset()
) -> tuple[Unvaried, ...]:
    """Return the numbers that are the same in all recordings.

    Args:
        recorded: Size and number of ranks of each recording.
        grids: The process grids that the program is known to use. On 2, 3, 4 and 6 ranks, a × b × c is q × p × 1, so
            what looks like a grid of two dimensions there may have three.
        partners: The process grids in which partners may be neighbours, if not by another rule.
    """
    if "plane" in grids | partners and all(cubest(ranks) == (*reversed(squarest(ranks)), 1) for _, ranks in recorded):
        grids |= {"cube"}
    found = []
    for number in NUMBERS:
        values = {number.at(*each) for each in recorded}
        if len(values) == 1:
            found.append(Unvaried(number, values.pop(), number.grid in grids))
    return tuple(found)


def check(
    numbers: Sequence[Unvaried], size: int, ranks: int, rules: Mapping[str, Sequence[Rule]], grids: frozenset[str]
) -> None:
    """Check that rules and a group of ranks do not depend on a number that differs only at the target.

    Args:
        numbers: The numbers that are the same in all recordings.
        size: Size of the target.
        ranks: Its number of ranks.
        rules: Rules by field, those of the loops around as ``count``.
        grids: The process grids that the group may be a part of.

    Raises:
        UndeterminedError: If they may.
    """
    elsewhere = (each for each in numbers if each.number.at(size, ranks) != each.recorded)
    differ = [each for each in elsewhere if each.may_be_in(rules, grids)]
    if differ:
        first = differ[0]
        raise UndeterminedError(
            f"{first.number.name} is {first.recorded} in all recordings and {first.number.at(size, ranks)} there, and "
            f"what depends on it is unknown",
            frozenset(each.number.name for each in differ),
        )


def _is(number: int, rule: Rule) -> bool:
    """Tell whether a rule is this number in one of its cases."""
    return Rule.constant(number).forms[0] in rule.every_form()
