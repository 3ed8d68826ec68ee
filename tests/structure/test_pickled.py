"""Sizes of pickled objects, compared with the output of pickle."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from clue.structure.atoms import Atom, Dimension, Integers, owned, variable
from clue.structure.forms import Rule, Sum, UndeterminedError
from clue.structure.pickled import exact, integer

_OWN = owned(64, Dimension(variable("P"), variable("rank")))
_N = variable("n")
_PLACES = [(n, p) for n in (192, 528, 768) for p in (4, 8, 16)] + [(192, 6), (384, 6), (216, 27), (432, 27)]


def _samples(places: list[tuple[int, int]]) -> dict[str, Integers]:
    n, p, r = (np.array(c, np.int64) for c in zip(*((n, p, r) for n, p in places for r in range(p)), strict=True))
    return {"n": n, "P": p, "rank": r, "s": p, "r": r}


def _nearly(*terms: tuple[int, tuple[Atom, ...]]) -> Rule:
    return Rule((Sum(tuple((Fraction(coefficient), atoms) for coefficient, atoms in terms)),))


def _sizes(v: dict[str, Integers], made: Callable[[int, int], object]) -> Integers:
    own = _OWN.values(v).tolist()
    return np.array([len(pickle.dumps(made(n, c), 5)) for n, c in zip(v["n"].tolist(), own, strict=True)])


def _columns(n: int, c: int) -> object:
    return np.arange(c), np.empty((n, c), complex)


def _packed(n: int, c: int) -> object:
    return bytes(c), n, bytes(8 * n)


@pytest.mark.parametrize(
    ("made", "nearly", "same"),
    [
        (_columns, _nearly((16, (_N, _OWN)), (8, (_OWN,)), (192, ())), [(1536, 64), (1024, 8), (3072, 64)]),
        (_packed, _nearly((1, (_OWN,)), (8, (_N,)), (40, ())), [(1536, 64), (1024, 8), (3072, 64)]),
    ],
)
def test_sizes_are_those_of_pickle(
    made: Callable[[int, int], object], nearly: Rule, same: list[tuple[int, int]]
) -> None:
    """Pickles of arrays with their shape, and of bytes with their length and a number, have the predicted size."""
    v = _samples(_PLACES)
    rule = exact(nearly, v, _sizes(v, made))
    assert rule is not None
    for place in same:
        there = _samples([place])
        assert (rule(there) == _sizes(there, made)).all()


def test_steps_that_no_recording_shows_are_not_guessed() -> None:
    """Recordings have at most 192 columns, so the effect of 256 or more columns is not determined."""
    v = _samples(_PLACES)
    rule = exact(_nearly((16, (_N, _OWN)), (8, (_OWN,))), v, _sizes(v, _columns))
    assert rule is not None
    with pytest.raises(UndeterminedError, match="differ there"):
        rule(_samples([(2048, 4)]))


def test_what_is_no_step_of_pickle_has_no_rule() -> None:
    """Random bytes, or data of another size than the rule's, give no rule."""
    v = _samples(_PLACES)
    y = _sizes(v, _columns)
    nearly = _nearly((16, (_N, _OWN)), (8, (_OWN,)))
    assert exact(nearly, v, y + np.random.default_rng(0).integers(0, 5, len(y))) is None
    assert exact(nearly, v, y + (v["n"] == 528)) is None
    assert exact(_nearly((16, (_N, _OWN)), (9, (_OWN,))), v, y) is None


def test_few_objects_show_no_steps() -> None:
    """Two sizes that differ by a byte are not enough for a rule."""
    v = _samples([(192, 1), (528, 1)])
    assert exact(_nearly((8, (_N,))), v, 8 * v["n"] + np.array([40, 41])) is None


def _number(coefficient: Fraction, *atoms: Atom) -> Sum:
    return Sum(((coefficient, atoms),))


def test_an_integer_is_a_number_that_the_program_uses() -> None:
    """The integer is an eighth of another message's bytes; its pickle takes 5 B below 256, then 15 B, later 17 B."""
    v = _samples(_PLACES)
    own = _number(Fraction(1, 8), _N, _OWN)
    y = np.array([len(pickle.dumps(each, 5)) for each in own(v).tolist()])
    assert set(y.tolist()) == {5, 15}
    rule = integer([_number(Fraction(1), _N), _number(Fraction(1), _OWN), own], v, y)
    assert rule is not None
    for place in ((1536, 64), (2048, 7), (65_536, 32)):
        there = _samples([place])
        assert rule(there).tolist() == [len(pickle.dumps(each, 5)) for each in own(there).tolist()]


def test_several_numbers_that_explain_an_integer_are_rivals() -> None:
    """No recording has a size from 217 to 383, so the threshold of 256 may apply to n or to n + 30."""
    v = _samples(_PLACES)
    y = np.array([len(pickle.dumps(each, 5)) for each in v["n"].tolist()])
    more = Sum(((Fraction(1), (_N,)), (Fraction(30), ())))
    rule = integer([_number(Fraction(1), _N), more], v, y)
    assert rule is not None
    assert (rule(_samples([(768, 64)])) == 15).all()
    with pytest.raises(UndeterminedError, match="differ there"):
        rule(_samples([(230, 64)]))
    assert integer([_number(Fraction(1), _OWN)], v, y) is None
