"""Fit models of kinds of processors to measured runs: N-T, P-T, binning, composition, adjustment.

Kishimoto and Ichikawa, "An Execution-Time Estimation Model for Heterogeneous Clusters", sections 3.2 to 4.1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from statistics import median

import numpy as np
import numpy.typing as npt

from clue.errors import ModelError
from clue.models.cluster import Adjustment, Bin, ClusterModel, Footprint, Run
from clue.models.fitted import FittedTime, Problem, fit_many, seconds_of
from clue.models.terms import RANKS, SIZE, Features, Floats, Term, values_of
from clue.units import count_of

#: Name of the single part of a time that was not measured in parts.
WHOLE = "time"
#: Names of the parts of a time that was measured in parts.
COMPUTE, COMMUNICATE = "compute", "communicate"
#: Prefix of the names of parts that are regions of the program: shares of computation, or of the whole.
REGION = "region:"
#: Share by which parts may exceed the whole, because they were rounded.
ROUNDED = 0.01
#: Terms of N-T models: Ta is of third order, Tc of second order; regions may have both, as a whole time.
NT = {
    COMPUTE: ("n^3", "n^2", "n", "1"),
    COMMUNICATE: ("n^2", "n", "1"),
    WHOLE: ("n^3", "n^2", "n", "1"),
}
#: Terms of P-T models fitted in one step: those of the paper's products, and terms independent of P, for panels that
#: are not shared and messages that overlap others. For these the paper's terms would need coefficients below 0.
PT = {
    COMPUTE: ("n^3/P", "n^2/P", "n/P", "1/P", "n^2", "1"),
    COMMUNICATE: ("n^2 P", "n P", "P", "n^2", "n", "1", "n^2/P"),
    WHOLE: ("n^3/P", "n^2/P", "n^2", "n^2 P", "n", "1/P", "P", "1"),
}
#: Dependence of the paper's P-T models on P, as factors of their N-T models: Ta as 1/P, Tc as P and 1/P.
_OVER_P = {COMPUTE: ("w/P", "1"), COMMUNICATE: ("w P", "w/P", "1"), WHOLE: ("w/P", "w P", "1")}
#: Minimum number of different P above M from which the dependence on P is fitted.
FEWEST_RANKS = 3


@dataclass(frozen=True, slots=True)
class Composition:
    """A kind that uses the scaled models of another kind where it has none of its own.

    Attributes:
        source: The other kind.
        factors: Factor of each part; other parts take the ratio of N-T models on one processor of each kind.
    """

    source: str
    factors: Mapping[str, float] = field(default_factory=dict)


#: Key of runs: their kind, the number of processes per processor, and whether these exceed the memory of a processor.
_Key = tuple[str, int, bool]
#: Key of a fit: that of its runs, the number of ranks (``None``: any), and the part.
_Name = tuple[_Key, int | None, str]


@dataclass(frozen=True, slots=True)
class Method:
    """Method by which models are fitted.

    Attributes:
        form: ``"nt"``: for each number of ranks separately; ``"pt"``: for any number, where there are enough runs.
        plain: Whether to fit as the paper does: least squares in seconds, coefficients of either sign, P-T models from
            N-T models. Otherwise residuals are relative to the whole time of a run, coefficients at least 0, and P-T
            models are fitted in one step.
    """

    form: str = "pt"
    plain: bool = False

    def fit(self, problems: Mapping[_Name, Problem]) -> dict[_Name, FittedTime | ModelError]:
        """Return the fits of N-T models and, unless it is plain, of P-T models."""
        fits = fit_many(list(problems.values()), relative=not self.plain, signed=self.plain)
        return dict(zip(problems, fits, strict=True))


def fit_cluster(
    runs: Sequence[Run],
    method: Method = Method(),
    *,
    footprint: Footprint | None = None,
    memory: Mapping[str, float] | None = None,
    compositions: Mapping[str, Composition] | None = None,
    adjusted: str = "",
) -> ClusterModel:
    """Fit models of all kinds of processors on which runs were measured.

    Models are fitted to runs on a single kind: N-T for each number of ranks, P-T over those above M if there are three
    or more of them. Runs on several kinds serve to adjust these models.

    Args:
        runs: Measured runs. If all have the same parts, these are fitted separately: computation, communication, and
            regions, which are then subtracted from computation or from the whole time.
        method: Method of fitting.
        footprint: Memory that a process needs, if models are binned by memory.
        memory: Memory of a processor of each kind, bytes; runs that need more have a model of their own.
        compositions: For each kind without models of its own, the kind whose models it takes.
        adjusted: Kind whose number of processes selects the adjustment; ``""``: none.

    Raises:
        ModelError: If there are too few runs to fit, a named kind was not measured, there is a factor of communication
            that was not measured, or all predictions of the runs to adjust by are 0.
    """
    if not runs:
        raise ModelError("runs: at least one must be given, got none")
    alone = [run for run in runs if len(run.uses) == 1]
    if not alone:
        raise ModelError("runs: at least one must be on one kind of processor, got none")
    parts = parts_of(alone)
    kinds: dict[str, list[Bin]] = {kind: [] for run in runs for kind in run.uses}
    sources = [each.source for each in (compositions or {}).values()]
    for name in (*(compositions or {}), *sources, *(memory or {}), adjusted):
        if name and name not in kinds:
            raise ModelError(f"kind must be one that was measured ({', '.join(kinds)}), got {name}")
    # A factor of computation has other uses: it scales regions, and the command states it as that of the whole, too.
    if COMMUNICATE not in parts and any(COMMUNICATE in each.factors for each in (compositions or {}).values()):
        got = f"one of {COMMUNICATE}"
        raise ModelError(f"composition: factors must be of parts that all runs have ({', '.join(parts)}), got {got}")
    limits = dict(memory or {}) if footprint is not None else {}
    faults: list[str] = []
    points = _Points.of(alone, list(kinds), parts, footprint, limits)
    groups = [_Group.of(key, rows, points, method) for key, rows in points.rows.items()]
    fits = _fitted(points, groups, parts, method)
    for group in groups:
        kind, _, over = group.key
        limit = limits.get(kind, math.inf)
        try:
            kinds[kind] += group.bins(parts, fits, (limit, math.inf) if over else (0.0, limit))
        except ModelError as error:
            faults += error.faults
    if faults:
        raise ModelError(faults)
    own = {kind: tuple(bins) for kind, bins in kinds.items()}
    whole = {kind: _with_composed(kind, own, compositions or {}, limits) for kind in own}
    model = ClusterModel(whole, footprint)
    return _adjusted(model, runs, adjusted) if adjusted else model


def parts_of(runs: Sequence[Run]) -> tuple[str, ...]:
    """Return the parts that were measured in all of one or more runs; models are fitted to these."""
    measured = {tuple(run.parts) for run in runs}
    common = set[str]().union(*measured).intersection(*measured)
    regions = sorted(part for part in common if part.startswith(REGION))
    return (*((COMPUTE, COMMUNICATE) if {COMPUTE, COMMUNICATE} <= common else (WHOLE,)), *regions)


@dataclass(frozen=True, slots=True, eq=False)
class _Points:
    """Runs on one kind alone as a table: repeats are one point, whose parts each have the median of their times.

    Attributes:
        sizes: Shape (points,), ascending for each number of ranks.
        ranks: Shape (points,), ascending for each key.
        seconds: Time of each part, shape (points,).
        whole: Time of all parts, shape (points,).
        noise: Standard deviation of repeats as a share of that, shape (points,); NaN if there is one run.
        rows: Points by key and number of ranks.
    """

    sizes: Floats
    ranks: Floats
    seconds: Mapping[str, Floats]
    whole: Floats
    noise: Floats
    rows: Mapping[_Key, Mapping[int, slice]]

    @classmethod
    def of(
        cls,
        runs: Sequence[Run],
        kinds: Sequence[str],
        parts: tuple[str, ...],
        footprint: Footprint | None,
        limits: Mapping[str, float],
    ) -> _Points:
        """Return the table of runs on one kind; regions are excluded from the first of the parts."""
        numbers = {kind: number for number, kind in enumerate(kinds)}
        uses = [use for run in runs for use in run.uses.values()]
        places = [
            [run.size for run in runs],
            [use.processors * use.processes for use in uses],
            [0] * len(runs),
            [use.processes for use in uses],
            [numbers[kind] for run in runs for kind in run.uses],
        ]
        keys = np.array(places, np.float64)
        if footprint is not None:
            sizes, ranks, over, processes, kind = keys
            most = np.array([limits.get(each, math.inf) for each in kinds])[kind.astype(int)]
            over[processes * footprint.of(sizes, ranks) > most] = 1
        times = [[run.seconds if part == WHOLE else run.parts[part] for run in runs] for part in parts]
        seconds = np.array(times, np.float64)
        regions = sum(part.startswith(REGION) for part in parts)
        if regions:
            rest = seconds[0] - seconds[-regions:].sum(axis=0)
            seconds[0] = np.where((rest < 0) & (rest >= -ROUNDED * seconds[0]), 0.0, rest)
        order = np.lexsort(keys)
        keys, seconds = keys[:, order], seconds[:, order]
        noise = np.full(len(runs), math.nan)
        if len(starts := _starts(keys)) < len(runs):
            noise = _deviations(np.array([run.seconds for run in runs], np.float64)[order], starts)
            keys, seconds = keys[:, starts], _medians(seconds, starts)
        rows: dict[_Key, dict[int, slice]] = {}
        begins = _starts(keys[1:])
        ends = [*begins.tolist(), keys.shape[1]]
        for (p, above, m, number), begin, end in zip(keys[1:, begins].T.tolist(), ends, ends[1:], strict=False):
            rows.setdefault((kinds[int(number)], int(m), above > 0), {})[int(p)] = slice(begin, end)
        whole = seconds.sum(axis=0)
        noise /= np.where(whole > 0, whole, math.nan)
        return cls(keys[0], keys[1], dict(zip(parts, seconds, strict=True)), whole, noise, rows)


def _starts(keys: Floats) -> npt.NDArray[np.intp]:
    """Return the places at which spans of equal columns start: the first, and all where a row changes its value."""
    return np.flatnonzero(np.append([True] * (keys.shape[1] > 0), (keys[:, 1:] != keys[:, :-1]).any(axis=0)))


def _medians(values: Floats, starts: npt.NDArray[np.intp]) -> Floats:
    """Return the median of each row over each span of columns, shape (rows, spans); ``starts``: where spans start."""
    counts = np.diff(starts, append=values.shape[1])
    span = np.broadcast_to(np.repeat(np.arange(len(starts)), counts), values.shape)
    ordered = np.take_along_axis(values, np.lexsort((values, span)), axis=1)
    return np.asarray((ordered[:, starts + (counts - 1) // 2] + ordered[:, starts + counts // 2]) / 2)


def _deviations(values: Floats, starts: npt.NDArray[np.intp]) -> Floats:
    """Return the standard deviation of each span of values, shape (spans,); NaN if it is one value."""
    counts = np.diff(starts, append=len(values))
    off = values - np.repeat(np.add.reduceat(values, starts) / counts, counts)
    return np.asarray(np.sqrt(np.add.reduceat(off**2, starts) / np.where(counts > 1, counts - 1, math.nan)))


def _like(part: str) -> str:
    """Return the part whose terms a part uses."""
    return WHOLE if part.startswith(REGION) else part


@dataclass(frozen=True, slots=True, eq=False)
class _Group:
    """Runs of one kind with a number of processes on each processor, and their models.

    Attributes:
        key: Key of the runs.
        rows: Their points by number of ranks.
        points: All points.
        singles: Numbers of ranks that have an N-T model of their own.
        apart: Numbers of ranks for which N-T models are fitted: all numbers, if the method is plain.
        above: Numbers of ranks larger than M that share a P-T model; empty if there is none.
    """

    key: _Key
    rows: Mapping[int, slice]
    points: _Points
    singles: Sequence[int]
    apart: Sequence[int]
    above: Sequence[int]

    @classmethod
    def of(cls, key: _Key, rows: Mapping[int, slice], points: _Points, method: Method) -> _Group:
        """Return the runs with their models."""
        _, processes, _ = key
        above = [ranks for ranks in rows if ranks > processes]
        if method.form != "pt" or len(above) < FEWEST_RANKS:
            above = []
        # P-T models replace the N-T models above M; the paper derives the former from the latter.
        singles = [ranks for ranks in rows if ranks == processes or not above]
        return cls(key, rows, points, singles, list(rows) if method.plain else singles, above)

    @property
    def over(self) -> slice:
        """The points of the P-T model."""
        return slice(self.rows[self.above[0]].start, self.rows[self.above[-1]].stop)

    def alone(self, part: str, ranks: int) -> Problem:
        """Return the problem of an N-T model."""
        at = self.rows[ranks]
        features = {SIZE: self.points.sizes[at]}
        return self._problem(part, features, NT, at)

    def together(self, part: str) -> Problem:
        """Return the problem of a P-T model that is fitted in one step."""
        features = {SIZE: self.points.sizes[self.over], RANKS: self.points.ranks[self.over]}
        return self._problem(part, features, PT, self.over)

    def _problem(self, part: str, features: Features, terms: Mapping[str, tuple[str, ...]], at: slice) -> Problem:
        """Return the problem of a part at some points."""
        of = self.points
        known = of.noise[at][~np.isnan(of.noise[at])]
        noise = float(np.median(known)) if len(known) else 0.0
        return Problem(features, of.seconds[part][at], terms[_like(part)], of.whole[at], noise)

    def problems(self, parts: tuple[str, ...], method: Method) -> Iterator[tuple[_Name, Problem]]:
        """Yield the problems that are fitted to measured times in one step."""
        for part in parts:
            for ranks in self.apart:
                yield (self.key, ranks, part), self.alone(part, ranks)
            if self.above and not method.plain:
                yield (self.key, None, part), self.together(part)

    def bins(
        self, parts: tuple[str, ...], fits: Mapping[_Name, FittedTime | ModelError], memory: tuple[float, float]
    ) -> list[Bin]:
        """Return the models.

        Raises:
            ModelError: If some of them could not be fitted; with one reason for each number of ranks.
        """
        found: list[Bin] = []
        faults: dict[int | None, str] = {}
        for ranks in (*self.apart, *[None] * bool(self.above)):
            times: dict[str, FittedTime] = {}
            for part in parts:
                each = fits[self.key, ranks, part]
                if isinstance(each, ModelError):
                    faults.setdefault(ranks, f"{self._of(ranks)}{each}")
                else:
                    times[part] = each
            if ranks is None or ranks in self.singles:
                found.append(Bin(self.key[1], times, ranks, memory))
        if faults:
            raise ModelError(list(faults.values()))
        return found

    def _of(self, ranks: int | None) -> str:
        """Say for which runs a model is, if there are others."""
        kind, processes, over = self.key
        several = "" if len(self.rows) == 1 else f" on {count_of(ranks)}" if ranks else f" above {count_of(processes)}"
        return f"{kind or 'runs'}, {processes} per processor{several}{', beyond its memory' * over}: "


def _fitted(
    points: _Points, groups: Sequence[_Group], parts: tuple[str, ...], method: Method
) -> dict[_Name, FittedTime | ModelError]:
    """Return all fits; all groups are fitted together, because that is faster."""
    found = method.fit(dict(each for group in groups for each in group.problems(parts, method)))
    if method.plain:
        over: list[_Scaled | tuple[_Name, Problem]] = []
        for part in parts:
            terms = [Term.parse(each) for each in NT[_like(part)]]
            values = values_of(terms, {SIZE: points.sizes}, len(points.sizes))
            over += [_Scaled.of(group, part, found, values) for group in groups if group.above]
        scaled = [each for each in over if isinstance(each, _Scaled)]
        fits = fit_many([each.problem for each in scaled], relative=False, signed=True)
        found |= {each.name: each.rewritten(fit) for each, fit in zip(scaled, fits, strict=True)}
        rest = dict(each for each in over if not isinstance(each, _Scaled))
        found |= dict(zip(rest, fit_many(list(rest.values())), strict=True))
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Scaled:
    """The problem of the paper's P-T model: how its N-T model is scaled over P.

    Attributes:
        name: Key of the fit.
        problem: Measured times over w, the time by the N-T model, and P.
        shape: Coefficients of the N-T model.
    """

    name: _Name
    problem: Problem
    shape: Floats

    @classmethod
    def of(
        cls, group: _Group, part: str, fits: Mapping[_Name, FittedTime | ModelError], values: Floats
    ) -> _Scaled | tuple[_Name, Problem]:
        """Return the problem; if all times are 0 or N-T models are missing, the one that is fitted in one step.

        Args:
            group: The runs.
            part: The part of their times.
            fits: N-T models.
            values: Values of their terms, shape (terms, points).
        """
        name, problem = (group.key, None, part), group.together(part)
        apart = [each for p in group.above if isinstance(each := fits[group.key, p, part], FittedTime)]
        if not np.any(problem.seconds) or len(apart) < len(group.above):
            return name, problem
        # The paper scales "the N-T model". Here its shape in n is the mean over P; Ta is multiplied by P first.
        weights = np.ones(len(apart)) if part == COMMUNICATE else np.array(group.above)
        shape = weights @ np.array([each.coefficients for each in apart]) / len(apart)
        features = {**problem.features, "w": np.maximum(shape @ values[:, group.over], 0.0)}
        return cls(name, replace(problem, features=features, terms=_OVER_P[_like(part)]), shape)

    def rewritten(self, fitted: FittedTime | ModelError) -> FittedTime | ModelError:
        """Return its fit in terms of sizes and ranks."""
        if isinstance(fitted, ModelError):
            return fitted
        *_, part = self.name
        terms, of_w, of = _products(_like(part))
        return fitted.rewritten(terms, of, np.append(self.shape, 1.0)[of_w], "w")


@cache
def _products(part: str) -> tuple[tuple[Term, ...], list[int], list[int]]:
    """Return the terms of the paper's P-T model; and for each its term of w, or -1, and its dependence on P."""
    found = []
    for factor, text in enumerate(_OVER_P[part]):
        term = Term.parse(text)
        rest = tuple(each for each in term.powers if each[0] != "w")
        scaled = list(enumerate(NT[part])) if rest != term.powers else [(-1, "1")]
        found += [(Term(Term.parse(each).powers + rest), i, factor) for i, each in scaled]
    terms, of_w, factors = zip(*found, strict=True)
    return terms, list(of_w), list(factors)


