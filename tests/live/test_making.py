"""Communicators, groups and topologies that live ranks create."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from clue.recording import find_mpiexec
from tests.live.programs import MACHINE, Live

START = """
from mpi4py import MPI
import numpy as np
comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
def refuses(call, code):
    try:
        call()
    except MPI.Exception as error:
        return error.Get_error_class() == code
    return False
"""
RANKS = pytest.mark.parametrize("ranks", [1, 4])


def check(live: Live, program: str, ranks: int) -> None:
    """Run a program that must succeed on all ranks."""
    ended = live(START + dedent(program), ranks=ranks)
    assert ended.status == 0, ended.err


@RANKS
def test_groups(live: Live, ranks: int) -> None:
    """Groups can be selected, combined, compared and translated; the program sees objects of mpi4py's own class."""
    check(
        live,
        """
        everyone = comm.Get_group()
        assert type(everyone) is MPI.Group and everyone.size == size and everyone.rank == rank and everyone
        odd = everyone.Incl(range(1, size, 2))
        even = everyone.Excl(range(1, size, 2))
        assert odd.size + even.size == size and (odd.rank == MPI.UNDEFINED) == (rank % 2 == 0)
        assert MPI.Group.Union(odd, even).Translate_ranks() == [*range(1, size, 2), *range(0, size, 2)]
        assert MPI.Group.Compare(MPI.Group.Union(even, odd), everyone) == (MPI.IDENT if size < 3 else MPI.SIMILAR)
        assert MPI.Group.Compare(MPI.Group.Intersection(odd, even), MPI.GROUP_EMPTY) == MPI.IDENT
        assert MPI.Group.Difference(everyone, odd) == even
        backwards = everyone.Range_incl([(size - 1, 0, -1)])
        assert everyone.Translate_ranks([0, MPI.PROC_NULL], backwards) == [size - 1, MPI.PROC_NULL]
        assert everyone.Range_excl([(0, size - 1, 1)]) == MPI.GROUP_EMPTY
        assert refuses(lambda: everyone.Incl([size]), MPI.ERR_RANK)
        copy = MPI.Group(everyone)
        everyone.Free()
        assert everyone == MPI.GROUP_NULL and copy.size == size
        """,
        ranks,
    )


@RANKS
def test_communicators(live: Live, ranks: int) -> None:
    """Communicators have the right members in the right order, and messages of one never match receives of another."""
    check(
        live,
        """
        backwards = comm.Split(0, -rank)
        assert backwards.rank == size - 1 - rank and type(backwards) is MPI.Intracomm
        assert comm.Split(MPI.UNDEFINED) == MPI.COMM_NULL
        copy = comm.Dup()
        assert MPI.Comm.Compare(copy, comm) == MPI.CONGRUENT and MPI.Comm.Compare(comm, comm) == MPI.IDENT
        assert MPI.Comm.Compare(backwards, comm) == (MPI.CONGRUENT if size == 1 else MPI.SIMILAR)
        group = comm.Get_group().Incl([size - 1])
        last = comm.Create(group)
        assert bool(last) == (rank == size - 1) and (not last or last.size == 1)
        same = comm.Create_group(comm.Get_group(), tag=3)
        assert same.rank == rank
        alike = MPI.Intracomm.Create_from_group(comm.Get_group(), "a tag")
        assert alike.allreduce(1) == size
        later, request = comm.Idup()
        request.Wait()
        right, left = (rank + 1) % size, (rank - 1) % size
        requests = [each.isend(i, right) for i, each in enumerate((comm, copy, same, later))]
        assert [each.recv(source=left) for each in (later, same, copy, comm)] == [3, 2, 1, 0]
        MPI.Request.waitall(requests)
        for each in (backwards, copy, same, alike, later):
            each.Free()
            assert not each
        assert refuses(lambda: MPI.COMM_NULL.Dup(), MPI.ERR_COMM)
        """,
        ranks,
    )


