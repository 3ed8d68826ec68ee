"""A short trace as statements: its loops, its calls with the numbers they need, and the bursts before them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np
import numpy.typing as npt

from clue.skeleton.lowering import SHARES, VECTORS, Lowered, lower
from clue.skeleton.statements import (
    WORLD,
    AlongBits,
    Branch,
    ByRank,
    Call,
    Comm,
    Compute,
    Expression,
    Listed,
    Loop,
    Named,
    Neighbour,
    Next,
    Nobody,
    Numbered,
    Own,
    Perhaps,
    Place,
    Room,
    Statement,
    Statements,
    Sum,
)
from clue.skeleton.work import kept_of
from clue.structure.alignment import period
from clue.structure.loops import BITS, ENTRIES, LOOP, NO_PEER, Affine, Loops, Node, Table, Variants, chosen, compress
from clue.trace import Trace
from clue.trace.ops import COLLECTIVES, ROOTED, Flag, Op

Integers = npt.NDArray[np.int64]
#: Iteration counts of each loop around a place, by rank: one for each time that the loop is entered.
_Around = Mapping[int, tuple[Integers, ...]]
#: Series of values of a number, by rank.
_Series = Mapping[int, Sequence[object]]

_ONCE = Affine(1)
#: Names of loop variables, by depth.
_VARIABLES = "ijkmnpqstuvwxyz"
#: Maximum number of groups of ranks with different values that become cases in the text; more become a table.
_CASES = 3
#: A distance below this means that there is no partner.
_NO_DISTANCE = -NO_PEER // 2
#: Overhead of a buffered message, and maximum size of a buffer, bytes.
_OVERHEAD, _LARGEST_BUFFER = 512, 1 << 30
#: Ops that receive into a buffer of their own.
_MESSAGES = (Op.SEND, Op.ISEND, Op.IRECV)
_BLOCKS = (Op.GATHER, Op.SCATTER, Op.ALLGATHER, Op.ALLTOALL, Op.REDUCE_SCATTER)
_PARTNERED = (Op.SEND, Op.ISEND, Op.RECV, Op.IRECV, Op.PROBE, Op.MPROBE)


def statements_of(trace: Trace) -> Statements:
    """Return the program that makes the calls of a trace and computes its bursts between them.

    Args:
        trace: Complete trace of all ranks, without the calls that :mod:`clue.skeleton.construction` refuses.
    """
    return _Tree(lower(trace)).statements()


class _Tree:
    """Statements under construction."""

    def __init__(self, lowered: Lowered) -> None:
        self._trace = trace = lowered.trace
        self._lowered = lowered
        self._loops: Loops = compress(trace)
        self._rows: dict[tuple[Node, int], Integers] = {}
        self._bursts: list[npt.NDArray[np.float64]] = []
        for rank in range(trace.ranks):
            own = lowered.bursts[slice(*trace.head.offsets[rank : rank + 2])]
            self._bursts.append(np.bincount(self._loops.rows(rank), own).astype(np.float64))
            self._rows |= {(node, rank): at for node, _, at in self._loops.leaves(rank)}
        self._places: list[Place] = []
        self._tables: list[Mapping[int, tuple[object, ...]]] = []
        self._own: list[Mapping[int, object]] = []
        self._named: dict[str, tuple[int, ...]] = {}
        self._numbered = False
        self._used: set[str] = set()

    def statements(self) -> Statements:
        """Return all of them."""
        body = tuple(self._parts())
        groups = {i: each.group for i, each in enumerate(self._trace.head.communicators)}
        used = {number for each in self._named.values() for number in each}
        return Statements(
            ranks=self._trace.ranks,
            body=body,
            places=tuple(self._places),
            tables=tuple(self._tables),
            own=tuple(self._own),
            groups={i: group for i, group in groups.items() if i and (i in used or self._numbered)},
            named=self._named,
            room=room_of(self._lowered),
        )

    def _parts(self) -> Iterator[Statement]:
        for ranks, parts in groupby(self._loops.parts, key=lambda part: part.ranks):
            inner = tuple(self._body([part.node for part in parts], dict.fromkeys(ranks, ()), ()))
            if len(ranks) == self._trace.ranks:
                yield from inner
            elif inner:
                yield Branch(ranks, inner)

    def _body(self, nodes: Sequence[Node], around: _Around, names: tuple[str, ...]) -> Iterator[Statement]:
        along: list[Call] = []
        for at, node in enumerate(nodes):
            if not _is_once(node) or node.symbol == LOOP:
                yield from _unrolled(self._loop(node, around, names))
            elif self._flags(node) & BITS and at + 1 < len(nodes) and self._goes_on(nodes[at + 1]):
                levels = _levels(node, around)
                yield from self._computing(node, levels)
                along.append(self._call(node, levels, names))
            else:
                yield from self._once(node, _levels(node, around), names, along)
                along = []

    def _goes_on(self, node: Node) -> bool:
        """Tell whether an op belongs to messages along bits that began before."""
        return self._flags(node) & (BITS | Flag.CONTINUED) == BITS | Flag.CONTINUED and _is_once(node)

    def _loop(self, node: Node, around: _Around, names: tuple[str, ...]) -> Loop:
        """Return a loop, or an op that is repeated."""
        levels, variable = _levels(node, around), _VARIABLES[len(names) % len(_VARIABLES)]
        times = self._number(node.repeated, around, names)
        outside, self._used = self._used, set()
        inside = (*names, variable)
        body = self._body(node.body, levels, inside) if node.symbol == LOOP else self._once(node, levels, inside)
        statements = tuple(body)
        used, self._used = self._used, outside | self._used - {variable}
        return Loop(times, variable if variable in used else "", statements, self._site_of_loop(node, len(names)))

    def _once(
        self, node: Node, levels: _Around, names: tuple[str, ...], along: Sequence[Call] = ()
    ) -> Iterator[Statement]:
        """Yield a call with the burst before it; ``along`` holds the preceding calls along the same bits."""
        yield from self._computing(node, levels)
        if self._flags(node) & BITS:
            yield AlongBits((*along, self._call(node, levels, names)))
        elif self._op(node) != Op.COMPUTE:
            yield self._call(node, levels, names)

    def _computing(self, node: Node, ranks: _Around) -> Iterator[Compute]:
        """Yield the bursts before a call, if there are any."""
        bursts = {rank: self._bursts[rank][self._rows_of(node, rank)] for rank in ranks}
        count, together = sum(map(len, bursts.values())), float(sum(each.sum() for each in bursts.values()))
        if together > 0:
            region = self._trace.head.regions[self._column("region", node)]
            self._places.append(Place(region, kept_of(bursts), together / count * 1e-9))
            yield Compute(len(self._places) - 1)

    # --- calls ---

    def _call(self, node: Node, levels: _Around, names: tuple[str, ...]) -> Call:
        op, comm = self._op(node), self._comm(node, levels, names)
        return Call(
            op=op,
            flags=Flag(self._flags(node) & ~BITS & ~int(Flag.CONTINUED | Flag.PICKLED)),
            name=self._trace.head.calls[self._column("call", node)],
            site=self._trace.head.sites[self._column("site", node)].name if len(self._trace.head.sites) > 1 else "",
            comm=comm if op in COLLECTIVES or op in _PARTNERED else WORLD,
            numbers=dict(self._numbers(node, op, comm, levels, names)),
        )

    def _numbers(
        self, node: Node, op: Op, comm: Comm, levels: _Around, names: tuple[str, ...]
    ) -> Iterator[tuple[str, Expression]]:
        """Yield the numeric arguments of a call."""

        def number(name: str) -> Expression:
            return self._number(node.numbers[name], levels, names)

        if op in _PARTNERED:
            yield "tag", number("tag")
            if not self._flags(node) & BITS:
                yield "peer", self._partner(node, comm, levels, names)
        elif op in ROOTED:
            yield "peer", number("peer")
        if op in COLLECTIVES or op in (Op.SEND, Op.ISEND, Op.SLEEP) or self._flags(node) & BITS:
            yield "nbytes", number("nbytes")
        if op in VECTORS:
            yield "element", number("tag")
        if op == Op.MRECV:
            yield (
                "age",
                self._series({rank: (-values).tolist() for rank, values in self._values(node, "request", levels)}),
            )
        elif _lists(node):
            yield from self._listed(node, op, comm, levels, number)

    def _listed(
        self, node: Node, op: Op, comm: Comm, levels: _Around, number: Callable[[str], Expression]
    ) -> Iterator[tuple[str, Expression]]:
        """Yield the list arguments of a call."""
        lists = {rank: self._entries(node, rank, levels[rank]) for rank in levels}

        def part(of: Callable[[tuple[int, ...]], object]) -> _Series:
            return {rank: [of(each) for each in own] for rank, own in lists.items()}

        if op == Op.WAIT:
            yield "ages", self._series(part(lambda each: each))
        elif op == Op.IRECV:
            yield "nbytes", number("nbytes")
            yield "dest", self._distant(part(lambda each: each[0]), node, comm, levels)
            yield "sendtag", self._series(part(lambda each: each[1]))
        elif op == Op.ALLTOALLV:
            yield "sizes", self._series(part(lambda each: each[: len(each) // 2]))
            yield "received", self._series(part(lambda each: each[len(each) // 2 :]))
        elif op == Op.NEIGHBOR:
            yield "dests", self._series(part(lambda each: each[1 : 1 + each[0]]))
            yield "sizes", self._series(part(lambda each: each[1 + each[0] : 1 + 2 * each[0]]))
            yield "sources", self._series(part(lambda each: each[2 + 2 * each[0] :]))
        elif op in SHARES:
            yield "sizes", self._series(part(lambda each: each))
            yield "total", self._series(part(sum))

    def _entries(self, node: Node, rank: int, levels: tuple[Integers, ...]) -> list[tuple[int, ...]]:
        """Return the lists of a call, one for each time that a rank makes it."""
        counts = chosen(node.numbers["count"], rank).values(levels, rank)
        entries = chosen(node.numbers[ENTRIES], rank).values((*levels, counts), rank)
        return [tuple(each.tolist()) for each in np.split(entries, np.cumsum(counts)[:-1])]

    def _values(self, node: Node, name: str, levels: _Around) -> Iterator[tuple[int, Integers]]:
        for rank, own in levels.items():
            yield rank, chosen(node.numbers[name], rank).values(own, rank)

    # --- partners and communicators ---

    def _comm(self, node: Node, levels: _Around, names: tuple[str, ...]) -> Comm:
        """Return the communicator of a call: one for all ranks, one for each rank, or one by its number."""
        found = {rank: set(values.tolist()) for rank, values in self._values(node, "comm", levels)}
        numbers = tuple(sorted(set().union(*found.values())))
        groups = [self._trace.head.communicators[number].group for number in numbers]
        if len(numbers) == 1 and groups[0] == tuple(range(self._trace.ranks)) and not numbers[0]:
            return WORLD
        members = {
            rank: {each for each, group in zip(numbers, groups, strict=True) if rank in group} for rank in levels
        }
        if members != found or any(len(each) != 1 for each in members.values()):
            self._numbered = self._numbered or self._op(node) in COLLECTIVES or self._op(node) in _PARTNERED
            return Numbered(self._number(node.numbers["comm"], levels, names))
        return Named(self._name(numbers, {rank: each.pop() for rank, each in found.items()}))

    def _name(self, numbers: tuple[int, ...], of: Mapping[int, int]) -> str:
        """Return the name of a set of communicators; each rank is in the one that it needs and in no other."""
        communicators = self._trace.head.communicators
        for name, known in self._named.items():
            if all([each for each in known if rank in communicators[each].group] == [of[rank]] for rank in of):
                return name
        name = _identifier(communicators[numbers[0]].name, numbers[0])
        name += f"_{len(self._named)}" if name in self._named else ""
        self._named[name] = numbers
        return name

    def _members(self, node: Node, rank: int, levels: tuple[Integers, ...]) -> tuple[Integers, Integers]:
        """Return a rank's own rank in the communicator of a call, and the size of that communicator, for each call."""
        groups = self._trace.head.communicators
        comm = chosen(node.numbers["comm"], rank).values(levels, rank)
        used = np.unique(comm)
        own = np.array([groups[each].group.index(rank) for each in used.tolist()], np.int64)
        size = np.array([len(groups[each].group) for each in used.tolist()], np.int64)
        at = np.searchsorted(used, comm)
        return own[at], size[at]

    def _partner(self, node: Node, comm: Comm, levels: _Around, names: tuple[str, ...]) -> Expression:
        """Return the partner of a message."""
        relative = node.numbers.get("relative")
        if relative is None:
            values = dict(self._values(node, "peer", levels))
            if all((each < 0).all() for each in values.values()):
                return Nobody()
            if any((each < 0).any() for each in values.values()):
                return self._absolute({rank: each.tolist() for rank, each in values.items()})
            return self._number(node.numbers["peer"], levels, names)
        simple = [(each, those) for each, those in relative if isinstance(each, Affine)]
        if isinstance(comm, Numbered) or len(simple) < len(relative) or len(relative) > _CASES:
            series = {rank: values.tolist() for rank, values in self._values(node, "relative", levels)}
            return self._distant(series, node, comm, levels)
        return self._by_rank([
            (those, self._neighbour(each, {rank: levels[rank] for rank in those}, node, names))
            for each, those in simple
        ])  # fmt: skip

    def _neighbour(self, distance: Affine, levels: _Around, node: Node, names: tuple[str, ...]) -> Expression:
        if distance.base < _NO_DISTANCE:
            return Nobody()
        around = False
        for rank, own in levels.items():
            me, size = self._members(node, rank, own)
            peers = me + distance.values(own, rank)
            around = around or bool(((peers < 0) | (peers >= size)).any())
        return Neighbour(self._sum(distance, names), around)

    def _distant(self, distances: _Series, node: Node, comm: Comm, levels: _Around) -> Expression:
        """Return a partner as an expression of its distances."""
        constant = {rank: set(each) for rank, each in distances.items()}
        if not isinstance(comm, Numbered) and all(len(each) == 1 for each in constant.values()):
            groups = _grouped({rank: each.pop() for rank, each in constant.items()})
            if len(groups) <= _CASES:
                return self._by_rank([
                    (those, self._neighbour(Affine(int(str(each))), {rank: levels[rank] for rank in those}, node, ()))
                    for each, those in groups
                ])  # fmt: skip
        absolute: dict[int, Sequence[object]] = {}
        for rank, each in distances.items():
            me, size = self._members(node, rank, levels[rank])
            away = np.array(each, np.int64)
            absolute[rank] = np.where(away < _NO_DISTANCE, away + NO_PEER, (me + away) % size).tolist()
        return self._absolute(absolute)

    def _absolute(self, partners: _Series) -> Expression:
        found = self._series(partners)
        nobody = any(each < 0 for own in partners.values() for each in own if isinstance(each, int))
        return Perhaps(found) if nobody else found

    # --- numbers ---

    def _number(self, variants: Variants, levels: _Around, names: tuple[str, ...]) -> Expression:
        """Return a number as an expression."""
        affine = [(each, those) for each, those in variants if isinstance(each, Affine)]
        if len(affine) == len(variants) <= _CASES:
            return self._by_rank([(those, self._sum(each, names)) for each, those in affine])
        return self._series({rank: _once(variants, rank, own) for rank, own in levels.items()})

    def _sum(self, expression: Affine, names: tuple[str, ...]) -> Sum:
        terms = [(name, step) for name, step in zip(names, expression.steps, strict=False) if step]
        self._used |= {name for name, _ in terms}
        rank = [("rank", expression.per_rank)] if expression.per_rank else []
        return Sum(expression.base, (*rank, *terms), expression.modulus, expression.least)

    def _series(self, series: _Series) -> Expression:
        """Return a series of values as an expression: a constant, one value for each rank, or a table."""
        rows = {rank: tuple(each[: period(each)]) for rank, each in series.items()}
        if all(len(each) == 1 for each in rows.values()):
            return self._constants({rank: each[0] for rank, each in rows.items()})
        self._tables.append(rows)
        return Next(len(self._tables) - 1)

    def _constants(self, values: Mapping[int, object]) -> Expression:
        groups = _grouped(values)
        if len(groups) <= _CASES:
            return self._by_rank([
                (ranks, Listed(each) if isinstance(each, tuple) else Sum(int(str(each)))) for each, ranks in groups
            ])  # fmt: skip
        if values not in self._own:
            self._own.append(values)
        return Own(self._own.index(values))

    def _by_rank(self, cases: Sequence[tuple[tuple[int, ...], Expression]]) -> Expression:
        """Return an expression for groups of ranks: equal expressions are joined, the largest group is last."""
        merged: dict[Expression, tuple[int, ...]] = {}
        for ranks, expression in cases:
            merged[expression] = tuple(sorted({*merged.get(expression, ()), *ranks}))
        ordered = sorted(((ranks, each) for each, ranks in merged.items()), key=lambda case: len(case[0]))
        return ordered[0][1] if len(ordered) == 1 else ByRank(tuple(ordered))

    # --- what nodes are ---

    def _column(self, name: str, node: Node) -> int:
        return int(self._loops.shapes.columns[name][node.symbol])

    def _op(self, node: Node) -> Op:
        return Op(self._column("op", node))

    def _flags(self, node: Node) -> int:
        return 0 if node.symbol == LOOP else self._column("flags", node)

    def _rows_of(self, node: Node, rank: int) -> Integers:
        return self._rows[node, rank]

    def _site_of_loop(self, node: Node, depth: int) -> str:
        """Return the loop statement at this depth around all calls of a loop, if there is one."""
        sites = self._trace.head.sites
        numbers = {self._column("site", each) for each in node.walk() if each.symbol != LOOP}
        paths = [
            [f"{frame.name.rpartition(':')[0]}:{line}" for frame in sites[number].frames for line in frame.loops]
            for number in sorted(numbers)
        ]
        common = [each[0] for each in zip(*paths, strict=False) if len(set(each)) == 1]
        return common[min(depth, len(common) - 1)] if common and len(common) > depth else ""


