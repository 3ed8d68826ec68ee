"""The forms of rules: sums of products of atoms, conditions on atoms, and cases distinguished by conditions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm, log2
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from clue.structure.atoms import Atom, Integers, Surroundings, added, multiplied, rows_of

_Form = TypeVar("_Form", "Sum", "Predicate")
_Said = TypeVar("_Said", Integers, npt.NDArray[np.bool_])
#: Description length, in bits, of a unit of weight and of a term: a rule longer than the samples it explains is
#: rejected.
BITS, _TERM = 2.0, 2.0
#: Number of equally light forms that are kept.
KEPT = 120
#: Largest difference in weight between the lightest form and its rivals.
MARGIN = 1


class UndeterminedError(ValueError):
    """Forms that fit all recordings disagree elsewhere, or none of them is an integer there.

    Args:
        why: The reason.
        rivals: The forms that differ from the lightest there.
    """

    def __init__(self, why: str, rivals: frozenset[str] = frozenset()) -> None:
        super().__init__(why)
        self.why, self.rivals = why, rivals

    def decided_by(self, other: UndeterminedError) -> bool:
        """Tell whether all rivals in this error also differ from the lightest form where ``other`` was raised."""
        return self.rivals <= other.rivals if self.rivals else self.why == other.why


@dataclass(frozen=True, slots=True)
class Sum:
    """A sum of products of atoms: (coefficient, atoms) each."""

    terms: tuple[tuple[Fraction, tuple[Atom, ...]], ...]

    @property
    def weight(self) -> int:
        """Its complexity."""
        return sum(1 + sum(atom.weight for atom in atoms) for _, atoms in self.terms)

    @property
    def bits(self) -> float:
        """Its description length, in bits."""
        return sum(
            (_TERM if atoms else 1.0)
            + log2(abs(coefficient.numerator) * coefficient.denominator)
            + BITS * sum(atom.weight for atom in atoms)
            for coefficient, atoms in self.terms
        )

    def __call__(self, v: Surroundings) -> Integers:
        """Return its values.

        Raises:
            UndeterminedError: If one is not an integer, or may exceed 64 bits.
        """
        length = len(next(iter(v.values())))
        common = lcm(*(coefficient.denominator for coefficient, _ in self.terms), 1)
        total = np.zeros(length, np.int64)
        for coefficient, atoms in self.terms:
            try:
                factors = [atom.values(v) for atom in atoms]
                total = added(total, multiplied(np.full(length, int(coefficient * common), np.int64), *factors))
            except OverflowError:
                raise UndeterminedError(f"{self} is no integer of up to 63 bits there") from None
        if (total % common).any():
            raise UndeterminedError(f"{self} is no integer there")
        return total // common

    @property
    def grids(self) -> frozenset[str]:
        """The grids that it uses."""
        return frozenset(atom.grid for _, atoms in self.terms for atom in atoms if atom.grid)

    def __str__(self) -> str:
        if not self.terms:
            return "0"
        return " + ".join(
            "·".join(([] if coefficient == 1 and atoms else [str(coefficient)]) + [atom.name for atom in atoms])
            for coefficient, atoms in self.terms
        )


def _integral(
    forms: Sequence[Callable[[Surroundings], _Said]], v: Surroundings
) -> list[tuple[Callable[[Surroundings], _Said], _Said]]:
    """Return all forms that are integers there, with their values: the others are not the program's rule.

    Raises:
        UndeterminedError: If there are none.
    """
    results, errors = [], []
    for form in forms:
        try:
            results.append((form, form(v)))
        except UndeterminedError as error:
            errors.append(error)
    if not results:
        raise errors[0]
    return results


def _agreed(forms: Sequence[Callable[[Surroundings], _Said]], v: Surroundings) -> _Said:
    """Return the common value of all forms that are integers there.

    Raises:
        UndeterminedError: If these do not agree, or there are none.
    """
    (first, said), *others = _integral(forms, v)
    differ = [str(form) for form, values in others if (values != said).any()]
    if differ:
        raise UndeterminedError(f"{first} and {differ[0]} fit all recordings alike and differ there", frozenset(differ))
    return said


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: forms that all fit, or one rule where a condition holds and another one elsewhere.

    Attributes:
        forms: The forms, the lightest first.
        conditions: Conditions that all divide the recordings in the same way.
        then: The rule where they hold.
        other: The rule elsewhere.
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
        holds = [each for _, each in _integral(self.conditions, v)]
        disputed = np.logical_or.reduce([each != holds[0] for each in holds])
        values = np.zeros(len(disputed), np.int64)
        for rule, mask in ((self.then, holds[0]), (self.other, ~holds[0])):
            if mask.any():
                values[mask] = rule(rows_of(v, mask))
        if disputed.any():
            self._check_equal(rows_of(v, disputed))
        return values

    def _check_equal(self, v: Surroundings) -> None:
        """Check that all conditions agree.

        Raises:
            UndeterminedError: If they do not; its rivals are the conditions that differ.
        """
        assert self.then is not None
        assert self.other is not None
        try:
            matters = self.then(v) != self.other(v)
        except UndeterminedError:
            matters = np.ones(len(next(iter(v.values()))), bool)
        if matters.any():
            _agreed(self.conditions, rows_of(v, matters))

    @property
    def weight(self) -> int:
        """Its complexity: that of the lightest form in each case, and of the condition."""
        if self.then is None or self.other is None:
            return self.forms[0].weight
        return self.conditions[0].weight + self.then.weight + self.other.weight

    def every_form(self) -> Iterator[Sum]:
        """Yield the forms of all its cases."""
        yield from self.forms
        for rule in (self.then, self.other):
            if rule is not None:
                yield from rule.every_form()

    def every_condition(self) -> Iterator[Predicate]:
        """Yield the conditions of all its cases."""
        yield from self.conditions
        for rule in (self.then, self.other):
            if rule is not None:
                yield from rule.every_condition()

    @property
    def grids(self) -> frozenset[str]:
        """The grids that all its forms use."""
        own = [*(form.grids for form in self.forms), *(form.grids for form in self.conditions)]
        needed = frozenset.intersection(*own) if own else frozenset()
        return needed.union(*(rule.grids for rule in (self.then, self.other) if rule))

    def __str__(self) -> str:
        if self.other is None:
            return str(self.forms[0])
        return f"{self.then} if {self.conditions[0]} else {self.other}"


def chain(which: Atom, rules: Sequence[tuple[int, Rule | None]]) -> Rule:
    """Return a rule with a case for each value of an atom, undetermined at values that no recording contains."""
    chained = Rule((Sum(((Fraction(1, 2), ()),)),))
    for value, rule in reversed(rules):
        chained = Rule((), (Predicate((Comparison(which, "==", ZERO, value),)),), rule, chained)
    return chained


def lightest(forms: Sequence[_Form]) -> tuple[_Form, ...]:
    """Return the lightest forms and their rivals, without duplicates, the lightest first."""
    if not forms:
        return ()
    most = min(form.weight for form in forms) + MARGIN
    light = sorted((form for form in forms if form.weight <= most), key=lambda form: form.weight)
    return tuple({str(form): form for form in light}.values())[:KEPT]


#: Comparison operators.
COMPARE = {"==": np.equal, "<": np.less, ">=": np.greater_equal}
#: Atom for a comparison with a number only.
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
        """Its complexity."""
        return self.one.weight + self.other.weight + abs(self.constant)

    def __call__(self, v: Surroundings) -> npt.NDArray[np.bool_]:
        """Tell where it holds."""
        holds: npt.NDArray[np.bool_] = COMPARE[self.sign](self.one.values(v), self.other.values(v) + self.constant)
        return holds

    def __str__(self) -> str:
        other = [] if self.other is ZERO else [self.other.name]
        added = [str(self.constant)] if self.constant or not other else []
        return f"{self.one.name} {self.sign} {' + '.join([*other, *added])}"


#: Condition that a message goes to no rank (``PROC_NULL``).
TO_NOBODY = Comparison(Atom("peer", lambda v: v["peer"]), "<", ZERO, 0)


@dataclass(frozen=True, slots=True)
class Predicate:
    """A condition: a conjunction of comparisons, or its negation."""

    parts: tuple[Comparison, ...]
    negated: bool = False

    @property
    def weight(self) -> int:
        """Its complexity."""
        return sum(part.weight for part in self.parts)

    def __call__(self, v: Surroundings) -> npt.NDArray[np.bool_]:
        """Tell where it holds."""
        try:
            holds: npt.NDArray[np.bool_] = np.logical_and.reduce([part(v) for part in self.parts])
        except OverflowError:
            raise UndeterminedError(f"{self} compares no integers of up to 63 bits there") from None
        return ~holds if self.negated else holds

    @property
    def grids(self) -> frozenset[str]:
        """The grids that it uses."""
        return frozenset(atom.grid for part in self.parts for atom in (part.one, part.other) if atom.grid)

    def __str__(self) -> str:
        text = " and ".join(map(str, self.parts))
        return f"not ({text})" if self.negated else text
