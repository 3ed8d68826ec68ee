"""Work that stands for computation: bursts by place, and the mix of work by region."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clue.errors import UsageError
from clue.trace import Trace
from clue.trace.speed import PRIOR

#: Kinds of work.
KINDS = CORE, MEMORY, CACHE = "core", "memory", "cache"
#: Maximum and minimum number of bursts that a place keeps of each rank; between the two, the target for all ranks.
_MOST, _FEWEST, _NUMBERS = 64, 16, 2048
#: Maximum number of bursts of a rank in which a period is looked for.
_LOOKED_AT = 4096
#: Floating-point rate from which a region is taken to be compute-bound, flop/s.
_FAST = 1e9

#: Share of each kind of work.
Mix = Mapping[str, float]
Doubles = npt.NDArray[np.float64]
#: Mix assumed where nothing is known: proportional to the response of bursts to either piece.
UNKNOWN: Mix = {CORE: float(PRIOR[0] / PRIOR.sum()), MEMORY: float(PRIOR[1] / PRIOR.sum())}
_MIX = re.compile(rf"({'|'.join(KINDS)})(?::({'|'.join(KINDS)})=(0?\.[0-9]+))?")


def kept_of(bursts: Mapping[int, Sequence[float] | Doubles]) -> dict[int, tuple[float, ...]]:
    """Reduce the bursts of a place to a few for each rank, which are repeated cyclically.

    Up to :func:`most_of` bursts stay as they are. If there are more, a stretch of consecutive bursts is kept. It is the
    same stretch on all ranks that reach the place equally often, so that bursts keep their neighbours: the bursts of
    other ranks and the messages. If bursts are periodic, as those of multigrid levels are, the stretch is a whole
    number of periods. The stretch with the most typical sum is kept, and scaled such that all bursts together take
    exactly as long as before.

    Args:
        bursts: Bursts of each rank, in program order, ns.
    """
    most = most_of(len(bursts))
    found: dict[int, tuple[float, ...]] = {}
    values = {rank: np.asarray(each, np.float64) for rank, each in bursts.items()}
    for count in {len(each) for each in values.values()}:
        ranks = [rank for rank, each in values.items() if len(each) == count]
        together = np.stack([values[rank] for rank in ranks])
        few = together if count <= most else _stretch(together, most)
        found |= {rank: _whole(own, kept) for rank, own, kept in zip(ranks, together, few, strict=True)}
    return {rank: found[rank] for rank in bursts}


def most_of(ranks: int) -> int:
    """Return how many bursts of each rank a place keeps: fewer for many ranks, so that programs stay readable."""
    return min(max(_NUMBERS // max(ranks, 1), _FEWEST), _MOST)


def _stretch(values: Doubles, most: int) -> Doubles:
    """Return consecutive columns that represent all columns, shape (ranks, at most ``most``)."""
    means = values.mean(axis=1, keepdims=True)
    relative = values / np.where(means > 0, means, 1.0)
    some = relative[:, :_LOOKED_AT]
    lags = range(most, most // 2, -1)
    apart = [float(np.abs(some[:, lag:] - some[:, :-lag]).mean()) for lag in lags]
    length = lags[int(np.argmin(apart))]
    count = values.shape[1] // length
    sums = relative[:, : count * length].reshape(len(values), count, length).sum(axis=2)
    begin = int(np.abs(sums - length).sum(axis=0).argmin()) * length
    return values[:, begin : begin + length]


def _whole(own: Doubles, kept: Doubles) -> tuple[float, ...]:
    """Scale bursts so that, repeated cyclically, they take as long as all bursts of the rank."""
    if (own == own[0]).all():
        return (float(own[0]),)
    times, more = divmod(len(own), len(kept))
    got = times * float(kept.sum()) + float(kept[:more].sum())
    if not got:
        return (float(own.mean()),)
    return tuple((kept * (float(own.sum()) / got)).tolist())


# --- work of regions ---


@dataclass(frozen=True, slots=True)
class Character:
    """Kinds of work that stand for a region's computation.

    Attributes:
        region: Its name; ``""`` outside any.
        mix: Share of each kind.
        why: Source of the mix.
        unsure: Whether that is the default mix, because nothing is known.
    """

    region: str
    mix: Mix
    why: str
    unsure: bool = False

    @property
    def text(self) -> str:
        """The mix in words."""
        return ", ".join(f"{kind} {share:.0%}" for kind, share in self.mix.items())


def characters(application: Trace, stated: Sequence[str] = ()) -> dict[str, Character]:
    """Return the character of each region of an application.

    Args:
        application: The application, with its declarations of work.
        stated: Mixes given by the user: ``"spmv=memory"``, ``"core:memory=0.6"`` (in all regions, 60 % core).

    Raises:
        UsageError: If a mix cannot be parsed, is stated twice, or names a region that does not exist.
    """
    given = dict(map(_stated, stated))
    if len(given) < len(stated):
        raise UsageError(f"--work must be stated once for each region and once for all, got {', '.join(stated)}")
    unknown = [region for region in given if region is not None and region not in application.head.regions]
    if unknown:
        known = ", ".join(filter(None, application.head.regions)) or "none"
        raise UsageError(f"--work must name a region of the trace ({known}), got {unknown[0]}")
    rates = {region: flops / seconds for region, (flops, seconds) in application.flops().items() if seconds > 0}
    return {region: _character(region, given, rates) for region in application.head.regions}


def _character(region: str, given: Mapping[str | None, Mix], rates: Mapping[str, float]) -> Character:
    mix = given.get(region, given.get(None))
    if mix is not None:
        return Character(region, mix, "as stated")
    if region in rates:
        rate = f"{rates[region] / 1e9:.2g} Gflop/s are declared"
        return (
            Character(region, {CORE: 1.0}, rate) if rates[region] >= _FAST else Character(region, {MEMORY: 1.0}, rate)
        )
    return Character(region, UNKNOWN, "nothing is known about it", unsure=True)


def _stated(text: str) -> tuple[str | None, Mix]:
    region, _, mix = text.partition("=") if not _MIX.fullmatch(text) else (None, "", text)
    found = _MIX.fullmatch(mix)
    if found is None or found[1] == found[2]:
        raise UsageError(
            "--work must be core, cache or memory, or two of them as core:memory=0.6, for all or as REGION=…, got "
            f"{text}"
        )
    if found[2] is None:
        return region, {found[1]: 1.0}
    return region, {found[1]: float(found[3]), found[2]: 1.0 - float(found[3])}
