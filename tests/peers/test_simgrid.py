"""Random programs and a workload in both simulators; RESULTS.md has all comparisons."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.speed import workloads
from clue.kernel import simulate
from clue.trace import TraceBuilder
from tests.peers import cases, machines
from tests.peers.simgrid import difference, is_here

#: Size of a message that is 1 MB with SimGrid's 16 B.
_SENT = 1_000_000 - 16

pytestmark = pytest.mark.skipif(not is_here(), reason="SimGrid's smpirun is not installed")


@pytest.mark.parametrize("seed", range(20))
def test_random_program(seed: int, tmp_path: Path) -> None:
    """Each rank finishes at the same time, on the constant network and on shared links."""
    trace = cases.program(seed)
    for setting in (machines.constant(trace.ranks), machines.switch(trace.ranks)):
        assert difference(trace, setting, tmp_path) <= setting.tolerance


@pytest.mark.parametrize("seed", range(10))
def test_rendezvous(seed: int, tmp_path: Path) -> None:
    """In programs of rendezvous messages, one after the other, each rank finishes at the same time."""
    trace = cases.program_in_turn(seed)
    setting = machines.constant_rendezvous(trace.ranks)
    assert difference(trace, setting, tmp_path) <= setting.tolerance


@pytest.mark.long
@pytest.mark.parametrize("wiring", machines.WIRINGS, ids=lambda wiring: wiring.name)
def test_topology(wiring: machines.Wiring, tmp_path: Path) -> None:
    """On topologies each rank finishes at the same time, with SimGrid's own routes where they equal clue's."""
    setting = machines.wired(wiring)
    assert difference(cases.program_of(wiring.nodes, 1), setting, tmp_path) <= setting.tolerance


def test_halo_exchange(tmp_path: Path) -> None:
    """W1 on 16 ranks finishes at the same time, with eager and rendezvous messages."""
    trace = workloads.halo(16, 1000).trace
    for setting in (machines.constant(16), machines.switch(16), machines.switch_rendezvous(16)):
        assert difference(trace, setting, tmp_path) <= setting.tolerance


def test_ranks_of_a_node_use_the_link_within_it(tmp_path: Path) -> None:
    """1 MB takes 1 + 100 us within a node, and 50 us + 10 ms between nodes."""
    trace = TraceBuilder(4)
    for sender, receiver in ((0, 1), (2, 0)):
        trace[sender].send(receiver, _SENT)
        trace[receiver].recv(sender)
    program, setting = trace.build(), machines.switch_of_pairs()
    assert difference(program, setting, tmp_path) <= setting.tolerance
    finishes = [rank.finish for rank in simulate(program, setting.machine).ranks]
    assert finishes[:2] == pytest.approx([10_050e-6, 101e-6], rel=1e-4)


def test_message_is_slowed_from_afar(tmp_path: Path) -> None:
    """1 MB has a link of 12.5 GB/s alone for 13 us, then half of it: 1 + 13 + 134 us, and its answer 1 us more.

    SimGrid must use its option Full here; otherwise the first message is not slowed.
    """
    trace = TraceBuilder(4)
    trace[0].send(1, _SENT)
    trace[2].compute(13e-6)
    trace[2].send(3, _SENT)
    trace[2].send(1, _SENT)
    trace[1].recv(0)
    trace[1].send(0, 0)
    trace[0].recv(1)
    trace[1].recv(2)
    trace[3].recv(2)
    program, setting = trace.build(), machines.switch(4, 12.5e9, 1e-6)
    assert difference(program, setting, tmp_path) <= setting.tolerance
    assert simulate(program, setting.machine).ranks[0].finish == pytest.approx(149e-6, rel=1e-4)


def test_program_that_simgrid_shortens(tmp_path: Path) -> None:
    """The random program on which SimGrid's option Lazy is 5 % off takes the same time with Full."""
    trace = cases.program(84)
    setting = machines.switch(trace.ranks, 12.5e9, 1e-6)
    assert difference(trace, setting, tmp_path) <= setting.tolerance
