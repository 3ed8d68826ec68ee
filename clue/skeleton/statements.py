"""A skeleton as statements, which programs in any language are printed of.

A number in a statement is an expression of the rank and of the iterations around it, or the next one of a table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from clue.trace.ops import Flag, Op

# --- expressions ---


@dataclass(frozen=True, slots=True)
class Sum:
    """``base`` plus iterations and the rank, each times a factor; modulo something where ``modulus`` is not 0.

    Attributes:
        base: What is added to.
        terms: Names of variables, ``"rank"`` one of them, with their factors.
        modulus: Values are from ``least`` up to ``least + modulus`` (without); 0 if they are not bounded.
        least: The least of these values.
    """

    base: int
    terms: tuple[tuple[str, int], ...] = ()
    modulus: int = 0
    least: int = 0

    @property
    def is_constant(self) -> bool:
        """Whether it is one number."""
        return not self.terms


@dataclass(frozen=True, slots=True)
class Own:
    """A rank's own entry of a table."""

    table: int


@dataclass(frozen=True, slots=True)
class Next:
    """The next entry of a rank's row of a table, again and again."""

    table: int


@dataclass(frozen=True, slots=True)
class Listed:
    """Several numbers, the same on all ranks."""

    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Nobody:
    """No partner."""


@dataclass(frozen=True, slots=True)
class Perhaps:
    """A partner; below 0 there is none."""

    partner: Expression


@dataclass(frozen=True, slots=True)
class Neighbour:
    """The own rank in a communicator plus a distance.

    Attributes:
        distance: The distance.
        around: Whether it goes around the end of the communicator.
    """

    distance: Sum
    around: bool


@dataclass(frozen=True, slots=True)
class ByRank:
    """An expression for each of several groups of ranks.

    Attributes:
        cases: The groups with theirs; the last one is that of all other ranks.
    """

    cases: tuple[tuple[tuple[int, ...], Expression], ...]


Expression: TypeAlias = Sum | Own | Next | Listed | Nobody | Perhaps | Neighbour | ByRank


# --- communicators ---


@dataclass(frozen=True, slots=True)
class World:
    """All ranks."""


@dataclass(frozen=True, slots=True)
class Named:
    """The one of several communicators, no two of which have a rank in common, that a rank is in."""

    name: str


@dataclass(frozen=True, slots=True)
class Numbered:
    """A communicator by its number."""

    number: Expression


Comm: TypeAlias = World | Named | Numbered
WORLD = World()


# --- statements ---