def _with_composed(
    kind: str,
    own: Mapping[str, tuple[Bin, ...]],
    compositions: Mapping[str, Composition],
    limits: Mapping[str, float],
    takers: tuple[str, ...] = (),
) -> tuple[Bin, ...]:
    """Return the models of a kind: its own, and scaled ones of another kind, which may take some of a third.

    Args:
        kind: The kind.
        own: Models that were fitted to each kind's own times.
        compositions: For each kind, the kind whose models it takes.
        limits: Memory of a processor of each kind, bytes.
        takers: Kinds for which this one's models are sought; one of them gives only its own.
    """
    composition = compositions.get(kind)
    if composition is None or kind in takers:
        return own[kind]
    of = _with_composed(composition.source, own, compositions, limits, (*takers, kind))
    return (*own[kind], *_composed(own[kind], of, composition, limits.get(kind, math.inf)))


def _composed(own: Sequence[Bin], of: Sequence[Bin], composition: Composition, limit: float) -> list[Bin]:
    """Return the scaled models of another kind, where a kind has none of its own; within its own memory or beyond."""
    lacking = [each for each in of if not any(_covers(mine, each) for mine in own)]
    wanted = [each for each in lacking if limit < math.inf or not each.is_beyond]
    return [
        Bin(
            each.processes,
            {part: time.scaled(*_factor(part, own, of, composition)) for part, time in each.parts.items()},
            each.ranks,
            (limit, math.inf) if each.is_beyond else (0.0, limit),
            composition.source,
        )
        for each in wanted
    ]


