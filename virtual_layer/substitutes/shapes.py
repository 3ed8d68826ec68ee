"""Process topologies as values: grids, graphs and distributed graphs, with their neighbours. Pure; no MPI."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from clue.trace.ops import PROC_NULL

#: Sources and destinations of a rank, in the order of its neighbourhood collectives; null ones included.
Neighbors = tuple[list[int], list[int]]


@dataclass(frozen=True, slots=True)
class Grid:
    """A Cartesian topology: ranks in row-major order."""

    dims: tuple[int, ...]
    periods: tuple[bool, ...]

    @property
    def size(self) -> int:
        """Number of ranks."""
        return prod(self.dims)

    def coords(self, rank: int) -> list[int]:
        """Return the coordinates of a rank.

        Raises:
            IndexError: If it is not in the grid.
        """
        if not 0 <= rank < self.size:
            raise IndexError(rank)
        found = []
        for extent in reversed(self.dims):
            rank, at = divmod(rank, extent)
            found.append(at)
        return found[::-1]

    def rank(self, coords: Sequence[int]) -> int:
        """Return the rank at coordinates; those of a periodic dimension may lie outside.

        Raises:
            IndexError: If they lie outside of a dimension that is not periodic.
        """
        rank = 0
        for at, extent, periodic in zip(coords, self.dims, self.periods, strict=True):
            if not periodic and not 0 <= at < extent:
                raise IndexError(at)
            rank = rank * extent + at % extent
        return rank

    def shift(self, rank: int, direction: int, steps: int) -> tuple[int, int]:
        """Return the source and the destination of a shift along a dimension."""
        here = self.coords(rank)
        return self._beside(here, direction, -steps), self._beside(here, direction, steps)

    def _beside(self, here: list[int], direction: int, steps: int) -> int:
        there = list(here)
        there[direction] += steps
        try:
            return self.rank(there)
        except IndexError:
            return PROC_NULL

    def neighbors(self, rank: int) -> Neighbors:
        """Return the neighbours of a rank: along each dimension one down and one up."""
        beside = [each for direction in range(len(self.dims)) for each in self.shift(rank, direction, 1)]
        return beside, beside

    def sub(self, kept: Sequence[bool]) -> Grid:
        """Return the grid of some of the dimensions."""
        axes = [axis for axis, keep in enumerate(kept) if keep]
        return Grid(tuple(self.dims[axis] for axis in axes), tuple(self.periods[axis] for axis in axes))

    def slice_of(self, rank: int, kept: Sequence[bool]) -> list[int]:
        """Return the ranks of the subgrid that a rank is in, in order."""
        here = self.coords(rank)
        axes = [range(extent) if keep else (at,) for at, extent, keep in zip(here, self.dims, kept, strict=True)]
        return [self.rank(coords) for coords in product(*axes)]


@dataclass(frozen=True, slots=True)
class Graph:
    """A graph that every rank knows: ``index`` holds the running number of edges, as in MPI."""

    index: tuple[int, ...]
    edges: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of ranks."""
        return len(self.index)

    def beside(self, rank: int) -> list[int]:
        """Return the neighbours of a rank.

        Raises:
            IndexError: If it is not in the graph.
        """
        if not 0 <= rank < self.size:
            raise IndexError(rank)
        return list(self.edges[self.index[rank - 1] if rank else 0 : self.index[rank]])

    def neighbors(self, rank: int) -> Neighbors:
        """Return the neighbours of a rank, both as sources and as destinations."""
        return self.beside(rank), self.beside(rank)


@dataclass(frozen=True, slots=True)
class Adjacency:
    """One rank's part of a distributed graph."""

    sources: tuple[int, ...]
    destinations: tuple[int, ...]
    weights: tuple[tuple[int, ...], tuple[int, ...]] | None = None

    def neighbors(self, _rank: int) -> Neighbors:
        """Return sources and destinations."""
        return list(self.sources), list(self.destinations)


Shape = Grid | Graph | Adjacency
#: An edge of a distributed graph: source, destination, weight.
Edge = tuple[int, int, int]


def edges_of(
    sources: Sequence[int], degrees: Sequence[int], destinations: Sequence[int], weights: Sequence[int] | None
) -> list[Edge]:
    """List the edges that one rank contributes to a distributed graph."""
    tails = [source for source, degree in zip(sources, degrees, strict=True) for _ in range(degree)]
    given = [1] * len(tails) if weights is None else weights
    return list(zip(tails, destinations, given, strict=True))


def adjacency(edges: Sequence[Edge], rank: int, *, weighted: bool) -> Adjacency:
    """Return a rank's part of the distributed graph of all edges."""
    into = [edge for edge in edges if edge[1] == rank]
    out = [edge for edge in edges if edge[0] == rank]
    weights = (tuple(w for _, _, w in into), tuple(w for _, _, w in out)) if weighted else None
    return Adjacency(tuple(source for source, _, _ in into), tuple(dest for _, dest, _ in out), weights)
