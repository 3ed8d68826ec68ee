"""A skeleton as a program in Python, which needs mpi4py alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import dedent, wrap

from clue.skeleton.lowering import REDUCTIONS
from clue.skeleton.statements import (
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
    Own,
    Perhaps,
    Statement,
    Statements,
    Sum,
    World,
)
from clue.skeleton.words import WIDTH, About, burst_text, groups_text, plain
from clue.trace.ops import Flag, Op

_KERNELS = Path(__file__).with_name("kernels.py")
#: What of a collective is told before it where it is no plain number, as it may be needed twice; and its name then.
_TOLD = {"comm": "comm", "kind": "kind", "nbytes": "size", "sizes": "sizes"}
#: Where in that file begins what programs have of it.
_BEGIN = "Kernel = "
_TYPES = {1: "MPI.BYTE", 2: "MPI.SHORT", 4: "MPI.FLOAT", 8: "MPI.DOUBLE", 16: "MPI.C_DOUBLE_COMPLEX"}
_SENDS = {Flag.SYNCHRONOUS: "Ssend", Flag.BUFFERED: "Bsend"}
_METHODS = {
    Op.BARRIER: "Barrier", Op.BCAST: "Bcast", Op.REDUCE: "Reduce", Op.ALLREDUCE: "Allreduce", Op.SCAN: "Scan",
    Op.EXSCAN: "Exscan", Op.GATHER: "Gather", Op.GATHERV: "Gatherv", Op.SCATTER: "Scatter", Op.SCATTERV: "Scatterv",
    Op.ALLGATHER: "Allgather", Op.ALLGATHERV: "Allgatherv", Op.ALLTOALL: "Alltoall", Op.ALLTOALLV: "Alltoallv",
}  # fmt: skip


def python_program(program: Statements, about: About) -> str:
    """Return the text of a program."""
    return "\n".join(_Writer(program, about).lines()) + "\n"


class _Writer:
    def __init__(self, program: Statements, about: About) -> None:
        self._program = program
        self._about = about
        self._functions: dict[str, list[str]] = {}

    def lines(self) -> Iterator[str]:
        program, about = self._program, self._about
        body = self._function("program", "Do what the application does, but less often.", program.body)
        calls = list(program.calls())
        head = about.head(program.ranks, f"mpiexec -n {program.ranks} python {plain(about.file)}", program.places)
        yield f'"""{head[0]}'
        yield from head[1:]
        yield '"""'
        yield ""
        yield from dedent(_IMPORTS).strip().splitlines()
        yield ""
        yield f'IDENTITY = "{about.identity}"'
        yield f"RANKS = {program.ranks}"
        yield f"SCALE = {about.scale!r}  # so many times as long the application is"
        yield f"APPLICATION = {about.application!r}  # s that it took when it was recorded"
        yield ""
        yield "world = MPI.COMM_WORLD"
        yield "rank = world.rank"
        yield ""
        text = [line for each in (*self._functions.values(), body) for line in ("", *each, "")]
        yield from text
        yield from _section("messages", self._messages(calls, "\n".join(text)))
        yield from _section("work", [self._kernels(), _BURSTS, self._memory()])
        yield from _section("the run", [self._run()])
        yield from _section("figures", ["\n".join(self._figures()), *self._readers()])
        yield ""
        yield ""
        yield 'if __name__ == "__main__":'
        yield "    sys.exit(guarded())"

    # --- statements ---

    def _arguments(self) -> list[str]:
        program = self._program
        has = {"comms": program.groups, "burst": program.places, "table": program.tables, "own": program.own}
        return [name for name, some in has.items() if some]

    def _run(self) -> str:
        made = ", ".join(_MADE[name] for name in self._arguments())
        memory = "    take_memory()\n" if self._about.memory else ""
        return _RUN.replace("PREPARED", f"[{made}]").replace("    TAKE_MEMORY\n", memory)

    def _readers(self) -> list[str]:
        return [text for name, text in _READERS.items() if name in self._arguments()]

    def _function(self, name: str, said: str, body: Sequence[Statement]) -> list[str]:
        inner = list(self._block(body)) or ["pass"]
        text = "\n".join(inner)
        names = [
            f"{each} = member(comms, {', '.join(map(str, numbers))})"
            for each, numbers in self._program.named.items()
            if f"{each}." in text or f"({each}," in text
        ]
        lines = [f"def {name}({', '.join(self._arguments())}):", f'    """{said}"""']
        return [*lines, *(f"    {line}" for line in (*names, *inner))]

    def _block(self, body: Sequence[Statement]) -> Iterator[str]:
        for each in body:
            yield from self._statement(each)

    def _statement(self, statement: Statement) -> Iterator[str]:
        if isinstance(statement, Loop):
            variable = statement.variable or "_"
            loop = f"for {variable} in range({self._text(statement.times)}):"
            yield _said(loop, plain(statement.site))
            inner = list(self._block(statement.body)) or ["pass"]
            yield from (f"    {line}" for line in inner)
        elif isinstance(statement, Branch):
            yield f"if {condition(statement.ranks, self._program.ranks)}:"
            yield f"    {self._branch(statement)}({', '.join(self._arguments())})"
        elif isinstance(statement, Compute):
            yield _said(f"compute(burst[{statement.place}])", burst_text(self._program.places[statement.place]))
        elif isinstance(statement, AlongBits):
            yield self._along(statement)
        else:
            *before, made, method = self._call(statement)
            yield from before
            name = "" if statement.name.lower() == method.lower() else statement.name
            yield _said(made, plain(f"{statement.site} {name}".strip()) if statement.site else "")

    def _branch(self, branch: Branch) -> str:
        """Write a function for what some ranks do; returns its name."""
        name = groups_text(branch.ranks)
        again = sum(1 for each in self._functions if each == name or each.startswith(f"{name}_again"))
        name += f"_again_{again}" if again else ""
        self._functions[name] = []  # functions within it, if any, come behind
        ranks = groups_text(branch.ranks).replace("_", " ")
        self._functions[name] = self._function(
            name, f"Do what {ranks} {'does' if len(branch.ranks) == 1 else 'do'}.", branch.body
        )
        return name

    def _along(self, statement: AlongBits) -> str:
        first = statement.calls[0]
        sizes = ", ".join(self._text(call.numbers["nbytes"]) for call in statement.calls)
        comm, tag = self._comm(first.comm), self._text(first.numbers["tag"])
        where = "True" if first.op == Op.SEND else "False"
        made = f"along_bits({comm}, ({sizes},), tag={tag}, sends={where})"
        return _said(made, plain(f"{first.site} {first.name}") if first.site else "")

    # --- calls ---

    def _call(self, call: Call) -> tuple[str, ...]:
        """Return the text of a call, behind what is told before it, and the method that it makes."""
        numbers = {name: self._text(each, call.comm) for name, each in call.numbers.items()}
        comm = self._comm(call.comm)
        if call.op in (Op.SEND, Op.ISEND):
            name = _SENDS.get(call.flags & (Flag.SYNCHRONOUS | Flag.BUFFERED), "Send")
            name = name if call.op == Op.SEND else f"I{name.lower()}"
            made = f"{comm}.{name}(data[:{numbers['nbytes']}], dest={numbers['peer']}, tag={numbers['tag']})"
            made = made.replace(", tag=0)", ")")
            return (made if call.op == Op.SEND else f"requests.append({made})"), name
        if call.op == Op.IRECV and "dest" in numbers:
            sent = f"data[:{numbers['nbytes']}], dest={numbers['dest']}, sendtag={numbers['sendtag']}"
            return (
                f"{comm}.Sendrecv({sent}, recvbuf=room, source={numbers['peer']}, recvtag={numbers['tag']})",
                "Sendrecv",
            )
        if call.op in (Op.RECV, Op.IRECV, Op.PROBE, Op.MPROBE):
            return self._receive(call.op, comm, f"source={numbers['peer']}, tag={numbers['tag']}")
        if call.op == Op.WAIT:
            return (f"wait_for({_star(numbers['ages'])})" if "ages" in numbers else "wait_for_all()"), "Waitall"
        if call.op == Op.MRECV:
            name = "start_matched" if call.flags & Flag.NONBLOCKING else "receive_matched"
            return f"{name}({numbers['age']})", "Recv"
        if call.op == Op.SLEEP:
            return f"sleep({numbers['nbytes']} * 1e-9)", "sleep"
        return self._collective(call, comm, numbers)

    def _receive(self, op: Op, comm: str, of: str) -> tuple[str, str]:
        return {
            Op.RECV: (f"{comm}.Recv(room, {of})", "Recv"),
            Op.IRECV: (f"requests.append({comm}.Irecv(next(rooms), {of}))", "Irecv"),
            Op.PROBE: (f"{comm}.Probe({of})", "Probe"),
            Op.MPROBE: (f"requests.append({comm}.Mprobe({of}))", "Mprobe"),
        }[op]

    def _collective(self, call: Call, comm: str, numbers: Mapping[str, str]) -> tuple[str, ...]:
        if call.op == Op.COMM:
            return f"{comm}.Dup().Free()", "Dup"
        if call.op == Op.NEIGHBOR:
            listed = ", ".join(f"{name}={numbers[name]}" for name in ("dests", "sizes", "sources"))
            made = f"neighbours({comm}, {listed})"
            return (f"requests.append({made})" if call.flags & Flag.NONBLOCKING else f"wait_for_each({made})"), "neighbours"
        numbers = {"comm": comm, "kind": self._kind(call), **numbers}
        told = {
            name: _TOLD[name] for name, text in numbers.items() if name in _TOLD and (" if " in text or "next(" in text)
        }
        before = [f"{name} = {numbers[each]}" for each, name in told.items()]
        numbers |= told
        nonblocking = bool(call.flags & Flag.NONBLOCKING)
        method = _METHODS.get(call.op) or ("Reduce_scatter_block" if call.flags & Flag.BLOCK else "Reduce_scatter")
        method = f"I{method[0].lower()}{method[1:]}" if nonblocking else method
        given = ", ".join(self._given(call, numbers, "next(rooms)" if nonblocking else "room"))
        made = f"{numbers['comm']}.{method}({given})"
        return *before, (f"requests.append({made})" if nonblocking else made), method

    def _given(self, call: Call, numbers: Mapping[str, str], room: str) -> Iterator[str]:
        """Yield the arguments of a collective call."""
        if call.op == Op.BARRIER:
            return
        own, kind, sizes = numbers["nbytes"], numbers["kind"], numbers.get("sizes", "")
        many = {Op.GATHERV: ("", sizes), Op.SCATTERV: (sizes, ""), Op.ALLGATHERV: ("", sizes)}
        sent, received = many.get(call.op, ("", ""))
        if call.op == Op.ALLTOALLV:
            sent, received = sizes, numbers["received"]
        elif call.op == Op.REDUCE_SCATTER and not call.flags & Flag.BLOCK:
            sent = numbers["total"]
        placed = bool(call.flags & Flag.IN_PLACE)
        if call.op != Op.BCAST:
            yield "MPI.IN_PLACE" if placed else f"[data, {sent or own}, {kind}]"
        received = sent if placed and call.op == Op.REDUCE_SCATTER else received
        yield f"[{room}, {received or own}, {kind}]"
        if call.op == Op.REDUCE_SCATTER and not call.flags & Flag.BLOCK:
            yield sizes
        if call.op in REDUCTIONS:
            yield f"op={_operation(call)}"
        if "peer" in numbers:
            yield f"root={numbers['peer']}"

    def _kind(self, call: Call) -> str:
        element = call.numbers.get("element", Sum(1))
        if isinstance(element, Sum) and element.is_constant:
            return "MPI.UNSIGNED_CHAR" if element.base == 1 and call.op in REDUCTIONS else _TYPES[element.base]
        return f"TYPES[{self._text(element)}]"

    # --- expressions ---

    def _comm(self, comm: Comm) -> str:
        if isinstance(comm, World):
            return "world"
        return comm.name if isinstance(comm, Named) else f"comms[{self._text(comm.number)}]"

    def _text(self, expression: Expression, comm: Comm | None = None) -> str:
        if isinstance(expression, Sum):
            return sum_text(expression, number, lambda text, modulus: f"({text}) % {modulus}")
        if isinstance(expression, Own):
            return f"own[{expression.table}]"
        if isinstance(expression, Next):
            return f"next(table[{expression.table}])"
        if isinstance(expression, Listed):
            return _value(expression.values)
        if isinstance(expression, Nobody):
            return "MPI.PROC_NULL"
        if isinstance(expression, Perhaps):
            return f"partner({self._text(expression.partner)})"
        if isinstance(expression, Neighbour):
            return self._neighbour(expression, comm)
        *cases, (_, other) = expression.cases
        told = [f"{self._text(each, comm)} if {condition(ranks, self._program.ranks)}" for ranks, each in cases]
        return " else ".join((*told, self._text(other, comm)))

    def _neighbour(self, expression: Neighbour, comm: Comm | None) -> str:
        me, size = (
            ("rank", "RANKS")
            if comm is None or isinstance(comm, World)
            else (f"{self._comm(comm)}.rank", f"{self._comm(comm)}.size")
        )
        distance = self._text(expression.distance)
        away = f"{me} - {distance[1:]}" if distance.startswith("-") else f"{me} + {distance}"
        away = me if distance == "0" else away
        return f"({away}) % {size}" if expression.around else away

    # --- all else ---

    def _messages(self, calls: Sequence[Call], text: str) -> list[str]:
        """Return buffers, and functions for what is no single call."""
        room = self._program.room
        parts = [_BUFFERS.format(largest=number(room.largest))]
        if room.pending:
            parts.append(_ROOMS.format(nonblocking=number(max(room.nonblocking, 1)), pending=room.pending))
        if room.buffered:
            parts.append(f"MPI.Attach_buffer(bytearray({number(room.buffered)}))")
        if any(not isinstance(_element(call), Sum) or not _element(call).is_constant for call in calls):
            parts.append(
                f"TYPES = {{{', '.join(f'{size}: {name}' for size, name in _TYPES.items())}}}".replace(
                    "MPI.BYTE", "MPI.UNSIGNED_CHAR"
                )
            )
        if any(call.flags & Flag.USER_DEFINED for call in calls):
            parts.append(_OPERATIONS)
        parts += [each for name, each in _HELPERS.items() if f"{name}(" in text]
        oldest = max((age for call in calls for age in self._ages(call)), default=0)
        parts = [each.replace("OLDEST", str(oldest + 1)) for each in parts]
        if any(call.op is Op.NEIGHBOR and call.flags & Flag.NONBLOCKING for call in calls):
            parts = [each.replace("    MPI.Request.Waitall([req", "    wait_for_each([req") for each in parts]
            parts = [each.replace("    MPI.Request.Waitall(requests)", "    wait_for_each(requests)") for each in parts]
        return [*parts, _COMMS.format(groups=self._groups())] if self._program.groups else parts

    def _ages(self, call: Call) -> Iterator[int]:
        """Yield the ages of requests that a call waits for, or receives."""
        for name in ("age", "ages"):
            if name in call.numbers:
                yield from values_of(call.numbers[name], self._program)

    def _groups(self) -> str:
        return "".join(f"    {number}: {_tuple(group)},\n" for number, group in self._program.groups.items())

    def _kernels(self) -> str:
        text = _KERNELS.read_text(encoding="utf-8")
        return text[text.index(_BEGIN) :].strip()

    def _memory(self) -> str:
        return _MEMORY.format(peak=_tuple(self._about.memory)) if self._about.memory else ""

    def _figures(self) -> Iterator[str]:
        about, program = self._about, self._program
        yield "#: What a piece of each kind of work takes where the application was recorded, ns; and a burst beside its pieces."
        times = ", ".join(f"{kind}: {time:.1f}" for kind, time in about.pieces.times.items())
        yield f"PIECES, CALL = {{{times}}}, {about.pieces.call:.1f}"
        yield "#: What regions compute: shares of each kind of work."
        yield "MIX = {"
        for region in dict.fromkeys(place.region for place in program.places):
            mix = ", ".join(f"{kind}: {share:.6g}" for kind, share in about.characters[region].mix.items())
            yield f"    {region!a}: {{{mix}}},"
        yield "}"
        yield "#: Of each place its region, and by rank what its bursts take there, ns: one after the other, again and again."
        yield "BURSTS = ["
        for place in program.places:
            yield f"    ({place.region!a}, {{"
            for each, bursts in place.bursts.items():
                yield from _row(each, bursts)
            yield "    }),"
        yield "]"
        if program.tables:
            yield "#: By rank, numbers that follow no rule: one after the other, again and again."
            yield "TABLES = ["
            for table in program.tables:
                yield "    {"
                for each, values in table.items():
                    yield from _row(each, values)
                yield "    },"
            yield "]"
        if program.own:
            yield "#: Numbers that each rank has one of."
            yield "OWN = ["
            for own in program.own:
                shown = ", ".join(f"{each}: {_value(value)}" for each, value in own.items())
                yield from wrap(
                    f"{{{shown}}},", WIDTH, initial_indent="    ", subsequent_indent="     ", break_long_words=False
                )
            yield "]"


