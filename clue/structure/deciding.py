"""Finds the recording that would decide between rules that fit all recordings but differ at a target."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from heapq import nsmallest
from itertools import pairwise

from clue.structure.forms import UndeterminedError
from clue.structure.generate import Generator
from clue.structure.program import PartRules, Refusal, Structure

#: Largest number of places that are tried for one refusal in each of two rounds.
_TRIED = 600
#: Number of sizes just above the smallest that are also tried: rules with blocks differ at one size in each block.
_NEAR = 16
#: Properties of size and number of ranks that a program may require: a proposed recording must have all those that
#: every recording has.
_CUSTOMS: tuple[Callable[[int, int], bool], ...] = (
    lambda size, ranks: size % ranks == 0,
    lambda size, _: size % 2 == 0,
    lambda _, ranks: ranks & (ranks - 1) == 0,
    lambda _, ranks: round(ranks**0.5) ** 2 == ranks,
)


def decided(structure: Structure, generator: Generator, recorded: Sequence[tuple[int, int]]) -> tuple[Refusal, ...]:
    """Return the refusals at a target, each with the cheapest recording that would decide it, if there is one.

    A recording decides if every rule that differs from the lightest one at the target also differs from it there.
    Numbers of ranks up to the largest recorded one are tried first, then those below the target's.

    Args:
        structure: The rules.
        generator: The generator that has applied them at the target.
        recorded: Size and number of ranks of each recording.
    """
    near = _places(recorded, max(ranks for _, ranks in recorded))
    places = [*near, *_places(recorded, generator.ranks - 1, near)]
    known: dict[str, tuple[int, int] | None] = {}
    found = []
    for refusal, (rules, error) in zip(generator.refusals, generator.undetermined, strict=True):
        place = known.get(error.why)
        # What decides between the same forms elsewhere need not do so here, where other ranks may make the call.
        if error.why not in known or (place is not None and not _decides(structure, rules, error, place)):
            place = next((each for each in places if _decides(structure, rules, error, each)), None)
            known.setdefault(error.why, place)
        found.append(replace(refusal, decided=place))
    return tuple(dict.fromkeys(found))


def _decides(structure: Structure, rules: PartRules, error: UndeterminedError, place: tuple[int, int]) -> bool:
    other = Generator(structure, *place).undecided(rules)
    return other is not None and error.decided_by(other)


def _places(
    recorded: Sequence[tuple[int, int]], most: int, known: Collection[tuple[int, int]] = ()
) -> list[tuple[int, int]]:
    """Return unrecorded sizes and numbers of ranks to try, up to ``most`` ranks: likely inputs first, then cheap ones.

    Sizes are the recorded ones, their neighbours, the midpoints between two of them, and some above the smallest.
    Places that are known are left out.
    """
    sizes = sorted({size for size, _ in recorded})
    ranks = sorted({count for _, count in recorded})
    tried = {*sizes, *(size + 1 for size in sizes[:-1]), *((one + other) // 2 for one, other in pairwise(sizes))}
    tried |= {*range(sizes[0], min(sizes[0] + _NEAR, sizes[-1]))}
    wanted = [custom for custom in _CUSTOMS if all(custom(*each) for each in recorded)]
    done = {*recorded, *known}
    # A target on many ranks has millions of places, of which few are tried.
    places = ((size, count) for size in tried for count in range(ranks[0], most + 1))
    return nsmallest(
        _TRIED,
        (place for place in places if place not in done),
        key=lambda place: (sum(not custom(*place) for custom in wanted), place[0] * place[1], place),
    )
