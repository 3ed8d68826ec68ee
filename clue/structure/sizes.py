"""Sizes of messages without a rule: drawn from the recorded ones, at call sites that the user names.

A size is drawn relative to a mean, which is fitted over n and P. Sender and receiver agree, because a trace stores each
size once (:mod:`clue.trace.ops`): the size of a message with its sender, the sizes of an alltoallv with the sending
rank, the block of another v-collective with its owner. If all ranks of a collective call state one size, it is drawn
once for the call. Correlations are not modelled: which ranks exchange much data, and which sizes occur together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clue.models import Distribution, Ensemble, fit
from clue.structure.atoms import Integers, Surroundings, rows_of
from clue.structure.forms import Rule
from clue.trace.columns import within
from clue.trace.ops import Flag, Op
from clue.units import format_size

#: Largest fixed number of messages of a call that are treated separately, such as a length and then the data.
_MESSAGES = 8
_SENDS = frozenset({Op.SEND, Op.ISEND})
#: Ops with a size for each rank.
_OWN = _SENDS | {Op.GATHERV, Op.SCATTERV, Op.ALLGATHERV, Op.ALLTOALLV}
#: Ops for which all ranks state one size.
_COMMON = frozenset({
    Op.BCAST, Op.REDUCE, Op.ALLREDUCE, Op.SCAN, Op.EXSCAN, Op.GATHER, Op.SCATTER, Op.ALLGATHER, Op.ALLTOALL,
})  # fmt: skip


def fault(op: int, flags: Integers) -> str:
    """Return the reason why sizes of calls cannot be drawn, by op and flags; ``""`` if they can."""
    if op not in _OWN | _COMMON | {Op.REDUCE_SCATTER}:
        return "they are not those of messages, or partners stand among them"
    if (flags & Flag.PERSISTENT).any():
        return "a persistent request has one size whenever it is started"
    if op == Op.ALLTOALLV and (flags & Flag.IN_PLACE).any():
        return "in place, any two ranks send each other as much"
    return ""


def is_common(op: int, flags: Integers) -> bool:
    """Tell whether all ranks of a call state one size."""
    return op in _COMMON or (op == Op.REDUCE_SCATTER and bool((flags & Flag.BLOCK).any()))


def is_named_once(v: Surroundings, comm: Integers, sizes: Integers) -> bool:
    """Tell whether all members of each collective call make it at this place and state the same size."""
    _, call, members = np.unique(
        np.array([v["example"], comm, *_turns(v)]), axis=1, return_inverse=True, return_counts=True
    )
    call = call.ravel()
    some = np.zeros(len(members), np.int64)
    some[call] = sizes
    return bool((members[call] == v["s"]).all() and (some[call] == sizes).all())


def _turns(v: Surroundings) -> list[Integers]:
    """Return the coordinates of each row's visit to a place: iterations, and the position within its call."""
    return [column for name, column in v.items() if name[0] in "ij"]


@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """Drawn sizes.

    Attributes:
        model: Their mean over n and P, bytes.
        spread: Their distribution around it.
        seed: Seed of these draws.
        recorded: Mean of the recorded sizes, bytes.
    """

    model: Ensemble
    spread: Distribution
    seed: int
    recorded: float

    @classmethod
    def of(cls, v: Surroundings, sizes: Integers, seed: int) -> Draws:
        """Return draws of sizes like the recorded ones; at least one is not 0."""
        _, firsts, of = np.unique(v["example"], return_index=True, return_inverse=True)
        counts = np.bincount(of)
        places = {name: v[name][firsts].astype(float) for name in ("n", "P")}
        model = fit(places, np.bincount(of, sizes) / counts, weights=counts.astype(float))
        spread = Distribution.of([sizes[of == each] for each in range(len(firsts))])
        return cls(model, spread, seed, float(sizes.mean()))

    def __call__(self, v: Surroundings, which: Integers, count: int) -> Integers:
        """Return ``which`` of ``count`` draws at one size and number of ranks."""
        if not len(which):
            return np.zeros(0, np.int64)
        mean = self.model.predict({name: v[name][:1] for name in ("n", "P")})[0]
        drawn: Integers = np.rint(mean * self.spread.drawn(which, count, self.seed)).astype(np.int64)
        return drawn

    def __str__(self) -> str:
        low, high = self.spread.relative[[0, -1]].tolist()
        return (
            f"are drawn from {self.spread.samples:,} recorded (mean {format_size(self.recorded)}, {low:.2g} to "
            f"{high:.2g} times that): no rule"
        )