def _section(title: str, parts: Sequence[str]) -> Iterator[str]:
    yield from ("", f"# --- {title} ---")
    for each in filter(None, parts):
        text = each.strip("\n")
        yield from ("", "") if text.startswith(("def ", "@")) else ("",)
        yield from text.splitlines()
    yield ""


def _said(made: str, comment: str) -> str:
    return f"{made}  # {comment}" if comment else made


def _star(listed: str) -> str:
    """Return a list as arguments."""
    if " if " in listed:
        return f"*({listed})"
    return listed[1:-1] if listed.startswith("[") else f"*{listed}"


def _tuple(values: Sequence[object]) -> str:
    return f"({', '.join(map(_value, values))}{',' if len(values) == 1 else ''})"


def _value(value: object) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_value, value))}]"
    return number(value) if isinstance(value, int) else f"{value:.15g}"


def _row(rank: int, values: Sequence[object]) -> list[str]:
    text = f"{rank}: {_tuple(values)},"
    return wrap(text, WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 12, break_long_words=False)


def number(value: int) -> str:
    """Return a whole number."""
    return f"{value:_}"


def sum_text(expression: Sum, shown: Callable[[int], str], modulo: Callable[[str, str], str]) -> str:
    """Return a sum, in a language that shows numbers and remainders so."""
    terms = [
        (factor, name if abs(factor) == 1 else f"{shown(abs(factor))} * {name}") for name, factor in expression.terms
    ]
    base = expression.base - (expression.least if expression.modulus else 0)
    if base or not terms:
        terms.append((base, shown(abs(base))))
    terms.sort(key=lambda term: term[0] < 0)
    text = "".join(f" {'-' if factor < 0 else '+'} {term}" for factor, term in terms)
    text = text.removeprefix(" + ").replace(" - ", "-", 1) if text.startswith(" - ") else text.removeprefix(" + ")
    if not expression.modulus:
        return text
    text, least = modulo(text, shown(expression.modulus)), expression.least
    return f"{text} {'-' if least < 0 else '+'} {shown(abs(least))}" if least else text


