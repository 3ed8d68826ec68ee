"""Models of kinds of processors: recovered closed forms, bins, composition, adjustment."""

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

from clue.errors import ModelError
from clue.models import Composition, Footprint, Method, Run, Term, Use, fit_cluster
from clue.models.cluster import Configuration, ranks_of

SIZES = (400.0, 800.0, 1600.0, 3200.0)
SLOW = {"slow": Use(1)}


def ta(size: float, ranks: int) -> float:
    """Return the computation time of a P-T model: W(n)/P."""
    return (2e-9 * size**3 + 1e-6 * size**2 + 1e-4 * size + 0.1) / ranks


def tc(size: float, ranks: int) -> float:
    """Return the communication time of a P-T model: P C(n) + 2 C(n)/P, or none on one rank."""
    return (ranks + 2 / ranks) * 1e-7 * size**2 if ranks > 1 else 0.0


def run(size: float, uses: Configuration, speed: float = 1.0, *, parts: bool = True, off: float = 1.0) -> Run:
    """Return a run on processors of a speed whose processes share the work equally."""
    ranks = ranks_of(uses)
    of = {"compute": ta(size, ranks) / speed * off, "communicate": tc(size, ranks) * off}
    return Run(size, uses, sum(of.values()), of if parts else {})


def runs(kind: str, processors: Iterable[int], speed: float = 1.0, *, parts: bool = True) -> list[Run]:
    """Return runs of all sizes on these numbers of processors, with one process each."""
    return [run(size, {kind: Use(p)}, speed, parts=parts) for p in processors for size in SIZES]


@pytest.mark.parametrize("plain", [True, False])
def test_n_t_and_p_t_models_get_back_what_they_are_made_of(plain: bool) -> None:
    """One processor has an N-T model, several have a P-T model: both are exact at new sizes and numbers of ranks."""
    model = fit_cluster(runs("slow", range(1, 6)), Method(plain=plain))
    alone, together = model.kinds["slow"]
    assert (alone.ranks, together.ranks) == (1, None)
    for size, ranks in ((1000.0, 1), (1000.0, 3), (6400.0, 8)):
        said = model.predict(size, {"slow": Use(ranks)})
        assert said.seconds == pytest.approx(ta(size, ranks) + tc(size, ranks), rel=1e-6)
        assert said.inside == (ranks < 6 and size < 6000)
    assert model.domain == {"n": (400, 3200), "P": (1, 5)}


def test_the_papers_p_t_model_in_its_terms() -> None:
    """Products of N-T models with P and 1/P are sums of terms: W/P is n^3/P + n^2/P + n/P + 1/P."""
    model = fit_cluster(runs("slow", range(1, 6)), Method(plain=True))
    compute = model.kinds["slow"][1].parts["compute"]
    assert list(map(str, compute.terms)) == ["n^3/P", "n^2/P", "n/P", "1/P", "1"]
    assert compute.statistics.errors.largest < 1e-6
    communicate = model.kinds["slow"][1].parts["communicate"]
    assert list(map(str, communicate.terms)) == ["n^2 P", "n P", "P", "n^2/P", "n/P", "1/P", "1"]


def test_times_without_parts() -> None:
    """Runs without parts are fitted as whole times."""
    model = fit_cluster(runs("slow", range(1, 6), parts=False))
    said = model.predict(2000.0, {"slow": Use(4)})
    assert said.seconds == pytest.approx(ta(2000.0, 4) + tc(2000.0, 4), rel=0.02)
    assert set(model.kinds["slow"][0].parts) == {"time"}


def test_n_t_models_alone() -> None:
    """The form nt has a model for each measured number of ranks, and refuses others."""
    model = fit_cluster(runs("slow", (1, 2, 4)), Method("nt"))
    assert [each.ranks for each in model.kinds["slow"]] == [1, 2, 4]
    assert model.predict(1000.0, {"slow": Use(2)}).seconds == pytest.approx(ta(1000, 2) + tc(1000, 2))
    with pytest.raises(ModelError, match=r"slow: ranks must be among those fitted \(1, 2, 4\), got 3"):
        model.predict(1000.0, {"slow": Use(3)})


def test_a_p_t_model_alone_says_above_which_ranks_it_holds() -> None:
    """Fitted to 2, 3 and 4 ranks of one process each, a model has no time for one rank; with runs on 1, it has."""
    with pytest.raises(ModelError, match=r"slow: ranks must be above the processes per processor \(1\), got 1$"):
        fit_cluster(runs("slow", (2, 3, 4))).predict(1000.0, {"slow": Use(1)})
    model = fit_cluster(runs("slow", (1, 2, 3, 4)))
    assert model.predict(1000.0, {"slow": Use(1)}).seconds == pytest.approx(ta(1000, 1) + tc(1000, 1))


