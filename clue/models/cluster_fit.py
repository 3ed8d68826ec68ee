"""Fit models of kinds of processors to measured runs: N-T, P-T, binning, composition, adjustment.

Kishimoto and Ichikawa, "An Execution-Time Estimation Model for Heterogeneous Clusters", sections 3.2 to 4.1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median

import numpy as np

from clue.errors import ModelError
from clue.models.cluster import Adjustment, Bin, ClusterModel, Footprint, Run
from clue.models.fitted import FittedTime, fit_each, fit_terms
from clue.models.terms import RANKS, SIZE, Term

#: What a time is that was not measured in parts.
WHOLE = "time"
#: The parts of a time that was.
COMPUTE, COMMUNICATE = "compute", "communicate"
#: Begins the names of those parts of computation, or of the whole, that a region of the program takes.
REGION = "region:"
#: By what share of the whole parts may exceed it, because they were rounded.
ROUNDED = 0.01
#: The terms of N-T models: Ta is of the third order, Tc of the second; regions may have both, as a whole time.
NT = {
    COMPUTE: ("n^3", "n^2", "n", "1"),
    COMMUNICATE: ("n^2", "n", "1"),
    WHOLE: ("n^3", "n^2", "n", "1"),
}
#: The terms of P-T models, if they are fitted at once: like those of the paper's products; and what does not depend on
#: P, as panels that nobody shares, and messages that go on in the background of others: for these the paper's need
#: coefficients below 0.
PT = {
    COMPUTE: ("n^3/P", "n^2/P", "n/P", "1/P", "n^2", "1"),
    COMMUNICATE: ("n^2 P", "n P", "P", "n^2", "n", "1", "n^2/P"),
    WHOLE: ("n^3/P", "n^2/P", "n^2", "n^2 P", "n", "1/P", "P", "1"),
}
#: How the paper's P-T models depend on P, beside their N-T models: Ta as 1/P, Tc as P and 1/P.
_OVER_P = {COMPUTE: ("w/P", "1"), COMMUNICATE: ("w P", "w/P", "1"), WHOLE: ("w/P", "w P", "1")}
#: At least so many numbers of ranks above M tell how a time depends on them.
FEWEST_RANKS = 3


@dataclass(frozen=True, slots=True)
class Composition:
    """A kind whose models are those of another, scaled, where it has none itself.

    Attributes:
        source: The other kind.
        factors: By part; parts that are not named take the ratio of N-T models on one processor of each kind.
    """

    source: str
    factors: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Method:
    """How models are fitted.

    Attributes:
        form: ``"nt"``: for each number of ranks by itself; ``"pt"``: for any, where there is enough to tell.
        plain: Whether as the paper does: least squares in seconds, of either sign, P-T models from N-T models. Else
            relative to what was measured, with coefficients of at least 0, and P-T models at once.
    """

    form: str = "pt"
    plain: bool = False

    def fit(self, sizes: Sequence[float], times: Sequence[Sequence[float]], terms: Sequence[str]) -> list[FittedTime]:
        """Return fits over sizes, of several times that were measured at the same ones."""
        return fit_each({SIZE: sizes}, times, terms, relative=not self.plain, signed=self.plain)


#: Runs of one kind, by number of processes per processor, and whether they need more memory than a processor has.
_Key = tuple[str, int, bool]
#: Medians of repeats: by ranks and size, times by part.
_Times = dict[tuple[int, float], dict[str, float]]


def fit_cluster(
    runs: Sequence[Run],
    method: Method = Method(),
    *,
    footprint: Footprint | None = None,
    memory: Mapping[str, float] | None = None,
    compositions: Mapping[str, Composition] | None = None,
    adjusted: str = "",
) -> ClusterModel:
    """Return models of all kinds of processors that runs were measured on.

    Runs on one kind alone are what models are fitted to: N-T for each number of ranks, P-T over those above M if there
    are three of them or more. Runs on several kinds are what these models are adjusted by.

    Args:
        runs: What was measured. If all have the same parts, these are fitted apart: computation and communication, and
            regions, which are left out of computation then, or of the whole time.
        method: How they are fitted.
        footprint: What memory a process needs, if models go by memory.
        memory: By kind, the bytes of a processor: what needs more has a model of its own.
        compositions: By kind, whose models it takes where it has none.
        adjusted: The kind by whose number of processes models are adjusted; ``""``: none.

    Raises:
        ModelError: If there is too little to fit, or what is named was not measured.
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
    for (kind, processes, over), times in _grouped(runs, parts, footprint, limits).items():
        limit = limits.get(kind, math.inf)
        bounds = (limit, math.inf) if over else (0.0, limit)
        try:
            kinds[kind] += [replace(each, memory=bounds) for each in _bins(processes, times, parts, method)]
        except ModelError as error:
            faults.append(f"{kind or 'runs'}, {processes} per processor{', beyond its memory' * over}: {error}")
    if faults:
        raise ModelError(faults)
    for kind, composition in (compositions or {}).items():
        kinds[kind] += _composed(kinds[kind], kinds[composition.source], composition)
    model = ClusterModel({kind: tuple(bins) for kind, bins in kinds.items()}, footprint)
    return _adjusted(model, runs, adjusted) if adjusted else model


