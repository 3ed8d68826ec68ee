"""Time-independent traces, line by line."""

from __future__ import annotations

from pathlib import Path

import pytest

from clue.errors import UsageError
from clue.formats.goal_writing import write_goal
from clue.formats.remarks import Converted
from clue.formats.ti_reading import read_ti
from clue.formats.ti_writing import write_ti
from clue.kernel import simulate
from clue.machine import Curve, Link, Machine, Network, NodeType
from clue.trace import ANY, PROC_NULL, Flag, Op, TraceBuilder

#: 20 us and 125 MB/s, with nothing for the ranks to do.
_LINK = Link(Curve.line(0.0), Curve.line(20e-6, 1 / 125e6), 0.0)


def written(trace: TraceBuilder, **how: object) -> tuple[list[list[str]], tuple[str, ...]]:
    """Return the lines of each rank, and the remarks."""
    result = write_ti(trace.build(), "x", **how)  # type: ignore[arg-type]
    return [text.splitlines() for text in list(result.files.values())[1:]], result.remarks


def read(folder: Path, *ranks: str, flops_per_second: float = 1e9) -> Converted:
    """Read actions that are given by rank, separated by ``;`` and without the rank's number."""
    for rank, actions in enumerate(ranks):
        lines = (f"{rank} {action.strip()}\n" for action in actions.split(";"))
        (folder / f"t.{rank}").write_text("".join(lines))
    (folder / "t").write_text("".join(f"t.{rank}\n" for rank in range(len(ranks))))
    return read_ti(folder / "t", flops_per_second=flops_per_second)


def ops(converted: Converted, rank: int = 0) -> list[tuple[Op, int, int, int]]:
    """Return op, burst in ns, partner and size of each op of a rank."""
    rows = converted.trace.rank(rank)
    columns = (rows.op.tolist(), rows.cpu.tolist(), rows.peer.tolist(), rows.nbytes.tolist())
    return [(Op(op), *rest) for op, *rest in zip(*columns, strict=True)]


def test_messages_and_bursts() -> None:
    """A burst of 2 us is 2000 flops at 1 Gflop/s; a receive has the size of its send."""
    trace = TraceBuilder(2)
    trace[0].compute(2e-6)
    trace[0].send(1, 100, tag=7)
    trace[1].recv(0, tag=7)
    lines, remarks = written(trace)
    assert lines == [
        ["0 init", "0 compute 2000", "0 send 1 7 100", "0 finalize"],
        ["1 init", "1 recv 0 7 100", "1 finalize"],
    ]
    assert remarks == ()


@pytest.mark.parametrize(("name", "rename"), [("run.ti", ()), ("my run.ti", ("'my run.ti'",))])
def test_what_smpirun_needs_of_files_is_told(name: str, rename: tuple[str, ...]) -> None:
    """SimGrid 3.32 aborts if it runs in another folder than that of the list, or if the list's name has blanks."""
    speed, folder, *others = write_ti(TraceBuilder(1).build(), name).hints
    assert speed == "computation is written at 1e+09 flop/s of CPU time"
    assert folder == f"run smpirun in the folder of {name}, where it looks for the files of ranks"
    assert [each.split("rename ")[1] for each in others] == list(rename)


def test_speed_scales_flops() -> None:
    """At half the speed, 2 us are 1000 flops."""
    trace = TraceBuilder(1)
    trace[0].compute(2e-6)
    assert written(trace, flops_per_second=5e8)[0] == [["0 init", "0 compute 1000", "0 finalize"]]


def test_wait_for_some_and_for_all() -> None:
    """A wait names source, destination and tag; a wait for all open requests is a waitall."""
    trace = TraceBuilder(2)
    requests = [trace[0].isend(1, 8, tag) for tag in range(3)]
    trace[0].wait(requests[1])
    trace[0].wait(requests[0], requests[2])
    for tag in range(3):
        trace[1].recv(0, tag)
    assert written(trace)[0][0][4:6] == ["0 wait 0 1 1", "0 waitall"]


def test_waits_out_of_order_get_tags_of_their_own() -> None:
    """SimGrid's wait takes the oldest request of a name, so messages waited for in reverse get different tags."""
    trace = TraceBuilder(2)
    first, second = trace[0].isend(1, 8), trace[0].isend(1, 16)
    trace[0].wait(second)
    trace[0].wait(first)
    trace[1].recv(0)
    trace[1].recv(0)
    lines, remarks = written(trace)
    assert lines[0][1:-1] == ["0 isend 1 1 8", "0 isend 1 2 16", "0 wait 0 1 2", "0 wait 0 1 1"]
    assert lines[1][1:-1] == ["1 recv 0 1 8", "1 recv 0 2 16"]
    assert "out of order" in remarks[0]