def test_composition_scales_another_kinds_models() -> None:
    """A single fast processor borrows P-T models: 0.27 of the slow computation and 0.85 of its communication."""
    measured = [*runs("slow", range(1, 6)), *runs("fast", (1,), speed=4.0)]
    both = {"fast": Use(1), "slow": Use(3)}
    with pytest.raises(
        ModelError, match=r"fast: ranks must be among those fitted \(1\), got 4: measure at three or more"
    ):
        fit_cluster(measured).predict(1000.0, both)
    composed = fit_cluster(measured, compositions={"fast": Composition("slow", {"compute": 0.27, "communicate": 0.85})})
    fast = composed.told("fast", 1, 1000.0, np.array([1.0, 4.0])).seconds
    assert fast == pytest.approx([ta(1000, 1) / 4, 0.27 * ta(1000, 4) + 0.85 * tc(1000, 4)], rel=1e-6)
    said = composed.predict(1000.0, both)
    assert said.seconds == pytest.approx(ta(1000, 4) + tc(1000, 4), rel=1e-6)
    assert said.slowest == "slow"
    assert [each.composed for each in composed.kinds["fast"]] == ["", "slow"]


def test_a_measured_factor_is_uncertain() -> None:
    """A factor is the ratio of two fits on one processor at the largest size, whose relative variances add to its own.

    They add to that of the scaled model. A stated factor has none.
    """
    measured = [
        replace(each, parts={part: seconds * (1.05 if i % 3 else 0.95) for part, seconds in each.parts.items()})
        for i, each in enumerate([*runs("slow", range(1, 6)), *runs("fast", (1,), speed=4.0)])
    ]

    def deviations(factors: dict[str, float]) -> tuple[float, float, float]:
        model = fit_cluster(measured, compositions={"fast": Composition("slow", factors)})
        alone, together = (each.parts["compute"] for each in model.kinds["slow"])
        own, scaled = (each.parts["compute"] for each in model.kinds["fast"])
        terms = np.array([SIZES[-1] ** power for power in (3, 2, 1, 0)])
        shares = [terms @ fit.statistics.covariance @ terms / (terms @ fit.coefficients) ** 2 for fit in (alone, own)]
        return together.statistics.deviation, scaled.statistics.deviation, sum(shares)

    source, scaled, variance = deviations({"communicate": 1.0})
    assert variance > 1e-4
    assert scaled**2 == pytest.approx(source**2 + variance)
    source, scaled, _ = deviations({"compute": 0.25, "communicate": 1.0})
    assert scaled == source


def test_compositions_do_not_depend_on_their_order() -> None:
    """The new kind takes models of the fast one, which takes them of the slow one: an eighth of its computation.

    If two kinds take models of each other, each has the numbers of ranks of both.
    """
    measured = [*runs("slow", range(1, 6)), *runs("fast", (1,), speed=4.0), *runs("new", (1,), speed=8.0)]
    chain = {
        "new": Composition("fast", {"compute": 0.5, "communicate": 1.0}),
        "fast": Composition("slow", {"compute": 0.25, "communicate": 0.5}),
    }
    for given in (chain, dict(reversed(chain.items()))):
        new = fit_cluster(measured, compositions=given).told("new", 1, 1000.0, np.array([1.0, 4.0])).seconds
        assert new == pytest.approx([ta(1000, 1) / 8, ta(1000, 4) / 8 + 0.5 * tc(1000, 4)], rel=1e-6)
    each_other = {
        "slow": Composition("fast", {"compute": 4.0, "communicate": 1.0}),
        "fast": Composition("slow", {"compute": 0.25, "communicate": 1.0}),
    }
    for given in (each_other, dict(reversed(each_other.items()))):
        model = fit_cluster([*runs("slow", (1, 4)), *runs("fast", (1, 2), speed=4.0)], compositions=given)
        assert [sorted(each.ranks or 0 for each in bins) for bins in model.kinds.values()] == [[1, 2, 4]] * 2


