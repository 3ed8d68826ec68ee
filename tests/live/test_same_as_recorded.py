"""Every call of the catalogue takes as long when recorded and replayed as when run live.

Computation takes no time in either, so the times are equal to the last bit: the bursts of a recording are set to zero,
and live bursts are the work that regions declare, of which there is none.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from clue.config import load_machine
from clue.execution import LiveRun, run
from clue.execution.bursts import Declared
from clue.kernel import simulate
from clue.machine import Machine, Placement
from clue.recording import record
from clue.result import Result
from clue.trace import COLLECTIVES, Flag, Trace
from tests.live import every_access, every_bridge, every_collective, every_message
from virtual_layer.catalogue import CALLS, COLLECTIVE_CALLS, MESSAGES, REQUESTS, MpiCall, title

pytest.importorskip("mpi4py.MPI", reason="mpi4py and an MPI library must be there", exc_type=ImportError)

#: A message of 1000 B is above the first eager limit and below the second; all delays differ.
MACHINE = """
name: three
nodes: [{{count: 3, type: host}}]
node_types: {{host: {{processors: 2, reduction_delay: 1 ns/B}}}}
network:
  contention: {contention}
  between_nodes:
    send_delay: {{latency: 13 us, bandwidth: 1 GB/s}}
    transmission_delay: {{latency: 31 us, bandwidth: 500 MB/s}}
    receive_delay: 7 us
    eager_limit: {limit}
  within_node: {{send_delay: 3 us, transmission_delay: 2 us, receive_delay: 1.7 us, eager_limit: 10 KB}}
  collectives: {{library: {library}}}
"""
#: The flags of a row that tell how a collective is called.
MANNERS = Flag.NONBLOCKING | Flag.IN_PLACE | Flag.USER_DEFINED | Flag.NONCOMMUTATIVE | Flag.BLOCK | Flag.PERSISTENT
Figures = list[tuple[float, float, float, float]]


def figures(result: Result) -> Figures:
    """Return the four times of each rank of a result."""
    return [(rank.finish, rank.compute, rank.communicate, rank.wait) for rank in result.ranks]


@dataclass(frozen=True)
class Every:
    """A program of many cases, which runs all of them or only those that its arguments name."""

    module: ModuleType
    ranks: int

    @property
    def program(self) -> Path:
        """Path of the program's file."""
        assert self.module.__file__ is not None
        return Path(self.module.__file__)

    def recorded(self, folder: Path, *cases: str) -> Trace:
        """Record the named cases (default: all), and set all bursts to zero."""
        trace = record(self.program, cases, self.ranks, folder / "every.clue", timeout=100)
        return Trace(trace.head, replace(trace.ops, cpu=np.zeros_like(trace.ops.cpu)))

    def lived(self, machine: Machine, nodes: tuple[int, ...], *cases: str) -> LiveRun:
        """Run the named cases (default: all) live."""
        command, placement = (str(self.program), *cases), Placement(nodes)
        return run(command, self.ranks, machine, placement, bursts=Declared(1e9), limit=60, record=True)

    def compare(self, everything: Trace, machine: Machine, folder: Path, nodes: tuple[int, ...] = ()) -> Trace:
        """Check that all cases take as long recorded as live; return the trace of the live run.

        Args:
            everything: The recording of all cases.
            machine: The machine on which they run.
            folder: Folder for recordings of single cases.
            nodes: Node of each rank; by default each rank has its own node.
        """
        nodes = nodes or tuple(range(self.ranks))
        live = self.lived(machine, nodes)
        if figures(simulate(everything, machine, nodes)) != figures(live.result):
            alone = {case: figures(simulate(self.recorded(folder, case), machine, nodes)) for case in self.module.CASES}
            assert alone == {case: figures(self.lived(machine, nodes, case).result) for case in self.module.CASES}
            pytest.fail("the cases differ only one after the other")
        assert live.trace is not None
        return live.trace


MESSAGING, COLLECTIVELY, ACCESSING = Every(every_message, 2), Every(every_collective, 3), Every(every_access, 3)
BRIDGING = Every(every_bridge, 3)