_SENDS = {Flag.SYNCHRONOUS: "Ssend", Flag.BUFFERED: "Bsend"}
_METHODS = {
    Op.BARRIER: "Barrier", Op.BCAST: "Bcast", Op.REDUCE: "Reduce", Op.ALLREDUCE: "Allreduce", Op.SCAN: "Scan",
    Op.EXSCAN: "Exscan", Op.GATHER: "Gather", Op.GATHERV: "Gatherv", Op.SCATTER: "Scatter", Op.SCATTERV: "Scatterv",
    Op.ALLGATHER: "Allgather", Op.ALLGATHERV: "Allgatherv", Op.ALLTOALL: "Alltoall", Op.ALLTOALLV: "Alltoallv",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Compute:
    """The next burst of a place."""

    place: int


@dataclass(frozen=True, slots=True)
class Call:
    """A call of MPI.

    Attributes:
        op: Which one it is.
        flags: How it is made.
        name: What the application calls it.
        site: Where it stands there; ``""`` if that is not known.
        comm: On which communicator.
        numbers: By name, what else it needs: ``peer`` (or root), ``tag``, ``nbytes``, ``element`` (its bytes); ``dest``
            and ``sendtag`` of a Sendrecv; ``age`` or ``ages`` of requests, 0 is the newest; of v-calls ``sizes``,
            ``received`` and their ``total``; of neighbourhoods ``dests``, ``sizes`` and ``sources``.
    """

    op: Op
    flags: Flag
    name: str
    site: str
    comm: Comm
    numbers: Mapping[str, Expression] = field(default_factory=dict)

    @property
    def method(self) -> str:
        """Of a send or collective call, what MPI calls it: ``"Issend"``, ``"Ireduce_scatter_block"``."""
        if self.op in {Op.SEND, Op.ISEND}:
            name = _SENDS.get(self.flags & (Flag.SYNCHRONOUS | Flag.BUFFERED), "Send")
            return name if self.op == Op.SEND else f"I{name.lower()}"
        name = _METHODS.get(self.op) or ("Reduce_scatter_block" if self.flags & Flag.BLOCK else "Reduce_scatter")
        return f"I{name.lower()}" if self.flags & Flag.NONBLOCKING else name

    @property
    def own_operation(self) -> str:
        """What programs call the operation of a reduction that is not MPI's own; ``""``: it is a sum."""
        if not self.flags & Flag.USER_DEFINED:
            return ""
        return "NOTHING_IN_ORDER" if self.flags & Flag.NONCOMMUTATIVE else "NOTHING"


@dataclass(frozen=True, slots=True)
class AlongBits:
    """Messages between each rank and rank ^ 1, rank ^ 2, rank ^ 4 …, as many at each bit.

    Attributes:
        calls: What ranks do where the bit is set: sends, or receives of what has the same size.
    """

    calls: tuple[Call, ...]


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop.

    Attributes:
        times: How often.
        variable: Its number of iterations, from 0; ``""`` where nothing depends on it.
        body: What it is around.
        site: File and line of the loop in the application; ``""`` if that is not known.
    """

    times: Expression
    variable: str
    body: tuple[Statement, ...]
    site: str = ""


@dataclass(frozen=True, slots=True)
class Branch:
    """What some ranks do."""

    ranks: tuple[int, ...]
    body: tuple[Statement, ...]


Statement: TypeAlias = Compute | Call | AlongBits | Loop | Branch


# --- programs ---


@dataclass(frozen=True, slots=True)
class Place:
    """Bursts before a call.

    Attributes:
        region: The region that they are in.
        bursts: Of each rank that gets there, ns: one after the other, again and again.
        mean: The mean of them all, seconds.
    """

    region: str
    bursts: Mapping[int, tuple[float, ...]]
    mean: float


@dataclass(frozen=True, slots=True)
class Room:
    """Memory that calls need, bytes.

    Attributes:
        largest: What the largest call sends or receives.
        nonblocking: What the largest call receives that does not wait for it.
        pending: How many of these there are at once.
        buffered: What one rank sends from a buffer, all messages together; 0 where none does.
    """

    largest: int
    nonblocking: int
    pending: int
    buffered: int


@dataclass(frozen=True, slots=True)
class Statements:
    """A program.

    Attributes:
        ranks: How many run it.
        body: What they do.
        places: Where they compute.
        tables: Numbers by rank, one after the other, or lists of them.
        own: Numbers by rank, one for each, or one list.
        groups: By number of a communicator beside the world, its ranks.
        named: By name, communicators of which a rank is in one.
        room: What calls need.
    """

    ranks: int
    body: tuple[Statement, ...]
    places: tuple[Place, ...]
    tables: tuple[Mapping[int, tuple[object, ...]], ...]
    own: tuple[Mapping[int, object], ...]
    groups: Mapping[int, tuple[int, ...]]
    named: Mapping[str, tuple[int, ...]]
    room: Room

    def walk(self) -> Iterator[Statement]:
        """Yield all statements, each before what is in it."""
        yield from walk(self.body)

    def calls(self) -> Iterator[Call]:
        """Yield all calls."""
        for each in self.walk():
            if isinstance(each, Call):
                yield each
            elif isinstance(each, AlongBits):
                yield from each.calls


def walk(body: Sequence[Statement]) -> Iterator[Statement]:
    """Yield statements, each before what is in it."""
    for each in body:
        yield each
        if isinstance(each, Loop | Branch):
            yield from walk(each.body)
