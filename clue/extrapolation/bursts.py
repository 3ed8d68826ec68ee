"""Bursts at unrecorded sizes: pooled by place and role, fitted, and drawn with their recorded variability.

A place is a part of a call site. A burst there is the computation of a rank since its last call. Bursts after different
calls are therefore distinguished if they usually differ, and ranks with a role (the root of a collective, the first and
the last rank) if their bursts differ from others in every recording. A local size of the ranks explains differences
between the bursts of one recording, if there is one (:func:`clue.structure.samples.local_size`); means are fitted over
that size, the problem's size and the number of ranks (:mod:`clue.models`).
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from clue.models import Distribution, Ensemble, fit
from clue.structure import LocalSize, local_size
from clue.structure.atoms import Atom, Integers, Surroundings, rows_of
from clue.structure.samples import usual
from clue.trace.ops import Flag

Floats = npt.NDArray[np.float64]

#: Name of a variable of bursts: the number of the part of the program that precedes a burst on its rank; -1 for none.
BEFORE = "before"

#: Minimum ratio between the bursts of a role and others at which the role is separate.
_APART = 1.1
#: Maximum number of values of a local size fitted for one recording; and the length below which a burst is ignored, s.
_VALUES, _LEAST = 12, 1e-9
#: Maximum excess of a burst over the median before it counts as an outlier, in interquartile ranges.
_OUTLYING = 20.0
#: Mean below which a burst says nothing about others of its recording, relative to the largest mean there.
_SHORT = 0.01
#: Share of the computation of a usual recording in the excess of outliers above which a caveat is given.
_CUT = 0.05
#: Minimum number of recordings for a fit to a constant and a size, and the maximum residual relative to a constant's.
_FITTED, _CLOSER = 3, 0.5
#: Limits to the residuals between the means of recordings and a local size: maximum ratio of the squared residuals to
#: those of the best even share, and the root mean square, relative to the means, that is allowed in any case.
_WORSE, _ALIKE = 1.5, 0.1
#: Share of the computation at a target outside the recorded range above which a caveat is given.
_OUTSIDE = 0.5
#: Maximum factor between the mean and the ends of an interval: the interval of a single point's model is unbounded.
_WIDEST = 5.0


@dataclass(frozen=True, slots=True)
class Role:
    """A role that distinguishes some ranks from others.

    Attributes:
        name: Name of the role.
        holds: Tells which rows have it, given the surroundings and the partner of each row.
    """

    name: str
    holds: Callable[[Surroundings, Integers], npt.NDArray[np.bool_]]


def _after(part: int, names: Sequence[str]) -> Role:
    """Return the role of bursts after a part of the program, or before the first call (-1), given names of parts."""
    return Role(f"after {names[part]}" if part >= 0 else "first call", lambda v, _: v[BEFORE] == part)


def _first_iteration(of: str) -> Callable[[Surroundings, Integers], npt.NDArray[np.bool_]]:
    """Return the condition that a loop is at its first iteration: bursts there include the code before the loop."""
    return lambda v, _: v[of] == 0 if of in v else np.zeros(len(v["n"]), bool)


ROLES = (
    Role("root", lambda v, peer: v["r"] == peer),
    Role("first rank", lambda v, _: v["rank"] == 0),
    Role("last rank", lambda v, _: v["rank"] == v["P"] - 1),
    Role("first iteration", _first_iteration("i0")),
    Role("first iteration of the loop within", _first_iteration("i1")),
    Role("first iteration of the innermost loop", _first_iteration("i2")),
)


@dataclass(frozen=True, slots=True)
class EvenShare:
    """A rank's share of an evenly divided problem: a length, an area or a volume."""

    dimension: int

    def __call__(self, v: Surroundings) -> Floats:
        """Return its values."""
        share: Floats = v["n"].astype(float) ** self.dimension / v["P"]
        return share

    def __str__(self) -> str:
        return f"n^{self.dimension} / P"