@pytest.mark.parametrize("memory", [{"fast": 1e9, "slow": 5e8}, {"slow": 5e8}, {"fast": 1e9}, {}])
def test_a_kind_keeps_its_own_models_and_memory(memory: dict[str, float]) -> None:
    """What was measured on the fast kind stays, whatever the memory of both; borrowed models have its own memory."""
    measured = [*runs("slow", range(1, 6)), *runs("fast", (1,), speed=4.0)]
    factors = {"fast": Composition("slow", {"compute": 0.27, "communicate": 0.85})}
    footprint = Footprint(8.0, Term.parse("n^2/P"))
    model = fit_cluster(measured, footprint=footprint, memory=memory, compositions=factors)
    assert model.predict(1000.0, {"fast": Use(1)}).seconds == pytest.approx(ta(1000, 1) / 4, rel=1e-6)
    assert {each.memory for each in model.kinds["fast"]} == {(0.0, memory.get("fast", math.inf))}


def test_a_model_for_any_number_of_ranks_is_replaced_for_none() -> None:
    """The fast kind was measured on one to five processors, the slow one on one and four: nothing is borrowed.

    On four processors the fast kind takes a quarter of the slow one's computation, as measured, not half as stated.
    """
    measured = [*runs("fast", range(1, 6), speed=4.0), *runs("slow", (1, 4))]
    model = fit_cluster(measured, compositions={"fast": Composition("slow", {"compute": 0.5, "communicate": 1.0})})
    fast = model.told("fast", 1, 1000.0, np.array([3.0, 4.0])).seconds
    assert fast == pytest.approx([ta(1000, p) / 4 + tc(1000, p) for p in (3, 4)], rel=1e-4)


def test_a_factor_that_is_not_given_is_the_ratio_on_one_processor() -> None:
    """The fast kind computes four times as fast alone; one rank does not communicate, so that factor must be given."""
    measured = [*runs("slow", range(1, 6)), *runs("fast", (1,), speed=4.0)]
    composed = fit_cluster(measured, compositions={"fast": Composition("slow", {"communicate": 1.0})})
    fast = composed.told("fast", 1, 1000.0, np.array([4.0])).seconds
    assert fast == pytest.approx([ta(1000, 4) / 4 + tc(1000, 4)], rel=1e-4)
    with pytest.raises(ModelError, match="composition: factor of communicate must be given"):
        fit_cluster(measured, compositions={"fast": Composition("slow")})


def test_a_factor_compares_models_within_memory() -> None:
    """The slow kind takes ten times as long beyond its memory; within it, the fast kind is four times as fast."""
    beyond = [run(size, SLOW, off=10.0) for size in (12000.0, 14000.0, 16000.0, 20000.0)]
    measured = [*runs("slow", range(1, 6)), *beyond, *runs("fast", (1,), speed=4.0)]
    composed = fit_cluster(
        measured,
        footprint=Footprint(8.0, Term.parse("n^2/P")),
        memory={"slow": 1e9},
        compositions={"fast": Composition("slow", {"communicate": 1.0})},
    )
    fast = composed.told("fast", 1, 1000.0, np.array([4.0])).seconds
    assert fast == pytest.approx([ta(1000, 4) / 4 + tc(1000, 4)], rel=1e-4)


def test_a_factor_of_what_was_not_measured_is_refused() -> None:
    """Whole times have one factor: that of communication would have no effect."""
    measured = [*runs("slow", range(1, 6), parts=False), *runs("fast", (1,), speed=4.0, parts=False)]
    both = {"compute": 0.25, "communicate": 1.0}
    said = r"composition: factors must be of parts that all runs have \(time\), got one of communicate"
    with pytest.raises(ModelError, match=said):
        fit_cluster(measured, compositions={"fast": Composition("slow", {**both, "time": 0.25})})
    composed = fit_cluster(measured, compositions={"fast": Composition("slow", {"time": 0.25})})
    slow, fast = (composed.told(kind, 1, 1000.0, np.array([4.0])).seconds for kind in ("slow", "fast"))
    assert fast == pytest.approx(slow / 4)


def test_an_adjustment_by_runs_on_both_kinds() -> None:
    """If mixed runs take a fifth longer than predicted, predictions with a process on the fast processor grow alike."""
    measured = [*runs("slow", range(1, 6)), *runs("fast", range(1, 6), speed=4.0)]
    both = {"fast": Use(1), "slow": Use(3)}
    model = fit_cluster([*measured, run(3200.0, both, off=1.2)], adjusted="fast")
    assert model.predict(1000.0, both).seconds == pytest.approx(1.2 * (ta(1000, 4) + tc(1000, 4)), rel=1e-6)
    assert model.predict(1000.0, {"slow": Use(3)}).seconds == pytest.approx(ta(1000, 3) + tc(1000, 3), rel=1e-6)
    lines = [run(size, both, off=1.2) for size in SIZES]
    lines = [Run(each.size, each.uses, each.seconds + 0.5, each.parts) for each in lines]
    by = fit_cluster([*measured, *lines], adjusted="fast").adjustments[1]
    assert (by.factor, by.offset) == pytest.approx((1.2, 0.5), rel=1e-4)
    with pytest.raises(ModelError, match="fast: runs on several kinds of processors must be measured to adjust by"):
        fit_cluster(measured, adjusted="fast")