def _levels(node: Node, around: _Around) -> _Around:
    """Return the iteration counts around the contents of a node, by rank."""
    return {rank: (*own, chosen(node.repeated, rank).values(own, rank)) for rank, own in around.items()}


def _is_once(node: Node) -> bool:
    return all(each == _ONCE for each, _ in node.repeated)


def _unrolled(loop: Loop) -> tuple[Statement, ...]:
    """Return a loop that makes one call twice as two calls, if these differ."""
    calls = [each for each in loop.body if isinstance(each, Call)]
    if loop.times != Sum(2) or not loop.variable or len(loop.body) != 1 or not calls:
        return (loop,)
    return tuple(_in_iteration(calls[0], loop.variable, i) for i in range(2))


def _in_iteration(call: Call, variable: str, value: int) -> Call:
    numbers = {name: _at(each, variable, value) for name, each in call.numbers.items()}
    comm = Numbered(_at(call.comm.number, variable, value)) if isinstance(call.comm, Numbered) else call.comm
    return replace(call, comm=comm, numbers=numbers)


def _at(expression: Expression, variable: str, value: int) -> Expression:
    """Return the value of an expression in an iteration of a loop."""
    if isinstance(expression, Sum):
        steps = sum(step for name, step in expression.terms if name == variable)
        base = expression.base + steps * value
        terms = tuple(term for term in expression.terms if term[0] != variable)
        if expression.modulus and not terms:
            return Sum((base - expression.least) % expression.modulus + expression.least)
        return replace(expression, base=base, terms=terms)
    if isinstance(expression, ByRank):
        return ByRank(tuple((ranks, _at(each, variable, value)) for ranks, each in expression.cases))
    if isinstance(expression, Neighbour):
        distance = _at(expression.distance, variable, value)
        assert isinstance(distance, Sum)
        return replace(expression, distance=distance)
    return Perhaps(_at(expression.partner, variable, value)) if isinstance(expression, Perhaps) else expression


