"""A program as blocks that ranks repeat: two iterations represent a loop of identical iterations.

Only outermost loops are considered. The first iteration is a separate block, because its bursts often differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from clue.structure.atoms import Atom, Integers
from clue.structure.forms import Rule, UndeterminedError
from clue.structure.generate import Columns, Generator
from clue.structure.program import WORDS, PartRules, Structure, surroundings
from clue.trace.columns import within

#: A loop with fewer iterations is written out.
_FEW = 4


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a program with a number of repetitions.

    Attributes:
        parts: Its calls, by number.
        times: Number of repetitions.
        iteration: The iteration of the outermost loop that it stands for; ``None`` if it is not in a loop.
        varied: For a loop that is written out because its iterations differ, the number of iterations.
    """

    parts: tuple[int, ...]
    times: int = 1
    iteration: int | None = None
    varied: int = 0


@dataclass(frozen=True, slots=True)
class Varying:
    """A loop that must be written out because its iterations differ.

    Attributes:
        site: A call in it that differs, or the loop.
        why: The difference.
        iterations: Number of iterations of the rank that has most.
    """

    site: str
    why: str
    iterations: int


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """A program as blocks.

    Attributes:
        columns: All blocks once, by rank. Waits identify a request by its age: the number of requests begun since
            then, the request itself included.
        block: Number of the block of each row, rising within a rank.
        times: Number of repetitions of each block.
        parts: For each block its parts, by number, with the surroundings and the positions of their rows.
    """

    columns: Columns
    block: Integers
    times: Integers
    parts: tuple[tuple[tuple[int, dict[str, Integers], Integers], ...], ...]

    @property
    def ops(self) -> int:
        """Number of its ops."""
        return int(self.times[self.block].sum())


class _Watched(dict[str, Integers]):
    """Surroundings of an arbitrary place that record which variables are read."""

    def __missing__(self, name: str) -> Integers:
        self[name] = np.ones(1, np.int64)
        return self[name]


def looks_at_iteration(atoms: Iterable[Atom]) -> bool:
    """Tell whether atoms depend on the iteration of the outermost loop around a place."""
    watched = _Watched(n=np.ones(1, np.int64))
    for atom in atoms:
        with suppress(UndeterminedError):  # only the variables that it reads matter, not its value
            atom.values(watched)
    return "i0" in watched


def stretches(
    structure: Structure, size: int, ranks: int, alone: Mapping[int, str]
) -> tuple[list[Stretch], list[Varying]]:
    """Divide a program into stretches, in program order; also return the loops that are written out.

    Args:
        structure: The program.
        size: Problem size.
        ranks: Number of ranks.
        alone: Parts whose iterations differ beyond rules (in their bursts), by number, with the reason.
    """
    nest = structure.nest
    around = [nest.loops(rules.part.site)[:1] for rules in structure.parts]
    keys = [
        nest.key(loops[0] if loops else nest.paths[rules.part.site])
        for rules, loops in zip(structure.parts, around, strict=True)
    ]
    order = sorted(range(len(keys)), key=lambda i: (keys[i], structure.parts[i].order))
    v = surroundings([(size, ranks)])
    found: list[Stretch] = []
    varying: list[Varying] = []
    for loops, members in groupby(order, key=around.__getitem__):
        parts = tuple(members)
        if not loops:
            found.append(Stretch(parts))
            continue
        try:
            counts = np.maximum(structure.loops[loops[0]](v), 0)
        except UndeterminedError:  # the generator refuses these parts, and says what decides
            found.append(Stretch(parts))
            continue
        most = int(counts.max(initial=0))
        differs = _differs(structure, parts, counts, alone) if most >= _FEW else None
        if differs is not None:
            varying.append(Varying(*differs, most))
            found.append(Stretch(parts, varied=most))
        elif most < _FEW:
            found.append(Stretch(parts))
        else:
            found += [Stretch(parts, 1, 0), Stretch(parts, most - 1, 1)]
    return found, varying