@dataclass(frozen=True, slots=True)
class UnevenShare:
    """An even share, divided among the ranks and iterations of a run as bursts follow a local size."""

    share: EvenShare
    local: LocalSize

    @property
    def atoms(self) -> tuple[Atom, ...]:
        """The atoms of the local size."""
        return self.local.atoms

    def __call__(self, v: Surroundings) -> Floats:
        """Return its values; these must be all bursts of their runs."""
        size = self.local(v)
        _, of = np.unique(v["n"] * (v["P"].max(initial=0) + 1) + v["P"], return_inverse=True)
        mean = (np.bincount(of, size) / np.bincount(of))[of]
        more = np.divide(size, mean, out=np.ones_like(size), where=mean > 0) - 1.0
        return self.share(v) * (1.0 + self.local.slope * more)

    def __str__(self) -> str:
        return f"{self.share}, divided as {self.local}"


@dataclass(frozen=True, slots=True)
class Pool:
    """Bursts of one role at one place.

    Attributes:
        size: Local size that they depend on.
        model: Model of their mean.
        spread: Distribution around the mean.
        measured: Data of the fit: features by name, and ``seconds``; shape (points,) each.
        cut: Excess of the outliers of each recording, seconds, shape (recordings,); those at the end may be missing.
    """

    size: LocalSize | EvenShare | UnevenShare | None
    model: Ensemble | None
    spread: Distribution
    measured: Mapping[str, Floats] = field(default_factory=dict)
    cut: Floats = field(default_factory=lambda: np.zeros(0))

    def features(self, v: Surroundings) -> dict[str, Floats]:
        """Return the features of the model."""
        found = {"n": v["n"].astype(float), "P": v["P"].astype(float)}
        return found if self.size is None else found | {"m": self.size(v)}

    def means(self, v: Surroundings) -> tuple[Floats, Floats, Floats]:
        """Return the mean burst of each row, and its interval."""
        if self.model is None:
            nothing = np.zeros(len(v["n"]))
            return nothing, nothing, nothing
        return self.modelled(self.features(v))

    def modelled(self, features: Mapping[str, Floats]) -> tuple[Floats, Floats, Floats]:
        """Return the mean burst at some features, and its interval; requires a model."""
        assert self.model is not None
        mean, low, high = self.model.predict(features)
        return mean, np.maximum(low, mean / _WIDEST), np.minimum(high, mean * _WIDEST)

    def inside(self, v: Surroundings) -> Floats:
        """Return whether each row lies within the recorded range, 1 or 0."""
        return np.ones(len(v["n"])) if self.model is None else self.model.inside(self.features(v)).astype(float)


@dataclass(frozen=True, slots=True)
class Fitted:
    """A pool of bursts with its target.

    Attributes:
        part: Part of the program that they precede.
        role: Their role; ``""`` for all ranks, or all others.
        pool: The bursts, with a model.
        target: Distinct features at the target, by name, shape (points,).
        seconds: Total time of these bursts at the target.
    """

    part: int
    role: str
    pool: Pool
    target: Mapping[str, Floats]
    seconds: float


