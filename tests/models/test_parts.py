"""Models composed of a program's parts: the numbers of ranks for which they hold."""

from __future__ import annotations

import math

import numpy as np
import pytest

from clue.models import Series, Staged, Term
from clue.models.parts import Part, ProgramModel, Repeated, Runs, doubts
from clue.report.model.program_document import program_model_document


def gravity(ranks: tuple[int, ...], node_ranks: int) -> ProgramModel:
    """Return a model of a program whose messages cost 1 ms within a node and 1 s between nodes."""
    at = [(float(n), float(p)) for p in ranks for n in (100, 200, 300)]
    parts = (
        Part("forces", tuple(n**2 / p * 1e-4 for n, p in at)),
        Part("Bcast", tuple(0.001 if p <= node_ranks else 1.0 for _, p in at)),
    )
    runs = Runs(tuple(n for n, _ in at), tuple(p for _, p in at), parts)
    return ProgramModel("gravity", "plausible", "bio", "gravity-{size}-{ranks}.clue", "", runs, node_ranks=node_ranks)


@pytest.mark.parametrize(
    ("measured", "node_ranks", "asked", "said"),
    [
        ((2, 4, 8), 2, 6, "messages of 2 ranks stay within a node and those of 4, 8 ranks do not"),
        ((2, 3, 4), 4, 3, ""),
        ((2, 4), 4, 3, ""),
        ((2, 4), 4, 8, "ranks must be within one node to be inside what was fitted, got 8 on several nodes"),
        ((4, 8), 3, 2, "ranks must be on several nodes to be inside what was fitted, got 2 within one node"),
        ((1, 4, 8), 2, 6, ""),
        ((2, 4, 8), 2, 1, ""),
        ((2, 4, 8), 2, 4, ""),
        ((2, 4, 8), 0, 6, ""),
    ],
)
def test_messages_within_nodes_say_nothing_of_those_between(
    measured: tuple[int, ...], node_ranks: int, asked: int, said: str
) -> None:
    """Measured numbers of ranks are inside; others only if all runs had messages of the same kind."""
    model = gravity(measured, node_ranks)
    told = [each for each in model.outside(200, asked) if "node" in each]
    assert len(told) == bool(said)
    assert all(each.startswith(said) for each in told)
    assert not (told and model.predict(200, asked).inside)


def test_sizes_and_ranks_are_outside_though_a_term_is_inside() -> None:
    """Times grow as n²/P: twice the largest size on twice the ranks has a measured n²/P, but n and P are outside."""
    at = [(float(n), float(p)) for p in (1, 2, 4, 8) for n in (100, 200, 400, 800)]
    part = Part("work", tuple(1e-6 * n**2 / p for n, p in at))
    runs = Runs(tuple(n for n, _ in at), tuple(p for _, p in at), (part,))
    model = ProgramModel("work", "plausible", "bio", "w-{size}-{ranks}.clue", "", runs)
    assert model.outside(800, 8) == () and model.predict(800, 8).inside
    assert [each.split()[0] for each in model.outside(1600, 16)] == ["n", "P"]
    assert not model.predict(1600, 16).inside


def test_runs_that_never_enter_a_loop_do_not_tell_what_an_iteration_takes() -> None:
    """A master takes 0.5 s, and serves each of P - 1 workers three times for n ms: 6.5 s at n = 200 on 11 ranks.

    A single rank has no workers. It was recorded, too, and takes 0.5 s; so the stated domain begins with it.
    """
    at = [(float(n), float(p)) for p in (1, 2, 3, 4) for n in (100, 200, 300)]
    serves = Part("Recv", tuple(1e-3 * n if p > 1 else 0.0 for n, p in at))
    thrice = Repeated("loop", tuple(3.0 if p > 1 else 0.0 for _, p in at), (serves,))
    parts = (Part("begin", (0.5,) * len(at)), Repeated("loop", tuple(p - 1 for _, p in at), (thrice,)))
    runs = Runs(tuple(n for n, _ in at), tuple(p for _, p in at), parts)
    model = ProgramModel("deal", "in-turn", "bio", "deal-{size}-{ranks}.clue", "", runs)
    assert model.predict(200, 11).seconds == pytest.approx(6.5)
    assert model.predict(200, 1).seconds == pytest.approx(0.5)
    assert model.outside(200, 1) == () and len(model.outside(200, 11)) == 1
    assert max(map(abs, model.off)) < 1e-9
    assert program_model_document(model)["domain"] == {"n": [100, 300], "P": [1, 4]}


def test_two_numbers_of_ranks_do_not_tell_the_form_of_a_count() -> None:
    """One round of 1 s on 2 ranks and three on 4 may be P - 1, 15 on 16 ranks, or another form: no error is known."""
    at = [(float(n), p) for p in (2.0, 4.0) for n in (100, 200, 300)]
    rounds = Repeated("loop", tuple(p - 1 for _, p in at), (Part("Recv", (1.0,) * len(at)),))
    runs = Runs(tuple(n for n, _ in at), tuple(p for _, p in at), (rounds,))
    model = ProgramModel("deal", "plausible", "bio", "deal-{size}-{ranks}.clue", "", runs)
    said = model.predict(200, 16)
    assert said.seconds == pytest.approx(15, rel=0.01) and said.high == math.inf
    (doubt,) = doubts(model.time, 200, 16)
    assert doubt.startswith("loop/Recv takes 100% of the time")


def test_shares_of_parts_below_0() -> None:
    """A part takes 5 s, of unknown error, and another -4 s: it is 5 of 9 s, not five times the whole second."""
    parts = {
        name: Staged((Term(),), (Term(),), np.array([[seconds]]), deviation=deviation)
        for name, seconds, deviation in (("solve", 5.0, math.inf), ("wait", -4.0, 0.0))
    }
    (doubt,) = doubts(Series(parts), 100, 4)
    assert doubt.startswith("solve takes 56% of the time")
