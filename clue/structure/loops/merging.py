"""Compresses a trace into loops of each rank, merged over ranks of the same structure; and decompresses it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import pairwise
from operator import is_

import numpy as np
import numpy.typing as npt

from clue.native import NoLibraryError
from clue.structure.loops import compiled, folding
from clue.structure.loops.bits import condensed, expanded
from clue.structure.loops.columns import (
    ABSENT,
    NUMBERS,
    TIMES,
    Members,
    Numbering,
    Numbers,
    Shapes,
    number_reference,
    numbers_of,
    ops_of,
    shapes_of,
)
from clue.structure.loops.expressions import Affine, Expression, Levels, Table, expression_of
from clue.structure.loops.library import LOOPS
from clue.structure.loops.places import LOOP, Flat, Integers, Place, positions, split
from clue.trace import Op, Trace
from clue.trace.columns import Ops, within

#: Folds symbols to a program.
Fold = Callable[[npt.NDArray[np.int32]], Place]
#: An expression, and the ranks that have it.
Variants = tuple[tuple[Expression, tuple[int, ...]], ...]
#: Names of expressions in addition to those of columns: entries of the extra column, and repetition counts.
ENTRIES, REPEATED = "entries", "repeated"


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A symbol or a loop in the program of some ranks.

    Attributes:
        symbol: The symbol, or ``LOOP``.
        repeated: Number of repetitions each time that it is reached.
        numbers: Numbers of a symbol, by name, including only the simpler one of ``peer`` and ``relative``.
        body: Body of the loop, in order.
    """

    symbol: int
    repeated: Variants
    numbers: Mapping[str, Variants]
    body: tuple[Node, ...] = ()

    def walk(self) -> Iterator[Node]:
        """Yield this node and all nodes in it, in preorder."""
        yield self
        for node in self.body:
            yield from node.walk()

    @property
    def tokens(self) -> int:
        """Its size: one token, one for each further variant of a number, and the entries of tables."""
        every = (self.repeated, *self.numbers.values())
        return 1 + sum(len(each) - 1 + sum(expression.tokens for expression, _ in each) for each in every)


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A part of the program, and the ranks that run it."""

    ranks: tuple[int, ...]
    node: Node


@dataclass(frozen=True, slots=True, eq=False)
class Loops:
    """A trace as loops; its other data are unchanged.

    Attributes:
        trace: Its head, readings and typical bursts, with the times of its ops.
        shapes: The meaning of each symbol.
        parts: The program, in an order common to all ranks.
        loose: By rank, entries of the extra column that belong to no op, and their positions.
    """

    trace: Trace
    shapes: Shapes
    parts: tuple[Part, ...]
    loose: tuple[tuple[Integers, Integers], ...]

    @property
    def tokens(self) -> int:
        """The size of all programs, in tokens."""
        return sum(node.tokens for part in self.parts for node in part.node.walk())

    def rows(self, rank: int) -> Integers:
        """Return the row of each op of a rank; several ops of a call along bits (``bits``) share one row."""
        return condensed(self.trace.rank(rank), Members.of(self.trace, rank))[1]

    def leaves(self, rank: int) -> Iterator[tuple[Node, Levels, Integers]]:
        """Yield the symbols that a rank runs, each with its levels and the numbers of its rows."""
        placed = [_placed(part.node, rank, ()) for part in self.parts if rank in part.ranks]
        program = Place(LOOP, np.ones(1, np.int64), tuple(place for place, _ in placed))
        nodes = (each for _, nodes in placed for each in nodes)
        for (node, levels), (_, at) in zip(nodes, positions(program), strict=True):
            yield node, levels, at


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """A part of a rank's program: places as arrays, and the expressions of each."""

    flat: Flat
    expressions: tuple[Mapping[str, Expression], ...]

    @property
    def structure(self) -> bytes:
        """A key that is equal for equal structures."""
        return np.stack([self.flat.symbols, self.flat.children]).tobytes()