def _covers(own: Bin, other: Bin) -> bool:
    """Tell whether a model holds for all numbers of ranks of another kind's model, whatever the memory of the kinds."""
    if (own.processes, own.is_beyond) != (other.processes, other.is_beyond):
        return False
    return own.ranks is None if other.ranks is None else bool(own.holds_for(other.ranks))


def _factor(
    part: str, own: Sequence[Bin], of: Sequence[Bin], composition: Composition
) -> tuple[float, Callable[[], float]]:
    """Return the factor of a part of another kind's models, and its uncertainty (:meth:`FittedTime.scaled`)."""
    stated = composition.factors.get(part, composition.factors.get(COMPUTE) if part.startswith(REGION) else None)
    if stated is not None:
        return stated, float
    alone = {(each.processes, each.is_beyond): each.parts[part] for each in of if each.ranks == each.processes}
    ratios, fits = list[float](), list[tuple[FittedTime, float]]()
    for each in own:
        if each.ranks == each.processes and (each.processes, each.is_beyond) in alone:
            mine, theirs = each.parts[part], alone[each.processes, each.is_beyond]
            size = mine.domain[SIZE][1]
            if (there := theirs(size, each.processes)) > 0:
                ratios.append(mine(size, each.processes) / there)
                fits += [(mine, size), (theirs, size)]
    if not ratios or median(ratios) <= 0:
        raise ModelError(f"composition: factor of {part} must be given if no run determines it, got none")
    return median(ratios), partial(_doubt, fits, len(ratios))


