"""Times scale: if all times are three times as long, so is the makespan, under every model of contention."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from clue.errors import DeadlockError
from clue.kernel import simulate
from clue.kernel.reference.transport import FactorTransport
from clue.kernel.reference.virtual_time import VirtualTime
from clue.machine import Link, Machine, NodeType
from clue.machine.contention import NUMBERS
from clue.trace import Op, Trace
from tests.kernel.random_cases import CASES, random_machine, random_placement, random_trace

#: Not a power of two, so that sums are rounded differently.
SCALE = 3
#: Times that differ by less than this factor are one time, reached by different sums.
ROUNDING = 1e-12


def longer_link(link: Link) -> Link:
    """Return a link that takes three times as long."""
    return replace(
        link,
        send_delay=link.send_delay.scaled(SCALE),
        transmission_delay=link.transmission_delay.scaled(SCALE),
        receive_delay=SCALE * link.receive_delay,
        busy=None if link.busy is None else link.busy.scaled(SCALE),
        copy_time=None if link.copy_time is None else link.copy_time.scaled(SCALE),
        send_overhead=None if link.send_overhead is None else link.send_overhead.scaled(SCALE),
        receive_overhead=None if link.receive_overhead is None else SCALE * link.receive_overhead,
    )


def longer_node(node: NodeType) -> NodeType:
    """Return a node type whose own times are three times as long; bursts are made longer in the trace."""
    times = ("time_slice", "initialisation_delay", "spawn_delay", "packing_delay", "reduction_delay")
    changed: dict[str, Any] = {name: SCALE * getattr(node, name) for name in times}
    cold = node.cold_start
    after = replace(cold.after, sizes=tuple(SCALE * wait for wait in cold.after.sizes)).scaled(SCALE)
    # Extra time and wait both scale, so the slopes stay.
    changed["cold_start"] = replace(cold, after=replace(after, slopes=cold.after.slopes))
    node = node.copying_longer(SCALE)
    return replace(node, **changed, speeds={region: speed / SCALE for region, speed in node.speeds.items()})


def longer_machine(machine: Machine) -> Machine:
    """Return a machine on which everything but bursts takes three times as long."""
    longer = machine.map(
        longer_node,
        lambda network: network.map(lambda link, _: longer_link(link), lambda each: each.busier(SCALE).later(SCALE)),
    )
    return replace(longer, changes=tuple((SCALE * time, changed) for time, changed in longer.changes))


def longer_trace(trace: Trace) -> Trace:
    """Return a trace whose bursts and sleeps are three times as long."""
    ops = trace.ops
    nbytes = np.where(ops.op == Op.SLEEP, ops.nbytes * SCALE, ops.nbytes)
    return replace(trace, ops=replace(ops, cpu=ops.cpu * SCALE, nbytes=nbytes))


def makespan_of(trace: Trace, machine: Machine, placement: list[int]) -> float:
    """Return a program's makespan; reject programs that deadlock or reach one time by different sums.

    The rounding of such sums decides the order of events, so their makespan need not scale.
    """
    times: list[float] = []
    at, begin = VirtualTime.at, FactorTransport.begin

    def noted_at(self: VirtualTime, time: float, *args: Any) -> Any:
        times.append(time)
        return at(self, time, *args)

    def noted_begin(self: FactorTransport, message: Any, *args: Any) -> None:
        begin(self, message, *args)
        times.append(message.arrival)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(VirtualTime, "at", noted_at)
        patch.setattr(FactorTransport, "begin", noted_begin)
        try:
            makespan = simulate(trace, machine, placement, "reference").makespan
        except DeadlockError:
            assume(False)
    assume(not any(a < b <= a * (1 + ROUNDING) for a, b in pairwise(sorted(times))))
    return makespan


@pytest.mark.long
@pytest.mark.parametrize("kind", NUMBERS)
@settings(max_examples=CASES // 4, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**48), plain=st.booleans())
def test_three_times_as_long(kind: str, seed: int, plain: bool) -> None:
    """If all times of machine and program are multiplied by three, so is the makespan."""
    random = Random(seed)
    trace = random_trace(random, ties=False)
    machine = random_machine(random, kind, ties=False, plain=plain)
    placement = random_placement(random, machine, trace.ranks)
    once = makespan_of(trace, machine, placement)
    longer = makespan_of(longer_trace(trace), longer_machine(machine), placement)
    assert longer == pytest.approx(SCALE * once, rel=1e-9)
