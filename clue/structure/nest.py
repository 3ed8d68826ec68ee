"""Loop coordinates: the loops and iterations in which each call of a trace was made.

Call sites contain the loop statements around each frame of their path, so the paths of all sites form a tree of loops.
A rank visits the leaves of the tree in program order: a step that does not lead forward in the source begins a new
iteration of the innermost loop around both places. Iterations without calls are invisible, and two loops appear as one
if the outer one contains only the inner one: rules must then fit the visible iterations, unless these repeat
(:func:`clue.structure.alignment.divided`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from clue.trace.sites import Frame, Site

_BEHIND = 1 << 40


@dataclass(frozen=True, slots=True)
class Step:
    """A step on the path to a call: into a loop, into a branch, or to a place in a function.

    Attributes:
        file: File of the function.
        function: Its name.
        loop: Line of the loop statement, or 0 for a place.
        at: Position of the place within the function; -1 for a loop or a branch.
        line: The place's line.
        branch: Number of the branch of the ``if`` on this line, or -1.
    """

    file: str
    function: str
    loop: int
    at: int
    line: int
    branch: int = -1

    @property
    def is_place(self) -> bool:
        """Whether it leads to a place."""
        return self.at >= 0

    def excludes(self, other: Step) -> bool:
        """Tell whether no iteration can take both, because they are branches of the same ``if``."""
        return self.branch >= 0 and replace(self, branch=other.branch) == other != self

    @property
    def is_loop(self) -> bool:
        """Whether it leads into a loop."""
        return self.loop > 0


def steps(site: Site) -> tuple[Step, ...]:
    """Return the path to a site, outermost step first; unknown sites lie in a loop after all others."""
    if not site.frames:
        return (Step("", "", 1, -1, 0), Step("", "", 0, _BEHIND, 0))
    return tuple(step for frame in site.frames for step in _steps_within(frame))


def _steps_within(frame: Frame) -> Iterable[Step]:
    inside = [(line, Step(frame.file, frame.function, line, -1, line)) for line in frame.loops]
    inside += [(line, Step(frame.file, frame.function, 0, -1, line, which)) for line, which in frame.branches]
    yield from (step for _, step in sorted(inside, key=lambda each: each[0]))
    yield Step(frame.file, frame.function, 0, frame.at, frame.line)


@dataclass(frozen=True, slots=True)
class Nest:
    """The loops around the sites of one or several traces.

    Attributes:
        paths: Path to each site, by its number.
        order: Where each loop and branch begins within its function: the first place in it.
    """

    paths: tuple[tuple[Step, ...], ...]
    order: Mapping[Step, int]

    @classmethod
    def of(cls, sites: Sequence[Site]) -> Nest:
        """Return the nest of some sites."""
        paths = tuple(map(steps, sites))
        order: dict[Step, int] = {}
        for path in paths:
            for i, step in enumerate(path):
                if not step.is_place:
                    first = next(each.at for each in path[i:] if each.is_place)
                    order[step] = min(order.get(step, first), first)
        return cls(paths, order)

    def loops(self, site: int) -> tuple[tuple[Step, ...], ...]:
        """Return the loops around a site, outermost first, each as the path to it."""
        path = self.paths[site]
        return tuple(path[: i + 1] for i, step in enumerate(path) if step.is_loop)

    def merged(self) -> Iterator[tuple[frozenset[int], int, int]]:
        """Yield the loops that appear as one: the sites in them, and the depths of the outermost and the innermost."""
        inside: dict[tuple[Step, ...], set[int]] = {}
        for site in range(len(self.paths)):
            for loop in self.loops(site):
                inside.setdefault(loop, set()).add(site)
        chains: dict[frozenset[int], list[int]] = {}
        for loop, sites in inside.items():
            chains.setdefault(frozenset(sites), []).append(sum(step.is_loop for step in loop) - 1)
        yield from ((sites, min(depths), max(depths)) for sites, depths in chains.items() if len(depths) > 1)

    def place(self, step: Step) -> int:
        """Return the position of a step within its function."""
        return step.at if step.is_place else self.order[step]

    def key(self, path: tuple[Step, ...]) -> tuple[int, ...]:
        """Return a key that sorts paths in program order."""
        return tuple(map(self.place, path))

    def transition(self, before: int, after: int) -> tuple[int, bool]:
        """Return what happened to the loops between two consecutive calls of a rank, given their sites.

        Returns:
            How many of the loops around the second site are still in the same run as at the first, and whether the
            innermost of these begins a new iteration.
        """
        one, other = self.paths[before], self.paths[after]
        common = 0
        while common < min(len(one), len(other)) and one[common] == other[common]:
            common += 1
        same = before == after
        if same:
            common -= 1
        shared = sum(step.is_loop for step in other[:common])
        forward = not same and self._forward(one[common:], other[common:])
        return shared, not forward

    def _forward(self, one: tuple[Step, ...], other: tuple[Step, ...]) -> bool:
        return bool(one and other) and not one[0].excludes(other[0]) and self.place(one[0]) < self.place(other[0])


@dataclass(slots=True)
class Walk:
    """Coordinates of a sequence of calls.

    Attributes:
        nest: The loops.
        known: Transitions already looked up.
    """

    nest: Nest
    known: dict[tuple[int, int], tuple[int, bool]] = field(default_factory=dict)

    def coordinates(self, sites: Sequence[int]) -> tuple[list[tuple[int, ...]], list[int]]:
        """Return the iteration of each loop around each call of a rank, and which calls jump back outside any loop."""
        depth = [len(self.nest.loops(site)) for site in range(len(self.nest.paths))]
        now: tuple[int, ...] = ()
        before, result, astray = -1, [], []
        for at, site in enumerate(sites):
            shared, again = self._transition(before, site) if before >= 0 else (0, False)
            if again and not shared:
                astray.append(at)
            head = now[:shared]
            if again and shared:
                head = (*head[:-1], head[-1] + 1)
            now = head + (0,) * (depth[site] - shared)
            result.append(now)
            before = site
        return result, astray

    def entering(self, sites: Sequence[int]) -> list[bool]:
        """Return which calls of a rank enter all loops around them: the burst before them began outside of any."""
        before, result = -1, []
        for site in sites:
            shared = self._transition(before, site)[0] if before >= 0 else 0
            result.append(shared == 0 and bool(self.nest.loops(site)))
            before = site
        return result

    def _transition(self, before: int, after: int) -> tuple[int, bool]:
        key = (before, after)
        if key not in self.known:
            self.known[key] = self.nest.transition(before, after)
        return self.known[key]
