"""Performance factors between processors of the library, from published figures by closed forms."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clue.calibration.parts import (
    MIX_DEVIATION,
    characters_of,
    compare_cores,
    compare_memories,
    disagreement,
    factor_of,
    node_by_parts,
)
from clue.config import load_parts
from clue.errors import UsageError
from clue.machine import Figure, Processor, Sockets
from clue.skeleton.work import CORE, MEMORY, Character
from clue.trace import TraceBuilder

CLOCK, FP, INT = "largest clock", "SPECrate 2017 fp base, one copy", "SPECrate 2017 int base, one copy"


def processor(name: str, cores: int = 4, **figures: float) -> Processor:
    """Return a processor with these figures of all its cores, or of one copy for names that end with _one."""
    known = {
        key: Figure(value, False, "a paper", "2026-01-02", 1 if key.endswith("_one") else cores)
        for key, value in figures.items()
    }
    return Processor(name, name, "a sheet", "2026-01-02", cores=cores, figures=known)


SLOW = processor("slow", 4, spec_fp_one=4.0, spec_int_one=3.0, spec_fp_rate=40.0, stream_triad=40e9)
FAST = processor("fast", 8, spec_fp_one=8.0, spec_int_one=6.0, spec_fp_rate=160.0, stream_triad=40e9)


def test_core_work_goes_by_the_share_of_a_core() -> None:
    """Core work is twice as fast by two one-copy scores, so SPECrate is not used; memory bandwidth per core is half."""
    core = compare_cores(SLOW, FAST, [SLOW, FAST])
    assert core.factors == pytest.approx({FP: 0.5, INT: 0.5})
    assert (core.factor, core.deviation) == pytest.approx((0.5, 0.0))
    assert compare_memories(SLOW, FAST, [SLOW, FAST]).factor == pytest.approx(2.0)


def test_several_figures_have_their_geometric_mean_and_their_spread() -> None:
    """Factors 0.5 and 0.25 have the geometric mean √0.125, and a standard deviation of logarithms of ln 2 / √2."""
    other = processor("other", spec_fp_one=8.0, spec_int_one=12.0)
    found = compare_cores(SLOW, other, [])
    assert found.factor == pytest.approx(math.sqrt(0.125))
    assert found.deviation == pytest.approx(math.log(2) / math.sqrt(2))


def test_figures_that_agree_by_luck_are_as_unsure_as_those_of_the_library() -> None:
    """The deviation is at least the library's: figures of a pair that differ by ln 2 miss by ln 2 / √2 each."""
    one, two = processor("1", spec_fp_one=1.0, spec_int_one=1.0), processor("2", spec_fp_one=2.0, spec_int_one=4.0)
    assert disagreement([one, two], [FP, INT]) == pytest.approx(math.log(2) / math.sqrt(2))
    assert compare_cores(SLOW, FAST, [one, two]).deviation == pytest.approx(math.log(2) / math.sqrt(2))
    assert disagreement([one], [FP, INT]) == 0.0


def test_rates_and_clocks_lie_on_either_side() -> None:
    """Without one-copy scores of both, SPECrate gives 0.25 and clocks 1; the factor is their geometric mean."""
    here = replace(processor("here", 8, spec_fp_rate=40.0), boost_clock=4e9)
    there = replace(processor("there", 2, spec_fp_rate=40.0, spec_fp_one=9.0), boost_clock=4e9)
    found = compare_cores(here, there, [])
    assert found.factors == pytest.approx({"SPECrate 2017 fp base": 0.25, CLOCK: 1.0})
    assert (found.factor, found.lonely) == (pytest.approx(0.5), False)
    assert found.deviation == pytest.approx(math.log(4) / math.sqrt(2))


def test_clocks_stand_in_where_nothing_else_is_known_of_both() -> None:
    """Without other common figures clocks are used, with the error that clocks have over the library."""
    here = replace(processor("here", spec_fp_one=4.0), boost_clock=4e9)
    there = replace(processor("there", spec_fp_rate=40.0), boost_clock=2e9)
    other = replace(processor("other", spec_fp_one=8.0), boost_clock=4e9)
    found = compare_cores(here, there, [here, other])
    assert found.lonely and found.factor == pytest.approx(2.0)
    assert found.deviation == pytest.approx(math.log(2))


def test_parts_without_comparable_figures_are_refused() -> None:
    """Processors without a common figure are refused, with the figures that each has."""
    one, two = processor("one", spec_fp_one=4.0), processor("two", spec_fp_rate=40.0)
    with pytest.raises(UsageError, match=r"parts must have a figure of core work .*got one: SPEC"):
        compare_cores(one, two, [])
    with pytest.raises(
        UsageError, match=r"memory work in common \(STREAM triad, peak memory bandwidth\), got one: none"
    ):
        compare_memories(one, two, [])


