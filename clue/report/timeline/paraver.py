"""A timeline as Paraver reads it: records (``.prv``), their meanings (``.pcf``), names of objects (``.row``).

An instance of the program is an application, a rank is a task of one thread, and a node with ranks is a node. The j-th
rank of a node, from 0 by rank, is on processor j mod p, as in the model. Times are nanoseconds of virtual time. There
are

- states: computation is *Running*; calls have the states that Extrae gives them; before it is spawned a rank is *Not
  created*;
- events: MPI calls by Extrae's types and numbers (calls that Extrae does not know have numbers from 1000 on), the bytes
  that ranks send in collective calls, regions as user functions, call sites as caller lines; the value 0 ends each;
- communications: logical times are those of the calls that send and that post the receive, physical ones those at which
  the data start to leave and have arrived.

Paraver's *Tracefile Description* (Barcelona Supercomputing Center); Extrae's ``MPI_EventEncoding.h`` and ``labels.h``;
for numbers from 174 on, the table of MPI calls in Dimemas (``MPI_Table``), which has the numbers of Extrae.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate, chain, groupby
from pathlib import Path

from clue.files import drafts
from clue.machine import Machine
from clue.printable import printable
from clue.report.timeline.events import Call, Events, Message, Slice
from clue.trace import COLLECTIVES, Op

#: States of Extrae that occur here: name and colour.
_STATES = {
    0: ("Idle", (117, 195, 255)),
    1: ("Running", (0, 0, 255)),
    2: ("Not created", (255, 255, 255)),
    3: ("Waiting a message", (255, 0, 0)),
    4: ("Blocking Send", (255, 0, 174)),
    5: ("Synchronization", (179, 0, 0)),
    6: ("Test/Probe", (0, 255, 0)),
    8: ("Wait/WaitAll", (235, 0, 0)),
    10: ("Immediate Send", (255, 0, 255)),
    11: ("Immediate Receive", (100, 100, 177)),
    13: ("Group Communication", (255, 144, 26)),
    15: ("Others", (192, 224, 0)),
    16: ("Send Receive", (66, 66, 66)),
    20: ("Remote memory access", (255, 0, 96)),
}
_RUNNING, _NOT_CREATED, _COLLECTIVE, _OTHERS, _SEND_RECEIVE = 1, 2, 13, 15, 16
_STATE_OF = {
    Op.SEND: 4, Op.RECV: 3, Op.ISEND: 10, Op.IRECV: 11, Op.WAIT: 8, Op.POLL: 6, Op.PROBE: 6, Op.MPROBE: 6, Op.MRECV: 3,
    Op.SLEEP: 0, Op.BARRIER: 5, Op.RMA: 20,
}  # fmt: skip
#: Types of events.
_POINT_TO_POINT, _GROUP, _OTHER, _ONE_SIDED = 50000001, 50000002, 50000003, 50000004
_SIZE, _REGION, _SITE = 50100001, 60000019, 80000001
_TITLES = {
    _POINT_TO_POINT: "MPI Point-to-point",
    _GROUP: "MPI Collective Comm",
    _OTHER: "MPI Other",
    _ONE_SIDED: "MPI One-sided",
}
_MESSAGE_OPS = frozenset({Op.SEND, Op.RECV, Op.ISEND, Op.IRECV, Op.WAIT, Op.POLL, Op.PROBE, Op.MPROBE, Op.MRECV})
#: Numbers of calls, by their names in lower case.
_NUMBERS = {
    "send": 1, "recv": 2, "isend": 3, "irecv": 4, "wait": 5, "waitall": 6, "bcast": 7, "barrier": 8, "reduce": 9,
    "allreduce": 10, "alltoall": 11, "alltoallv": 12, "gather": 13, "gatherv": 14, "scatter": 15, "scatterv": 16,
    "allgather": 17, "allgatherv": 18, "scan": 30, "bsend": 33, "ssend": 34, "rsend": 35, "ibsend": 36, "issend": 37,
    "irsend": 38, "test": 39, "cancel": 40, "sendrecv": 41, "sendrecv_replace": 42, "waitany": 59, "waitsome": 60,
    "probe": 61, "iprobe": 62, "pack": 76, "unpack": 77, "reduce_scatter": 80, "start": 123, "startall": 124,
    "testall": 125, "testany": 126, "testsome": 128, "spawn": 151, "ireduce": 154, "iallreduce": 155, "ibarrier": 156,
    "ibcast": 157, "ialltoall": 158, "ialltoallv": 159, "iallgather": 160, "iallgatherv": 161, "igather": 162,
    "igatherv": 163, "iscatter": 164, "iscatterv": 165, "ireduce_scatter": 166, "iscan": 167,
    "reduce_scatter_block": 168, "ireduce_scatter_block": 169, "alltoallw": 170, "ialltoallw": 171,
    "neighbor_allgather": 174, "ineighbor_allgather": 175, "neighbor_allgatherv": 176, "ineighbor_allgatherv": 177,
    "neighbor_alltoall": 178, "ineighbor_alltoall": 179, "neighbor_alltoallv": 180, "ineighbor_alltoallv": 181,
    "neighbor_alltoallw": 182, "ineighbor_alltoallw": 183, "mprobe": 190, "improbe": 191, "mrecv": 192, "imrecv": 193,
    "message.probe": 190, "message.iprobe": 191, "message.recv": 192, "message.irecv": 193,
}  # fmt: skip
#: Numbers of collective calls, including those on objects with lower-case names.
_GROUP_NUMBERS = frozenset({*range(7, 19), 30, 80, *range(154, 172), *range(174, 184)})
_FIRST_FREE = 1000
_OPTIONS = """\
DEFAULT_OPTIONS