@dataclass(frozen=True, slots=True)
class Bursts:
    """The bursts of a place.

    Attributes:
        roles: Roles at this place, each with its pool; the last is that of all other ranks.
        site: Name of the place.
    """

    roles: tuple[tuple[Role | None, Pool], ...]
    site: str

    @classmethod
    def learn(  # noqa: PLR0917 - columns beside each other
        cls,
        site: str,
        v: Surroundings,
        peer: Integers,
        example: Integers,
        seconds: Floats,
        blocks: tuple[int, ...],
        names: Sequence[str],
    ) -> Bursts:
        """Return the bursts of a place.

        Args:
            site: Name of the place.
            v: Surroundings of each recorded row, including :data:`BEFORE`.
            peer: Its partner or root.
            example: Its recording.
            seconds: The burst before it.
            blocks: Sizes of the blocks that the program distributes.
            names: Name of each part of the program.
        """
        left = np.ones(len(seconds), bool)
        roles: list[tuple[Role | None, Pool]] = []
        parts, counts = np.unique(v[BEFORE], return_counts=True)
        *rare, usual = parts[np.argsort(counts, kind="stable")].tolist() or [-1]
        after = [(_after(part, names), v[BEFORE] == usual) for part in rare]
        for role, others in (*after, *((role, None) for role in ROLES)):
            where = role.holds(v, peer) & left
            ratios = _ratios(where, left & ~where if others is None else others, example, seconds)
            if others is not None:  # bursts after different parts run different code: a usual difference is enough
                ratios = ratios and [float(np.median(ratios))]
            if ratios and (min(ratios) > _APART or max(ratios) < 1 / _APART):
                roles.append((role, _pool(rows_of(v, where), example[where], seconds[where], blocks)))
                left = left & ~where
        roles.append((None, _pool(rows_of(v, left), example[left], seconds[left], blocks)))
        return cls(tuple(roles), site)

    def draw(self, v: Surroundings, peer: Integers) -> tuple[Floats, Floats, Floats, Floats]:
        """Return each row's burst at a target, at the low and high end, and whether it is in the recorded range."""
        result = np.zeros((4, len(v["n"])))
        for number, where in self.by_role(v, peer):
            some, pool = rows_of(v, where), self.roles[number][1]
            mean, low, high = pool.means(some)
            varied = pool.spread.draw(np.ones(len(mean)), self.seed(number))
            result[:, where] = [mean * varied, low * varied, high * varied, pool.inside(some)]
        return result[0], result[1], result[2], result[3]

    def by_role(self, v: Surroundings, peer: Integers) -> Iterator[tuple[int, npt.NDArray[np.bool_]]]:
        """Yield the number of each role with its rows."""
        left = np.ones(len(v["n"]), bool)
        for number, (role, _) in enumerate(self.roles):
            where = left if role is None else role.holds(v, peer) & left
            if where.any():
                yield number, where
            left = left & ~where

    def seed(self, number: int) -> int:
        """Return the seed of a role's bursts."""
        return zlib.crc32(f"{self.site} {number}".encode())

    def fitted(self, part: int, v: Surroundings, peer: Integers) -> Iterator[Fitted]:
        """Yield the pools with rows at a target, given the number of this part."""
        for number, where in self.by_role(v, peer):
            role, pool = self.roles[number]
            if pool.model is None:
                continue
            features = pool.features(rows_of(v, where))
            points, counts = np.unique(np.array(list(features.values())), axis=1, return_counts=True)
            target = dict(zip(features, points, strict=True))
            yield Fitted(
                part, "" if role is None else role.name, pool, target, float(pool.modelled(target)[0] @ counts)
            )


def first_rows(v: Surroundings, rows: Integers, flags: Integers) -> tuple[dict[str, Integers], Integers]:
    """Return the rows of a part that begin a call, with their surroundings: bursts before the others are empty.

    Args:
        v: Surroundings of the rows.
        rows: Their positions.
        flags: Flags of all rows of the program.
    """
    begins = (flags[rows] & int(Flag.CONTINUED)) == 0
    return rows_of(v, begins), rows[begins]


def predecessors(parts: Sequence[tuple[int, Integers]], offsets: npt.ArrayLike) -> list[Integers]:
    """Return the part of the program that precedes each row on its rank, for :data:`BEFORE`.

    Args:
        parts: Numbers of parts, with the positions of their rows; all rows of a program.
        offsets: Position at which each rank begins, and the end.
    """
    begins = np.asarray(offsets)
    numbers = np.full(begins[-1] + 1, -1)
    for number, rows in parts:
        numbers[rows + 1] = number
    numbers[begins[:-1]] = -1
    return [numbers[rows] for _, rows in parts]


def add_predecessors(parts: Sequence[tuple[int, dict[str, Integers], Integers]], offsets: npt.ArrayLike) -> None:
    """Add to the surroundings of all parts the part that precedes each of their rows, as :data:`BEFORE`."""
    before = predecessors([(number, rows) for number, _, rows in parts], offsets)
    for (_, v, _), each in zip(parts, before, strict=True):
        v[BEFORE] = each


def together(drawn: Floats, places: Sequence[Integers]) -> tuple[Floats, Floats]:
    """Return the bursts at the ends of an interval of all places together.

    The models of different places err independently, so the squares of their deviations add up. Every place keeps its
    share of the sum.

    Args:
        drawn: Bursts at the mean and at the low and the high end of their own place's interval, shape (3, rows).
        places: Rows of each place.
    """
    mean = drawn[0]
    low, high = (mean + _joint_share(end - mean, places) * (end - mean) for end in drawn[1:])
    return low, high