def test_mixed_work_takes_the_sum_of_its_times() -> None:
    """60 % core work at factor 0.5 and 40 % memory work at 2 take 1.1 times as long; an unsure mix adds deviation."""
    kinds = {CORE: compare_cores(SLOW, FAST, []), MEMORY: compare_memories(SLOW, FAST, [])}
    stated = factor_of(Character("r", {CORE: 0.6, MEMORY: 0.4}, "as stated"), kinds)
    assert (stated.factor, stated.deviation) == pytest.approx((1.1, 0.0))
    unsure = factor_of(Character("r", {CORE: 0.6, MEMORY: 0.4}, "unknown", unsure=True), kinds)
    assert unsure.deviation == pytest.approx(MIX_DEVIATION * 1.5 / 1.1)


@given(share=st.floats(0, 1), times=st.floats(0.1, 10))
def test_a_factor_lies_between_those_of_its_kinds(share: float, times: float) -> None:
    """The factor of any mix lies between those of its kinds, and a processor compared with itself has factor 1."""
    there = processor("there", 4, spec_fp_one=4.0 * times, stream_triad=40e9)
    kinds = {CORE: compare_cores(SLOW, there, []), MEMORY: compare_memories(SLOW, there, [])}
    found = factor_of(Character("", {CORE: share, MEMORY: 1 - share}, "drawn"), kinds).factor
    low, high = sorted((1 / times, 1.0))
    assert low * (1 - 1e-12) <= found <= high * (1 + 1e-12)
    same = {CORE: compare_cores(SLOW, SLOW, []), MEMORY: compare_memories(SLOW, SLOW, [])}
    assert factor_of(Character("", {CORE: share, MEMORY: 1 - share}, "drawn"), same).factor == pytest.approx(1.0)


def test_a_node_type_says_where_its_factors_come_from() -> None:
    """The node type has factors by region with their origin, and as many processors as its sockets."""
    known = {"": Character("", {CORE: 1.0}, "as stated"), "sums": Character("sums", {MEMORY: 1.0}, "as stated")}
    node = node_by_parts("node", SLOW, Sockets(FAST, 2), known, [])
    assert {region: factor.value for region, factor in node.factors.items()} == pytest.approx(
        {"default": 0.5, "sums": 2.0}
    )
    assert (node.processors, node.compared_with) == (16, "slow")
    assert "processors: 16" in node.text()
    assert any(note.startswith("core work: factor 0.5 by SPECrate 2017 fp base, one copy 0.5") for note in node.notes)


def test_without_a_trace_the_mix_is_unknown() -> None:
    """Without a trace there is one factor for all regions, with the deviation of an unknown mix.

    Bursts respond by 0.4 to core work and by 0.5 to memory, so 4/9 at factor 0.5 and 5/9 at 2 take 4/3 times as long.
    The share of core work is uncertain by 0.25, so the factor is uncertain by 0.25 · 1.5.
    """
    node = node_by_parts("node", SLOW, Sockets(FAST), {}, [])
    assert {region: factor.value for region, factor in node.factors.items()} == pytest.approx({"default": 4 / 3})
    assert node.deviation == pytest.approx(0.25 * 1.5 / (4 / 3))


def test_the_character_of_a_region_is_stated_declared_or_unknown() -> None:
    """The mix of a region is the stated one, or unsure; 2 Gflop/s of declared work are core work, 0.1 are memory work.

    What is stated counts, whatever is declared.
    """
    trace = TraceBuilder(1, "prog.py")
    for region, flops in (("product", 2e9), ("dense", 2e9), ("sparse", 1e8), ("rest", 0.0)):
        trace[0].compute(1.0, region)
        trace.declare(0, region=region, flops=flops)
    built = trace.build()
    found = characters_of([built], ["product=core:memory=0.25"])
    assert found["product"].mix == {CORE: 0.25, MEMORY: 0.75} and not found["product"].unsure
    assert found["dense"].mix == {CORE: 1.0} and not found["dense"].unsure
    assert found["sparse"].mix == {MEMORY: 1.0} and not found["sparse"].unsure
    assert found["rest"].unsure
    # Without readings, repeated recordings add nothing.
    assert characters_of([built, built])["rest"].mix == pytest.approx(found["rest"].mix)


def test_every_two_processors_of_the_library_that_share_a_figure_compare() -> None:
    """Processors compare in both directions with reciprocal factors, and the library's figures agree moderately.

    All processors with a stated clock share it, and all with stated memory channels share their peak bandwidth.
    """
    library = [part for part in load_parts().values() if isinstance(part, Processor)]
    spread = compare_cores(library[0], library[0], library).least
    assert 0.02 < spread < 0.5
    one, two = (next(each for each in library if each.key.endswith(name)) for name in ("epyc-9654", "xeon-6737p"))
    there, back = compare_cores(one, two, library), compare_cores(two, one, library)
    assert there.factor * back.factor == pytest.approx(1.0)
    assert there.factor == pytest.approx(math.sqrt((1650 / 192) / (984 / 64) * 3.7 / 4.0))
    clocked = [part for part in library if part.boost_clock is not None]
    fed = [part for part in library if part.peak_bandwidth is not None]
    for compare, parts in ((compare_cores, clocked), (compare_memories, fed)):
        assert len(parts) > 30
        for one, two in combinations(parts, 2):
            assert compare(one, two, []).factor * compare(two, one, []).factor == pytest.approx(1.0)
