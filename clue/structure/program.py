"""A program as rules: iterations of each loop and fields of each call, at any size and on any number of ranks."""

from __future__ import annotations

import hashlib
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from clue.progress import Progress, silent
from clue.structure.atoms import OWNER, Integers, log2_up, rows_of, variable
from clue.structure.forms import TO_NOBODY, Predicate, Rule, Sum, UndeterminedError
from clue.structure.groups import GROUPS, WORLD, Class, fits, grid_of, rivals
from clue.structure.nest import Nest, Step
from clue.structure.pickled import exact, integer
from clue.structure.rules import Search
from clue.structure.sizes import (
    DrawnLists,
    DrawnSizes,
    Draws,
    by_message,
    fault,
    is_common,
    is_named_once,
    is_sent,
    messages_of,
    sums,
)
from clue.structure.table import Part, Rows, Tables
from clue.structure.unvaried import Unvaried, check, unvaried
from clue.trace.columns import within
from clue.trace.ops import NO_REQUEST, Flag, Op
from clue.trace.sites import Site
from clue.units import count_of

#: Largest deviation of a pickled object's size from a rule, bytes: the lengths of a few numbers in it depend on their
#: values.
PICKLED_SLACK = 16
#: Sizes up to this, such as pairs, do not count as block sizes.
_SMALL = 4
_ORIGINS = np.uint64(32)
#: Fields that are not products of sizes.
_PLAIN = frozenset({"peer", "rows", "flags", "requested", "age"})
#: Lengths of elements, bytes.
_ELEMENTS = (1, 2, 4, 8, 16)
_POLLED = ": how often a test finds nothing depends on timing"
#: Subjects of rules, in words.
WORDS = {
    "peer": "partners", "tag": "tags", "nbytes": "sizes", "flags": "flags", "requested": "requests", "rows": "messages",
    "entries": "lengths of lists", "entry": "entries of lists", "age": "requests waited for", "count": "iterations",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Refusal:
    """A place that follows no rule.

    Attributes:
        site: Its place and call, such as ``"cg.py:72 Alltoallv"``; ``""`` for the whole program.
        why: The condition that must hold but does not.
        decided: Size and number of ranks of a recording that would decide it, if one is known.
    """

    site: str
    why: str
    decided: tuple[int, int] | None = None

    def __str__(self) -> str:
        said = f"site {self.site} {self.why}" if self.site else self.why
        if self.decided is None:
            return said
        size, ranks = self.decided
        return f"{said}: record size {size} on {count_of(ranks)} to decide"


@dataclass(slots=True)
class PartRules:
    """The rules of a part of a call.

    Attributes:
        part: The part.
        order: Its position in its call.
        rows: Rule of the number of its rows in each iteration of the loops around.
        fields: Rules of the fields of its rows.
        groups: Kinds of groups that its communicator may be of (:data:`clue.structure.groups.GROUPS`).
        of: Class of its communicator.
        entries: Rule of the length of its list.
        entry: Rule of the entries of the list; an entry of a wait is the number of requests since the awaited one.
        age: For a wait for one request, the number of requests since then.
        nearly: For pickled objects, the rule of sizes to within :data:`PICKLED_SLACK`, for targets at which recordings
            do not determine exact sizes.
        sizes: Drawn sizes, if no rule determines them.
        lists: Drawn sizes in a list; if no rule determines their sum, the sum is the size.
    """

    part: Part
    order: int
    rows: Rule
    fields: dict[str, Rule] = field(default_factory=dict)
    groups: tuple[str, ...] = ("all",)
    of: Class = WORLD
    entries: Rule | None = None
    entry: Rule | None = None
    age: Rule | None = None
    nearly: Rule | None = None
    sizes: DrawnSizes | None = None
    lists: DrawnLists | None = None

    def by_field(self, loops: Iterable[Rule]) -> dict[str, list[Rule]]:
        """Return its rules by field, those of the loops around as ``count``."""
        found = {"count": list(loops), "rows": [self.rows]} | {name: [rule] for name, rule in self.fields.items()}
        more = {"entries": self.entries, "entry": self.entry, "age": self.age}
        return found | {name: [rule] for name, rule in more.items() if rule is not None}

    @property
    def drawn(self) -> bool:
        """Whether sizes are drawn."""
        return self.sizes is not None or self.lists is not None


@dataclass(slots=True)
class Structure:
    """A program as rules.

    Attributes:
        sites: Its call sites.
        nest: The loops around them.
        loops: Rule of the number of iterations of each loop.
        parts: Rules of the parts of each call.
        unvaried: Numbers that are the same in all recordings.
    """

    sites: tuple[Site, ...]
    nest: Nest
    loops: dict[tuple[Step, ...], Rule] = field(default_factory=dict)
    parts: list[PartRules] = field(default_factory=list)
    unvaried: tuple[Unvaried, ...] = ()

    def check(self, rules: PartRules, size: int, ranks: int) -> None:
        """Check that a part does not depend on a number that is the same in all recordings but differs at a target.

        Raises:
            UndeterminedError: If it may.
        """
        loops = (self.loops[loop] for loop in self.nest.loops(rules.part.site))
        check(self.unvaried, size, ranks, rules.by_field(loops), frozenset(map(grid_of, rules.groups)))

    def inside(self, part: Part, v: Mapping[str, Integers], iteration: int | None = None) -> dict[str, Integers]:
        """Return the surroundings of each iteration of the loops around a part, for some ranks.

        Args:
            part: The part.
            v: Surroundings of the ranks.
            iteration: The iteration of the outermost loop, if not all.
        """
        return _inside(self.nest, part, v, lambda loop, around, _: self.loops[loop](around), iteration)


def near_remark(name: str) -> str:
    """Return the remark that sizes at a call are approximate."""
    return f"sizes of pickled objects at {name} are exact to {PICKLED_SLACK} B"


def surroundings(places: Sequence[tuple[int, int]]) -> dict[str, Integers]:
    """Return the surroundings of each rank at some places: pairs of size and number of ranks."""
    ranks = np.array([each for _, each in places], np.int64)
    whole, rank = np.repeat(ranks, ranks), within(ranks)
    return {"n": np.repeat([size for size, _ in places], ranks), "P": whole, "rank": rank, "s": whole, "r": rank}


def _inside(
    nest: Nest,
    part: Part,
    v: Mapping[str, Integers],
    counts: Callable[[tuple[Step, ...], Mapping[str, Integers], int], Integers],
    iteration: int | None = None,
) -> dict[str, Integers]:
    """Return the surroundings of each iteration of the loops around a part.

    Args:
        nest: The loops.
        part: The part.
        v: Surroundings of ranks.
        counts: Returns the number of iterations of a loop, given its surroundings and the number of loops around it.
        iteration: The iteration of the outermost loop, if not all.
    """
    loops = nest.loops(part.site)
    for depth, loop in enumerate(loops):
        rounds = counts(loop, v, depth)
        if depth == 0 and iteration is not None:
            v = {name: column[rounds > iteration] for name, column in v.items()}
            v |= {"i0": np.full(len(v["n"]), iteration), "m0": rounds[rounds > iteration]}
        else:
            v = iterate(v, f"i{depth}", rounds)
    return iterate(v, f"i{len(loops)}", log2_up(v["P"])) if part.cube else dict(v)


def iterate(v: Mapping[str, Integers], name: str, counts: Integers) -> dict[str, Integers]:
    """Return the surroundings of each iteration of a loop with ``counts`` iterations."""
    counts = np.maximum(counts, 0)
    inside = {each: np.repeat(column, counts) for each, column in v.items()}
    inside[name] = within(counts)
    inside["m" + (name[1:] or name)] = np.repeat(counts, counts)
    return inside


@dataclass
class Learner:
    """Learns the rules of a program from its recordings.

    Attributes:
        sites: Its call sites.
        tables: The observations.
        progress: Called with the column and the site that are being learned.
        distributions: Names of sites at which sizes without a rule are drawn.
        refusals: Places without a rule.
        remarks: Remarks for the reader of results.
        drawn: Names of sites at which sizes are drawn, one entry for each such part.
        blocks: Block sizes by which the program distributes.
        grids: Grids in which it arranges ranks.
        singles: Block sizes of distributions whose indices it passes one by one.
        known: Rules by a digest of their samples: equal calls are learned once.
        seen: For each learned part, the surroundings of its rows and their positions in the trace.
    """

    sites: tuple[Site, ...]
    tables: Tables
    progress: Progress = silent
    distributions: frozenset[str] = frozenset()
    refusals: list[Refusal] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    drawn: list[str] = field(default_factory=list)
    blocks: tuple[int, ...] = ()
    grids: frozenset[str] = frozenset()
    singles: tuple[int, ...] = ()
    known: dict[bytes, Rule | None] = field(default_factory=dict)
    seen: list[tuple[dict[str, Integers], Integers]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._at = ("", 0, 0)

    def learn(self) -> Structure:
        """Return the rules; places without a rule are in ``refusals``."""
        tables = self.tables.divided()
        if tables is None:
            return self._learn_all()
        other = replace(self, tables=tables, refusals=[], remarks=[], drawn=[], blocks=(), known={}, seen=[])
        divided = other._learn_all()
        if other._without_rule:
            structure = self._learn_all()
            if self._without_rule <= other._without_rule:
                return structure
        vars(self).update(vars(other))
        return divided

    def _learn_all(self) -> Structure:
        structure = self._learn()
        if self._without_rule and (self.grids or self.singles):  # a grid found late may explain earlier places
            structure = self._again(self.tables, structure)
        tables = self.tables.aligned() if self._without_rule else None
        return self._again(tables, structure) if tables else structure

    @property
    def _without_rule(self) -> int:
        return len(self.refusals) + len(self.drawn)

    def _again(self, tables: Tables, structure: Structure) -> Structure:
        """Learn again, from other tables or with the known grids; keep the result with fewer places without a rule."""
        other = replace(self, tables=tables, refusals=[], remarks=[], drawn=[], blocks=(), known={}, seen=[])
        again = other._learn()
        if other._without_rule >= self._without_rule:
            return structure
        vars(self).update(vars(other))
        return again

    def _learn(self) -> Structure:
        structure = Structure(self.sites, self.tables.nest)
        for site, often in self.tables.astray.items():
            more = count_of(often, "more call")
            self._refuse(site, "", f"must be called once, or in a loop of the program, got {more}")
        for part in self.tables.disordered:
            self._refuse(part.site, part.call, "operations must be in one order in all calls, got several")
        ordered = sorted(
            self.tables.parts.items(), key=lambda item: self.tables.nest.key(self.tables.nest.paths[item[0].site])
        )
        sites = list(dict.fromkeys(part.site for part, _ in ordered))
        for done, site in enumerate(sites):
            self._at = (self._named(site), done, len(sites))
            self._learn_loops(structure, site)
        for part, rows in ordered:
            self._at = (self._name(part), sites.index(part.site), len(sites))
            try:
                structure.parts.append(self._learn_part(part, rows))
            except _NoRuleError as error:
                self._refuse(part.site, part.call, f"{error}{self._chance(part, rows)}")
        self._learn_integers(structure)
        recorded = [(each.size, each.ranks) for each in self.tables.examples]
        partners = (form for rules in structure.parts for form in rules.fields["peer"].every_form())
        structure.unvaried = unvaried(recorded, self.grids, frozenset().union(*(form.grids for form in partners)))
        return structure

    def _named(self, site: int) -> str:
        return self.sites[site].name or "unknown"

    def _name(self, part: Part) -> str:
        return f"{self._named(part.site)} {part.call}"

    def _refuse(self, site: int, call: str, why: str) -> None:
        self.refusals.append(Refusal(f"{self._named(site)} {call}".strip(), why))

    def _chance(self, part: Part, rows: Rows) -> str:
        """Return a note that timing decides a part, if it does."""
        if part.op == Op.POLL:
            return _POLLED
        traces = [self.tables.examples[key[0]].trace for key in rows.keys]
        wild = any(trace.ops.flags[first] & Flag.ANY_SOURCE for trace, first in zip(traces, rows.firsts, strict=True))
        return ": which message a receive from any source takes depends on timing" if wild else ""

    # --- surroundings ---

    def _start(self) -> dict[str, Integers]:
        examples = self.tables.examples
        number = np.repeat(np.arange(len(examples)), [each.ranks for each in examples])
        return {"example": number} | surroundings([(each.size, each.ranks) for each in examples])

    def _seen(self, loop: tuple[Step, ...], v: Mapping[str, Integers], depth: int) -> Integers:
        seen = self.tables.loops[loop]
        return np.array([seen.get(key, 0) for key in _keys(v, depth)], np.int64)

    # --- rules ---

    def _rule(self, what: str, v: Mapping[str, Integers], y: Integers, slack: int = 0) -> Rule:
        plain = what in _PLAIN
        place, done, total = self._at
        self.progress(f"learning rules: {place}, {WORDS[what]}", done, total)
        key = hashlib.sha1(
            b"".join(
                column.tobytes()
                for column in (
                    *v.values(),
                    y,
                    np.array([slack, plain, *self.blocks, -1, *self.singles, *map(ord, "".join(sorted(self.grids)))]),
                )
            ),
            usedforsecurity=False,
        ).digest()
        if key not in self.known:
            self.known[key] = self._found(v, y, slack, plain)
        found = self.known[key]
        if found is not None:
            self.grids |= found.grids
        else:
            values = ", ".join(map(str, np.unique(y)[:6].tolist()))
            raise _NoRuleError(f"{WORDS[what]} must follow a rule in n, P, rank and iteration, got {values}, …")
        return found

    def _size(self, v: Mapping[str, Integers], y: Integers, slack: int = 0) -> Rule:
        """Return the rule of message sizes: messages to no rank are empty."""
        nobody = v["peer"] < 0
        if y[nobody].any() or nobody.all() or not nobody.any():
            return self._rule("nbytes", v, y, slack)
        rest = {name: column[~nobody] for name, column in v.items()}
        return Rule((), (Predicate((TO_NOBODY,)),), Rule.constant(0), self._rule("nbytes", rest, y[~nobody], slack))

    def _found(self, v: Mapping[str, Integers], y: Integers, slack: int, plain: bool) -> Rule | None:
        origin = np.left_shift(_place(v["P"]), _ORIGINS) | _place(v["n"])
        surroundings = {name: column for name, column in v.items() if name != "example"}
        search = Search(
            surroundings,
            self.blocks,
            origin=origin,
            slack=slack,
            plain=plain,
            grids=self.grids,
            singles=self.singles,
        )
        return search.rule(y) if len(y) else Rule((Sum(()),))

    def _learn_loops(self, structure: Structure, site: int) -> None:
        v: Mapping[str, Integers] = self._start()
        for depth, loop in enumerate(self.tables.nest.loops(site)):
            if loop not in structure.loops:
                structure.loops[loop] = self._learn_loop(loop, site, v, depth)
                self._note_blocks(structure.loops[loop])
            v = iterate(v, f"i{depth}", self._seen(loop, v, depth))

    def _learn_loop(self, loop: tuple[Step, ...], site: int, v: Mapping[str, Integers], depth: int) -> Rule:
        counts = self._seen(loop, v, depth)
        try:
            rule = self._count_partners(loop, v, depth) if _vary_within(v["example"], counts) else None
        except _NoRuleError as error:
            self._refuse(site, f"in the loop of line {loop[-1].loop}", str(error))
            return Rule((Sum(()),))
        if rule is not None:
            return rule
        try:
            return self._rule("count", v, counts)
        except _NoRuleError as error:
            polled = any(part.op == Op.POLL and loop in self.tables.nest.loops(part.site) for part in self.tables.parts)
            self._refuse(site, f"in the loop of line {loop[-1].loop}", f"{error}{_POLLED if polled else ''}")
            return Rule((Sum(()),))

    def _count_partners(self, loop: tuple[Step, ...], v: Mapping[str, Integers], depth: int) -> Rule | None:
        """Replace iterations by partners, if a loop over partners skips some of them.

        Returns:
            The rule of the number of partners, skipped ones included, or ``None`` if it is not such a loop.

        Raises:
            _NoRuleError: If recordings do not determine it, and no rank ever had two partners: it is then unknown
                whether ranks skip partners or have at most one.
        """
        inside = [(part, rows) for part, rows in self.tables.parts.items() if loop in self.tables.nest.loops(part.site)]
        if len({part.site for part, _ in inside}) != 1 or self.tables.nest.loops(inside[0][0].site)[-1] != loop:
            return None
        partner: dict[tuple[int, ...], int] = {}
        sizes: dict[tuple[int, ...], int] = {}
        for _, rows in inside:
            for key, first in zip(rows.keys, rows.firsts, strict=True):
                trace = self.tables.examples[key[0]].trace
                if partner.setdefault(key, int(trace.ops.peer[first])) != trace.ops.peer[first]:
                    return None
                sizes[key[: depth + 2]] = len(trace.head.communicators[trace.ops.comm[first]].group)
        if any(partner[key] <= partner.get((*key[:-1], key[-1] - 1), -1) for key in partner):
            return None
        made = Counter(key[:-1] for key in partner)
        if all(partner[key] - key[-1] == partner.get((*key[:-1], 0), -1) for key in partner) and len(
            {sizes[key] - often for key, often in made.items()}
        ) == 1:  # fmt: skip
            return None  # the same partners are always skipped: iterations can stay as they are
        known = np.array([key in sizes for key in _keys(v, depth)], bool)
        seen = rows_of(v, known)
        try:
            rule = self._rule("count", seen, np.array([sizes[key] for key in _keys(seen, depth)], np.int64))
            counts = rule({name: column for name, column in v.items() if name != "example"})
        except (_NoRuleError, UndeterminedError):
            if set(made.values()) == {1} and len(set(partner.values())) > 1:
                raise _NoRuleError(
                    "iterations must be seen twice for some rank, or on more numbers of ranks, got one at most"
                ) from None
            return None
        self.tables.loops[loop] = dict(zip(_keys(v, depth), counts.tolist(), strict=True))
        for _, rows in inside:
            rows.keys = [(*key[:-1], partner[key]) for key in rows.keys]
        return rule

    def _note_blocks(self, rule: Rule) -> None:
        """Note the block size b of a loop with n / b iterations."""
        for form in rule.forms:
            for coefficient, atoms in form.terms:
                counted = (atom.block for atom in atoms if atom.block > _SMALL)
                self.blocks = tuple(dict.fromkeys((*self.blocks, *counted)))
                if (
                    [atom.name for atom in atoms] == ["n"]
                    and coefficient.denominator > 1
                    and coefficient.denominator not in self.blocks
                ):
                    self.blocks = (*self.blocks, coefficient.denominator)

    def _note_singles(self, rule: Rule) -> None:
        """Note the block size of a distribution whose owners are partners in turn, index by index."""
        atoms = (atom for form in rule.forms for _, atoms in form.terms for atom in atoms)
        dealt = (atom.block for atom in atoms if atom.family.startswith(OWNER))
        self.singles = tuple(dict.fromkeys((*self.singles, *dealt)))

    def _learn_part(self, part: Part, rows: Rows) -> PartRules:
        domain = _inside(self.tables.nest, part, self._start(), self._seen)
        depth = len(self.tables.nest.loops(part.site)) + part.cube
        at = {key: i for i, key in enumerate(_keys(domain, depth))}
        lengths = np.zeros(len(domain["n"]), np.int64)
        firsts = np.zeros(len(domain["n"]), np.int64)
        for key, length, first in zip(rows.keys, rows.lengths, rows.firsts, strict=True):
            lengths[at[key]] = length
            firsts[at[key]] = first
        learned = PartRules(part, rows.order, self._rule("rows", domain, lengths))
        v = iterate(domain, "j", lengths)
        row = np.repeat(firsts, lengths) + v["j"]
        self._learn_group(learned, v, row)
        self._learn_fields(learned, v, row)
        self.seen.append((v, row))
        if learned.drawn:
            self.drawn.append(self._named(part.site))
        return learned

    def _column(self, name: str, v: Mapping[str, Integers], row: Integers) -> Integers:
        columns = np.zeros(len(row), np.int64)
        for number, example in enumerate(self.tables.examples):
            mine = v["example"] == number
            columns[mine] = getattr(example.trace.ops, name)[row[mine]]
        return columns

    def _learn_group(self, learned: PartRules, v: dict[str, Integers], row: Integers) -> None:
        comm = self._column("comm", v, row)
        pairs = set(zip(v["example"].tolist(), comm.tolist(), strict=True))
        groups = {pair: self.tables.examples[pair[0]].trace.head.communicators[pair[1]].group for pair in pairs}
        # Groups that differ on more ranks are equal on one, so the ordinal of a communicator of one rank says nothing.
        told = {pair for pair in pairs if len(groups[pair]) > 1} or pairs
        classes = {self.tables.classes[example][number] for example, number in told}
        if len(classes) > 1:
            made = sorted(Counter(each.name for each in classes).items())
            got = ", ".join(f"{count} of {name}" for name, count in made)
            raise _NoRuleError(f"communicators must be made by one call of the program, got {got}")
        learned.of = classes.pop()
        kinds = [name for name in GROUPS if all(self._fits(name, *pair) for pair in pairs)]
        if not kinds:
            raise _NoRuleError("members of communicators must follow a rule in P and rank, got others")
        learned.groups = rivals(kinds, learned.of.name)
        grids = frozenset(map(grid_of, learned.groups))
        self.grids |= grids - {""} if len(grids) == 1 else frozenset()
        places = {(pair, rank): i for pair, group in groups.items() for i, rank in enumerate(group)}
        each = list(zip(v["example"].tolist(), comm.tolist(), strict=True))
        v["s"] = np.array([len(groups[pair]) for pair in each], np.int64)
        v["r"] = np.array([places[pair, rank] for pair, rank in zip(each, v["rank"].tolist(), strict=True)], np.int64)

    def _fits(self, kind: str, example: int, number: int) -> bool:
        head = self.tables.examples[example].trace.head
        return head.communicators[number].remote is None and fits(
            kind, head.communicators[number], self.tables.examples[example].ranks
        )

    def _learn_fields(self, learned: PartRules, v: dict[str, Integers], row: Integers) -> None:
        request = self._column("request", v, row)
        flags = self._column("flags", v, row) & ~int(Flag.CONTINUED)
        count = self._column("count", v, row)
        columns = {
            "peer": self._column("peer", v, row),
            "tag": self._column("tag", v, row),
            "nbytes": self._column("nbytes", v, row),
            "flags": flags,
            "requested": (request != NO_REQUEST).astype(np.int64),
        }
        for name, column in columns.items():
            if name != "peer":  # the fields of a message may depend on its destination
                v["peer"] = columns["peer"]
            try:
                learned.fields[name] = self._size(v, column) if name == "nbytes" else self._rule(name, v, column)
            except _NoRuleError as error:
                if name != "nbytes":
                    raise
                self._learn_sizes(learned, v, row, columns, error)
            if name == "peer":
                self._note_singles(learned.fields["peer"])
        v.pop("peer", None)
        waits = learned.part.op in (Op.WAIT, Op.POLL, Op.MRECV)
        if waits and (request != NO_REQUEST).any():
            learned.age = self._rule("age", v, self._ages(v, row, request))
        if count.any():
            learned.entries = self._rule("entries", v, count)
            inside = iterate(v, "e", count)
            entries = self._entries(inside, row, count, waits)
            try:
                learned.entry = self._rule("entry", inside, entries)
            except _NoRuleError as error:
                if learned.part.op != Op.ALLTOALLV:
                    raise
                self._check_drawn(learned.part, flags, error)
                summed = bool((sums(entries, count) == columns["nbytes"]).all())
                learned.lists = DrawnLists(self._draws(learned.part, inside, entries), summed)

    def _learn_sizes(
        self,
        learned: PartRules,
        v: dict[str, Integers],
        row: Integers,
        columns: Mapping[str, Integers],
        error: Exception,
    ) -> None:
        """Learn sizes without an exact rule: an approximate rule for pickled objects, draws for others on request."""
        part, flags, nbytes = learned.part, columns["flags"], columns["nbytes"]
        if (flags & int(Flag.PICKLED)).all():
            try:
                nearly = self._size(v, nbytes, PICKLED_SLACK)
            except _NoRuleError:
                pass
            else:
                learned.nearly = nearly
                learned.fields["nbytes"] = exact(nearly, v, nbytes) or nearly
                return
        self._check_drawn(part, flags, error)
        if part.op != Op.ALLTOALLV:
            learned.sizes = self._drawn_sizes(part, v, row, columns)
        elif (nbytes != self._sums(v, row)).any():
            raise _NoRuleError(f"{error}: they cannot be drawn: they are not the sums of lists")

    def _learn_integers(self, structure: Structure) -> None:
        """Learn the exact sizes of pickled integers from numbers of other calls; refuse sizes that stay approximate.

        Approximate sizes are kept at sites for which the user asks for distributions.
        """
        for rules, (v, row) in list(zip(structure.parts, self.seen, strict=True)):
            if rules.nearly is None:
                continue
            sizes = rules.fields["nbytes"]
            if sizes is rules.nearly:
                sizes = integer(list(_numbers(structure)), v, self._column("nbytes", v, row)) or sizes
                rules.fields["nbytes"] = sizes
            name = self._named(rules.part.site)
            if name in self.distributions:
                self.drawn.append(name)
                if sizes is rules.nearly:
                    self.remarks.append(near_remark(self._name(rules.part)))
                continue
            if sizes is rules.nearly:
                self._refuse(
                    rules.part.site,
                    rules.part.call,
                    f"sizes of pickled objects must follow a rule exactly, got one to within {PICKLED_SLACK} B: "
                    f"--distribution {name} takes them so",
                )
            rules.nearly = None

    def _sums(self, v: dict[str, Integers], row: Integers) -> Integers:
        count = self._column("count", v, row)
        return sums(self._entries(iterate(v, "e", count), row, count, waits=False), count)

    def _drawn_sizes(
        self, part: Part, v: dict[str, Integers], row: Integers, columns: Mapping[str, Integers]
    ) -> DrawnSizes:
        """Return draws of message sizes; if calls have a fixed number of messages, only messages without a rule."""
        nbytes, common = columns["nbytes"], is_common(part.op, columns["flags"])
        if common and not is_named_once(v, self._column("comm", v, row), nbytes):
            raise _NoRuleError("sizes must be one for all ranks of a call at one site to be drawn, got several")
        messages: list[Rule | Draws] = []
        for number, where in enumerate(by_message(v, messages_of(v["mj"]))):
            mine = where & is_sent(part.op, columns["peer"])
            some = rows_of(v, mine)
            try:
                messages.append(self._rule("nbytes", some, nbytes[mine]))
            except _NoRuleError:
                messages.append(self._draws(part, some, nbytes[mine], number))
        return DrawnSizes(common, tuple(messages))

    def _check_drawn(self, part: Part, flags: Integers, error: Exception) -> None:
        """Check that sizes should be drawn, and can be."""
        name, why = self._named(part.site), fault(part.op, flags)
        if name not in self.distributions:
            raise _NoRuleError(f"{error}" if why else f"{error}: --distribution {name} draws them from those recorded")
        if why:
            raise _NoRuleError(f"{error}: they cannot be drawn: {why}")

    def _draws(self, part: Part, v: Mapping[str, Integers], sizes: Integers, message: int = 0) -> Draws:
        place = f"sizes {self._name(part)} {part.site} {part.op} {part.which} {message}"
        draws = Draws.of(v, sizes, zlib.crc32(place.encode()))
        self.remarks.append(f"sizes at {self._name(part)} {draws}")
        return draws

    def _ages(self, v: Mapping[str, Integers], row: Integers, request: Integers) -> Integers:
        ages = np.zeros(len(row), np.int64)
        for i, (example, rank, at, name) in enumerate(
            zip(v["example"].tolist(), v["rank"].tolist(), row.tolist(), request.tolist(), strict=True)
        ):
            if name != NO_REQUEST:
                ages[i] = self._age(example, rank, at, name)
        return ages

    def _age(self, example: int, rank: int, row: int, name: int) -> int:
        begun = self.tables.serial[example].get((rank, name))
        if begun is None:
            raise _NoRuleError("requests must be begun by calls of the program, got others")
        return int(self.tables.begun[example][row]) - begun

    def _entries(self, inside: Mapping[str, Integers], row: Integers, count: Integers, waits: bool) -> Integers:
        rows = np.repeat(row, count)
        values = np.zeros(len(rows), np.int64)
        for i, (example, rank, at, e) in enumerate(
            zip(inside["example"].tolist(), inside["rank"].tolist(), rows.tolist(), inside["e"].tolist(), strict=True)
        ):
            trace = self.tables.examples[example].trace
            value = int(trace.ops.extras[trace.head.extra_offsets[rank] + int(trace.ops.extra[at]) + e])
            values[i] = self._age(example, rank, at, value) if waits else value
        return values


def _numbers(structure: Structure) -> Iterator[Sum]:
    """Yield numbers that a program uses: its size, numbers of ranks, and possible numbers of elements of messages."""
    found = {str(form): form for form in (Sum(((Fraction(1), (variable(name),)),)) for name in ("n", "P", "s", "r"))}
    for rules in structure.parts:
        rule = rules.fields.get("nbytes")
        for form in rule.every_form() if rule is not None else ():
            for length in _ELEMENTS:
                terms = tuple((coefficient / length, atoms) for coefficient, atoms in form.terms)
                number = Sum(terms)
                if number.terms:
                    found.setdefault(str(number), number)
    yield from found.values()


def _place(column: Integers) -> npt.NDArray[np.uint64]:
    """Return the number of each value among all values, as a bit; a constant column counts as having two values."""
    values, which = np.unique(column, return_inverse=True)
    bits = np.left_shift(np.uint64(1), (which % int(_ORIGINS)).astype(np.uint64))
    return bits if len(values) > 1 else np.full(len(column), 3, np.uint64)


def _vary_within(examples: Integers, counts: Integers) -> bool:
    """Tell whether numbers of iterations, 0 included, differ within one recording."""
    least, most = np.full(examples.max() + 1, counts.max()), np.zeros(examples.max() + 1, np.int64)
    np.minimum.at(least, examples, counts)
    np.maximum.at(most, examples, counts)
    return bool((least < most).any())


class _NoRuleError(ValueError):
    """A place has no rule."""


def _keys(v: Mapping[str, Integers], depth: int) -> Iterator[tuple[int, ...]]:
    names = ("example", "rank", *(f"i{level}" for level in range(depth)))
    return zip(*(v[name].tolist() for name in names), strict=True)
