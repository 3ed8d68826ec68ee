"""Communicators of all kinds: their members, and their contexts, which are all different."""

from __future__ import annotations

from pathlib import Path

import pytest

from clue.trace import Communicator, Op, Trace
from tests.virtual_layer.conftest import Recorded
from tests.virtual_layer.rows import calls, named
from virtual_layer.spawning import python_arguments

RANKS = 3


@pytest.fixture(scope="module")
def made(recorded: Recorded) -> Trace:
    """Return the trace of a program that creates communicators in every way, and sends to the next rank on each."""
    return recorded(
        """
        def shift(comm, tag):
            if comm != MPI.COMM_NULL:
                after, before = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
                comm.Sendrecv(eight, after, tag, room, before, tag)

        first, second = comm.Dup(), comm.Dup()
        shift(second, 1)
        shift(first, 2)
        third, request = comm.Idup()
        request.Wait()
        shift(third, 3)
        shift(comm.Split(rank % 2, -rank), 4)
        shift(comm.Split(0 if rank else MPI.UNDEFINED), 5)
        shift(comm.Split_type(MPI.COMM_TYPE_SHARED), 6)
        group = comm.Get_group()
        shift(comm.Create(group.Incl([2, 0])), 7)
        cart = comm.Create_cart([3, 1], [True, False])
        shift(cart, 8)
        shift(cart.Sub([False, True]), 9)
        shift(comm.Create_graph([1, 2, 3], [1, 2, 0]), 10)
        if rank < 2:
            shift(comm.Create_group(group.Incl([1, 0]), 33), 11)
        shift(MPI.COMM_SELF, 12)
        half = comm.Split(rank > 0)
        bridge = half.Create_intercomm(0, comm, 1 if rank == 0 else 0, 44)
        bridge.Send(eight, 0, 13) if rank == 0 else None
        bridge.Recv(room, 0, 13) if rank == 1 else None
        twin = bridge.Dup()
        twin.Isend(eight, 0, 14).Wait() if rank == 1 else None
        twin.Recv(room, MPI.ANY_SOURCE, 14) if rank == 0 else None
        merged = bridge.Merge(high=rank == 0)
        shift(merged, 15)
        freed = comm.Dup()
        freed.Free()
        again = comm.Dup()
        shift(again, 16)
        copy = MPI.Intracomm(again)
        shift(copy, 17)
        """,
        RANKS,
    )


def _sent(trace: Trace, rank: int, tag: int) -> Communicator:
    (row,) = [row for row in calls(trace, rank) if row.op in (Op.ISEND, Op.SEND) and row.tag == tag]
    return trace.head.communicators[row.comm]


def _contexts(trace: Trace, tag: int) -> set[int]:
    return {_sent(trace, rank, tag).context for rank in range(RANKS)}


@pytest.mark.parametrize(
    ("tag", "name", "group"),
    [
        (1, "Dup", (0, 1, 2)),
        (2, "Dup", (0, 1, 2)),
        (3, "Idup", (0, 1, 2)),
        (6, "Split_type", (0, 1, 2)),
        (8, "Create_cart", (0, 1, 2)),
        (10, "Create_graph", (0, 1, 2)),
        (15, "Merge", (1, 2, 0)),
        (16, "Dup", (0, 1, 2)),
        (17, "Dup", (0, 1, 2)),
    ],
)
def test_whole_communicators_have_one_context(made: Trace, tag: int, name: str, group: tuple[int, ...]) -> None:
    """All members record the same context, name and group."""
    assert {_sent(made, rank, tag) for rank in range(RANKS)} == {_sent(made, 0, tag)}
    assert (_sent(made, 0, tag).name, _sent(made, 0, tag).group) == (name, group)


def test_no_two_communicators_share_a_context(made: Trace) -> None:
    """Communicators with the same members have different contexts; another handle of one has the same context."""
    contexts = [_sent(made, 0, tag).context for tag in (1, 2, 3, 6, 8, 10, 16)]
    assert len(set(contexts)) == len(contexts)
    assert _contexts(made, 16) == _contexts(made, 17)


def test_parts_of_a_communicator(made: Trace) -> None:
    """The parts that one call creates have different contexts, and ranks in the order of keys and groups."""
    assert [_sent(made, rank, 4).group for rank in range(RANKS)] == [(2, 0), (1,), (2, 0)]
    assert _sent(made, 0, 4).context == _sent(made, 2, 4).context != _sent(made, 1, 4).context
    assert {_sent(made, rank, 5).group for rank in (1, 2)} == {(1, 2)}
    assert {_sent(made, rank, 7).group for rank in (0, 2)} == {(2, 0)}
    assert [_sent(made, rank, 9).group for rank in range(RANKS)] == [(0,), (1,), (2,)]
    assert len(_contexts(made, 9)) == 3
    assert {_sent(made, rank, 11).group for rank in (0, 1)} == {(1, 0)}
    assert [_sent(made, rank, 12).group for rank in range(RANKS)] == [(0,), (1,), (2,)]
    assert len(_contexts(made, 12)) == 3


