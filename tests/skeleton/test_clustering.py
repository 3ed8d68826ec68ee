"""Clusters of similar events: the paper's example, and properties of all clusters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clue.skeleton.clustering import Clusters
from clue.skeleton.events import Events
from clue.skeleton.parameters import Parameters
from clue.trace import Op, TraceBuilder
from tests.properties import examples
from tests.skeleton.programs import repeatable


def messages(*sizes: int, ranks: int = 2, dests: tuple[int, ...] = (1,)) -> Parameters:
    """Return the parameters of a program whose rank 0 sends messages of these sizes to each destination."""
    built = TraceBuilder(ranks)
    for dest in dests:
        for nbytes in sizes:
            built[0].send(dest, nbytes)
            built[dest].recv(0)
    return Parameters.of(Events.of(built.build()))


def test_similar_messages_get_their_mean() -> None:
    """The paper's example: messages of 2,000 and 1,800 B to the same rank become 1,900 B (section 4.2)."""
    parameters = messages(2000, 1800)
    assert Clusters.at(parameters, 0.0).nbytes.tolist() == [2000, 1800]
    assert Clusters.at(parameters, 0.1).nbytes.tolist() == [2000, 1800]
    assert Clusters.at(parameters, 0.15).nbytes.tolist() == [1900, 1900]


def test_messages_to_different_ranks_are_never_merged() -> None:
    """Messages to different ranks are in different clusters, and each cluster has its own mean."""
    clusters = Clusters.at(messages(2000, 1800, ranks=3, dests=(1, 2)), 0.2)
    assert clusters.of.tolist() == [0, 0, 1, 1] or clusters.of.tolist() == [1, 1, 0, 0]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((Op.BCAST, {"root": 0}), (Op.BCAST, {"root": 1})),
        ((Op.ALLREDUCE, {}), (Op.REDUCE, {})),
        ((Op.ALLREDUCE, {"element": 8}), (Op.ALLREDUCE, {"element": 4})),
        ((Op.BCAST, {"comm": 0}), (Op.BCAST, {"comm": 1})),
    ],
)
def test_collective_calls_that_differ_in_anything_else_are_never_merged(
    one: tuple[Op, dict[str, int]], other: tuple[Op, dict[str, int]]
) -> None:
    """Collective calls that differ in root, op, element size or communicator are in different clusters."""
    built = TraceBuilder(2)
    built.communicator((0, 1))
    for own in built:
        for op, said in (one, other):
            own.collective(op, 1000, **said)  # type: ignore[arg-type]
    clusters = Clusters.at(Parameters.of(Events.of(built.build())), 0.2)
    assert len(set(clusters.of.tolist())) == 2


def test_lists_of_sizes_are_averaged_entry_by_entry() -> None:
    """The sizes of an Alltoallv are averaged entry by entry, so the ranks' lists still form one matrix."""
    built = TraceBuilder(2)
    for first, second in (((100, 300), (220, 80)), ((110, 310), (200, 100))):
        built[0].collective(Op.ALLTOALLV, extras=first)
        built[1].collective(Op.ALLTOALLV, extras=second)
    parameters = Parameters.of(Events.of(built.build()))
    assert len(set(Clusters.at(parameters, 0.05).of.tolist())) == 2  # 60 of 720 bytes apart
    clusters = Clusters.at(parameters, 0.1)
    assert len(set(clusters.of.tolist())) == 1
    ops = parameters.sizes.written(parameters.events.trace.ops, clusters.nbytes)
    assert ops.extras.tolist() == [105, 305, 105, 305, 210, 90, 210, 90]


def test_entries_of_zero_stay_zero_and_lose_no_bytes() -> None:
    """Lists of 2,000 and 2,100 B with an entry of 0 and 100 B keep 4,100 B in total, and the empty entry."""
    built = TraceBuilder(2)
    for first in (0, 100):
        built[0].collective(Op.ALLTOALLV, extras=(first, 1000))
        built[1].collective(Op.ALLTOALLV, extras=(1000, 0))
    parameters = Parameters.of(Events.of(built.build()))
    clusters = Clusters.at(parameters, 0.1)
    assert len(set(clusters.of.tolist())) == 1
    ops = parameters.sizes.written(parameters.events.trace.ops, clusters.nbytes)
    assert ops.extras.tolist() == [0, 1000, 100, 1000, 1000, 0, 1000, 0]


def test_sizes_of_reductions_stay_whole_elements() -> None:
    """Sizes of reductions are whole elements: the mean of 3 and 4 elements of 1,000 B is 4; 0.3 elements become one."""
    built = TraceBuilder(2)
    for own in built:
        own.collective(Op.ALLREDUCE, 4000, element=1000)
        own.collective(Op.ALLREDUCE, 3000, element=1000)
    parameters = Parameters.of(Events.of(built.build()))
    clusters = Clusters.at(parameters, 0.3)
    assert set(clusters.nbytes.tolist()) == {4000}
    assert set(parameters.sizes.whole(clusters.nbytes * np.float64(0.075)).tolist()) == {1000}


@given(sizes=st.lists(st.integers(0, 5000), min_size=1, max_size=40), threshold=st.sampled_from([0.01, 0.05, 0.1, 0.2]))
@settings(deadline=None, max_examples=examples(100))
def test_a_cluster_is_nowhere_wider_than_the_threshold(sizes: list[int], threshold: float) -> None:
    """In a cluster, sizes differ by less than the threshold, and the order of events does not matter."""
    clusters = Clusters.at(messages(*sizes), threshold)
    found = np.array(sizes)
    for each in np.unique(clusters.of):
        mine = found[clusters.of == each]
        assert mine.max() == mine.min() or (mine.max() - mine.min()) / mine.max() < threshold
    again = Clusters.at(messages(*sizes[::-1]), threshold)
    assert sorted(again.nbytes.tolist()) == sorted(clusters.nbytes.tolist())


@given(seed=st.integers(0, 2**32), threshold=st.sampled_from([0.0, 0.02, 0.2]))
@settings(deadline=None, max_examples=examples(60))
def test_clusters_are_of_one_kind_and_keep_their_bytes(seed: int, threshold: float) -> None:
    """In any program, a cluster has one kind of event; with a threshold of 0 all sizes stay as they are."""
    parameters = Parameters.of(Events.of(repeatable(seed)))
    clusters = Clusters.at(parameters, threshold)
    for each in np.unique(clusters.of):
        assert len(set(parameters.kind[clusters.of == each].tolist())) == 1
    if threshold == 0:
        assert clusters.nbytes.tolist() == parameters.sizes.nbytes.tolist()
    assert len(np.unique(clusters.of)) <= len(np.unique(Clusters.at(parameters, 0.0).of))
