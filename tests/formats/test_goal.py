"""GOAL schedules: written dependencies, and which graphs can be read as sequences."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from clue.errors import TraceError, UsageError
from clue.formats.goal_reading import read_goal
from clue.formats.goal_writing import write_goal
from clue.formats.growing import GrowingRank
from clue.kernel import simulate
from clue.machine import Curve, Link, Machine, Network, NodeType, Ports
from clue.trace import Op, Trace, TraceBuilder
from clue.trace.builder import trace_of


def lines(trace: TraceBuilder) -> list[str]:
    """Return the lines of rank 0."""
    text = write_goal(trace.build(), "x").files["x"]
    return text.split("rank 0 {\n")[1].split("\n}")[0].splitlines()


def read(folder: Path, rank0: str, ranks: int = 2) -> list[tuple[str, int]]:
    """Return rank 0's ops by name, each with its burst in ns; rank 1 sends all messages that rank 0 receives.

    Lines of rank 0 are separated by ``;``.
    """
    sends = [f"send {size}b to 0" for size in re.findall(r"recv (\d+)b from 1", rank0)]
    lines = [f"num_ranks {ranks}", "rank 0 {", *rank0.split("; "), "}", "rank 1 {", *sends, "}"]
    (folder / "x.goal").write_text("\n".join(lines))
    rows = read_goal(folder / "x.goal").trace.rank(0)
    return [(Op(op).name, cpu) for op, cpu in zip(rows.op.tolist(), rows.cpu.tolist(), strict=True)]


def test_blocking_ops_are_a_chain() -> None:
    """Each blocking op requires the one before; bursts are in ns."""
    trace = TraceBuilder(2)
    trace[0].compute(1e-6)
    trace[0].send(1, 10, tag=5)
    trace[0].recv(1)
    trace[1].recv(0, tag=5)
    trace[1].send(0, 20)
    assert lines(trace) == [
        "l1: calc 1000",
        "l2: send 10b to 1 tag 5",
        "l2 requires l1",
        "l3: recv 20b from 1 tag 0",
        "l3 requires l2",
    ]


def test_nonblocking_ops_delay_by_their_start() -> None:
    """The op after an Isend requires its start, and the op after the wait requires its end."""
    trace = TraceBuilder(2)
    request = trace[0].isend(1, 10)
    trace[0].compute(1e-6)
    trace[0].wait(request)
    trace[0].compute(2e-6)
    trace[1].recv(0)
    assert lines(trace) == [
        "l1: send 10b to 1 tag 0",
        "l2: calc 1000",
        "l2 irequires l1",
        "l3: calc 2000",
        "l3 requires l2",
        "l3 requires l1",
    ]


def test_nonblocking_collective_is_a_branch() -> None:
    """A nonblocking collective runs in parallel to the burst and joins at its wait."""
    trace = TraceBuilder(2)
    for rank in range(2):
        request = trace[rank].icollective(Op.BCAST, 8)
        trace[rank].compute(1e-6)
        trace[rank].wait(request)
        trace[rank].compute(1e-6)
    assert lines(trace) == [
        "l1: send 8b to 1 tag 0",
        "l2: calc 1000",
        "l3: calc 1000",
        "l3 requires l2",
        "l3 requires l1",
    ]


#: Rank 0 of schedules that are sequences, and the resulting ops.
SEQUENCES = {
    "calc 5; calc 6": [("COMPUTE", 11)],
    "a: calc 5; b: send 9b to 1; b requires a": [("SEND", 5)],
    "a: send 9b to 1; b: calc 5; b requires a": [("SEND", 0), ("COMPUTE", 5)],
    "a: send 9b to 1; b: calc 5; b irequires a; c: calc 6; c requires a; c requires b": [
        ("ISEND", 0),
        ("WAIT", 5),
        ("COMPUTE", 6),
    ],
    "a: recv 9b from 1; b: send 9b to 1 tag 3; c: calc 5; c requires a; c requires b": [
        ("ISEND", 0),
        ("RECV", 0),
        ("WAIT", 0),
        ("COMPUTE", 5),
    ],
    # Short receives without order block in the order of the file; long ones are posted together for their rendezvous.
    "a: recv 9b from 1; b: recv 9b from 1; c: recv 9b from 1": [("RECV", 0)] * 3,
    "a: recv 65536b from 1; b: recv 65536b from 1": [("IRECV", 0), ("IRECV", 0), ("WAIT", 0)],
    # Receives that are written as nonblocking stay nonblocking.
    "a: recv 9b from 1; b: recv 9b from 1; b irequires a": [("IRECV", 0), ("IRECV", 0), ("WAIT", 0)],
    # A join of two waits.
    "a: recv 9b from 1; b: recv 9b from 1; j: calc 0; j requires a; k: calc 7; k requires j; k requires b": [
        ("IRECV", 0),
        ("IRECV", 0),
        ("WAIT", 0),
        ("WAIT", 0),
        ("COMPUTE", 7),
    ],
    # A receive without dependencies is posted at the beginning, wherever its line is.
    "a: calc 5; b: send 1b to 1; b requires a; c: recv 1b from 1": [("IRECV", 0), ("ISEND", 5), ("WAIT", 0)],
    # A tree: a rank passes on what it received.
    "a: recv 1b from 1; b: send 1b to 1; b requires a; c: send 1b to 1 tag 2; c requires a": [
        ("RECV", 0),
        ("ISEND", 0),
        ("ISEND", 0),
        ("WAIT", 0),
    ],
}


@pytest.mark.parametrize("rank0", SEQUENCES, ids=str)
def test_sequence(rank0: str, tmp_path: Path) -> None:
    """A graph is a sequence if each op comes after all ops that the rank waited for before."""
    assert read(tmp_path, rank0) == SEQUENCES[rank0]


BAD = {
    # Two computations that depend on different messages.
    "a: recv 1b from 1; b: recv 1b from 1; c: calc 5; c requires a; d: calc 6; d requires b": "x.goal:7.*one thing",
    # A chain of messages in parallel to a computation.
    "a: recv 1b from 1; b: send 1b to 1; b requires a; c: calc 5": "x.goal:4.*one thing",
    "a: calc 5; b: calc 6; a requires b; b requires a": "x.goal:3: operation of rank 0 must not depend on itself",
    "a: calc 5 cpu 1": "x.goal:3: operation must be on cpu 0",
    "a: recv 1b from -1": "x.goal:3: message must name its partner",
    "a: recv 1b from 2": "x.goal:3: message must name its partner",
    "a: calc 5; a requires b": "x.goal:4: dependency must be between labels of the rank, got b",
    "a: calc 5; b: calc 6; a: calc 7": "x.goal:5: label must be a new one of the rank, got a, as in line 3",
    "num_ranks 3": "x.goal:3: num_ranks must appear once, got it again after line 1",
    "a: send 1b to 1 tag 99999999999": "x.goal:3: tag must be at most 2147483647, got 99999999999",
    "a: recv 1b from 1 tag 2147483648": "x.goal:3: tag must be at most 2147483647, got 2147483648",
    "send 1000000000000000b to 1": "x.goal:3: size must be at most 999999999999999 B, got 1000000000000000",
    "a: recv 9223372036854775808b from 1 tag 0": "x.goal:3: size must be at most 999999999999999 B, got 92233",
    "a: calc 9223372036854775808": "x.goal:3: calc must be at most 32000000000000000 ns, got 9223372036854775808",
    "calc 1" + 5000 * "0": "x.goal:3: calc must be at most 32000000000000000 ns, got 1000",
    "a: calc 20000000000000000; b: calc 20000000000000000": "x.goal:4: operation of rank 0 must keep the rank's comp",
    "a: jump 5": "x.goal:3: line must be one of GOAL's",
}


@pytest.mark.parametrize("rank0", BAD, ids=str)
def test_what_is_no_sequence_is_refused(rank0: str, tmp_path: Path) -> None:
    """A schedule that is not a sequence, or has a fault, is refused with place and reason."""
    with pytest.raises(UsageError, match=BAD[rank0]):
        read(tmp_path, rank0)


@pytest.mark.parametrize("ranks", ["0", "16777217", "1000000000000", 5000 * "9"], ids=lambda ranks: ranks[:13])
def test_ranks_are_bounded(ranks: str, tmp_path: Path) -> None:
    """A number of ranks that is too large or 0 is refused before it takes memory."""
    (tmp_path / "x.goal").write_text(f"\nnum_ranks {ranks}\n")
    with pytest.raises(UsageError, match=f"x.goal:2: num_ranks must be from 1 to 16777216, got {ranks}$"):
        read_goal(tmp_path / "x.goal")


@pytest.mark.parametrize(("ranks", "missing"), [((0, 1), 2), ((1, 2, 3), 0), ((), 0)], ids=str)
def test_all_ranks_are_there(ranks: tuple[int, ...], missing: int, tmp_path: Path) -> None:
    """A schedule that ends between two ranks is refused; a rank that does nothing has brackets, too."""
    text = "".join(f"rank {rank} {{\n}}\n" for rank in ranks)
    (tmp_path / "x.goal").write_text(f"\nnum_ranks 4\n{text}")
    rule = "num_ranks must be the number of ranks in the file"
    with pytest.raises(UsageError, match=rf"x.goal:2: {rule}, got 4 without rank {missing}$"):
        read_goal(tmp_path / "x.goal")
    (tmp_path / "x.goal").write_text(f"num_ranks {len(ranks) + 1}\n{text}rank {missing} {{\ncalc 5\n}}\n")
    assert read_goal(tmp_path / "x.goal").trace.ranks == len(ranks) + 1


#: A reduction of 1024 B to rank 0 on a binomial tree: the sources of each rank, which then sends on.
REDUCTION = {0: (1, 2, 4), 1: (), 2: (3,), 3: (), 4: (5, 6), 5: (), 6: (7,), 7: ()}


def reduction(nbytes: int) -> str:
    """Return a schedule of the reduction in which the receives of a rank have no order."""
    text = ["num_ranks 8"]
    for rank, sources in REDUCTION.items():
        text.append(f"rank {rank} {{")
        text += [f"r{source}: recv {nbytes}b from {source} tag 0 cpu 0" for source in sources]
        if rank:
            text.append(f"s: send {nbytes}b to {rank & (rank - 1)} tag 0 cpu 0")
        text += [f"s requires r{source}" for source in sources if rank]
        text.append("}")
    return "\n".join(text)


def loggops_finishes(trace: Trace) -> list[float]:
    """Return the finish time of each rank at L=2500 o=1500 g=1000 G=6 O=0 (ns, ns/B), in ns."""
    way = Link(Curve.line(1500e-9), Curve((1.0,), (2500e-9,), (6e-9,)), 1500e-9, 65535)
    ports = Ports(Curve((1.0,), (1000e-9,), (6e-9,)))
    machine = Machine("loggops", (NodeType("node"),) * trace.ranks, Network(way, way, contention=ports))
    return [rank.finish * 1e9 for rank in simulate(trace, machine).ranks]


def test_receives_in_any_order_pay_their_overhead_when_messages_come(tmp_path: Path) -> None:
    """Receives without order pay their overhead when messages arrive.

    A leaf's send takes o = 1500; each level adds L + 1023 G + o = 10138, and o if the rank had another receive before.
    LogGOPSim gives the same figures for this schedule: rank 2: 13138, rank 4: 24776, rank 0: 34914.
    """
    (tmp_path / "x.goal").write_text(reduction(1024))
    converted = read_goal(tmp_path / "x.goal")
    expected = [34914, 1500, 13138, 1500, 24776, 1500, 13138, 1500]
    assert loggops_finishes(converted.trace) == pytest.approx(expected, rel=1e-12)
    assert [remark[:54] for remark in converted.remarks] == ["5 receives that may come in any order are taken in tha"]


@pytest.mark.parametrize(("burst", "finish"), [(0, 365_494), (1_000_000, 1_001_500)], ids=["waits", "computes"])
def test_data_arrive_beside_computation(burst: int, finish: float, tmp_path: Path) -> None:
    """60 KB are there after o + L + 59,999 G = 363,994 ns; the receive takes o = 1500, and nothing of 59,999 G.

    LogGOPSim also ends after 365,494 ns without a burst, but takes 59,999 G = 359,994 ns longer after it.
    """
    receive = f"rank 1 {{\nl1: calc {burst}\nl2: recv 60000b from 0 tag 0\nl2 requires l1\n}}"
    (tmp_path / "x.goal").write_text(f"num_ranks 2\nrank 0 {{\nl1: send 60000b to 1 tag 0\n}}\n{receive}\n")
    converted = read_goal(tmp_path / "x.goal")
    assert loggops_finishes(converted.trace) == pytest.approx([1500, finish], rel=1e-12)
    assert converted.remarks == ()


def test_long_receives_stay_posted_together(tmp_path: Path) -> None:
    """Long receives without order are posted together, as senders wait for them; a remark says so."""
    (tmp_path / "x.goal").write_text(reduction(100_000))
    converted = read_goal(tmp_path / "x.goal")
    assert converted.trace.rank(0).op.tolist() == [Op.IRECV] * 3 + [Op.WAIT]
    (remark,) = converted.remarks
    assert remark.startswith("5 receives are started before the rank waits for them; their overhead is paid when they")


def test_receives_stay_posted_together_where_their_order_could_stop_the_program(tmp_path: Path) -> None:
    """Receives whose order could cause a deadlock are posted together.

    Rank 1 sends only after rank 2 has: if that send waits for its receive, rank 0 must have posted both.
    """
    (tmp_path / "x.goal").write_text(
        "num_ranks 3\nrank 0 {\nrecv 8b from 1\nrecv 8b from 2\n}\n"
        "rank 1 {\na: recv 8b from 2\nb: send 8b to 0\nb requires a\n}\n"
        "rank 2 {\na: send 8b to 0\nb: send 8b to 1\nb requires a\n}\n"
    )
    converted = read_goal(tmp_path / "x.goal")
    assert converted.trace.rank(0).op.tolist() == [Op.IRECV, Op.IRECV, Op.WAIT]
    strict = Link(Curve.line(0.0), Curve.line(1.0), 0.0, 0)
    machine = Machine("strict", (NodeType("node"),) * 3, Network(strict, strict))
    assert simulate(converted.trace, machine).makespan > 0


def test_no_field_is_cut_off() -> None:
    """A value that a trace cannot hold is refused and never wraps around."""
    rank = GrowingRank()
    rank.add(Op.SEND, peer=0, tag=2**31)
    with pytest.raises(TraceError, match=r"x: tag must be from -2147483648 to 2147483647, got 2147483648"):
        trace_of([rank.finish()], "x")


def test_comments_and_interfaces(tmp_path: Path) -> None:
    """Comments are skipped without changing line numbers; network interfaces are dropped with a remark."""
    path = tmp_path / "x.goal"
    path.write_text(
        "num_ranks 2 // two\n/* many\nlines */ rank 0 {\nl1: send 5b to 1 tag 2 cpu 0 nic 1;\n}\n"
        "rank 1 {\nrecv 5b from 0 tag 2\n}\n"
    )
    converted = read_goal(path)
    assert converted.trace.ops.op.tolist() == [Op.SEND, Op.RECV]
    assert converted.remarks == ("1 operation names a network interface, which is left out",)


def test_rank_left_open(tmp_path: Path) -> None:
    """A missing closing bracket is an error."""
    path = tmp_path / "x.goal"
    path.write_text("num_ranks 1\nrank 0 {\ncalc 5\n")
    with pytest.raises(UsageError, match="last rank must end with a bracket"):
        read_goal(path)


def test_a_byte_order_mark_is_skipped(tmp_path: Path) -> None:
    """Editors on Windows put one at the beginning, and end lines with a carriage return too."""
    (tmp_path / "x.goal").write_bytes("\ufeffnum_ranks 1\r\nrank 0 {\r\ncalc 5\r\n}\r\n".encode())
    assert read_goal(tmp_path / "x.goal").trace.rank(0).op.tolist() == [Op.COMPUTE]
