"""The machine under a live program: speeds, changes during the run, background load, and their effect on programs."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from clue.trace import Trace
from clue.trace.computer import processor_name
from tests.live.programs import Live

#: One second of declared work, three times, with the virtual time printed after each.
THREE = """\
from mpi4py import MPI
from virtual_layer import region
for _ in range(3):
    with region("work", flops=1e9):
        pass
    print(f"{MPI.Wtime():.6f}", flush=True)
"""
DECLARED = ("--bursts", "1 Gflop/s")
NODES = "nodes: [{count: 1, type: host}]\nnetwork: {between_nodes: {send_delay: 10 us, transmission_delay: 0 s}}\n"


def times(live: Live, machine: str) -> list[float]:
    """Return the times at which the three seconds of work were done."""
    (live.folder / "four.yaml").write_text(NODES + machine)
    ended = live(THREE, *DECLARED, ranks=1)
    assert ended.status == 0, ended.err
    return [float(line) for line in ended.out.splitlines()[:3]]


def test_a_processor_is_as_fast_as_its_factor_says(live: Live) -> None:
    """With a performance factor of 0.5, each second of work takes 0.5 s."""
    found = times(live, "node_types: {host: {processors: 1, performance_factor: 0.5}}\n")
    assert found == pytest.approx([0.5, 1.0, 1.5])


def test_a_processor_that_slows_down_during_the_run(live: Live) -> None:
    """From 1.5 s on the processor is half as fast: half of the second piece is left then, which takes one second."""
    found = times(
        live,
        "node_types: {host: {processors: 1, performance_factor: 1}}\n"
        "changes: [{at: 1.5 s, node_types: {host: {performance_factor: 2}}}]\n",
    )
    assert found == pytest.approx([1.0, 2.5, 4.5])


def test_background_load_that_comes_during_the_run(live: Live) -> None:
    """From 1 s on another process uses half of the only processor, so a second of work takes 2 s."""
    found = times(
        live,
        "node_types: {host: {processors: 1}}\nchanges: [{at: 1 s, node_types: {host: {background_load: 1}}}]\n",
    )
    assert found == pytest.approx([1.0, 3.0, 5.0])


WORK = """\
from mpi4py import MPI
from virtual_layer import region
sum(range(200_000))
with region("work", flops=1e9):
    begin = MPI.Wtime()
    sum(range(200_000))
print(f"{MPI.Wtime() - begin:.6f}", flush=True)
"""


@pytest.mark.parametrize("recorded", [(), DECLARED], ids=["measured", "declared"])
def test_bursts_of_a_trace_go_by_speeds_as_in_its_replay(live: Live, recorded: tuple[str, ...]) -> None:
    """The work of a region in a trace, 1e9 flop, takes 0.5 s at 2 Gflop/s, whatever it took when recorded.

    With declared work, the trace has no burst outside the region; the run that takes its bursts has one before it.
    """
    (live.folder / "four.yaml").write_text(NODES + "node_types: {host: {processors: 1, speed: {work: 2 Gflop/s}}}\n")
    trace = str(live.folder / "work.clue")
    first = live(WORK, *recorded, "--record", trace, ranks=1)
    assert first.status == 0, first.err
    ended = live(WORK, "--bursts", trace, ranks=1)
    assert ended.status == 0, ended.err
    assert float(ended.out.splitlines()[0]) == pytest.approx(0.5)


def test_whose_bursts_a_run_has_is_told(live: Live) -> None:
    """A run warns if its bursts are not of the reference processor, and keeps the processor and notes of a trace.

    A speed for declared work is stated, not measured on any processor.
    """
    (live.folder / "four.yaml").write_text(
        NODES + "node_types: {host: {processors: 1}}\nreference_processor: Test Processor\n"
    )
    kept, busy = live.folder / "kept.clue", live.folder / "busy.clue"

    def warnings(*options: str) -> list[str]:
        ended = live(WORK, *options, "--json", ranks=1)
        assert ended.status == 0, ended.err
        found: list[str] = json.loads(ended.out)["warnings"]
        return [each for each in found if "measured on" in each or "bursts are of" in each]

    (told,) = warnings("--record", str(kept))
    assert f"bursts were measured on {processor_name()}: record or run the program on Test Processor" in told
    trace = Trace.open(kept)
    assert trace.head.processor == processor_name()
    replace(trace, head=replace(trace.head, processor="Other Processor", notes=("the host was busy",))).save(busy)
    one, other = warnings("--bursts", str(busy))
    assert "bursts were measured on Other Processor" in one
    assert other == "prog.py: bursts are of busy.clue: the host was busy"
    assert warnings(*DECLARED) == []


UNEVEN = """\
name: uneven
nodes: [{count: 1, type: master}, {count: 1, type: fast}, {count: 1, type: slow}]
node_types:
  master: {processors: 1}
  fast: {processors: 1, performance_factor: 0.5}
  slow: {processors: 1, performance_factor: 2}
