"""Tables of the observations of each place in recordings of a program, from which rules are learned.

Places are the loops of a program, and the *parts* of its call sites: the rows of one kind in a call (a Sendrecv is a
receive, a send and a wait). The table of a place has its surroundings (size, ranks, rank, iterations of the loops
around) and the observations there: how often the place was reached, and the fields of each row.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from itertools import groupby

import numpy as np
import numpy.typing as npt

from clue.structure.alignment import Calls, aligned, divided
from clue.structure.groups import Class, classes_of
from clue.structure.nest import Nest, Step, Walk
from clue.trace.ops import NO_REQUEST, Flag, Op
from clue.trace.sites import Site
from clue.trace.store import Trace

Integers = npt.NDArray[np.int64]
_CONTINUED, _PICKLED = int(Flag.CONTINUED), int(Flag.PICKLED)
#: Calls that mpi4py implements by messages along a hypercube, one step for each bit of the rank.
_HYPERCUBE = frozenset({"reduce", "allreduce"})
#: Position of the first part after the steps of a hypercube, which are sorted by their bits.
_AFTER_STEPS = 64


@dataclass(frozen=True, slots=True)
class Example:
    """One recording, as far as structure is concerned.

    Attributes:
        size: Problem size.
        ranks: Number of ranks.
        trace: The trace.
        sites: Site of each row, by its number in the family.
    """

    size: int
    ranks: int
    trace: Trace
    sites: Integers


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a call site: rows of one kind that belong together.

    Attributes:
        site: Number of the site.
        op: Their op code.
        which: Number of earlier parts of this kind in the call.
        call: Name of the MPI call.
        region: Name of the region.
        cube: Whether they are the steps of a hypercube, each of which counts as an iteration.
    """

    site: int
    op: int
    which: int
    call: str
    region: str
    cube: bool = False


