"""Jobs beside others of the mix: placement of the neighbours and the slowdown they cause, by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from clue.errors import UsageError
from clue.kernel import Candidate
from clue.machine import Curve, Flows, Link, Machine, Network, NodeType, Placement
from clue.machine.contention.topology import Switches
from clue.predict.application import Application, Modelled
from clue.predict.beside import predict_beside
from clue.predict.executing import LivePredictor
from clue.predict.prediction import Prediction, Task
from clue.predict.remembering import RememberingPredictor
from clue.predict.replaying import ReplayPredictor
from clue.purchase import Component, Criterion, Option, Ranking, Scenario, Workload, rank_options
from clue.purchase.neighbours import Kind, neighbours_of
from clue.purchase.queue.mix import JobClass, Mix, Recorded, Sharing
from clue.purchase.scenario import Layout
from clue.purchase.splits import Split, beside_copies
from clue.trace import Trace, TraceBuilder
from tests.kernel.cases import machine
from tests.purchase.test_ranking import at_once

#: A link carries a byte a second; each switch has three nodes and an uplink of a byte a second.
LINK = Link(Curve.line(0.0), Curve.line(0.0, 1.0))
TREE = Network(LINK, LINK, contention=Flows(Switches(3, 1.0, 3.0)))
EIGHT = Option("eight", Machine("eight", (NodeType("host"),) * 8, TREE))


def program(application: Application, ranks: int) -> Trace:
    """Return a program that computes, then sends a message; its arguments are seconds, bytes, sender and receiver."""
    seconds, nbytes, sender, receiver = map(int, application.arguments)
    trace = TraceBuilder(ranks)
    for rank in trace:
        rank.compute(seconds)
    if nbytes:
        trace[sender].send(receiver, nbytes)
        trace[receiver].recv(sender)
    return trace.build()


def workload(name: str, *arguments: int, ranks: int = 4, **fields: Any) -> Workload:
    """Return a workload of one program with the given arguments."""
    application = Application(arguments=tuple(map(str, arguments)), trace=name)
    return Workload(name, (Component(name, application),), ranks=(ranks,), **fields)


#: OUT sends 4 B from the first rank to the last; BACK sends 6 B from the third rank to the first.
OUT, BACK = workload("out", 0, 4, 0, 3), workload("back", 0, 6, 2, 0)
CLASSES = (JobClass("out", "out", 1e-3), JobClass("back", "back", 1e-3))


def ranked(*workloads: Workload, on: Option = EIGHT, classes: tuple[JobClass, ...] = CLASSES, **fields: Any) -> Ranking:
    """Rank one option by the waiting time of jobs that run beside others of the mix."""
    mix = Mix(classes, jobs=200, replications=2, **{"sharing": Sharing.MIX, **fields})
    asked = Scenario("by hand", workloads, (on,), criterion=Criterion.WAITING, queue=mix)
    return rank_options(asked, ReplayPredictor(program))


def takes(ranking: Ranking) -> list[dict[int, float]]:
    """Return the run times of jobs, by class and number of ranks."""
    queue = ranking.entries[0].queue
    assert queue is not None
    return [{ranks: taken.run for ranks, taken in by_ranks.items()} for by_ranks in queue.takes]


def test_two_programs_share_a_link_to_a_switch() -> None:
    """Alone, jobs take 4 s and 6 s; a job of either class runs beside one of the other on nodes 4 to 7.

    4 B go from the first switch to node 3 at the second one, 6 B from the third switch to node 4 at the second one.
    Both share its downlink at half a byte a second each, so that 4 B take 8 s. The 6 B of a job on nodes 0 to 3 stay at
    the first switch, so they share nothing.
    """
    told = ranked(OUT, BACK)
    assert takes(told) == [{0: pytest.approx(8.0)}, {0: pytest.approx(6.0)}]
    assert takes(ranked(OUT, BACK, sharing=Sharing.NONE)) == [{0: pytest.approx(4.0)}, {0: pytest.approx(6.0)}]
    assert any(
        "queue: jobs take up to 100% longer than alone beside one typical mix of others: no node idle, all begin at"
        in each for each in told.warnings
    )  # fmt: skip


def test_neighbours_repeat_what_they_do() -> None:
    """A neighbour repeats its short run (2 B), so that 4 B get half a byte a second to the end."""
    short = workload("back", 0, 2, 2, 0)
    assert takes(ranked(OUT, short)) == [{0: pytest.approx(8.0)}, {0: pytest.approx(2.0)}]


def test_neighbours_of_several_kernels_run_them_in_turn() -> None:
    """A neighbour alternates 1 s of computation and a message of 1 B, so that 4 B take 6 s."""
    kernels = tuple(
        Component(name, Application(arguments=arguments, trace=name), 0.5)
        for name, arguments in (("compute", ("1", "0", "0", "0")), ("send", ("0", "1", "2", "0")))
    )
    both = Workload("back", kernels, ranks=(4,))
    # 1 B until 1 s, another byte until 3 s, the third until 4 s, the fourth until 6 s.
    assert takes(ranked(OUT, both))[0] == {0: pytest.approx(6.0)}


@pytest.mark.parametrize("network", [machine(2).network, replace(TREE, contention=Flows(Switches(8, 1.0)))])
def test_with_nothing_shared_jobs_take_what_they_take_alone(network: Network) -> None:
    """Without contention, or at one switch that never blocks, run times equal those alone to the last bit."""
    on = Option("eight", Machine("eight", (NodeType("host"),) * 8, network))
    odd = workload("out", 1, 345, 0, 3), workload("back", 2, 77, 2, 0)
    told = ranked(*odd, on=on)
    assert takes(told) == takes(ranked(*odd, on=on, sharing=Sharing.NONE))
    assert any("jobs take at most 1% longer than alone beside one typical mix" in each for each in told.warnings)


def test_jobs_of_no_class_hold_nodes_and_send_nothing() -> None:
    """A recorded job of no class takes the place of a neighbour but sends nothing, so that 4 B take 4 s."""
    recorded = Recorded(
        "log", np.array([0.0, 1.0, 2.0]), np.array([0, 1, -1]), np.full(3, 4), np.full(3, 1e6), np.full(3, 1e6)
    )
    classes = tuple(replace(of, rate=0.0) for of in CLASSES)
    assert takes(ranked(OUT, BACK, classes=classes, recorded=recorded))[0] == {0: pytest.approx(4.0)}


def test_what_a_model_tells_slows_nobody() -> None:
    """A program that a model predicts has unknown messages; it slows no job, and a warning says so."""
    modelled = Workload("back", (Component("back", Application(modelled=Modelled("m.yaml", 1.0))),), ranks=(4,))

    class Told(ReplayPredictor):
        def prepare(self, wanted: Any, progress: Any) -> None:
            super().prepare({key: name for key, name in wanted.items() if key[0].modelled is None}, progress)

        def memory(self, key: Any) -> Any:
            return () if key[0].modelled else super().memory(key)

        def outlook(self, tasks: Any, samples: int = 0) -> Any:  # noqa: ARG002 - as others
            return np.zeros(len(tasks))

        def bounds(self, tasks: Any, progress: Any) -> Any:  # noqa: ARG002 - as others
            return np.zeros(len(tasks)), np.zeros(len(tasks), np.bool_)

        def predict(self, tasks: Any) -> Any:
            for i, task in enumerate(tasks):
                if task.key[0].modelled:
                    assert not task.beside
                    yield i, Prediction(6.0, "model", simulated=False)
                else:
                    yield i, next(iter(super().predict([task])))[1]

    mix = Mix(CLASSES, jobs=200, replications=2, sharing=Sharing.MIX)
    asked = Scenario("by hand", (OUT, modelled), (EIGHT,), criterion=Criterion.WAITING, queue=mix)
    told = rank_options(asked, Told(program))
    assert takes(told) == [{0: pytest.approx(4.0)}, {0: pytest.approx(6.0)}]
    assert any("jobs predicted by a model or a skeleton keep that run time" in each for each in told.warnings)


def test_nothing_is_simulated_twice_and_processes_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal options share simulations beside others; processes return the same run times."""
    mix = Mix(CLASSES, jobs=200, replications=2, sharing=Sharing.MIX)
    asked = Scenario(
        "twice", (OUT, BACK), (EIGHT, replace(EIGHT, name="again")), criterion=Criterion.WAITING, queue=mix
    )
    predictor = RememberingPredictor(ReplayPredictor(program))
    first = rank_options(asked, predictor)
    made = predictor.asked
    assert made == 4  # each program alone, and beside the other program
    rank_options(asked, predictor)
    assert predictor.asked == made
    at_once(monkeypatch)
    assert takes(rank_options(asked, ReplayPredictor(program, workers=2))) == takes(first)


