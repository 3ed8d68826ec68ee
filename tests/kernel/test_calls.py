"""Recorded times of calls and messages: recording changes no figure, and the recorded times are right."""

from __future__ import annotations

from collections import defaultdict
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from clue.errors import DeadlockError
from clue.kernel import Program, compile_program, simulate
from clue.machine.contention import NUMBERS
from clue.trace import PROC_NULL, Flag, Op, TraceBuilder
from tests.kernel.cases import ANSWER, RECEIVE, machine, sending, transmission
from tests.kernel.random_cases import CASES, random_machine, random_placement, random_trace


def matched(program: Program) -> dict[int, int]:
    """Return the receive's row for each send's row: the k-th receive of a channel takes the k-th send."""
    ops = program.columns
    sent: dict[tuple[int, ...], list[int]] = defaultdict(list)
    posted: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for rank, rows in enumerate(program.rows):
        for i, row in enumerate(rows, program.offsets[rank]):
            if row.peer == PROC_NULL:
                continue
            if row.op in {Op.SEND, Op.ISEND}:
                sent[row.context, rank, row.peer, row.tag].append(i)
            elif row.op == Op.MPROBE or (row.op in {Op.RECV, Op.IRECV} and not ops.flags[i] & Flag.CANCELLED):
                posted[row.context, row.peer, rank, row.tag].append(i)
    return {i: j for channel, rows in sent.items() for i, j in zip(rows, posted[channel], strict=False)}


def test_a_ping_pong_by_hand() -> None:
    """In a ping-pong, 1 KB goes there eagerly and 20 KB come back by rendezvous, whose receive is posted already."""
    trace = TraceBuilder(2)
    trace[0].compute(0.5)
    for source, dest, nbytes in ((0, 1, 1000), (1, 0, 20_000)):
        trace[source].send(dest, nbytes)
        trace[dest].recv(source)
    calls = simulate(trace.build(), machine(), calls=True).calls
    assert calls is not None
    there = 0.5 + sending(1) + transmission(1)
    starts = there + RECEIVE + ANSWER
    back = starts + sending(20) + transmission(20)
    np.testing.assert_allclose(calls.begin, [0.5, 0.5 + sending(1), 0.0, there + RECEIVE], rtol=1e-12)
    ends = [0.5 + sending(1), back + RECEIVE, there + RECEIVE, starts + sending(20)]
    np.testing.assert_allclose(calls.end, ends, rtol=1e-12)
    assert calls.messages[["send", "receive"]].tolist() == [(0, 2), (3, 1)]
    np.testing.assert_allclose(calls.messages["leaves"], [0.5, starts], rtol=1e-12)
    np.testing.assert_allclose(calls.messages["arrival"], [there, back], rtol=1e-12)


def test_a_message_that_nobody_receives_has_no_receive() -> None:
    """An eager message that no rank receives still arrives; its receive is -1."""
    trace = TraceBuilder(2)
    trace[0].send(1, 1000)
    trace[1].compute(1.0)
    calls = simulate(trace.build(), machine(), calls=True).calls
    assert calls is not None
    assert calls.messages["receive"].tolist() == [-1]
    assert calls.messages["arrival"].tolist() == pytest.approx([sending(1) + transmission(1)], rel=1e-12)


def test_instances_have_rows_of_their_own() -> None:
    """The rows of a second instance come after those of the first, with the same times."""
    trace = TraceBuilder(2)
    trace[0].send(1, 1000)
    trace[1].recv(0)
    calls = simulate(trace.build(), machine(4), instances=2, calls=True).calls
    assert calls is not None
    assert calls.messages[["send", "receive"]].tolist() == [(0, 1), (2, 3)]
    assert calls.end.tolist() == [*calls.end[:2], *calls.end[:2]]


def test_the_fast_engine_leaves_calls_to_the_reference() -> None:
    """If calls are requested of the fast engine, the reference computes the result, and a warning says so."""
    trace = TraceBuilder(1)
    trace[0].compute(1.0)
    result = simulate(trace.build(), machine(1), engine="fast", calls=True)
    assert result.engine == "reference"
    assert any("it keeps no timeline" in each for each in result.warnings)


@pytest.mark.parametrize("kind", NUMBERS)
@settings(max_examples=CASES // 4, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**48), ties=st.booleans())
def test_what_is_noted_of_random_programs(kind: str, seed: int, ties: bool) -> None:
    """Recording calls changes no figure; calls and bursts leave no gaps; sends and receives match in order."""
    random = Random(seed)
    program = compile_program(random_trace(random, ties=ties))
    on = random_machine(random, kind, ties=ties)
    nodes = random_placement(random, on, program.ranks)
    try:
        result = simulate(program, on, nodes, "reference", calls=True)
    except DeadlockError:
        assume(False)
        raise
    assert simulate(program, on, nodes, "reference").ranks == result.ranks
    calls = result.calls
    assert calls is not None
    assert (calls.begin <= calls.end).all()
    for rank, own in enumerate(map(slice, program.offsets[:-1], program.offsets[1:])):
        begins, ends, figures = calls.begin[own], calls.end[own], result.ranks[rank]
        bursts = begins[1:] - ends[:-1]
        assert (bursts >= 0).all()
        assert not len(ends) or ends[-1] == figures.finish
        if len(begins) and not program.worlds[rank]:  # spawned ranks first wait for their spawn
            assert begins[0] + bursts.sum() == pytest.approx(figures.compute, rel=1e-9, abs=1e-12)
    met = {send: receive for send, receive, _, _ in calls.messages.tolist() if receive >= 0}
    assert met == matched(program)
    assert (calls.messages["leaves"] >= calls.begin[calls.messages["send"]]).all()
