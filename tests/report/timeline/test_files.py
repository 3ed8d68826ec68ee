"""Timelines for other tools: contents by hand, and the rules of the file formats."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from clue.errors import DeadlockError, UsageError
from clue.kernel import compile_program, simulate
from clue.machine import Machine
from clue.machine.contention import NUMBERS
from clue.report.timeline import MOST_OPS, check_length, form_of, paraver, write_timeline
from clue.report.timeline.chrome import levels
from clue.report.timeline.events import Events, events_of
from clue.result import Result
from clue.trace import PROC_NULL, Flag, Op, Trace, TraceBuilder
from clue.trace.sites import Frame, Site
from tests.kernel.cases import machine
from tests.kernel.random_cases import CASES, random_machine, random_placement, random_trace

_Event = dict[str, Any]
SITE = Site((Frame("pingpong.py", "main", 12, 0),))


def ping_pong() -> Trace:
    """Return a trace of half a second of computation, an eager message of 1 KB, and a rendezvous reply of 20 KB.

    On the machine made by hand, in ms: the first message starts at 500, occupies its sender until 511 and arrives at
    613; its receive ends at 614. The second send is ready at 614, and its handshake takes 110: it starts at 724,
    occupies its sender until 754 and arrives at 894; its receive, which is posted at 511, ends at 895.
    """
    trace = TraceBuilder(2, "pingpong.py")
    trace[0].compute(0.5, "solve")
    trace[0].at(SITE)
    for source, dest, nbytes, tag in ((0, 1, 1000, 7), (1, 0, 20_000, 8)):
        trace[source].send(dest, nbytes, tag)
        trace[dest].recv(source, tag)
    return trace.build()


def replayed(trace: Trace, on: Machine, **options: Any) -> Result:
    """Return a result with the timeline and the calls."""
    return simulate(compile_program(trace), on, timeline=True, calls=True, **options)


def written(trace: Trace, on: Machine, path: Path, **options: Any) -> list[Path]:
    """Simulate, write the timeline, and return the paths of the files."""
    return write_timeline(path, trace, compile_program(trace), on, replayed(trace, on, **options))


def chrome(trace: Trace, on: Machine, folder: Path, **options: Any) -> _Event:
    """Return a timeline's document in the Trace Event Format."""
    (path,) = written(trace, on, folder / "t.json", **options)
    document: _Event = json.loads(path.read_text())
    return document


# --- the Trace Event Format ------------------------------------------------------------------------------------------


def ns(microseconds: float) -> int:
    """Return nanoseconds, as Perfetto reads them."""
    return round(microseconds * 1000)


def check_events(events: list[_Event]) -> None:
    """Check the rules of the format: fields by phase, nested slices, flows that begin and end in slices."""
    slices: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    flows: dict[tuple[Any, ...], dict[str, _Event]] = defaultdict(dict)
    for event in events:
        assert isinstance(event["name"], str) and isinstance(event["pid"], int) and event["pid"] > 0
        phase = event["ph"]
        if phase == "M":
            assert event["name"] in {"process_name", "process_sort_index", "thread_name", "thread_sort_index"}
            assert set(event["args"]) == {"sort_index" if event["name"].endswith("index") else "name"}
            continue
        assert event["ts"] >= 0
        if phase == "C":
            assert all(isinstance(value, int) and value >= 0 for value in event["args"].values())
            continue
        assert isinstance(event["tid"], int) and event["tid"] > 0
        if phase == "X":
            slices[event["pid"], event["tid"]].append((ns(event["ts"]), ns(event["ts"]) + ns(event["dur"])))
        else:
            assert phase in {"s", "f"} and (phase == "s" or event["bp"] == "e")
            flows[event["cat"], event["name"], event["id"]][phase] = event
    for own in slices.values():
        around: list[tuple[int, int]] = []
        for begin, end in sorted(own, key=lambda each: (each[0], -each[1])):
            while around and around[-1][1] <= begin:
                around.pop()
            assert begin <= end and (not around or end <= around[-1][1])
            around.append((begin, end))
    for pair in flows.values():
        assert set(pair) == {"s", "f"} and ns(pair["s"]["ts"]) <= ns(pair["f"]["ts"]) + 1
        for event in pair.values():
            own, time = slices[event["pid"], event["tid"]], ns(event["ts"])
            assert any(begin <= time < end or begin == time == end for begin, end in own)


