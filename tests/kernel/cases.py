"""Machines with round numbers, so that a reader can add up every expected time."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from clue.kernel import simulate
from clue.kernel.fast.library import ENGINE
from clue.machine import Curve, FactorTable, Flows, Link, Machine, Network, NoContention, NodeType, Ports
from clue.machine.contention.topology import Switch
from clue.native import NoLibraryError
from clue.trace import Trace, TraceBuilder

#: The test is of each engine.
ENGINES = pytest.mark.parametrize("engine", ["reference", "fast"])
#: The test is of each contention model between nodes, which must not matter within them.
MODELS = pytest.mark.parametrize(
    "contention", [NoContention(), FactorTable(((1, 1.0),)), Ports(), Flows(Switch(1e9))], ids=lambda each: each.name
)
#: s(m) = 10 ms + 1 ms/KB, t(m) = 100 ms + 2 ms/KB, receive 1 ms; messages above 10 KB wait for their receive.
SEND, SEND_PER_KB = 0.010, 0.001
TRANSMIT, TRANSMIT_PER_KB = 0.100, 0.002
RECEIVE = 0.001
EAGER_LIMIT = 10_000
#: Travel time of an empty message, and so of a rendezvous answer.
ANSWER = SEND + TRANSMIT

LINK = Link(Curve.line(SEND, SEND_PER_KB / 1000), Curve.line(TRANSMIT, TRANSMIT_PER_KB / 1000), RECEIVE, EAGER_LIMIT)
#: Messages within a node take a tenth of the time.
LOCAL_LINK = Link(Curve.line(SEND / 10), Curve.line(TRANSMIT / 10), RECEIVE / 10, EAGER_LIMIT)


def sending(kilobytes: float) -> float:
    """Return s(m)."""
    return SEND + kilobytes * SEND_PER_KB


def transmission(kilobytes: float) -> float:
    """Return t(m)."""
    return TRANSMIT + kilobytes * TRANSMIT_PER_KB


def machine(
    nodes: int = 2,
    *,
    contention: dict[int, float] | None = None,
    changes: tuple[tuple[float, Machine], ...] = (),
    link: Link = LINK,
    **node: object,
) -> Machine:
    """Return a machine of equal nodes."""
    node_type = NodeType("host", **node)  # type: ignore[arg-type]
    table = FactorTable(tuple(contention.items())) if contention else NoContention()
    return Machine("hand-made", (node_type,) * nodes, Network(link, LOCAL_LINK, contention=table), changes)


def finishes(
    trace: Trace | TraceBuilder, on: Machine, engine: str = "auto", placement: str | Sequence[int] = "block"
) -> list[float]:
    """Return when each rank ends."""
    built = trace.build() if isinstance(trace, TraceBuilder) else trace
    return [rank.finish for rank in simulate(built, on, placement, engine).ranks]


def both(trace: TraceBuilder, on: Machine, placement: str | Sequence[int] = "block") -> list[float]:
    """Return when each rank ends, after checking that both engines agree."""
    reference, fast = (finishes(trace, on, engine, placement) for engine in ("reference", "fast"))
    assert reference == fast
    return reference


def need_fast_engine() -> None:
    """Skip the test if the fast engine is not available and cannot be compiled."""
    try:
        ENGINE.load()
    except NoLibraryError as error:
        pytest.skip(f"no fast engine here: {error}")