LEVEL               THREAD
UNITS               NANOSEC
LOOK_BACK           100
SPEED               1
FLAG_ICONS          ENABLED
NUM_OF_STATE_COLORS 1000
YMAX_SCALE          37


DEFAULT_SEMANTIC

THREAD_FUNC         State As Is

"""


def write(files: list[Path], events: Events, machine: Machine, now: datetime | None = None) -> None:
    """Write a timeline and the files that belong to it.

    Raises:
        OutputError: If a file cannot be written.
    """
    objects = _Objects.of(events, machine)
    numbers = _numbered(call.name for call in events.calls)
    with drafts(*files) as (records, meanings, names):
        with records.open("w", encoding="ascii") as file:
            file.write(_header(events, objects, now or datetime.now()) + "\n")
            file.writelines(line + "\n" for line in _records(events, objects, numbers))
        meanings.write_text(_meanings(events, numbers), encoding="ascii")
        names.write_text(_names(events, objects, machine), encoding="ascii")


@dataclass(frozen=True, slots=True)
class _Objects:
    """The numbers of Paraver's objects, which count from 1.

    Attributes:
        nodes: Index of each node that has ranks.
        processors: Number of processors of each of them.
        threads: ``processor:application:task:thread`` of each rank.
    """

    nodes: list[int]
    processors: list[int]
    threads: list[str]

    @classmethod
    def of(cls, events: Events, machine: Machine) -> _Objects:
        nodes = events.nodes
        processors = [machine.nodes[node].processors for node in nodes]
        first = dict(zip(nodes, accumulate(processors, initial=1), strict=False))
        before: Counter[int] = Counter()
        threads = []
        for place in events.places:
            processor = first[place.node] + before[place.node] % machine.nodes[place.node].processors
            before[place.node] += 1
            threads.append(f"{processor}:{place.instance + 1}:{place.rank + 1}:1")
        return cls(nodes, processors, threads)


def _numbered(names: Iterator[str]) -> dict[str, int]:
    """Return the number of each call by its name."""
    new: dict[str, int] = {}
    for name in names:
        if name.lower() not in _NUMBERS:
            new.setdefault(name.lower(), _FIRST_FREE + len(new))
    return _NUMBERS | new


def _plain(text: str) -> str:
    """Return text on one line in ASCII, which is what Paraver reads."""
    return printable(text).encode("ascii", "backslashreplace").decode()


def _header(events: Events, objects: _Objects, now: datetime) -> str:
    """Return the first line: date, duration, processors of each node, and the node of each task of each application.

    Paraver skips one character between applications, so the number of communicators follows the last application only.
    """
    place_of = {node: i for i, node in enumerate(objects.nodes, 1)}
    applications = []
    for _, places in groupby(events.places, key=lambda place: place.instance):
        tasks = [f"1:{place_of[place.node]}" for place in places]
        applications.append(f"{len(tasks)}({','.join(tasks)})")
    nodes = f"{len(objects.nodes)}({','.join(map(str, objects.processors))})"
    duration = f"{events.makespan}_ns"
    return f"#Paraver ({now:%d/%m/%Y at %H:%M}):{duration}:{nodes}:{len(applications)}:{':'.join(applications)},0"


# --- records ---------------------------------------------------------------------------------------------------------

#: A record with its time; simultaneous records stay in the order in which they were made.
_Record = tuple[int, str]


def _records(events: Events, objects: _Objects, numbers: Mapping[str, int]) -> Iterator[str]:
    """Yield the records by time."""
    made = chain(
        _lives(events, objects, numbers),
        (_communication(each, objects) for each in events.messages),
    )
    return (line for _, line in sorted(made, key=lambda record: record[0]))


def _lives(events: Events, objects: _Objects, numbers: Mapping[str, int]) -> Iterator[_Record]:
    """Yield states and events of each rank in order; at equal times an end comes before a start."""
    for place, thread in zip(events.places, objects.threads, strict=True):
        if place.start:
            yield 0, f"1:{thread}:0:{place.start}:{_NOT_CREATED}"
    done: list[Slice | Call] = [*events.computing, *events.calls]
    for each in sorted(done, key=lambda each: (each.rank, each.begin, each.end)):
        thread = objects.threads[each.rank]
        yield from _call(each, thread, numbers) if isinstance(each, Call) else _burst(each, thread)


def _state(thread: str, of: Slice | Call, state: int) -> Iterator[_Record]:
    """Yield a state, unless it takes no time."""
    if of.end > of.begin:
        yield of.begin, f"1:{thread}:{of.begin}:{of.end}:{state}"


def _event(thread: str, time: int, *pairs: int) -> _Record:
    return time, f"2:{thread}:{time}:{':'.join(map(str, pairs))}"


def _burst(burst: Slice, thread: str) -> Iterator[_Record]:
    yield from _state(thread, burst, _RUNNING)
    yield _event(thread, burst.begin, _REGION, burst.region + 1)
    yield _event(thread, burst.end, _REGION, 0)


def _call(call: Call, thread: str, numbers: Mapping[str, int]) -> Iterator[_Record]:
    number = numbers[call.name.lower()]
    yield from _state(thread, call, _state_of(call, number))
    begin, end = [_kind(call, number), number], [_kind(call, number), 0]
    if call.is_collective:
        begin += _SIZE, call.sent
        end += _SIZE, 0
    if call.site:
        begin += _SITE, call.site
        end += _SITE, 0
    yield _event(thread, call.begin, *begin)
    yield _event(thread, call.end, *end)


def _state_of(call: Call, number: int) -> int:
    code = Op(call.ops[0])
    if code not in COLLECTIVES and number in _GROUP_NUMBERS:
        return _COLLECTIVE
    if call.is_exchange:
        return _SEND_RECEIVE
    return _STATE_OF.get(code, _COLLECTIVE if code in COLLECTIVES else _OTHERS)


def _kind(call: Call, number: int) -> int:
    code = call.ops[0]
    if call.name.startswith("Win."):
        return _ONE_SIDED
    if number in _GROUP_NUMBERS or (call.is_collective and code != Op.COMM):
        return _GROUP
    return _POINT_TO_POINT if code in _MESSAGE_OPS else _OTHER


def _communication(message: Message, objects: _Objects) -> _Record:
    sender, receiver = objects.threads[message.source], objects.threads[message.dest]
    sides = f"{sender}:{message.sent}:{message.leaves}:{receiver}:{message.posted}:{message.arrival}"
    return message.sent, f"3:{sides}:{message.nbytes}:{message.tag}"


# --- what numbers and objects are called -----------------------------------------------------------------------------


def _meanings(events: Events, numbers: Mapping[str, int]) -> str:
    """Return the text of the file that names states and events."""
    states = "".join(f"{number:<4} {name}\n" for number, (name, _) in _STATES.items())
    colours = "".join(f"{number:<4} {{{','.join(map(str, colour))}}}\n" for number, (_, colour) in _STATES.items())
    made: dict[tuple[int, int], str] = {}
    for call in events.calls:
        number = numbers[call.name.lower()]
        made[_kind(call, number), number] = call.title
    parts = [_OPTIONS, f"\nSTATES\n{states}\n", f"\nSTATES_COLOR\n{colours}\n"]
    for kind, title in _TITLES.items():
        named = {number: name for (of, number), name in sorted(made.items()) if of == kind}
        parts.append(_event_type(9, kind, title, {0: "Outside MPI", **named}))
    parts.append(_event_type(0, _SIZE, "Send Size in MPI Global OP"))
    regions = {i: name or "(no region)" for i, name in enumerate(events.regions, 1)}
    parts.append(_event_type(0, _REGION, "User function", {0: "End", **regions}))
    sites = {i: name for i, name in enumerate(events.sites) if name}
    parts.append(_event_type(0, _SITE, "Caller line at level 1", {0: "End", **sites}))
    return "".join(parts)


def _event_type(gradient: int, number: int, title: str, values: Mapping[int, str] | None = None) -> str:
    listed = "".join(f"{value:<6} {_plain(name)}\n" for value, name in (values or {}).items())
    return f"\nEVENT_TYPE\n{gradient:<4} {number:<10} {title}\n" + (f"VALUES\n{listed}" if values else "") + "\n"


def _names(events: Events, objects: _Objects, machine: Machine) -> str:
    """Return the text of the file with the names of processors, nodes and threads."""
    nodes = [f"node {node} ({_plain(machine.nodes[node].name)})" for node in objects.nodes]
    processors = [
        f"{i}.{name}" for name, count in zip(nodes, objects.processors, strict=True) for i in range(1, count + 1)
    ]
    threads = [f"THREAD {place.instance + 1}.{place.rank + 1}.1" for place in events.places]
    return "\n".join(_level(*each) for each in (("CPU", processors), ("NODE", nodes), ("THREAD", threads)))


def _level(name: str, objects: Sequence[str]) -> str:
    return f"LEVEL {name} SIZE {len(objects)}\n" + "".join(f"{each}\n" for each in objects)