def _joint_share(deviations: Floats, places: Sequence[Integers]) -> float:
    """Return the ratio of the deviation of all places together to the sum of their deviations."""
    of_places = np.array([deviations[rows].sum() for rows in places])
    alike = float(np.abs(of_places).sum())
    return float(np.linalg.norm(of_places)) / alike if alike else 0.0


def cut_remarks(bursts: Sequence[Bursts], names: Sequence[str], recorded: Floats) -> list[str]:
    """Return a caveat if outliers are much of the computation of usual recordings, so that they may be the program's.

    Args:
        bursts: Bursts of all places.
        names: Name of each place for readers.
        recorded: Computation of each recording, seconds, shape (recordings,).
    """
    cut = np.zeros((len(bursts), len(recorded)))
    for of_place, each in zip(cut, bursts, strict=True):
        for _, pool in each.roles:
            of_place[: len(pool.cut)] += pool.cut
    share = float(np.median(cut.sum(axis=0) / np.maximum(recorded, _LEAST)))
    if share <= _CUT:
        return []
    return [
        f"{share:.0%} of the recorded computation is left out, as bursts of more than twice the median, above all "
        f"before {names[int(cut.sum(axis=1).argmax())]}, count as disturbances: if the program computes longer there "
        "in some iterations, add a call behind that computation, such as a Barrier, and record again"
    ]


def outside_remarks(seconds: Floats, inside: Floats) -> list[str]:
    """Return a caveat if much of the computation lies outside the recorded range.

    Args:
        seconds: Bursts.
        inside: Whether each lies in the recorded range, 1 or 0.
    """
    whole = seconds.sum()
    outside = float((seconds * (1.0 - inside)).sum() / whole) if whole else 0.0
    if outside <= _OUTSIDE:
        return []
    return [
        f"{outside:.0%} of the computation depends on sizes beyond those that were recorded: "
        "record nearer to the target; clue extrapolate --plan says where, if the size is that of the whole problem"
    ]


def _ratios(
    where: npt.NDArray[np.bool_], others: npt.NDArray[np.bool_], example: Integers, seconds: Floats
) -> list[float]:
    """Return the ratio of the median of some bursts to that of others, by recording that has both, if several have."""
    ratios = []
    for number in np.unique(example[others]):
        mine, rest = where & (example == number), others & (example == number)
        if mine.any() and rest.any():
            ratios.append(float((np.median(seconds[mine]) + _LEAST) / (np.median(seconds[rest]) + _LEAST)))
    return ratios if len(ratios) > 1 else []


def _pool(v: Surroundings, example: Integers, seconds: Floats, blocks: tuple[int, ...]) -> Pool:
    if not len(seconds) or not (seconds > _LEAST).any():
        return Pool(None, None, Distribution.of([]))
    bounded = _without_outliers(example, v["rank"], seconds)
    cut, seconds = np.bincount(example, seconds - bounded).astype(np.float64), bounded
    v = {name: column for name, column in v.items() if name != BEFORE}
    found = local_size(v, example, seconds, blocks) if len(np.unique(example)) < len(seconds) else None
    shares = _Shares.of(v, example, seconds)
    size: LocalSize | EvenShare | UnevenShare | None = shares.best
    if found and shares.admit(found):
        size = found
    elif found and isinstance(size, EvenShare):
        size = UnevenShare(size, found)
    points, times, counts = _points(v, example, seconds, size)
    model = fit(points, times, weights=counts)
    means = model.predict(Pool(size, model, Distribution.of([])).features(v))[0]
    spread = Distribution.of(_relative(example, seconds, means))
    return Pool(size, model, spread, points | {"seconds": times}, cut)


def _relative(example: Integers, seconds: Floats, means: Floats) -> Iterator[Floats]:
    """Yield the bursts of each recording relative to their modelled means.

    Bursts with very short means, of ranks without a share for instance, vary far more than others and are left out.
    """
    for each in np.unique(example):
        mine = example == each
        mine &= means > max(_LEAST, _SHORT * float(means[mine].max()))
        yield seconds[mine] / means[mine]


