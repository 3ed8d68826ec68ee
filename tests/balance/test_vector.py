"""The relative performance vector from times, models, machines and finished work."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clue.balance import factors_on, relative_performance, remeasured, vector_at
from clue.config import load_machine
from clue.errors import UsageError
from clue.machine import Curve, Link, Machine, Network, NodeType
from clue.models import fit_terms

TIMES = st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=20)


def pgf_intel(n: float, p: int) -> float:
    """Return the seconds of the particle program on intel nodes: PEMPIs-Het, equation 13 with columns of Table 2."""
    c1, c2, c3 = {
        2: (-1.125736, 0.000073, 3.206325e-7),
        3: (5.790233, -0.000157, 2.163252e-7),
        4: (8.578502, -0.000247, 1.640802e-7),
    }[p]
    return c3 / p * n**2 + c2 / p * n + c1 / p


def two_kinds() -> Machine:
    """Return a machine of one fast node and two slow dual-processor nodes, which become busy at 10 s."""
    delay = Curve.line(1e-6)
    link = Link(delay, delay)
    fast = NodeType("fast", performance_factors={"product": 0.5})
    slow = NodeType("slow", processors=2, performance_factor=4.0, performance_factors={"product": 2.0})
    machine = Machine("two-kinds", (fast, slow, slow), Network(link, link))
    busy = replace(slow, background_load=3.0, memory_contention={2: {"product": 0.5}})
    return replace(machine, changes=((10.0, replace(machine, nodes=(fast, busy, busy))),))


def test_the_slowest_has_one_and_the_others_their_multiple() -> None:
    """Times of 12, 6 and 4 s are relative performances of 1, 2 and 3, also in an array."""
    assert relative_performance([12, 6, 4]) == (1, 2, 3)
    assert relative_performance(np.array([12.0, 6.0, 4.0])) == (1, 2, 3)  # type: ignore[arg-type]


def test_models_are_asked_at_the_size_at_hand() -> None:
    """With linear and quadratic times, the vector depends on the size: equal at n = 1, ratio 10 at n = 10."""
    models = [lambda n, p: n * n / p, lambda n, p: n / p]
    assert vector_at(models, 1, 4) == (1, 1)
    assert vector_at(models, 10, 4) == (1, 10)


def test_a_published_model_gives_the_vector_of_two_groups() -> None:
    """PGF on 2 and on 4 intel nodes, n = 10 000 (PEMPIs-Het, Table 2), takes 15.83 s and 5.63 s."""
    vector = vector_at([lambda n, _: pgf_intel(n, 2), lambda n, _: pgf_intel(n, 4)], 10_000, 6)
    slow = (32.06325 + 0.73 - 1.125736) / 2
    fast = (16.40802 - 2.47 + 8.578502) / 4
    assert vector == pytest.approx((1, slow / fast), rel=1e-12)


def test_factors_of_a_machine_by_region_and_load() -> None:
    """From 10 s on, three tasks and a rank on two processors halve the speed, and memory contention halves it again."""
    machine = two_kinds()
    assert factors_on(machine, [0, 1, 2], "product") == (0.5, 2, 2)
    assert factors_on(machine, [1, 0]) == (4, 1)
    assert factors_on(machine, [0, 1], "product", time=10) == (0.5, 8)
    assert factors_on(machine, [1], "", time=10) == (8,)
    assert relative_performance(factors_on(machine, [0, 1], "product", time=9.9)) == (4, 1)


@pytest.mark.parametrize("node", [-1, 3])
def test_a_node_that_does_not_exist_is_refused(node: int) -> None:
    """A machine of three nodes has no node 3, and none before node 0."""
    with pytest.raises(UsageError, match=f"node of rank 1 must be from 0 to 2, got {node}"):
        factors_on(two_kinds(), [0, node])


def test_measuring_anew_takes_what_was_done() -> None:
    """One unit in 4 s against eight in 4 s means eight times the speed, whatever was assumed before."""
    assert remeasured([1, 3], [1, 8], [4, 4]) == (1, 8)


def test_who_did_nothing_keeps_its_place() -> None:
    """A rank without work keeps its ratio to the others: 1, 2, 4 with measured speeds 2 and 4 gives 1 to the first."""
    assert remeasured([1, 2, 4], [0, 6, 12], [0, 3, 3]) == (1, 2, 4)
    assert remeasured([1, 2, 4], [0, 0, 0], [0, 0, 0]) == (1, 2, 4)


def test_vectors_of_other_lengths_are_refused() -> None:
    """Three processors with the work of two are a mistake."""
    with pytest.raises(UsageError, match="must have an entry for each processor, got 3, 2 and 2"):
        remeasured([1, 2, 4], [6, 12], [3, 3])


@pytest.mark.parametrize(("vector", "done"), [([1, 0], [1, 0]), ([0, 1], [1, 0]), ([1, -1], [0, 0])])
def test_entries_of_a_vector_must_be_positive(vector: list[float], done: list[float]) -> None:
    """A vector with a 0 is refused, whether that processor has worked or not."""
    with pytest.raises(UsageError, match="balance: relative performances must be one or more numbers > 0, got"):
        remeasured(vector, done, done)


@pytest.mark.parametrize("times", [[], [1, 0], [-1], [float("inf")], [float("nan")]])
def test_times_must_be_positive(times: list[float]) -> None:
    """An empty list of times, and times that are not positive and finite, are refused."""
    with pytest.raises(UsageError, match="balance: times must be one or more numbers > 0, got"):
        relative_performance(times)


@given(TIMES)
def test_the_smallest_entry_is_one(times: list[float]) -> None:
    """The smallest entry of the vector is 1."""
    assert min(relative_performance(times)) == 1


@given(TIMES, st.floats(0.001, 1000))
def test_measuring_what_was_believed_changes_nothing(times: list[float], unit: float) -> None:
    """If all ranks finish their shares in the same time, the vector stays the same."""
    vector = relative_performance(times)
    again = remeasured(vector, [unit * phi for phi in vector], [unit] * len(vector))
    assert again == pytest.approx(vector, rel=1e-9)


def test_fitted_times_are_performance_models() -> None:
    """Fitted times are models: n^2/P seconds and a third of that give the vector (1, 3)."""
    sizes, processors = [1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 1.0, 2.0]
    seconds = [n**2 / p for n, p in zip(sizes, processors, strict=True)]
    slow = fit_terms({"n": sizes, "P": processors}, seconds, ["n^2/P"])
    assert vector_at([slow, slow.scaled(1 / 3)], 10, 4) == pytest.approx((1, 3))


@pytest.mark.parametrize("wrong", [-5, float("inf"), float("nan")])
def test_work_and_time_are_not_negative(wrong: float) -> None:
    """Negative work counted as no work, and endless work made a processor's time 0."""
    with pytest.raises(UsageError, match=r"balance: done must be finite numbers of at least 0, got \["):
        remeasured([1, 2], [wrong, 1], [1, 1])
    with pytest.raises(UsageError, match=r"balance: seconds must be finite numbers of at least 0, got \["):
        remeasured([1, 2], [1, 1], [1, wrong])


def test_what_factors_cannot_be_asked_for() -> None:
    """Half a node, a time that is no number, and a host without speed are refused."""
    machine = load_machine("two-hosts")
    with pytest.raises(UsageError, match=r"balance: node must be a whole number, got 0\.5$"):
        factors_on(machine, [0.5])  # type: ignore[list-item]
    with pytest.raises(UsageError, match=r"balance: times must be finite numbers of at least 0, got \[nan\]$"):
        factors_on(machine, [0], time=float("nan"))
    with pytest.raises(UsageError, match=r"balance: host speed of region 'lu' must be a number > 0, got 0$"):
        factors_on(machine, [0], host_speeds={"lu": 0})
