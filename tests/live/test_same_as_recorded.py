"""The same program takes as long recorded and replayed as run live: for every call that the catalogue knows.

Computation takes no time in either, so both say the same to the last bit: bursts of a recording are set to nothing, and
live they are what regions declare, of which there are none.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from clue.config import load_machine
from clue.kernel import simulate
from clue.live import run
from clue.live.bursts import Declared
from clue.machine import Machine, Placement
from clue.recording import record
from clue.result import Result
from clue.trace import Trace
from tests.live import every_message
from virtual_layer.catalogue import MESSAGES, REQUESTS, title

pytest.importorskip("mpi4py.MPI", reason="mpi4py and an MPI library must be there", exc_type=ImportError)

PROGRAM = Path(every_message.__file__)
#: Messages of 1000 B lie beyond the first eager limit and within the second; all delays differ.
MACHINE = """
name: two
nodes: [{{count: 2, type: host}}]
node_types: {{host: {{processors: 1}}}}
network:
  contention: {contention}
  between_nodes:
    send_delay: {{latency: 13 us, bandwidth: 1 GB/s}}
    transmission_delay: {{latency: 31 us, bandwidth: 500 MB/s}}
    receive_delay: 7 us
    eager_limit: {limit}
  within_node: {{send_delay: 3 us, transmission_delay: 2 us, receive_delay: 1.7 us, eager_limit: 10 KB}}
"""
Figures = list[tuple[float, float, float, float]]


def recorded(folder: Path, *cases: str) -> Trace:
    """Record cases of the program, and leave no computation."""
    trace = record(PROGRAM, cases, 2, folder / "every.clue", timeout=100)
    return Trace(trace.head, replace(trace.ops, cpu=np.zeros_like(trace.ops.cpu)))


def lived(machine: Machine, *cases: str) -> Figures:
    """Run cases of the program live."""
    return figures(run((str(PROGRAM), *cases), 2, machine, Placement((0, 1)), bursts=Declared(1e9), limit=60).result)


def figures(result: Result) -> Figures:
    """Return what a result says of each rank."""
    return [(rank.finish, rank.compute, rank.communicate, rank.wait) for rank in result.ranks]


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    """All cases, recorded."""
    return recorded(tmp_path_factory.mktemp("everything"))


def test_every_point_to_point_call_has_a_case(everything: Trace) -> None:
    """A call of the catalogue that the program does not make is missing there."""
    made = {everything.head.calls[call] for call in np.unique(everything.ops.call)}
    assert {title(call) for call in (*MESSAGES, *REQUESTS)} - made == set()


@pytest.mark.parametrize("limit", ["100 B", "10 KB"], ids=["rendezvous", "eager"])
@pytest.mark.parametrize("contention", ["none", "ports"])
def test_messages_take_as_long_recorded_as_live(everything: Trace, tmp_path: Path, contention: str, limit: str) -> None:
    """Every figure of every rank is equal; where one is not, the cases that differ by themselves are named."""
    (tmp_path / "two.yaml").write_text(MACHINE.format(contention=contention, limit=limit))
    machine = load_machine(str(tmp_path / "two.yaml"))
    if figures(simulate(everything, machine, "block")) != lived(machine):
        alone = {case: figures(simulate(recorded(tmp_path, case), machine, "block")) for case in every_message.CASES}
        assert alone == {case: lived(machine, case) for case in every_message.CASES}
        pytest.fail("the cases differ only one after the other")