def compress(trace: Trace, *, reference: bool = False) -> Loops:
    """Compress a trace.

    Args:
        trace: Any trace.
        reference: Whether to use Python only, at about 20 us per op, as is done anyway if there is no compiler.
    """
    members = [Members.of(trace, rank) for rank in range(trace.ranks)]
    every = [trace.rank(rank) for rank in range(trace.ranks)]
    ops = [condensed(own, mine)[0] for own, mine in zip(every, members, strict=True)]
    together = trace.ops if all(map(is_, ops, every)) else _together(ops)
    shapes, programs = _folded(together, np.cumsum([0, *map(len, ops)]).tolist(), reference)
    numbers = list(map(numbers_of, ops, members))
    found = [_parts(split(program), own) for program, own in zip(programs, numbers, strict=True)]
    parts = tuple(Part(tuple(sorted(each)), _merged(each, shapes)) for each in _aligned(found))
    return Loops(trace, shapes, parts, tuple((each.loose, each.places) for each in numbers))


def folded(trace: Trace) -> list[Place]:
    """Return each rank's program as loops over its ops in recorded order."""
    return _folded(trace.ops, trace.head.offsets, False)[1]


def fold(symbols: npt.NDArray[np.int32]) -> Place:
    """Return a sequence of symbols, numbers from 0 on, as a program of loops."""
    return _fastest()[0](symbols)


def _folded(ops: Ops, offsets: Sequence[int], reference: bool) -> tuple[Shapes, list[Place]]:
    fold, number = (folding.fold, number_reference) if reference else _fastest()
    shapes, symbols = shapes_of(ops, number)
    return shapes, [fold(symbols[before:after]) for before, after in pairwise(offsets)]


def _together(ops: Sequence[Ops]) -> Ops:
    return Ops(**{name: np.concatenate([getattr(each, name) for each in ops]) for name in Ops.__slots__})


def decompress(loops: Loops) -> Ops:
    """Return the ops of the trace that was compressed, equal byte by byte."""
    return _together([_ops(loops, rank) for rank in range(loops.trace.ranks)])


def _fastest() -> tuple[Fold, Numbering]:
    try:
        LOOPS.load()
    except NoLibraryError:
        return folding.fold, number_reference
    return compiled.fold, compiled.number


# --- one rank ---


def _parts(program: Place, numbers: Numbers) -> list[_Found]:
    """Return the parts of a rank's program, with expressions for its numbers."""
    leaves = positions(program)
    rows = np.concatenate([np.zeros(0, np.int64), *(at for _, at in leaves)])
    firsts = np.cumsum([0, *(len(at) for _, at in leaves)])[:-1]
    steady = {name: _steady(column[rows], firsts) for name, column in numbers.columns.items()}
    begins = np.cumsum(numbers.columns["count"]) - numbers.columns["count"]
    leaf = iter(enumerate(leaves))

    def expressions(place: Place, around: Levels) -> Iterator[Mapping[str, Expression]]:
        repeated, levels = expression_of(place.counts, around), (*around, place.counts)
        if place.is_loop:
            yield {REPEATED: repeated}
            for each in place.body:
                yield from expressions(each, levels)
            return
        number, (_, at) = next(leaf)
        mine = {
            name: steady[name][number] or expression_of(column[at], levels) for name, column in numbers.columns.items()
        }
        if mine["count"] != Affine(0):
            counts = numbers.columns["count"][at]
            entries = numbers.entries[np.repeat(begins[at], counts) + within(counts)]
            mine[ENTRIES] = expression_of(entries, (*levels, counts))
        yield {REPEATED: repeated, **mine}

    return [_Found(Flat.of(each), tuple(expressions(each, ()))) for each in program.body]


def _steady(column: Integers, firsts: Integers) -> list[Affine | None]:
    """Return the value of each of consecutive groups, or ``None`` if its values differ."""
    if not len(firsts):
        return []
    least, most = np.minimum.reduceat(column, firsts), np.maximum.reduceat(column, firsts)
    return [Affine(low) if low == high else None for low, high in zip(least.tolist(), most.tolist(), strict=True)]


