"""Fit models of kinds of processors to measured runs: N-T, P-T, binning, composition, adjustment.

Kishimoto and Ichikawa, "An Execution-Time Estimation Model for Heterogeneous Clusters", sections 3.2 to 4.1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from statistics import median

import numpy as np

from clue.errors import ModelError
from clue.models.cluster import Adjustment, Bin, ClusterModel, Footprint, Run
from clue.models.fitted import FittedTime, Problem, fit_many
from clue.models.terms import RANKS, SIZE, Floats, Term, values_of

#: Name of the single part of a time that was not measured in parts.
WHOLE = "time"
#: Names of the parts of a time that was.
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


#: Runs of one kind, by number of processes per processor and by whether they exceed the memory of a processor.
_Key = tuple[str, int, bool]
#: Runs by number of ranks and by size; and times by number of ranks.
_Repeats = dict[int, dict[float, list[Run]]]
_Times = dict[int, "_Series"]
#: A fit: whose, for how many ranks (``None``: any), and of which part.
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
        ModelError: If there are too few runs to fit, or a named kind was not measured.
    """
    if not runs:
        raise ModelError("runs: at least one must be given, got none")
    parts = _parts(runs)
    kinds: dict[str, list[Bin]] = {kind: [] for run in runs for kind in run.uses}
    for name in (*(compositions or {}), *(each.source for each in (compositions or {}).values()), adjusted):
        if name and name not in kinds:
            raise ModelError(f"kind must be one that was measured ({', '.join(kinds)}), got {name}")
    limits = dict(memory or {}) if footprint is not None else {}
    faults = []
    groups = {key: _Group.of(key, times, method) for key, times in _grouped(runs, parts, footprint, limits).items()}
    fits = _fitted(groups, parts, method)
    for (kind, processes, over), group in groups.items():
        limit = limits.get(kind, math.inf)
        bounds = (limit, math.inf) if over else (0.0, limit)
        try:
            kinds[kind] += [replace(each, memory=bounds) for each in group.bins(parts, fits)]
        except ModelError as error:
            faults.append(f"{kind or 'runs'}, {processes} per processor{', beyond its memory' * over}: {error}")
    if faults:
        raise ModelError(faults)
    for kind, composition in (compositions or {}).items():
        kinds[kind] += _composed(kinds[kind], kinds[composition.source], composition)
    model = ClusterModel({kind: tuple(bins) for kind, bins in kinds.items()}, footprint)
    return _adjusted(model, runs, adjusted) if adjusted else model


def _parts(runs: Sequence[Run]) -> tuple[str, ...]:
    """Return the parts that were measured in all runs on one kind; models are fitted to these."""
    measured = [set(run.parts) for run in runs if len(run.uses) == 1]
    common = set[str]().union(*measured).intersection(*measured)
    regions = sorted(part for part in common if part.startswith(REGION))
    return (*((COMPUTE, COMMUNICATE) if {COMPUTE, COMMUNICATE} <= common else (WHOLE,)), *regions)


@dataclass(frozen=True, eq=False)
class _Series:
    """Times on a number of ranks: sizes, ascending, and for each part the median of repeats at each size."""

    sizes: list[float]
    seconds: Mapping[str, list[float]]

    @cached_property
    def whole(self) -> list[float]:
        """The time of all parts at each size."""
        return [sum(each) for each in zip(*self.seconds.values(), strict=True)]


def _grouped(
    runs: Iterable[Run], parts: tuple[str, ...], footprint: Footprint | None, limits: Mapping[str, float]
) -> dict[_Key, _Times]:
    """Return the times of the runs on one kind alone, in the order of the runs."""
    found: dict[_Key, _Repeats] = {}
    for run in runs:
        if len(run.uses) == 1:
            ((kind, use),) = run.uses.items()
            ranks = use.processors * use.processes
            over = False
            if footprint is not None:
                needed = float(footprint.of(run.size, np.array([float(ranks)]))[0])
                over = use.processes * needed > limits.get(kind, math.inf)
            of = found.setdefault((kind, use.processes, over), {}).setdefault(ranks, {})
            of.setdefault(run.size, []).append(run)
    regions = [part for part in parts if part.startswith(REGION)]
    return {
        key: {ranks: _series(by_ranks[ranks], parts, regions) for ranks in sorted(by_ranks)}
        for key, by_ranks in found.items()
    }


def _series(repeats: Mapping[float, list[Run]], parts: tuple[str, ...], regions: Sequence[str]) -> _Series:
    """Return the times of runs on a number of ranks."""
    sizes = sorted(repeats)
    return _Series(sizes, {part: [_median(repeats[size], part, regions) for size in sizes] for part in parts})


def _median(repeats: Sequence[Run], part: str, regions: Sequence[str]) -> float:
    found = [_spent(run, part, regions) for run in repeats]
    return median(found) if len(found) > 1 else found[0]


