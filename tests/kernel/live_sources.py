"""Programs for live execution without processes: generators that yield calls and receive the answers."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

from clue.kernel import Program, compile_program
from clue.kernel.model.program import Row
from clue.trace import ANY, COLLECTIVES, PROC_NULL, Communicator, Flag, Op, Trace
from clue.trace.calls import Call, LiveOp

Script = Generator[Call, Any, None]


class Scripted:
    """A source whose program is a generator.

    Attributes:
        heard: All answers that it received.
    """

    def __init__(self, script: Script, serve: Callable[[Any], Any] | None = None) -> None:
        self._script = script
        self._serve = serve
        self.heard: list[Any] = []

    def resume(self, answer: object) -> Call:
        """Run the generator to its next call and return that call."""
        self.heard.append(answer)
        try:
            return self._script.send(answer)
        except StopIteration:
            return Call(LiveOp.END)

    def serve(self, payload: Any) -> Any:
        """Serve a request with the test's function of its payload."""
        assert self._serve is not None
        return self._serve(payload)

    def threads(self) -> int:
        """Return 1: a generator has no threads."""
        return 1


def world(ranks: int) -> Call:
    """Return the announcement of a world of this many ranks."""
    return Call(LiveOp.ANNOUNCE, entries=tuple(range(ranks)), payload=("world", None, "WORLD"))


def playing(trace: Trace, wild: bool = False) -> list[Scripted]:
    """Return sources that make the calls of a trace.

    Args:
        trace: The trace.
        wild: Whether wildcard receives stay wildcards; otherwise they name the source that they matched.
    """
    return Players(trace, wild).first()


class Players:
    """The ranks of a trace as live ranks, which spawn each other as in the trace.

    Attributes:
        live: The rank in the live run of each rank of the trace that has begun.
    """

    def __init__(self, trace: Trace, wild: bool = False) -> None:
        self._trace, self._wild = trace, wild
        self._program = compile_program(trace)
        self._sizes = _sizes(self._program)
        self.live: dict[int, int] = {}

    def first(self) -> list[Scripted]:
        """Return the ranks that are not spawned."""
        return self._begin([rank for rank, world in enumerate(self._program.worlds) if not world], range(1 << 30))

    def spawn(self, _world: int, ranks: Sequence[int], world: int) -> list[Scripted]:
        """Return the ranks of a world of the trace."""
        return self._begin([rank for rank, of in enumerate(self._program.worlds) if of == world], ranks)

    def _begin(self, ranks: Sequence[int], live: Sequence[int]) -> list[Scripted]:
        self.live.update(zip(ranks, live, strict=False))
        return [Scripted(self._play(rank)) for rank in ranks]

    def _play(self, rank: int) -> Script:
        trace, program = self._trace, self._program
        for name in trace.head.regions[1:]:
            yield Call(LiveOp.REGION, payload=name)
        contexts: dict[int, int] = {}
        serials: dict[int, int] = {}
        for i, row in enumerate(program.rows[rank], program.offsets[rank]):
            comm = int(trace.ops.comm[i])
            told = trace.head.communicators[comm]
            if comm not in contexts and rank in told.group:
                contexts[comm] = yield self._announcement(told)
            call = self._call(i, row, contexts.get(comm, 0))
            if comm not in contexts:
                call = call._replace(peer=PROC_NULL)
            if row.op in COLLECTIVES and row.op != Op.NEIGHBOR:
                serial = serials[row.context] = serials.get(row.context, -1) + 1
                call = _with_sizes(call, row.members, rank, self._sizes[row.context, serial])
            yield call
        for region, flops in trace.head.rank_heads[rank].flops.items():
            yield Call(LiveOp.WORK, region=region, nbytes=int(flops))

    def _announcement(self, told: Communicator) -> Call:
        key = (told.context, told.remote is None)
        group = tuple(self.live[rank] for rank in told.group)
        remote = None if told.remote is None else tuple(self.live[rank] for rank in told.remote)
        return Call(LiveOp.ANNOUNCE, entries=group, payload=(key, remote, told.name))

    def _call(self, i: int, row: Row, context: int) -> Call:
        """Return a row of the trace as a live call."""
        ops = self._trace.ops
        peer = row.peer if row.peer < 0 else self.live.get(row.peer, 0)
        call = Call(
            row.op,
            int(ops.cpu[i]),
            row.region,
            int(ops.peer[i]) if row.op in COLLECTIVES else peer,
            row.tag,
            context,
            row.nbytes,
            row.request,
            row.flags,
            row.entries,
        )
        if row.op == Op.OTHER:
            return call._replace(payload=self._trace.head.calls[int(ops.call[i])])
        if row.op == Op.SPAWN:
            known = bool(row.entries) and row.entries[0] in set(self._program.worlds) - {0}
            # Otherwise nobody is spawned, but the call makes progress, as a wait for nothing does.
            return call._replace(payload=row.entries[0]) if known else call._replace(op=Op.WAIT, entries=(), request=-1)
        if self._wild and row.flags & Flag.ANY_SOURCE and row.peer >= 0:
            return call._replace(peer=ANY, tag=ANY if row.flags & Flag.ANY_TAG else row.tag)
        return call


def _sizes(program: Program) -> dict[tuple[int, int], dict[int, tuple[int, tuple[int, ...]]]]:
    """Return each member's size and entries, by context and number of a collective."""
    sizes: dict[tuple[int, int], dict[int, tuple[int, tuple[int, ...]]]] = {}
    for rank, rows in enumerate(program.rows):
        serials: dict[int, int] = {}
        for row in rows:
            if row.op in COLLECTIVES and row.op != Op.NEIGHBOR:
                serial = serials[row.context] = serials.get(row.context, -1) + 1
                sizes.setdefault((row.context, serial), {})[rank] = row.nbytes, row.entries
    return sizes


def _with_sizes(call: Call, members: tuple[int, ...], rank: int, told: dict[int, tuple[int, tuple[int, ...]]]) -> Call:
    """Return a call with the sizes of all members."""
    if call.op != Op.ALLTOALLV:
        return call._replace(entries=tuple(told[member][0] for member in members))
    position = members.index(rank)
    blocks = [told[member][1] for member in members]
    mean = sum(map(sum, blocks)) // len(members) ** 2
    return call._replace(nbytes=mean, entries=(*blocks[position], *(row[position] for row in blocks)))
