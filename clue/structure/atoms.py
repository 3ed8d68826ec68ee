"""What rules are made of: numbers that follow from size, ranks, rank and iteration as programs compute them.

Each is exact: shares of a size (three customs of rounding), process grids, cyclic owners, neighbours in rings and
butterflies. Names are what a reader of a rule sees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import isqrt, lcm

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
#: Surroundings of a place, by name: ``n`` size, ``P`` ranks, ``rank`` among all, ``s`` and ``r`` size of the communicator
#: and rank there, ``i0`` … iterations of the loops around, ``m0`` … how many they make, ``j`` place within a call.
Surroundings = Mapping[str, Integers]


@dataclass(frozen=True, slots=True)
class Atom:
    """A number as a function of the surroundings.

    Attributes:
        name: As a reader sees it.
        values: The function; what it gives is an integer each.
        weight: How far-fetched it is: of two rules that fit, the lighter one is taken.
        family: What programs multiply with each other: shares along the dimensions of one grid; "" if it is none such.
        block: The block that it counts, or 0.
    """

    name: str
    values: Callable[[Surroundings], Integers]
    weight: int = 1
    family: str = ""
    block: int = 0


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
    """Return a grid of three dimensions, largest first, as MPI_Dims_create makes it: as near to each other as can be."""
    shapes = (
        (a, b, ranks // a // b)
        for a in range(1, ranks + 1)
        if ranks % a == 0
        for b in range(1, ranks // a + 1)
        if ranks // a % b == 0
    )
    return min((shape for shape in shapes if shape[0] >= shape[1] >= shape[2]), key=lambda shape: (shape[0] - shape[2], shape))


def _each(function: Callable[[int], tuple[int, ...]], which: int) -> Callable[[Integers], Integers]:
    known: dict[int, int] = {}

    def values(ranks: Integers) -> Integers:
        if not len(ranks):
            return ranks
        table = np.zeros(int(ranks.max()) + 1, np.int64)
        for each in set(ranks.tolist()):
            if each not in known:
                known[each] = function(each)[which]
            table[each] = known[each]
        return table[ranks]

    return values


_P, _Q = _each(squarest, 0), _each(squarest, 1)
_A, _B, _C = (_each(cubest, which) for which in range(3))


@dataclass(frozen=True, slots=True)
class Dimension:
    """A dimension over which ranks are spread.

    Attributes:
        size: How many there are.
        at: Where a rank is.
    """

    size: Atom
    at: Atom
    grid: str = "line"


def dimensions() -> tuple[Dimension, ...]:
    """Return the dimensions in which programs lay out ranks: a row of all, grids of two and three dimensions."""
    line = Dimension(variable("P"), variable("rank"))
    small, large = Atom("p", lambda v: _P(v["P"]), 2), Atom("q", lambda v: _Q(v["P"]), 2)
    wide = (
        Dimension(small, Atom("rank // q", lambda v: v["rank"] // _Q(v["P"]), 2, "0 wide"), "wide"),
        Dimension(large, Atom("rank % q", lambda v: v["rank"] % _Q(v["P"]), 2, "1 wide"), "wide"),
    )
    tall = (
        Dimension(large, Atom("rank // p", lambda v: v["rank"] // _P(v["P"]), 2), "tall"),
        Dimension(small, Atom("rank % p", lambda v: v["rank"] % _P(v["P"]), 2), "tall"),
    )
    a, b, c = (
        Atom(name, lambda v, of=of: of(v["P"]), 3, f"{axis} cube")
        for axis, (name, of) in enumerate((("a", _A), ("b", _B), ("c", _C)))
    )
    cube = (
        Dimension(a, Atom("rank // (b·c)", lambda v: v["rank"] // (_B(v["P"]) * _C(v["P"])), 3, "0 cube"), "cube"),
        Dimension(b, Atom("rank // c % b", lambda v: v["rank"] // _C(v["P"]) % _B(v["P"]), 3, "1 cube"), "cube"),
        Dimension(c, Atom("rank % c", lambda v: v["rank"] % _C(v["P"]), 3, "2 cube"), "cube"),
    )
    return (line, *wide, *tall, *cube)


def shares(whole: Atom, dimension: Dimension) -> Iterator[Atom]:
    """Return the share of a whole that a rank has along a dimension, by each custom of rounding."""
    m, c, n = dimension.size.values, dimension.at.values, whole.values
    name = f"{whole.name}, {dimension.size.name}, {dimension.at.name}"
    weight = max(dimension.size.weight, dimension.at.weight) + whole.weight
    customs: tuple[tuple[str, Callable[[Surroundings], Integers]], ...] = (
        ("share", lambda v: (c(v) + 1) * n(v) // m(v) - c(v) * n(v) // m(v)),
        ("first_larger", lambda v: n(v) // m(v) + (c(v) < n(v) % m(v))),
        ("last_smaller", lambda v: np.clip(n(v) - c(v) * -(-n(v) // m(v)), 0, -(-n(v) // m(v)))),
        ("last_larger", lambda v: n(v) // m(v) + np.where(c(v) == m(v) - 1, n(v) % m(v), 0)),
    )
    for custom, values in customs:
        yield Atom(f"{custom}({name})", values, weight, f"{custom} {dimension.grid}")


def quotients(whole: Atom, dimension: Dimension) -> Iterator[Atom]:
    """Return a whole divided by a dimension's size, rounded down and up."""
    m, n, weight = dimension.size.values, whole.values, dimension.size.weight + whole.weight
    grid = dimension.grid
    yield Atom(f"{whole.name} // {dimension.size.name}", lambda v: n(v) // m(v), weight, f"floor {grid}")
    yield Atom(f"ceil({whole.name} / {dimension.size.name})", lambda v: -(-n(v) // m(v)), weight, f"ceil {grid}")


def parts(whole: Atom, block: int, more: int = 0) -> Iterator[Atom]:
    """Return how many blocks a whole has, or a little more or less than it: whole ones, and all."""
    x, weight = whole.values, whole.weight + _oddity(block) + (more != 0)
    name = f"({whole.name} {more:+d})" if more else whole.name
    yield Atom(f"{name} // {block}", lambda v: (x(v) + more) // block, weight, block=block)
    yield Atom(f"ceil({name} / {block})", lambda v: -(-(x(v) + more) // block), weight, block=block)


def residue(name: str, turns: int) -> Atom:
    """Return what is left of one of the surroundings beside whole turns."""
    return Atom(f"{name} % {turns}", lambda v: v[name] % turns, turns.bit_length())


def _oddity(number: int) -> int:
    """Return how unusual a number is in a program: powers of two and of ten are not."""
    return min(_odd(number), *(_odd(number // ten) * 2 for ten in (10, 100, 1000, 10000) if number % ten == 0), number).bit_length() - 1


def _odd(number: int) -> int:
    return number // (number & -number)


def _owned(first: Integers, n: Integers, block: int, m: Integers, c: Integers) -> Integers:
    """Return how many of the indices first … n - 1, dealt out in blocks to m owners in turn, owner c has."""
    return _before(n, block, m, c) - _before(np.minimum(first, n), block, m, c)


def _before(end: Integers, block: int, m: Integers, c: Integers) -> Integers:
    blocks, rest = end // block, end % block
    whole: Integers = (blocks - c + m - 1) // m * block
    return np.maximum(whole, 0) + np.where(blocks % m == c, rest, 0)


def cyclic(block: int, loop: str, dimension: Dimension) -> Iterator[Atom]:
    """Return what a rank owns of the indices from an iteration's block on, and from the next."""
    m, c, weight = dimension.size.values, dimension.at.values, dimension.size.weight + 2
    for later, name in ((0, loop), (1, f"{loop} + 1")):
        yield Atom(
            f"owned({block}·({name}) …, {dimension.size.name}, {dimension.at.name})",
            lambda v, later=later: _owned(block * (v[loop] + later), v["n"], block, m(v), c(v)),
            weight,
        )


def owned_by_both(block: int, loop: str, owner: str, one: Dimension, other: Dimension) -> Atom:
    """Return what lies behind an iteration's block and belongs to an owner along one dimension and to a rank along another."""
    p, q, c = one.size.values, other.size.values, other.at.values

    def values(v: Surroundings) -> Integers:
        shared = np.zeros(len(v["n"]), np.int64)
        first = np.minimum(block * (v[loop] + 1), v["n"])
        keys = np.array([p(v), q(v), v[owner], c(v)])
        for key in np.unique(keys, axis=1).T:
            where = (keys == key[:, None]).all(axis=0)
            shared[where] = _met(v["n"][where], block, *key.tolist()) - _met(first[where], block, *key.tolist())
        return shared

    return Atom(
        f"owned({block}·({loop} + 1) …, {one.size.name}, {owner}, {other.size.name}, {other.at.name})",
        values,
        one.size.weight + other.size.weight + 1,
    )


def _met(end: Integers, block: int, p: int, q: int, a: int, c: int) -> Integers:
    """Return how many indices below an end lie in blocks that are a modulo p and c modulo q."""
    period = lcm(p, q)
    met = next((i for i in range(period) if i % p == a % p and i % q == c % q), None)
    if met is None or a >= p:
        return np.zeros_like(end)
    blocks, rest = end // block, end % block
    whole: Integers = np.maximum(-(-(blocks - met) // period), 0) * block
    return whole + np.where(blocks % period == met, rest, 0)


def owned(block: int, dimension: Dimension) -> Atom:
    """Return what a rank owns of all indices that are dealt out in blocks."""
    m, c = dimension.size.values, dimension.at.values
    return Atom(
        f"owned({block}, {dimension.size.name}, {dimension.at.name})",
        lambda v: _before(v["n"], block, m(v), c(v)),
        dimension.size.weight + 1,
    )


def small_numbers(names: tuple[str, ...], blocks: tuple[int, ...]) -> tuple[Atom, ...]:
    """Return the atoms of which sums and products are made.

    Args:
        names: Surroundings that vary.
        blocks: Sizes of blocks that the program is known to deal out.
    """
    n = variable("n")
    loops = tuple(name for name in names if name[0] == "i")
    atoms = [variable(name) for name in names]
    over = dimensions() if "P" in names else ()
    for name in names:
        if name in ("rank", "r", "P", "s", *loops):
            atoms += [residue(name, k) for k in (2, 3, 4)]
        if name in ("P", "s", *loops):
            atoms += [each for k in (2, 3, 4) for each in parts(variable(name, 2), k)]
    if "P" in names:
        for dimension in over:
            atoms += [dimension.size, dimension.at]
        for dimension in (*over, *_others(names)):
            atoms += [*shares(n, dimension), *quotients(n, dimension)]
        for block in blocks:
            for dimension in over:
                atoms.append(owned(block, dimension))
        for loop in loops:
            ahead = Atom(f"i_n({loop})", lambda v, loop=loop: v["n"] >> np.minimum(v[loop], 62), 2)
            atoms.append(ahead)
            for dimension in over:
                atoms += shares(ahead, dimension)
    for loop in loops:
        atoms.append(Atom(f"n >> {loop}", lambda v, loop=loop: v["n"] >> np.minimum(v[loop], 62), 2))
        atoms.append(Atom(f"2^{loop}", lambda v, loop=loop: np.int64(1) << np.minimum(v[loop], 62), 2))
        for block in blocks:
            atoms.append(
                Atom(f"n - {block}·({loop} + 1)", lambda v, loop=loop, block=block: np.maximum(v["n"] - block * (v[loop] + 1), 0), 1)
            )
            atoms.append(
                Atom(f"min({block}, n - {block}·{loop})", lambda v, loop=loop, block=block: np.minimum(block, v["n"] - block * v[loop]), 2)
            )
            for dimension in over:
                atoms += cyclic(block, loop, dimension)
            pairs = [(over[1], over[2]), (over[2], over[1]), (over[3], over[4]), (over[4], over[3])] if over else []
            for owner in loops:
                if owner != loop:
                    atoms += [owned_by_both(block, loop, owner, *pair) for pair in pairs]
    for name in ("P", "s", "n"):
        if name in names:
            atoms.append(Atom(f"log2 {name}", lambda v, name=name: _log2(v[name]), 2))
    return tuple(atoms)


def _others(names: tuple[str, ...]) -> Iterator[Dimension]:
    """Return where others are along a row of ranks: the partner, each entry of a list, who is on in an iteration."""
    for size in ("P", "s"):
        if size not in names:
            continue
        if size == "s":
            yield Dimension(variable("s"), variable("r"))
        for name in names:
            if name in ("peer", "e") or name[0] == "i":
                yield Dimension(variable(size), variable(name))
            if name[0] == "i":
                for sign, offset in product((1, -1), (-1, 0, 1)):
                    yield Dimension(variable(size), _turn(name, sign, offset, variable(size)))


def _turn(step: str, sign: int, offset: int, size: Atom) -> Atom:
    """Return who is some steps further round."""
    return Atom(
        f"(r {'+' if sign > 0 else '-'} {step}{f' {offset:+d}' if offset else ''}) % {size.name}",
        lambda v: (v["r"] + sign * v[step] + offset) % size.values(v),
        2 + size.weight + abs(offset),
    )


def _log2(values: Integers) -> Integers:
    """Return the logarithm rounded up."""
    return np.ceil(np.log2(np.maximum(values, 1).astype(float))).astype(np.int64)


def partners(names: tuple[str, ...]) -> tuple[Atom, ...]:
    """Return what ranks are found by: neighbours in rings and grids, owners in turn, butterflies and trees."""
    steps = tuple(name for name in names if name[0] in "ije" and name not in ("j",)) + (("j",) if "j" in names else ())
    turns: list[Atom] = []
    over = dimensions() if "P" in names else ()
    for size in (variable("s"), *(d.size for d in over)):
        for step in steps:
            turns.append(Atom(f"{step} % {size.name}", lambda v, step=step, size=size: v[step] % size.values(v), 1 + size.weight))
        for step, sign, offset in product(steps, (1, -1), (-1, 0, 1)):
            turns.append(_turn(step, sign, offset, size))
    ring = [
        Atom(f"(r {offset:+d}) % s", lambda v, offset=offset: (v["r"] + offset) % v["s"], 1 + abs(offset))
        for offset in (1, -1, 2, -2)
    ]
    tree = []
    for step in steps:
        for half in (0, 1):
            power = f"2^({step} // 2)" if half else f"2^{step}"
            bit = lambda v, step=step, half=half: np.int64(1) << np.minimum(v[step] >> half, 62)  # noqa: E731
            tree.append(Atom(f"r ^ {power}", lambda v, bit=bit: v["r"] ^ bit(v), 3))
            tree.append(Atom(f"r + {power}", lambda v, bit=bit: v["r"] + bit(v), 3))
            tree.append(Atom(f"r - {power}", lambda v, bit=bit: v["r"] - bit(v), 3))
            tree.append(Atom(f"(r + {power}) % s", lambda v, bit=bit: (v["r"] + bit(v)) % v["s"], 4))
            tree.append(Atom(f"(r - {power}) % s", lambda v, bit=bit: (v["r"] - bit(v)) % v["s"], 4))
    tree.append(Atom("r & (r - 1)", lambda v: v["r"] & (v["r"] - 1), 3))
    tree.append(Atom("r ^ 1", lambda v: v["r"] ^ 1, 2))
    grid = []
    for axis, dimension in enumerate(over[1:], 1):
        stride = _stride(axis)
        for offset in (1, -1):
            grid.append(
                Atom(
                    f"neighbour({dimension.at.name}, {offset:+d})",
                    lambda v, d=dimension, stride=stride, offset=offset: v["rank"]
                    + ((d.at.values(v) + offset) % d.size.values(v) - d.at.values(v)) * stride(v),
                    2 + dimension.size.weight,
                )
            )
    return (*ring, *turns, *tree, *grid)


def _stride(axis: int) -> Callable[[Surroundings], Integers]:
    one = lambda v: np.ones_like(v["P"])  # noqa: E731
    strides = {1: lambda v: _Q(v["P"]), 2: one, 3: lambda v: _P(v["P"]), 4: one, 5: lambda v: _B(v["P"]) * _C(v["P"]), 6: lambda v: _C(v["P"]), 7: one}
    return strides[axis]


def tree_sizes(names: tuple[str, ...]) -> tuple[Atom, ...]:
    """Return what binomial trees need: the lowest bit of a rank, and how many children are there."""
    low = Atom("ctz(r)", lambda v: _trailing(v["r"], v["s"]), 3)
    children = Atom("children(r, s)", _children, 4)
    bits = tuple(
        Atom(f"bit {name} of r", lambda v, name=name: v["r"] >> np.minimum(v[name], 62) & 1, 2)
        for name in names
        if name[0] == "i"
    )
    above = tuple(
        Atom(f"r + 2^{name}", lambda v, name=name: v["r"] + (np.int64(1) << np.minimum(v[name], 62)), 3)
        for name in names
        if name[0] == "i"
    )
    return (low, children, *bits, *above)


def _trailing(r: Integers, s: Integers) -> Integers:
    """Return by how many bits a rank can be shifted: for rank 0 the depth of the tree."""
    lowest = r & -r
    return np.where(r == 0, _log2(s), np.round(np.log2(np.maximum(lowest, 1).astype(float))).astype(np.int64))


def _children(v: Surroundings) -> Integers:
    """Return the number of children in a binomial tree of s ranks: those r + 2^k below s with k below the lowest bit."""
    low, room = _trailing(v["r"], v["s"]), np.maximum(v["s"] - v["r"], 1)
    return np.minimum(low, _log2(room))
