"""What stands for computation: bursts by place, and the mix of work by region."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clue.errors import UsageError
from clue.trace import Trace
from clue.trace.speed import RESPONSE

#: Kinds of work.
KINDS = CORE, MEMORY, CACHE = "core", "memory", "cache"
#: Bursts that a place keeps of a rank.
MOST = 16
#: Floating-point operations in a second from which on a region is taken to be bound by the core.
_FAST = 1e9

#: By kind of work, its share.
Mix = Mapping[str, float]
#: Where nothing is known: as bursts respond to either piece.
UNKNOWN: Mix = {CORE: float(RESPONSE[0] / RESPONSE.sum()), MEMORY: float(RESPONSE[1] / RESPONSE.sum())}
_MIX = re.compile(rf"({'|'.join(KINDS)})(?::({'|'.join(KINDS)})=(0?\.[0-9]+))?")


def spread(bursts: Sequence[float] | npt.NDArray[np.float64], *, seed: Sequence[int]) -> tuple[float, ...]:
    """Return the bursts of a place and rank as a few, which are done one after the other, again and again.

    Up to ``MOST`` are as they are. Of more, so many quantiles have their mean, in a random order; each is done as
    often as it has bursts, so that together they take exactly as long.

    Args:
        bursts: In program order, ns, shape (bursts,).
        seed: What the order is drawn from.
    """
    values = np.asarray(bursts, np.float64)
    if len(values) <= MOST:
        return tuple(values.tolist()) if (values != values[0]).any() else (float(values[0]),)
    if (values == values[0]).all():
        return (float(values[0]),)
    draw = np.random.default_rng(list(seed))
    often, more = divmod(len(values), MOST)
    larger = draw.permutation(MOST) < more  # those are done once more, so they come first
    sizes = often + larger
    sums = np.add.reduceat(np.sort(values), np.cumsum(sizes) - sizes)
    means = sums / sizes
    return (*draw.permutation(means[larger]).tolist(), *draw.permutation(means[~larger]).tolist())


# --- what regions do ---


@dataclass(frozen=True, slots=True)
class Character:
    """What kinds of work stand for a region's computation.

    Attributes:
        region: Its name; ``""`` outside any.
        mix: The share of each kind.
        why: Where that comes from.
    """

    region: str
    mix: Mix
    why: str

    @property
    def text(self) -> str:
        """The mix in words."""
        return ", ".join(f"{kind} {share:.0%}" for kind, share in self.mix.items())


def characters(application: Trace, stated: Sequence[str] = ()) -> dict[str, Character]:
    """Return the character of each region of an application.

    Args:
        application: The application, with what it declares of its work.
        stated: Mixes as the user gives them: ``"spmv=memory"``, ``"core:memory=0.6"`` (of all regions, 60 % core).

    Raises:
        UsageError: If one cannot be read, or names a region that there is not.
    """
    given = dict(map(_stated, stated))
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
    return Character(region, UNKNOWN, "nothing is known of it")


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