@RANKS
def test_attributes_and_names_are_the_librarys(live: Live, ranks: int) -> None:
    """Dup copies attributes through the program's function, Free deletes them, and error handlers are called."""
    check(
        live,
        """
        deleted = []
        key = MPI.Comm.Create_keyval(lambda comm, key, value: value + 1, lambda comm, key, value: deleted.append(value))
        first = comm.Dup()
        first.Set_attr(key, 6)
        second = first.Dup()
        assert second.Get_attr(key) == 7 and comm.Get_attr(key) is None
        second.Set_name("second")
        assert second.name == "second" and comm.name == "MPI_COMM_WORLD"
        second.Free()
        first.Free()
        assert deleted == [7, 6]
        heard = []
        handler = MPI.Comm.Create_errhandler(lambda comm, code: heard.append(code))
        third = comm.Dup()
        third.Set_errhandler(handler)
        third.Call_errhandler(MPI.ERR_OTHER)
        assert heard == [MPI.ERR_OTHER]
        """,
        ranks,
    )


@RANKS
def test_topologies(live: Live, ranks: int) -> None:
    """Cartesian grids, their slices, graphs and distributed graphs answer queries for all ranks."""
    check(
        live,
        """
        dims = MPI.Compute_dims(size, 2)
        grid = comm.Create_cart(dims, periods=[True, False])
        assert type(grid) is MPI.Cartcomm and grid.dims == dims and grid.periods == [1, 0]
        assert grid.Get_cart_rank(grid.coords) == grid.rank
        assert grid.Get_coords(rank) == [rank // dims[1], rank % dims[1]]
        down, up = grid.Shift(1, 1)
        assert (down == MPI.PROC_NULL) == (grid.coords[1] == 0)
        row = grid.Sub([False, True])
        assert row.size == dims[1] and row.rank == grid.coords[1] and row.Get_topo()[0] == [dims[1]]
        assert grid.Dup().dims == dims
        small = comm.Create_cart([1])
        assert bool(small) == (rank == 0)
        assert refuses(lambda: comm.Create_cart([size + 1]), MPI.ERR_ARG) or size == 1
        right, left = (rank + 1) % size, (rank - 1) % size
        ring = comm.Create_graph(range(1, size + 1), [(i + 1) % size for i in range(size)])
        assert ring.neighbors == [right] and ring.Get_neighbors(size - 1) == [0] and ring.dims == (size, size)
        for loops in range(3):
            one = comm.Create_graph([0, loops], [0] * loops)
            assert bool(one) == (rank == 0)
            assert rank or (one.neighbors == [0] * loops and one.neighbor_allgather("x") == ["x"] * loops)
        ring = comm.Create_dist_graph([rank], [1], [right], [rank + 5])
        assert ring.Get_dist_neighbors() == ([left], [right], ([left + 5], [rank + 5]))
        assert comm.Create_dist_graph_adjacent([left], []).inoutedges == ([left], [])
        """,
        ranks,
    )


def test_two_groups(live: Live) -> None:
    """An intercommunicator has both groups; it can be duplicated, split and merged, and has mpi4py's own type."""
    check(
        live,
        """
        side = comm.Split(rank // 2, rank)
        inter = side.Create_intercomm(0, comm, 2 - rank // 2 * 2, tag=9)
        assert type(inter) is MPI.Intercomm and inter.Is_inter() and inter.rank == rank % 2
        assert inter.remote_group.Translate_ranks() == [2 - rank // 2 * 2, 3 - rank // 2 * 2]
        assert MPI.Intercomm(inter) == inter and type(MPI.Comm.f2py(inter.py2f())) is MPI.Intercomm
        try:
            MPI.Intracomm(inter)
        except TypeError:
            pass
        else:
            raise AssertionError
        inter.send(rank, inter.rank)
        assert inter.recv() == (rank + 2) % 4
        pair = inter.Dup().Split(rank % 2, 0)
        assert pair.size == pair.remote_size == 1 and pair.allgather(rank) == [(rank + 2) % 4]
        assert inter.Merge(rank < 2).allgather(rank) == [2, 3, 0, 1]
        """,
        4,
    )


@RANKS
def test_process_sets_of_a_session(live: Live, ranks: int) -> None:
    """A session knows the world and the process itself; the group of the world makes a communicator."""
    check(
        live,
        """
        session = MPI.Session.Init()
        assert session.Get_pset_info("mpi://WORLD").Get("mpi_size") == str(size)
        group = session.Create_group("mpi://WORLD")
        assert group.rank == rank and session.Create_group("mpi://SELF").size == 1
        assert MPI.Intracomm.Create_from_group(group).allreduce(1) == size
        session.Finalize()
        """,
        ranks,
    )