def _spent(run: Run, part: str, regions: Sequence[str]) -> float:
    """Return the time of a part; computation, or the whole, excludes regions."""
    seconds = run.parts.get(part, run.seconds)
    if not regions or part not in (COMPUTE, WHOLE):
        return seconds
    rest = seconds - sum(run.parts[each] for each in regions)
    return 0.0 if -ROUNDED * seconds <= rest < 0 else rest


def _like(part: str) -> str:
    """Return the part whose terms a part uses."""
    return WHOLE if part.startswith(REGION) else part


@dataclass(frozen=True, slots=True, eq=False)
class _Group:
    """Runs of one kind with a number of processes on each processor, and their models.

    Attributes:
        key: Which they are.
        times: Their times by number of ranks.
        singles: Numbers of ranks that have an N-T model of their own.
        apart: Numbers of ranks whose N-T models are fitted: for plain P-T models those of all.
        together: Whether there is a P-T model.
    """

    key: _Key
    times: _Times
    singles: Sequence[int]
    apart: Sequence[int]
    together: bool

    @classmethod
    def of(cls, key: _Key, times: _Times, method: Method) -> _Group:
        """Return the runs with their models."""
        _, processes, _ = key
        together = method.form == "pt" and sum(ranks > processes for ranks in times) >= FEWEST_RANKS
        # P-T models replace the N-T models above M; the paper derives them from these.
        singles = [ranks for ranks in times if ranks == processes or not together]
        return cls(key, times, singles, list(times) if method.plain else singles, together)

    def above(self, part: str) -> tuple[Floats, Floats, Floats, Floats]:
        """Return sizes, ranks, times and whole times on more ranks than a processor has processes, for P-T models."""
        rows = [
            (size, ranks, time, whole)
            for ranks, of in self.times.items()
            if ranks > self.key[1]
            for size, time, whole in zip(of.sizes, of.seconds[part], of.whole, strict=True)
        ]
        sizes, over, seconds, wholes = np.array(rows, np.float64).T
        return sizes, over, seconds, wholes

    def problems(self, parts: tuple[str, ...], method: Method) -> Iterator[tuple[_Name, Problem]]:
        """Yield what is fitted to measured times in one step."""
        for ranks in self.apart:
            of = self.times[ranks]
            for part in parts:
                yield (self.key, ranks, part), Problem({SIZE: of.sizes}, of.seconds[part], NT[_like(part)], of.whole)
        if self.together and not method.plain:
            yield from (_over_ranks(self, part) for part in parts)

    def bins(self, parts: tuple[str, ...], fits: Mapping[_Name, FittedTime | ModelError]) -> list[Bin]:
        """Return the models.

        Raises:
            ModelError: One of them could not be fitted.
        """
        names = [*self.apart, *(ranks for ranks in self.singles if ranks not in self.apart)]
        every: list[int | None] = [*names, *[None] * self.together]
        found: dict[int | None, dict[str, FittedTime]] = {ranks: {} for ranks in every}
        for ranks in every:
            for part in parts:
                each = fits[self.key, ranks, part]
                if isinstance(each, ModelError):
                    raise each
                found[ranks][part] = each
        return [Bin(self.key[1], found[ranks], ranks) for ranks in (*self.singles, *[None] * self.together)]


def _fitted(
    groups: Mapping[_Key, _Group], parts: tuple[str, ...], method: Method
) -> dict[_Name, FittedTime | ModelError]:
    """Return all fits: those of all groups together, because that is faster."""
    problems = dict(each for group in groups.values() for each in group.problems(parts, method))
    found = method.fit(problems)
    if method.plain:
        over = [_Scaled.of(group, part, found) for group in groups.values() if group.together for part in parts]
        scaled = [each for each in over if isinstance(each, _Scaled)]
        fits = fit_many([each.problem for each in scaled], relative=False, signed=True)
        found |= {each.name: each.rewritten(fit) for each, fit in zip(scaled, fits, strict=True)}
        rest = dict(each for each in over if not isinstance(each, _Scaled))
        found |= dict(zip(rest, fit_many(list(rest.values())), strict=True))
    return found


def _over_ranks(group: _Group, part: str) -> tuple[_Name, Problem]:
    """Return the problem of a P-T model that is fitted in one step."""
    sizes, ranks, measured, wholes = group.above(part)
    return (group.key, None, part), Problem({SIZE: sizes, RANKS: ranks}, measured, PT[_like(part)], wholes)