@dataclass(frozen=True, slots=True, eq=False)
class _Shares:
    """Means of recordings, and how well even shares of the problem explain them.

    Attributes:
        means: Mean burst of each recording, shape (recordings,).
        of_recordings: Returns the mean of a local size in each recording, shape (recordings,).
        left: Residual of each even share; empty if there are too few recordings, or one has no bursts.
    """

    means: Floats
    of_recordings: Callable[[LocalSize | EvenShare], Floats]
    left: Mapping[EvenShare, float]

    @classmethod
    def of(cls, v: Surroundings, example: Integers, seconds: Floats) -> _Shares:
        """Return the means of recordings."""
        _, which, counts = np.unique(example, return_inverse=True, return_counts=True)

        def of_recordings(size: LocalSize | EvenShare) -> Floats:
            return np.asarray(np.bincount(which, size(v)) / counts)

        means = np.bincount(which, seconds) / counts
        known = len(means) > _FITTED and bool((means > 0).all())
        shares = map(EvenShare, (1, 2, 3)) if known else ()
        return cls(means, of_recordings, {each: _left(of_recordings(each), means) for each in shares})

    @property
    def best(self) -> EvenShare | None:
        """The even share that explains the means best, if any does."""
        best = min(self.left, key=self.left.__getitem__, default=None)
        if best is None or self.left[best] >= _CLOSER * _left(np.zeros(len(self.means)), self.means):
            return None
        return best

    def admit(self, size: LocalSize) -> bool:
        """Tell whether a local size, which explains the bursts of a recording, also explains the means well enough."""
        most = max(_WORSE * min(self.left.values(), default=math.inf), len(self.means) * _ALIKE**2)
        return not self.left or _left(self.of_recordings(size), self.means) <= most


def _left(size: Floats, means: Floats) -> float:
    """Return the sum of squared residuals of relative means after a fit of a constant and a size."""
    columns = np.array([np.ones(len(means)), size / max(size.max(), 1.0)]).T / means[:, None]
    found = np.linalg.lstsq(columns, np.ones(len(means)), rcond=None)[0]
    if found.min() < 0:  # times do not fall with sizes, so only one of the terms can be present
        return min(_share_left(columns[:, i]) for i in (0, 1))
    return float(np.square(columns @ found - 1).sum())


def _share_left(column: Floats) -> float:
    size = float(column @ column)
    return float(np.square(column * (column.sum() / size) - 1).sum()) if size else float(len(column))


def _without_outliers(example: Integers, rank: Integers, seconds: Floats) -> Floats:
    """Return bursts; the outliers of their recordings are shortened to the longest that is none.

    What a rank usually takes is no outlier, even if the others take far less.
    """
    often = usual(example, rank, seconds)
    bounded: Floats = seconds.copy()
    for each in np.unique(example):
        mine = example == each
        low, middle, high = np.quantile(seconds[mine], (0.25, 0.5, 0.75))
        most = middle + _OUTLYING * max(high - low, 0.05 * middle)
        bounded[mine] = np.minimum(seconds[mine], np.maximum(often[mine], most))
    return bounded


def _points(
    v: Surroundings, example: Integers, seconds: Floats, size: LocalSize | EvenShare | UnevenShare | None
) -> tuple[dict[str, Floats], Floats, Floats]:
    """Return features and mean bursts by recording and value of the local size, and the number of bursts of each."""
    names = ["n", "P"] if size is None else ["n", "P", "m"]
    features: dict[str, list[float]] = {name: [] for name in names}
    times, counts = [], []
    sizes = np.zeros(len(seconds)) if size is None else size(v)
    for each in np.unique(example):
        mine = np.flatnonzero(example == each)
        order = mine[np.argsort(sizes[mine], kind="stable")]
        changes = np.flatnonzero(np.diff(sizes[order])) + 1
        parts = np.split(order, changes) if len(changes) < _VALUES else np.array_split(order, _VALUES)
        for part in parts:
            features["n"].append(float(v["n"][part[0]]))
            features["P"].append(float(v["P"][part[0]]))
            if size is not None:
                features["m"].append(float(sizes[part].mean()))
            times.append(float(seconds[part].mean()))
            counts.append(float(len(part)))
    return {name: np.array(column) for name, column in features.items()}, np.array(times), np.array(counts)
