"""A skeleton as a program in C, which needs only an MPI library; its statements are those of the Python program."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import wrap

from clue.skeleton.python import condition
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
from clue.skeleton.work import KINDS
from clue.trace.ops import COLLECTIVES, REDUCTIONS, Flag, Op

FRAME = Path(__file__).with_name("frame.c")
_RUN = Path(__file__).with_name("run.c")
_TYPES = {1: "MPI_BYTE", 2: "MPI_SHORT", 4: "MPI_FLOAT", 8: "MPI_DOUBLE", 16: "MPI_C_DOUBLE_COMPLEX"}
#: Parts of the file of message functions, by the text in a program that needs them, with the parts that these need.
_NEEDS = {
    "vector(": ("vector",), "next(": ("tables",), "next_list(": ("tables", "lists"), "mod(": ("mod",),
    "request()": ("requests",), "wait_for_all(": ("requests", "wait_all"), "wait_for(": ("requests", "wait_some"),
    "message()": ("requests", "messages"), "receive_matched(": ("requests", "messages", "receive_matched"),
    "start_matched(": ("requests", "messages", "rooms", "start_matched"), "next_room()": ("rooms",),
    "neighbours(": ("rooms", "neighbours"), "along_bits(": ("along_bits",), "partner(": ("partner",),
    "type_of(": ("type_of",), "NOTHING": ("nothing",), "member(": ("member",), "rest(": ("rest",),
}  # fmt: skip


def c_program(program: Statements, about: About) -> str:
    """Return the text of a program."""
    return "\n".join(_Writer(program, about).lines()) + "\n"


def compiling(source: str, program: str) -> str:
    """Return the command that compiles a program; without ``-x`` compilers know C by the end of the name alone."""
    language = "" if source.endswith(".c") else "-x c "
    return f"mpicc -O2 {language}{shlex.quote(source)} -o {shlex.quote(program)}"


class _Writer:
    def __init__(self, program: Statements, about: About) -> None:
        self._program = program
        self._about = about
        self._functions: dict[str, list[str]] = {}

    def lines(self) -> Iterator[str]:
        program, about = self._program, self._about
        body = self._function("program", program.body)
        text = [line for each in (*self._functions.values(), body) for line in ("", *each)]
        shown = "\n".join(text)
        parts = _parts(_RUN.read_text(encoding="utf-8"))
        needed = {name for word, names in _NEEDS.items() if word in shown for name in names}
        needed |= {"compute"} if program.places else set()
        needed |= {"memory"} if about.memory else set()
        needed |= {"buffered"} if program.room.buffered else set()
        needed |= {"groups"} if program.groups else {"world"}
        yield "/*"
        name = plain(about.file)
        compiled = "skeleton.out" if name == "skeleton" else "skeleton"
        command = f"{compiling(name, compiled)} && mpiexec -n {program.ranks} ./{compiled}"
        yield from (f" * {line}".rstrip() for line in about.head(program.ranks, command, program.places))
        yield " */"
        yield "#include <mpi.h>"
        yield from FRAME.read_text(encoding="utf-8").rstrip().splitlines()
        yield from ("", "/* --- figures --- */", "")
        yield from self._figures(needed)
        yield from ("", "/* --- messages --- */", "")
        yield from parts["begin"]
        for name, part in parts.items():
            if name in needed:
                yield from part
        yield from ("/* --- the program --- */", *text, "", "/* --- the run --- */", "")
        prepare = {
            "PREPARE_MEMORY": "take_memory();" if "memory" in needed else "",
            "PREPARE_COMMS": "prepare_comms();",
            "RESET_TABLES": "reset_tables();" if "tables" in needed else "",
            "RESET_BURSTS": "reset_bursts();" if "compute" in needed else "",
            "RESET_REQUESTS": "reset_requests();" if "requests" in needed else "",
            "PREPARE_OPERATIONS": "prepare_operations();" if "nothing" in needed else "",
            "PREPARE_BUFFER": "prepare_buffer();" if "buffered" in needed else "",
        }
        for line in parts["run"]:
            word = line.strip().rstrip(";")
            if word not in prepare:
                yield line
            elif prepare[word]:
                yield line.replace(f"{word};", prepare[word])

    # --- statements ---

    def _function(self, name: str, body: Sequence[Statement]) -> list[str]:
        inner = list(self._block(body))
        text = "\n".join(inner)
        names = [
            f"const Communicator *{each} = member({len(numbers)}, (const int[]){{{', '.join(map(str, numbers))}}});"
            for each, numbers in self._program.named.items()
            if f"{each}->" in text or f"({each}," in text
        ]
        return [f"static void {name}(void)", "{", *(f"    {line}" for line in (*names, *inner)), "}"]

    def _block(self, body: Sequence[Statement]) -> Iterator[str]:
        for each in body:
            yield from self._statement(each)

    def _statement(self, statement: Statement) -> Iterator[str]:
        if isinstance(statement, Loop):
            yield from self._loop(statement)
        elif isinstance(statement, Branch):
            yield f"if ({self._condition(statement.ranks)})"
            yield f"    {self._branch(statement)}();"
        elif isinstance(statement, Compute):
            yield f"compute({statement.place}); /* {burst_text(self._program.places[statement.place])} */"
        elif isinstance(statement, AlongBits):
            yield self._along(statement)
        else:
            comment = f" /* {plain(f'{statement.site} {statement.name}')} */" if statement.site else ""
            yield f"{self._call(statement)}{comment}"

    def _loop(self, loop: Loop) -> Iterator[str]:
        variable = loop.variable or "times"
        times = self._text(loop.times)
        head = f"for (long {variable} = 0; {variable} < {times}; {variable}++) {{"
        if not loop.variable or "next(" in times:  # evaluated once
            head = f"for (long {variable} = {times}; {variable} > 0; {variable}--) {{"
        if loop.variable and "next(" in times:
            head = f"for (long {variable} = 0, end = {times}; {variable} < end; {variable}++) {{"
        yield f"{head}{f' /* {plain(loop.site)} */' if loop.site else ''}"
        yield from (f"    {line}" for line in self._block(loop.body))
        yield "}"

    def _branch(self, branch: Branch) -> str:
        name = groups_text(branch.ranks)
        again = sum(1 for each in self._functions if each == name or each.startswith(f"{name}_again"))
        name += f"_again_{again}" if again else ""
        self._functions[name] = []
        self._functions[name] = self._function(name, branch.body)
        return name

    def _along(self, statement: AlongBits) -> str:
        first = statement.calls[0]
        sizes = ", ".join(self._text(call.numbers["nbytes"]) for call in statement.calls)
        comm, tag = self._comm(first.comm), self._text(first.numbers["tag"])
        listed = f"(const long[]){{{len(statement.calls)}, {sizes}}}"
        return f"along_bits({comm}, {listed}, {tag}, {int(first.op == Op.SEND)});"

    # --- calls ---

    def _call(self, call: Call) -> str:
        numbers = {name: self._text(each, call.comm) for name, each in call.numbers.items()}
        comm = f"{self._comm(call.comm)}->comm"
        if call.op in COLLECTIVES:
            return self._collective(call, comm, numbers)
        if call.op == Op.WAIT:
            return f"wait_for({numbers['ages']});" if "ages" in numbers else "wait_for_all();"
        if call.op == Op.MRECV:
            return f"{'start_matched' if call.flags & Flag.NONBLOCKING else 'receive_matched'}({numbers['age']});"
        if call.op == Op.SLEEP:
            return f"rest({numbers['nbytes']});"
        return self._message(call, comm, numbers)

    def _message(self, call: Call, comm: str, numbers: Mapping[str, str]) -> str:
        if call.op in (Op.SEND, Op.ISEND):
            request = "" if call.op == Op.SEND else ", request()"
            sent = f"data, {numbers['nbytes']}, MPI_BYTE, {numbers['peer']}, {numbers['tag']}"
            return f"MPI_{call.method}({sent}, {comm}{request});"
        if call.op == Op.IRECV and "dest" in numbers:
            sent = f"data, {numbers['nbytes']}, MPI_BYTE, {numbers['dest']}, {numbers['sendtag']}"
            received = f"room, MOST, MPI_BYTE, {numbers['peer']}, {numbers['tag']}"
            return f"MPI_Sendrecv({sent}, {received}, {comm}, MPI_STATUS_IGNORE);"
        of = f"{numbers['peer']}, {numbers['tag']}, {comm}"
        return {
            Op.RECV: f"MPI_Recv(room, MOST, MPI_BYTE, {of}, MPI_STATUS_IGNORE);",
            Op.IRECV: f"MPI_Irecv(next_room(), MOST_AT_ONCE, MPI_BYTE, {of}, request());",
            Op.PROBE: f"MPI_Probe({of}, MPI_STATUS_IGNORE);",
            Op.MPROBE: f"MPI_Mprobe({of}, message(), MPI_STATUS_IGNORE);",
        }[call.op]

    def _collective(self, call: Call, comm: str, numbers: Mapping[str, str]) -> str:
        if call.op == Op.COMM:
            return f"{{ MPI_Comm made; MPI_Comm_dup({comm}, &made); MPI_Comm_free(&made); }}"
        if call.op == Op.NEIGHBOR:
            listed = ", ".join(numbers[name] for name in ("dests", "sizes", "sources"))
            request = "request()" if call.flags & Flag.NONBLOCKING else "NULL"
            return f"neighbours({self._comm(call.comm)}, {listed}, {request});"
        nonblocking = bool(call.flags & Flag.NONBLOCKING)
        size = numbers["nbytes"]
        numbers = {**numbers, "nbytes": "size"} if "next(" in size else numbers
        given = [*self._given(call, numbers, "next_room()" if nonblocking else "room"), comm]
        made = f"MPI_{call.method}({', '.join([*given, 'request()'] if nonblocking else given)});"
        lists = [
            f"*{each} = vector({numbers[word]})"
            for each, word in (("v", "sizes"), ("w", "received"))
            if word in numbers
        ]
        before = [f"const long size = {size};"] if "size" in given else []
        before += [f"const int {', '.join(lists)};"] if lists else []
        return f"{{ {' '.join((*before, made))} }}" if before else made

    def _given(self, call: Call, numbers: Mapping[str, str], room: str) -> Iterator[str]:
        """Yield the arguments of a collective call, without communicator and request."""
        if call.op == Op.BARRIER:
            return
        size, kind, some = numbers["nbytes"], self._kind(call), "v, v + RANKS"
        data = "MPI_IN_PLACE" if call.flags & Flag.IN_PLACE else "data"
        if call.op == Op.BCAST:
            yield from (room, size, kind)
        elif call.op == Op.REDUCE_SCATTER:
            yield from (data, room, size if call.flags & Flag.BLOCK else "v", kind, call.own_operation or "MPI_SUM")
        elif call.op in REDUCTIONS:
            yield from (data, room, size, kind, call.own_operation or "MPI_SUM")
        elif call.op == Op.ALLTOALLV:
            yield from (data, some, kind, room, some.replace("v", "w"), kind)
        elif call.op == Op.SCATTERV:
            yield from (data, some, kind, room, size, kind)
        elif call.op in (Op.GATHERV, Op.ALLGATHERV):
            yield from (data, size, kind, room, some, kind)
        else:
            yield from (data, size, kind, room, size, kind)
        if "peer" in numbers:
            yield numbers["peer"]

    def _kind(self, call: Call) -> str:
        element = call.numbers.get("element", Sum(1))
        if isinstance(element, Sum) and element.is_constant:
            return "MPI_UNSIGNED_CHAR" if element.base == 1 and call.op in REDUCTIONS else _TYPES[element.base]
        return f"type_of({self._text(element)})"

    # --- expressions ---

    def _comm(self, comm: Comm) -> str:
        if isinstance(comm, World):
            return "world"
        return comm.name if isinstance(comm, Named) else f"(&comms[{self._text(comm.number)}])"

    def _text(self, expression: Expression, comm: Comm | None = None) -> str:
        if isinstance(expression, Sum):
            return sum_text(expression, str, lambda text, modulus: f"mod({text}, {modulus})")
        if isinstance(expression, Own):
            return f"own_{expression.table}[rank]"
        if isinstance(expression, Next):
            lists = any(isinstance(row[0], tuple) for row in self._program.tables[expression.table].values())
            return f"{'next_list' if lists else 'next'}({expression.table})"
        if isinstance(expression, Listed):
            return _list(expression.values)
        return self._partner(expression, comm)

    def _partner(self, expression: Nobody | Perhaps | Neighbour | ByRank, comm: Comm | None) -> str:
        if isinstance(expression, Nobody):
            return "MPI_PROC_NULL"
        if isinstance(expression, Perhaps):
            return f"partner({self._text(expression.partner)})"
        if isinstance(expression, Neighbour):
            me = "rank" if comm is None or isinstance(comm, World) else f"{self._comm(comm)}->rank"
            size = "RANKS" if me == "rank" else f"{self._comm(comm or World())}->size"
            distance = self._text(expression.distance)
            away = f"{me} - {distance[1:]}" if distance.startswith("-") else f"{me} + {distance}"
            return f"mod({away}, {size})" if expression.around else me if distance == "0" else away
        *cases, (_, other) = expression.cases
        told = "".join(f"{self._condition(ranks)} ? {self._text(each, comm)} : " for ranks, each in cases)
        return f"({told}{self._text(other, comm)})"

    def _condition(self, ranks: Sequence[int]) -> str:
        text = condition(ranks, self._program.ranks)
        if " in " in text:
            return f"({' || '.join(f'rank == {each}' for each in ranks)})"
        first, *others = text.split(" <= rank < ")
        return f"(rank >= {first} && rank < {others[0]})" if others else text

    # --- figures ---

    def _figures(self, needed: set[str]) -> Iterator[str]:
        about, program, room = self._about, self._program, self._program.room
        yield f'#define IDENTITY "{about.identity}"'
        yield f'#define RECORDING "{about.recording}" /* identity of the recording that it was made from */'
        yield f"#define SCALE {about.scale!r}"
        yield f"#define APPLICATION {about.application!r} /* recorded time of the application, s */"
        yield f"#define LARGEST {room.largest}L"
        yield "#define MOST (int)(LARGEST < INT_MAX ? LARGEST : INT_MAX)"
        if "rooms" in needed:
            yield f"#define AT_ONCE {max(room.nonblocking, 1)}L"
            yield "#define MOST_AT_ONCE (int)(AT_ONCE < INT_MAX ? AT_ONCE : INT_MAX)"
        vectors = f", ROOMS = {room.pending}" if "rooms" in needed else ""
        vectors += f", VECTORS = {room.lists}" if "vector" in needed else ""
        if "requests" in needed:
            ages = [age for call in program.calls() for name in ("age", "ages") if name in call.numbers
                    for age in values_of(call.numbers[name], program)]  # fmt: skip
            vectors += f", OLDEST = {max(ages, default=0) + 1}"
        yield f"enum {{ RANKS = {program.ranks}{vectors} }};"
        if "buffered" in needed:
            yield f"#define BUFFERED {room.buffered}"
        if about.memory:
            yield f"static const double peak[RANKS] = {{{', '.join(map(str, about.memory))}}};"
        if program.places:
            yield from self._bursts()
        yield from self._tables()
        if program.groups:
            yield from self._groups()

    def _bursts(self) -> Iterator[str]:
        about, program = self._about, self._program
        yield "/* Time of a piece of each kind of work on the recording host, ns; and of a call of compute. */"
        times = ", ".join(f"{about.pieces.times[kind]:.2f}" for kind in KINDS)
        yield f"static const double pieces[KINDS] = {{{times}}};"
        yield f"static const double call = {about.pieces.call:.2f};"
        regions = list(dict.fromkeys(place.region for place in program.places))
        yield "/* Shares of each kind of work in the computation of each region. */"
        mixes = [about.characters[region].mix for region in regions]
        shares = ", ".join(f"{{{', '.join(f'{mix.get(kind, 0.0):.6g}' for kind in KINDS)}}}" for mix in mixes)
        yield f"static const double mix[{len(regions)}][KINDS] = {{{shares}}};"
        yield "/* For each place, by rank, the times of its bursts, ns, which are repeated cyclically. */"
        for i, place in enumerate(program.places):
            yield from _arrays(
                "double", f"bursts_{i}", {rank: [decimal(each) for each in row] for rank, row in place.bursts.items()}
            )
        yield f"enum {{ PLACES = {len(program.places)} }};"
        numbers = ", ".join(str(regions.index(place.region)) for place in program.places)
        yield from _wrapped(f"static const int region_of[PLACES] = {{{numbers}}};")
        yield "static const struct { const double *bursts; long length; } bursts_of[PLACES][RANKS] = {"
        for i, place in enumerate(program.places):
            yield from self._rows(f"bursts_{i}", {rank: len(row) for rank, row in place.bursts.items()})
        yield "};"

    def _tables(self) -> Iterator[str]:
        program = self._program
        rows = [{rank: _flat(row) for rank, row in table.items()} for table in program.tables]
        for i, table in enumerate(rows):
            yield from _arrays("long", f"table_{i}", {rank: list(map(str, row)) for rank, row in table.items()})
        if rows:
            yield f"enum {{ TABLES = {len(rows)} }};"
            yield "static const struct { const long *values; long length; } tables[TABLES][RANKS] = {"
            for i, table in enumerate(rows):
                yield from self._rows(f"table_{i}", {rank: len(row) for rank, row in table.items()})
            yield "};"
        for i, own in enumerate(program.own):
            lists = any(isinstance(each, tuple) for each in own.values())
            entries = (_entry(own.get(rank), lists) for rank in range(program.ranks))
            kind = "const long *const" if lists else "const long"
            yield from _wrapped(f"static {kind} own_{i}[RANKS] = {{{', '.join(entries)}}};")

    def _rows(self, name: str, lengths: Mapping[int, int]) -> list[str]:
        """Return the arrays of all ranks with their lengths."""
        known = (
            f"{{{name}_{rank}, {lengths[rank]}}}" if rank in lengths else "{NULL, 0}"
            for rank in range(self._program.ranks)
        )
        return [f"    {line}" for line in _wrapped(f"{{{', '.join(known)}}},")]

    def _groups(self) -> Iterator[str]:
        groups = self._program.groups
        for number, group in groups.items():
            yield from _wrapped(f"static const int group_{number}[] = {{{', '.join(map(str, group))}}};")
        yield f"enum {{ GROUPS = {len(groups)}, COMMS = {max(groups) + 1} }};"
        yield "static const struct { int number, size; const int *group; } groups[GROUPS] = {"
        yield from (f"    {{{number}, {len(group)}, group_{number}}}," for number, group in groups.items())
        yield "};"


def _parts(text: str) -> dict[str, list[str]]:
    """Return the parts of a file by their titles, which are in lines such as ``//@ requests``."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line.startswith("//@ "):
            part = found.setdefault(line[4:], [])
        else:
            part.append(line)
    return found


def _list(values: Sequence[object]) -> str:
    """Return a list in C: its length, then its entries."""
    return f"(const long[]){{{', '.join(map(str, (len(values), *values)))}}}"


def _flat(row: Sequence[object]) -> list[object]:
    return [number for each in row for number in ((len(each), *each) if isinstance(each, tuple) else (each,))]


def _entry(value: object, is_list: bool) -> str:
    if value is None:
        return "NULL" if is_list else "0"
    return _list(value) if isinstance(value, tuple) else str(value)


def _arrays(kind: str, name: str, rows: Mapping[int, Sequence[str]]) -> Iterator[str]:
    for rank, row in rows.items():
        yield from _wrapped(f"static const {kind} {name}_{rank}[] = {{{', '.join(row)}}};")


def _wrapped(text: str) -> list[str]:
    return wrap(text, WIDTH, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