def test_tags_stay_within_those_of_mpi() -> None:
    """Where a program uses the largest tag of all, new ones are those that it does not use.

    The world uses the tags 0, 2 and 2^31 - 1, and waits for two messages of tag 2 out of order: a message of a pair
    gets tag 1, which is free; then the two messages get tags 3 and 4.
    """
    trace = TraceBuilder(2)
    pair = trace.communicator([1, 0])
    for tag in (0, 2**31 - 1):
        trace[0].send(1, 8, tag=tag)
        trace[1].recv(0, tag=tag)
    trace[0].send(0, 16, tag=5, comm=pair)
    trace[1].recv(1, tag=5, comm=pair)
    first, second = trace[0].isend(1, 8, 2), trace[0].isend(1, 16, 2)
    trace[0].wait(second)
    trace[0].wait(first)
    for _ in range(2):
        trace[1].recv(0, tag=2)
    lines = written(trace)[0]
    assert [line.split()[3] for line in lines[0] if " send " in line] == ["0", "2147483647", "1"]
    assert [line.split()[3] for line in lines[0] if " isend " in line] == ["3", "4"]
    assert [line.split()[3] for line in lines[1] if " recv " in line] == ["0", "2147483647", "1", "3", "4"]


def test_messages_to_oneself_are_told() -> None:
    """Waits for messages of a rank to itself cause a remark, as receive and send have the same name."""
    trace = TraceBuilder(1)
    receive, send = trace[0].irecv(0), trace[0].isend(0, 8)
    trace[0].wait(send)
    trace[0].wait(receive)
    assert "1 wait for a message of a rank to itself names receive and send alike" in written(trace)[1]


def test_collectives_are_kept_on_the_world_and_lowered_elsewhere() -> None:
    """A collective on the world stays one; a broadcast among two of three ranks becomes a message with a new tag."""
    trace = TraceBuilder(3)
    pair = trace.communicator([2, 0])
    for rank in range(3):
        trace[rank].collective(Op.BCAST, 64, root=1)
    for rank in (2, 0):
        trace[rank].collective(Op.BCAST, 32, root=0, comm=pair)
    lines, remarks = written(trace)
    assert lines[0][1:-1] == ["0 bcast 64 1", "0 recv 2 0 32"]
    assert lines[1][1:-1] == ["1 bcast 64 1"]
    assert lines[2][1:-1] == ["2 bcast 64 1", "2 send 0 0 32"]
    assert remarks == ("2 calls of ranks to collectives are lowered to messages",)


def test_actions_do_not_tell_how_a_collective_is_called() -> None:
    """Properties that decide a collective's algorithm, such as in place, are lost with a remark, unless lowered."""
    trace = TraceBuilder(4)
    for rank in range(4):
        trace[rank].collective(Op.ALLTOALL, 8, flags=Flag.IN_PLACE)
        trace[rank].collective(Op.ALLREDUCE, 8, flags=Flag.IN_PLACE)
    assert written(trace)[1] == (
        "4 calls of ranks to collectives lose what decides their algorithm (in place, operation, elements)",
    )
    assert write_ti(trace.build(), "x", lower=True).remarks == (
        "8 calls of ranks to collectives are lowered to messages",
    )


def test_what_is_left_out_is_told() -> None:
    """Each kind of information that is left out causes a remark with its count."""
    trace = TraceBuilder(2)
    trace[0].compute(1e-6, "solve")
    trace[0].send(1, 8, flags=Flag.SYNCHRONOUS)
    trace[1].add(Op.PROBE, peer=0)
    trace[1].recv(0, flags=Flag.ANY_SOURCE)
    trace[1].add(Op.POLL, peer=0)
    trace[1].add(Op.PACK, nbytes=5)
    remarks = written(trace)[1]
    assert remarks == (
        "1 op lies in a region, which is left out",
        "1 send has a mode (synchronous, buffered, ready), which is left out",
        "1 receive named no source or no tag; it names what was matched",
        "1 call that packs or unpacks is left out",
        "1 probe is left out",
        "1 Test or probe that found nothing has no request to name and is left out",
    )


def test_sleeps_need_no_processor() -> None:
    """A sleep of 1.5 s is the action sleep, whatever the speed in flop/s; a schedule has none, and leaves it out."""
    trace = TraceBuilder(1)
    trace[0].compute(1e-6)
    trace[0].add(Op.SLEEP, nbytes=1_500_000_000)
    lines, remarks = written(trace, flops_per_second=2e9)
    assert lines == [["0 init", "0 compute 2000", "0 sleep 1.5", "0 finalize"]]
    assert remarks == ()
    assert write_goal(trace.build(), "x").remarks == ("1 sleep is left out",)


