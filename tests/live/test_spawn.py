"""Live programs that spawn further worlds."""

from __future__ import annotations

import pytest

from tests.live.programs import Live

CHILD = """\
import sys
from mpi4py import MPI
parent = MPI.Comm.Get_parent()
assert parent.Get_remote_size() == 2 and MPI.COMM_WORLD.size == int(sys.argv[1])
assert parent.bcast(None, root=0) == "work"
parent.gather((sys.argv[2], MPI.COMM_WORLD.rank), root=0)
everybody = parent.Merge(True)
assert everybody.allgather(MPI.COMM_WORLD.rank)[:2] == [0, 1]
parent.Disconnect()
assert not MPI.Comm.Get_parent()
"""


def test_children_meet_their_parents(live: Live) -> None:
    """Spawned children communicate with their parents; in the merged communicator the parents come first."""
    child = live.write(CHILD, "child.py")
    ended = live(
        f"""
        import sys
        from mpi4py import MPI
        comm, codes = MPI.COMM_WORLD, []
        children = comm.Spawn(sys.executable, [{str(child)!r}, "3", "a"], 3, root=1, errcodes=codes)
        assert codes == [0, 0, 0] and children.is_inter and children.remote_size == 3
        root = MPI.ROOT if comm.rank == 0 else MPI.PROC_NULL
        children.bcast("work" if comm.rank == 0 else None, root)
        found = children.gather(None, root)
        assert found == ([("a", 0), ("a", 1), ("a", 2)] if comm.rank == 0 else None)
        everybody = children.Merge(False)
        assert everybody.size == 5 and everybody.rank == comm.rank
        everybody.allgather(comm.rank)
        children.Disconnect()
        print("done")
        """
    )
    assert (ended.status, ended.out.count("done")) == (0, 2), ended.err


def test_one_world_of_several_programs(live: Live) -> None:
    """Spawn_multiple gives each command its number of ranks, in order."""
    child = live.write(CHILD, "child.py")
    ended = live(
        f"""
        import sys
        from mpi4py import MPI
        comm = MPI.COMM_WORLD
        words = [[{str(child)!r}, "3", "a"], [{str(child)!r}, "3", "b"]]
        children = comm.Spawn_multiple([sys.executable] * 2, words, [1, 2])
        root = MPI.ROOT if comm.rank == 0 else MPI.PROC_NULL
        children.bcast("work" if comm.rank == 0 else None, root)
        found = children.gather(None, root)
        assert found == ([("a", 0), ("b", 1), ("b", 2)] if comm.rank == 0 else None)
        children.Merge(False).allgather(comm.rank)
        """
    )
    assert ended.status == 0, ended.err


def test_children_begin_after_the_delays_of_their_node_type(live: Live) -> None:
    """The spawn delay costs the root 1 s; the child starts 2 s after that, and its message takes less than 100 us."""
    (live.folder / "four.yaml").write_text(
        "nodes: [{count: 4, type: host}]\n"
        "node_types: {host: {processors: 1, spawn_delay: 1 s, initialisation_delay: 2 s}}\n"
        "network: {between_nodes: {send_delay: 10 us, transmission_delay: 30 us, receive_delay: 10 us}}\n"
    )
    child = live.write("from mpi4py import MPI\nMPI.Comm.Get_parent().send(MPI.Wtime(), 0)\n", "child.py")
    ended = live(
        f"""
        import sys
        from mpi4py import MPI
        child = MPI.COMM_SELF.Spawn(sys.executable, [{str(child)!r}])
        print(MPI.Wtime(), child.recv())
        """,
        "--bursts", "1 Gflop/s", ranks=1,
    )  # fmt: skip
    assert ended.status == 0, ended.err
    assert [float(word) for word in ended.out.split()[:2]] == pytest.approx([1.0, 3.0])


def test_a_program_that_is_not_pythons_is_refused(live: Live) -> None:
    """Spawning a program that is not Python is an error that names the program."""
    ended = live("from mpi4py import MPI\nMPI.COMM_SELF.Spawn('/bin/true')\n", ranks=1)
    assert ended.status == 1
    assert "must start a Python program in a live run, got /bin/true" in ended.err
