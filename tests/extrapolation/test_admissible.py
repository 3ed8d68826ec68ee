"""Sizes and numbers of ranks that a program accepts: as stated by the user, and as learned from its refusals."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clue.errors import UsageError
from clue.extrapolation.admissible import ANY, Admissible, Other
from clue.extrapolation.plan import Wanted
from clue.extrapolation.refusals import demands


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("ranks=2^k", [1, 2, 4, 8, 16, 32]),
        ("ranks=3*2^k", [3, 6, 12, 24]),
        ("ranks=k^2", [1, 4, 9, 16, 25, 36]),
        ("ranks=4*k**2", [4, 16, 36]),
        ("ranks=20*k", [20, 40]),
        ("ranks=2^k+1", [2, 3, 5, 9, 17, 33]),
        ("ranks=1+2^k", [2, 3, 5, 9, 17, 33]),
        ("ranks=10*k-1", [9, 19, 29, 39]),
        ("ranks=30+k", [30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40]),
        ("ranks= 6, 2^k", [1, 2, 4, 6, 8, 16, 32]),
        ("ranks=4,9,16", [4, 9, 16]),
        ("ranks=k", list(range(1, 41))),
    ],
)
def test_numbers_of_ranks_by_hand(text: str, numbers: list[int]) -> None:
    """The notation admits these numbers up to 40, both for ranks and for sizes."""
    takes = Admissible.parse([text])
    assert [each for each in range(1, 41) if takes.takes_ranks(each)] == numbers
    assert [each for each in range(1, 41) if takes.holds(7, each)] == numbers
    of_sizes = Admissible.parse([text.replace("ranks=", "size=")])
    assert [each for each in range(1, 41) if of_sizes.holds(each, 7)] == numbers
    assert sorted(set(of_sizes.sizes(20.0, (1, 40), 1, (7,)))) == numbers


@pytest.mark.parametrize(
    ("text", "sizes"),
    [("size=ranks*k", [6, 12, 18, 24]), ("size=2*ranks+k", list(range(12, 25))), ("size=2*k*ranks-1", [11, 23])],
)
def test_sizes_that_depend_on_ranks_by_hand(text: str, sizes: list[int]) -> None:
    """On 6 ranks, the notation admits these sizes up to 24."""
    takes = Admissible.parse([text])
    assert [each for each in range(1, 25) if takes.holds(each, 6)] == sizes
    assert takes.takes_ranks(6)


def test_all_that_is_said_must_hold() -> None:
    """All demands hold together: multiples of 8 that are at least 8 times the ranks.

    With a step of 24, sizes are also multiples of 24.
    """
    takes = Admissible.parse(["size=8*k", "size=8*ranks+k"])
    assert str(takes) == "size=8*k and size=8*ranks+k"
    assert takes.sizes(60.0, (30, 70), 1, (4, 6)) == [48, 56, 64]
    assert takes.sizes(60.0, (30, 100), 24, (4, 6)) == [48, 72, 96]
    assert takes.sizes(60.0, (30, 70), 1, (9,)) == []
    assert ANY.sizes(60.0, (58, 62), 1, (9,)) == [58, 59, 60, 61, 62]


def test_of_very_many_sizes_the_nearest_are_looked_at() -> None:
    """From a range of 10^9 sizes, only the 1,000 nearest are listed, which takes no time."""
    found = ANY.sizes(5e8, (1, 10**9), 1, (4,))
    assert len(found) == 1000 and 5 * 10**8 in found
    assert Admissible.parse(["size=2^k"]).sizes(5e8, (1 << 27, 1 << 30), 1, (4,)) == [
        1 << 27,
        1 << 28,
        1 << 29,
        1 << 30,
    ]


@pytest.mark.parametrize(
    "text",
    [
        "ranks", "ranks=", "ranks=x", "ranks=2^", "ranks=2^k^2", "ranks=1^k", "ranks=0", "ranks=0*k", "ranks=k*k",
        "ranks=ranks*k", "ranks=100-k", "ranks=k+k", "ranks=2k", "n=2^k", "size=ranks*ranks*k", "size=-8", "2^k",
        "size=8*k,", "size=k/2", "size=k^2000", "size=1.5*k",
    ],
)  # fmt: skip
def test_what_cannot_be_read(text: str) -> None:
    """A text in another notation is refused, and the message shows the notation."""
    with pytest.raises(UsageError, match=r"--admissible must be such as ranks=2\^k, size=20\*k, .*, got ") as failed:
        Admissible.parse(["ranks=2^k", text])
    assert str(failed.value).endswith(f"got {text}")


def test_a_target_that_is_not_taken() -> None:
    """A target that breaks demands is refused, and the message names them all."""
    takes = Admissible.parse(["ranks=2^k", "size=20*k", "size=ranks*k"])
    takes.check(160, 16)
    with pytest.raises(UsageError, match=r"ranks=2\^k and size=20\*k must hold at the target, got 90 on 6"):
        takes.check(90, 6)
    with pytest.raises(UsageError, match=r"size=20\*k must hold at the target, got 64 on 1 rank$"):
        takes.check(64, 1)


def test_what_is_learned_of_a_refusal_by_hand() -> None:
    """A learned demand separates refused places from accepted ones.

    27 ranks refused, 4 and 6 accepted: even numbers. 6 refused, 4 accepted: powers of two. A size refused on 4 ranks:
    multiples of 5.
    """
    target = Wanted(320, 64)
    assert [*map(str, demands(target, [Wanted(54, 27)], [Wanted(64, 4), Wanted(48, 6)]))] == ["ranks=2*k"]
    assert [*map(str, demands(target, [Wanted(48, 6)], [Wanted(64, 4)]))] == ["ranks=2^k"]
    assert [*map(str, demands(target, [Wanted(32, 4)], []))] == ["size=5*k"]
    assert [*map(str, demands(target, [Wanted(32, 4), Wanted(30, 6)], [Wanted(40, 4)]))] == ["size=20*k"]
    assert [*map(str, demands(target, [], []))] == []
    assert [*map(str, demands(Wanted(1025, 64), [Wanted(512, 4)], []))] == ["size=2*k+1"]


def test_what_follows_no_custom_is_left_out_alone() -> None:
    """A refusal that no demand explains excludes only its size, its number of ranks, or this size on these ranks."""
    target = Wanted(320, 64)
    taken = [Wanted(n, p) for n in (59, 62, 63, 67, 320) for p in (4, 5, 6, 7, 9) if (n, p) != (62, 5)]
    assert demands(target, [Wanted(60, 4)], [*taken, Wanted(30, 4), Wanted(1, 64)]) == (Other(size=60),)
    assert demands(target, [Wanted(62, 5)], [*taken, Wanted(30, 4), Wanted(1, 64)]) == (Other(62, 5),)
    more = [Wanted(64, 16), Wanted(64, 12), Wanted(1, 24), Wanted(60, 2), Wanted(1, 64)]
    assert demands(target, [Wanted(64, 8)], [*taken, *more]) == (Other(ranks=8),)
    assert [str(each) for each in (Other(60), Other(None, 8), Other(64, 5), Other(64, 1))] == [
        "other than size 60",
        "other than 8 ranks",
        "other than size 64 on 5 ranks",
        "other than size 64 on 1 rank",
    ]


@given(
    known=st.dictionaries(st.tuples(st.integers(1, 400), st.integers(1, 64)), st.booleans(), max_size=12),
    size=st.integers(1, 2000),
    ranks=st.integers(1, 128),
)
def test_what_is_learned_tells_what_was_refused_from_what_was_taken(
    known: dict[tuple[int, int], bool], size: int, ranks: int
) -> None:
    """The demands exclude all refused places and admit all accepted ones and the target."""
    known.pop((size, ranks), None)
    places = {Wanted(*place): taken for place, taken in known.items()}
    target = Wanted(size, ranks)
    refused, taken = ([each for each, was in places.items() if was == which] for which in (False, True))
    learned = ANY.also(demands(target, refused, taken))
    assert all(learned.holds(each.size, each.ranks) for each in (target, *taken))
    assert not any(learned.holds(each.size, each.ranks) for each in refused)
    assert len(learned.demands) <= len(refused)
