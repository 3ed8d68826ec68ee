"""Structure graphs of small programs: sequences, loops with counts, and parallel branches."""

from __future__ import annotations

from clue.structure import Graph, Kind, Node, examples_of
from clue.trace import Op, TraceBuilder
from clue.trace.sites import Frame, Site
from tests.structure.stub import Comm, Program, run


def graph(program: Program, *places: tuple[int, int]) -> Graph:
    """Return the graph of a program, recorded at these sizes and numbers of ranks."""
    return Graph.of(*examples_of([(size, ranks, run(program, size, ranks)) for size, ranks in places]))


def written(node: Node) -> list[object]:
    """Return the names of calls, loops with counts, and branches of a node, without computation."""
    found: list[object] = []
    for child in node.children:
        if child.kind is Kind.COMMUNICATION:
            found.append(child.name)
        elif child.kind is Kind.LOOP:
            found.append((child.mean_times(0), *written(child)))
        elif child.children:
            found.append({child.kind.value: written(child)})
    return found


def iterating(comm: Comm, n: int) -> None:
    """Run loops inside loops, with a call before and after."""
    comm.bcast(8)
    for _ in range(3):
        for _ in range(n):
            comm.allreduce(8)
        comm.barrier()
    comm.bcast(8)


def test_sequences_and_loops() -> None:
    """Counts are totals over the run: 3 outer iterations and 3 × 5 inner ones."""
    found = graph(iterating, (5, 2))
    assert written(found.root) == ["Bcast", (3.0, (15.0, "Allreduce"), "Barrier"), "Bcast"]
    assert found.astray == 0
    assert [len(role) for role in found.roles] == [2]


def sometimes(comm: Comm, n: int) -> None:
    """Run a loop of four iterations in two of ten iterations."""
    for i in range(2 * n):
        comm.barrier()
        if i % 5 == 0:
            for _ in range(4):
                comm.allreduce(8)


def unequal(comm: Comm, n: int) -> None:
    """Rank 0 sends 150 messages; three others receive five and answer in each of their ten iterations."""
    for i in range(150 if comm.rank == 0 else 10):
        if comm.rank == 0:
            comm.send(n, 1 + i % 3)
            if i % 5 == 0:
                comm.recv(1 + i // 5 % 3)
        else:
            for _ in range(5):
                comm.recv(0)
            comm.send(n, 0)


def test_iterations_are_counted_each_time_a_loop_is_entered() -> None:
    """The inner loops are entered twice by each rank, and ten times by three of the ranks."""
    shown = []
    for program, ranks in ((sometimes, 2), (unequal, 4)):
        loops = [node for _, node in graph(program, (5, ranks)).root.walk() if node.kind is Kind.LOOP]
        shown.append([(loop.mean_times(0), loop.mean_count(0)) for loop in loops])
    assert shown == [[(10, 10), (8, 4)], [((150 + 3 * 10) / 4, (150 + 3 * 10) / 4), (50, 5)]]


def dealing(comm: Comm, n: int) -> None:
    """A master sends work and collects results; the others work."""
    if comm.rank == 0:
        for rank in range(1, comm.size):
            comm.send(n, rank)
        for rank in range(1, comm.size):
            comm.recv(rank)
    else:
        comm.recv(0)
        comm.send(n, 0)
    comm.barrier()


def test_what_a_master_and_its_workers_do_is_side_by_side() -> None:
    """No rank enters both branches, so they are parallel; all ranks meet in the barrier."""
    found = graph(dealing, (5, 4))
    assert written(found.root) == [
        {"parallel": [{"sequence": [(3.0, "Send"), (3.0, "Recv")]}, {"sequence": ["Recv", "Send"]}]},
        "Barrier",
    ]
    master, workers = found.root.children[0].children
    assert (master.ranks(0), workers.ranks(0)) == ((0,), (1, 2, 3))
    assert [sorted(rank for _, rank in role) for role in found.roles] == [[0], [1, 2, 3]]


def test_recordings_share_a_graph() -> None:
    """Recordings on 3 and 5 ranks share the nodes, and each has its own counts."""
    found = graph(dealing, (5, 3), (5, 5))
    loop = found.root.children[0].children[0].children[0]
    assert (loop.mean_times(0), loop.mean_times(1)) == (2, 4)
    assert found.root.children[0].children[1].ranks(1) == (1, 2, 3, 4)


def border(comm: Comm, n: int) -> None:
    """All ranks but the last send, all but the first receive: inner ranks do both."""
    if comm.rank + 1 < comm.size:
        comm.send(n, comm.rank + 1)
    if comm.rank:
        comm.recv(comm.rank - 1)


def test_what_some_ranks_do_both_of_is_in_sequence() -> None:
    """On three ranks, one rank sends and receives, so the calls are in sequence; on two ranks, they are parallel."""
    assert written(graph(border, (5, 3)).root) == ["Send", "Recv"]
    assert written(graph(border, (5, 2)).root) == [{"parallel": [{"sequence": ["Send"]}, {"sequence": ["Recv"]}]}]
    assert written(graph(border, (5, 2), (5, 3)).root) == ["Send", "Recv"]


def test_every_call_has_the_computation_before_it() -> None:
    """Each computation before a call has its region and place; the end of the program is computation alone."""
    trace = TraceBuilder(1, "one.py")
    trace[0].at(Site((Frame("folder/one.py", "main", 3, 4),)))
    trace[0].compute(1.0, "work")
    trace[0].collective(Op.BARRIER)
    trace[0].compute(2.0)
    found = Graph.of(*examples_of([(1, 1, trace.build())]))
    assert [(node.kind.value, node.name, node.place) for node in found.root.children[:2]] == [
        ("computation", "before Barrier", "one.py:3"),
        ("communication", "Barrier", "one.py:3"),
    ]
    assert found.root.children[0].region == "work"
    assert {node.kind for node in found.root.children[2:]} <= {Kind.COMPUTATION}
