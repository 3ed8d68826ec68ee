"""Figures of machines that are made or changed in Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from math import inf, nan
from typing import Any

import numpy as np
import pytest

from clue.config import load_machine
from clue.errors import UsageError
from clue.kernel import simulate
from clue.machine import (
    ColdStart,
    Curve,
    FactorTable,
    LinkNoise,
    Machine,
    NodeNoise,
    Ports,
    Progress,
    Rendezvous,
    SpeedCurve,
    Waiting,
)
from clue.trace import TraceBuilder
from tests.kernel.cases import need_fast_engine

BASE = load_machine(
    {
        "name": "base",
        "nodes": [{"count": 2, "type": "pc"}],
        "node_types": {"pc": {"processors": 2}},
        "network": {"between_nodes": {"send_delay": "1 ms", "transmission_delay": "2 ms"}},
    }
)


def with_node(**figures: Any) -> Machine:
    """Return the machine with other figures of its nodes."""
    return BASE.map(lambda node: replace(node, **figures))


def with_link(**figures: Any) -> Machine:
    """Return the machine with other figures of its link between nodes."""
    network = BASE.network
    return replace(BASE, network=replace(network, between_nodes=replace(network.between_nodes, **figures)))


AMOUNT = "must be a finite number of at least 0"
CURVE = "must be a Curve through finite times of at least 0, by rising size, that does not fall at its end"

FACTORS = (
    "contention: factors must be pairs of a number, rising from 1, and a factor, a finite number of at least 0, got"
)


@pytest.mark.parametrize(
    ("figures", "rule"),
    [
        ({"performance_factor": -1.0}, f"performance_factor {AMOUNT}, got -1.0"),
        ({"performance_factor": nan}, f"performance_factor {AMOUNT}, got nan"),
        ({"performance_factor": inf}, f"performance_factor {AMOUNT}, got inf"),
        ({"performance_factor": "0.5"}, f"performance_factor {AMOUNT}, got '0.5'"),
        ({"performance_factor": Decimal("0.5")}, f"performance_factor {AMOUNT}, got Decimal('0.5')"),
        ({"performance_factor": {"": 0.5}}, f"performance_factor {AMOUNT}, got {{'': 0.5}}"),
        ({"performance_factors": {"solve": -2.0}}, "performance_factors must be a mapping to a finite number of at"),
        ({"performance_factors": [2.0]}, "performance_factors must be a mapping to a finite number of at least 0, got"),
        ({"speeds": {"solve": 0.0}}, "speeds must be a mapping to a finite number above 0 or a SpeedCurve, got"),
        ({"processors": 0}, "processors must be a whole number of at least 1, got 0"),
        ({"processors": 2.0}, "processors must be a whole number of at least 1, got 2.0"),
        ({"background_load": -3.0}, f"background_load {AMOUNT}, got -3.0"),
        ({"memory_contention": {2: 0.5}}, "memory_contention must be a mapping of numbers of processors to shares by"),
        ({"memory_contention": {"2": {"": 0.5}}}, "memory_contention must be a mapping of numbers of processors to"),
        ({"memory_contention": {2: {"": 1.5}}}, "each a number above 0 and up to 1, got {2: {'': 1.5}}"),
        ({"copy_bandwidth": 0.0}, "copy_bandwidth must be a finite number above 0, or None, got 0.0"),
        ({"waiting": "poll"}, "waiting must be Waiting.YIELD or Waiting.POLL, got 'poll'"),
        ({"cold_start": None}, "cold_start must be ColdStart, got None"),
    ],
)
def test_impossible_figures_of_nodes(figures: dict[str, Any], rule: str) -> None:
    """What no machine file may state is refused where it is stated: an engine would compute with it, or never end."""
    with pytest.raises(UsageError) as raised:
        with_node(**figures)
    assert str(raised.value).startswith("node type pc: ")
    assert rule in str(raised.value)


@pytest.mark.parametrize(
    ("figures", "rule"),
    [
        ({"receive_delay": -1.0}, f"receive_delay {AMOUNT}, got -1.0"),
        ({"receive_overhead": nan}, f"receive_overhead {AMOUNT}, or None, got nan"),
        ({"send_delay": "5 us"}, f"send_delay {CURVE}, got '5 us'"),
        ({"send_delay": 5e-6}, f"send_delay {CURVE}, got 5e-06"),
        ({"transmission_delay": Curve.line(-1e-6)}, f"transmission_delay {CURVE}, got"),
        ({"transmission_delay": Curve.line(0.0, inf)}, f"transmission_delay {CURVE}, got"),
        ({"transmission_delay": Curve.line(1e-3, -1e-6)}, f"transmission_delay {CURVE}, got"),
        ({"send_delay": Curve((0.0, 9.0), (1e-3, 1e-3), (-1.0, 0.0))}, f"send_delay {CURVE}, got"),
        ({"send_delay": Curve((9.0, 0.0), (1.0, 2.0), (0.0, 0.0))}, f"send_delay {CURVE}, got"),
        ({"send_delay": Curve((0.0, 9.0), (1.0,), (0.0,))}, f"send_delay {CURVE}, got"),
        ({"send_delay": Curve((), (), ())}, f"send_delay {CURVE}, got"),
        ({"send_delay": Curve((0.0,), ("1 s",), (0.0,))}, f"send_delay {CURVE}, got"),  # type: ignore[arg-type]
        ({"busy": 0.0}, f"busy {CURVE}, or None, got 0.0"),
        ({"eager_limit": "64 KB"}, "eager_limit must be a number of bytes, or None, got '64 KB'"),
        ({"acknowledged_from": nan}, "acknowledged_from must be a number of bytes, or None, got nan"),
        ({"rendezvous": "read"}, "rendezvous must be Rendezvous.WRITE or Rendezvous.READ, got 'read'"),
    ],
)
def test_impossible_figures_of_links(figures: dict[str, Any], rule: str) -> None:
    """The same for links."""
    with pytest.raises(UsageError) as raised:
        with_link(**figures)
    assert f"link: {rule}" in str(raised.value)


def test_parts_of_the_wrong_type() -> None:
    """A word in place of a value would count as none of them: progress "calls" was asynchronous, without a word."""
    network: Any = BASE.network
    base: Any = BASE
    for part, figures, rule in (
        (network, {"progress": "calls"}, "progress must be Progress.ASYNCHRONOUS or Progress.CALLS, got 'calls'"),
        (network, {"between_nodes": None}, "network: between_nodes must be Link, got None"),
        (network, {"within": {"pc": "fast"}}, "network: within must be a mapping to Link, got {'pc': 'fast'}"),
        (base, {"nodes": ({"processors": 2},)}, "machine base: nodes must be a tuple of NodeType, got ({'processors'"),
        (base, {"nodes": {"pc": base.nodes[0]}}, "machine base: nodes must be a tuple of NodeType, got {'pc'"),
        (base, {"network": "base"}, "machine base: network must be Network, got 'base'"),
        (base, {"changes": ((2.0, base), (1.0, base))}, "changes must be pairs of a time and a Machine, by rising"),
        (base, {"changes": ((-1.0, base),)}, "changes must be pairs of a time and a Machine, by rising time, got"),
        (
            base,
            {"changes": (1.0, base)},
            "must be pairs of a time and a Machine, by rising time, got (1.0, <Machine:",
        ),
        (base, {"changes": None}, "changes must be pairs of a time and a Machine, by rising time, got None"),
    ):
        with pytest.raises(UsageError) as raised:
            replace(part, **figures)
        assert rule in str(raised.value)


@pytest.mark.parametrize(
    ("make", "rule"),
    [
        (lambda: NodeNoise(computation=-0.1), f"noise of a node type: computation {AMOUNT}, got -0.1"),
        (lambda: NodeNoise(factor=nan), f"noise of a node type: factor {AMOUNT}, got nan"),
        (lambda: LinkNoise(transmission="5 %"), f"noise of a link: transmission {AMOUNT}, got '5 %'"),  # type: ignore[arg-type]
        (lambda: ColdStart(Curve.line(-1.0)), f"cold start: after {CURVE}, got"),
        (lambda: ColdStart(at_most=nan), f"cold start: at_most {AMOUNT}, got nan"),
        (lambda: SpeedCurve(Curve.line(0.0, -1e-9)), f"speed: time {CURVE}, got"),
        (lambda: Ports(Curve.line(-5.0)), f"ports: busy {CURVE}, or None, got"),
        (lambda: Ports("1 ms"), f"ports: busy {CURVE}, or None, got '1 ms'"),  # type: ignore[arg-type]
        (lambda: FactorTable(()), f"{FACTORS} ()"),
        (lambda: FactorTable(((2, 2.0),)), f"{FACTORS} ((2, 2.0),)"),
        (lambda: FactorTable(((1, 1.0), (1, 2.0))), FACTORS),
        (lambda: FactorTable(((1, 1.0), (2, -2.0))), FACTORS),
        (lambda: FactorTable({1: 1.0}), f"{FACTORS} {{1: 1.0}}"),  # type: ignore[arg-type]
    ],
)
def test_impossible_figures_of_what_nodes_and_links_consist_of(make: Callable[[], object], rule: str) -> None:
    """The same for noise, cold starts, speeds and contention."""
    with pytest.raises(UsageError) as raised:
        make()
    assert str(raised.value).startswith(rule)


def test_messages_show_the_first_of_many_nodes() -> None:
    """A function that forgets to return a node type makes a machine of ten thousand times None."""
    many = replace(BASE, nodes=BASE.nodes[:1] * 10_000)
    with pytest.raises(UsageError, match=r"nodes must be a tuple of NodeType, got \(None, .*, \.\.\.\)$") as raised:
        many.map(lambda _: None)  # type: ignore[arg-type, return-value]
    assert len(str(raised.value)) < 200


def test_numbers_of_other_types_are_those_of_python() -> None:
    """Both engines compute with them in double precision, in which the float32 of 0.1 is 0.10000000149.

    The reference computed in single precision, and compiled code failed at curves with fractions.
    """
    need_fast_engine()
    builder = TraceBuilder(4)
    for rank in range(4):
        builder[rank].compute(2.0)
        builder[rank].send((rank + 1) % 4, 0)
        builder[rank].recv((rank - 1) % 4)
    trace, tenth = builder.build(), float(np.float32(0.1))
    third = Curve.line(Fraction(1, 3), Fraction(1, 10**9))  # type: ignore[arg-type]
    for changed, finish in (
        (with_link(send_delay=third), 2 + 1 / 3 + 0.002),
        (with_node(performance_factor=np.float32(0.1)), 2 * tenth + 0.003),
        (with_node(memory_contention={np.int64(2): {"": np.float32(0.1)}}), 2 / tenth + 0.003),
    ):
        makespans = [simulate(trace, changed, engine=engine).makespan for engine in ("reference", "fast")]
        assert makespans[0] == makespans[1]
        assert makespans[0] == pytest.approx(finish, rel=1e-12)
    assert repr(with_node(performance_factor=np.float64(0.5)).nodes) == repr(with_node(performance_factor=0.5).nodes)


def test_figures_that_are_possible() -> None:
    """Integers, fractions and numbers of numpy are numbers: a burst of 2 s takes 2 · f, a message 1 + 2 ms."""
    builder = TraceBuilder(2)
    builder[0].compute(2.0)
    builder[0].send(1, 8)
    builder[1].recv(0)
    trace = builder.build()
    for half in (Fraction(1, 2), np.float32(0.5), np.float64(0.5)):
        changed = with_node(performance_factor=half, processors=np.int64(1))
        assert simulate(trace, changed).makespan == pytest.approx(1.003)
    assert simulate(trace, with_node(performance_factor=0)).makespan == pytest.approx(2.003)
    words = with_link(eager_limit=0, rendezvous=Rendezvous.READ).map(lambda node: replace(node, waiting=Waiting.POLL))
    # The envelope takes 3 ms, the data 3 ms, and the sender hears of it 3 ms later.
    assert simulate(trace, words, "cyclic").makespan == pytest.approx(2.009)
    assert replace(BASE.network, progress=Progress.CALLS).progress is Progress.CALLS
