"""The fast engine against the reference: the same figures, to the last bit, for any program and machine."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clue.errors import DeadlockError
from clue.kernel import Program, compile_program, simulate
from clue.kernel.fast.library import ENGINE
from clue.machine import Machine
from clue.machine.contention import NUMBERS
from clue.native import NoLibraryError
from clue.result import Result
from clue.trace import Op, Trace, TraceBuilder
from tests.kernel.cases import machine
from tests.kernel.comparing import same_figures
from tests.kernel.random_cases import CASES, random_machine, random_placement, random_trace

try:
    ENGINE.load()
except NoLibraryError as error:
    pytest.skip(f"no fast engine here: {error}", allow_module_level=True)


def outcome(
    program: Program, machine: Machine, placement: list[int], engine: str, instances: int
) -> Result | list[object]:
    """Return the result, or the blocked ranks of a deadlock."""
    try:
        return simulate(program, machine, placement, engine, instances=instances, traffic=True)
    except DeadlockError as deadlock:
        return list(deadlock.blocked)


def same(trace: Trace, machine: Machine, placement: list[int], instances: int = 1) -> None:
    """Check that both engines give the same figures, warnings and deadlocks."""
    program = compile_program(trace)
    expected = outcome(program, machine, placement, "reference", instances)
    got = outcome(program, machine, placement, "fast", instances)
    if isinstance(expected, list) or isinstance(got, list):
        assert got == expected
        return
    assert got.engine == "fast"
    same_figures(got, expected)
    assert got.warnings == expected.warnings
    assert got.ops == expected.ops


@pytest.mark.parametrize("kind", NUMBERS)
@settings(max_examples=CASES // 4, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**48), ties=st.booleans(), plain=st.booleans(), spoilt=st.integers(0, 9))
def test_both_engines_agree_to_the_last_bit(kind: str, seed: int, ties: bool, plain: bool, spoilt: int) -> None:
    """For any program on any machine, both engines give the same times, traffic, warnings and deadlocks."""
    random = Random(seed)
    trace = random_trace(random, ties=ties, spoilt=spoilt == 0)
    on = random_machine(random, kind, ties=ties, plain=plain)
    instances = random.choice((1, 1, 2))
    same(trace, on, random_placement(random, on, trace.ranks * instances), instances)


@pytest.mark.parametrize("sender", [0, 1])
@pytest.mark.parametrize("sent", [1, 2, 3])
def test_engines_agree_about_a_message_that_is_seen_and_never_received(sender: int, sent: int) -> None:
    """Of 1 to 3 messages, one is received, and two probes look for the second: engines agree, whichever rank sends."""
    trace = TraceBuilder(2)
    for _ in range(sent):
        trace[sender].send(1 - sender, 8)
    trace[1 - sender].recv(sender)
    for _ in range(2):
        trace[1 - sender].add(Op.PROBE, peer=sender)
    same(trace.build(), machine(2), [0, 1])
