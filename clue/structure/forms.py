"""What a rule is: sums of products of atoms, conditions on atoms, and cases told apart by them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm, log2
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from clue.structure.atoms import Atom, Integers, Surroundings

_Form = TypeVar("_Form", "Sum", "Predicate")
_Said = TypeVar("_Said", Integers, npt.NDArray[np.bool_])
#: Bits that a step of weight takes to say, and a term: what takes more than the samples that it explains says nothing.
BITS, _TERM = 2.0, 2.0
#: How many equally light forms are kept.
KEPT = 120
#: How much heavier than the lightest form one may be and still be its rival.
_MARGIN = 1


class UndeterminedError(ValueError):
    """Forms that fit all recordings disagree elsewhere, or a form gives no integer there.

    Args:
        why: What is so.
        rivals: The forms that differ from the lightest there.
    """

    def __init__(self, why: str, rivals: frozenset[str] = frozenset()) -> None:
        super().__init__(why)
        self.why, self.rivals = why, rivals

    def decided_by(self, other: UndeterminedError) -> bool:
        """Tell whether all these rivals differ from the lightest where another error was raised, too."""
        return self.rivals <= other.rivals if self.rivals else self.why == other.why


@dataclass(frozen=True, slots=True)
class Sum:
    """A sum of products of atoms: (coefficient, atoms) each."""

    terms: tuple[tuple[Fraction, tuple[Atom, ...]], ...]

    @property
    def weight(self) -> int:
        """How far-fetched it is."""
        return sum(1 + sum(atom.weight for atom in atoms) for _, atoms in self.terms)

    @property
    def bits(self) -> float:
        """How much it takes to say it."""
        return sum(
            (_TERM if atoms else 1.0)
            + log2(abs(coefficient.numerator) * coefficient.denominator)
            + BITS * sum(atom.weight for atom in atoms)
            for coefficient, atoms in self.terms
        )

    def __call__(self, v: Surroundings) -> Integers:
        """Return its values.

        Raises:
            UndeterminedError: If one is no integer.
        """
        length = len(next(iter(v.values())))
        common = lcm(*(coefficient.denominator for coefficient, _ in self.terms), 1)
        total = np.zeros(length, np.int64)
        for coefficient, atoms in self.terms:
            product = np.full(length, int(coefficient * common), np.int64)
            for atom in atoms:
                product = product * atom.values(v)
            total += product
        if (total % common).any():
            raise UndeterminedError(f"{self} is no integer there")
        return total // common

    @property
    def grids(self) -> frozenset[str]:
        """The grids that it is about."""
        return frozenset(atom.grid for _, atoms in self.terms for atom in atoms if atom.grid)

    def __str__(self) -> str:
        if not self.terms:
            return "0"
        return " + ".join(
            "·".join(([] if coefficient == 1 and atoms else [str(coefficient)]) + [atom.name for atom in atoms])
            for coefficient, atoms in self.terms
        )


def _agreed(forms: Sequence[Callable[[Surroundings], _Said]], v: Surroundings) -> _Said:
    """Return what all forms say.

    Raises:
        UndeterminedError: If they do not agree.
    """
    results, errors = [], []
    for form in forms:
        try:
            results.append((form, form(v)))
        except UndeterminedError as error:
            errors.append(error)
    if not results:
        raise errors[0]
    first, said = results[0]
    differ = [str(form) for form, values in results[1:] if (values != said).any()]
    if differ:
        raise UndeterminedError(f"{first} and {differ[0]} fit all recordings alike and differ there", frozenset(differ))
    return said


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: forms that all fit; or one rule where a condition holds, and another elsewhere.

    Attributes:
        forms: The forms, the lightest first.
        conditions: Conditions that all divide the recordings alike.
        then: What holds where they do.
        other: What holds elsewhere.
    """

    forms: tuple[Sum, ...] = ()
    conditions: tuple[Predicate, ...] = ()
    then: Rule | None = None
    other: Rule | None = None

    @classmethod
    def constant(cls, value: int) -> Rule:
        """Return the rule of a number that never changes."""
        return cls((Sum(((Fraction(value), ()),) if value else ()),))

    def __call__(self, v: Surroundings) -> Integers:
        """Return its values.

        Raises:
            UndeterminedError: If recordings do not determine them.
        """
        if self.then is None or self.other is None:
            return _agreed(self.forms, v)
        where = _agreed(self.conditions, v)
        values = np.zeros(len(where), np.int64)
        for rule, mask in ((self.then, where), (self.other, ~where)):
            if mask.any():
                values[mask] = rule({name: column[mask] for name, column in v.items()})
        return values

    @property
    def grids(self) -> frozenset[str]:
        """The grids without which it cannot be said."""
        own = [*(form.grids for form in self.forms), *(form.grids for form in self.conditions)]
        needed = frozenset.intersection(*own) if own else frozenset()
        return needed.union(*(rule.grids for rule in (self.then, self.other) if rule))

    def __str__(self) -> str:
        if self.other is None:
            return str(self.forms[0])
        return f"{self.then} if {self.conditions[0]} else {self.other}"