def test_only_messages_that_are_written_count() -> None:
    """Remarks on sends and receives count neither null partners nor probes, which are left out."""
    trace = TraceBuilder(2)
    pair = trace.communicator([0, 1])
    trace[0].send(1, 8, tag=3, comm=pair)
    trace[0].send(PROC_NULL, 8, tag=3, comm=pair, flags=Flag.SYNCHRONOUS)
    trace[1].add(Op.PROBE, peer=0, tag=3, comm=pair, flags=Flag.ANY_SOURCE)
    trace[1].recv(0, tag=3, comm=pair)
    trace[1].recv(PROC_NULL, comm=pair, flags=Flag.ANY_TAG)
    lines, remarks = written(trace)
    assert lines[0][1:-1] == ["0 send 1 0 8"]
    assert lines[1][1:-1] == ["1 recv 0 0 8"]
    assert remarks == (
        "1 probe is left out",
        "2 sends and receives are on other communicators than the first; their tags begin at 0",
    )


def test_cancelled_receives_test_no_other_request() -> None:
    """A receive that was cancelled is left out, also if another one of its name is open or none is."""
    trace = TraceBuilder(2)
    trace[0].send(1, 8, tag=7)
    request = trace[1].irecv(0, tag=7)
    trace[1].add(Op.POLL, peer=0, tag=7, flags=Flag.CANCELLED)
    trace[1].wait(request)
    trace[1].add(Op.POLL, peer=0, tag=7, flags=Flag.CANCELLED)
    lines, remarks = written(trace)
    assert lines[1][1:-1] == ["1 irecv 0 7 8", "1 wait 0 1 7"]
    assert remarks == ("2 receives were cancelled and are left out",)


def test_tests_that_do_not_say_what_they_looked_for_are_told() -> None:
    """A Test of requests that found nothing, as it is recorded, names no partner; a schedule leaves it out, too."""
    trace = TraceBuilder(2)
    trace[0].send(1, 8, tag=7)
    request = trace[1].irecv(0, tag=7)
    trace[1].add(Op.POLL, peer=ANY)
    trace[1].wait(request)
    lines, remarks = written(trace)
    assert lines[1][1:-1] == ["1 irecv 0 7 8", "1 wait 0 1 7"]
    assert remarks == ("1 Test or probe that found nothing does not say what it looked for and is left out",)
    assert write_goal(trace.build(), "x").remarks == remarks


def test_cancelled_sends_are_no_receives() -> None:
    """A send that was cancelled, recorded as a local call with the flag, is told as a send."""
    trace = TraceBuilder(2)
    trace[0].add(Op.LOCAL, flags=Flag.CANCELLED)
    trace[1].add(Op.POLL, peer=0, tag=7, flags=Flag.CANCELLED)
    assert written(trace)[1] == (
        "1 receive was cancelled and is left out",
        "1 send was cancelled and is left out",
    )


def test_receives_that_do_not_tell_what_they_matched_are_told() -> None:
    """They are left out, and do not count among those that name what was matched."""
    trace = TraceBuilder(2)
    trace[0].send(1, 1_000_000)
    trace[0].send(1, 8)
    trace[1].recv(ANY, flags=Flag.ANY_SOURCE)
    trace[1].recv(0)
    files, remarks = written(trace)
    assert remarks == (
        "1 receive or probe does not tell what it matched; it is left out, so that later receives of the same kind may "
        "have the sizes of other messages",
    )
    assert len(files[1]) == len(files[0]) - 1


def test_bursts_of_left_out_calls_stay() -> None:
    """The burst before a probe, which is left out, joins the next op."""
    trace = TraceBuilder(2)
    trace[0].send(1, 8)
    trace[1].compute(1e-6)
    trace[1].add(Op.PROBE, peer=0)
    trace[1].compute(2e-6)
    trace[1].recv(0)
    assert written(trace)[0][1][1] == "1 compute 3000"


@pytest.mark.parametrize(
    ("op", "sizes", "told"),
    [
        (Op.BCAST, (2**31, 2**31), True),
        (Op.BCAST, (2**31 - 1, 2**31 - 1), False),
        (Op.ALLGATHERV, (2**30, 2**30), True),
        (Op.ALLGATHERV, (2**30, 2**30 - 1), False),
    ],
)
def test_collectives_too_large_for_simgrid_are_told(op: Op, sizes: tuple[int, int], told: bool) -> None:
    """Collectives of 2 GiB, in one size or in the sum that SimGrid makes of a list, do not fit its int."""
    trace = TraceBuilder(2)
    for rank in range(2):
        trace[rank].collective(op, sizes[rank])
    remark = "2 calls of ranks to collectives have 2 GiB or more, which SimGrid 3.32 cannot count"
    assert written(trace)[1] == ((remark,) if told else ())