def test_an_adjustment_takes_predictions_below_0_as_0() -> None:
    """A plain cubic through (n - 10)^3 + 1 s is 1001 s at n = 20, where 2002 s were measured, and -124 s at n = 5.

    So the factor is 2, whatever was measured at n = 5; runs at n = 5 alone tell no factor.
    """
    both = {"fast": Use(1), "slow": Use(1)}
    measured = [Run(n, {kind: Use(2)}, (n - 10) ** 3 + 1.0) for kind in both for n in np.arange(10.0, 18.0).tolist()]
    short, long = Run(5.0, both, 2.0), Run(20.0, both, 2002.0)
    model = fit_cluster([*measured, short, long], Method(plain=True), adjusted="fast")
    assert model.adjustments[1].factor == pytest.approx(2, rel=1e-3)
    said = "fast, 1 per processor: predictions of the runs to adjust by must be above 0, got none: fit without --plain"
    with pytest.raises(ModelError, match=said):
        fit_cluster([*measured, short], Method(plain=True), adjusted="fast")


def test_a_line_begins_at_predictions_of_0() -> None:
    """A plain cubic through (n - 10)^3 + 1 s is -124, 1001 and 8001 s at n = 5, 20 and 30: 0, 1001 and 8001 s.

    2, 2004 and 16004 s were measured, so the line is 2 s + 2 × what models say: 2 s at n = 5.
    """
    both = {"fast": Use(1), "slow": Use(1)}
    measured = [Run(n, {kind: Use(2)}, (n - 10) ** 3 + 1.0) for kind in both for n in np.arange(10.0, 18.0).tolist()]
    mixed = [Run(5.0, both, 2.0), Run(20.0, both, 2004.0), Run(30.0, both, 16004.0)]
    model = fit_cluster([*measured, *mixed], Method(plain=True), adjusted="fast")
    line = model.adjustments[1]
    assert (line.factor, line.offset) == pytest.approx((2, 2), rel=1e-3)
    for each in mixed:
        assert model.predict(each.size, both).seconds == pytest.approx(each.seconds, rel=1e-3)


def test_what_needs_more_memory_than_there_is_has_a_model_of_its_own() -> None:
    """Beyond 1 GB for 8 n^2 bytes, from n = 11181 on, runs take ten times as long and have their own model."""
    sizes = (2000.0, 4000.0, 8000.0, 11000.0, 12000.0, 14000.0, 16000.0, 20000.0)
    measured = [Run(size, SLOW, ta(size, 1) * (1 if 8 * size**2 <= 1e9 else 10)) for size in sizes]
    footprint = Footprint(8.0, Term.parse("n^2/P"))
    model = fit_cluster(measured, footprint=footprint, memory={"slow": 1e9})
    small, large = (model.predict(size, SLOW) for size in (10000.0, 13000.0))
    assert small.seconds == pytest.approx(ta(10000, 1), rel=1e-4)
    assert large.seconds == pytest.approx(10 * ta(13000, 1), rel=1e-4)
    within = fit_cluster(measured[:4], footprint=footprint, memory={"slow": 1e9})
    with pytest.raises(ModelError, match="slow: memory must be within what was fitted, got more"):
        within.predict(13000.0, SLOW)
    beyond = fit_cluster(measured[4:], footprint=footprint, memory={"slow": 1e9})
    with pytest.raises(ModelError, match="slow: memory must be within what was fitted, got less"):
        beyond.predict(10000.0, SLOW)


def test_a_part_counts_as_much_as_it_takes_of_a_run() -> None:
    """Two ranks share a node and wait for 1 ms, more ranks for 0.3 s: the fit follows the larger share.

    Relative to the part itself, a fit that is 0.3 s off on two ranks would be 300 times too long, so two ranks would
    dominate.
    """
    waits = {2: 0.001, 4: 0.3, 6: 0.3, 8: 0.3}
    parts = {(n, p): {"compute": n / p, "communicate": of} for n in (1.0, 2.0, 3.0, 4.0) for p, of in waits.items()}
    model = fit_cluster([Run(n, {"slow": Use(p)}, sum(each.values()), each) for (n, p), each in parts.items()])
    for p in (4, 6, 8):
        said = model.predict(3.0, {"slow": Use(p)})
        assert said.seconds == pytest.approx(3 / p + 0.3, rel=0.25)