# --- all ranks ---

#: Largest number of pairs of parts of different programs that are compared.
_MOST_COMPARED = 10**7

#: Ops whose distance to the peer, rather than the peer itself, tends to be the same on all ranks.
_RELATIVE = frozenset({Op.SEND, Op.RECV, Op.ISEND, Op.IRECV, Op.PROBE, Op.MPROBE, Op.POLL, Op.RMA})


def _aligned(programs: Sequence[Sequence[_Found]]) -> list[dict[int, _Found]]:
    """Return parts in an order common to all ranks; each maps the ranks that have it to their own part."""
    alike: dict[tuple[bytes, ...], list[int]] = {}
    for rank, program in enumerate(programs):
        alike.setdefault(tuple(part.structure for part in program), []).append(rank)
    merged: list[tuple[bytes, dict[int, _Found]]] = []
    for structures, ranks in sorted(alike.items(), key=lambda item: -len(item[1])):
        merged = list(
            _woven(merged, structures, [{rank: programs[rank][at] for rank in ranks} for at in range(len(structures))])
        )
    return [part for _, part in merged]


def _woven(
    merged: Sequence[tuple[bytes, dict[int, _Found]]], structures: Sequence[bytes], parts: Sequence[dict[int, _Found]]
) -> Iterator[tuple[bytes, dict[int, _Found]]]:
    """Yield merged parts, interleaved with those of further ranks."""
    known = [structure for structure, _ in merged]
    alone = len(known) * len(structures) > _MOST_COMPARED
    steps = (
        [("replace", 0, len(known), 0, len(parts))]
        if alone
        else SequenceMatcher(None, known, structures, False).get_opcodes()
    )
    for step, *bounds in steps:
        ours, others = slice(*bounds[:2]), slice(*bounds[2:])
        if step == "equal":
            yield from (
                (structure, {**part, **other})
                for (structure, part), other in zip(merged[ours], parts[others], strict=True)
            )
        else:
            yield from merged[ours]
            yield from zip(structures[others], parts[others], strict=True)


def _merged(parts: Mapping[int, _Found], shapes: Shapes) -> Node:
    ranks, flat = sorted(parts), next(iter(parts.values())).flat
    numbers = zip(*(parts[rank].expressions for rank in ranks), strict=True)
    places = zip(flat.symbols.tolist(), flat.children.tolist(), numbers, strict=True)
    sizes = zip(*(parts[rank].flat.repeated() for rank in ranks), strict=True)
    columns = (*NUMBERS, "relative")

    def node() -> Node:
        symbol, children, expressions = next(places)
        names = dict.fromkeys(name for each in expressions for name in each)
        variants = {name: _variants(ranks, [each.get(name, Affine(0)) for each in expressions]) for name in names}
        rows = dict(zip(ranks, next(sizes), strict=True))
        variants = {name: _shared(each, rows) if name in columns else each for name, each in variants.items()}
        if symbol != LOOP:
            peer, relative = (_tokens(variants[name]) for name in ("peer", "relative"))
            rather = shapes.columns["op"][symbol] in _RELATIVE
            if rather and any(each.per_rank for each, _ in variants["peer"] if isinstance(each, Affine)):
                peer += len(ranks)
            del variants["peer" if relative < peer + rather else "relative"]
        repeated = variants.pop(REPEATED)
        return Node(symbol, repeated, variants, tuple(node() for _ in range(children)))

    return node()


def _variants(ranks: Sequence[int], expressions: Sequence[Expression]) -> Variants:
    """Return the expressions with their ranks: a single expression if the base is affine in the rank."""
    found: dict[Expression, list[int]] = {}
    for rank, expression in zip(ranks, expressions, strict=True):
        found.setdefault(expression, []).append(rank)
    if len(found) > 2 and (together := _by_rank(ranks, expressions)):
        return ((together, tuple(ranks)),)
    return tuple((expression, tuple(those)) for expression, those in found.items())