def condition(ranks: Sequence[int], total: int) -> str:
    """Return the condition that a rank is one of some."""
    first, last, count = ranks[0], ranks[-1], len(ranks)
    if count == 1:
        return f"rank == {first}"
    if count == last - first + 1:
        return (
            f"rank < {last + 1}"
            if not first
            else f"rank >= {first}"
            if last == total - 1
            else f"{first} <= rank < {last + 1}"
        )
    if count == total - 1:
        return f"rank != {next(each for each in range(total) if each not in ranks)}"
    step = ranks[1] - first
    if tuple(ranks) == tuple(range(first, total, step)) and first < step:
        return f"rank % {step} == {first}"
    return f"rank in {_tuple(ranks)}"


def _operation(call: Call) -> str:
    if not call.flags & Flag.USER_DEFINED:
        return "MPI.SUM"
    return "NOTHING_IN_ORDER" if call.flags & Flag.NONCOMMUTATIVE else "NOTHING"


def _element(call: Call) -> Expression:
    return call.numbers.get("element", Sum(1))


def values_of(expression: Expression, program: Statements) -> Iterator[int]:
    """Yield all numbers that an expression of constants and tables may be."""
    if isinstance(expression, Sum):
        yield expression.base
    elif isinstance(expression, Listed):
        yield from expression.values
    elif isinstance(expression, ByRank):
        for _, each in expression.cases:
            yield from values_of(each, program)
    elif isinstance(expression, Own | Next):
        table = program.own if isinstance(expression, Own) else program.tables
        for row in table[expression.table].values():
            yield from _flat(row)