def count_ops(generator: Generator, found: Sequence[Stretch]) -> tuple[int, int]:
    """Return the number of ops of all stretches, and of their blocks; approximate where iterations differ."""
    ops = held = 0
    for stretch in found:
        middle = stretch.varied // 2 if stretch.varied else stretch.iteration
        rows = len(generator.make_stretch(stretch.parts, middle).columns.get("op", ()))
        held += rows * max(stretch.varied, 1)
        ops += rows * max(stretch.varied, stretch.times)
    return ops, held


def _differs(
    structure: Structure, parts: Sequence[int], counts: Integers, alone: Mapping[int, str]
) -> tuple[str, str] | None:
    """Return the first difference between the iterations of a loop, if any: its place and the reason."""
    line = structure.nest.loops(structure.parts[parts[0]].part.site)[0][-1]
    if (counts != counts[0]).any():
        return f"{line.file}:{line.line}", "ranks make different numbers of iterations"
    for number in parts:
        rules = structure.parts[number]
        for what, rule in _rules(structure, rules):
            if _varies(rule):
                return f"{structure.sites[rules.part.site].name} {rules.part.call}", f"{what} follow {rule}"
        if rules.drawn:
            return f"{structure.sites[rules.part.site].name} {rules.part.call}", "sizes are drawn: they follow no rule"
        if number in alone:
            return f"{structure.sites[rules.part.site].name} {rules.part.call}", alone[number]
    return None


def _rules(structure: Structure, rules: PartRules) -> Iterator[tuple[str, Rule]]:
    """Yield the rules of a part within an iteration, each with its subject."""
    yield from ((WORDS["count"], structure.loops[loop]) for loop in structure.nest.loops(rules.part.site)[1:])
    yield WORDS["rows"], rules.rows
    yield from ((WORDS[name], rule) for name, rule in rules.fields.items())
    named = {"entries": rules.entries, "entry": rules.entry, "age": rules.age, "nbytes": rules.nearly}
    yield from ((WORDS[name], rule) for name, rule in named.items() if rule is not None)


def _varies(rule: Rule) -> bool:
    """Tell whether a rule or one of its rivals depends on the iteration of the outermost loop."""
    atoms = [atom for form in rule.forms for _, product in form.terms for atom in product]
    atoms += [side for condition in rule.conditions for each in condition.parts for side in (each.one, each.other)]
    return looks_at_iteration(atoms) or any(_varies(case) for case in (rule.then, rule.other) if case is not None)


def in_blocks(generator: Generator, found: Sequence[Stretch]) -> Blocks | None:
    """Return the blocks of stretches of a program; ``None`` if parts are refused, which are then in the generator."""
    made = [(stretch, generator.make_stretch(stretch.parts, stretch.iteration)) for stretch in found]
    if generator.refusals:
        return None
    made = [(stretch, columns) for stretch, columns in made if len(columns.columns["op"])]
    lengths = np.array([np.diff(columns.offsets) for _, columns in made], np.int64)  # by block and rank
    before = np.cumsum(lengths.T.ravel()) - lengths.T.ravel()  # by rank, then by block
    firsts = before.reshape(lengths.T.shape).T
    rows = [np.repeat(first, length) + within(length) for first, length in zip(firsts, lengths, strict=True)]
    order = np.argsort(np.concatenate(rows), kind="stable")
    columns = {name: np.concatenate([each.columns[name] for _, each in made])[order] for name in made[0][1].columns}
    counts = np.concatenate([each.columns["count"] for _, each in made])
    starts = np.cumsum(counts) - counts
    extras = np.concatenate([each.extras for _, each in made])
    sizes = counts[order]
    whole = Columns(
        columns,
        extras[np.repeat(starts[order], sizes) + within(sizes)],
        np.concatenate([[0], np.cumsum(lengths.sum(axis=0))]),
        [],
        *generator.names,
    )
    parts = tuple(
        tuple((number, v, row[at]) for number, (v, at) in zip(stretch.parts, each.surroundings, strict=True))
        for (stretch, each), row in zip(made, rows, strict=True)
    )
    block = np.repeat(np.arange(len(made)), [len(row) for row in rows])[order]
    return Blocks(whole, block, np.array([stretch.times for stretch, _ in made], np.int64), parts)