def told(event: _Event) -> tuple[Any, ...]:
    """Return the fields of an event with a duration."""
    return event["tid"], event["name"], event["cat"], event["ts"], event["dur"], event.get("args", {})


def test_chrome_tells_a_ping_pong_as_added_up_by_hand(tmp_path: Path) -> None:
    """Slices, flows and counters match the hand calculation, in microseconds."""
    document = chrome(ping_pong(), machine(), tmp_path)
    events = document["traceEvents"]
    check_events(events)
    assert document["displayTimeUnit"] == "ns"
    assert document["otherData"]["program"] == "pingpong.py"
    assert "microseconds of virtual time" in document["otherData"]["times"]
    named = {(each["name"], each["pid"], each.get("tid")): each["args"] for each in events if each["ph"] == "M"}
    assert named["process_name", 1, None] == {"name": "node 0 (host)"}
    assert named["thread_name", 2, 2] == {"name": "rank 1"}
    at = {"site": "pingpong.py:12 main"}
    assert [told(each) for each in events if each["ph"] == "X"] == [
        (1, "solve", "compute", 0.0, 500_000.0, {}),
        (1, "MPI_Send", "mpi", 500_000.0, 11_000.0, at | {"partner": 1, "bytes": 1000}),
        (1, "MPI_Recv", "mpi", 511_000.0, 384_000.0, at | {"partner": 1, "bytes": 20_000}),
        (2, "MPI_Recv", "mpi", 0.0, 614_000.0, {"partner": 0, "bytes": 1000}),
        (2, "MPI_Send", "mpi", 614_000.0, 140_000.0, {"partner": 0, "bytes": 20_000}),
        (1, "sending", "activity", 500_000.0, 11_000.0, {}),
        (1, "waiting", "activity", 511_000.0, 383_000.0, {}),
        (1, "receiving", "activity", 894_000.0, 1_000.0, {}),
        (2, "waiting", "activity", 0.0, 613_000.0, {}),
        (2, "receiving", "activity", 613_000.0, 1_000.0, {}),
        (2, "waiting", "activity", 614_000.0, 110_000.0, {}),
        (2, "sending", "activity", 724_000.0, 30_000.0, {}),
    ]
    flows = [(each["ph"], each["id"], each["tid"], each["ts"]) for each in events if each.get("cat") == "message"]
    assert flows == [("s", 0, 1, 500_000.0), ("f", 0, 2, 613_000.0), ("s", 1, 2, 614_000.0), ("f", 1, 1, 894_000.0)]
    counters = [(each["name"], each["pid"], each["ts"], *each["args"].items()) for each in events if each["ph"] == "C"]
    assert counters == [
        ("ranks computing", 1, 0.0, ("ranks", 1)),
        ("ranks computing", 1, 500_000.0, ("ranks", 0)),
        ("bytes on the way", 1, 500_000.0, ("bytes", 1000)),
        ("bytes on the way", 1, 613_000.0, ("bytes", 0)),
        ("bytes on the way", 2, 724_000.0, ("bytes", 20_000)),
        ("bytes on the way", 2, 894_000.0, ("bytes", 0)),
    ]


def test_a_call_of_several_ops_is_one(tmp_path: Path) -> None:
    """A Sendrecv has both partners, a collective its ranks, root and bytes; a burst without region is named compute.

    The bytes of a collective are those that a rank sends: of a broadcast, 64 at its root, rank 1, and none at rank 0.
    """
    trace = TraceBuilder(2)
    for rank, own in enumerate(trace):
        own.compute(1.0)
        own.add(Op.IRECV, call="Sendrecv", peer=1 - rank, request=0)
        own.add(Op.ISEND, call="Sendrecv", peer=1 - rank, nbytes=500, request=1, flags=Flag.CONTINUED)
        own.add(Op.WAIT, call="Sendrecv", extras=(0, 1), flags=Flag.CONTINUED)
        own.collective(Op.BCAST, 64, root=1)
        own.collective(Op.ALLTOALLV, extras=(10, 20))
    document = chrome(trace.build(), machine(), tmp_path)
    check_events(document["traceEvents"])
    slices = [each for each in document["traceEvents"] if each["ph"] == "X" and each["tid"] == 1]
    about = {each["name"]: each.get("args") for each in slices}
    assert about["MPI_Sendrecv"] == {"partner": 1, "bytes": 500, "source": 1, "bytes received": 500}
    assert about["MPI_Bcast"] == {"ranks": 2, "root": 1, "bytes": 0}
    (at_root,) = (each for each in document["traceEvents"] if each["name"] == "MPI_Bcast" and each["tid"] == 2)
    assert at_root["args"]["bytes"] == 64
    assert about["MPI_Alltoallv"] == {"ranks": 2, "bytes": 30}
    assert about["compute"] is None
    assert {each["cat"] for each in slices} == {"compute", "mpi", "collective", "activity"}