def _lists(node: Node) -> bool:
    return ENTRIES in node.numbers


def _once(variants: Variants, rank: int, levels: tuple[Integers, ...]) -> list[int]:
    """Return the values of a number; of a table that is repeated, two repetitions, which show where it begins again."""
    expression = chosen(variants, rank)
    values = expression.values(levels, rank)
    if isinstance(expression, Table):
        values = values[: 2 * sum(count for count, _, _ in expression.pieces)]
    found: list[int] = values.tolist()
    return found


def _grouped(values: Mapping[int, object]) -> list[tuple[object, tuple[int, ...]]]:
    found: dict[object, list[int]] = {}
    for rank, value in values.items():
        found.setdefault(value, []).append(rank)
    return [(value, tuple(ranks)) for value, ranks in found.items()]


def _identifier(name: str, number: int) -> str:
    word = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_").lower() or "comm"
    return f"{word if word[0].isalpha() else f'comm_{word}'}_{number}"


# --- room ---


def room_of(lowered: Lowered) -> Room:
    """Return the buffer memory that the calls of a lowered trace need."""
    trace, pending = lowered.trace, lowered.pending
    ops, ranks = trace.ops, trace.row_ranks
    nonblocking = ops.are(*COLLECTIVES) & (ops.flags & Flag.NONBLOCKING > 0)
    size = np.array([len(each.group) for each in trace.head.communicators], np.int64)[ops.comm]
    listed = ops.are(Op.ALLTOALLV, Op.NEIGHBOR, *SHARES) & (ops.count > 0)
    owner = np.repeat(np.arange(len(ops)), ops.count)
    sums = np.bincount(owner, ops.extras, minlength=len(ops)).astype(np.int64)
    need = np.where(listed, np.maximum(sums, ops.nbytes), ops.nbytes)
    need = need * np.where(ops.are(*_BLOCKS) & ~listed, size, 1) * np.where(ops.are(*VECTORS), ops.tag, 1)
    need = np.where(ops.are(*_MESSAGES, *COLLECTIVES), need, 0)
    largest = max(int(need.max(initial=0)), 1)
    message = int(need[ops.are(*_MESSAGES, Op.NEIGHBOR)].max(initial=0))
    received = (ops.are(Op.IRECV) & (ops.request >= 0)) | (ops.are(Op.MRECV) & (ops.flags & Flag.NONBLOCKING > 0))
    neighbours = int(ops.count[ops.are(Op.NEIGHBOR)].max(initial=0))
    own = [message] * bool(received.any() or neighbours) + [int(need[nonblocking].max(initial=0))] * bool(
        nonblocking.any()
    )
    buffered = np.bincount(ranks, np.where(ops.flags & Flag.BUFFERED > 0, ops.nbytes + _OVERHEAD, 0))
    return Room(
        largest=largest,
        nonblocking=max([*own, 0]),
        pending=max(pending if received.any() or nonblocking.any() else 0, neighbours),
        lists=lowered.lists,
        buffered=min(int(buffered.max(initial=0)), _LARGEST_BUFFER),
    )
