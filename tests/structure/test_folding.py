"""Folding of symbols into loops: by hand, from the literature, and two implementations compared."""

from __future__ import annotations

import string
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clue.native import NoLibraryError
from clue.structure.loops import compiled
from clue.structure.loops.folding import fold
from clue.structure.loops.library import LOOPS
from clue.structure.loops.places import LOOP, Flat, Place, positions, signature, split
from tests.properties import examples

Symbols = npt.NDArray[np.int32]


def numbered(names: list[str]) -> tuple[Symbols, list[str]]:
    """Return names as symbols, and the list of names."""
    known = list(dict.fromkeys(names))
    return np.array([known.index(name) for name in names], np.int32), known


def expand(program: Place) -> npt.NDArray[np.int64]:
    """Return the symbols of a program in order, shape (ops,)."""
    leaves = positions(program)
    symbols = np.empty(sum(len(at) for _, at in leaves), np.int64)
    for place, at in leaves:
        symbols[at] = place.symbol
    return symbols


def folded(names: list[str]) -> str:
    """Return the signature of the folded names, which must expand to the names."""
    symbols, known = numbered(names)
    program = fold(symbols)
    assert expand(program).tolist() == symbols.tolist()
    return signature(program, known)


def equal(one: Place, other: Place) -> bool:
    """Tell whether two programs are equal."""
    first, second = Flat.of(one), Flat.of(other)
    return all(np.array_equal(getattr(first, name), getattr(second, name)) for name in Flat.__slots__)


@pytest.fixture(scope="module")
def fast() -> Callable[[Symbols], Place]:
    """Return the fold function in C++; skip the test without it."""
    try:
        LOOPS.load()
    except NoLibraryError as error:
        pytest.skip(str(error))
    return compiled.fold


# --- by hand ---


@pytest.mark.parametrize(
    ("sequence", "loops"),
    [
        ("", ""),
        ("a", "a"),
        ("aaa", "(a)^3"),
        ("abab", "[a b]^2"),
        ("ababa", "[a b]^2 a"),
        ("abcabcabcab", "[a b c]^3 a b"),
        # The paper's example (Sodhi, Subhlok, Xu, section 4.2).
        ("abbgbbgbbgkaa", "a [(b)^2 g]^3 k (a)^2"),
        # Inner loops come first; their numbers of iterations may vary.
        ("abababcababcabc", "[[a b]^3,2,1 c]^3"),
        ("xyaxyxyaxyxyxya", "[[x y]^1,2,3 a]^3"),
        # A growing inner loop ends the outer loop's body, which is not cut where the inner loop had an earlier length.
        ("zaazaaazaaaa", "[z (a)^2,3,4]^3"),
        # The inner loop has one iteration when it is first read.
        ("xya" + "xyaxyxya" * 3, "[[x y]^1,2 a]^7"),
        ("abcabd" * 3, "[a b c a b d]^3"),
    ],
)
def test_loops_by_hand(sequence: str, loops: str) -> None:
    """Each sequence folds to the loops that a person would write."""
    assert folded(list(sequence)) == loops


#: The loop of BT, class S, on four processes (Sodhi, Subhlok, Xu, section 5): 37 calls.
BODY = "P1 P1 P7 P7 P4 P4 P10 P10 P16 P16 P13 P13 O2 " + " ".join(
    f"{pair} O1 O1" for pair in ("P11 P2", "P12 P3", "P17 P8", "P18 P9", "P14 P5", "P15 P6")
)
WRITTEN = (
    "(P1)^2 (P7)^2 (P4)^2 (P10)^2 (P16)^2 (P13)^2 O2 "
    "P11 P2 (O1)^2 P12 P3 (O1)^2 P17 P8 (O1)^2 P18 P9 (O1)^2 P14 P5 (O1)^2 P15 P6 (O1)^2"
)


def test_bt_of_the_skeleton_paper() -> None:
    """2,278 calls of 26 kinds fold to the paper's signature, with the iteration before M2 apart from the loop."""
    body = BODY.split()
    end = ["M1", *body[:13], "M1", "M3", "M2"]
    calls = ["M4", "M5", "M6", *body, "M2", *(body * 60), *end]
    assert (len(calls), len(set(calls))) == (2278, 26)
    start = "(P1)^2 (P7)^2 (P4)^2 (P10)^2 (P16)^2 (P13)^2 O2"
    assert folded(calls) == f"M4 M5 M6 {WRITTEN} M2 [{WRITTEN}]^60 M1 {start} M1 M3 M2"


