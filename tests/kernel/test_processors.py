"""Computation: performance factors, shared processors, memory contention, background load, changes over time."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clue.caveats import Said, gathered
from clue.kernel import compile_program, simulate
from clue.machine import Curve, Link, Machine, NodeType, SpeedCurve, Waiting
from clue.trace import Op, TraceBuilder
from tests.kernel.cases import ANSWER, ENGINES, RECEIVE, finishes, machine, sending
from tests.properties import examples


def bursts(*seconds: float, region: str = "") -> TraceBuilder:
    """Return a program whose ranks compute for the given seconds."""
    trace = TraceBuilder(len(seconds))
    for rank, duration in zip(trace, seconds, strict=True):
        rank.compute(duration, region)
    return trace


@pytest.mark.parametrize(("factor", "expected"), [(0.5, 1.0), (3.0, 6.0), (0.0, 2.0)])
def test_performance_factor_multiplies_bursts_and_0_leaves_them(factor: float, expected: float) -> None:
    """The paper: a burst of n CPU seconds takes p·n; 0 means the machine is real and nothing is scaled."""
    assert finishes(bursts(2.0), machine(1, performance_factor=factor)) == [expected]


def test_performance_factor_differs_by_region() -> None:
    """A region with a factor of its own is scaled by it, all other computation by the general factor."""
    trace = TraceBuilder(1)
    trace[0].compute(1.0)
    trace[0].compute(1.0, "solve")
    on = machine(1, performance_factor=2.0, performance_factors={"solve": 5.0})
    result = simulate(trace.build(), on)
    assert result.makespan == 7.0
    assert result.compute_by_region == {"": 2.0, "solve": 5.0}


def test_speed_takes_precedence_where_the_program_declares_its_operations() -> None:
    """4 Gflop, recorded in 2 s, take 8 s at a stated speed of 500 Mflop/s; the performance factor is not used."""
    trace = bursts(2.0, region="solve")
    trace.declare(0, region="solve", flops=4e9)
    on = machine(1, performance_factor=99.0, speeds={"solve": 500e6})
    assert finishes(trace, on) == [8.0]


def test_speed_without_declared_operations_falls_back_and_says_so() -> None:
    """Without declared operations, the performance factor applies, and the result warns about the unused speed."""
    result = simulate(bursts(2.0, region="solve").build(), machine(1, performance_factor=3.0, speeds={"solve": 1e9}))
    assert result.makespan == 6.0
    assert any("speed of region solve" in warning for warning in result.warnings)


@ENGINES
def test_a_region_that_declares_no_operations_has_no_speed(engine: str) -> None:
    """Zero operations, which a recorder may write, say nothing about the host: the performance factor applies."""
    built = bursts(2.0, region="solve").build()
    (rank,) = built.head.rank_heads
    declared = replace(rank, flops={built.head.regions.index("solve"): 0.0})
    trace = replace(built, head=replace(built.head, rank_heads=(declared,)))
    result = simulate(trace, machine(1, performance_factor=3.0, speeds={"solve": 1e9}), engine=engine)
    assert result.makespan == 6.0
    assert any("speed of region solve" in warning for warning in result.warnings)


@pytest.mark.parametrize(("stated", "said"), [("Solve", True), ("sovle", True), ("assembly", False), ("solve", False)])
def test_a_region_that_looks_misspelt_is_told(stated: str, said: bool) -> None:
    """A machine may state regions of other programs, but not those that differ by a few letters from this program's."""
    result = simulate(bursts(2.0, region="solve").build(), machine(1, performance_factors={stated: 3.0}))
    assert (
        any(
            f"region {stated} are not used" in each and each.endswith("did you mean solve?") for each in result.warnings
        )
        == said
    )


