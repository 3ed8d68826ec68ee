"""Performance factors by region, and shares of speed beside busy processors, from recordings and kernels."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from clue.calibration.kernels import Speeds, busy_numbers, measure_kernels, speeds_in
from clue.calibration.measurement import Estimate
from clue.calibration.processor import (
    CountedRun,
    factors_by_region,
    node_by_kernels,
    node_by_program,
    regions_like,
    shares_by_region,
)
from clue.config import load_machine
from clue.config.yaml12 import parse_yaml
from clue.errors import UsageError
from clue.machine import NodeType
from clue.trace import Op, Trace, TraceBuilder


def trace(product: float, sums: float, rest: float = 1.0) -> Trace:
    """Return a program of two ranks with these CPU seconds by region, half on each rank."""
    built = TraceBuilder(2, "prog.py")
    for rank in built:
        rank.compute(product / 2, "product")
        rank.compute(sums / 2, "sums")
        rank.compute(rest / 2)
    return built.build()


def node_type(text: str) -> NodeType:
    """Return the node type that a file describes, as part of a machine."""
    written = parse_yaml(text, "node.yaml").value
    assert isinstance(written, dict)
    link = {"send_delay": "1 us", "transmission_delay": "1 us"}
    name = next(iter(written["node_types"]))
    return load_machine({"nodes": [{"type": name}], "network": {"between_nodes": link}, **written}).nodes[0]


def test_factors_are_time_here_over_time_there_by_region() -> None:
    """Products take half as long here, sums twice as long, and all together (1 + 4 + 1) / (2 + 2 + 1) times as long."""
    runs = [CountedRun.of(trace(product, 4.0)) for product in (0.9, 1.0, 3.0)]
    factors = factors_by_region(CountedRun.of(trace(2.0, 2.0)), runs)
    assert {region: round(factor.value, 9) for region, factor in factors.items()} == {
        "default": 1.2, "product": 0.5, "sums": 2.0,
    }  # fmt: skip
    assert (factors["product"].low, factors["product"].high) == pytest.approx((0.45, 1.5))


def test_a_region_of_no_time_is_left_to_the_rest() -> None:
    """A region of half a millisecond gets no factor of its own."""
    assert "sums" not in factors_by_region(CountedRun.of(trace(2.0, 5e-4)), [CountedRun.of(trace(1.0, 4.0))])


def test_shares_are_time_alone_over_time_beside_copies() -> None:
    """Beside a copy, sums take 1 / 0.8 times as long; products are no slower, and a share is at most 1."""
    alone = [CountedRun(1, {"": 0.0, "product": 1.0, "sums": 0.8})]
    beside = [CountedRun(1, {"": 0.0, "product": 0.9, "sums": 1.0})] * 2
    assert shares_by_region(alone, beside) == {"default": 0.9474, "product": 1.0, "sums": 0.8}


def test_shares_are_of_the_times_as_measured() -> None:
    """What copies cost each other is in the measured times only: at the host's best speed, bursts hardly differ."""
    alone, beside = ([CountedRun(1, {"": cpu}, measured={"": took})] for cpu, took in ((1.0, 1.0), (1.03, 1.5)))
    assert shares_by_region(alone, beside) == {"default": 0.6667}
    assert CountedRun.of(trace(2.0, 4.0)).measured == CountedRun.of(trace(2.0, 4.0)).cpu


def test_a_node_type_is_written_as_the_simulator_reads_it() -> None:
    """The written node type, with factors by region and shares by busy processors, is read back equal."""
    there = trace(2.0, 2.0)
    node = node_by_program("here", 2, there, {1: [CountedRun.of(trace(1.0, 4.0))], 2: [CountedRun.of(trace(1.0, 5.0))]})
    read = node_type(node.text())
    assert (read.name, read.processors) == ("here", 2)
    assert (read.factor("product"), read.factor("sums"), read.factor("other")) == (0.5, 2.0, 1.2)
    assert read.share_kept(2, "sums") == 0.8
    assert read.share_kept(2, "product") == 1.0
    assert any("beside 2 busy ranks" in note for note in node.notes)


def test_what_differs_between_recordings_is_noise() -> None:
    """Times of 1, e^0.1 and e^0.2 s deviate by 0.1 in the logarithm, which becomes noise; two runs are too few."""
    runs = [CountedRun(2, {"": math.exp(power), "product": 0.0, "sums": 0.0}) for power in (0.0, 0.1, 0.2)]
    assert node_type(node_by_program("n", 2, trace(1.0, 1.0), {1: runs}).text()).noise.factor == 0.1
    assert node_type(node_by_program("n", 2, trace(1.0, 1.0), {1: runs[:2]}).text()).noise.factor == 0.0