def test_both_sides_of_an_intercommunicator(made: Trace) -> None:
    """Each side's own group comes first; both sides have one context, and the duplicate has another."""
    here, there = _sent(made, 0, 13), _sent(made, 1, 14)
    assert (here.group, here.remote) == ((0,), (1, 2))
    assert (there.group, there.remote) == ((1, 2), (0,))
    assert here.context != there.context
    received = [row for row in calls(made, 0) if row.op is Op.RECV and row.tag == 14]
    assert made.head.communicators[received[0].comm].context == there.context
    assert received[0].peer == 0


def test_communicators_of_groups_are_told_apart_by_their_tags(recorded: Recorded) -> None:
    """Each is known when it is made: ranks may use two of the same members in different orders."""
    trace = recorded(
        """
        members = comm.Get_group()
        made = [(MPI.Intracomm.Create_from_group(members, name), tag) for name, tag in (("one", 1), ("two", 2))]
        rooms = [array("d", bytes(64)) for _ in made]
        requests = []
        for (each, tag), own in zip(made[:: 1 if rank else -1], rooms):
            requests += [each.Irecv(own, other, tag), each.Isend(eight, other, tag)]
        MPI.Request.Waitall(requests)
        """
    )
    assert _sent(trace, 0, 1) == _sent(trace, 1, 1)
    assert _sent(trace, 0, 2) == _sent(trace, 1, 2)
    assert _sent(trace, 0, 1).context != _sent(trace, 0, 2).context
    assert (_sent(trace, 0, 1).name, _sent(trace, 0, 1).group) == ("Create_from_group", (0, 1))


def test_constructors_are_ops_of_their_parent(made: Trace) -> None:
    """Those of groups are COMM ops of what they make, or of the union of both; leaders meet by messages before."""
    assert [row.op for row in named(made, 1, "Split")] == [Op.COMM] * 3
    assert made.head.communicators[named(made, 1, "Sub")[0].comm].name == "Create_cart"
    group, bridge, merged = (named(made, 0, name) for name in ("Create_group", "Create_intercomm", "Merge"))
    assert [row.op for row in (*group, *merged)] == [Op.COMM] * 2
    assert made.head.communicators[group[0].comm].name == "Create_group"
    assert made.head.communicators[merged[0].comm].name == "union"
    assert [(row.op, row.nbytes) for row in bridge] == [(Op.ISEND, 4), (Op.RECV, 0), (Op.WAIT, 0), (Op.COMM, 0)]
    assert [row.op for row in named(made, 0, "Free")] == [Op.LOCAL]


@pytest.mark.parametrize(
    ("words", "options", "program"),
    [
        (["-u", "p.py", "-m"], ["-u"], ["p.py", "-m"]),
        (["-X", "utf8", "-m", "package", "1"], ["-X", "utf8"], ["-m", "package", "1"]),
        (["-Xfrozen_modules=off", "p.py"], ["-Xfrozen_modules=off"], ["p.py"]),
        (["-mpackage", "1"], [], ["-m", "package", "1"]),
        (["-um", "package"], ["-u"], ["-m", "package"]),
        (["-Wdefault", "-cprint(1)"], ["-Wdefault"], ["-c", "print(1)"]),
    ],
)
def test_children_keep_the_options_of_their_interpreter(
    words: list[str], options: list[str], program: list[str]
) -> None:
    """The layer comes between Python's own options and the program, however these are written."""
    layer = ["-m", "virtual_layer", "--child", "w.json"]
    assert python_arguments("python3", words, Path("w.json")) == [*options, *layer, *program]