def _parts(runs: Sequence[Run]) -> tuple[str, ...]:
    """Return the parts that all runs on one kind were measured in: what models are fitted to."""
    measured = [set(run.parts) for run in runs if len(run.uses) == 1]
    common = set[str]().union(*measured).intersection(*measured)
    regions = sorted(part for part in common if part.startswith(REGION))
    return (*((COMPUTE, COMMUNICATE) if {COMPUTE, COMMUNICATE} <= common else (WHOLE,)), *regions)


def _grouped(
    runs: Iterable[Run], parts: tuple[str, ...], footprint: Footprint | None, limits: Mapping[str, float]
) -> dict[_Key, _Times]:
    """Return medians of repeats of the runs on one kind alone, in the order of the runs."""
    found: dict[_Key, dict[tuple[int, float], list[Run]]] = {}
    for run in runs:
        if len(run.uses) == 1:
            ((kind, use),) = run.uses.items()
            needed = 0.0 if footprint is None else float(footprint.of(run.size, np.array([float(run.ranks)]))[0])
            key = kind, use.processes, use.processes * needed > limits.get(kind, math.inf)
            found.setdefault(key, {}).setdefault((run.ranks, run.size), []).append(run)
    return {
        key: {
            at: {part: median(_spent(run, part, parts) for run in repeats) for part in parts}
            for at, repeats in sorted(of.items())
        }
        for key, of in found.items()
    }


def _spent(run: Run, part: str, parts: tuple[str, ...]) -> float:
    """Return what a part took: of computation, or of the whole, what is not in regions."""
    seconds = run.parts.get(part, run.seconds)
    if part not in (COMPUTE, WHOLE):
        return seconds
    rest = seconds - sum(run.parts[each] for each in parts if each.startswith(REGION))
    return 0.0 if -ROUNDED * seconds <= rest < 0 else rest


def _like(part: str) -> str:
    """Return the part whose terms one has."""
    return WHOLE if part.startswith(REGION) else part


def _bins(processes: int, times: _Times, parts: tuple[str, ...], method: Method) -> list[Bin]:
    """Return the models of one kind with so many processes on each processor."""
    of_ranks: dict[int, _Times] = {}
    for (ranks, size), each in times.items():
        of_ranks.setdefault(ranks, {})[ranks, size] = each
    above = [ranks for ranks in of_ranks if ranks > processes]
    together = method.form == "pt" and len(above) >= FEWEST_RANKS
    # P-T models replace the N-T models above M; the paper's are made of them.
    singles = [ranks for ranks in of_ranks if ranks == processes or not together]
    apart = _apart({ranks: of_ranks[ranks] for ranks in (of_ranks if method.plain else singles)}, parts, method)
    bins = [Bin(processes, apart[ranks], ranks) for ranks in singles]
    if together:
        all_above = {at: each for at, each in times.items() if at[0] > processes}
        bins.append(Bin(processes, {part: _over_ranks(part, all_above, apart, method) for part in parts}))
    return bins


def _apart(of_ranks: Mapping[int, _Times], parts: tuple[str, ...], method: Method) -> dict[int, dict[str, FittedTime]]:
    """Return the N-T models of numbers of ranks; those measured at the same sizes are fitted together."""
    alike: dict[tuple[float, ...], list[int]] = {}
    for ranks, times in of_ranks.items():
        alike.setdefault(tuple(size for _, size in times), []).append(ranks)
    found: dict[int, dict[str, FittedTime]] = {ranks: {} for ranks in of_ranks}
    for sizes, group in alike.items():
        for part in parts:
            targets = [[each[part] for each in of_ranks[ranks].values()] for ranks in group]
            for ranks, fitted in zip(group, method.fit(sizes, targets, NT[_like(part)]), strict=True):
                found[ranks][part] = fitted
    return found