def test_groups_meet_at_a_port(live: Live) -> None:
    """Rank 0 opens a port and the others connect to it, twice; an unknown port is refused."""
    check(
        live,
        """
        others = comm.Split(rank > 0)
        port = comm.bcast(MPI.Open_port() if rank == 0 else None)
        for word in ("once", "twice"):
            inter = others.Accept(port) if rank == 0 else others.Connect(port if rank == 1 else None)
            assert (inter.size, inter.remote_size) == ((1, 3) if rank == 0 else (3, 1))
            root = 0 if rank else MPI.ROOT
            assert inter.bcast(word if rank == 0 else None, root) == (word if rank else None)
            inter.Disconnect()
        assert refuses(lambda: MPI.COMM_SELF.Connect("nowhere"), MPI.ERR_PORT)
        MPI.Close_port(port) if rank == 0 else None
        """,
        4,
    )


def test_what_is_not_covered_is_refused_by_name(live: Live) -> None:
    """The error names the call that is not covered; file access by a single process still works."""
    check(
        live,
        """
        for call, name in (
            (lambda: MPI.Publish_name("service", "port"), "Publish_name"),
            (lambda: MPI.File.Open(comm, "file", MPI.MODE_CREATE | MPI.MODE_WRONLY), "File.Open"),
            (lambda: comm.Agree(1), "Agree"),
        ):
            try:
                call()
            except NotImplementedError as error:
                assert str(error).startswith(name + ": "), error
            else:
                raise AssertionError(name)
        file = MPI.File.Open(MPI.COMM_SELF, f"mine{rank}", MPI.MODE_CREATE | MPI.MODE_WRONLY)
        file.Write(b"here")
        file.Close()
        assert open(f"mine{rank}").read() == "here"
        """,
        2,
    )


def test_ranks_of_a_node_are_told_from_others(live: Live) -> None:
    """On two nodes of two processors, only the two ranks of a node share memory and the name of their computer."""
    two_nodes = MACHINE.replace("count: 4", "count: 2").replace("processors: 1", "processors: 2")
    (live.folder / "four.yaml").write_text(two_nodes)
    check(
        live,
        """
        node = comm.Split_type(MPI.COMM_TYPE_SHARED)
        assert node.allgather(rank) == ([0, 1] if rank < 2 else [2, 3])
        assert comm.allgather(MPI.Get_processor_name()) == ["node-0", "node-0", "node-1", "node-1"]
        assert refuses(lambda: MPI.Win.Allocate_shared(8, comm=comm), MPI.ERR_RMA_SHARED)
        MPI.Win.Allocate_shared(8, comm=node).Free()
        """,
        4,
    )