def test_matched_probe_is_its_receive() -> None:
    """A matched probe and its receive become one receive."""
    trace = TraceBuilder(2)
    trace[0].send(1, 8, tag=3)
    trace[1].add(Op.MPROBE, peer=0, tag=3, request=0)
    trace[1].add(Op.MRECV, request=0)
    lines, remarks = written(trace)
    assert lines[1][1:-1] == ["1 recv 0 3 8"]
    assert remarks == ("1 matched probe is left out; its receive stays",)


def test_receives_before_that_of_a_matched_probe_are_told() -> None:
    """A receive between a matched probe and its receive takes the message of 100 B that the probe had found."""
    trace = TraceBuilder(2)
    for nbytes, tag in ((100, 3), (200, 3), (300, 4), (400, 3)):
        trace[0].send(1, nbytes, tag=tag)
    trace[1].add(Op.MPROBE, peer=0, tag=3, request=0)
    trace[1].recv(0, tag=3)
    trace[1].recv(0, tag=4)
    trace[1].add(Op.MPROBE, peer=0, tag=3, request=1)
    trace[1].add(Op.MRECV, request=0)
    trace[1].add(Op.MRECV, request=1)
    lines, remarks = written(trace)
    assert lines[1][1:-1] == ["1 recv 0 3 100", "1 recv 0 4 300", "1 recv 0 3 200", "1 recv 0 3 400"]
    assert remarks == (
        "2 matched probes are left out; their receives stay",
        "1 receive is written before that of an earlier matched probe and takes the message that the probe had found",
    )


def test_nonblocking_collective_blocks() -> None:
    """A nonblocking collective is written as a blocking one, with a remark, as the actions of a rank are sequential."""
    trace = TraceBuilder(2)
    for rank in range(2):
        trace[rank].wait(trace[rank].icollective(Op.BCAST, 8))
    lines, remarks = written(trace)
    assert lines[0][1:-1] == ["0 send 1 0 8"]
    assert "2 calls of ranks to nonblocking collectives are written as blocking ones" in remarks


def test_spawned_ranks_are_refused() -> None:
    """A program that spawns is refused, because a time-independent trace has one world."""
    trace = TraceBuilder(2).build()
    from dataclasses import replace  # noqa: PLC0415

    heads = (trace.head.rank_heads[0], replace(trace.head.rank_heads[1], world=1))
    spawned = replace(trace, head=replace(trace.head, rank_heads=heads))
    with pytest.raises(UsageError, match="must not spawn"):
        write_ti(spawned, "x")


ACTIONS = {
    "compute 1000; barrier": [(Op.BARRIER, 1000, 0, 0)],
    "compute 1e3; compute 500.4": [(Op.COMPUTE, 1500, 0, 0)],
    "compute 500; sleep 0.000001; barrier": [(Op.SLEEP, 500, 0, 1000), (Op.BARRIER, 0, 0, 0)],
    "init; send 1 5 100": [(Op.SEND, 0, 1, 100)],
    "init 1; send 1 5 100": [(Op.SEND, 0, 1, 800)],
    "init; send 1 5 100 1": [(Op.SEND, 0, 1, 400)],
    "recv 1 5 -1": [(Op.RECV, 0, 1, 0)],
    "isend 1 5 9; wait 0 1 5": [(Op.ISEND, 0, 1, 9), (Op.WAIT, 0, 0, 0)],
    "irecv 1 5 9; isend 1 5 9; waitall": [(Op.IRECV, 0, 1, 0), (Op.ISEND, 0, 1, 9), (Op.WAIT, 0, 0, 0)],
    "sendRecv 7 1 8 1": [(Op.IRECV, 0, 1, 0), (Op.ISEND, 0, 1, 7), (Op.WAIT, 0, 0, 0)],
    "bcast 10 1": [(Op.BCAST, 0, 1, 10)],
    "send 1 0 1e6": [(Op.SEND, 0, 1, 1_000_000)],
    "bcast 5e4 1 0": [(Op.BCAST, 0, 1, 400_000)],
    "reduce 10 2000 1; barrier": [(Op.REDUCE, 0, 1, 10), (Op.BARRIER, 2000, 0, 0)],
    "allreduce 10 2000": [(Op.ALLREDUCE, 0, 0, 10), (Op.COMPUTE, 2000, 0, 0)],
    "alltoall 10 10": [(Op.ALLTOALL, 0, 0, 10)],
    "gather 10 10 1": [(Op.GATHER, 0, 1, 10)],
    "allgather 10 10 0 0": [(Op.ALLGATHER, 0, 0, 80)],
    "scatter 10 20 1": [(Op.SCATTER, 0, 1, 20)],
    "gatherv 4 4 5 1": [(Op.GATHERV, 0, 1, 4)],
    "scatter 10 20 1 1": [(Op.SCATTER, 0, 1, 80)],
    "scatterv 4 5 4 1 1 1": [(Op.SCATTERV, 0, 1, 16)],
    "scatterv 4 5 4 1 1": [(Op.SCATTERV, 0, 1, 16)],
    "scatterv 0 0 4 1 -1 3": [(Op.SCATTERV, 0, 1, 8)],
    "allgatherv 4 4 5": [(Op.ALLGATHERV, 0, 0, 4)],
    "allgatherv 4 4 5 1 1": [(Op.ALLGATHERV, 0, 0, 16)],
    "allgatherv 4 4 5 1 1 0 0": [(Op.ALLGATHERV, 0, 0, 16)],
    "allgatherv 4 4 5 1 1 0 0 9": [(Op.ALLGATHERV, 0, 0, 16)],
    "alltoallv 9 4 5 7 3 4": [(Op.ALLTOALLV, 0, 0, 0)],
    "reducescatter 4 5 300 1": [(Op.REDUCE_SCATTER, 0, 0, 16), (Op.COMPUTE, 300, 0, 0)],
    "scan 4 300": [(Op.SCAN, 0, 0, 4), (Op.COMPUTE, 300, 0, 0)],
    "exscan 4 0": [(Op.EXSCAN, 0, 0, 4)],
    "comm_dup; location a.c 3; finalize": [],
}