def _flat(value: object) -> Iterator[int]:
    if isinstance(value, tuple):
        for each in value:
            yield from _flat(each)
    elif isinstance(value, int):
        yield value


_IMPORTS = """
import argparse
import io
import json
import mmap
import random
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import nullcontext, redirect_stderr, redirect_stdout, suppress
from functools import cache as once
from itertools import cycle, repeat
from operator import itemgetter
from statistics import median
from time import perf_counter, sleep

from mpi4py import MPI
"""

_BUFFERS = """
#: What is sent, and where what is received goes. All of it is 0.
data, room = memoryview(bytearray({largest})), memoryview(bytearray({largest}))
data[:] = bytes(len(data))
#: Requests that are not known to be complete, the newest last.
requests = []
"""

_ROOMS = """
#: Where calls receive that do not wait for it: one place after the other.
rooms = cycle([memoryview(bytearray({nonblocking})) for _ in range({pending})])
"""

_OPERATIONS = """
#: Operations of the application's own: they do nothing.
NOTHING = MPI.Op.Create(lambda one, other, kind: None, commute=True)
NOTHING_IN_ORDER = MPI.Op.Create(lambda one, other, kind: None, commute=False)
"""

_HELPERS = {
    "wait_for_all": '''
def wait_for_all():
    """Wait for all requests."""
    MPI.Request.Waitall(requests)
    requests.clear()
''',
    "wait_for": '''
def wait_for(*ages):
    """Wait for some requests: 0 is the newest, 1 the one before."""
    MPI.Request.Waitall([requests[-1 - age] for age in ages])
    del requests[:-OLDEST]
''',
    "receive_matched": '''
def receive_matched(age):
    """Receive the message that a probe has matched; there is nothing to wait for then."""
    requests[-1 - age].Recv(room)
    requests[-1 - age] = MPI.Request()
''',
    "start_matched": '''
def start_matched(age):
    """Begin to receive the message that a probe has matched."""
    requests[-1 - age] = requests[-1 - age].Irecv(next(rooms))
''',
    "neighbours": '''
def neighbours(comm, dests, sizes, sources):
    """Begin to exchange messages with neighbours; returns their requests."""
    received = [comm.Irecv(next(rooms), source=each, tag=32_000) for each in sources]
    return received + [comm.Isend(data[:size], dest=each, tag=32_000) for each, size in zip(dests, sizes)]


def wait_for_each(several):
    """Wait for requests, some of which are lists of them."""
    MPI.Request.Waitall([one for each in several for one in (each if isinstance(each, list) else [each])])
''',
    "along_bits": '''
def along_bits(comm, sizes, tag, sends):
    """Exchange messages with rank ^ 1, rank ^ 2, rank ^ 4 and so on; where the bit is set this rank sends, or receives."""
    bit = 1
    while bit < comm.size:
        other = comm.rank ^ bit
        for size in sizes if other < comm.size else ():
            if bool(comm.rank & bit) == sends:
                comm.Send(data[:size], dest=other, tag=tag)
            else:
                comm.Recv(room, source=other, tag=tag)
        bit *= 2
''',
    "partner": '''
def partner(number):
    """Return a partner, or that there is none."""
    return MPI.PROC_NULL if number < 0 else number
''',
}