def _doubt(fits: Sequence[tuple[FittedTime, float]], ratios: int) -> float:
    """Return the standard deviation of the mean of ratios, as a share; that of their median is taken for it."""
    return math.hypot(*(float(fit.doubt({SIZE: [size]})[0]) for fit, size in fits)) / ratios


def _adjusted(model: ClusterModel, runs: Sequence[Run], kind: str) -> ClusterModel:
    """Return a model with adjustments: lines fitted to the measured times of runs on several kinds.

    With one or two runs, or with an offset below 0, the line goes through 0. Residuals are relative.
    """
    chosen = [run for run in runs if len(run.uses) > 1 and kind in run.uses]
    if not chosen:
        raise ModelError(f"{kind}: runs on several kinds of processors must be measured to adjust by, got none")
    pairs: dict[int, list[tuple[float, float]]] = {}
    for run, said in zip(chosen, _predicted(model, chosen), strict=True):
        # As in a prediction, times below 0 are 0.
        pairs.setdefault(run.uses[kind].processes, []).append((max(said, 0.0), run.seconds))
    for processes, each in pairs.items():
        if not any(said for said, _ in each):
            rule = "predictions of the runs to adjust by must be above 0, got none: fit without --plain"
            raise ModelError(f"{kind}, {processes} per processor: {rule}")
    adjustments = {processes: _line(each) for processes, each in sorted(pairs.items())}
    return replace(model, adjusted=kind, adjustments=adjustments)