def chain(which: Atom, rules: Sequence[tuple[int, Rule | None]]) -> Rule:
    """Return a rule that is another for each value of an atom, and none for others: what is there nobody has seen."""
    chained = Rule((Sum(((Fraction(1, 2), ()),)),))
    for value, rule in reversed(rules):
        chained = Rule((), (Predicate((Comparison(which, "==", ZERO, value),)),), rule, chained)
    return chained


def lightest(forms: Sequence[_Form]) -> tuple[_Form, ...]:
    """Return the lightest forms and their rivals, each once, the lightest first."""
    if not forms:
        return ()
    most = min(form.weight for form in forms) + _MARGIN
    light = sorted((form for form in forms if form.weight <= most), key=lambda form: form.weight)
    return tuple({str(form): form for form in light}.values())[:KEPT]


#: Signs of comparisons.
COMPARE = {"==": np.equal, "<": np.less, ">=": np.greater_equal}
#: What is compared with a number alone.
ZERO = Atom("0", lambda v: np.zeros_like(v["P"]), 0)


@dataclass(frozen=True, slots=True)
class Comparison:
    """One atom compared with another and a number."""

    one: Atom
    sign: str
    other: Atom
    constant: int

    @property
    def weight(self) -> int:
        """How far-fetched it is."""
        return self.one.weight + self.other.weight + abs(self.constant)

    def __call__(self, v: Surroundings) -> npt.NDArray[np.bool_]:
        """Tell where it holds."""
        holds: npt.NDArray[np.bool_] = COMPARE[self.sign](self.one.values(v), self.other.values(v) + self.constant)
        return holds

    def __str__(self) -> str:
        other = [] if self.other is ZERO else [self.other.name]
        added = [str(self.constant)] if self.constant or not other else []
        return f"{self.one.name} {self.sign} {' + '.join([*other, *added])}"


#: That a message goes to nobody (``PROC_NULL``).
TO_NOBODY = Comparison(Atom("peer", lambda v: v["peer"]), "<", ZERO, 0)


@dataclass(frozen=True, slots=True)
class Predicate:
    """A condition: comparisons that all hold, or not all."""

    parts: tuple[Comparison, ...]
    negated: bool = False

    @property
    def weight(self) -> int:
        """How far-fetched it is."""
        return sum(part.weight for part in self.parts)

    def __call__(self, v: Surroundings) -> npt.NDArray[np.bool_]:
        """Tell where it holds."""
        holds: npt.NDArray[np.bool_] = np.logical_and.reduce([part(v) for part in self.parts])
        return ~holds if self.negated else holds

    @property
    def grids(self) -> frozenset[str]:
        """The grids that it is about."""
        return frozenset(atom.grid for part in self.parts for atom in (part.one, part.other) if atom.grid)

    def __str__(self) -> str:
        text = " and ".join(map(str, self.parts))
        return f"not ({text})" if self.negated else text