_COMMS = '''
#: Communicators beside the world, by number: the ranks of each.
GROUPS = {{
{groups}}}


@once
def communicators():
    """Return the communicators that this rank is in, by number."""
    made = {{0: world}}
    for number, group in GROUPS.items():
        if rank in group:
            made[number] = world.Create_group(world.group.Incl(group))
    return made


def member(comms, *numbers):
    """Return the one of some communicators that this rank is in, if any."""
    return next((comms[each] for each in numbers if each in comms), None)
'''

_BURSTS = '''
def bursts():
    """Return of each place what this rank does in its bursts, one after the other, again and again."""
    return [cycle([pieces(region, each) for each in by_rank.get(rank, (0,))]) for region, by_rank in BURSTS]


def pieces(region, nanoseconds):
    """Return of each kind of work how many pieces take so long."""
    return tuple((kernel, share * (nanoseconds - CALL) / PIECES[kernel]) for kernel, share in MIX[region].items())
'''

_MEMORY = '''
#: What each rank of the application had in memory at most, bytes.
PEAK = {peak}


def take_memory():
    """Touch as much memory as the application had; from then on copies come from there."""
    global PLACES
    import resource

    here = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    PLACES = places(max(MEMORY, PEAK[rank] - here))
'''

_TABLES = '''
def tables():
    """Return the numbers of this rank in each table, one after the other, again and again."""
    return [cycle(each.get(rank, (0,))) for each in TABLES]
'''