@pytest.mark.parametrize(
    "on",
    [
        machine(1, memory_contention={2: {"sovle": 0.5, "": 0.9}}),
        machine(1, changes=((1.0, machine(1, performance_factors={"sovle": 3.0})),)),
    ],
)
def test_regions_of_memory_contention_and_of_changes_are_looked_at_too(on: Machine) -> None:
    """A misspelt region is reported wherever the machine states it."""
    warnings = simulate(bursts(2.0, region="solve").build(), on).warnings
    assert any("region sovle are not used" in each and each.endswith("did you mean solve?") for each in warnings)


def of_blocks(*seconds: float, flops: float) -> TraceBuilder:
    """Return a program of one rank with a call after each burst; *flops* is the total of all bursts."""
    trace = TraceBuilder(1)
    for duration in seconds:
        trace[0].compute(duration, "product")
        trace[0].add(Op.LOCAL)
    trace.declare(0, region="product", flops=flops)
    return trace


#: 100 Mflop/s in bursts of 1 Mflop, 1 Gflop/s in bursts of 1 Gflop.
BY_SIZE = {"product": SpeedCurve.through([(1e6, 1e8), (1e9, 1e9)])}


@ENGINES
def test_small_blocks_are_computed_less_efficiently(engine: str) -> None:
    """4 Gflop take 4 s in four bursts (1 Gflop/s) and 40 s in 4000 bursts of 1 Mflop (100 Mflop/s)."""
    on = machine(1, performance_factor=99.0, speeds=BY_SIZE)
    large, small = of_blocks(*[0.5] * 4, flops=4e9), of_blocks(*[0.0005] * 4000, flops=4e9)
    made = [simulate(each.build(), on, engine=engine) for each in (large, small)]
    assert [each.compute_by_region["product"] for each in made] == pytest.approx([4.0, 40.0])
    assert not any("speed" in warning for each in made for warning in each.warnings)


def test_a_burst_is_one_in_which_operations_are_done() -> None:
    """The burst size of a region is the mean over its operations, not over its bursts.

    Bursts of 1 s and 3 s with 4 Gflop in total have 1 and 3 Gflop. The mean operation is in a burst of 2.5 Gflop.
    Ten thousand very short bursts hardly change that.
    """
    speeds = {"product": SpeedCurve.through([(1e9, 1e9), (4e9, 4e9)])}
    (host,) = compile_program(of_blocks(1.0, 3.0, flops=4e9).build()).host_speeds.values()
    assert host == (pytest.approx(1e9), pytest.approx(2.5e9))
    # All bursts of 1 to 4 Gflop take 1 s.
    result = simulate(of_blocks(1.0, 3.0, flops=4e9).build(), machine(1, speeds=speeds))
    assert result.compute_by_region["product"] == pytest.approx(4.0 / 2.5)
    (host,) = compile_program(of_blocks(1.0, 3.0, *[1e-6] * 10_000, flops=4e9).build()).host_speeds.values()
    assert host.burst == pytest.approx(2.5e9, rel=0.01)


@given(
    st.lists(st.floats(0.001, 1.0), min_size=1, max_size=6), st.floats(1e6, 1e10), st.floats(1e6, 1e10),
    st.lists(st.floats(1.0, 1e12), min_size=1, max_size=3, unique=True),
)  # fmt: skip
@settings(max_examples=examples(30))
def test_a_curve_of_one_speed_is_that_speed(seconds: list[float], flops: float, rate: float, at: list[float]) -> None:
    """A speed curve whose points all have one speed gives the same times as that speed, for any points and bursts."""
    trace = of_blocks(*seconds, flops=flops).build()
    curve = SpeedCurve.through([(each, rate) for each in sorted(at)])
    one, other = (simulate(trace, machine(1, speeds={"product": each})) for each in (rate, curve))
    assert other.makespan == pytest.approx(one.makespan, rel=1e-9)
    assert one.makespan == pytest.approx(flops / rate, rel=1e-9)