@pytest.mark.parametrize("actions", ACTIONS, ids=str)
def test_action(actions: str, tmp_path: Path) -> None:
    """Each action becomes its ops with sizes in bytes; computation that belongs to it joins the next op."""
    assert ops(read(tmp_path, actions, "init")) == ACTIONS[actions]


def test_one_file_for_all_ranks(tmp_path: Path) -> None:
    """A list with one file means that this file has the actions of all ranks."""
    (tmp_path / "all").write_text("0 send 1 0 5\n# a comment\n1 recv 0 0 5\n0 compute 10\n")
    (tmp_path / "list").write_text("all\n")
    converted = read_ti(tmp_path / "list", flops_per_second=1e9)
    assert ops(converted, 0) == [(Op.SEND, 0, 1, 5), (Op.COMPUTE, 10, 0, 0)]
    assert ops(converted, 1) == [(Op.RECV, 0, 0, 0)]


def test_lines_of_others_are_passed_over(tmp_path: Path) -> None:
    """In a file per rank, lines of other ranks are ignored, as SimGrid does, with a remark that names the first."""
    for rank in range(2):
        (tmp_path / f"t.{rank}").write_text("word compute 5\n1 compute 10\n\n0 compute 20\n# 0 compute 1\n")
    (tmp_path / "t").write_text("t.0\nt.1\n")
    converted = read_ti(tmp_path / "t", flops_per_second=1e9)
    assert [ops(converted, rank) for rank in range(2)] == [[(Op.COMPUTE, 20, 0, 0)], [(Op.COMPUTE, 10, 0, 0)]]
    words = "4 lines in the files of ranks do not begin with these ranks and are left out, as by SimGrid: first"
    assert converted.remarks == (f"{words} {tmp_path / 't.0'}:1",)


def test_files_in_another_order_than_the_ranks_are_refused(tmp_path: Path) -> None:
    """A list in the order of names has t.10 before t.2: from rank 2 on, all lines would be those of other ranks."""
    for rank in range(11):
        (tmp_path / f"t.{rank}").write_text(f"{rank} init\n{rank} compute 10\n")
    names = sorted(file.name for file in tmp_path.iterdir())
    (tmp_path / "t").write_text("\n".join(names))
    rule = "file must have actions of rank 2, as the list has a file for each rank in their order, got '10' as the rank"
    with pytest.raises(UsageError, match=rf"t:3: .*t\.10: {rule} of its first line$"):
        read_ti(tmp_path / "t", flops_per_second=1e9)


def test_a_rank_may_have_no_actions(tmp_path: Path) -> None:
    """A file without actions is that of a rank that does nothing."""
    (tmp_path / "a").write_text("0 compute 10\n")
    (tmp_path / "b").write_text("# nothing\n")
    (tmp_path / "t").write_text("a\nb\n")
    converted = read_ti(tmp_path / "t", flops_per_second=1e9)
    assert ops(converted, 1) == []
    assert converted.remarks == ("1 rank has no actions and does nothing",)