@dataclass(frozen=True, slots=True, eq=False)
class DrawnSizes:
    """Sizes of the messages of a part; some or all are drawn.

    Attributes:
        common: Whether all ranks of a call state one size.
        messages: The rule or the draws of each message of a call; a single entry applies to all.
    """

    common: bool
    messages: tuple[Rule | Draws, ...]

    def __call__(self, v: Mapping[str, Integers], comm: Integers, sent: npt.NDArray[np.bool_]) -> Integers:
        """Return the size of each row.

        Args:
            v: Surroundings of each row, and its partner.
            comm: Distinguishes communicators with simultaneous calls.
            sent: Whether each row is a message to a rank.
        """
        sizes = np.zeros(len(sent), np.int64)
        for number, where in enumerate(by_message(v, len(self.messages))):
            mine, each = where & sent, self.messages[number]
            some = rows_of(v, mine)
            sizes[mine] = each(some) if isinstance(each, Rule) else self._drawn(each, some, comm[mine])
        return sizes

    def _drawn(self, draws: Draws, v: Mapping[str, Integers], comm: Integers) -> Integers:
        if not self.common:
            return draws(v, np.arange(len(comm)), len(comm))
        calls, call = np.unique(np.array([*_turns(v), comm]), axis=1, return_inverse=True)
        return draws(v, call.ravel().astype(np.int64), calls.shape[1])


@dataclass(frozen=True, slots=True, eq=False)
class DrawnLists:
    """Drawn sizes that each rank sends to each other rank.

    Attributes:
        draws: The draws.
        summed: Whether the size of a rank's row is the sum of the sizes that it sends.
    """

    draws: Draws
    summed: bool

    def __call__(self, v: Surroundings, counts: Integers, totals: Integers | None) -> Integers:
        """Return the entries of each row's list, concatenated.

        Args:
            v: Surroundings of each row.
            counts: Number of entries of each row.
            totals: Sum of the entries of each row, if a rule determines it.
        """
        entries = self.draws(v, np.arange(counts.sum()), int(counts.sum()))
        return entries if totals is None or not self.summed else shared(entries, counts, totals)


def is_sent(op: int, peer: Integers) -> npt.NDArray[np.bool_]:
    """Tell which rows have a size: messages to no rank are empty."""
    return peer >= 0 if op in _SENDS else np.ones(len(peer), bool)


def by_message(v: Surroundings, messages: int) -> list[npt.NDArray[np.bool_]]:
    """Return the rows of each message of a call; messages beyond the last count as the last."""
    at = np.minimum(v["j"], messages - 1)
    return [at == number for number in range(messages)]


def messages_of(lengths: Integers) -> int:
    """Return how many messages of a call are treated one by one, given the number of messages of all calls."""
    found = np.unique(lengths[lengths > 0])
    return int(found[0]) if len(found) == 1 and found[0] <= _MESSAGES else 1


def sums(entries: Integers, counts: Integers) -> Integers:
    """Return the sum of the entries of each row."""
    found = np.concatenate([[0], np.cumsum(entries)])
    ends = np.cumsum(counts)
    result: Integers = found[ends] - found[ends - counts]
    return result


def shared(entries: Integers, counts: Integers, totals: Integers) -> Integers:
    """Scale the entries of each row to its total, with the same proportions to 1 B."""
    # A row in which all draws are 0 is divided evenly.
    entries = np.where(np.repeat(sums(entries, counts), counts) > 0, entries, 1)
    row = np.repeat(np.arange(len(counts)), counts)
    whole, ends = sums(entries, counts), np.cumsum(entries)
    until = ends - (np.cumsum(whole) - whole)[row]
    reached = np.rint(totals[row] * (until / whole[row])).astype(np.int64)
    result: Integers = reached - np.where(within(counts) > 0, np.roll(reached, 1), 0)
    return result
