"""GOAL schedules: dependencies as written, and which graphs are sequences."""

from __future__ import annotations

from pathlib import Path

import pytest

from clue.errors import UsageError
from clue.formats import read_goal, write_goal
from clue.trace import Op, TraceBuilder


def lines(trace: TraceBuilder) -> list[str]:
    """Return the lines of rank 0."""
    text = write_goal(trace.build(), "x").files["x"]
    return text.split("rank 0 {\n")[1].split("\n}")[0].splitlines()


def read(folder: Path, rank0: str, ranks: int = 2) -> list[tuple[str, int]]:
    """Return rank 0's ops by name, each with its burst in ns; lines are separated by ``;``."""
    (folder / "x.goal").write_text(f"num_ranks {ranks}\nrank 0 {{\n" + rank0.replace("; ", "\n") + "\n}\n")
    rows = read_goal(folder / "x.goal").trace.rank(0)
    return [(Op(op).name, cpu) for op, cpu in zip(rows.op.tolist(), rows.cpu.tolist(), strict=True)]


def test_blocking_ops_are_a_chain() -> None:
    """Each requires the one before; bursts are in nanoseconds."""
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
    """What follows an Isend requires its start; what follows the wait requires its end."""
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
    """It proceeds beside the burst, and joins at its wait."""
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


#: Rank 0 of schedules that are sequences, and what becomes of them.
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
        ("IRECV", 0),
        ("ISEND", 0),
        ("WAIT", 0),
        ("COMPUTE", 5),
    ],
    # A join of two waits.
    "a: recv 9b from 1; b: recv 9b from 1; j: calc 0; j requires a; k: calc 7; k requires j; k requires b": [
        ("IRECV", 0),
        ("IRECV", 0),
        ("WAIT", 0),
        ("WAIT", 0),
        ("COMPUTE", 7),
    ],
    # A receive without dependencies is posted at the beginning, wherever it stands.
    "a: calc 5; b: send 1b to 1; b requires a; c: recv 1b from 1": [("IRECV", 0), ("ISEND", 5), ("WAIT", 0)],
    # A tree: what a rank passes on after its receive.
    "a: recv 1b from 1; b: send 1b to 1; b requires a; c: send 1b to 1 tag 2; c requires a": [
        ("RECV", 0),
        ("ISEND", 0),
        ("ISEND", 0),
        ("WAIT", 0),
    ],
}


@pytest.mark.parametrize("rank0", SEQUENCES, ids=str)
def test_sequence(rank0: str, tmp_path: Path) -> None:
    """A graph in which everything comes after all that was waited for before it."""
    assert read(tmp_path, rank0) == SEQUENCES[rank0]


BAD = {
    # What depends on one message while the rank computes after another.
    "a: recv 1b from 1; b: recv 1b from 1; c: calc 5; c requires a; d: calc 6; d requires b": "x.goal:7.*one thing",
    # A chain of messages beside a computation.
    "a: recv 1b from 1; b: send 1b to 1; b requires a; c: calc 5": "x.goal:4.*one thing",
    "a: calc 5; b: calc 6; a requires b; b requires a": "x.goal:3: operation of rank 0 must not depend on itself",
    "a: calc 5 cpu 1": "x.goal:3: operation must be on cpu 0",
    "a: recv 1b from -1": "x.goal:3: message must name its partner",
    "a: recv 1b from 2": "x.goal:3: message must name its partner",
    "a: calc 5; a requires b": "x.goal:4: dependency must be between labels of the rank, got b",
    "a: jump 5": "x.goal:3: line must be one of GOAL's",
}


@pytest.mark.parametrize("rank0", BAD, ids=str)
def test_what_is_no_sequence_is_refused(rank0: str, tmp_path: Path) -> None:
    """With the place, and why."""
    with pytest.raises(UsageError, match=BAD[rank0]):
        read(tmp_path, rank0)


def test_comments_and_interfaces(tmp_path: Path) -> None:
    """Comments are passed over, line numbers stay; interfaces are told."""
    path = tmp_path / "x.goal"
    path.write_text(
        "num_ranks 2 // two\n/* many\nlines */ rank 0 {\nl1: send 5b to 1 tag 2 cpu 0 nic 1;\n}\n"
        "rank 1 {\nrecv 5b from 0 tag 2\n}\n"
    )
    converted = read_goal(path)
    assert converted.trace.ops.op.tolist() == [Op.SEND, Op.RECV]
    assert converted.remarks == ("1 operations name a network interface, which is left out",)


def test_rank_left_open(tmp_path: Path) -> None:
    """A missing bracket."""
    path = tmp_path / "x.goal"
    path.write_text("num_ranks 1\nrank 0 {\ncalc 5\n")
    with pytest.raises(UsageError, match="last rank must end with a bracket"):
        read_goal(path)