def test_ranks_that_seem_to_be_cut_off_are_told(tmp_path: Path) -> None:
    """Two of four ranks have no finalize after their init; a rank without init needs none."""
    converted = read(tmp_path, "init; compute 1; finalize", "init; compute 1", "init", "compute 5")
    assert converted.remarks == ("2 ranks have an init but no finalize: their actions may be cut off",)


def test_names_may_have_blanks(tmp_path: Path) -> None:
    """Each line of the list is a name, as in SimGrid: what clue writes under a name with blanks is read again."""
    trace = TraceBuilder(2)
    trace[0].send(1, 8)
    trace[1].recv(0)
    for name, text in write_ti(trace.build(), "my  run.ti").files.items():
        (tmp_path / name).write_text(text)
    assert ops(read_ti(tmp_path / "my  run.ti")) == [(Op.SEND, 0, 1, 8)]


def test_names_as_simgrid_writes_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``smpirun -trace-ti -trace-file runs/t`` lists files relative to the folder in which it runs."""
    monkeypatch.chdir(tmp_path)
    Path("runs/t_files").mkdir(parents=True)
    for rank in range(2):
        Path(f"runs/t_files/{rank}.txt").write_text(f"{rank} compute {10 + rank}\n")
    Path("runs/t").write_text("runs/t_files/0.txt\nruns/t_files/1.txt\n")
    converted = read_ti(Path("runs/t"), flops_per_second=1e9)
    assert [ops(converted, rank) for rank in range(2)] == [[(Op.COMPUTE, 10, 0, 0)], [(Op.COMPUTE, 11, 0, 0)]]


def test_a_name_alone_is_that_of_a_file_beside_the_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of another trace in the working folder does not replace a missing one; nor can a name have a NUL."""
    monkeypatch.chdir(tmp_path)
    Path("0.txt").write_text("0 compute 10\n")
    Path("runs").mkdir()
    Path("runs/t").write_text("0.txt\n")
    with pytest.raises(UsageError, match=r"runs/t:1: runs/0\.txt: file must be readable text, got No such file"):
        read_ti(Path("runs/t"))
    Path("runs/t").write_text("0\0.txt\n")
    with pytest.raises(UsageError, match=r"runs/t:1: runs/0\0\.txt: file must be readable text, got .*embedded null"):
        read_ti(Path("runs/t"))


#: Actions with as many words as SimGrid reads, on each of two ranks.
LONGEST_LINES = """init 1; compute 5; sleep 0; location prog.c 7; isend 0 1 8 6; irecv 0 1 8 6; test 0 0 1; wait 0 0 1;
isend 0 2 8 6; irecv 0 2 8 6; waitall 2; sendRecv 8 1 8 1 6 6; barrier; bcast 8 0 6; reduce 8 5 0 6; allreduce 8 5 6;
alltoall 8 8 6 6; alltoallv 16 8 8 16 8 8 6 6; gather 8 8 0 6 6; scatter 8 8 0 6 6; gatherv 8 8 8 0 6 6;
scatterv 8 8 8 0 6 6; allgather 8 8 6 6; allgatherv 8 8 8 6 6 0 8; reducescatter 8 8 5 6; scan 8 5 6; exscan 8 5 6;
comm_size 2; finalize"""


def test_only_the_root_of_a_scatterv_knows_all_sizes(tmp_path: Path) -> None:
    """SMPI writes a list of zeros on all ranks but the root: each rank receives as many ints as it says, 4 B each.

    So its own block of 800 KB stays at the root, and 1.2 MB take 20 us + 1.2e6 / 125e6 = 9.62 ms to rank 0.
    """
    trace = read(tmp_path, "scatterv 0 0 300000 1 1 1", "scatterv 300000 200000 200000 1 1 1").trace
    assert trace.rank(0).nbytes.tolist() == [1_200_000]
    assert trace.rank(1).nbytes.tolist() == [800_000]
    machine = Machine("pair", (NodeType("node"),) * 2, Network(_LINK, _LINK))
    assert simulate(trace, machine).makespan == pytest.approx(20e-6 + 1.2e6 / 125e6)


def test_no_word_of_an_action_is_left_out(tmp_path: Path) -> None:
    """Lines with all words that an action may have, the optional ones too, are read without a remark on them."""
    actions = LONGEST_LINES.replace("\n", " ")
    remarks = read(tmp_path, actions, actions.replace("sendRecv 8 1 8 1", "sendRecv 8 0 8 0")).remarks
    assert not [each for each in remarks if "go on" in each or "goes on" in each]