def _predicted(model: ClusterModel, runs: Sequence[Run]) -> list[float]:
    """Return the predicted times of runs, seconds; all are predicted together, because that is faster.

    Raises:
        ModelError: If there is no model for a run.
    """
    parts, at = list[FittedTime](), list[tuple[float, int]]()
    bins, kinds = [0], [0]
    for run in runs:
        ranks = run.ranks
        for kind, use in run.uses.items():
            holding = model.holding(kind, use.processes, run.size, ranks)
            if holding is None:
                model.predict(run.size, run.uses)  # raises an error that says why there is none
            else:
                parts += holding.parts.values()
                at += [(run.size, ranks)] * len(holding.parts)
                bins.append(len(parts))
        kinds.append(len(bins) - 1)
    features = dict(zip((SIZE, RANKS), np.array(at, np.float64).T, strict=True))
    of_kinds = np.add.reduceat(seconds_of(parts, features), bins[:-1])
    return list(np.maximum.reduceat(of_kinds, kinds[:-1]).tolist())


def _line(pairs: Sequence[tuple[float, float]]) -> Adjustment:
    if len({said for said, _ in pairs}) >= FEWEST_RANKS:
        columns = np.array([(said / measured, 1 / measured) for said, measured in pairs])
        factor, offset = np.linalg.lstsq(columns, np.ones(len(pairs)), rcond=None)[0].tolist()
        # With an offset below 0, short runs would take no time at all.
        if factor > 0 and offset >= 0:
            return Adjustment(factor, offset)
    ratios = [said / measured for said, measured in pairs]
    return Adjustment(sum(ratios) / sum(ratio**2 for ratio in ratios))
