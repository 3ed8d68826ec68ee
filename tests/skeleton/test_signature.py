"""Signatures: the paper's examples as programs."""

from __future__ import annotations

import re
import string

import pytest

from clue.skeleton.clustering import Clusters
from clue.skeleton.events import Events
from clue.skeleton.parameters import Parameters
from clue.skeleton.signature import Signature, signature_of
from clue.trace import Op, TraceBuilder
from tests.structure.test_folding import BODY, WRITTEN


def signature(names: list[str], ranks: int = 1, threshold: float = 0.0) -> Signature:
    """Return the signature of broadcasts in which each name has its own size."""
    known = list(dict.fromkeys(names))
    built = TraceBuilder(ranks)
    for own in built:
        for name in names:
            own.compute(0.001)
            own.collective(Op.BCAST, 1000 * (1 + known.index(name)))
    parameters = Parameters.of(Events.of(built.build()))
    return folded(parameters, threshold)


def folded(parameters: Parameters, threshold: float = 0.0) -> Signature:
    """Return the signature of events, of any length."""
    found = signature_of(parameters.events, Clusters.at(parameters, threshold))
    assert found is not None
    return found


def test_the_papers_example() -> None:
    """``a b b g b b g b b g k a a`` becomes ``a [(b)^2 g]^3 k [a]^2``: 13 events in 5 symbols, on every rank."""
    found = signature(list("abbgbbgbbgkaa"), ranks=2)
    assert str(found) == found.written(1) == "a [(b)^2 c]^3 d (a)^2"
    assert found.legend()["c"] == "Bcast(0, 3 KB)"
    assert (found.length, found.symbols, found.ratio) == (26, 10, 2.6)


def test_bt_class_s() -> None:
    """The paper's signature of BT class S: 2,278 calls of 26 kinds in 62 symbols."""
    body = BODY.split()
    calls = ["M4", "M5", "M6", *body, "M2", *(body * 60), "M1", *body[:13], "M1", "M3", "M2"]
    found = signature(calls)
    start = "(P1)^2 (P7)^2 (P4)^2 (P10)^2 (P16)^2 (P13)^2 O2"
    letters = dict(zip(dict.fromkeys(calls), [*string.ascii_lowercase], strict=True))
    written = f"M4 M5 M6 {WRITTEN} M2 [{WRITTEN}]^60 M1 {start} M1 M3 M2"
    assert str(found) == re.sub(r"[MPO][0-9]+", lambda name: letters[name.group()], written)
    assert (found.length, found.symbols) == (2278, 3 + 25 + 1 + 25 + 1 + 7 + 3)


def test_similar_sizes_are_one_symbol() -> None:
    """With a threshold of 0.6, sizes of 1,000 and 2,000 B become the same symbol."""
    assert str(signature(list("abababc"), threshold=0.0)) == "[a b]^3 c"
    assert str(signature(list("abababc"), threshold=0.6)) == "(a)^6 b"


def test_waits_are_told_apart_by_how_many_they_are_for() -> None:
    """Waits are distinguished by their number of requests, not by the requests, as in the paper."""
    built = TraceBuilder(2)
    for rank, own in enumerate(built):
        for nbytes in (1000, 2000):
            own.wait(own.irecv(1 - rank))
            own.wait(own.isend(1 - rank, nbytes))
        own.wait(own.irecv(1 - rank), own.isend(1 - rank, 1000))
    parameters = Parameters.of(Events.of(built.build()))
    found = folded(parameters)
    assert str(found) == "a b c b d b e b a c f"


def test_a_program_without_events_has_a_signature() -> None:
    """A program without events has an empty signature with a ratio of 1."""
    built = TraceBuilder(2)
    built[0].compute(1.0)
    parameters = Parameters.of(Events.of(built.build()))
    found = folded(parameters)
    assert (str(found), found.ratio) == ("", pytest.approx(1.0))


def test_a_signature_that_is_too_long_is_not_made() -> None:
    """A signature of 26 different events is refused with a maximum of 25 symbols, and made with 26."""
    built = TraceBuilder(1)
    for i in range(26):
        built[0].collective(Op.BCAST, 1000 * i)
    parameters = Parameters.of(Events.of(built.build()))
    clusters = Clusters.at(parameters, 0.0)
    assert signature_of(parameters.events, clusters, 25) is None
    assert signature_of(parameters.events, clusters, 26) is not None


def broadcasts(sizes: list[int]) -> Parameters:
    """Return the parameters of broadcasts of these sizes on one rank."""
    built = TraceBuilder(1)
    for nbytes in sizes:
        built[0].collective(Op.BCAST, nbytes)
    return Parameters.of(Events.of(built.build()))


@pytest.mark.parametrize(
    "sizes",
    [
        # An eighth of the events is one and a half of 12 iterations: 60 symbols without a loop.
        list(range(1, 41)) * 12,
        # An eighth is two of 21 outer iterations and two and a half inner ones: 41 + 40 + 20 symbols.
        [*(list(range(1, 41)) * 4), 41] * 21,
    ],
    ids=["loop", "nest"],
)
def test_a_part_that_ends_within_an_iteration_does_not_condemn_the_whole(sizes: list[int]) -> None:
    """Loops of 40 and 41 different events are found with a maximum of a few more symbols than that."""
    parameters = broadcasts(sizes)
    clusters = Clusters.at(parameters, 0.0)
    found = signature_of(parameters.events, clusters, max(sizes) + 8)
    assert found is not None
    assert found.symbols == max(sizes)