TOLD = {
    "isend 1 0 5": "1 request is waited for by no action; its rank waits for it at its end",
    "isend 1 0 5; wait 0 1 0; wait 0 1 0": "1 wait has no request left to wait for and is left out",
    "irecv 1 0 5; test 1 0 0; waitall": "1 test is taken as having found nothing",
    "comm_split": "1 action makes a communicator whose members these traces do not state and is left out; "
    "collectives on such communicators are replayed on all ranks",
    "compute 5 6; send 1 0 10 6 77 88; waitall 2 3": "3 lines go on after the last words of their actions; the rest is "
    "left out",
}


@pytest.mark.parametrize("actions", TOLD, ids=str)
def test_what_clue_cannot_hold_is_told(actions: str, tmp_path: Path) -> None:
    """Information that clue cannot represent causes a remark with a count."""
    assert read(tmp_path, actions, "init; finalize").remarks == (TOLD[actions],)


BAD = {
    "send 2 0 5": r"t\.0:1: partner must be a rank from 0 to 1, got 2$",
    "recv -333 0 5": (
        r"t\.0:1: partner must be a rank from 0 to 1, got -333: wildcards do not say what they matched, and a line "
        r"without a partner \(MPI_PROC_NULL\) must be left out$"
    ),
    "isend -333 0 5": (
        r"t\.0:1: partner .* 0 to 1, got -333: a line without a partner \(MPI_PROC_NULL\) must be left out$"
    ),
    "sendRecv 7 1 8 -333": r"t\.0:1: source .* 0 to 1, got -333: wildcards .* matched, and .* must be left out$",
    "bcast 8 -1": r"t\.0:1: root must be a rank from 0 to 1, got -1$",
    "recv 1 -444 5": r"t\.0:1: tag must be at least 0, got -444",
    "recv 1 2147483648 5": r"t\.0:1: tag must be at most 2147483647, got 2147483648$",
    "send 1 0": r"t\.0:1: send must have 3 numbers after it, got 2$",
    "send 1 0 five": r"t\.0:1: size must be a whole number of at most 15 digits, got five$",
    "send 1 0 -5": r"t\.0:1: size must not be negative, got -5$",
    "send 1 0 1.5": r"t\.0:1: size must be a whole number of at most 15 digits, got 1.5$",
    "send 1 0 1e15": r"t\.0:1: size must be a whole number of at most 15 digits, got 1e15$",
    "send 1 0 nan": r"t\.0:1: size must be a whole number of at most 15 digits, got nan$",
    "send 1 0 1000000000000000": r"t\.0:1: size must be a whole number of at most 15 digits, got 1000000000000000$",
    "send 1 zero 5": r"t\.0:1: tag must be a whole number of at most 15 digits, got zero$",
    "send one 0 5": r"t\.0:1: partner must be a whole number of at most 15 digits, got one$",
    "send 1 0 5 60": r"t\.0:1: datatype must be a number from 0 to 59, got 60$",
    "send 1 0 5 -1": (r"t\.0:1: datatype .* 0 to 59, got -1: these traces do not have the sizes of derived datatypes$"),
    "scatter 8 8 0 60": r"t\.0:1: datatype must be a number from 0 to 59, got 60$",
    "scatterv 8 8 8 0 1 60": r"t\.0:1: datatype must be a number from 0 to 59, got 60$",
    "scatterv 8 8": r"t\.0:1: scatterv must have 3 numbers after it, got 2$",
    "compute": r"t\.0:1: compute must have 1 number after it, got 0$",
    "compute -5": r"t\.0:1: flops must not be negative, got -5$",
    "compute much": r"t\.0:1: flops must be a finite number, got much$",
    "compute 1e30": r"t\.0:1: flops must be computation of less than 3\.2e\+16 ns, got 1e30$",
    "compute 20000000000000000; compute 10; compute 2e16": r"t\.0:3: rank must compute for at most .* got 4e\+16 ns$",
    "sleep -1": r"t\.0:1: seconds must not be negative, got -1$",
    "sleep 1e7": r"t\.0:1: seconds must be at most 9007199254740992 ns, got 1e7$",
    "sleep 1e8": r"t\.0:1: seconds must be at most 9007199254740992 ns, got 1e8$",
    "bcast 8 2": r"t\.0:1: root must be a rank from 0 to 1, got 2$",
    "sendRecv 7 1 8 2": r"t\.0:1: source must be a rank from 0 to 1, got 2$",
    "wait 0 1 x": r"t\.0:1: source, destination and tag of a request must be a whole number .*, got x$",
    "init; fly; Ssend 1 0 5; Startall": (
        r"t\.0:2: action must be one of init, .*, compute, sleep, got '0 fly'\n"
        r".*t\.0:3: action must be one that SimGrid replays, got '0 Ssend 1 0 5'\n"
        r".*t\.0:4: action must be one that SimGrid replays, got '0 Startall'$"
    ),
    "gatherv 4 4": r"t\.0:1: gatherv must have 3 numbers after it, got 2$",
    "gatherv 4 4 x": r"t\.0:1: size must be a whole number of at most 15 digits, got x$",
    "gatherv 4 4 4; gatherv 4 4 -3; gatherv 4 -2 4": (
        r"t\.0:2: size must not be negative, got -3\n.*t\.0:3: size must not be negative, got -2$"
    ),
    "allgatherv 4 4 5 1 1 0": (
        r"t\.0:1: allgatherv must have 2 displacements .* if any, got '0 allgatherv 4 4 5 1 1 0'$"
    ),
}


