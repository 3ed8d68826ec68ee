"""The atoms of rules: numbers that programs compute from size, number of ranks, rank and iteration.

Each is exact: shares of a size (with three conventions of rounding), process grids, cyclic owners, neighbours in rings
and butterflies. A reader of a rule sees their names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from math import isqrt, lcm, prod

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
#: Prefixes of families: of periodic atoms, and of owners of indices (followed by the owner's coordinate).
TURN, OWNER = "turn ", "owner "
#: Variables of a place, by name: ``n`` is the problem size, ``P`` the number of ranks, ``rank`` the rank among all
#: ranks, ``s`` and ``r`` the size of the communicator and the rank in it, ``i0`` … the iterations of the loops around,
#: ``m0`` … their numbers of iterations, ``j`` the position within a call.
Surroundings = Mapping[str, Integers]


def rows_of(v: Surroundings, where: npt.NDArray[np.bool_] | Integers) -> dict[str, Integers]:
    """Return the surroundings of some rows, by mask or by index."""
    return {name: column[where] for name, column in v.items()}


@dataclass(frozen=True, slots=True)
class Atom:
    """A number as a function of the surroundings (:data:`Surroundings`).

    Attributes:
        name: Its name in a printed rule.
        values: The function; its values are integers.
        weight: Its complexity: of two rules that fit, the lighter one is taken.
        family: Atoms of one family are multiplied or compared with each other, such as shares along the dimensions of
            one grid or places along one dimension; "" if it has none.
        block: Size of the blocks that it counts or distributes, or 0.
        grid: The process grid that it uses: "plane" for two dimensions, "cube" for three, or "".
    """

    name: str
    values: Callable[[Surroundings], Integers]
    weight: int = 1
    family: str = ""
    block: int = 0
    grid: str = ""


def multiplied(first: Integers, *others: Integers | int) -> Integers:
    """Return a product.

    Raises:
        OverflowError: If it may exceed 64 bits.
    """
    found, reach = first, float(np.abs(first).max(initial=0))
    for other in others:
        reach *= float(np.abs(other).max(initial=0))
        if reach >= 1 << 63:
            raise OverflowError("product must fit into 64 bits")
        found = found * other
    return found


def added(one: Integers, other: Integers) -> Integers:
    """Return a sum.

    Raises:
        OverflowError: If it may exceed 64 bits.
    """
    if sum(float(np.abs(each).max(initial=0)) for each in (one, other)) >= 1 << 63:
        raise OverflowError("sum must fit into 64 bits")
    return one + other


def variable(name: str, weight: int = 1) -> Atom:
    """Return one of the surroundings."""
    return Atom(name, lambda v: v[name], weight)


@cache
def squarest(ranks: int) -> tuple[int, int]:
    """Return the most square grid p × q = ranks with p ≤ q."""
    rows = max(p for p in range(1, isqrt(ranks) + 1) if ranks % p == 0)
    return rows, ranks // rows


@cache
def cubest(ranks: int) -> tuple[int, int, int]:
    """Return the grid of three dimensions that MPI_Dims_create makes: as equal as possible, the largest first."""
    shapes = (
        (a, b, ranks // a // b)
        for a in range(1, ranks + 1)
        if ranks % a == 0
        for b in range(1, ranks // a + 1)
        if ranks // a % b == 0
    )
    return min(
        (shape for shape in shapes if shape[0] >= shape[1] >= shape[2]), key=lambda shape: (shape[0] - shape[2], shape)
    )


def _each(function: Callable[[int], tuple[int, ...]], which: int) -> Callable[[Integers], Integers]:
    known = np.zeros(1, np.int64)  # by number of ranks; 0 where it was not asked for

    def values(ranks: Integers) -> Integers:
        nonlocal known
        if not len(ranks):
            return ranks
        if (most := int(ranks.max())) >= len(known):
            known = np.append(known, np.zeros(most + 1 - len(known), np.int64))
        found = known[ranks]
        if not found.all():
            for each in set(ranks[found == 0].tolist()):
                known[each] = function(each)[which]
            found = known[ranks]
        return found

    return values


_P, _Q = _each(squarest, 0), _each(squarest, 1)
_A, _B, _C = (_each(cubest, which) for which in range(3))


@dataclass(frozen=True, slots=True)
class Dimension:
    """A dimension over which ranks are spread.

    Attributes:
        size: Number of ranks along it.
        at: Coordinate of a rank.
        grid: The grid that it belongs to.
        share: The weight of its shares, in addition to the weight of the whole.
    """

    size: Atom
    at: Atom
    grid: str = "line"
    share: int = 1

    def place(self, atoms: Iterable[Atom]) -> Iterator[Atom]:
        """Yield the atoms, with the grid of this dimension."""
        return (replace(atom, grid={"line": "", "cube": "cube"}.get(self.grid, "plane")) for atom in atoms)


def dimensions(known: frozenset[str] = frozenset()) -> tuple[Dimension, ...]:
    """Return the dimensions along which programs arrange ranks: all in a row, and grids of two and three dimensions.

    Args:
        known: Grids that the program is known to use: if there are any, other grids have a greater weight.
    """
    two, three = 4 if known and "plane" not in known else 2, 2 if "cube" in known else 4
    line = Dimension(variable("P"), variable("rank"))
    sides = 1 if "plane" in known else two
    small, large = Atom("p", lambda v: _P(v["P"]), sides), Atom("q", lambda v: _Q(v["P"]), sides)
    wide = (
        Dimension(small, Atom("rank // q", lambda v: v["rank"] // _Q(v["P"]), two, "0 wide"), "wide", two),
        Dimension(large, Atom("rank % q", lambda v: v["rank"] % _Q(v["P"]), two, "1 wide"), "wide", two),
    )
    tall = (
        Dimension(large, Atom("rank // p", lambda v: v["rank"] // _P(v["P"]), two, "0 tall"), "tall", two),
        Dimension(small, Atom("rank % p", lambda v: v["rank"] % _P(v["P"]), two, "1 tall"), "tall", two),
    )
    share = three if known else 2  # faces are products of two of them
    a, b, c = (
        Atom(name, lambda v, of=of: of(v["P"]), three, f"{axis} cube")  # type: ignore[misc]
        for axis, (name, of) in enumerate((("a", _A), ("b", _B), ("c", _C)))
    )
    cube = (
        Dimension(
            a, Atom("rank // (b·c)", lambda v: v["rank"] // (_B(v["P"]) * _C(v["P"])), three, "0 cube"), "cube", share
        ),
        Dimension(
            b, Atom("rank // c % b", lambda v: v["rank"] // _C(v["P"]) % _B(v["P"]), three, "1 cube"), "cube", share
        ),
        Dimension(c, Atom("rank % c", lambda v: v["rank"] % _C(v["P"]), three, "2 cube"), "cube", share),
    )
    return (line, *wide, *tall, *cube)


def shares(whole: Atom, dimension: Dimension) -> Iterator[Atom]:
    """Yield a rank's share of a whole along a dimension, one for each convention of rounding."""
    m, c, n = dimension.size.values, dimension.at.values, whole.values
    name = f"{whole.name}, {dimension.size.name}, {dimension.at.name}"
    weight = dimension.share + whole.weight
    customs: tuple[tuple[str, Callable[[Surroundings], Integers]], ...] = (
        ("share", lambda v: (c(v) + 1) * n(v) // m(v) - c(v) * n(v) // m(v)),
        ("first_larger", lambda v: n(v) // m(v) + (c(v) < n(v) % m(v))),
        ("last_smaller", lambda v: np.clip(n(v) - c(v) * -(-n(v) // m(v)), 0, -(-n(v) // m(v)))),
        ("last_larger", lambda v: n(v) // m(v) + np.where(c(v) == m(v) - 1, n(v) % m(v), 0)),
    )
    for custom, values in customs:
        yield Atom(f"{custom}({name})", values, weight, f"{custom} {dimension.grid}")


def _neighbours(dimension: Dimension) -> Atom:
    """Return the number of a rank's neighbours along a non-periodic dimension."""
    m, c = dimension.size.values, dimension.at.values
    return Atom(
        f"neighbours({dimension.at.name})",
        lambda v: (c(v) > 0).astype(np.int64) + (c(v) < m(v) - 1),
        dimension.size.weight + 1,
        f"neighbours {dimension.grid}",
    )


def padded(share: Atom) -> Atom:
    """Return a share with a halo row on either side."""
    return Atom(f"({share.name} + 2)", lambda v: share.values(v) + 2, share.weight, share.family, grid=share.grid)


def quotients(whole: Atom, dimension: Dimension) -> Iterator[Atom]:
    """Yield a whole divided by a dimension's size, rounded down and rounded up."""
    m, n, weight = dimension.size.values, whole.values, dimension.size.weight + whole.weight
    grid = dimension.grid
    yield Atom(f"{whole.name} // {dimension.size.name}", lambda v: n(v) // m(v), weight, f"floor {grid}")
    yield Atom(f"ceil({whole.name} / {dimension.size.name})", lambda v: -(-n(v) // m(v)), weight, f"ceil {grid}")


def scaled(times: int, whole: Atom, power: int, size: Atom) -> Atom:
    """Return a multiple of a whole, or of its square, divided by a number of ranks and rounded down."""
    x, m = whole.values, size.values
    name = "·".join([str(times), *[whole.name] * power])
    weight = power * whole.weight + size.weight + 1
    return Atom(
        f"({name}) // {size.name}", lambda v: multiplied(*[x(v)] * power, times) // m(v), weight, grid=size.grid
    )


def squared(size: Atom) -> Atom:
    """Return the square of a number of ranks: the tiles of a square in which each rank has one tile for every rank."""
    m = size.values
    return Atom(f"({size.name}·{size.name})", lambda v: multiplied(m(v), m(v)), 2 * size.weight, grid=size.grid)


def parts(whole: Atom, block: int, more: int = 0) -> Iterator[Atom]:
    """Yield the number of full blocks and of all blocks in a whole, which ``more`` makes slightly larger or smaller."""
    x, weight = whole.values, whole.weight + _oddity(block) + (more != 0)
    name = f"({whole.name} {more:+d})" if more else whole.name
    yield Atom(f"{name} // {block}", lambda v: (x(v) + more) // block, weight, block=block)
    yield Atom(f"ceil({name} / {block})", lambda v: -(-(x(v) + more) // block), weight, block=block)


def residue(name: str, turns: int) -> Atom:
    """Return one of the surroundings modulo a number of turns."""
    return Atom(f"{name} % {turns}", lambda v: v[name] % turns, turns.bit_length(), f"{TURN}{turns}")


def _oddity(number: int) -> int:
    """Return how unusual a number is in a program; powers of two and ten are usual."""
    tens = (_odd(number // ten) * 2 for ten in (10, 100, 1000, 10000) if number % ten == 0)
    return min((_odd(number), *tens)).bit_length() - 1


def _odd(number: int) -> int:
    return number // (number & -number)


def _owned(first: Integers, n: Integers, block: int, m: Integers, c: Integers) -> Integers:
    """Return how many of the indices first … n - 1 owner c has in a block-cyclic distribution over m owners."""
    return _before(n, block, m, c) - _before(np.minimum(first, n), block, m, c)


def _before(end: Integers, block: int, m: Integers, c: Integers) -> Integers:
    blocks, rest = end // block, end % block
    whole: Integers = (blocks - c + m - 1) // m * block
    return np.maximum(whole, 0) + np.where(blocks % m == c, rest, 0)


@dataclass(frozen=True, slots=True)
class Passage:
    """A loop over all indices of a block-cyclic distribution, one by one or block by block.

    Attributes:
        loop: The variable that holds its iteration.
        block: Size of a block.
        single: Whether an iteration is one index, not a block.
    """

    loop: str
    block: int
    single: bool = False

    def first(self, later: int) -> Atom:
        """Return the first index of an iteration, or of a later one."""
        loop, step = self.loop, 1 if self.single else self.block
        at = f"{loop} + {later}" if later else loop
        blocks = f"{self.block}·({at})" if later else f"{self.block}·{at}"
        return Atom(f"{self.block}; {at}" if self.single else blocks, lambda v: step * (v[loop] + later))


def cyclic(passage: Passage, dimension: Dimension) -> Iterator[Atom]:
    """Yield how many indices a rank owns from an iteration's first index on, and from the next iteration's on."""
    yield _owned_from(passage, 0, dimension)
    yield _owned_from(passage, 1, dimension)


def _owned_from(passage: Passage, later: int, dimension: Dimension) -> Atom:
    m, c, first = dimension.size.values, dimension.at.values, passage.first(later)
    return Atom(
        f"owned({first.name} …, {dimension.size.name}, {dimension.at.name})",
        lambda v: _owned(first.values(v), v["n"], passage.block, m(v), c(v)),
        dimension.size.weight + 2,
    )


def dealt(block: int, step: str, later: int, over: Dimension) -> Atom:
    """Return the owner of an index, or of a later one, in a block-cyclic distribution over a dimension."""
    m, size = over.size.values, over.size
    return Atom(
        f"({step} + 1) // {block} % {size.name}" if later else f"{step} // {block} % {size.name}",
        lambda v: (v[step] + later) // block % m(v),
        1 + size.weight + later,
        f"{OWNER}{over.at.name}",
        block,
    )


def owned_by_both(passage: Passage, owner: str, one: Dimension, other: Dimension) -> Atom:
    """Return how many indices after an iteration's both an owner (in one dimension) and a rank (in another) have."""
    p, q, c = one.size.values, other.size.values, other.at.values
    block, behind = passage.block, passage.first(1)

    def values(v: Surroundings) -> Integers:
        first: Integers = np.minimum(behind.values(v), v["n"])
        keys = np.array([p(v), q(v), v[owner], c(v)])
        if not len(first):
            return first
        _, rows, which = np.unique(numbered(keys), return_index=True, return_inverse=True)
        period, met = np.array([_meeting(*key) for key in keys[:, rows].T.tolist()], np.int64)[which].T
        shared = _below(v["n"], block, period, met) - _below(first, block, period, met)
        return np.where(met < 0, 0, shared)

    return Atom(
        f"owned({behind.name} …, {one.size.name}, {owner}, {other.size.name}, {other.at.name})",
        values,
        max(p.weight for p in (one.size, other.size)) + 3,
    )


def _meeting(p: int, q: int, a: int, c: int) -> tuple[int, int]:
    """Return the period of the numbers that are a modulo p and c modulo q, and the first of them, or -1 if none is."""
    period = lcm(p, q)
    met = (i for i in range(period) if i % p == a % p and i % q == c % q)
    return period, next(met, -1) if a < p else -1


def _below(end: Integers, block: int, period: Integers, met: Integers) -> Integers:
    """Return how many indices below an end are in blocks whose numbers are the first one met or whole periods later."""
    blocks, rest = end // block, end % block
    whole: Integers = np.maximum(-(-(blocks - met) // period), 0) * block
    return whole + np.where(blocks % period == met, rest, 0)


def numbered(columns: Integers) -> Integers:
    """Return one number for each sample, given its figures, shape (figures, samples): equal where all figures are.

    The numbers are in the lexicographic order of the figures. They are sorted much faster than columns of figures.
    """
    low, high = columns.min(axis=1).tolist(), columns.max(axis=1).tolist()
    spans = [most - least + 1 for least, most in zip(low, high, strict=True)]
    if prod(spans) >= 1 << 63:
        return np.unique(columns, axis=1, return_inverse=True)[1].ravel()
    numbers = np.zeros(columns.shape[1], np.int64)
    for column, least, span in zip(columns, low, spans, strict=True):
        numbers = numbers * span + (column - least)
    return numbers


def owned(block: int, dimension: Dimension) -> Atom:
    """Return the number of indices that a rank owns in a block-cyclic distribution."""
    m, c = dimension.size.values, dimension.at.values
    return Atom(
        f"owned({block}, {dimension.size.name}, {dimension.at.name})",
        lambda v: _before(v["n"], block, m(v), c(v)),
        dimension.size.weight + 1,
    )


def small_numbers(
    names: tuple[str, ...],
    blocks: tuple[int, ...],
    known: frozenset[str] = frozenset(),
    singles: tuple[int, ...] = (),
) -> tuple[Atom, ...]:
    """Return the atoms for sums and products.

    Args:
        names: Surroundings that vary.
        blocks: Block sizes by which the program is known to distribute.
        known: Grids that it is known to use.
        singles: Block sizes of distributions whose indices it passes one by one.
    """
    loops = tuple(name for name in names if name[0] == "i")
    over = dimensions(known) if "P" in names else ()
    return (
        *map(variable, names),
        *_turns_of(names),
        *_spread(blocks, over),
        *(atom for dimension in _others(names) for atom in shares(variable("n"), dimension) if "n" in names),
        *(atom for loop in loops for atom in (*_levels(loop, over), *_passages(loop, blocks, singles, loops, over))),
    )


def _spread(blocks: tuple[int, ...], over: tuple[Dimension, ...]) -> Iterator[Atom]:
    """Yield the atoms of a size distributed over ranks."""
    n = variable("n")
    for dimension in over:
        yield from dimension.place((dimension.size, dimension.at))
    for dimension in over:
        yield from dimension.place([_neighbours(dimension)])
    for dimension in over:
        yield from dimension.place((*shares(n, dimension), *quotients(n, dimension)))
    for block in blocks:
        yield from (atom for dimension in over for atom in dimension.place([owned(block, dimension)]))


def unit_shares(
    names: tuple[str, ...], units: tuple[int, ...], known: frozenset[str] = frozenset()
) -> tuple[Atom, ...]:
    """Return shares of a size in whole units, such as strips of eight rows, counted in units.

    There are two variants of each: the remainder is left out, or counts as a unit.

    Args:
        names: Surroundings that vary.
        units: Sizes of units.
        known: Grids that the program is known to use.
    """
    over = (*dimensions(known), *(each for each in _others(names) if each.at.weight == 1))
    wholes = (
        whole
        for unit in units
        for whole in (
            Atom(f"n // {unit}", lambda v, unit=unit: v["n"] // unit, 2),  # type: ignore[misc]
            Atom(f"ceil(n / {unit})", lambda v, unit=unit: -(-v["n"] // unit), 2),  # type: ignore[misc]
        )
    )
    return tuple(
        replace(share, family=f"{share.family} {whole.name}")
        for whole in wholes
        for dimension in over
        for share in dimension.place(shares(whole, dimension))
    )


def _turns_of(names: tuple[str, ...]) -> Iterator[Atom]:
    """Yield the atoms with a period of two, three or four, and the quotients by these numbers."""
    for name in names:
        if name in ("rank", "r", "P", "s") or name[0] == "i":
            yield from (residue(name, k) for k in (2, 3, 4))
        if name in ("P", "s") or name[0] == "i":
            yield from (each for k in (2, 3, 4) for each in parts(variable(name, 2), k))


#: The ranks of a communicator.
COMMUNICATOR = Dimension(variable("s"), variable("r"))


def _others(names: tuple[str, ...]) -> Iterator[Dimension]:
    """Yield dimensions with positions of other ranks: the partner, each list entry, the rank whose turn it is."""
    for size in (each for each in ("P", "s") if each in names):
        if size == "s":
            yield COMMUNICATOR
        yield from (
            Dimension(variable(size), variable(name)) for name in names if name in ("peer", "e") or name[0] == "i"
        )
        for name in (each for each in names if each[0] == "i"):
            for sign, offset in product((1, -1), (-1, 0, 1)):
                yield Dimension(variable(size), _turned(name, sign, offset, variable(size)), share=2)


def _levels(loop: str, over: tuple[Dimension, ...]) -> Iterator[Atom]:
    """Yield the atoms of a size that is halved in each iteration."""
    level = Atom(f"n >> {loop}", lambda v: v["n"] >> np.minimum(v[loop], 62), 2)
    yield level
    yield Atom(f"n >> {loop} + 1", lambda v: v["n"] >> np.minimum(v[loop] + 1, 62), 3)
    yield Atom(f"2^{loop}", lambda v: np.int64(1) << np.minimum(v[loop], 62), 2)
    for dimension in over:
        yield from dimension.place(shares(level, dimension))


def _passages(
    loop: str,
    blocks: tuple[int, ...],
    singles: tuple[int, ...],
    loops: tuple[str, ...],
    over: tuple[Dimension, ...],
) -> Iterator[Atom]:
    """Yield the atoms of a loop over the blocks of a size, or over its indices."""
    for block in blocks:
        yield from _rest(block, loop)
        yield from _panels(Passage(loop, block), loops, over)
    for block in singles:
        yield Atom(f"{loop} % {block}", lambda v, block=block: v[loop] % block, 2)  # type: ignore[misc]
        yield from _panels(Passage(loop, block, single=True), loops, over)


def _panels(passage: Passage, loops: tuple[str, ...], over: tuple[Dimension, ...]) -> Iterator[Atom]:
    """Yield the numbers of indices that ranks own from an iteration on."""
    for dimension in over:
        yield from dimension.place(cyclic(passage, dimension))
    for owner in loops:
        if owner != passage.loop and over:
            grids = ((over[1], over[2]), (over[2], over[1]), (over[3], over[4]), (over[4], over[3]))
            yield from (each for grid in grids for each in grid[0].place([owned_by_both(passage, owner, *grid)]))


def _rest(block: int, loop: str) -> Iterator[Atom]:
    """Yield the number of indices after an iteration's block, and the size of that block."""
    yield Atom(f"n - {block}·({loop} + 1)", lambda v: np.maximum(v["n"] - block * (v[loop] + 1), 0))
    yield Atom(f"min({block}, n - {block}·{loop})", lambda v: np.minimum(block, v["n"] - block * v[loop]), 2)


def logarithms(names: tuple[str, ...]) -> tuple[Atom, ...]:
    """Return the logarithms of sizes and numbers of ranks."""
    return tuple(_logarithm(name) for name in ("P", "s", "n") if name in names)


def _logarithm(name: str) -> Atom:
    return Atom(f"log2 {name}", lambda v: log2_up(v[name]))


def log2_up(values: Integers) -> Integers:
    """Return the binary logarithms, rounded up."""
    logarithms: Integers = np.ceil(np.log2(np.maximum(values, 1).astype(float))).astype(np.int64)
    return logarithms


def partners(
    names: tuple[str, ...], known: frozenset[str] = frozenset(), singles: tuple[int, ...] = ()
) -> tuple[Atom, ...]:
    """Return the atoms for partners: neighbours in rings and grids, cyclic owners, butterflies and trees.

    Args:
        names: Surroundings that vary.
        known: Grids that the program is known to use.
        singles: Block sizes of distributions whose indices it passes one by one.
    """
    steps = tuple(name for name in names if name[0] in "ije")
    over = dimensions(known) if "P" in names else ()
    return (
        *map(_in_ring, (1, -1, 2, -2)),
        *(atom for step in steps for atom in _in_turn(step, variable("s"))),
        *(atom for each in over for step in steps for atom in each.place(_in_turn(step, each.size))),
        *(
            atom
            for each in (*over, COMMUNICATOR)
            for step, block, later in product(steps, singles, (0, 1))
            for atom in each.place([dealt(block, step, later, each)])
        ),
        *(atom for step in steps for atom in _in_tree(step)),
        Atom("r & (r - 1)", lambda v: v["r"] & (v["r"] - 1), 3),
        Atom("r without its highest bit", lambda v: v["r"] - _highest(v["r"]), 3),
        Atom("r ^ 1", lambda v: v["r"] ^ 1, 2),
        *(atom for axis in range(1, len(over)) for atom in over[axis].place(_shifts(axis, over, steps))),
    )


def _highest(r: Integers) -> Integers:
    """Return, for each number, the largest power of two that does not exceed it."""
    powers: Integers = np.int64(1) << log2_up(r + 1)
    return powers >> 1


def _in_ring(offset: int) -> Atom:
    return Atom(f"(r {offset:+d}) % s", lambda v: (v["r"] + offset) % v["s"], 1 + abs(offset))


def _in_turn(step: str, size: Atom) -> Iterator[Atom]:
    """Yield the rank whose turn it is in an iteration, counted from rank 0 or from this rank."""
    yield Atom(f"{step} % {size.name}", lambda v: v[step] % size.values(v), 1 + size.weight)
    yield from (_turned(step, sign, offset, size) for sign, offset in product((1, -1), (-1, 0, 1)))


def _turned(step: str, sign: int, offset: int, size: Atom) -> Atom:
    return Atom(
        f"(r {'+' if sign > 0 else '-'} {step} {offset:+d}) % {size.name}",
        lambda v: (v["r"] + sign * v[step] + offset) % size.values(v),
        2 + size.weight + abs(offset),
    )


def _in_tree(step: str) -> Iterator[Atom]:
    """Yield partners at distances of powers of two, for one or two steps each, and at half of the remaining ranks."""
    for halved in (False, True):
        power = f"2^({step} // 2)" if halved else f"2^{step}"
        away = _power(step, halved)
        yield from _away(power, away)
    yield from _away(f"(s >> {step} + 1)", lambda v: v["s"] >> np.minimum(v[step] + 1, 62))


def _power(step: str, halved: bool) -> Callable[[Surroundings], Integers]:
    def values(v: Surroundings) -> Integers:
        power: Integers = np.int64(1) << np.minimum(v[step] >> int(halved), 62)
        return power

    return values


def _away(name: str, away: Callable[[Surroundings], Integers]) -> Iterator[Atom]:
    yield Atom(f"r ^ {name}", lambda v: v["r"] ^ away(v), 3)
    yield Atom(f"r + {name}", lambda v: v["r"] + away(v), 3)
    yield Atom(f"r - {name}", lambda v: v["r"] - away(v), 3)
    yield Atom(f"(r + {name}) % s", lambda v: (v["r"] + away(v)) % v["s"], 4)
    yield Atom(f"(r - {name}) % s", lambda v: (v["r"] - away(v)) % v["s"], 4)


#: Distance, in ranks, between neighbours along each dimension of a grid.
_STRIDES: tuple[Callable[[Surroundings], Integers], ...] = (
    lambda v: _Q(v["P"]),
    lambda v: np.ones_like(v["P"]),
    lambda v: _P(v["P"]),
    lambda v: np.ones_like(v["P"]),
    lambda v: _B(v["P"]) * _C(v["P"]),
    lambda v: _C(v["P"]),
    lambda v: np.ones_like(v["P"]),
)


def _shifts(axis: int, over: Sequence[Dimension], steps: tuple[str, ...]) -> Iterator[Atom]:
    """Yield partners along a dimension of a grid: the next one, or one at a distance given by a place or iteration."""
    own = over[axis]
    for offset in (1, -1):
        yield _shifted(axis, own, f"{offset:+d}", 2, _always(offset))
    others = [other.at for other in over if other.grid == own.grid and other is not own]
    for far in (*others, *map(variable, steps)):
        yield _shifted(axis, own, f"+ {far.name}", 3, far.values)
        yield _shifted(axis, own, f"- {far.name}", 3, _negative(far.values))


def _always(number: int) -> Callable[[Surroundings], Integers]:
    return lambda v: np.full_like(v["P"], number)


def _negative(values: Callable[[Surroundings], Integers]) -> Callable[[Surroundings], Integers]:
    return lambda v: -values(v)


def _shifted(axis: int, own: Dimension, by: str, weight: int, offset: Callable[[Surroundings], Integers]) -> Atom:
    size, at, stride = own.size.values, own.at.values, _STRIDES[axis - 1]
    return Atom(
        f"neighbour({own.at.name}, {by})",
        lambda v: v["rank"] + ((at(v) + offset(v)) % size(v) - at(v)) * stride(v),
        weight + max(own.size.weight, 2),
    )


def tree_sizes(names: tuple[str, ...]) -> tuple[Atom, ...]:
    """Return the atoms of trees: the lowest bit of a rank, its number of children, and single bits."""
    loops = (name for name in names if name[0] == "i")
    return (
        Atom("ctz(r)", lambda v: _trailing(v["r"], v["s"]), 3),
        Atom("children(r, s)", _children, 4),
        *(atom for name in loops for atom in _bits(name)),
    )


def _bits(name: str) -> Iterator[Atom]:
    yield Atom(f"bit {name} of r", lambda v: v["r"] >> np.minimum(v[name], 62) & 1, 2)
    yield Atom(f"r >> {name}", lambda v: v["r"] >> np.minimum(v[name], 62), 2)
    yield Atom(f"r + 2^{name}", lambda v: v["r"] + (np.int64(1) << np.minimum(v[name], 62)), 3)


def _trailing(r: Integers, s: Integers) -> Integers:
    """Return the number of trailing zero bits of a rank: for rank 0 the depth of the tree."""
    lowest = r & -r
    return np.where(r == 0, log2_up(s), np.round(np.log2(np.maximum(lowest, 1).astype(float))).astype(np.int64))


def _children(v: Surroundings) -> Integers:
    """Return the number of children in a binomial tree: the ranks r + 2^k < s, for each k below the lowest bit of r."""
    low, room = _trailing(v["r"], v["s"]), np.maximum(v["s"] - v["r"], 1)
    return np.minimum(low, log2_up(room))