def test_bytes_of_collective_calls_are_those_that_are_sent(tmp_path: Path) -> None:
    """On 4 ranks, an Alltoall and a Reduce_scatter of blocks of 1 kB send 4 kB from each rank."""
    trace = TraceBuilder(4)
    for own in trace:
        own.collective(Op.ALLTOALL, 1000)
        own.collective(Op.REDUCE_SCATTER, 1000)
        own.add(Op.PACK, nbytes=30)
    built = trace.build()
    calls = events_of(built, compile_program(built), replayed(built, machine(4))).calls
    assert [each.sent for each in calls] == [4000, 4000, 30] * 4
    records, _, _ = written(built, machine(4), tmp_path / "t.prv")
    _, _, events, _ = parsed(records.read_text())
    assert [value for _, _, kind, value in events if kind == 50100001 and value] == [4000] * 8


def test_instances_have_threads_of_their_own(tmp_path: Path) -> None:
    """Threads are named by instance and rank; partners are ranks within the instance's program."""
    document = chrome(ping_pong(), machine(4), tmp_path, instances=2)
    check_events(document["traceEvents"])
    named = [each["args"]["name"] for each in document["traceEvents"] if each["name"] == "thread_name"]
    assert named == ["instance 0, rank 0", "instance 0, rank 1", "instance 1, rank 0", "instance 1, rank 1"]
    calls = [told(each) for each in document["traceEvents"] if each.get("cat") == "mpi"]
    assert [each[1:] for each in calls[:4]] == [each[1:] for each in calls[4:]]
    flows = [(each["id"], each["tid"]) for each in document["traceEvents"] if each["ph"] in {"s", "f"}]
    assert flows == [(0, 1), (0, 2), (1, 2), (1, 1), (2, 3), (2, 4), (3, 4), (3, 3)]


def test_levels_are_sums_of_changes() -> None:
    """Simultaneous changes are summed, and nothing is written if they cancel."""
    assert list(levels([(5, 1), (3, 2), (5, -1), (9, -2)])) == [(3, 2), (9, 0)]
    assert list(levels([])) == []


# --- Paraver ---------------------------------------------------------------------------------------------------------

Thread = tuple[int, int, int, int]


def parsed(text: str) -> tuple[re.Match[str], list[tuple[Thread, int, int, int]], list[Any], list[Any]]:
    """Return header, states (thread, begin, end, state), events and communications; check the order of times."""
    first, *lines = text.splitlines()
    header = re.fullmatch(r"#Paraver \((\d\d/\d\d/\d{4} at \d\d:\d\d)\):(\d+)_ns:(\d+)\(([\d,]+)\):(\d+):(.+),0", first)
    assert header
    states, events, communications = [], [], []
    last = 0
    for line in lines:
        kind, *numbers = map(int, line.split(":"))
        thread: Thread = (numbers[0], numbers[1], numbers[2], numbers[3])
        assert numbers[4] >= last
        last = numbers[4]
        if kind == 1:
            _, _, _, _, begin, end, state = numbers
            assert begin < end
            states.append((thread, begin, end, state))
        elif kind == 2:
            pairs = numbers[5:]
            assert len(pairs) % 2 == 0
            events += [(thread, numbers[4], *pair) for pair in zip(pairs[::2], pairs[1::2], strict=True)]
        else:
            assert kind == 3 and len(numbers) == 14
            communications.append((thread, *numbers[4:6], tuple(numbers[6:10]), *numbers[10:]))
    return header, states, events, communications