@pytest.fixture(scope="module")
def messages(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    """Return a recording of all point-to-point calls."""
    return MESSAGING.recorded(tmp_path_factory.mktemp("messages"))


@pytest.fixture(scope="module")
def collectives(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    """Return a recording of all collective calls."""
    return COLLECTIVELY.recorded(tmp_path_factory.mktemp("collectives"))


def machine(folder: Path, contention: str = "none", limit: str = "100 B", library: str = "mpich") -> Machine:
    """Return the machine with this model of contention, eager limit and collective library."""
    path = folder / "three.yaml"
    path.write_text(MACHINE.format(contention=contention, limit=limit, library=library))
    return load_machine(str(path))


def missing(trace: Trace, calls: Iterable[MpiCall]) -> set[str]:
    """Return the titles of the calls that a trace does not contain."""
    made = {trace.head.calls[call] for call in np.unique(trace.ops.call)}
    return {title(call) for call in calls} - made


def test_every_call_has_a_case(messages: Trace, collectives: Trace) -> None:
    """The two programs make every call of the catalogue for messages, requests and collectives."""
    assert missing(messages, (*MESSAGES, *REQUESTS)) == set()
    assert missing(collectives, COLLECTIVE_CALLS) == set()
    assert {*MESSAGES, *REQUESTS, *COLLECTIVE_CALLS} < {*CALLS}


@pytest.mark.parametrize("limit", ["100 B", "10 KB"], ids=["rendezvous", "eager"])
@pytest.mark.parametrize("contention", ["none", "ports"])
def test_messages_take_as_long_recorded_as_live(messages: Trace, tmp_path: Path, contention: str, limit: str) -> None:
    """All times of all ranks are equal; if not, the failure names the cases that differ when run alone."""
    MESSAGING.compare(messages, machine(tmp_path, contention, limit), tmp_path)


@pytest.mark.parametrize(
    ("library", "nodes"), [("mpich", (0, 1, 2)), ("openmpi", (0, 1, 2)), ("mpich", (0, 0, 1)), ("mpich", (0, 1, 0))]
)
def test_collectives_take_as_long_recorded_as_live(
    collectives: Trace, tmp_path: Path, library: str, nodes: tuple[int, ...]
) -> None:
    """All times and calling flags are equal, for both libraries' algorithms and with and without shared nodes."""
    lived = COLLECTIVELY.compare(collectives, machine(tmp_path, limit="1 KB", library=library), tmp_path, nodes)
    assert _manners(lived) == _manners(collectives)


@pytest.mark.parametrize(("contention", "nodes"), [("none", (0, 1, 2)), ("ports", (0, 1, 2)), ("ports", (0, 0, 1))])
def test_one_sided_calls_take_as_long_recorded_as_live(tmp_path: Path, contention: str, nodes: tuple[int, ...]) -> None:
    """All times of all ranks are equal, and the trace of the live run is replayed to the same times, too."""
    recorded, on = ACCESSING.recorded(tmp_path), machine(tmp_path, contention)
    lived = ACCESSING.compare(recorded, on, tmp_path, nodes)
    assert figures(simulate(lived, on, nodes)) == figures(simulate(recorded, on, nodes))
    assert not lived.left_out()
    assert not recorded.left_out()


@pytest.mark.parametrize(
    ("contention", "library", "nodes"),
    [("none", "mpich", (0, 1, 2)), ("ports", "openmpi", (0, 1, 2)), ("ports", "mpich", (0, 0, 1))],
)
def test_calls_between_groups_take_as_long_recorded_as_live(
    tmp_path: Path, contention: str, library: str, nodes: tuple[int, ...]
) -> None:
    """All times of all ranks are equal, and nothing is left out."""
    recorded, on = BRIDGING.recorded(tmp_path), machine(tmp_path, contention, "1 KB", library)
    lived = BRIDGING.compare(recorded, on, tmp_path, nodes)
    assert not lived.left_out()
    assert not recorded.left_out()


def test_windows_of_shared_memory_take_as_long_recorded_as_live(tmp_path: Path) -> None:
    """All ranks are on one node, which shared memory needs."""
    nodes, on = (0, 0, 0), machine(tmp_path)
    live = figures(ACCESSING.lived(on, nodes, "shared").result)
    assert live == figures(simulate(ACCESSING.recorded(tmp_path, "shared"), on, nodes))


def _manners(trace: Trace) -> list[list[tuple[int, int, int]]]:
    """Return op, element and calling flags of each collective, by rank."""
    codes = [int(op) for op in COLLECTIVES]
    ranks = [trace.rank(rank) for rank in range(trace.ranks)]
    return [
        [
            (op, element, flags & MANNERS)
            for op, element, flags in zip(ops.op.tolist(), ops.tag.tolist(), ops.flags.tolist(), strict=True)
            if op in codes
        ]
        for ops in ranks
    ]