def test_copies_count_nodes_of_the_placement_that_counts() -> None:
    """One rank per node is faster alone, both ranks on one node beside copies: the job then takes one node."""
    layouts = (Layout("block", ranks_per_node=1), Layout("block"))
    pair = workload("out", 0, 1000, 0, 1, ranks=2, layouts=layouts)
    fast, slow = Link(Curve.line(0.0), Curve.line(0.2)), Link(Curve.line(0.0), Curve.line(0.1))
    on = machine(4, contention={1: 1.0, 2: 9.0}, processors=2)
    on = replace(on, network=replace(on.network, between_nodes=slow, within_node=fast))
    only = (replace(CLASSES[0], ranks={2: 1.0}),)
    told = ranked(pair, on=Option("four", on), classes=only, sharing=Sharing.COPIES)
    queue = told.entries[0].queue
    assert queue is not None
    assert (queue.takes[0][2].nodes, queue.takes[0][2].run) == (1, pytest.approx(0.2))


# --- placement of neighbours ---


def hosts(nodes: int) -> Machine:
    """Return a machine of equal nodes."""
    return Machine("equal", (NodeType("host"),) * nodes, TREE)


def test_nodes_are_filled_by_shares() -> None:
    """Beside a job of two nodes on ten nodes, the first kind ends up with 6 nodes and the second with 4."""
    kinds = [Kind(6.0, (0, 1)), Kind(4.0, (0, 0, 1, 1))]
    assert neighbours_of(0, kinds, hosts(10)) == [
        (0, (2, 3)), (1, (4, 4, 5, 5)), (0, (6, 7)), (1, (8, 8, 9, 9)),
    ]  # fmt: skip
    assert neighbours_of(1, kinds, hosts(4)) == [(0, (2, 3))]
    assert neighbours_of(0, kinds, hosts(3)) == []