network: {between_nodes: {send_delay: 1 us, transmission_delay: 0 s}}
"""


@pytest.mark.parametrize(
    ("changes", "shares"),
    [
        # Pieces take 0.5 s and 2 s; the master hands out all 20 before 8 s.
        ("", {"1": 16, "2": 4}),
        # Until 4 s the fast worker gets 8 pieces and the slow one 2; from then on both are equally fast and get 5 each.
        ("changes: [{at: 4 s, node_types: {fast: {performance_factor: 2}}}]", {"1": 13, "2": 7}),
    ],
)
def test_a_master_gives_work_by_speed(live: Live, changes: str, shares: dict[str, int]) -> None:
    """A worker gets the next piece when it is done, also when its processor slows down during the run."""
    (live.folder / "four.yaml").write_text(UNEVEN + changes)
    ended = live(SELF_SCHEDULING, *DECLARED, ranks=3)
    assert ended.status == 0, ended.err
    assert json.loads(ended.out.splitlines()[0]) == shares


SELF_SCHEDULING = """\
import json
from mpi4py import MPI
from virtual_layer import region
comm, status = MPI.COMM_WORLD, MPI.Status()
if comm.rank == 0:
    done = {1: 0, 2: 0}
    for _ in range(20):
        comm.recv(source=MPI.ANY_SOURCE, status=status)
        done[status.source] += 1
        comm.send(True, dest=status.source)
    for _ in done:
        comm.recv(source=MPI.ANY_SOURCE, status=status)
        comm.send(False, dest=status.source)
    print(json.dumps(done), flush=True)
else:
    while comm.sendrecv(None, dest=0, source=0):
        with region("work", flops=1e9):
            pass
"""


WAITING = """\
import time
from mpi4py import MPI
from virtual_layer import region
comm = MPI.COMM_WORLD
def work(seconds, flops):
    with region("work", flops=flops):
        end = time.thread_time() + seconds
        while time.thread_time() < end:
            pass
if comm.rank == 0:
    work(0.02, 1e9)
comm.Barrier()
begin = MPI.Wtime()
work(0.001, 1e6)
if comm.rank == 1:
    print(f"{MPI.Wtime() - begin:.6f}", flush=True)
"""


def test_measured_bursts_are_cold_already(live: Live) -> None:
    """After a wait of 1 s, 1 ms of declared work takes 0.5 s longer; a measured burst does not, and the result says so.

    Ranks of a live run take turns on one core, so each burst follows others that used the caches.
    """
    cold = "cold_start: {after: [[1 ms, 500 ms]], at_most: 1000}"
    (live.folder / "four.yaml").write_text(
        NODES.replace("count: 1", "count: 2") + f"node_types: {{host: {{processors: 1, {cold}}}}}\n"
    )
    declared = live(WAITING, *DECLARED)
    assert float(declared.out.splitlines()[0]) == pytest.approx(0.501)
    assert "cold_start" not in declared.out + declared.err
    measured = live(WAITING)
    assert float(measured.out.splitlines()[0]) < 0.25
    assert "cold_start is left out" in measured.out + measured.err