@dataclass(slots=True)
class Rows:
    """Rows of a part in all recordings.

    Attributes:
        order: Position of the part in its call; that of steps of a hypercube is 0.
        after: The parts seen directly before it in a call.
        keys: Recording, rank and iterations of each run of rows.
        lengths: Number of rows of each run.
        firsts: First row of each run in its trace.
    """

    order: int = 0
    after: dict[Part, None] = field(default_factory=dict)
    keys: list[tuple[int, ...]] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    firsts: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Tables:
    """All places of a program with their observations.

    Attributes:
        nest: The loops of its sites.
        examples: The recordings.
        parts: Rows by part.
        loops: Number of iterations seen of each loop, by recording, rank and iterations of the loops around.
        astray: By site, how often the program jumped back to it outside any loop.
        disordered: For each site whose calls have their parts in several orders, one of these parts.
        classes: Classes of each recording's communicators.
        begun: For each recording and row, the number of requests that the row's rank began before.
        serial: For each recording, the number of requests that a rank began before the request of a given number.
        shared: Loops in which ranks skip iterations: every rank is given all iterations.
        apart: Whether loops that appear as one were divided.
    """

    nest: Nest
    examples: Sequence[Example]
    parts: dict[Part, Rows] = field(default_factory=dict)
    loops: dict[tuple[Step, ...], dict[tuple[int, ...], int]] = field(default_factory=dict)
    astray: dict[int, int] = field(default_factory=dict)
    disordered: list[Part] = field(default_factory=list)
    classes: list[Mapping[int, Class]] = field(default_factory=list)
    begun: list[Integers] = field(default_factory=list)
    serial: list[Mapping[tuple[int, int], int]] = field(default_factory=list)
    shared: frozenset[tuple[Step, ...]] = frozenset()
    apart: bool = False

    @classmethod
    def of(cls, sites: Sequence[Site], examples: Sequence[Example]) -> Tables:
        """Read recordings."""
        return cls._of(Nest.of(sites), examples)

    def divided(self) -> Tables | None:
        """Return the tables with loops divided that appear as one; ``None`` if there are none."""
        if not any(self.nest.merged()):  # to read all recordings again takes as long as to find rules
            return None
        tables = self._of(self.nest, self.examples, divide=True)
        return tables if tables.apart else None

    def aligned(self) -> Tables | None:
        """Return the tables with aligned iterations of ranks that meet; ``None`` if they are aligned already."""
        tables = self._of(self.nest, self.examples, align=True, divide=self.apart)
        return tables if tables.shared else None

    @classmethod
    def _of(cls, nest: Nest, examples: Sequence[Example], *, align: bool = False, divide: bool = False) -> Tables:
        tables = cls(nest, examples)
        calls = [tables._calls(example) for example in examples]
        tables.apart = divide and divided(nest, [each.trace for each in examples], calls)
        for number, example in enumerate(examples):
            tables.classes.append(classes_of(example.trace.head))
            if align:
                tables.shared |= aligned(nest, example.trace, calls[number])
            for rank, mine in enumerate(calls[number]):
                for site, where, begin, end in mine:
                    tables._count((number, rank), site, where)
                    tables._add((number, rank), site, where, begin, end)
        for loop in tables.shared:
            tables._share(loop)
        tables._arrange()
        return tables

    def _calls(self, example: Example) -> list[Calls]:
        """Return each rank's calls in a recording; note those that jump back, and the requests of all rows."""
        walk = Walk(self.nest)
        head, ops = example.trace.head, example.trace.ops
        begun, serial = np.zeros(len(ops), np.int64), {}
        calls = []
        for rank in range(example.ranks):
            first, end = head.offsets[rank : rank + 2]
            flags = ops.flags[first:end].astype(np.int64)
            starts = _starts(ops.op[first:end], ops.request[first:end], flags)
            begun[first:end] = np.cumsum(starts) - starts
            for row in np.flatnonzero(starts).tolist():
                serial[rank, int(ops.request[first + row])] = int(begun[first + row])
            begins = np.flatnonzero((flags & _CONTINUED) == 0)
            numbers = example.sites[first:end][begins].tolist()
            inside, astray = walk.coordinates(numbers)
            for at in astray:
                self.astray[numbers[at]] = self.astray.get(numbers[at], 0) + 1
            calls.append(Calls(numbers, inside, (first + begins).tolist(), int(end)))
        self.begun.append(begun)
        self.serial.append(serial)
        return calls

    def _share(self, loop: tuple[Step, ...]) -> None:
        """Give all ranks as many iterations of a loop as the rank that has most."""
        most: dict[tuple[int, ...], int] = {}
        for (number, _, *around), count in self.loops[loop].items():
            key = (number, *around)
            most[key] = max(most.get(key, 0), count)
        self.loops[loop] = {
            (number, rank, *around): count
            for (number, *around), count in most.items()
            for rank in range(self.examples[number].ranks)
        }

    def _arrange(self) -> None:
        """Number the parts of each site so that all calls have them in this order, whichever of them a call lacks."""
        sorters: dict[int, TopologicalSorter[Part]] = defaultdict(TopologicalSorter)
        for part, rows in self.parts.items():
            sorters[part.site].add(part, *rows.after)
        for sorter in sorters.values():
            try:
                for position, part in enumerate(sorter.static_order(), _AFTER_STEPS):
                    self.parts[part].order = 0 if part.cube else position
            except CycleError as error:
                self.disordered.append(error.args[1][0])

    def _count(self, place: tuple[int, int], site: int, where: tuple[int, ...]) -> None:
        for depth, loop in enumerate(self.nest.loops(site)):
            seen = self.loops.setdefault(loop, {})
            key = (*place, *where[:depth])
            seen[key] = max(seen.get(key, 0), where[depth] + 1)

    def _add(self, place: tuple[int, int], site: int, where: tuple[int, ...], begin: int, end: int) -> None:
        trace = self.examples[place[0]].trace
        ops, head = trace.ops, trace.head
        name, region = head.calls[ops.call[begin]], head.regions[ops.region[begin]]
        if name in _HYPERCUBE and ops.flags[begin] & _PICKLED and ops.op[begin] in (Op.SEND, Op.RECV):
            self._add_cube(place, site, where, begin, end)
            return
        seen: dict[int, int] = defaultdict(int)
        before: tuple[Part, ...] = ()
        at = begin
        for kind, run in groupby(ops.op[begin:end].tolist()):
            length = sum(1 for _ in run)
            part = Part(site, kind, seen[kind], name, region)
            self._put(part, before, (*place, *where), at, length)
            seen[kind] += 1
            at, before = at + length, (part,)

    def _add_cube(self, place: tuple[int, int], site: int, where: tuple[int, ...], begin: int, end: int) -> None:
        """Add the messages of a hypercube: messages with one partner form a step, numbered by the bit that differs.

        Bits rise from step to step. Whatever follows, such as the message with the result for the root, is no step.
        """
        trace = self.examples[place[0]].trace
        ops, at, last = trace.ops, begin, -1
        name, region = trace.head.calls[ops.call[begin]], trace.head.regions[ops.region[begin]]
        seen: dict[int, int] = defaultdict(int, {int(Op.SEND): 1, int(Op.RECV): 1})
        before: tuple[Part, ...] = ()
        for (kind, peer), run in groupby(zip(ops.op[begin:end].tolist(), ops.peer[begin:end].tolist(), strict=True)):
            length, bit = sum(1 for _ in run), -1
            if kind in (Op.SEND, Op.RECV):
                group = trace.head.communicators[ops.comm[at]].group
                bit = (peer ^ group.index(place[1])).bit_length() - 1
            if bit > last:
                self._put(Part(site, kind, 0, name, region, True), (), (*place, *where, bit), at, length)
                last = bit
            else:
                part = Part(site, kind, seen[kind], name, region)
                self._put(part, before, (*place, *where), at, length)
                seen[kind] += 1
                before = (part,)
            at += length

    def _put(self, part: Part, before: tuple[Part, ...], key: tuple[int, ...], first: int, length: int) -> None:
        rows = self.parts.setdefault(part, Rows())
        rows.after.update(dict.fromkeys(before))
        rows.keys.append(key)
        rows.firsts.append(first)
        rows.lengths.append(length)


def _starts(op: npt.NDArray[np.uint8], request: npt.NDArray[np.int32], flags: Integers) -> npt.NDArray[np.bool_]:
    """Tell which rows begin a request."""
    sends = (
        (op == Op.ISEND)
        | (op == Op.IRECV)
        | (op == Op.MPROBE)
        | (op == Op.RMA)
        | ((flags & int(Flag.NONBLOCKING)) > 0) & (op >= Op.BARRIER)
    )
    starts: npt.NDArray[np.bool_] = sends & (request != NO_REQUEST)
    return starts