def _over_ranks(part: str, times: _Times, apart: Mapping[int, Mapping[str, FittedTime]], method: Method) -> FittedTime:
    """Return the P-T model of a part."""
    ranks, sizes = np.array(list(times), np.float64).T
    measured = np.array([each[part] for each in times.values()])
    if not method.plain or not measured.any():
        return fit_terms({SIZE: sizes, RANKS: ranks}, measured, PT[_like(part)])
    # The paper scales "the N-T model": its shape in n is the mean over P here, of Ta after multiplying by P.
    powers = tuple(map(Term.parse, NT[_like(part)]))
    used = sorted(set(ranks.tolist()))
    weights = [1.0 if part == COMMUNICATE else each for each in used]
    shape = np.mean([w * apart[int(each)][part].coefficients for w, each in zip(weights, used, strict=True)], axis=0)
    w = np.maximum(shape @ np.stack([term.of({SIZE: sizes}, len(sizes)) for term in powers]), 0.0)
    fitted = fit_terms({"w": w, RANKS: ranks}, measured, _OVER_P[_like(part)], relative=False, signed=True)
    size_of = dict(zip(w.tolist(), sizes.tolist(), strict=True))
    outliers = tuple({SIZE: size_of[each["w"]], RANKS: each[RANKS]} for each in fitted.outliers)
    domain = {SIZE: (float(sizes.min()), float(sizes.max())), RANKS: fitted.domain[RANKS]}
    return replace(_expanded(fitted, powers, shape), domain=domain, outliers=outliers)


def _expanded(fitted: FittedTime, powers: Sequence[Term], shape: np.ndarray) -> FittedTime:
    """Return a time in w = Σ shape × powers as one in what w is made of."""
    terms, rows = list[Term](), list[np.ndarray]()
    for i, term in enumerate(fitted.terms):
        rest = tuple(each for each in term.powers if each[0] != "w")
        for power, factor in zip(powers, shape, strict=True) if len(rest) < len(term.powers) else [(Term(), 1.0)]:
            terms.append(Term(power.powers + rest))
            rows.append(factor * np.eye(len(fitted.terms))[i])
    matrix = np.array(rows)
    return replace(
        fitted,
        terms=tuple(terms),
        coefficients=matrix @ fitted.coefficients,
        covariance=matrix @ fitted.covariance @ matrix.T,
    )


def _composed(own: Sequence[Bin], of: Sequence[Bin], composition: Composition) -> list[Bin]:
    """Return a kind's models that are another's, scaled: where it has none itself."""
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
    """Return what a part of another kind's models is multiplied by."""
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
    """Return a model whose times go through lines by the measured times of runs on several kinds.

    Of one or two runs, or where it would begin below 0, the line goes through 0. Residuals are relative.
    """
    pairs: dict[int, list[tuple[float, float]]] = {}
    for run in runs:
        if len(run.uses) > 1 and kind in run.uses:
            said = model.predict(run.size, run.uses).seconds
            pairs.setdefault(run.uses[kind].processes, []).append((said, run.seconds))
    if not pairs:
        raise ModelError(f"{kind}: runs on several kinds of processors must be measured to adjust by, got none")
    adjustments = {processes: _line(np.array(each)) for processes, each in sorted(pairs.items())}
    return replace(model, adjusted=kind, adjustments=adjustments)


def _line(pairs: np.ndarray) -> Adjustment:
    said, measured = pairs.T
    weight = 1 / measured
    if len(np.unique(said)) >= FEWEST_RANKS:
        columns = np.stack([said, np.ones(len(said))], axis=1) * weight[:, None]
        factor, offset = np.linalg.lstsq(columns, np.ones(len(said)), rcond=None)[0].tolist()
        # With an offset below 0 short runs would take no time at all.
        if factor > 0 and offset >= 0:
            return Adjustment(factor, offset)
    return Adjustment(float((said * weight).sum() / ((said * weight) ** 2).sum()))