def _shared(variants: Variants, rows: Mapping[int, int]) -> Variants:
    """Let ranks whose values are a prefix of a table share it; ``rows`` is the number of values of each rank."""
    if not any(isinstance(each, Table) for each, _ in variants) or len(variants) == 1:
        return variants
    kept: list[tuple[Expression, list[int], Integers | None]] = []
    for expression, ranks in sorted(variants, key=lambda variant: -max(rows[rank] for rank in variant[1])):
        most = max(rows[rank] for rank in ranks)
        flat = isinstance(expression, Table) or expression == Affine(expression.base)
        values = expression.values((np.array([most]),), 0) if flat else None
        for _, others, first in kept:
            if values is not None and first is not None and np.array_equal(first[:most], values):
                others.extend(ranks)
                break
        else:
            kept.append((expression, list(ranks), values))
    return tuple((expression, tuple(sorted(ranks))) for expression, ranks, _ in kept)


def _by_rank(ranks: Sequence[int], expressions: Sequence[Expression]) -> Affine | None:
    affine = [each for each in expressions if isinstance(each, Affine)]
    if len(affine) < len(expressions):
        return None
    first, second = affine[:2]
    step, rest = divmod(second.base - first.base, ranks[1] - ranks[0])
    merged = replace(first, base=first.base - step * ranks[0], per_rank=step)
    fits = not rest and all(
        each == replace(merged, base=merged.base + step * rank, per_rank=0)
        for rank, each in zip(ranks, affine, strict=True)
    )
    return merged if fits else None


def _tokens(variants: Variants) -> int:
    return sum(1 + expression.tokens for expression, _ in variants)


# --- and back ---


def _ops(loops: Loops, rank: int) -> Ops:
    leaves = list(loops.leaves(rank))
    count = sum(len(at) for _, _, at in leaves)
    symbols = np.zeros(count, np.int64)
    columns = {name: np.full(count, ABSENT) for name in (*NUMBERS, "relative")}
    entries: list[tuple[Integers, Integers]] = [(np.zeros(0, np.int64),) * 2]
    for node, levels, at in leaves:
        symbols[at] = node.symbol
        for name, variants in node.numbers.items():
            if name == ENTRIES:
                counts = columns["count"][at]
                entries.append((np.repeat(at, counts), chosen(variants, rank).values((*levels, counts), rank)))
            else:
                columns[name][at] = chosen(variants, rank).values(levels, rank)
    owners, values = (np.concatenate(each) for each in zip(*entries, strict=True))
    numbers = Numbers(columns, values[np.argsort(owners, kind="stable")], *loops.loose[rank])
    members, nothing = Members.of(loops.trace, rank), dict.fromkeys(TIMES, np.zeros(count, np.int64))
    found = expanded(ops_of(loops.shapes, symbols, nothing, numbers, members), members)
    rows = slice(*loops.trace.head.offsets[rank : rank + 2])
    return replace(found, **{name: getattr(loops.trace.ops, name)[rows] for name in TIMES})


def _placed(node: Node, rank: int, around: Levels) -> tuple[Place, list[tuple[Node, Levels]]]:
    """Return a rank's place of a node, and the nodes of symbols in it with their levels, in order."""
    counts = chosen(node.repeated, rank).values(around, rank)
    levels = (*around, counts)
    if node.symbol != LOOP:
        return Place(node.symbol, counts), [(node, levels)]
    inner = [_placed(each, rank, levels) for each in node.body]
    return Place(LOOP, counts, tuple(place for place, _ in inner)), [each for _, nodes in inner for each in nodes]


def chosen(variants: Variants, rank: int) -> Expression:
    """Return the expression that a rank has."""
    return variants[0][0] if len(variants) == 1 else next(each for each, ranks in variants if rank in ranks)
