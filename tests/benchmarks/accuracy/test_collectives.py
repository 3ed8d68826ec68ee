"""The study of collectives: calls are found between barriers, in replays as in the program."""

import pytest

from benchmarks.accuracy.collectives.__main__ import Case, lines, simulated
from clue.config import load_machine
from clue.trace import TraceBuilder
from clue.trace.ops import Op

CASES = [Case("barrier", 0, 2), Case("bcast", 8, 2)]


def test_a_call_takes_its_share_of_what_is_between_two_barriers() -> None:
    """Two ranks send for 20 us, a message travels for 30 us, and a receive takes 10 us.

    A barrier takes 10 + 20 + 30 us. Two broadcasts take 80 us: the second message leaves at 40 us and is received
    from 70 us on. A burst of 5 us on rank 1 ends before the first message arrives. The next barrier begins on rank 0
    after 40 us, and on rank 1, for which a message is there by then, after 80 us: rank 1 leaves it 30 us before rank 0,
    so its next broadcasts take 110 us.
    """
    link = {"send_delay": "20 us", "transmission_delay": "30 us", "receive_delay": "10 us"}
    network = {"between_nodes": link, "within_node": link, "contention": "none"}
    document = {"name": "two", "nodes": [{"count": 2, "type": "host"}], "node_types": {"host": {}}, "network": network}
    built = TraceBuilder(2, "collectives")
    for number, rank in enumerate(built):
        for _ in range(2):
            for _ in range(1 + 2):
                rank.collective(Op.BARRIER)
        for _ in range(2):
            rank.collective(Op.BARRIER)
            rank.compute(5e-6 * number)
            for _ in range(2):
                rank.collective(Op.BCAST, 8)
        rank.collective(Op.BARRIER)
        rank.collective(Op.REDUCE, 32)
    barrier, bcast = simulated(CASES, 2, built.build(), load_machine(document))
    assert barrier == pytest.approx([60e-6, 60e-6])
    assert bcast == pytest.approx([40e-6, 55e-6])


def test_medians_count_and_warm_ups_do_not() -> None:
    """The barrier takes 60 and 80 us in two runs, and 64 us in the replay; the broadcast 40 us everywhere."""
    real = [[[9.0, 60e-6, 60e-6, 61e-6], [9.0] + [40e-6] * 3], [[9.0] + [80e-6] * 3, [9.0] + [40e-6] * 3]]
    page = list(lines("two", CASES, real, [[1.0, 64e-6, 64e-6, 64e-6], [1.0] + [40e-6] * 3]))
    assert page[0] == "## two"
    assert page[4:6] == ["| 0 | 1 of 1 | 8.6% | -8.6% |", "| 8 | 1 of 1 | 0.0% | +0.0% |"]
    assert page[-2:] == ["| barrier | 0 | 70 | 60 to 80 | 64 | -9% |", "| bcast | 8 | 40 | 40 to 40 | 40 | +0% |"]