def test_who_does_not_fit_leaves_nodes_to_others() -> None:
    """A kind whose next job does not fit leaves the remaining nodes to other kinds.

    Large jobs lack the most node time, but four nodes are too few for another of them.
    """
    kinds = [Kind(9.0, tuple(range(8))), Kind(1.0, (0,))]
    assert neighbours_of(0, kinds, hosts(12)) == [(1, (n,)) for n in range(8, 12)]
    assert neighbours_of(0, [Kind(1.0, (0,)), Kind(0.0, (0,))], hosts(3)) == [(0, (1,)), (0, (2,))]


def test_beside_jobs_of_one_class_stand_copies() -> None:
    """The copies take the same nodes as in the mode that simulates copies."""
    alone = Split(1, 3, 1, Placement((0, 0, 1)), 0)
    others = neighbours_of(0, [Kind(1.0, alone.placement.nodes)], hosts(7))
    copies = beside_copies(alone, hosts(7)).placement.nodes
    assert (*alone.placement.nodes, *(node for _, nodes in others for node in nodes)) == copies


def test_neighbours_stand_on_nodes_of_the_same_types() -> None:
    """Neighbours keep the node types of their placement, in order; jobs of no class take any node."""
    small, large = NodeType("small"), NodeType("large")
    mixed = Machine("mixed", (small, large, large, small, small), TREE)
    kinds = [Kind(2.0, (0,)), Kind(2.0, (0, 1)), Kind(0.001, ())]
    assert neighbours_of(0, kinds, mixed) == [(1, (3, 1)), (0, (4,)), (2, (2,))]


# --- one task ---


def task(name: str, *nodes: int, seconds: int = 0, nbytes: int = 0) -> Task:
    """Return a task of a program with two ranks on these nodes."""
    key = Application(arguments=(str(seconds), str(nbytes), "0", "1"), trace=name), 2
    return Task(key, Candidate(EIGHT.machine, Placement(nodes)))


def test_too_many_runs_of_a_neighbour_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside a job of 100 s, runs of 1 s are repeated only until the limit of ops, and a warning says so."""
    long, short = task("long", 0, 1, seconds=100), task("short", 2, 3, seconds=1)
    programs = {each.key: _compiled(each) for each in (long, short)}
    beside = replace(long, beside=((short,),))
    assert predict_beside(programs, beside, "auto").warnings == predict_beside(programs, long, "auto").warnings
    monkeypatch.setattr("clue.predict.beside.MOST_OPS", 22)
    told = predict_beside(programs, beside, "auto")
    assert told.makespan == 100.0
    assert [each for each in told.warnings if "neighbours run for" in each] == [
        "long: neighbours run for 10% of its time only, as 22 ops are replayed at once at most"
    ]


def _compiled(of: Task) -> Any:
    from clue.kernel import compile_program  # noqa: PLC0415 - one helper

    return compile_program(program(*of.key))


def test_live_runs_stand_alone() -> None:
    """Programs that run live cannot run beside others."""
    beside = replace(task("one", 0, 1), beside=((task("other", 2, 3),),))
    with pytest.raises(UsageError, match="one: programs that run beside others must be replayed, got a live run"):
        list(LivePredictor(lambda _: pytest.fail("it runs")).predict([beside]))