@pytest.mark.parametrize("actions", BAD, ids=str)
def test_fault_names_its_place(actions: str, tmp_path: Path) -> None:
    """A fault states file, line, rule and value."""
    with pytest.raises(UsageError, match=BAD[actions]):
        read(tmp_path, actions, "init")


def test_all_bad_lines_of_all_ranks_are_told(tmp_path: Path) -> None:
    """Lines that break different rules are told in their order; of 23 bad lines of a rank, 3 are only counted."""
    with pytest.raises(UsageError) as bad:
        read(tmp_path, "send 1 0 x; init; fly; send 2 0 y", "; ".join(["compute -1"] * 23))
    told = [fault.removeprefix(f"{tmp_path}/") for fault in bad.value.faults]
    assert told[0] == "t.0:1: size must be a whole number of at most 15 digits, got x"
    assert told[1].startswith("t.0:3: action must be one of init, ")
    assert told[2] == "t.0:4: partner must be a rank from 0 to 1, got 2"
    assert told[3:] == [
        *(f"t.1:{line}: flops must not be negative, got -1" for line in range(1, 21)),
        "t.1: and 3 more faults",
    ]


@pytest.mark.parametrize(
    ("displacements", "nbytes"), [("0 4 8", 4), ("1 1 0 4 8", 16), ("1 1 0 4 8 9", 16)], ids=["without", "with", "more"]
)
def test_displacements_of_allgatherv(displacements: str, nbytes: int, tmp_path: Path) -> None:
    """Up to one further word for each of three ranks are displacements; of more, the first two are datatypes (4 B)."""
    actions = f"allgatherv 4 4 5 6 {displacements}"
    assert ops(read(tmp_path, actions, "init", "init")) == [(Op.ALLGATHERV, 0, 0, nbytes)]


def test_missing_file_is_told_with_the_line_that_names_it(tmp_path: Path) -> None:
    """A missing file is an error that names the line of the list."""
    (tmp_path / "a").write_text("0 init\n")
    (tmp_path / "list").write_text("a\n# a comment\nb\n")
    with pytest.raises(UsageError, match=r"list:3: .*/b: file must be readable text, got No such file or directory$"):
        read_ti(tmp_path / "list", flops_per_second=1e9)


MERGED_BAD = {
    "5000000000000 send 1 0 5": r"all:1: rank must be below 16777216, got 5000000000000$",
    "0 init\n3 init\n1 init": r"all:2: rank must have lines of all ranks below it in the file, got 3 without 2$",
    "0 init\n-1 init": r"all:2: line must begin with a rank, got '-1'$",
    "x init\n0 init\ny init": r"all:1: .*, got 'x'\n.*all:3: line must begin with a rank, got 'y'$",
    "# nothing": r"all: file must have actions, got none$",
}


@pytest.mark.parametrize("text", MERGED_BAD, ids=str)
def test_ranks_of_one_file_are_all_there(text: str, tmp_path: Path) -> None:
    """A wrong rank in a common file is refused before it takes memory."""
    (tmp_path / "all").write_text(text)
    (tmp_path / "list").write_text("all\n")
    with pytest.raises(UsageError, match=MERGED_BAD[text]):
        read_ti(tmp_path / "list", flops_per_second=1e9)


def test_calls_have_their_names_in_mpi(tmp_path: Path) -> None:
    """All ops of an action belong to its call; computation at the end belongs to none."""
    actions = "init; sendRecv 8 1 8 1; reducescatter 5 5 10 0; isend 1 0 5; test 0 1 0; waitall; compute 7; finalize"
    trace = read(tmp_path, actions, "init; sendRecv 8 0 8 0; reducescatter 5 5 10 0; recv 0 0; finalize").trace
    calls = [trace.head.calls[call] for call in trace.rank(0).call]
    assert calls == [*["Sendrecv"] * 3, "Reduce_scatter", "Isend", "Test", "Waitall", ""]
