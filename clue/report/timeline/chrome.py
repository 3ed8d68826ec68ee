"""A timeline in the Trace Event Format, which Perfetto (https://ui.perfetto.dev) and chrome://tracing load.

A node is a process, a rank is a thread of it. Complete events (``X``) are bursts, named by their region, and calls,
named as in MPI; within a call are the activities of its rank: sending, receiving, waiting. Flow events (``s``, ``f``)
lead from the call that sends a message to the call that ends with the message received. Counters (``C``) of a node are
the number of computing ranks and the bytes under way from it. Times are microseconds of virtual time, with three
decimals: nanoseconds.

The format: *Trace Event Format*, Nat Duca and Dan Sinclair, 2016. Simultaneous events are taken in the order of the
file, so calls come before the flows that belong to them, and these before the activities within calls.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from clue.files import drafts
from clue.machine import Machine
from clue.printable import printable
from clue.report.timeline.events import Call, Events, Slice
from clue.result import Activity
from clue.trace import Op

_Event = dict[str, Any]
_WORDS = {Activity.SEND: "sending", Activity.RECEIVE: "receiving", Activity.WAIT: "waiting"}


def write(files: list[Path], events: Events, machine: Machine) -> None:
    """Write a timeline.

    Raises:
        OutputError: If the file cannot be written.
    """
    about = {
        "program": events.program,
        "machine": machine.name,
        "engine": events.engine,
        "made by": "clue",
        "times": "ts and dur are microseconds of virtual time",
    }
    with drafts(*files) as (draft,), draft.open("w", encoding="utf-8") as file:
        file.write(f'{{"displayTimeUnit": "ns", "otherData": {json.dumps(about)}, "traceEvents": [\n')
        for i, event in enumerate(_events(events, machine)):
            file.write((",\n" if i else "") + json.dumps(event))
        file.write("\n]}\n")


def _events(events: Events, machine: Machine) -> Iterator[_Event]:
    return chain(
        _names(events, machine),
        (_burst(events, each) for each in events.computing),
        (_call(events, each) for each in events.calls),
        _flows(events),
        (_within(events, each) for each in events.slices if each.activity is not Activity.COMPUTE),
        _counters(events),
    )


def _microseconds(nanoseconds: int) -> float:
    return nanoseconds / 1000


def _process(node: int) -> int:
    """Return the process number of a node, from 1: 0 stands for no process."""
    return node + 1


def _thread(events: Events, rank: int) -> _Event:
    return {"pid": _process(events.places[rank].node), "tid": rank + 1}


def _names(events: Events, machine: Machine) -> Iterator[_Event]:
    """Name processes and threads, and put them in order."""
    several = any(place.instance for place in events.places)
    for node in events.nodes:
        name = f"node {node} ({printable(machine.nodes[node].name)})"
        for key, args in (("process_name", {"name": name}), ("process_sort_index", {"sort_index": node})):
            yield {"ph": "M", "name": key, "pid": _process(node), "args": args}
    for rank, place in enumerate(events.places):
        name = f"instance {place.instance}, rank {place.rank}" if several else f"rank {place.rank}"
        for key, args in (("thread_name", {"name": name}), ("thread_sort_index", {"sort_index": rank})):
            yield {"ph": "M", "name": key, **_thread(events, rank), "args": args}


def _complete(events: Events, of: Slice | Call, name: str, category: str, args: _Event | None = None) -> _Event:
    return {
        "ph": "X",
        "name": printable(name),
        "cat": category,
        **_thread(events, of.rank),
        "ts": _microseconds(of.begin),
        "dur": _microseconds(of.end - of.begin),
        **({"args": args} if args else {}),
    }


def _burst(events: Events, burst: Slice) -> _Event:
    return _complete(events, burst, events.regions[burst.region] or "compute", "compute")


def _within(events: Events, piece: Slice) -> _Event:
    return _complete(events, piece, _WORDS[piece.activity], "activity")


def _call(events: Events, call: Call) -> _Event:
    category = "collective" if call.is_collective else "mpi"
    return _complete(events, call, call.title, category, dict(_about(events, call)))


def _about(events: Events, call: Call) -> Iterator[tuple[str, object]]:
    """Yield the arguments of a call: site, partner, and bytes (of a call that sends and receives, the bytes sent)."""
    if call.site:
        yield "site", printable(events.sites[call.site])
    partners = call.dests or call.sources
    if partners:
        yield "partner", partners[0] if len(partners) == 1 else list(partners)
    if call.is_collective:
        yield "ranks", call.members
    if call.root is not None:
        yield "root", call.root
    if call.dests or call.is_collective or Op.PACK in call.ops:
        yield "bytes", call.sent
    elif partners:
        yield "bytes", call.received
    if call.dests and call.sources:
        yield "source", call.sources[0] if len(call.sources) == 1 else list(call.sources)
        yield "bytes received", call.received


def _flows(events: Events) -> Iterator[_Event]:
    """Yield a start and an end of each message; the end lies within the call that takes it."""
    for number, each in enumerate(events.messages):
        common = {"name": "message", "cat": "message", "id": number}
        args = {"bytes": each.nbytes, "tag": each.tag, "leaves (us)": _microseconds(each.leaves),
                "arrives (us)": _microseconds(each.arrival)}  # fmt: skip
        yield {
            "ph": "s",
            **common,
            **_thread(events, each.source),
            "ts": _inside(each.sent, each.sending),
            "args": args,
        }
        yield {"ph": "f", "bp": "e", **common, **_thread(events, each.dest), "ts": _inside(each.arrival, each.taken)}


def _inside(time: int, call: tuple[int, int]) -> float:
    """Return the time within a call that is nearest to a time, in microseconds: a flow binds to the slice open then."""
    begin, end = call
    return _microseconds(min(max(time, begin), max(end - 1, begin)))


def _counters(events: Events) -> Iterator[_Event]:
    """Yield the number of computing ranks of each node, and the number of bytes under way from it."""
    computing: dict[int, list[tuple[int, int]]] = {node: [] for node in events.nodes}
    leaving: dict[int, list[tuple[int, int]]] = {node: [] for node in events.nodes}
    for burst in events.computing:
        computing[events.places[burst.rank].node] += (burst.begin, 1), (burst.end, -1)
    for each in events.messages:
        leaving[events.places[each.source].node] += (each.leaves, each.nbytes), (each.arrival, -each.nbytes)
    for name, key, changes in (("ranks computing", "ranks", computing), ("bytes on the way", "bytes", leaving)):
        for node, of_node in changes.items():
            for time, level in levels(of_node):
                at = {"pid": _process(node), "ts": _microseconds(time)}
                yield {"ph": "C", "name": name, **at, "args": {key: level}}


def levels(changes: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Turn changes of a level at times into times and the levels from then on; times without a change are left out."""
    table = np.array(list(changes), np.int64).reshape(-1, 2)
    times, which = np.unique(table[:, 0], return_inverse=True)
    steps = np.zeros(len(times), np.int64)
    np.add.at(steps, which.ravel(), table[:, 1])
    changed = steps != 0
    yield from zip(times[changed].tolist(), np.cumsum(steps)[changed].tolist(), strict=True)
