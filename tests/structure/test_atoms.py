"""Numbers as programs compute them: by hand, and for typical programs."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clue.structure.atoms import Atom, Integers, partners, scaled, small_numbers, tree_sizes, variable
from clue.structure.forms import UndeterminedError
from clue.structure.pool import Pool, Products
from clue.structure.rules import Search

_NAMES = ("n", "P", "rank", "i0")


def _ranks(size: int, ranks: int, iteration: int = 0) -> dict[str, Integers]:
    rank = np.arange(ranks)
    whole = np.full(ranks, ranks)
    return {"n": np.full(ranks, size), "P": whole, "rank": rank, "s": whole, "r": rank, "i0": np.full(ranks, iteration)}


def _called(name: str) -> Atom:
    atoms = (*small_numbers(_NAMES, ()), *partners(_NAMES), *tree_sizes(_NAMES))
    return next(atom for atom in atoms if atom.name == name)


@pytest.mark.parametrize(
    ("name", "iteration", "values"),
    [
        ("neighbours(rank // q)", 0, [1, 1, 1, 1, 1, 1]),
        ("neighbours(rank % q)", 0, [1, 2, 1, 1, 2, 1]),
        ("neighbour(rank % q, + rank // q)", 0, [0, 1, 2, 4, 5, 3]),
        ("neighbour(rank // q, - i0)", 1, [3, 4, 5, 0, 1, 2]),
        ("r >> i0", 1, [0, 0, 1, 1, 2, 2]),
        ("r without its highest bit", 0, [0, 0, 0, 1, 0, 1]),
        ("n >> i0 + 1", 1, [25, 25, 25, 25, 25, 25]),
    ],
)
def test_numbers_on_two_by_three_ranks(name: str, iteration: int, values: list[int]) -> None:
    """On a grid of two by three, rank r is in row r // 3 and column r % 3."""
    assert _called(name).values(_ranks(100, 6, iteration)).tolist() == values


@given(n=st.integers(1, 10**6), ranks=st.integers(1, 64), times=st.integers(1, 64), power=st.sampled_from((1, 2)))
def test_multiples_are_divided_as_python_divides_them(n: int, ranks: int, times: int, power: int) -> None:
    """``8 * n // size`` multiplies before it divides."""
    atom = scaled(times, variable("n"), power, variable("P"))
    assert atom.values(_ranks(n, ranks))[0] == times * n**power // ranks


def test_names_say_what_numbers_are() -> None:
    """Atoms of the same name have the same values, whatever variables they are made for."""
    rng = np.random.default_rng(1)
    ranks = rng.integers(2, 30, 200)
    v = {"n": rng.integers(1, 300, 200), "P": ranks, "rank": rng.integers(0, 30, 200) % ranks}
    v |= {"s": ranks, "r": v["rank"], "i0": rng.integers(0, 9, 200), "peer": rng.integers(0, 30, 200) % ranks}
    known: dict[str, Integers] = {}
    for count in range(1, len(v) + 1):
        for names in combinations(v, count):
            for atom in (*small_numbers(names, (8,), singles=(8,)), *partners(names, singles=(8,)), *tree_sizes(names)):
                values = atom.values(v)
                assert (known.setdefault(atom.name, values) == values).all(), atom.name


@given(st.integers(0, 2**32 - 1))
def test_products_that_look_alike_are_one_and_are_remembered(seed: int) -> None:
    """Each product has distinct values and lists all atoms that have them."""
    rng = np.random.default_rng(seed)
    v = {name: rng.integers(1, 4, 5) for name in ("n", "P", "rank", "s", "r")}
    pool = Pool.of([variable("n"), variable("P")], v)
    products = Products.of(pool, np.arange(5))
    seen = {products.values[i].tobytes() for i in range(len(products))}
    assert len(seen) == len(products)
    for i in range(len(products)):
        for atoms in products[i].alike:
            plain = [atom.values(v) for atom in atoms]
            assert (np.prod(plain, axis=0) == products.values[i]).all()


def test_known_grids_are_nearer_than_others() -> None:
    """On 8 and 27 ranks, the sides of a plane and of a cube look alike; a known cube decides for the cube."""
    places = [(n, p) for n in (24, 36) for p in (8, 12, 27)]
    n, p = (np.array(column, np.int64) for column in zip(*places, strict=True))
    side = np.array([{8: 2, 12: 3, 27: 3}[each] for each in p.tolist()])
    v = {"n": n, "P": p, "rank": np.zeros_like(p), "s": p, "r": np.zeros_like(p)}
    target = {name: np.array([value]) for name, value in {"n": 48, "P": 64, "rank": 0, "s": 64, "r": 0}.items()}
    unknown = Search(v).rule(8 * n // side)
    assert unknown is not None
    known = Search(v, grids=frozenset({"cube"})).rule(8 * n // side)
    assert known is not None
    assert known(target).tolist() == [8 * 48 // 4]
    try:
        assert unknown(target).tolist() in ([8 * 48 // 4], [8 * 48 // 8])
    except UndeterminedError as error:
        assert "differ there" in str(error)


@pytest.mark.long
@pytest.mark.parametrize("y", [(133, 44, 205, 68), (200, 308, 100, 154)])
def test_sums_of_few_samples_are_not_believed(y: tuple[int, ...]) -> None:
    """Four samples cannot tell which of thousands of sums of three terms fits, so none is accepted."""
    p = np.array([6, 27, 6, 27])
    v = {"n": np.array([50, 50, 77, 77]), "P": p, "rank": np.zeros_like(p), "s": p, "r": np.zeros_like(p)}
    assert Search(v)._several(np.array(y)) == ()