def test_recordings_must_be_of_the_same_program() -> None:
    """A recording with another number of ranks, or without one of the regions, is refused."""
    other = TraceBuilder(2)
    other[0].compute(1.0)
    for wrong, told in ((CountedRun(3, {}), "2 ranks"), (CountedRun.of(other.build()), "none named product")):
        with pytest.raises(UsageError, match=told):
            factors_by_region(CountedRun.of(trace(1.0, 1.0)), [wrong])
    with pytest.raises(UsageError, match="computation"):
        factors_by_region(CountedRun(1, {"": 0.0}), [])


HERE = Speeds(
    "new", "b", {"dgemm": {1: Estimate.alone(4e9), 2: Estimate.alone(3e9)}, "triad": {1: Estimate.alone(1e10)}}
)
THERE = Speeds("old", "a", {"dgemm": {1: Estimate.alone(1e9)}, "triad": {1: Estimate.alone(1e10)}})


def test_a_trace_and_the_program_run_here_must_belong_together() -> None:
    """Another name and other calls are refused; another name alone, or other numbers of calls, are told."""
    there = TraceBuilder(1, "bench/heat.py")
    for _ in range(3):
        there[0].compute(1.0)
        there[0].collective(Op.BARRIER, 0)
    known = there.build()
    run = CountedRun.of(known)
    assert (run.program, run.calls) == ("heat.py", {"Barrier": 3})
    other = replace(run, program="other.py", calls={"Send": 3})
    with pytest.raises(UsageError, match=r"program must be that of the trace \(heat.py\), got other.py, which makes"):
        factors_by_region(run, [other])
    assert not node_by_program("n", 2, known, {1: [run]}).notes
    (said,) = node_by_program("n", 2, known, {1: [replace(run, program="new.py")]}).notes
    assert said == "the trace records heat.py, but new.py was run here"
    (said,) = node_by_program("n", 2, known, {1: [run, replace(run, calls={"Barrier": 5, "Send": 1})]}).notes
    assert said == (
        "the program made other numbers of MPI calls here (Barrier 3 times in the trace, 5 here; Send 0 times in the "
        "trace, 1 here): factors hold only if it did the same work, so record both with one version of it"
    )


def test_factors_by_kernels_are_speed_there_over_speed_here() -> None:
    """Speeds give factors of 1/4 and 1, with a geometric mean of 1/2; a region may use the factor of a kernel."""
    node = node_by_kernels("here", 2, HERE, THERE, regions_like(["dgemm", "triad"], {}))
    read = node_type(node.text())
    assert (read.factor("dgemm"), read.factor("triad"), read.factor("other")) == (0.25, 1.0, 0.5)
    assert read.share_kept(2, "dgemm") == 0.75
    named = node_by_kernels("here", 2, HERE, THERE, {"cholesky": "dgemm", "default": "triad"})
    assert node_type(named.text()).factor("cholesky") == 0.25
    assert node_type(named.text()).factor("other") == 1.0


def test_contention_by_kernels_is_that_of_the_regions_named() -> None:
    """The kernel keeps 3/4 of its speed among two: so does its region; others do if they are stated to resemble it."""
    node = node_by_kernels("here", 2, HERE, THERE, {"solve": "dgemm"})
    read = node_type(node.text())
    assert (read.share_kept(2, "solve"), read.share_kept(2, "other")) == (0.75, 1.0)
    (said,) = node.notes
    assert said.startswith("memory contention is that of the regions named: any other keeps all of its speed")
    whole = node_by_kernels("here", 2, HERE, THERE, {"default": "dgemm"})
    assert node_type(whole.text()).share_kept(2, "other") == 0.75 and not whole.notes


def test_speeds_travel_in_the_file_of_a_node_type() -> None:
    """Another computer reads speeds from a node type's file; a file without them is refused."""
    assert speeds_in(node_by_kernels("n", 1, HERE, None, {"dgemm": "dgemm"}).text(), "n.yaml") == HERE
    for text in ("", "# speeds: {}", "# speeds: [1", "# speeds: 7"):
        with pytest.raises(UsageError, match=r"n\.yaml: reference must be"):
            speeds_in(text, "n.yaml")


def test_kernels_that_are_not_there_are_refused() -> None:
    """An unknown kernel for a region, or one that did not run on both computers, is refused."""
    with pytest.raises(UsageError, match="must be like one of dgemm"):
        regions_like(["dgemm"], {"cholesky": "fft"})
    with pytest.raises(UsageError, match="run on both"):
        node_by_kernels("n", 1, HERE, THERE, {"x": "chase"})


def test_kernels_run_alone_and_at_once() -> None:
    """Each kernel has a speed, alone and with copies at once, from at least one repetition per copy."""
    speeds = measure_kernels(("dgemm",), (1, 2), seconds=0.02)
    assert speeds.processor
    for copies, speed in speeds.kernels["dgemm"].items():
        assert speed.value > 1e6
        assert speed.repetitions >= copies


def test_numbers_of_busy_processors_double() -> None:
    """Numbers of busy processors double up to the total, which comes last."""
    assert [busy_numbers(n) for n in (1, 2, 6)] == [[1], [1, 2], [1, 2, 4, 6]]
