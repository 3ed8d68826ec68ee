"""Programs for live execution without processes: generators that yield calls and are sent the answers."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

from clue.kernel import Program, compile_program
from clue.trace import ANY, COLLECTIVES, Flag, Op, Trace
from clue.trace.calls import Call, LiveOp

Script = Generator[Call, Any, None]


class Scripted:
    """A source whose program is a generator.

    Attributes:
        heard: All answers it was given.
    """

    def __init__(self, script: Script, serve: Callable[[int, int, Any], Sequence[Any]] | None = None) -> None:
        self._script = script
        self._serve = serve
        self.heard: list[Any] = []

    def resume(self, answer: object) -> Call:
        """Let the generator run up to its next call."""
        self.heard.append(answer)
        try:
            return self._script.send(answer)
        except StopIteration:
            return Call(LiveOp.END)

    def serve(self, origin: int, request: int, payload: Any) -> Sequence[Any]:
        """Do what the test says."""
        assert self._serve is not None
        return self._serve(origin, request, payload)


def world(ranks: int) -> Call:
    """Return the announcement of a world of so many ranks."""
    return Call(LiveOp.ANNOUNCE, entries=tuple(range(ranks)), payload=("world", None, "WORLD"))


def playing(trace: Trace, wild: bool = False) -> list[Scripted]:
    """Return sources that make the calls of a trace.

    Args:
        trace: The trace.
        wild: Whether receives from any source are such again; else they name what they matched.
    """
    program = compile_program(trace)
    sizes = _sizes(program)
    return [Scripted(_play(trace, program, rank, sizes, wild)) for rank in range(trace.ranks)]


def _sizes(program: Program) -> dict[tuple[int, int], dict[int, tuple[int, tuple[int, ...]]]]:
    """Return what each member gives as its size and its entries, by context and number of a collective."""
    sizes: dict[tuple[int, int], dict[int, tuple[int, tuple[int, ...]]]] = {}
    for rank, rows in enumerate(program.rows):
        serials: dict[int, int] = {}
        for row in rows:
            if row.op in COLLECTIVES and row.op != Op.NEIGHBOR:
                serial = serials[row.context] = serials.get(row.context, -1) + 1
                sizes.setdefault((row.context, serial), {})[rank] = row.nbytes, row.entries
    return sizes


def _play(
    trace: Trace,
    program: Program,
    rank: int,
    sizes: dict[tuple[int, int], dict[int, tuple[int, tuple[int, ...]]]],
    wild: bool,
) -> Script:
    for name in trace.head.regions[1:]:
        yield Call(LiveOp.REGION, payload=name)
    contexts: dict[int, int] = {}
    serials: dict[int, int] = {}
    ops = trace.ops
    for i, row in enumerate(program.rows[rank], program.offsets[rank]):
        comm = int(ops.comm[i])
        told = trace.head.communicators[comm]
        if comm not in contexts and rank in told.group:
            key = (told.context, told.remote is None)
            contexts[comm] = yield Call(LiveOp.ANNOUNCE, entries=told.group, payload=(key, told.remote, told.name))
        context = contexts.get(comm, 0)
        call = Call(
            row.op,
            int(ops.cpu[i]),
            row.region,
            int(ops.peer[i]) if row.op in COLLECTIVES else row.peer,
            row.tag,
            context,
            row.nbytes,
            row.request,
            row.flags,
            row.entries,
        )
        if row.op == Op.OTHER:
            call = call._replace(payload=trace.head.calls[int(ops.call[i])])
        elif row.op == Op.SPAWN:
            call = call._replace(op=Op.LOCAL)
        elif row.op in COLLECTIVES and row.op != Op.NEIGHBOR:
            serial = serials[row.context] = serials.get(row.context, -1) + 1
            call = _with_sizes(call, row.members, rank, sizes[row.context, serial])
        elif wild and row.flags & Flag.ANY_SOURCE and row.peer >= 0:
            call = call._replace(peer=ANY, tag=ANY if row.flags & Flag.ANY_TAG else row.tag)
        yield call
    for region, flops in trace.head.rank_heads[rank].flops.items():
        yield Call(LiveOp.WORK, region=region, nbytes=int(flops))


def _with_sizes(call: Call, members: tuple[int, ...], rank: int, told: dict[int, tuple[int, tuple[int, ...]]]) -> Call:
    """Let a call tell the sizes of all members."""
    if call.op != Op.ALLTOALLV:
        return call._replace(entries=tuple(told[member][0] for member in members))
    position = members.index(rank)
    blocks = [told[member][1] for member in members]
    mean = sum(map(sum, blocks)) // len(members) ** 2
    return call._replace(nbytes=mean, entries=(*blocks[position], *(row[position] for row in blocks)))