def values(meanings: str, kind: int) -> dict[int, str]:
    """Return the meanings of the values of an event type."""
    block = next(each for each in meanings.split("EVENT_TYPE\n")[1:] if each.split()[1] == str(kind))
    lines = block.partition("VALUES\n")[2].strip().splitlines()
    return {int(number): name for number, name in (line.split(maxsplit=1) for line in lines)}


def test_paraver_tells_a_ping_pong_as_added_up_by_hand(tmp_path: Path) -> None:
    """Header, states, events and communications match the hand calculation in nanoseconds, and have their names."""
    records, meanings, names = written(ping_pong(), machine(), tmp_path / "t.prv")
    header, states, events, communications = parsed(records.read_text())
    assert header.groups()[1:] == ("895000000", "2", "1,1", "1", "2(1:1,1:2)")
    one, two, ms = (1, 1, 1, 1), (2, 1, 2, 1), 1_000_000
    assert sorted(states) == [
        (one, 0, 500 * ms, 1), (one, 500 * ms, 511 * ms, 4), (one, 511 * ms, 895 * ms, 3),
        (two, 0, 614 * ms, 3), (two, 614 * ms, 754 * ms, 4),
    ]  # fmt: skip
    assert [each for each in events if each[2] == 50000001] == [
        (two, 0, 50000001, 2), (one, 500 * ms, 50000001, 1), (one, 511 * ms, 50000001, 0), (one, 511 * ms, 50000001, 2),
        (two, 614 * ms, 50000001, 0), (two, 614 * ms, 50000001, 1), (two, 754 * ms, 50000001, 0),
        (one, 895 * ms, 50000001, 0),
    ]  # fmt: skip
    assert communications == [
        (one, 500 * ms, 500 * ms, two, 0, 613 * ms, 1000, 7),
        (two, 614 * ms, 724 * ms, one, 511 * ms, 894 * ms, 20_000, 8),
    ]
    text = meanings.read_text()
    assert values(text, 50000001) == {0: "Outside MPI", 1: "MPI_Send", 2: "MPI_Recv"}
    assert values(text, 60000019) == {0: "End", 1: "(no region)", 2: "solve"}
    assert values(text, 80000001) == {0: "End", 1: "pingpong.py:12 main"}
    assert (one, 0, 60000019, 2) in events and (one, 511 * ms, 80000001, 1) in events
    assert "1    Running\n" in text and "1    {0,0,255}\n" in text and "UNITS               NANOSEC" in text
    assert names.read_text() == (
        "LEVEL CPU SIZE 2\n1.node 0 (host)\n1.node 1 (host)\n\nLEVEL NODE SIZE 2\nnode 0 (host)\nnode 1 (host)\n\n"
        "LEVEL THREAD SIZE 2\nTHREAD 1.1.1\nTHREAD 1.2.1\n"
    )


def test_paraver_knows_instances_nodes_and_processors(tmp_path: Path) -> None:
    """Instances are applications, nodes without ranks are left out, and ranks beyond the processors share them."""
    on = machine(3, processors=2)
    records, _, names = written(ping_pong(), on, tmp_path / "t.prv", instances=2, placement=[0, 2, 2, 2])
    header, states, _, communications = parsed(records.read_text())
    assert header.groups()[2:] == ("2", "2,2", "2", "2(1:1,1:2):2(1:2,1:2)")
    assert {thread for thread, *_ in states} == {(1, 1, 1, 1), (3, 1, 2, 1), (4, 2, 1, 1), (3, 2, 2, 1)}
    assert {(each[0][1], each[3][1]) for each in communications} == {(1, 1), (2, 2)}
    assert names.read_text().startswith("LEVEL CPU SIZE 4\n1.node 0 (host)\n2.node 0 (host)\n1.node 2 (host)\n")