def test_blocks_beyond_what_a_speed_is_stated_for_are_said() -> None:
    """Bursts of 0.1 Mflop use the speed stated for 1 Mflop, and a warning gives the stated range."""
    result = simulate(of_blocks(0.5, 0.5, flops=2e5).build(), machine(1, speeds=BY_SIZE))
    assert result.compute_by_region["product"] == pytest.approx(2e5 / 1e8)
    assert any("bursts of region product have 1e+05 flop, where its speed is stated for 1e+06 to 1e+09" in warning
               for warning in result.warnings)  # fmt: skip


def test_of_blocks_of_several_programs_the_farthest_are_said() -> None:
    """Bursts of 100 and 1 kflop share a warning, which gives the smaller; of 2 and 10 Gflop, it gives the larger."""
    for totals, told in (((2e5, 2e3), "down to 1e+03"), ((4e9, 2e10), "up to 1e+10")):
        said = [
            Said(each, "m", f"{flops:g}")
            for flops in totals
            for each in simulate(of_blocks(0.5, 0.5, flops=flops).build(), machine(1, speeds=BY_SIZE)).warnings
        ]
        (line,) = (each for each in gathered(said, ["m"], "machines") if "bursts of region product" in each)
        assert f"have {told} flop" in line


def test_two_ranks_share_one_processor_equally() -> None:
    """Bursts of 1 s and 3 s share one processor: the first ends at 2 s; the second then runs alone until 4 s."""
    assert finishes(bursts(1.0, 3.0), machine(1), placement=[0, 0]) == pytest.approx([2.0, 4.0], rel=1e-12)


def test_three_ranks_share_two_processors_at_every_instant() -> None:
    """Each rank gets 2/3 of a processor until the first ends at 1.5 s; then the others have one each."""
    on = machine(1, processors=2)
    assert finishes(bursts(1.0, 2.0, 2.0), on, placement=[0, 0, 0]) == pytest.approx([1.5, 2.5, 2.5], rel=1e-12)


def test_waiting_rank_yields_its_share() -> None:
    """Rank 0 waits until 2.111 s for rank 2 on another node, so rank 1 has the processor to itself."""
    trace = TraceBuilder(3)
    trace[0].recv(2)
    trace[1].compute(2.0)
    trace[2].compute(2.0)
    trace[2].send(0, 0)
    assert finishes(trace, machine(2), placement=[0, 0, 1])[1] == pytest.approx(2.0, rel=1e-12)


def test_polling_rank_keeps_its_share() -> None:
    """While rank 0 polls, until 2.111 s, rank 1 has half the processor; it computes the rest of its 2 s alone."""
    trace = TraceBuilder(3)
    trace[0].recv(2)
    trace[1].compute(2.0)
    trace[2].compute(2.0)
    trace[2].send(0, 0)
    end = 2.0 + 0.010 + 0.100 + RECEIVE
    assert finishes(trace, machine(2, waiting=Waiting.POLL), placement=[0, 0, 1])[1] == pytest.approx(
        end + 2.0 - end / 2, rel=1e-12
    )


def test_background_load_takes_its_share() -> None:
    """Beside one competing process, a burst of 1 s takes 2 s on one processor and 1 s on two."""
    assert finishes(bursts(1.0), machine(1, background_load=1.0)) == pytest.approx([2.0], rel=1e-12)
    assert finishes(bursts(1.0), machine(1, background_load=1.0, processors=2)) == pytest.approx([1.0], rel=1e-12)
    assert finishes(bursts(1.0), machine(1, background_load=0.5)) == pytest.approx([1.5], rel=1e-12)


def test_memory_contention_slows_by_busy_processors_and_region() -> None:
    """On the paper's dual node, tridiagonalisation runs at 0.77 of its speed while both processors are busy."""
    table = {2: {"tridiagonalisation": 0.77}}
    on = machine(1, processors=2, memory_contention=table)
    both = bursts(0.77, 1.54, region="tridiagonalisation")
    # Both are slow until 1 s; then the second has 0.77 s left, at full speed.
    assert finishes(both, on, placement=[0, 0]) == pytest.approx([1.0, 1.77], rel=1e-12)
    assert finishes(bursts(1.0, 1.0, region="cholesky"), on, placement=[0, 0]) == pytest.approx([1.0, 1.0], rel=1e-12)


