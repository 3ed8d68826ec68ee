"""Communicators as rules: the ranks that they consist of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from clue.structure.atoms import cubest, squarest
from clue.structure.forms import UndeterminedError
from clue.trace.head import Communicator, Head

#: Returns the members of the group that a rank is in, given the number of ranks.
Members = Callable[[int, int], tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Class:
    """The communicators that a program makes at one place, one for each group of its ranks.

    Attributes:
        name: Name of their constructor.
        ordinal: Number of communicators with the same name and group that were made before.
    """

    name: str
    ordinal: int


#: The class of the communicator of all ranks.
WORLD = Class("WORLD", 0)


def classes_of(head: Head) -> Mapping[int, Class]:
    """Return the class of each communicator of a trace."""
    seen: Counter[tuple[str, tuple[int, ...]]] = Counter()
    classes = {}
    for number, each in enumerate(head.communicators):
        key = (each.name, each.group)
        classes[number] = Class(each.name, seen[key])
        seen[key] += 1
    return classes


def _grid(rows: Callable[[int], tuple[int, int]], along_row: bool) -> Members:
    def members(ranks: int, rank: int) -> tuple[int, ...]:
        _, columns = rows(ranks)
        if along_row:
            first = rank // columns * columns
            return tuple(range(first, first + columns))
        return tuple(range(rank % columns, ranks, columns))

    return members


def _tall(ranks: int) -> tuple[int, int]:
    small, large = squarest(ranks)
    return large, small


def _line(axis: int) -> Members:
    def members(ranks: int, rank: int) -> tuple[int, ...]:
        shape = cubest(ranks)
        strides = (shape[1] * shape[2], shape[2], 1)
        at = rank // strides[axis] % shape[axis]
        return tuple(rank + (k - at) * strides[axis] for k in range(shape[axis]))

    return members


def _plane(axis: int) -> Members:
    def members(ranks: int, rank: int) -> tuple[int, ...]:
        shape = cubest(ranks)
        strides = (shape[1] * shape[2], shape[2], 1)
        at = rank // strides[axis] % shape[axis]
        return tuple(each for each in range(ranks) if each // strides[axis] % shape[axis] == at)

    return members


#: Kinds of groups that programs make, by name, the simplest first.
GROUPS: Mapping[str, Members] = {
    "all": lambda ranks, _: tuple(range(ranks)),
    "self": lambda _, rank: (rank,),
    "row of p × q": _grid(squarest, True),
    "column of p × q": _grid(squarest, False),
    "row of q × p": _grid(_tall, True),
    "column of q × p": _grid(_tall, False),
    "even or odd": lambda ranks, rank: tuple(range(rank % 2, ranks, 2)),
    "half": lambda ranks, rank: tuple(range(ranks // 2)) if rank < ranks // 2 else tuple(range(ranks // 2, ranks)),
    **{f"line {axis} of a × b × c": _line(axis) for axis in range(3)},
    **{f"plane {axis} of a × b × c": _plane(axis) for axis in range(3)},
    "all but the first": lambda ranks, rank: tuple(range(1, ranks)) if rank else (0,),
    "all in reverse": lambda ranks, _: tuple(reversed(range(ranks))),
}


#: Kinds that are not rivals of other kinds, unless a constructor that divides ranks made the group.
_PLAIN = ("all", "self")
_DIVIDING = ("Split", "Sub", "Create", "Create_group")


def rivals(kinds: Sequence[str], constructor: str) -> tuple[str, ...]:
    """Return the kinds that a communicator may be of.

    Args:
        kinds: Kinds that fit all recordings, the simplest first; at least one.
        constructor: Name of its constructor.
    """
    return tuple(kinds[:1] if kinds[0] in _PLAIN and constructor not in _DIVIDING else kinds)


def members_of(kinds: Sequence[str], ranks: int, rank: int) -> tuple[int, ...]:
    """Return the members of the group that a rank is in, given the possible kinds of the group.

    Raises:
        UndeterminedError: If groups of these kinds have different members.
    """
    first, *others = kinds
    group = GROUPS[first](ranks, rank)
    differ = [kind for kind in others if GROUPS[kind](ranks, rank) != group]
    if differ:
        raise UndeterminedError(
            f"groups {first} and {differ[0]} fit all recordings alike and differ there", frozenset(differ)
        )
    return group


def grid_of(kind: str) -> str:
    """Return the process grid that a kind of groups uses: "plane", "cube", or "" for none."""
    return "cube" if "a × b × c" in kind else "plane" if "×" in kind else ""


def fits(name: str, communicator: Communicator, ranks: int) -> bool:
    """Tell whether a communicator is a group of this kind."""
    members = GROUPS[name]
    return all(members(ranks, rank) == communicator.group for rank in communicator.group)