def test_paraver_knows_collective_calls_of_objects_and_exchanges_at_an_edge(tmp_path: Path) -> None:
    """An allreduce of objects, made of messages, is shown as a collective, and a Sendrecv with PROC_NULL as a call."""
    trace = TraceBuilder(2)
    for rank, own in enumerate(trace):
        for number, call, partner in ((0, "allreduce", 1 - rank), (2, "Sendrecv", PROC_NULL)):
            own.add(Op.IRECV, call=call, peer=partner, request=number)
            own.add(Op.ISEND, call=call, peer=partner, nbytes=9, request=number + 1, flags=Flag.CONTINUED)
            own.add(Op.WAIT, call=call, extras=(number, number + 1), flags=Flag.CONTINUED)
        own.collective(Op.ALLREDUCE, 8)
    records, meanings, _ = written(trace.build(), machine(), tmp_path / "t.prv")
    _, states, events, _ = parsed(records.read_text())
    assert {state for _, _, _, state in states} <= {13, 16}
    assert [each[2:] for each in events if each[0][2] == 1] == [
        (50000002, 10), (50000002, 0), (50000001, 41), (50000001, 0), (50000002, 10), (50100001, 8), (50000002, 0),
        (50100001, 0),
    ]  # fmt: skip
    assert values(meanings.read_text(), 50000002) == {0: "Outside MPI", 10: "MPI_Allreduce"}
    assert values(meanings.read_text(), 50000001) == {0: "Outside MPI", 41: "MPI_Sendrecv"}


def test_paraver_names_a_call_in_each_type_that_it_has(tmp_path: Path) -> None:
    """A Waitall that waits on rank 0, and has nothing to wait for on rank 1, is named in both types of events."""
    trace = TraceBuilder(2)
    trace[0].add(Op.IRECV, call="Irecv", peer=1, request=0)
    trace[0].add(Op.WAIT, call="Waitall", extras=(0,))
    trace[1].send(0, 100)
    trace[1].add(Op.LOCAL, call="Waitall")
    _, meanings, _ = written(trace.build(), machine(), tmp_path / "t.prv")
    assert values(meanings.read_text(), 50000001) == {
        0: "Outside MPI", 1: "MPI_Send", 4: "MPI_Irecv", 6: "MPI_Waitall",
    }  # fmt: skip
    assert values(meanings.read_text(), 50000003) == {0: "Outside MPI", 6: "MPI_Waitall"}


def test_paraver_takes_collective_calls_for_such(tmp_path: Path) -> None:
    """Collective calls are of one type, with the numbers of Extrae where it has one; making a communicator is not."""
    trace = TraceBuilder(2)
    for own in trace:
        own.add(Op.REDUCE_SCATTER, call="Reduce_scatter_block", nbytes=8)
        own.add(Op.ALLTOALLV, call="Alltoallw", extras=(8, 8))
        own.add(Op.EXSCAN, call="Exscan", nbytes=8)
        own.add(Op.BARRIER, call="Start")
        own.add(Op.COMM, call="Split")
    _, meanings, _ = written(trace.build(), machine(), tmp_path / "t.prv")
    assert values(meanings.read_text(), 50000002) == {
        0: "Outside MPI", 123: "MPI_Start", 168: "MPI_Reduce_scatter_block", 170: "MPI_Alltoallw", 1000: "MPI_Exscan",
    }  # fmt: skip
    assert values(meanings.read_text(), 50000003) == {0: "Outside MPI", 1001: "MPI_Split"}


def test_paraver_reads_ascii_alone(tmp_path: Path) -> None:
    """Non-ASCII letters and line breaks are escaped, and calls that Extrae does not know get their own numbers."""
    trace = TraceBuilder(1)
    trace[0].compute(1.0, "löse\nmich")
    trace[0].add(Op.OTHER, call="File.Open")
    records, meanings, _ = written(trace.build(), machine(1), tmp_path / "t.prv")
    assert values(meanings.read_text(), 60000019)[2] == r"l\xf6se\nmich"
    assert values(meanings.read_text(), 50000003) == {0: "Outside MPI", 1000: "MPI_File_Open"}
    assert "2:1:1:1:1:1000000000:50000003:1000\n2:1:1:1:1:1000000000:50000003:0\n" in records.read_text()


def test_paraver_shows_one_sided_calls_apart(tmp_path: Path) -> None:
    """They have Extrae's type of event for them and, where they start an operation, its state for memory access."""
    trace = TraceBuilder(2)
    trace[0].compute(1.0)
    request = trace[0].rma(1, 1000)
    trace[0].wait(request)
    named = trace.build()
    names = tuple("Win.Put" if each == "Rma" else each for each in named.head.calls)
    named = Trace(replace(named.head, calls=names), named.ops)
    records, meanings, _ = written(named, machine(), tmp_path / "t.prv")
    assert values(meanings.read_text(), 50000004) == {0: "Outside MPI", 1000: "MPI_Win_Put"}
    assert "1:1:1:1:1:1000000000:1011000000:20\n" in records.read_text()


