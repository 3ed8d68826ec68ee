"""A skeleton as a program in Python, which needs only mpi4py."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import dedent, wrap
from typing import TypeVar

from clue.skeleton import python_frame as frame
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
from clue.skeleton.words import WIDTH, About, burst_text, decimal, groups_text, plain, sum_text, values_of
from clue.trace.ops import COLLECTIVES, REDUCTIONS, Flag, Op

_Row = TypeVar("_Row")
_KERNELS = Path(__file__).with_name("kernels.py")
#: Arguments of a collective that are assigned to a variable before the call unless they are plain numbers, because they
#: may be used twice; and the name of that variable.
_TOLD = {"comm": "comm", "kind": "kind", "nbytes": "size", "sizes": "sizes"}
#: Text in the file of kernels at which the part begins that programs contain.
_BEGIN = "Kernel = "
_TYPES = {1: "MPI.BYTE", 2: "MPI.SHORT", 4: "MPI.FLOAT", 8: "MPI.DOUBLE", 16: "MPI.C_DOUBLE_COMPLEX"}


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
        command = f"mpiexec -n {program.ranks} python {shlex.quote(plain(about.file))}"
        head = about.head(program.ranks, command, program.places)
        yield f'"""{head[0]}'
        yield from head[1:]
        yield '"""'
        yield ""
        yield from dedent(frame.IMPORTS).strip().splitlines()
        yield ""
        yield f'IDENTITY = "{about.identity}"'
        yield f'RECORDING = "{about.recording}"  # identity of the recording that it was made from'
        yield f"RANKS = {program.ranks}"
        yield f"SCALE = {about.scale!r}  # the application's time / this program's"
        yield f"APPLICATION = {about.application!r}  # recorded time of the application, s"
        yield ""
        yield "world = MPI.COMM_WORLD"
        yield "rank = world.rank"
        yield ""
        text = [line for each in (*self._functions.values(), body) for line in ("", *each, "")]
        yield from text
        yield from _section("messages", self._messages(calls, "\n".join(text)))
        yield from _section("work", [self._kernels(), frame.BURSTS, self._memory()])
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
        made = ", ".join(frame.MADE[name] for name in self._arguments())
        memory = "    take_memory()\n" if self._about.memory else ""
        return frame.RUN.replace("PREPARED", f"[{made}]").replace("    TAKE_MEMORY\n", memory)

    def _readers(self) -> list[str]:
        return [text for name, text in frame.READERS.items() if name in self._arguments()]

    def _function(self, name: str, said: str, body: Sequence[Statement]) -> list[str]:
        inner = list(self._block(body)) or ["pass"]
        text = "\n".join(inner)
        names = [
            f"{each} = member(comms, {', '.join(map(str, numbers))})"
            for each, numbers in self._program.named.items()
            if f"{each}." in text or f"({each}," in text
        ]
        lines = [f"def {name}({', '.join(self._arguments())}):", f'    """{said}"""']
        return [*lines, *(each for line in (*names, *inner) for each in _fitted(f"    {line}"))]

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
        """Write a function for the statements of some ranks; returns its name."""
        name = groups_text(branch.ranks)
        again = sum(1 for each in self._functions if each == name or each.startswith(f"{name}_again"))
        name += f"_again_{again}" if again else ""
        self._functions[name] = []  # functions within it, if any, come after it
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
        made = f"along_bits({comm}, [{sizes}], tag={tag}, sends={where})"
        return _said(made, plain(f"{first.site} {first.name}") if first.site else "")

    # --- calls ---

    def _call(self, call: Call) -> tuple[str, ...]:
        """Return the lines of a call, assignments to its variables first, and the method that it calls."""
        numbers = {name: self._text(each, call.comm) for name, each in call.numbers.items()}
        comm = self._comm(call.comm)
        if call.op in COLLECTIVES:
            return self._collective(call, comm, numbers)
        if call.op == Op.WAIT:
            return (f"wait_for({_star(numbers['ages'])})" if "ages" in numbers else "wait_for_all()"), "Waitall"
        if call.op == Op.MRECV:
            name = "start_matched" if call.flags & Flag.NONBLOCKING else "receive_matched"
            return f"{name}({numbers['age']})", "Recv"
        if call.op == Op.SLEEP:
            time = numbers["nbytes"]
            return f"sleep({f'({time})' if ' ' in time else time} * 1e-9)", "sleep"
        return self._message(call, comm, numbers)

    def _message(self, call: Call, comm: str, numbers: Mapping[str, str]) -> tuple[str, str]:
        if call.op in (Op.SEND, Op.ISEND):
            made = f"{comm}.{call.method}(data[:{numbers['nbytes']}], dest={numbers['peer']}, tag={numbers['tag']})"
            made = made.replace(", tag=0)", ")")
            return (made if call.op == Op.SEND else f"requests.append({made})"), call.method
        if call.op == Op.IRECV and "dest" in numbers:
            sent = f"data[:{numbers['nbytes']}], dest={numbers['dest']}, sendtag={numbers['sendtag']}"
            return (
                f"{comm}.Sendrecv({sent}, recvbuf=room, source={numbers['peer']}, recvtag={numbers['tag']})",
                "Sendrecv",
            )
        return self._receive(call.op, comm, f"source={numbers['peer']}, tag={numbers['tag']}")

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
            return (
                f"requests.append({made})" if call.flags & Flag.NONBLOCKING else f"wait_for_each({made})"
            ), "neighbours"
        numbers = {"comm": comm, "kind": self._kind(call), **numbers}
        told = {
            name: _TOLD[name] for name, text in numbers.items() if name in _TOLD and (" if " in text or "next(" in text)
        }
        before = [f"{name} = {numbers[each]}" for each, name in told.items()]
        numbers |= told
        nonblocking = bool(call.flags & Flag.NONBLOCKING)
        given = ", ".join(self._given(call, numbers, "next(rooms)" if nonblocking else "room"))
        made = f"{numbers['comm']}.{call.method}({given})"
        return *before, (f"requests.append({made})" if nonblocking else made), call.method

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
            yield f"op={call.own_operation or 'MPI.SUM'}"
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
        return self._partner(expression, comm)

    def _partner(self, expression: Nobody | Perhaps | Neighbour | ByRank, comm: Comm | None) -> str:
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

    # --- everything else ---

    def _messages(self, calls: Sequence[Call], text: str) -> list[str]:
        """Return buffers, and functions for statements that need more than one call."""
        room = self._program.room
        parts = [frame.BUFFERS.format(largest=number(room.largest))]
        if room.pending:
            parts.append(frame.ROOMS.format(nonblocking=number(max(room.nonblocking, 1)), pending=room.pending))
        if room.buffered:
            parts.append(f"MPI.Attach_buffer(bytearray({number(room.buffered)}))")
        if any(self._kind(call).startswith("TYPES") for call in calls):
            parts.append(
                f"TYPES = {{{', '.join(f'{size}: {name}' for size, name in _TYPES.items())}}}".replace(
                    "MPI.BYTE", "MPI.UNSIGNED_CHAR"
                )
            )
        if any(call.flags & Flag.USER_DEFINED for call in calls):
            parts.append(frame.OPERATIONS)
        parts += [each for name, each in frame.HELPERS.items() if f"{name}(" in text]
        oldest = max((age for call in calls for age in self._ages(call)), default=0)
        parts = [each.replace("OLDEST", str(oldest + 1)) for each in parts]
        if any(call.op is Op.NEIGHBOR and call.flags & Flag.NONBLOCKING for call in calls):
            parts = [each.replace("    MPI.Request.Waitall([req", "    wait_for_each([req") for each in parts]
            parts = [each.replace("    MPI.Request.Waitall(requests)", "    wait_for_each(requests)") for each in parts]
        return [*parts, frame.COMMS.format(groups=self._groups())] if self._program.groups else parts

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
        return frame.MEMORY.format(peak=_tuple(self._about.memory)) if self._about.memory else ""

    def _figures(self) -> Iterator[str]:
        about, program = self._about, self._program
        yield "#: Time of a piece of each kind of work on the recording host, ns; and of a call of compute."
        times = ", ".join(f"{kind}: {time:.1f}" for kind, time in about.pieces.times.items())
        yield f"PIECES, CALL = {{{times}}}, {about.pieces.call:.1f}"
        yield "#: Shares of each kind of work in the computation of each region."
        yield "MIX = {"
        for region in dict.fromkeys(place.region for place in program.places):
            mix = ", ".join(f"{kind}: {share:.6g}" for kind, share in about.characters[region].mix.items())
            yield f"    {json.dumps(region)}: {{{mix}}},"
        yield "}"
        yield "#: For each place its region, and by rank the times of its bursts, ns, which are repeated cyclically."
        yield "BURSTS = ["
        for place in program.places:
            yield f"    ({json.dumps(place.region)}, {{"
            yield from _rows(place.bursts, _tuple)
            yield "    }),"
        yield "]"
        yield from self._numbers()

    def _numbers(self) -> Iterator[str]:
        """Yield the tables of numbers that follow no rule."""
        if self._program.tables:
            yield "#: By rank, numbers without a rule, which are repeated cyclically."
            yield "TABLES = ["
            for table in self._program.tables:
                yield from ("    {", *_rows(table, _tuple), "    },")
            yield "]"
        if self._program.own:
            yield "#: By rank, constant numbers without a rule."
            yield "OWN = ["
            for own in self._program.own:
                yield from ("    {", *_rows(own, _value), "    },")
            yield "]"


def _section(title: str, parts: Sequence[str]) -> Iterator[str]:
    yield from ("", f"# --- {title} ---")
    function = False
    for each in filter(None, parts):
        text = each.strip("\n")
        before, function = function, text.startswith(("def ", "@"))
        yield from ("", "") if before or function else ("",)
        yield from text.splitlines()
    yield ""


def _said(made: str, comment: str) -> str:
    return f"{made}  # {comment}" if comment else made


def _fitted(line: str) -> list[str]:
    """Move the comment of a line that is too long to a line before it."""
    made, _, comment = line.partition("  # ")
    if len(line) <= WIDTH or not comment:
        return [line]
    return [f"{made[: len(made) - len(made.lstrip())]}# {comment}", made]


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
    return number(value) if isinstance(value, int) else decimal(value)


def _rows(rows: Mapping[int, _Row], shown: Callable[[_Row], str]) -> Iterator[str]:
    """Yield the lines of a table: the row of each rank."""
    for rank, row in rows.items():
        text = f"{rank}: {shown(row)},"
        yield from wrap(text, WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 12, break_long_words=False)


def number(value: int) -> str:
    """Return a whole number."""
    return f"{value:_}"


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