@pytest.mark.parametrize("repeats", [1, 10])
def test_an_interval_is_that_of_a_run_and_not_of_the_median_of_repeats(repeats: int) -> None:
    """Medians of 0.9, 1 and 1.1 times n^3 follow n^3, but runs deviate from them; a disturbed point has no effect.

    Parts of a third and two thirds share the variance of a run, so their sum has the same interval.
    """
    whole = [Run(n, {"": Use(1)}, by * n**3) for n in (1, 2, 4, 8, 16) for by in (0.9, 1.0, 1.1) * repeats]
    disturbed = [replace(run, seconds=9 * run.seconds) if run.seconds > 4500 else run for run in whole]
    split = [replace(run, parts={"region:r": run.size**3 / 3}) for run in whole]
    for runs in (whole, disturbed, split):
        found = fit_cluster(runs, Method("nt")).predict(8, {"": Use(1)})
        assert found.seconds == pytest.approx(512)
        off = 0.1 * math.sqrt(2 * repeats / (3 * repeats - 1))
        assert math.log(found.high / found.seconds) == pytest.approx(1.2815515655 * off)


def test_repeats_count_by_their_median() -> None:
    """A disturbed run has no effect beside two undisturbed ones."""
    measured = runs("slow", (1,))
    disturbed = [run(800.0, SLOW), run(800.0, SLOW, off=9.0)]
    model = fit_cluster([*measured, *disturbed])
    assert model.predict(800.0, SLOW).seconds == pytest.approx(ta(800, 1), rel=1e-6)


@pytest.mark.parametrize(
    ("measured", "fault"),
    [
        ([], "runs: at least one must be given, got none"),
        (
            [run(800.0, {"slow": Use(1), "fast": Use(1)})],
            "runs: at least one must be on one kind of processor, got none",
        ),
        (
            [run(size, SLOW) for size in SIZES[:3]],
            "slow, 1 per processor: points: at least 4 must be measured for the terms n^3, n^2, n, 1, got 3",
        ),
        ([Run(800.0, SLOW, 1.0)] * 4, "slow, 1 per processor: points: at least 4 must be measured"),
        (
            [Run(size, SLOW, -1.0) for size in SIZES],
            "slow, 1 per processor: seconds: values must be finite and at least",
        ),
        (
            [Run(size, SLOW, 1.0, {"region:solve": 1.1}) for size in SIZES],
            "slow, 1 per processor: seconds: values must be finite and at least",
        ),
    ],
)
def test_bad_runs(measured: list[Run], fault: str) -> None:
    """Runs that cannot be fitted raise an error that names the kind."""
    with pytest.raises(ModelError) as error:
        fit_cluster(measured)
    assert str(error.value).startswith(fault)


def test_each_number_of_ranks_with_too_few_runs_is_told() -> None:
    """Three sizes on 1 and on 4 ranks, five on 2, are too few for 1 and 4; above 1 there are only two numbers."""
    sizes = {1: (400, 800, 1600), 2: (400, 800, 1600, 3200, 6400), 4: (400, 800, 1600)}
    few = [Run(float(n), {"slow": Use(p)}, 1.0 + n) for p, of in sizes.items() for n in of]
    with pytest.raises(ModelError) as error:
        fit_cluster(few)
    rule = "points: at least 4 must be measured for the terms n^3, n^2, n, 1, got 3"
    assert list(error.value.faults) == [f"slow, 1 per processor on {of}: {rule}" for of in ("1 rank", "4 ranks")]


def test_bad_names_and_questions() -> None:
    """Kinds that were not measured and configurations without a model are refused."""
    model = fit_cluster(runs("slow", range(1, 6)))
    with pytest.raises(ModelError, match=r"kind must be one that was measured \(slow\), got fast"):
        fit_cluster(runs("slow", (1,)), adjusted="fast")
    with pytest.raises(ModelError, match=r"kind must be one that was measured \(slow\), got solw"):
        fit_cluster(runs("slow", (1,)), footprint=Footprint(8.0, Term.parse("n^2/P")), memory={"solw": 1e9})
    with pytest.raises(ModelError, match=r"processors must be of a kind that was fitted \(slow\), got gpu"):
        model.predict(1000.0, {"gpu": Use(1)})
    with pytest.raises(ModelError, match=r"slow: processes per processor must be among those fitted \(1\), got 2"):
        model.predict(1000.0, {"slow": Use(1, 2)})
    with pytest.raises(ModelError, match="configuration must use processors, got none"):
        model.predict(1000.0, {})
    assert model.predict(1e6, {"slow": Use(2)}).high < math.inf