def test_the_date_of_a_header_is_that_of_writing(tmp_path: Path) -> None:
    """The header has day, month, year and time of day in Paraver's format."""
    trace = ping_pong()
    events = events_of(trace, compile_program(trace), replayed(trace, machine()))
    files = [tmp_path / name for name in ("t.prv", "t.pcf", "t.row")]
    paraver.write(files, events, machine(), datetime(2026, 11, 3, 9, 5))
    assert files[0].read_text().startswith("#Paraver (03/11/2026 at 09:05):")


# --- whatever runs ---------------------------------------------------------------------------------------------------


def check_against(result: Result, events: Events) -> None:
    """Check that events agree with the result, up to half a nanosecond at each end."""
    for rank, place in zip(result.ranks, events.places, strict=True):
        bursts = [each.end - each.begin for each in events.computing if each.rank == rank.rank]
        assert sum(bursts) == pytest.approx(rank.compute * 1e9, abs=1 + len(bursts))
        calls = [each.end - each.begin for each in events.calls if each.rank == rank.rank]
        assert place.start + sum(bursts) + sum(calls) == pytest.approx(
            rank.finish * 1e9, abs=2 + len(bursts) + len(calls)
        )
        assert abs(place.finish - rank.finish * 1e9) <= 0.5


@pytest.mark.parametrize("kind", NUMBERS)
@settings(max_examples=CASES // 8, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**48), ties=st.booleans(), instances=st.integers(1, 2))
def test_random_programs_obey_the_rules_of_both_forms(
    kind: str, seed: int, ties: bool, instances: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Computing slices add up to each rank's computation, slices nest, flows connect, and states do not overlap."""
    random = Random(seed)
    trace, on = random_trace(random, ties=ties), random_machine(random, kind, ties=ties)
    program = compile_program(trace)
    assume(instances == 1 or not any(program.worlds))
    nodes = random_placement(random, on, program.ranks * instances)
    try:
        result = simulate(program, on, nodes, "reference", instances=instances, timeline=True, calls=True)
    except DeadlockError:
        assume(False)
        raise
    events = events_of(trace, program, result)
    check_against(result, events)
    folder = tmp_path_factory.mktemp("timelines")
    (path,) = write_timeline(folder / "t.json", trace, program, on, result)
    check_events(json.loads(path.read_text())["traceEvents"])
    records, _, _ = write_timeline(folder / "t.prv", trace, program, on, result)
    header, states, _, communications = parsed(records.read_text())
    assert int(header[2]) == events.makespan
    assert len(communications) == len(events.messages)
    ends: dict[tuple[int, int], int] = defaultdict(int)
    for (_, application, task, _), begin, end, _ in states:
        assert begin >= ends[application, task]
        ends[application, task] = end
    for place in events.places:
        assert ends[place.instance + 1, place.rank + 1] == place.finish


# --- bad input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "got"), [("t.txt", ".txt"), ("t", "no ending"), ("t.json.gz", ".gz")])
def test_a_name_must_tell_a_form(name: str, got: str) -> None:
    """A file name without a known ending is refused, and the message names all formats."""
    with pytest.raises(
        UsageError, match=rf"{name}: timeline must end in \.json \(.*\) or \.prv \(Paraver\), got {got}"
    ):
        form_of(Path(name))


def test_a_long_run_is_refused_with_what_to_do() -> None:
    """A run with too many ops is refused, with advice."""
    check_length(MOST_OPS, "long")
    with pytest.raises(UsageError, match=r"long: timeline must have at most 500,000 ops, got 500,001: simulate a"):
        check_length(MOST_OPS + 1, "long")


def test_times_beyond_nanoseconds_are_refused(tmp_path: Path) -> None:
    """Times beyond 292 years are refused, as nanoseconds would not fit in 64 bits."""
    trace = TraceBuilder(1)
    trace[0].compute(1e9)
    slow = machine(1, performance_factor=10.0)
    with pytest.raises(UsageError, match=r"t.json: timeline must be shorter than 292 years"):
        written(trace.build(), slow, tmp_path / "t.json")
