"""Exact integer rules: a rule fits every recording exactly, or the place has no rule.

A rule is a sum of up to three products of atoms with rational coefficients, a single atom (a neighbour, a cyclic
owner), or a case distinction between these. Its description must be shorter than the samples that it explains (minimum
description length). The lightest forms that fit are kept with their close rivals. If these disagree at a target, the
recordings do not determine the rule, and it is refused there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import comb, inf, log2
from typing import Any

import numpy as np
import numpy.typing as npt

from clue.structure.atoms import (
    COMMUNICATOR,
    Atom,
    Integers,
    Surroundings,
    dealt,
    dimensions,
    logarithms,
    numbered,
    partners,
    parts,
    residue,
    rows_of,
    scaled,
    small_numbers,
    squared,
    tree_sizes,
    unit_shares,
    variable,
)
from clue.structure.conditions import UNLIKE, Conditions
from clue.structure.forms import (
    BITS,
    KEPT,
    MARGIN,
    ZERO,
    Comparison,
    Predicate,
    Rule,
    Sum,
    UndeterminedError,
    chain,
    lightest,
)
from clue.structure.pool import Pool, Product, Products

#: Returns atoms, given the surroundings that vary, block sizes, known grids, and block sizes of indices passed singly.
_Atoms = Callable[[tuple[str, ...], tuple[int, ...], frozenset[str], tuple[int, ...]], tuple[Atom, ...]]
#: Surroundings that are ranks or numbers of ranks; programs rarely distribute these by blocks.
_RANKS = frozenset(("P", "s", "rank", "r"))
_SIZES = frozenset("Ppqabc")
_Floats = npt.NDArray[np.float64]
#: Largest denominator of a coefficient; largest share of the sum of squares that a sum may leave unexplained and still
#: be solved exactly.
_DENOMINATOR, _NEAR = 4096, 1e-9
#: Number of distinct samples in a search, chosen evenly; a result is checked on all samples.
_LOOKED_AT = 400
#: Number of samples needed in excess of the coefficients, so that at least one sample tests a rule; bits by which these
#: must exceed those of the choice among several sums, so that one of these fits random samples in 1 of 8 cases at most.
_MORE, _SURE = 1, 3.0
#: Surroundings whose values differ at a target, beside numbers of iterations; least eigenvalue of the Gram matrix of
#: linearly independent columns of length 1.
_EXTRAPOLATED, _DEPENDENT = ("n", "P", "s"), 1e-10
#: Largest number of values that may become separate cases.
_SPECIAL = 3
#: Largest number of numbers of ranks of which none may be an exception.
_FEW_RANKS = 3
#: Number of sizes at which a bound must be reached.
_REACHED = 2
#: Largest number of iterations of a loop that may have separate rules.
_STEPS = 8
#: Minimum number of blocks at which they are counted; number of samples that preselect block sizes; largest whole that
#: is searched.
_BLOCKS, _PROBES, _LARGEST = 4, 6, 1 << 20
#: Largest number of units by which sizes may be distributed.
_MOST_UNITS = 20
#: Periods of loops that do several things in turn.
_TURNS = (2, 3, 4)
#: Number of conditions that are tried to divide samples into cases.
_TRIED = 16
#: Largest number of searches for sums of several products; after that, cases use light forms only.
_MOST_SUMS = 400
#: Greatest weight of an atom in a condition.
_HEAVIEST = 5
#: Number of products among which sums of three are searched; least residual of a product for it to be independent of
#: others; number of products that are combined with all others at once.
_MOST_PRODUCTS, _SAME, _AT_ONCE = 120, 1e-6, 60


def _independent(gram: _Floats) -> bool:
    """Tell whether columns are linearly independent, given their inner products."""
    lengths = np.sqrt(np.diag(gram))
    return bool(lengths.all() and np.linalg.eigvalsh(gram / np.outer(lengths, lengths))[0] >= _DEPENDENT)


def _needed(tried: int) -> float:
    """Return the bits that samples beyond the coefficients must have, given the number of sums tried."""
    return log2(tried) + _SURE if tried > 1 else 0.0


def _lengths(rows: _Floats) -> _Floats:
    """Return the length of each row, infinite for rows of zeros."""
    squares = np.einsum("ij,ij->i", rows, rows)
    return np.sqrt(np.where(squares > 0, squares, np.inf))


@dataclass
class Search:
    """The search for rules among samples.

    Attributes:
        v: Surroundings of each sample.
        blocks: Block sizes by which the program distributes.
        triples: Whether sums of three products are searched.
        origin: Sizes at which each sample occurs, as bits from 0, and numbers of ranks, as bits from 32.
        slack: Largest deviation of a rule.
        frozen: Surroundings that are left out, and held at one value.
        plain: Whether values are ranks or numbers of ranks, which are not products.
        grids: Grids that the program is known to use.
        singles: Block sizes of distributions whose indices the program passes one by one.
    """

    v: Surroundings
    blocks: tuple[int, ...] = ()
    triples: bool = True
    origin: npt.NDArray[np.uint64] | None = None
    slack: int = 0
    frozen: frozenset[str] = frozenset()
    plain: bool = False
    grids: frozenset[str] = frozenset()
    singles: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        self.length = len(next(iter(self.v.values())))
        self.names = tuple(name for name, column in self.v.items() if len(column) and (column != column[0]).any())
        self.same_ranks = bool((self.v["r"] == self.v["rank"]).all() and (self.v["s"] == self.v["P"]).all())
        if self.same_ranks:
            self.names = tuple(name for name in self.names if name not in ("r", "s"))
        self._rows = _some(self.length)
        self._whole = _Whole(self.v)
        self._at = np.arange(self.length)
        self._spent = _Spent()
        #: Weight of the lightest sum that fits and is not confirmed.
        self._doubtful = inf
        self._described: tuple[Integers, float] | None = None

    # --- atoms ---

    @cached_property
    def small(self) -> Pool:
        """The varying atoms for sums and products, the lightest first."""
        return self._pool(rank_atoms if self.plain else small_atoms)

    @cached_property
    def alone(self) -> Pool:
        """The atoms that stand alone."""
        return self._pool(lone_atoms)

    def _pool(self, atoms: _Atoms) -> Pool:
        key = (atoms, self.names)
        if key not in self._whole.pools:
            self._whole.pools[key] = Pool.of(
                atoms(self.names, self.blocks, self.grids, self.singles), self._whole.v, self.frozen
            )
        return self._whole.pools[key].varying(self._at)

    # --- sums ---

    def rule(self, y: Integers, depth: int = 2) -> Rule | None:
        """Return the lightest rule that fits all samples, if there is one."""
        if not self._supported():
            return None
        key = self._key(y, str(depth))
        if key not in self._whole.rules:
            self._whole.rules[key] = self._searched(y, depth)
        return self._whole.rules[key]

    def _key(self, y: Integers, what: str) -> bytes:
        """Return a key for a search in these samples."""
        said = (self._at.tobytes(), y.tobytes(), f"{what} {self.triples}".encode())
        return hashlib.sha1(b"".join(said), usedforsecurity=False).digest()

    def _searched(self, y: Integers, depth: int) -> Rule | None:
        leans = self._leans(y) or [(self, np.arange(self.length))]
        # If y is a function of either of two sets of surroundings, the sums of both searches are rivals.
        forms = lightest([form for lean, rows in leans for form in lean.sums(y[rows])])
        if forms:
            return Rule(forms)
        found = next((rule for lean, rows in leans if (rule := lean._distinguished(y[rows], depth))), None)
        # A lighter sum is a rival, too, even if recordings do not confirm it.
        doubtful = min(lean._doubtful for lean, _ in leans)
        return found if found is None or found.weight < doubtful else None

    def _distinguished(self, y: Integers, depth: int) -> Rule | None:
        """Return the rule with the fewest cases."""
        # Rules with few cases are tried first.
        for cases in range(1, depth + 1):
            for found in (self._bounded, self._special_cases, self._steps, self._cases, self._in_turns):
                rule = found(y, cases)
                if rule is not None:
                    return rule
        return None

    def _supported(self) -> bool:
        """Tell whether samples have several sizes and numbers of ranks: a single one does not show a dependence."""
        if self.origin is None:
            return True
        ranks, sizes = divmod(int(np.bitwise_or.reduce(self.origin)), 1 << 32)
        return ranks.bit_count() > 1 and sizes.bit_count() > 1

    def _leans(self, y: Integers) -> list[tuple[Search, npt.NDArray[np.int64]]]:
        """Return searches that omit surroundings on which y does not depend, and the samples that each keeps.

        A variable may stand for the variables that determine it, such as an iteration that follows from the rank and
        the number of ranks. So the variables with most values are left out first, then the most special ones.
        """
        common = sorted(self.names, key=lambda name: (name != "peer", -len(np.unique(self.v[name])), name[0] != "m"))
        special = [*(each for each in reversed(self.names) if each[0] in "jiem"), "peer", "s", "r", "rank", "P", "n"]
        found: dict[frozenset[str], list[str]] = {}
        for order in (common, special):
            names = list(self.names)
            for name in order:
                if name in names and _depends_on(self.v, [each for each in names if each != name], y):
                    names.remove(name)
            found.setdefault(frozenset(names), names)
        made = [each for names in found.values() if (each := self._lean(names))]
        return made if len(made) == len(found) else []

    def _lean(self, names: list[str]) -> tuple[Search, npt.NDArray[np.int64]] | None:
        """Return a search with these surroundings only, and the samples that it keeps, if it leaves some out."""
        if "rank" in names or "r" in names:  # the position of a rank depends on the number of ranks
            names += [
                size
                for rank, size in (("rank", "P"), ("r", "s"))
                if rank in names and size in self.names and size not in names
            ]
        keys = np.array([self.v[name] for name in names]) if names else np.zeros((1, self.length), np.int64)
        _, rows, group = np.unique(numbered(keys), return_index=True, return_inverse=True)
        if len(rows) == self.length:
            return None
        origin = None
        if self.origin is not None:
            origin = np.zeros(len(rows), np.uint64)
            np.bitwise_or.at(origin, group, self.origin)
            origin = origin[np.argsort(rows)]
        rows.sort()
        if self.same_ranks:
            names += [{"rank": "r", "P": "s"}[name] for name in names if name in ("rank", "P")]
        kept = {
            name: column[rows] if name in names else column[rows][:1].repeat(len(rows))
            for name, column in self.v.items()
        }
        varied = (name for name, column in self.v.items() if (column != column[0]).any())
        frozen = self.frozen | (frozenset(varied) - frozenset(names))
        lean = replace(self, v=kept, origin=origin, frozen=frozen)
        lean._spent = self._spent
        return lean, rows

    def sums(self, y: Integers) -> tuple[Sum, ...]:
        """Return the lightest sums that fit."""
        found = self._constant(y) or self._once(self._light, y)
        if found or (not y.all() and len(np.unique(y)) == 2):
            return found
        self._spent.sums += 1
        return self._once(self._heavy, y) if self._spent.sums <= _MOST_SUMS else ()

    def _constant(self, y: Integers) -> tuple[Sum, ...]:
        """Return the number that all samples have, if there is one."""
        known, counts = np.unique(y, return_counts=True)
        most = int(known[counts.argmax()])
        same = (np.abs(known - most) <= self.slack).all()
        return (Sum(((Fraction(most), ()),) if most else ()),) if same else ()

    def _once(self, search: Callable[[Integers], tuple[Sum, ...]], y: Integers) -> tuple[Sum, ...]:
        """Return the sums that a search finds; searches among equal samples are made once."""
        key = self._key(y, search.__name__)
        if key not in self._whole.sums:
            found = search(y)
            self._whole.sums[key] = found, self._doubtful
        found, doubtful = self._whole.sums[key]
        self._doubtful = min(self._doubtful, doubtful)
        return found

    def _light(self, y: Integers) -> tuple[Sum, ...]:
        """Return the lightest sums of one atom that fit."""
        return self._single(y) or self._dealt(y) or self._blocks(y) or self._scaled(y)

    def _heavy(self, y: Integers) -> tuple[Sum, ...]:
        """Return the lightest sums of products that fit."""
        found = self._several(y) or self._in_units(y)
        return () if found and self._excepted(y, min(form.bits for form in found)) else found

    def _excepted(self, y: Integers, bits: float) -> bool:
        """Tell whether a number or a single atom and one exception, a number of ranks, say as much in fewer bits.

        The recordings then do not tell whether the program treats this number of ranks in another way, or a sum of
        products fits by chance: a loop over P phases has no calls in the last one of 2 ranks.
        """
        for name in (each for each in ("P", "s") if each in self.names):
            numbers = np.unique(self.v[name])
            for number in numbers.tolist() if len(numbers) > _FEW_RANKS else ():
                alone = self.v[name] == number
                rest, one = self._within(~alone), self._within(alone)
                spent = log2(len(numbers)) + one.bits(y[alone])
                lighter = rest._constant(y[~alone]) or rest._once(rest._light, y[~alone])
                if any(form.bits + spent < bits for form in lighter):
                    self._doubtful = min(self._doubtful, lighter[0].weight)
                    return True
        return False

    def _single(self, y: Integers) -> tuple[Sum, ...]:
        rows = self._rows
        atoms = (*self.small.atoms, *self.alone.atoms)
        values = np.concatenate([self.small.values[:, rows], self.alone.values[:, rows]])
        if not atoms:
            return ()
        matrix = values.astype(float)
        matrix -= matrix.mean(axis=1, keepdims=True)
        target = y[rows] - y[rows].mean()
        along = np.abs(matrix @ target) / _lengths(matrix)
        whole = float(target @ target)
        near = np.flatnonzero(whole - along**2 <= _NEAR * whole + self._leeway(len(rows))).tolist()
        fits = [form for i in near for form in self._solve(y, [Product((atoms[i],), values[i], ((atoms[i],),))])]
        return self._short(fits, y)

    def _dealt(self, y: Integers) -> tuple[Sum, ...]:
        """Return the forms that are owners of indices distributed in blocks.

        The first change of the owner shows the size of a block. A second round of owners must show their number.
        """
        if not self.plain or y.min():
            return ()
        over = {each.size.name: each for each in (*dimensions(self.grids), COMMUNICATOR)}
        sizes = [(over[atom.name], values) for atom, values in self.small.pairs() if atom.name in over]
        found = []
        for step, later in product((name for name in self.names if name[0] in "ije"), (0, 1)):
            block = int(self.v[step][y > 0].min()) + later
            number = (self.v[step] + later) // max(block, 1)
            for each, values in sizes if block > 1 else ():
                if (number >= values).any():
                    (atom,) = each.place([dealt(block, step, later, each)])
                    found += self._multiple(y, atom, log2(block))
        return lightest(found)

    def _blocks(self, y: Integers) -> tuple[Sum, ...]:
        """Return the forms that are numbers of blocks."""
        found = [
            form
            for whole, values in self._followed(y)
            for more in (0, -1, 1)
            for block in _candidates(values + more, y)
            for atom in parts(whole, block, more)
            for form in self._multiple(y, atom, log2(block) if whole.name in _RANKS else 0.0)
        ]
        return lightest(found)

    def _followed(self, y: Integers) -> list[tuple[Atom, Integers]]:
        """Return light atoms that alone determine y, monotonically, as a whole determines its number of blocks."""
        if y.max() < _BLOCKS:
            return []
        light = int(np.searchsorted(self.small.weights, UNLIKE))
        order = np.argsort(y, kind="stable")
        ends = np.flatnonzero(np.diff(y[order], prepend=y[order[0]] - 1))
        values = self.small.values[:light, order]
        low, high = np.minimum.reduceat(values, ends, axis=1), np.maximum.reduceat(values, ends, axis=1)
        kept = (high[:, :-1] < low[:, 1:]).all(axis=1) | (low[:, :-1] > high[:, 1:]).all(axis=1)
        return [(self.small.atoms[i], self.small.values[i]) for i in np.flatnonzero(kept).tolist()]

    def _scaled(self, y: Integers) -> tuple[Sum, ...]:
        """Return the forms that are multiples of the size or its square, divided evenly or by tiles, and rounded down.

        A sample must show the rounding: if no division leaves a remainder, the form could be another one.
        """
        at, divisor = int(y.argmax()), int(np.gcd.reduce(y))
        whole = variable("n")
        if "n" not in self.names or y[at] <= 0:
            return ()
        sizes = [(*each, power) for each in self.small.pairs() if each[0].name in _SIZES for power in (1, 2)]
        sizes += [(squared(atom), values**2, 2) for atom, values in self.small.pairs() if atom.name == "P"]
        found = []
        for (size, values, power), by in product(sizes, dict.fromkeys((1, divisor))):
            most = int(y[at]) // by
            n, m = int(self.v["n"][at]) ** power, int(values[at])
            # Larger multiples would not fit into 64 bits.
            end = min(-(-(most + 1) * m // n), ((1 << 63) - 1) // int(self.v["n"].max()) ** power + 1)
            for times in range(-(-most * m // n), end):
                if (times * self.v["n"] ** power % values).any():
                    found += self._multiple(y, scaled(times, whole, power, size), log2(times))
        return lightest(found)

    def _multiple(self, y: Integers, atom: Atom, more_bits: float = 0.0) -> list[Sum]:
        """Return y as a multiple of an atom plus a number, if that fits and its description is short enough."""
        values = atom.values(self.v)
        low, high = int(y.argmin()), int(y.argmax())
        step, apart = int(y[high] - y[low]), int(values[high] - values[low])
        if not apart or step % apart:
            return []
        more = int(y[low] - step // apart * values[low])
        if (step // apart * values + more != y).any():
            return []
        form = Sum(((Fraction(step // apart), (atom,)), *(((Fraction(more), ()),) if more else ())))
        kept = self.length >= len(form.terms) + _MORE and form.bits + more_bits <= self.bits(y)
        return [form] if kept and self._confirmed(form, y) else []

    def products(self) -> Products:
        """Return light products of up to three atoms with their values in the searched samples, without duplicates."""
        return Products.of(self.small, self._rows)

    def _several(self, y: Integers) -> tuple[Sum, ...]:
        products = Products.lone(self.small, self._rows) if self.plain else self.products()
        if not len(products):
            return ()
        rows = self._rows
        matrix = products.values.astype(float)
        target = y[rows].astype(float)
        matrix -= matrix.mean(axis=1, keepdims=True)
        basis = matrix / _lengths(matrix)[:, None]
        rest = target - target.mean()
        length = np.linalg.norm(rest)
        fits: list[Sum] = []
        alone = basis @ rest
        for i in np.flatnonzero(length**2 - alone**2 <= _NEAR * length**2 + self._leeway(len(rows))).tolist():
            fits += self._solve(y, [products[i]])
        found = self._short(fits, y) or self._short(self._pairs(y, products, basis, rest), y)
        if found:
            return found
        return self._triples(y, products, basis, rest) if self.triples else ()

    @cached_property
    def _units(self) -> Products:
        """Shares of sizes in units, these times the size, and their products along two dimensions of a grid."""
        key = (unit_shares, self.names)
        if key not in self._whole.pools:
            atoms = unit_shares(self.names, _divisors(self._whole.v["n"]), self.grids)
            self._whole.pools[key] = Pool.of((variable("n"), *atoms), self._whole.v, self.frozen)
        return Products.in_units(self._whole.pools[key].varying(self._at), self._rows)

    def _in_units(self, y: Integers) -> tuple[Sum, ...]:
        """Return the forms that are shares of a size in units, or products of them.

        Only whole numbers of units were recorded, so it is unknown where a remainder goes: both conventions are kept as
        rivals.
        """
        if self.plain or "n" not in self.names or not _ranked(self.names):
            return ()
        products = self._units
        if not len(products):
            return ()
        matrix = products.values.astype(float)
        matrix -= matrix.mean(axis=1, keepdims=True)
        target = y[self._rows] - y[self._rows].mean()
        along = np.abs(matrix @ target) / _lengths(matrix)
        whole = float(target @ target)
        near = np.flatnonzero(whole - along**2 <= _NEAR * whole + self._leeway(len(target))).tolist()
        # If too many forms fit, there is no rule: a form that is left out could be a rival.
        fits = [form for i in near for form in self._solve(y, [products[i]], len(products))]
        return self._short(fits, y) if len(fits) <= KEPT else ()

    def _short(self, forms: Sequence[Sum], y: Integers) -> tuple[Sum, ...]:
        """Return the lightest forms that take fewer bits than the samples, and their rivals, the lightest first.

        Rivals a unit of weight longer need not take fewer bits themselves: on 2, 3, 4 and 6 ranks, log2 P takes fewer
        bits than the four numbers, and ceil(P / 2), which fits as well, a few more.
        """
        short = [form for form in forms if form.bits <= self.bits(y)]
        if not short:
            return ()
        most = min(form.bits for form in short) + BITS * MARGIN
        return lightest([*short, *(form for form in forms if form.bits <= most)])

    @cached_property
    def _chosen(self) -> bool:
        """Whether samples differ in size and number of ranks alone: a user has chosen a few, which may agree by chance.

        Ranks and iterations are all there, from 0 on.
        """
        return all(name in _EXTRAPOLATED for name in self.names)

    def bits(self, y: Integers) -> float:
        """Return the description length of all samples, bits: as values, exceptions to the mode, or deviations."""
        if self._described is None or self._described[0] is not y:  # many forms of the same y are weighed
            self._described = y, self._bits(y)
        return self._described[1]

    def _bits(self, y: Integers) -> float:
        values, counts = np.unique(y, return_counts=True)
        each = np.log2(1.0 + np.abs(values.astype(float)))
        shares = counts / len(y)
        which = -float(counts @ np.log2(shares)) + float(each.sum() - each[counts.argmax()])
        middle = float(np.median(y))
        away = np.abs(y - middle)
        around = float(np.log2(1.0 + abs(middle)) + np.log2(1.0 + away).sum() + np.count_nonzero(away))
        return min(float(counts @ each), which, around)

    def _leeway(self, rows: int) -> float:
        """Return the largest sum of squared deviations of a form."""
        return float(rows * self.slack**2)

    def _pairs(self, y: Integers, products: Products, basis: _Floats, rest: _Floats) -> list[Sum]:
        order = np.argsort(products.weights, kind="stable")[: 3 * _MOST_PRODUCTS]
        weights, chosen = products.weights[order], basis[order]
        along, whole = chosen @ rest, float(rest @ rest)
        needed = whole - (_NEAR * whole + self._leeway(len(rest))) - along**2
        pairs: list[tuple[int, int]] = []
        for start in range(0, len(order), _AT_ONCE):
            # Residuals of later products and of the target, given the first product; a fit leaves no residual.
            some = slice(start, start + _AT_ONCE)
            gram = chosen[some] @ chosen[start:].T
            left = 1.0 - gram**2
            second = along[start:] - gram * along[some, None]
            second *= second
            second /= np.where(left > _SAME, left, np.inf)
            for at in np.flatnonzero(second >= needed[some, None]).tolist():
                i, k = divmod(at, len(order) - start)
                if i < k:
                    pairs.append((start + i, start + k))
        pairs.sort(key=lambda pair: weights[pair[0]] + weights[pair[1]])
        return [
            form
            for i, k in pairs[: 4 * KEPT]
            if self._supports(y, 2, tried := comb(k + 1, 2))
            for form in self._solve(y, [products[order[i]], products[order[k]]], tried)
        ]

    def _triples(self, y: Integers, products: Products, basis: _Floats, rest: _Floats) -> tuple[Sum, ...]:
        order = np.argsort(products.weights, kind="stable")[:_MOST_PRODUCTS]
        chosen = basis[order]
        gram, along, whole = chosen @ chosen.T, chosen @ rest, float(rest @ rest)
        enough = whole - (_NEAR * whole + self._leeway(len(rest)))
        found: set[tuple[int, ...]] = set()
        for i in range(len(order)):
            # Residuals of all others and of the target, given the first product, and then given each second one.
            left, target = gram - np.outer(gram[i], gram[i]), along - gram[i] * along[i]
            spread = np.diag(left)
            size = np.where(spread < _SAME, np.inf, spread)
            third = target - left * (target / size)[:, None]
            sizes = spread - left**2 / size[:, None]
            third *= third
            third /= np.where(sizes > _SAME, sizes, np.inf)
            needed = enough - along[i] ** 2 - target**2 / size
            for at in np.flatnonzero(third >= needed[:, None]).tolist():
                found.add(tuple(sorted((i, *divmod(at, len(order))))))
            if len(found) > 8 * KEPT:
                break
        fits = [
            form
            for each in sorted(found)
            if len(set(each)) == 3 and self._supports(y, 2, tried := comb(each[-1] + 1, 3))
            for form in self._solve(y, [products[order[i]] for i in each], tried)
        ]
        return self._short(fits, y)

    def _solve(self, y: Integers, products: Sequence[Product], tried: int = 1) -> list[Sum]:
        """Return the sum of these products with rational coefficients that is exactly y, if there is one.

        It may be a little longer than the samples if these are of a few sizes and numbers of ranks: then it can only be
        a rival.

        Args:
            y: The values to explain.
            products: The products.
            tried: Number of sums tried that are not heavier: the more sums were tried, the more samples beyond the
                coefficients must fit, since one sum may fit by chance.
        """
        rows = self._rows
        columns = [np.ones(len(rows))] + [product.values.astype(float) for product in products]
        scales = [max(np.abs(column).max(), 1.0) for column in columns]
        matrix = np.array([column / scale for column, scale in zip(columns, scales, strict=True)]).T
        found, _, rank, _ = np.linalg.lstsq(matrix, y[rows].astype(float), rcond=1e-12)
        if (
            rank < len(columns)
            or np.abs(matrix @ found - y[rows]).max() > 1e-6 * max(np.abs(y).max(), 1) + 1e-6 + self.slack
        ):
            return []
        coefficients = [_fraction(float(value / scale), self.slack) for value, scale in zip(found, scales, strict=True)]
        terms = [
            (coefficient, atoms)
            for coefficient, atoms in zip(coefficients, [(), *(product.atoms for product in products)], strict=True)
            if coefficient
        ]
        form = Sum(tuple(sorted(terms, key=lambda term: -len(term[1]))))
        long = form.bits - self.bits(y)
        if long > (BITS * MARGIN if self._chosen else 0.0) or not self._supports(y, len(form.terms), tried):
            return []
        if not self._fits(form, y):
            return []
        if not self._confirmed(form, y, tried):
            if long <= 0:
                self._doubtful = min(self._doubtful, form.weight)
            return []
        return [each for each in self._rivals(form, products) if self._fits(each, y)]

    def _confirmed(self, form: Sum, y: Integers, tried: int = 1) -> bool:
        """Tell whether each recorded size, number of ranks and number of iterations tests the form.

        A value tests the form if the other values determine all coefficients. If a form has as many functions of ranks
        as there are numbers of ranks, it fits any recordings: n^2 / P on 2, 4 and 8 ranks is n^2 (a + b P + c P^2) as
        well. If it takes several values to determine the coefficients, more values must be left the more sums were
        tried, because one of the sums may fit by chance: where all terms are multiples of n, further sizes show nothing
        about functions of ranks.
        """
        if len(form.terms) < 2:
            return True
        columns = np.array([Sum(((Fraction(1), atoms),))(self.v) for _, atoms in form.terms], np.float64)
        columns /= np.maximum(np.abs(columns).max(axis=1, keepdims=True), 1.0)
        for name in (each for each in self.names if each in _EXTRAPOLATED or each[0] == "m"):
            values, which = np.unique(self.v[name], return_inverse=True)
            grams = np.array([part @ part.T for part in (columns[:, which == i] for i in range(len(values)))])
            if not all(map(_independent, grams.sum(axis=0) - grams)):
                return False
            if any(map(_independent, grams)):
                continue
            sums = np.cumsum(grams, axis=0)
            enough = next((i for i, gram in enumerate(sums, 1) if _independent(gram)), len(values))
            if _needed(tried) > (len(values) - enough) * self.bits(y) / self.length:
                return False
        return True

    def _supports(self, y: Integers, terms: int, tried: int) -> bool:
        """Tell whether there are enough samples that none of the sums tried is likely to fit by chance.

        A sum of several products that is not solved yet has at least two terms: those with fewer were tried before.
        """
        free = self.length - terms
        return free >= _MORE and _needed(tried) <= free * self.bits(y) / self.length

    def _fits(self, form: Sum, y: Integers) -> bool:
        try:
            return bool((np.abs(form(self.v) - y) <= self.slack).all())
        except UndeterminedError:
            return False

    def _rivals(self, form: Sum, products: Sequence[Product]) -> list[Sum]:
        """Return a form and its variants, each with one product replaced by another of equal values in these samples.

        Where all variants agree with the form, variants with several products replaced agree as well.
        """
        alike = {product.atoms: product.alike for product in products}
        others = [
            Sum((*form.terms[:i], (coefficient, other), *form.terms[i + 1 :]))
            for i, (coefficient, atoms) in enumerate(form.terms)
            for other in (alike[atoms] if atoms else ())
            if other != atoms
        ]
        return [form, *others]

    # --- conditions ---

    @cached_property
    def conditions(self) -> Conditions:
        """Conditions, with the samples on which they hold."""
        sides, turns = (
            [each for each in pool.pairs() if each[0].weight <= _HEAVIEST] for pool in (self.small, self.alone)
        )
        return Conditions.among(sides, turns, self.length)

    def condition(self, mask: npt.NDArray[np.bool_]) -> tuple[Predicate, ...]:
        """Return the lightest conditions that hold on exactly these samples."""
        found = self.conditions.just(mask) or self._in_turn(mask)
        return found if any(BITS * (each.weight + 1) <= _told(mask) for each in found) else ()

    def _divided(self, mask: npt.NDArray[np.bool_], found: tuple[Predicate, ...], then: Rule, other: Rule) -> Rule:
        """Return a rule of two cases, given the conditions that hold on exactly the samples of the first.

        Where both rules agree, samples do not show which of them applies, so further conditions are rivals.
        """
        try:
            differ = then(self.v) != other(self.v)
        except UndeterminedError:
            return Rule((), found, then, other)
        if differ.any() and not differ.all():
            found = lightest([*found, *self.conditions.just(mask, differ)])
        return Rule((), found, then, other)

    def _in_turn(self, mask: npt.NDArray[np.bool_]) -> tuple[Predicate, ...]:
        """Return periodic conditions on iterations, such as that of a convergence test every few iterations."""
        for name in (each for each in self.names if each[0] == "i"):
            at = np.unique(self.v[name][mask])
            turns = int(np.gcd.reduce(np.diff(at))) if len(at) > _SPECIAL else 0
            if turns > 1:
                part = Comparison(residue(name, turns), "==", ZERO, int(at[0]) % turns)
                if (part(self.v) == mask).all():
                    return (Predicate((part,)),)
        return ()

    def _bounded(self, y: Integers, _depth: int) -> Rule | None:
        """Return a sum limited by an upper or lower bound that several sizes reach."""
        for bound, sign, first in ((int(y.max()), ">=", int(y.max())), (int(y.min()), "<", int(y.min()) + 1)):
            mask = y == bound
            inside, beyond = self._within(~mask, self.triples), self._within(mask)
            if mask.all() or len(np.unique(beyond.v["n"])) < _REACHED or not beyond._supported():
                continue
            forms = inside.sums(y[~mask]) if inside._supported() else ()
            reach = {form: Predicate((Comparison(_as_atom(form), sign, ZERO, first),)) for form in forms}
            kept = {form: each for form, each in reach.items() if _holds(each, beyond.v)}
            if kept:
                return Rule((), tuple(kept.values()), Rule.constant(bound), Rule(tuple(kept)))
        return None

    def _special_cases(self, y: Integers, depth: int) -> Rule | None:
        """Return a rule with a special value as a separate case, such as no partner or no bytes."""
        for value in self._special(y):
            mask = y == value
            if not self._within(mask)._supported():
                continue
            conditions = self.condition(mask)
            if conditions:
                other = self._within(~mask, self.triples).rule(y[~mask], depth - 1)
                if other is not None:
                    return self._divided(mask, conditions, Rule.constant(int(value)), other)
        return None

    def _cases(self, y: Integers, depth: int) -> Rule | None:
        """Return a rule of two cases by a condition on the surroundings."""
        for where in self.conditions.different(_TRIED if depth > 1 else 4 * _TRIED):
            inside = self._within(where)
            forms = inside.sums(y[where]) if inside._supported() else ()
            conditions = self.condition(where) if forms else ()
            if not conditions:
                continue
            other = self._within(~where).rule(y[~where], depth - 1)
            if other is not None:
                return self._divided(where, conditions, Rule(forms), other)
        return None

    def _steps(self, y: Integers, depth: int) -> Rule | None:
        """Return a rule for each iteration of a short loop, such as one over directions."""
        for name in (each for each in self.names if each[0] in "ije"):
            steps = np.unique(self.v[name]).tolist()
            if 1 < len(steps) <= _STEPS:
                rules = self._each((self.v[name] == step for step in steps), y, depth)
                if rules:
                    return chain(variable(name), list(zip(steps, rules, strict=True)))
        return None

    def _in_turns(self, y: Integers, depth: int) -> Rule | None:
        """Return a rule for each turn of a loop that does several things in turn."""
        for name, turns in product((each for each in self.names if each[0] == "i"), _TURNS):
            at = self.v[name] % turns
            rules = self._each((at == turn for turn in range(turns)), y, depth - 1)
            if rules:
                return chain(residue(name, turns), list(enumerate(rules)))
        return None

    def _each(self, masks: Iterable[npt.NDArray[np.bool_]], y: Integers, depth: int) -> list[Rule]:
        """Return a rule for each part of the samples, or nothing if a part has none."""
        rules = []
        for mask in masks:
            rules.append(self._where(mask, y, depth))
            # The searches in the other parts would count, unless no search for sums is left anyway.
            if rules[-1] is None and self._spent.sums >= _MOST_SUMS:
                break
        found = [rule for rule in rules if rule is not None]
        return found if len(found) == len(rules) else []

    def _where(self, mask: npt.NDArray[np.bool_], y: Integers, depth: int) -> Rule | None:
        return self._within(mask, self.triples).rule(y[mask], depth) if mask.any() else None

    def _special(self, y: Integers) -> list[int]:
        """Return possible separate cases: no partner, no bytes, and values that occur at several sizes."""
        values, counts = np.unique(y, return_counts=True)
        often = values[np.argsort(-counts, kind="stable")].tolist()
        several = [each for each in often if len(np.unique(self.v["n"][y == each])) > 1 or "n" not in self.names]
        return list(dict.fromkeys([each for each in (-1, 0) if each in often] + several[:_SPECIAL]))

    def _within(self, mask: npt.NDArray[np.bool_], triples: bool = False) -> Search:
        origin = None if self.origin is None else self.origin[mask]
        inside = replace(self, v=rows_of(self.v, mask), triples=triples, origin=origin)
        inside._whole, inside._at, inside._spent = self._whole, self._at[mask], self._spent
        return inside


@dataclass(slots=True)
class _Spent:
    """The effort of a search so far.

    Attributes:
        sums: Number of searches for sums of several products.
    """

    sums: int = 0


@dataclass(slots=True)
class _Whole:
    """State shared by searches in parts of the same samples.

    Attributes:
        v: Surroundings of all samples.
        pools: Atoms with their values there, by kind and by the surroundings that vary.
        rules: Rules found, by their samples.
        sums: Sums found, by their samples, with the weight of the lightest that is not confirmed.
    """

    v: Surroundings
    pools: dict[tuple[Any, tuple[str, ...]], Pool] = field(default_factory=dict)
    rules: dict[bytes, Rule | None] = field(default_factory=dict)
    sums: dict[bytes, tuple[tuple[Sum, ...], float]] = field(default_factory=dict)


def _as_atom(form: Sum) -> Atom:
    """Return a sum as an atom, for comparisons."""
    return Atom(str(form), form, form.weight)


def _holds(condition: Predicate, v: Surroundings) -> bool:
    """Tell whether a condition holds on all samples."""
    try:
        return bool(condition(v).all())
    except UndeterminedError:
        return False


def _ranked(names: tuple[str, ...]) -> bool:
    """Tell whether the surroundings include ranks."""
    return any(name in names for name in ("rank", "r", "P", "s"))


def small_atoms(
    names: tuple[str, ...], blocks: tuple[int, ...], grids: frozenset[str], singles: tuple[int, ...]
) -> tuple[Atom, ...]:
    """Return the atoms for sums and products."""
    return (*rank_atoms(names, blocks, grids, singles), *logarithms(names))


def rank_atoms(
    names: tuple[str, ...], blocks: tuple[int, ...], grids: frozenset[str], singles: tuple[int, ...]
) -> tuple[Atom, ...]:
    """Return the atoms for ranks and numbers of ranks; no logarithms: on 2, 4 and 6 ranks they are P / 2 by chance."""
    return (*small_numbers(names, blocks, grids, singles), *(tree_sizes(names) if _ranked(names) else ()))


def lone_atoms(
    names: tuple[str, ...], _: tuple[int, ...], grids: frozenset[str], singles: tuple[int, ...]
) -> tuple[Atom, ...]:
    """Return the atoms that stand alone."""
    return partners(names, grids, singles) if _ranked(names) else ()


def _candidates(whole: Integers, y: Integers) -> list[int]:
    """Return possible divisors of a whole: those for which the number of blocks grows as much as y over its range."""
    order = np.argsort(y, kind="stable")
    some = order[np.linspace(0, len(order) - 1, _PROBES).astype(np.int64)]
    x, most = int(whole[some[-1]]), int(y[some[-1]])
    if x <= most or most < _BLOCKS or x > _LARGEST:
        return []
    blocks = np.arange(max(x // (most + 3), 2), x // max(most - 2, 1) + 1)
    apart = y[some] - y[some[0]]
    kept = np.zeros(len(blocks), bool)
    for counts in (whole[some][:, None] // blocks, -(-whole[some][:, None] // blocks)):
        grown = counts - counts[:1]
        kept |= (grown * apart[-1] == apart[:, None] * grown[-1:]).all(axis=0)
    found: list[int] = blocks[kept].tolist()
    return found


def _divisors(sizes: Integers) -> tuple[int, ...]:
    """Return the units, larger than 1, of which all sizes are multiples; none if they are unusually many."""
    common = int(np.gcd.reduce(sizes))
    found = tuple(unit for unit in range(2, min(common, _LARGEST) + 1) if common % unit == 0)
    return found if len(found) <= _MOST_UNITS else ()


def _depends_on(v: Surroundings, names: Sequence[str], y: Integers) -> bool:
    """Tell whether these surroundings determine y."""
    if not names:
        return bool((y == y[0]).all())
    _, group = np.unique(numbered(np.array([v[name] for name in names])), return_inverse=True)
    some = np.zeros(group.max() + 1, np.int64)
    some[group] = y
    return bool((some[group] == y).all())


def _fraction(value: float, slack: int) -> Fraction:
    return Fraction(value).limit_denominator(1 if slack else _DENOMINATOR)


def _told(mask: npt.NDArray[np.bool_]) -> float:
    """Return the description length, bits, of the samples on which a condition holds."""
    share = float(mask.mean())
    return -len(mask) * sum(each * log2(each) for each in (share, 1 - share) if each)


def _some(length: int) -> npt.NDArray[np.int64]:
    if length <= _LOOKED_AT:
        return np.arange(length)
    return np.unique(np.linspace(0, length - 1, _LOOKED_AT).astype(np.int64))
