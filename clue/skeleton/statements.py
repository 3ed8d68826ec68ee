"""A skeleton as statements, from which programs in any language are printed.

A number in a statement is an expression of the rank and of the iterations around it, or the next entry of a table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from clue.trace.ops import Flag, Op

# --- expressions ---


@dataclass(frozen=True, slots=True)
class Sum:
    """``base`` plus iterations and the rank, each times a factor; reduced by ``modulus`` unless that is 0.

    Attributes:
        base: Constant of the sum.
        terms: Names of variables, among them ``"rank"``, with their factors.
        modulus: Values lie in [``least``, ``least + modulus``); 0 if they are not bounded.
        least: Smallest of these values.
    """

    base: int
    terms: tuple[tuple[str, int], ...] = ()
    modulus: int = 0
    least: int = 0

    @property
    def is_constant(self) -> bool:
        """Whether it is a constant."""
        return not self.terms


@dataclass(frozen=True, slots=True)
class Own:
    """A rank's own entry of a table."""

    table: int


@dataclass(frozen=True, slots=True)
class Next:
    """The next entry of a rank's row of a table, cyclically."""

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
    """A partner; a value below 0 means none."""

    partner: Expression


@dataclass(frozen=True, slots=True)
class Neighbour:
    """The own rank in a communicator plus a distance.

    Attributes:
        distance: The distance.
        around: Whether it wraps around at the end of the communicator.
    """

    distance: Sum
    around: bool


@dataclass(frozen=True, slots=True)
class ByRank:
    """An expression for each of several groups of ranks.

    Attributes:
        cases: Groups and their expressions; the last is for all other ranks.
    """

    cases: tuple[tuple[tuple[int, ...], Expression], ...]


Expression: TypeAlias = Sum | Own | Next | Listed | Nobody | Perhaps | Neighbour | ByRank


# --- communicators ---


@dataclass(frozen=True, slots=True)
class World:
    """All ranks."""


@dataclass(frozen=True, slots=True)
class Named:
    """The communicator that a rank belongs to, out of several disjoint ones."""

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
        op: The operation.
        flags: Its variants.
        name: Name of the call in the application.
        site: Call site in the application; ``""`` if unknown.
        comm: Communicator.
        numbers: Further arguments by name: ``peer`` (or root), ``tag``, ``nbytes``, ``element`` (its bytes); ``dest``
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
        """MPI's name of a send or collective call: ``"Issend"``, ``"Ireduce_scatter_block"``."""
        if self.op in {Op.SEND, Op.ISEND}:
            name = _SENDS.get(self.flags & (Flag.SYNCHRONOUS | Flag.BUFFERED), "Send")
            return name if self.op == Op.SEND else f"I{name.lower()}"
        name = _METHODS.get(self.op) or ("Reduce_scatter_block" if self.flags & Flag.BLOCK else "Reduce_scatter")
        return f"I{name.lower()}" if self.flags & Flag.NONBLOCKING else name

    @property
    def own_operation(self) -> str:
        """Name in programs of the user-defined operation of a reduction; ``""``: the operation is a sum."""
        if not self.flags & Flag.USER_DEFINED:
            return ""
        return "NOTHING_IN_ORDER" if self.flags & Flag.NONCOMMUTATIVE else "NOTHING"


@dataclass(frozen=True, slots=True)
class AlongBits:
    """Messages between each rank and rank ^ 1, rank ^ 2, rank ^ 4 …, equally many for each bit.

    Attributes:
        calls: Calls of ranks in which the bit is set: sends, or receives of the same sizes.
    """

    calls: tuple[Call, ...]


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop.

    Attributes:
        times: Number of iterations.
        variable: Name of the loop variable, which counts from 0; ``""`` where nothing depends on it.
        body: Its statements.
        site: File and line of the loop in the application; ``""`` if unknown.
    """

    times: Expression
    variable: str
    body: tuple[Statement, ...]
    site: str = ""


@dataclass(frozen=True, slots=True)
class Branch:
    """Statements of some ranks."""

    ranks: tuple[int, ...]
    body: tuple[Statement, ...]


Statement: TypeAlias = Compute | Call | AlongBits | Loop | Branch


# --- programs ---


@dataclass(frozen=True, slots=True)
class Place:
    """Bursts before a call.

    Attributes:
        region: Region that they are in.
        bursts: Bursts of each rank that gets there, ns, repeated cyclically.
        mean: Mean of all bursts, seconds.
    """

    region: str
    bursts: Mapping[int, tuple[float, ...]]
    mean: float


@dataclass(frozen=True, slots=True)
class Room:
    """Buffer memory that calls need, bytes.

    Attributes:
        largest: Bytes that the largest call sends or receives.
        nonblocking: Bytes that the largest nonblocking call receives.
        pending: Maximum number of these pending at once.
        lists: Maximum number of lists of sizes that v-calls name until the first of these calls is complete.
        buffered: Bytes of all messages that one rank sends in buffered mode; 0 without any.
    """

    largest: int
    nonblocking: int
    pending: int
    lists: int
    buffered: int


@dataclass(frozen=True, slots=True)
class Statements:
    """A program.

    Attributes:
        ranks: Number of ranks.
        body: Its statements.
        places: Places where they compute.
        tables: Series of numbers, or of lists, for each rank.
        own: One number, or one list, for each rank.
        groups: Ranks of each communicator other than the world, by its number.
        named: Sets of disjoint communicators, by name.
        room: Buffer memory that calls need.
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
        """Yield all statements in pre-order."""
        yield from walk(self.body)

    def calls(self) -> Iterator[Call]:
        """Yield all calls."""
        for each in self.walk():
            if isinstance(each, Call):
                yield each
            elif isinstance(each, AlongBits):
                yield from each.calls


def walk(body: Sequence[Statement]) -> Iterator[Statement]:
    """Yield statements in pre-order."""
    for each in body:
        yield each
        if isinstance(each, Loop | Branch):
            yield from walk(each.body)
