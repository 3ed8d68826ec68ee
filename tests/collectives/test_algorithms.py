"""Properties of every algorithm: messages match, no rank waits for ever, and each rank gets the data that it needs."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from clue.collectives import Collective, lower
from tests.collectives.execution import execute, reduced, schedules
from tests.collectives.needs import FRUGAL, HEARD, MOVING, OVERLONG, RECEIVED, REPEATING, combined, held_at_first
from tests.collectives.strategies import EVERY, SIZES, collectives, regular
from tests.properties import examples

REDUCING = [
    (name, algorithm)
    for name, algorithm in EVERY
    if name in {"reduce", "allreduce", "reduce_scatter", "scan"} and (name, algorithm) not in REPEATING
]

few = settings(max_examples=examples(12), deadline=None)


@pytest.mark.parametrize("rendezvous", [True, pytest.param(False, marks=pytest.mark.long)], ids=["rendezvous", "eager"])
@pytest.mark.parametrize(("name", "algorithm"), EVERY)
def test_every_size_comes_to_an_end(name: str, algorithm: str, rendezvous: bool) -> None:
    """For 1 to 33 ranks, every send has its receive, and no rank waits for ever, eager or by rendezvous."""
    for size in SIZES:
        execute(schedules(regular(name, size, 1000, root=size // 3), algorithm), rendezvous=rendezvous)


@pytest.mark.parametrize(("name", "algorithm"), EVERY)
@few
@given(data=st.data())
def test_everyone_hears_of_those_it_must(name: str, algorithm: str, data: st.DataObject) -> None:
    """Messages connect every rank, directly or through others, to all ranks whose data its result needs."""
    collective = data.draw(collectives(name))
    outcome = execute(schedules(collective, algorithm))
    for rank, heard in enumerate(outcome.heard):
        assert HEARD[name](collective, rank) <= heard


@pytest.mark.parametrize(("name", "algorithm"), EVERY)
@few
@given(data=st.data())
def test_everyone_receives_enough(name: str, algorithm: str, data: st.DataObject) -> None:
    """No rank receives fewer bytes than its result has; frugal algorithms deliver exactly that number."""
    collective = data.draw(collectives(name))
    received = execute(schedules(collective, algorithm), rendezvous=False).received
    needed = [RECEIVED[name](collective, rank) for rank in range(collective.size)]
    if (name, algorithm) in FRUGAL:
        assert received == needed
    assert all(got >= need for got, need in zip(received, needed, strict=True))


@pytest.mark.parametrize(("name", "algorithm"), [pair for pair in EVERY if pair[0] in MOVING and pair not in OVERLONG])
@few
@given(data=st.data())
def test_no_one_sends_more_than_it_holds(name: str, algorithm: str, data: st.DataObject) -> None:
    """If data are only moved, no message is larger than the data that its sender had and received in earlier rounds."""
    collective = data.draw(collectives(name))
    messages = execute(schedules(collective, algorithm), rendezvous=False).messages
    for rank in range(collective.size):
        held = held_at_first(collective, rank)
        incoming = sorted((m for m in messages if m.dest == rank), key=lambda m: m.received_in, reverse=True)
        for message in sorted((m for m in messages if m.source == rank), key=lambda m: m.sent_in):
            while incoming and incoming[-1].received_in < message.sent_in:
                held += incoming.pop().nbytes
            assert message.nbytes <= held


@pytest.mark.parametrize(("name", "algorithm"), REDUCING)
@few
@given(data=st.data())
def test_reductions_combine_each_vector_once(name: str, algorithm: str, data: st.DataObject) -> None:
    """A reduction combines (p - 1)·n bytes on all ranks together."""
    collective = data.draw(collectives(name))
    if (name, algorithm) == ("allreduce", "ring"):
        # With less than a byte per rank, the ring falls back to recursive doubling, which repeats work.
        assume(collective.sizes[0] >= collective.size)
    assert reduced(schedules(collective, algorithm)) == combined(collective)


@pytest.mark.parametrize(("name", "algorithm"), EVERY)
@few
@given(data=st.data())
def test_combined_bytes_were_received(name: str, algorithm: str, data: st.DataObject) -> None:
    """A round combines all the bytes that it received (in a scan also twice as many) or none.

    A round that receives nothing combines no more than all earlier rounds received.
    """
    collective = data.draw(collectives(name))
    plans = schedules(collective, algorithm)
    arrived: dict[tuple[int, int], int] = {}
    for m in execute(plans, rendezvous=False).messages:
        arrived[m.dest, m.received_in] = arrived.get((m.dest, m.received_in), 0) + m.nbytes
    for rank, plan in enumerate(plans):
        for i, step in enumerate(plan):
            factors = (0, 1, 2) if name in {"scan", "exscan"} else (0, 1)
            if not step.receives:
                assert step.reduced <= sum(arrived.get((rank, before), 0) for before in range(i))
                continue
            assert step.reduced in [factor * arrived.get((rank, i), 0) for factor in factors]


@pytest.mark.parametrize(("name", "algorithm"), [pair for pair in EVERY if pair[0] != "barrier"])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 33])
def test_algorithms_survive_zero_bytes(name: str, algorithm: str, size: int) -> None:
    """Without data, sends and receives of the algorithms still match, and ``lower`` returns no rounds.

    MPICH's alltoallv in place sends empty messages to all others.
    """
    collective = regular(name, size, 0)
    execute(schedules(collective, algorithm))
    messages = size - 1 if (name, algorithm) == ("alltoallv", "pairwise_sendrecv_replace") else 0
    assert all(len(lower(collective, rank, algorithm)) == messages for rank in range(size))


@pytest.mark.parametrize(("name", "algorithm"), EVERY)
def test_a_single_rank_does_nothing(name: str, algorithm: str) -> None:
    """A communicator of one rank makes no round."""
    assert schedules(regular(name, 1, 1000), algorithm) == [()]


@pytest.mark.parametrize(("name", "algorithm"), [pair for pair in EVERY if pair[0] in {"bcast", "reduce", "gather"}])
@pytest.mark.parametrize("size", [2, 3, 5, 6, 7, 8, 13])
def test_every_root_works(name: str, algorithm: str, size: int) -> None:
    """With any root, every rank hears of all ranks whose data it needs."""
    for root in range(size):
        collective = Collective(name, size, (1000,) * size, root)
        outcome = execute(schedules(collective, algorithm))
        assert all(HEARD[name](collective, rank) <= heard for rank, heard in enumerate(outcome.heard))
