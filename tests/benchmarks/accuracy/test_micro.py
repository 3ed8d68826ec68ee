"""Steps of micro-tests: real and simulated ranks do the same, and simulated times add up."""

from dataclasses import replace

import pytest

from benchmarks.accuracy.micro.__main__ import lines
from benchmarks.accuracy.micro.program import RealRank, figures, measure
from benchmarks.accuracy.micro.simulated import simulated, trace_of_step
from benchmarks.accuracy.micro.steps import BUSY, SIZES, STEPS, Rank, Step, stream_length
from clue.config import load_machine
from clue.kernel import simulate
from clue.machine import Machine

SENDS, TRAVELS, RECEIVES = 20e-6, 30e-6, 10e-6


def _machine(factor: float = 10.0) -> Machine:
    link = {"send_delay": "20 us", "transmission_delay": "30 us", "receive_delay": "10 us"}
    return load_machine(
        {
            "name": "two nodes",
            "nodes": [{"count": 2, "type": "host"}],
            "node_types": {"host": {"performance_factor": factor, "processors": 2}},
            "network": {"between_nodes": link, "within_node": link, "contention": "none"},
        }
    )


def _step(name: str) -> Step:
    return next(step for step in STEPS if step.name == name)


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
@pytest.mark.parametrize("nbytes", [0, SIZES[-1]])
def test_every_step_is_a_program_that_ends(step: Step, nbytes: int) -> None:
    """Each step runs to its end when simulated, and its named calls exist."""
    trace, _ = trace_of_step(step, nbytes, 10.0)
    told = simulated(step, nbytes, _machine())
    assert simulate(trace, _machine()).makespan == pytest.approx(told["whole"] * step.messages(nbytes), rel=1e-3)
    assert all(told[name] >= 0 for name in step.calls)


def test_a_stream_takes_its_sends() -> None:
    """A stream takes its sends one after the other, then the last message travels and is received."""
    length = stream_length(0)
    told = simulated(_step("stream, blocking"), 0, _machine())
    assert told["whole"] * length == pytest.approx(length * SENDS + TRAVELS + RECEIVES, rel=1e-3)
    assert told["first send"] == pytest.approx(SENDS, rel=1e-3)


@pytest.mark.parametrize("factor", [1.0, 10.0])
def test_a_rank_that_computes_does_so_as_long_on_any_processor(factor: float) -> None:
    """Computation before a late receive takes as long on any processor, and the message has then arrived."""
    told = simulated(_step("late receiver"), 0, _machine(factor))
    assert told["whole"] == pytest.approx(BUSY + RECEIVES, rel=1e-3)
    assert told["recv"] == pytest.approx(RECEIVES, rel=1e-2)


def test_bursts_between_calls_are_simulated() -> None:
    """Bursts before calls take their time on the simulated processor, and the median over repetitions counts."""
    step, machine = _step("late receiver"), _machine(10.0)
    told = simulated(step, 0, machine, [[[1e-4], [], [], [more * 1e-4, 3e-4]] for more in (1, 2, 9)])
    assert told["send"] == pytest.approx(1e-3 + SENDS)
    assert told["whole"] == pytest.approx(BUSY + 5e-3 + RECEIVES)


def test_figures_are_medians_over_turns() -> None:
    """Figures are medians over three turns; the whole lasts until the last rank is done, divided by messages."""
    step = replace(_step("stream, blocking"), name="four", calls={"second call": (0, 1, 1), "first": (1, 0, 0)})
    ranks: list[list[list[float]]] = [[[1.0, 2.0], [1.0, 3.0], [1.0, 5.0]], [[4.0], [4.0], [4.0]], [[], [], []]]
    assert stream_length(SIZES[-1]) == 4
    assert figures(step, SIZES[-1], ranks, ranks) == {
        "step": "four", "size": SIZES[-1], "whole": 1.0, "second call": 2.0, "first": 4.0,
        "bursts": [[[1.0, 2.0], [4.0], []], [[1.0, 3.0], [4.0], []], [[1.0, 5.0], [4.0], []]],
    }  # fmt: skip


class _Nobody(RealRank):
    """A rank whose messages take no time, on a processor ten times slower, which wakes up 1 ms late."""

    def __init__(self) -> None:
        self.rank, self.slower = 0, 10.0

    def start(self) -> float:
        self.begins, self.ends, self.woken = [], [], (5.0, 1.0)
        return 4.999

    def send(self, dest: int, nbytes: int) -> None:
        del dest, nbytes
        turn = len(self.ends)
        self.begins.append((5.25 + turn, 1.25 + turn / 2))
        self.ends.append((5.5 + turn, 1.25 + turn / 2))


def test_bursts_are_what_is_computed_between_calls() -> None:
    """A burst is the CPU time before a call. Time without a core, and waking up late, take as long on any processor."""

    def run(rank: Rank, nbytes: int) -> None:
        rank.send(1, nbytes)
        rank.send(1, nbytes)

    ends, bursts = measure(_Nobody(), Step("two", run), 0)
    assert ends[0] == pytest.approx([0.501, 1.501])
    assert bursts[0] == pytest.approx([0.25 + 0.0001, 0.5 + 0.025])


def test_the_table_holds_measured_against_simulated() -> None:
    """Errors are of medians over repeats; steps whose repeats differ too much are not counted among the sure ones."""
    told = simulated(_step("late receiver"), 0, _machine())
    slow, slower = ({**told, "whole": factor * told["whole"]} for factor in (2, 2.1))
    table = list(lines("m", [[slow, told], [slower, slow], [slow, told]], [[told, told]] * 3))
    assert table[2] == "| late receiver | 0 | whole | 40020 | 40020 to 42021 | 20010 | -50% |"
    assert table[-2].endswith("1 of 2 steps within 10%; mean absolute error 25.0%")
    assert table[-1] == "0 of 1 steps whose repeats differ by at most 10% are within 10%"