_OWN = '''
def own_numbers():
    """Return the numbers of this rank."""
    return [each.get(rank) for each in OWN]
'''

_RUN = '''
def main():
    """Run the program as often as is wanted, and print what that tells."""
    options = read_options()
    if world.size != RANKS:
        return refuse(f"{sys.argv[0]}: must run on {RANKS} ranks, got {world.size}")
    fault, dedicated = world.bcast(read_dedicated(options.dedicated) if rank == 0 else None)
    if fault:
        return refuse(fault)
    TAKE_MEMORY
    runs, computed = zip(*[run() for _ in range(options.repeats)])
    hosts = world.gather(MPI.Get_processor_name())
    if rank == 0:
        show(options, dedicated, runs, median(computed), list(dict.fromkeys(hosts)))
    return 0


def run():
    """Run the program once; returns how long it took until the last rank had ended, s, and the share of computation."""
    requests.clear()
    OWED.update(dict.fromkeys(OWED, 0.0))
    COMPUTED[0] = 0.0
    prepared = PREPARED
    world.Barrier()
    begin = perf_counter()
    program(*prepared)
    seconds = world.allreduce(perf_counter() - begin, op=MPI.MAX)
    return seconds, world.allreduce(COMPUTED[0]) / RANKS / seconds


def show(options, dedicated, runs, computed, hosts):
    """Print what was measured, and what the application would take here."""
    seconds = median(runs)
    if options.json:
        run = {"skeleton": IDENTITY, "ranks": RANKS, "seconds": seconds, "scale": SCALE, "application": APPLICATION}
        print(json.dumps({**run, "runs": runs, "host": hosts, "compute": computed}))
        return
    ratio, told = (SCALE, f"{SCALE:.4g}") if dedicated is None else (APPLICATION / dedicated, f"{APPLICATION:.4g} s / {dedicated:.4g} s")
    print(
        f"measured {seconds:.4g} s on {RANKS} ranks; the application would take "
        f"{seconds:.4g} s x {told} = {seconds * ratio:.4g} s here (recorded: {APPLICATION:.4g} s)"
    )


def read_options():
    """Read the command line; only the first rank complains."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.add_argument("--repeats", type=positive, default=1, metavar="N", help="run so often; the median counts")
    parser.add_argument(
        "--dedicated",
        metavar="FILE.json",
        help="what a run with --json printed where the application was recorded, with nothing beside it: "
        "the prediction is then relative to that run",
    )
    with nullcontext() if rank == 0 else redirect_stderr(io.StringIO()), nullcontext() if rank == 0 else redirect_stdout(io.StringIO()):
        return parser.parse_args()


def positive(text):
    """Read a whole number above 0."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, got {text!r}")
    return int(text)


def read_dedicated(name):
    """Read a run that had the computer to itself; returns what is wrong with it, and its seconds."""
    if name is None:
        return "", None
    try:
        with open(name, encoding="utf-8") as file:
            run = json.load(file)
        identity, seconds = run["skeleton"], float(run["seconds"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        return f"{name}: file must be what this program prints with --json, got {error!r}", None
    if identity != IDENTITY:
        return f"{name}: skeleton must be {IDENTITY}, got {identity}", None
    return ("", seconds) if seconds > 0 else (f"{name}: seconds must be above 0, got {seconds}", None)


def refuse(fault):
    """Say what is wrong, once; returns the exit status."""
    if rank == 0:
        print(fault, file=sys.stderr)
    return 2


def guarded():
    """End all ranks where one fails."""
    try:
        return main()
    except Exception:
        traceback.print_exc()
        world.Abort(1)
'''

#: What makes the arguments of the program, and what of that is beside figures.
_MADE = {"comms": "communicators()", "burst": "bursts()", "table": "tables()", "own": "own_numbers()"}
_READERS = {"table": _TABLES, "own": _OWN}