def test_change_during_a_burst_counts_from_its_time_on() -> None:
    """The node is half as fast from 1 s on: a burst of 3 s then has 2 s left and ends at 5 s."""
    slow = machine(1, performance_factor=2.0)
    assert finishes(bursts(3.0), replace(machine(1), changes=((1.0, slow),))) == pytest.approx([5.0], rel=1e-12)


def test_background_load_may_come_and_go() -> None:
    """With a competing process from 1 s to 3 s, a burst of 3 s takes 1 s + 2 s (at half speed) + 1 s = 4 s."""
    loaded, free = machine(1, background_load=1.0), machine(1)
    on = replace(free, changes=((1.0, loaded), (3.0, free)))
    assert finishes(bursts(3.0), on) == pytest.approx([4.0], rel=1e-12)


def test_network_may_change() -> None:
    """A message sent at 1 s, the time of a change, uses the new network, even if its receive was posted before."""
    later = machine(link=Link(Curve.line(1.0), Curve.line(1.0)))
    trace = TraceBuilder(2)
    trace[0].send(1, 0)
    trace[0].compute(0.99)
    trace[0].send(1, 0)
    trace[1].recv(0)
    trace[1].recv(0)
    on = replace(machine(), changes=((1.0, later),))
    assert finishes(trace, on) == pytest.approx([2.0, 3.0 + RECEIVE], rel=1e-12)


def test_instances_on_their_own_nodes_do_not_disturb_each_other() -> None:
    """Three instances side by side have the same times as one alone."""
    trace = TraceBuilder(2)
    trace[0].compute(1.0)
    trace[0].send(1, 20_000)
    trace[1].recv(0)
    alone = simulate(trace.build(), machine(2))
    three = simulate(trace.build(), machine(6), instances=3)
    assert three.makespan == alone.makespan
    assert [rank.finish for rank in three.ranks] == [rank.finish for rank in alone.ranks] * 3


def test_instances_share_processors_where_they_meet() -> None:
    """Two instances of a one-rank program on one processor take twice as long."""
    assert simulate(bursts(1.0).build(), machine(1), [0, 0], instances=2).makespan == pytest.approx(2.0)


def test_spawned_ranks_start_after_spawn_and_initialisation() -> None:
    """The parent's spawn takes 1 s, until 1.5 s; the child initialises for 2 s, computes for 1 s and ends at 4.5 s."""
    builder = TraceBuilder(2)
    builder[0].compute(0.5)
    builder[0].add(Op.SPAWN, peer=0, nbytes=1, extras=(1,))
    builder[1].compute(1.0)
    built = builder.build()
    heads = (built.head.rank_heads[0], replace(built.head.rank_heads[1], world=1))
    trace = replace(built, head=replace(built.head, rank_heads=heads))
    node = NodeType("host", spawn_delay=1.0, initialisation_delay=2.0)
    parent, child = simulate(trace, replace(machine(2), nodes=(node, node))).ranks
    assert parent.finish == pytest.approx(1.5)
    assert child.finish == pytest.approx(1.5 + 2.0 + 1.0)
    assert child.wait == pytest.approx(3.5)


def test_shared_processors_and_rendezvous_together() -> None:
    """A rendezvous sender on a shared processor yields it while it waits for its receiver's answer."""
    trace = TraceBuilder(3)
    trace[0].send(2, 20_000)
    trace[1].compute(1.0)
    trace[2].compute(0.5)
    trace[2].recv(0)
    sender, neighbour, _ = finishes(trace, machine(2), placement=[0, 0, 1])
    assert neighbour == pytest.approx(1.0)
    assert sender == pytest.approx(0.5 + ANSWER + sending(20))