@pytest.mark.parametrize(
    ("sequence", "loops"),
    [
        ("ababababb", "[a b]^4 b"),
        ("zabbabbabbbb", "z [a (b)^2]^3 (b)^2"),
        ("abbababab", "[a (b)^2,1]^4"),
        ("abababbc" * 2, "[[a b]^3 b c]^2"),
        ("xabababxabababb", "[x [a b]^3]^2 b"),
    ],
)
def test_what_follows_a_loop_is_not_its_end(sequence: str, loops: str) -> None:
    """A tail that alone would make an inner count vary is split off, also within an outer loop."""
    symbols, known = numbered(list(sequence))
    program = split(fold(symbols))
    assert expand(program).tolist() == symbols.tolist()
    assert signature(program, known) == loops


def test_positions_of_each_symbol() -> None:
    """``(a b c)^2`` has its symbols at these positions."""
    symbols, _ = numbered(list("cabcab"))
    found = [(place.symbol, at.tolist()) for place, at in positions(fold(symbols))]
    assert found == [(0, [0, 3]), (1, [1, 4]), (2, [2, 5])]


# --- random programs ---


@st.composite
def programs(draw: st.DrawFn) -> Place:
    """Draw nested loops in which each symbol appears once, so that their notation is unique."""
    symbols = iter(range(1000))

    def place(depth: int, reached: int) -> Place:
        counts = np.full(reached, draw(st.integers(2, 4)), np.int64)
        if depth == 0 or draw(st.booleans()):
            if draw(st.booleans()):
                counts = np.array(draw(st.lists(st.integers(1, 3), min_size=reached, max_size=reached)), np.int64)
            return Place(next(symbols), counts)
        body = (place(depth - 1, int(counts.sum())) for _ in range(draw(st.integers(2, 3))))
        return Place(LOOP, counts, tuple(body))

    return Place(LOOP, np.ones(1, np.int64), tuple(place(3, 1) for _ in range(draw(st.integers(1, 3)))))


@given(program=programs())
@settings(deadline=None, max_examples=examples(60))
def test_a_program_is_found_again(program: Place) -> None:
    """Folding the expanded program finds its loops again, at any depth and with varying counts."""
    symbols = expand(program).astype(np.int32)
    assert equal(fold(symbols), program)


sequences = st.one_of(
    st.lists(st.integers(0, 1), max_size=60),
    st.lists(st.integers(0, 3), max_size=60),
    st.lists(st.sampled_from([[0], [1, 2], [1, 2, 1, 2], [0, 1, 2, 3] * 3, [4] * 5, [1, 2, 3] * 6]), max_size=12).map(
        lambda pieces: [symbol for piece in pieces for symbol in piece]
    ),
    programs().map(lambda program: expand(program).tolist()),
)


@pytest.mark.long
@given(sequence=sequences)
@settings(deadline=None, max_examples=examples(200))
def test_expansion_gives_any_sequence_back(sequence: list[int]) -> None:
    """Expansion returns the sequence, and a program has no more places than symbols."""
    program = fold(np.array(sequence, np.int32))
    assert expand(program).tolist() == expand(split(program)).tolist() == sequence
    assert sum(not place.is_loop for place in program.walk()) <= len(sequence)


@given(sequence=sequences)
@settings(deadline=None, max_examples=examples(200))
def test_both_implementations_find_the_same_loops(fast: Callable[[Symbols], Place], sequence: list[int]) -> None:
    """The two programs are equal, including all counts."""
    symbols = np.array(sequence, np.int32)
    assert equal(fold(symbols), fast(symbols))


def test_long_loops_are_compared_not_read(fast: Callable[[Symbols], Place]) -> None:
    """A triangle within a loop of 200 iterations is folded as the reference does."""
    triangle = [symbol for i in range(1, 6) for symbol in (0, *([1, 2] * i), 3)]
    symbols = np.array([*([*triangle, 4] * 200), *triangle], np.int32)
    assert equal(fast(symbols), fold(symbols))


def test_signature_names_letters() -> None:
    """The signature uses the given names."""
    assert folded(list(string.ascii_lowercase * 2)) == f"[{' '.join(string.ascii_lowercase)}]^2"