NUMPY_NUMBERS = """
one, two = (np.int64, int) if rank % 2 else (int, np.int32)
right, left = (rank + 1) % size, (rank - 1) % size
request = comm.isend(rank, dest=one(right), tag=one(4))
assert comm.recv(source=two(left), tag=two(4)) == left
request.wait()
data = np.full(2, float(rank))
request = comm.Isend([data, one(2), MPI.DOUBLE], one(right), one(5))
assert comm.Iprobe(source=two(left), tag=two(6)) is False
comm.Probe(two(left), two(5))
comm.Recv([data, two(2), MPI.DOUBLE], two(left), two(5))
request.Wait()
assert list(data) == [left, left]
assert comm.bcast(rank, root=one(1)) == 1
assert comm.gather(rank, root=two(0)) == (list(range(size)) if rank == 0 else None)
sums = np.zeros(size)
counts, places = np.ones(size, np.int32), np.arange(size, dtype=np.int64)
comm.Allgatherv([data, one(1), MPI.DOUBLE], [sums, counts, places, MPI.DOUBLE])
assert list(sums) == [(each - 1) % size for each in range(size)]
part = comm.Split(one(rank // 2 % 2), two(-rank))
assert part.allgather(rank) == ([1, 0] if rank < 2 else [3, 2])
assert comm.Split(np.bool_(rank % 2)).allgather(rank) == [rank % 2, rank % 2 + 2]
assert comm.Split_type(MPI.COMM_TYPE_SHARED, two(-300 * rank)).size == 1
pair = comm.Create_group(comm.Get_group().Incl(np.array([rank // 2 * 2, rank // 2 * 2 + 1])), one(7))
assert pair.allgather(rank) == [rank // 2 * 2, rank // 2 * 2 + 1]
both = part.Create_intercomm(two(0), comm, one(3 if rank < 2 else 1), two(8))
assert sorted(both.allgather(rank)) == ([2, 3] if rank < 2 else [0, 1])
both.send(rank, dest=one(0), tag=two(1))
if part.rank == 0:
    assert {both.recv(source=two(each), tag=one(1)) for each in range(2)} == ({2, 3} if rank < 2 else {0, 1})
for each in (both, pair, part):
    each.Free()
ring = comm.Create_dist_graph_adjacent(np.array([left]), np.array([right]))
assert ring.neighbor_allgather(rank) == [left]
several = comm.Create_dist_graph(
    np.array([rank]), np.array([2]), np.array([left, right]), weights=np.array([1, 2])
)
assert several.Get_dist_neighbors_count()[2] and sorted(several.neighbor_allgather(rank)) == sorted([left, right])
grid = comm.Create_cart(np.array([2, 2]), periods=[True, False])
assert grid.Get_cart_rank(np.array([1, 0])) == 2 and grid.Get_coords(one(3)) == [1, 1]
assert grid.Shift(one(0), two(1)) == ((rank + 2) % 4, (rank + 2) % 4)
"""


def test_numbers_may_be_those_of_numpy(live: Live) -> None:
    """Ranks, tags, colours, keys and counts of numpy mean the same as Python's, which others pass in the same calls."""
    check(live, NUMPY_NUMBERS, 4)


def test_numbers_may_be_those_of_numpy_under_real_mpi(tmp_path: Path) -> None:
    """The program of the test before succeeds under MPI itself."""
    program = tmp_path / "program.py"
    program.write_text(START + NUMPY_NUMBERS.replace("two(-300 * rank)).size == 1", "two(-300 * rank)).size == 4"))
    command = [find_mpiexec(), "-n", "4", sys.executable, str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_errors_of_too_many_places_name_the_programs_ranks(live: Live) -> None:
    """The real communicator behind a rank's has one process; errors name the number that the program knows."""
    check(
        live,
        """
        def wrong(call):
            try:
                call()
            except MPI.Exception as error:
                return error.Get_error_class(), str(error)
        why = "places of a topology must be at most as many as processes of its communicator, 4, got 9"
        expected = MPI.ERR_ARG, f"{MPI.Get_error_string(MPI.ERR_ARG)}: {why}"
        for _ in range(2):
            assert wrong(lambda: comm.Create_cart([3, 3])) == expected
            assert wrong(lambda: comm.Cart_map([3, 3])) == expected
            assert wrong(lambda: comm.Create_graph([1] * 9, [0])) == expected
        """,
        4,
    )


def test_numbers_are_whole_where_mpi4py_says_so(live: Live) -> None:
    """As in mpi4py, single numbers and ranges may be floats, and lists of numbers must not be."""
    check(
        live,
        """
        everyone = comm.Get_group()
        assert everyone.Range_incl([(0, size / 2, 1)]).size == 3
        assert comm.reduce(rank, root=2.0) == (6 if rank == 2 else None)
        grid = comm.Create_cart([2, np.int64(2)], [True, True])
        assert grid.Shift(1.0, 1.0) == grid.Shift(1, 1) and grid.Get_coords(1.0) == [0, 1]
        def refuses_floats(call):
            try:
                call()
            except TypeError:
                return True
        assert refuses_floats(lambda: comm.Create_cart([size / 2, 2]))
        assert refuses_floats(lambda: comm.Create_dist_graph_adjacent([1.0], [1.0]))
        assert refuses_floats(lambda: everyone.Incl([1.0]))
        assert refuses_floats(lambda: everyone.Translate_ranks([1.0], everyone))
        assert refuses_floats(lambda: comm.Reduce_scatter(np.zeros(size), np.zeros(1), [1.0] * size))
        """,
        4,
    )