@pytest.fixture(scope="module")
def family(recorded: Recorded) -> Trace:
    """Return the trace of two parents that spawn two children, which exchange messages with their parents."""
    return recorded(
        """
        import pathlib, sys, textwrap
        child = pathlib.Path(__file__).with_name("child.py")
        text = textwrap.dedent('''
            from mpi4py import MPI
            parent = MPI.Comm.Get_parent()
            rank = MPI.COMM_WORLD.rank
            parent.send(rank, 0, 7) if rank == 1 else None
            MPI.COMM_WORLD.Barrier()
            whole = parent.Merge(high=True)
            assert whole.allgather(whole.rank) == [0, 1, 2, 3]
            half = whole.Split(whole.rank % 2)
            bridge = half.Create_intercomm(0, whole, 1 - whole.rank % 2, 5)
            bridge.recv(source=bridge.rank, tag=8) if whole.rank % 2 else bridge.send(None, bridge.rank, 8)
            parent.Disconnect()
        ''')
        if rank == 1:
            child.write_text(text)
        children = comm.Spawn(sys.executable, [str(child)], maxprocs=2, root=1)
        if rank == 0:
            assert children.recv(source=MPI.ANY_SOURCE) == 1
        whole = children.Merge(high=False)
        assert whole.allgather(whole.rank) == [0, 1, 2, 3]
        half = whole.Split(whole.rank % 2)
        bridge = half.Create_intercomm(0, whole, 1 - whole.rank % 2, 5)
        bridge.recv(source=bridge.rank, tag=8) if whole.rank % 2 else bridge.send(None, bridge.rank, 8)
        children.Disconnect()
        """,
        2,
    )


def test_spawned_children_are_ranks_of_the_trace(family: Trace) -> None:
    """The children's ranks follow those of the parents, and belong to a world of their own."""
    assert [head.world for head in family.head.rank_heads] == [0, 0, 1, 1]
    for rank in (0, 1):
        (spawn,) = named(family, rank, "Spawn")
        assert (spawn.op, spawn.peer, spawn.nbytes, spawn.extras) == (Op.SPAWN, 1, 2, (1,))


def test_parents_and_children_talk(family: Trace) -> None:
    """Messages between parents and children have the same context on both sides."""
    (sent,), (received,) = named(family, 3, "send"), named(family, 0, "recv")
    near, far = family.head.communicators[sent.comm], family.head.communicators[received.comm]
    assert (near.group, near.remote) == ((2, 3), (0, 1))
    assert (far.group, far.remote) == ((0, 1), (2, 3))
    assert near.context == far.context
    assert received.peer == 1
    merged = [family.head.communicators[named(family, rank, "allgather")[0].comm] for rank in range(4)]
    assert len(set(merged)) == 1
    assert merged[0].group == (0, 1, 2, 3)


def test_halves_of_two_worlds_talk(family: Trace) -> None:
    """Halves of a parent and a child each: all members know the other half, and a message has one context."""
    for sender, receiver in ((0, 1), (2, 3)):
        sent, received = named(family, sender, "send")[-1], named(family, receiver, "recv")[-1]
        assert (sent.op, received.op) == (Op.SEND, Op.RECV)
        near, far = family.head.communicators[sent.comm], family.head.communicators[received.comm]
        assert (near.group, near.remote) == ((0, 2), (1, 3))
        assert (far.group, far.remote) == ((1, 3), (0, 2))
        assert near.context == far.context


def test_the_duplicates_of_pkl5(recorded: Recorded) -> None:
    """Its collectives send over mpi4py's own duplicate, known to all; who waits for its making does not compute."""
    trace = recorded(
        """
        import time
        from mpi4py.util import pkl5

        comm.Barrier()
        if rank == 0:
            time.sleep(1)
        pkl5.Intracomm(comm).gather(rank)
        pkl5.Intracomm(comm).gather(rank)
        half = comm.Split(rank > 0)
        bridge = pkl5.Intercomm(half.Create_intercomm(0, comm, 1 if rank == 0 else 0, 44))
        assert len(bridge.allgather(rank)) == (2 if rank == 0 else 1)
        bridge.bcast(rank, MPI.ROOT if rank == 0 else 0)
        """,
        RANKS,
    )
    made = [named(trace, rank, "_commctx_intra") for rank in range(RANKS)]
    assert [[row.op for row in of] for of in made] == [[Op.LOCAL] * 2] * RANKS
    # On a busy computer, ranks may leave the barrier half a second late.
    assert all(of[0].took > 0.2 for of in made[1:])
    sent = [[trace.head.communicators[row.comm] for row in named(trace, rank, "Isend")] for rank in range(RANKS)]
    whole, bridge = sent[0][0], sent[0][-1]
    assert {of[0] for of in sent} == {whole}
    assert (whole.group, whole.remote) == ((0, 1, 2), None)
    assert {of[-1].context for of in sent} == {bridge.context} != {whole.context}
    assert [(of[-1].group, of[-1].remote) for of in sent] == [((0,), (1, 2))] + [((1, 2), (0,))] * 2
    passed_on = [trace.head.communicators[row.comm] for rank in (1, 2) for row in named(trace, rank, "Bcast")]
    assert {each.group for each in passed_on} == {(1, 2)}
    assert len({each.context for each in passed_on}) == 1