@dataclass(frozen=True, slots=True, eq=False)
class _Scaled:
    """The problem of the paper's P-T model: how its N-T model is scaled over P.

    Attributes:
        name: Which fit it is.
        problem: Measured times over w, the time by the N-T model, and P.
        shape: Coefficients of the N-T model.
    """

    name: _Name
    problem: Problem
    shape: Floats

    @classmethod
    def of(
        cls, group: _Group, part: str, fits: Mapping[_Name, FittedTime | ModelError]
    ) -> _Scaled | tuple[_Name, Problem]:
        """Return the problem; without any measured time or N-T models that which is fitted in one step."""
        sizes, ranks, measured, wholes = group.above(part)
        used = [p for p in group.times if p > group.key[1]]
        apart = [each for p in used if isinstance(each := fits[group.key, p, part], FittedTime)]
        if not measured.any() or len(apart) < len(used):
            return _over_ranks(group, part)
        # The paper scales "the N-T model": its shape in n is the mean over P here, of Ta after multiplying by P.
        weights = np.ones(len(used)) if part == COMMUNICATE else np.array(used)
        shape = weights @ np.array([each.coefficients for each in apart]) / len(used)
        w = np.maximum(shape @ values_of(apart[0].terms, {SIZE: sizes}, len(sizes)), 0.0)
        problem = Problem({SIZE: sizes, RANKS: ranks, "w": w}, measured, _OVER_P[_like(part)], wholes)
        return cls((group.key, None, part), problem, shape)

    def rewritten(self, fitted: FittedTime | ModelError) -> FittedTime | ModelError:
        """Return its fit in terms of sizes and ranks."""
        if isinstance(fitted, ModelError):
            return fitted
        *_, part = self.name
        terms, of_w, factors = _products(_like(part))
        matrix = np.zeros((len(terms), len(fitted.terms)))
        matrix[np.arange(len(terms)), factors] = np.append(self.shape, 1.0)[of_w]
        return fitted.rewritten(terms, matrix, "w")


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


def _composed(own: Sequence[Bin], of: Sequence[Bin], composition: Composition) -> list[Bin]:
    """Return the scaled models of another kind, for a kind without models of its own."""
    known = {(each.processes, each.ranks, each.memory) for each in own}
    wanted = [each for each in of if (each.processes, each.ranks, each.memory) not in known]
    return [
        replace(
            each,
            parts={part: time.scaled(_factor(part, own, of, composition)) for part, time in each.parts.items()},
            composed=composition.source,
        )
        for each in wanted
    ]


def _factor(part: str, own: Sequence[Bin], of: Sequence[Bin], composition: Composition) -> float:
    """Return the factor of a part of another kind's models."""
    stated = composition.factors.get(part, composition.factors.get(COMPUTE) if part.startswith(REGION) else None)
    if stated is not None:
        return stated
    alone = {each.processes: each.parts[part] for each in of if each.ranks == each.processes}
    ratios = []
    for each in own:
        if each.ranks == each.processes and each.processes in alone:
            mine, theirs = each.parts[part], alone[each.processes]
            size = mine.domain[SIZE][1]
            if (there := theirs(size, each.processes)) > 0:
                ratios.append(mine(size, each.processes) / there)
    if not ratios or median(ratios) <= 0:
        raise ModelError(f"composition: factor of {part} must be given where nothing tells it, got none")
    return median(ratios)


def _adjusted(model: ClusterModel, runs: Sequence[Run], kind: str) -> ClusterModel:
    """Return a model with adjustments: lines fitted to the measured times of runs on several kinds.

    With one or two runs, or with an offset below 0, the line goes through 0. Residuals are relative.
    """
    chosen = [run for run in runs if len(run.uses) > 1 and kind in run.uses]
    pairs: dict[int, list[tuple[float, float]]] = {}
    for run, said in zip(chosen, _predicted(model, chosen), strict=True):
        pairs.setdefault(run.uses[kind].processes, []).append((said, run.seconds))
    if not pairs:
        raise ModelError(f"{kind}: runs on several kinds of processors must be measured to adjust by, got none")
    adjustments = {processes: _line(each) for processes, each in sorted(pairs.items())}
    return replace(model, adjusted=kind, adjustments=adjustments)


def _predicted(model: ClusterModel, runs: Sequence[Run]) -> list[float]:
    """Return the predicted times of runs, seconds; those at a size and with a use in common are predicted together.

    Raises:
        ModelError: There is no model for a run.
    """
    alike: dict[tuple[str, int, float], list[int]] = {}
    for i, run in enumerate(runs):
        for kind, use in run.uses.items():
            alike.setdefault((kind, use.processes, run.size), []).append(i)
    seconds = np.zeros(len(runs))
    for (kind, processes, size), which in alike.items():
        ranks = np.array([float(runs[i].ranks) for i in which])
        seconds[which] = np.maximum(seconds[which], model.seconds(kind, processes, size, ranks))
    for i in np.flatnonzero(np.isnan(seconds)).tolist():
        model.predict(runs[i].size, runs[i].uses)  # which says why there is none
    return list(seconds.tolist())


def _line(pairs: Sequence[tuple[float, float]]) -> Adjustment:
    if len({said for said, _ in pairs}) >= FEWEST_RANKS:
        columns = np.array([(said / measured, 1 / measured) for said, measured in pairs])
        factor, offset = np.linalg.lstsq(columns, np.ones(len(pairs)), rcond=None)[0].tolist()
        # With an offset below 0, short runs would take no time at all.
        if factor > 0 and offset >= 0:
            return Adjustment(factor, offset)
    ratios = [said / measured for said, measured in pairs]
    return Adjustment(sum(ratios) / sum(ratio**2 for ratio in ratios))
