"""From rules to a trace: all calls of all ranks at a size and number of ranks that were not recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from clue.structure.atoms import Integers
from clue.structure.forms import Rule, UndeterminedError
from clue.structure.groups import WORLD, Class, members_of
from clue.structure.program import PartRules, Refusal, Structure, iterate, near_remark, surroundings
from clue.structure.sizes import is_sent, sums
from clue.trace.columns import within
from clue.trace.head import Communicator
from clue.trace.ops import NO_REQUEST, Flag, Op
from clue.units import count_of


@dataclass(slots=True)
class Columns:
    """Rows of all ranks in program order: columns of equal length, and lists one after the other.

    Attributes:
        columns: By name, those of a trace except its times; ``call`` and ``region`` are indices of the names below.
        extras: Entries of the lists, in the order of rows; ``count`` is the number of entries of each.
        offsets: Row at which each rank begins, shape (ranks + 1,).
        surroundings: For each part, the surroundings and the positions of its rows.
        calls: Names of calls.
        regions: Names of regions.
        communicators: The program's communicators.
    """

    columns: dict[str, Integers]
    extras: Integers
    offsets: Integers
    surroundings: list[tuple[dict[str, Integers], Integers]]
    calls: tuple[str, ...]
    regions: tuple[str, ...]
    communicators: tuple[Communicator, ...]


@dataclass
class Generator:
    """Makes the rows of a program.

    Attributes:
        structure: Its rules.
        size: Problem size.
        ranks: Number of ranks.
        refusals: Places that the rules do not determine there.
        undetermined: The refused parts, each with the reason.
        remarks: Remarks for the reader of results.
    """

    structure: Structure
    size: int
    ranks: int
    refusals: list[Refusal] = field(default_factory=list)
    undetermined: list[tuple[PartRules, UndeterminedError]] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._communicators: dict[tuple[Class, tuple[int, ...]], int] = {(WORLD, tuple(range(self.ranks))): 0}
        self._calls: dict[str, int] = {}
        self._regions: dict[str, int] = {"": 0}

    def make(self) -> Columns:
        """Return all rows whose rules are determined; the others are in ``refusals``."""
        return self._make(self.structure.parts, None)

    def make_stretch(self, parts: Sequence[int], iteration: int | None) -> Columns:
        """Return the rows of some parts, as :meth:`make` does, except that waits identify requests by age.

        Args:
            parts: Their numbers.
            iteration: The iteration of the outermost loop around them; ``None`` for all.
        """
        return self._make([self.structure.parts[number] for number in parts], iteration, aged=True)

    @property
    def names(self) -> tuple[tuple[str, ...], tuple[str, ...], tuple[Communicator, ...]]:
        """Names of calls, names of regions, and communicators of all rows made so far."""
        communicators = tuple(
            Communicator(of.name, group, None, i) for i, (of, group) in enumerate(self._communicators)
        )
        return tuple(self._calls), tuple(self._regions), communicators

    def _make(self, parts: Sequence[PartRules], iteration: int | None, *, aged: bool = False) -> Columns:
        made = []
        for rules in parts:
            try:
                made.append(self._part(rules, iteration))
            except UndeterminedError as error:
                target = f"size {self.size} on {count_of(self.ranks)}"
                why = f"must be determined by recordings at {target}, got forms that are not: {error}"
                self.refusals.append(Refusal(self._name(rules), why))
                self.undetermined.append((rules, error))
        return self._join(made, aged) if not self.refusals else _NOTHING

    def undecided(self, rules: PartRules) -> UndeterminedError | None:
        """Return the reason why rules do not determine a part, if they do not."""
        try:
            self._part(rules, None)
        except UndeterminedError as error:
            return error
        return None

    # --- parts ---

    def _part(self, rules: PartRules, iteration: int | None) -> _Made:
        self.structure.check(rules, self.size, self.ranks)
        domain = self.structure.inside(rules.part, surroundings([(self.size, self.ranks)]), iteration)
        lengths = rules.rows(domain) if len(domain["n"]) else domain["n"]
        v = iterate(domain, "j", lengths)
        comm = self._comm(rules, v)
        rows = len(v["n"])
        columns = {}
        for name, rule in rules.fields.items():
            columns[name] = self._field(rules, name, rule, v) if rows else np.zeros(0, np.int64)
            v["peer"] = columns["peer"]
        if rules.sizes is not None:
            leads = np.array([group[0] for _, group in self._communicators], np.int64)
            columns["nbytes"] = rules.sizes(v, leads[comm], is_sent(rules.part.op, columns["peer"]))
        del v["peer"]
        columns |= {
            "comm": comm,
            "op": np.full(rows, rules.part.op),
            "call": np.full(rows, self._calls.setdefault(rules.part.call, len(self._calls))),
            "region": np.full(rows, self._regions.setdefault(rules.part.region, len(self._regions))),
            "site": np.full(rows, rules.part.site),
            "age": rules.age(v) if rules.age and rows else np.zeros(rows, np.int64),
            "count": rules.entries(v) if rules.entries and rows else np.zeros(rows, np.int64),
        }
        entries = self._entries(rules, v, columns)
        if "nbytes" not in columns:
            columns["nbytes"] = sums(entries, columns["count"])
        return _Made(v, columns, entries, self._keys(rules, v), rules.part.cube)

    def _name(self, rules: PartRules) -> str:
        return f"{self.structure.sites[rules.part.site].name or 'unknown'} {rules.part.call}"

    def _field(self, rules: PartRules, name: str, rule: Rule, v: Mapping[str, Integers]) -> Integers:
        try:
            return rule(v)
        except UndeterminedError:
            if name != "nbytes" or rules.nearly is None:
                raise
        self.remarks.append(near_remark(self._name(rules)))
        return rules.nearly(v)

    def _entries(self, rules: PartRules, v: Mapping[str, Integers], columns: Mapping[str, Integers]) -> Integers:
        """Return the lists of a part, one after the other."""
        counts = columns["count"]
        if rules.lists is not None:
            return rules.lists(v, counts, columns.get("nbytes"))
        if rules.entry is None or not counts.any():
            return np.zeros(0, np.int64)
        return rules.entry(iterate(v, "e", counts))

    def _comm(self, rules: PartRules, v: dict[str, Integers]) -> Integers:
        """Return the communicator of each row, and add its size and the rank in it to the surroundings."""
        comm, size, place = (np.zeros(self.ranks, np.int64) for _ in range(3))
        for rank in np.unique(v["rank"]).tolist():
            if size[rank]:  # each kind of groups divides the ranks, so the group of one member is that of all
                continue
            group = members_of(rules.groups, self.ranks, rank)
            members = np.array(group)
            comm[members] = self._communicators.setdefault((rules.of, group), len(self._communicators))
            size[members], place[members] = len(group), np.arange(len(group))
        v["s"], v["r"] = size[v["rank"]], place[v["rank"]]
        return comm[v["rank"]]

    def _keys(self, rules: PartRules, v: Mapping[str, Integers]) -> list[Integers]:
        """Return the columns that sort rows into program order."""
        nest, rows = self.structure.nest, len(v["n"])
        keys, depth = [], 0
        for step in nest.paths[rules.part.site]:
            keys.append(np.full(rows, nest.place(step)))
            if step.is_loop:
                keys.append(v[f"i{depth}"])
                depth += 1
        if rules.part.cube:
            keys.append(v[f"i{depth}"])
        return [*keys, np.full(rows, rules.order), v["j"]]

    # --- all together ---

    def _join(self, made: Sequence[_Made], aged: bool) -> Columns:
        keys = _side_by_side([each.keys for each in made], 0)
        rank = np.concatenate([each.v["rank"] for each in made])
        order = np.lexsort([*reversed(keys), rank])
        columns = {name: np.concatenate([each.columns[name] for each in made])[order] for name in made[0].columns}
        back = np.empty(len(order), np.int64)
        back[order] = np.arange(len(order))
        bounds = np.cumsum([0, *(len(each.v["n"]) for each in made)])
        places = [(each.v, back[first:end]) for each, first, end in zip(made, bounds[:-1], bounds[1:], strict=True)]
        _continue(columns, made, order)
        offsets = np.searchsorted(rank[order], np.arange(self.ranks + 1))
        extras = _extras(made, order)
        self._requests(columns, offsets, extras, aged)
        return Columns(columns, extras, offsets, places, *self.names)

    def _requests(self, columns: dict[str, Integers], offsets: Integers, extras: Integers, aged: bool) -> None:
        """Number requests in the order in which each rank begins them; if ``aged``, waits keep the ages instead."""
        requested = columns.pop("requested") > 0
        age = columns.pop("age")
        waits = np.isin(columns["op"], (Op.WAIT, Op.POLL, Op.MRECV))
        begins = requested & ~waits
        before: Integers = np.cumsum(begins) - begins
        rank = np.repeat(np.arange(self.ranks), np.diff(offsets))
        before = before - np.append(before, 0)[offsets[:-1]][rank]
        named = age if aged else before - age
        columns["request"] = np.where(begins, before, np.where(waits & requested, named, NO_REQUEST))
        if aged:
            return
        counts = columns["count"]
        owner = np.repeat(np.arange(len(counts)), counts)
        mine = waits[owner]
        extras[mine] = before[owner][mine] - extras[mine]


def _continue(columns: dict[str, Integers], made: Sequence[_Made], order: Integers) -> None:
    """Mark all rows of a call except its first."""
    # Rows of one call have the same site and iterations.
    keys = [column[order] for column in _side_by_side([each.call_keys for each in made], -1)]
    keys += [np.concatenate([each.v["rank"] for each in made])[order], columns["site"]]
    same = np.ones(len(order), bool)
    same[:1] = False
    for key in keys:
        same[1:] &= key[1:] == key[:-1]
    columns["flags"] = columns["flags"] | np.where(same, int(Flag.CONTINUED), 0)


def _side_by_side(keys: Sequence[list[Integers]], missing: int) -> list[Integers]:
    """Join the keys of parts; some parts have fewer keys than others."""
    width = max(map(len, keys))
    return [
        np.concatenate([each[i] if i < len(each) else np.full(len(each[0]), missing) for each in keys])
        for i in range(width)
    ]


def _extras(made: Sequence[_Made], order: Integers) -> Integers:
    """Return the lists of all rows, in their order."""
    counts = np.concatenate([each.columns["count"] for each in made])
    entries = np.concatenate([each.entries for each in made])
    starts = np.cumsum(counts) - counts
    sizes = counts[order]
    return entries[np.repeat(starts[order], sizes) + within(sizes)] if len(entries) else entries


@dataclass(slots=True)
class _Made:
    v: dict[str, Integers]
    columns: dict[str, Integers]
    entries: Integers
    keys: list[Integers]
    cube: bool = False

    @property
    def call_keys(self) -> list[Integers]:
        return self.keys[: -3 if self.cube else -2]


#: The result if anything is refused.
_NONE = np.zeros(0, np.int64)
_NOTHING = Columns({}, _NONE, _NONE, [], (), (), ())
