"""Terms of a fitted time: products of powers and logarithms of named features, as texts such as ``n log n/P``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from clue.errors import ModelError

Floats: TypeAlias = npt.NDArray[np.float64]
#: Features by name: one value for each sample, all of one length.
Features: TypeAlias = Mapping[str, npt.ArrayLike]

#: The features of a whole run: its size and its number of ranks. Any other feature is a local size of a rank.
SIZE, RANKS = "n", "P"
_NAME = r"(?!log\b)[^\W\d]\w*"
_POWER = r"\d+(?:\.\d+)?|\(\d+/\d+\)"
_FACTOR = re.compile(rf"\s*(?P<over>/)?\s*(?P<log>log\s+)?(?P<name>{_NAME})(?:\^(?P<power>{_POWER}))?")


def is_feature(name: str) -> bool:
    """Tell whether terms can name a feature like this: by a word other than ``log``."""
    return re.fullmatch(_NAME, name) is not None


@dataclass(frozen=True, slots=True)
class Term:
    """A product of powers and logarithms of features; without factors it is 1.

    Logarithms have base 2 and are 0 for arguments below 1, so that no term is ever negative.

    Attributes:
        powers: Features and their powers, negative for divisors.
        logs: Features and the powers of their logarithms, all above 0.
    """

    powers: tuple[tuple[str, Fraction], ...] = ()
    logs: tuple[tuple[str, Fraction], ...] = ()

    @classmethod
    def parse(cls, text: str) -> Term:
        """Parse a term such as ``m^(3/2)`` or ``n^2 log n/P``; ``/`` divides by one factor.

        Raises:
            ModelError: If the text is not a term.
        """
        return _parsed(text)

    @classmethod
    def _of_text(cls, text: str) -> Term:
        if text.strip() == "1":
            return cls()
        factors, end = list[re.Match[str]](), re.match(r"(\s*1\s*(?=/))?", text).end()  # type: ignore[union-attr]
        while (match := _FACTOR.match(text, end)) and end < len(text):
            factors.append(match)
            end = match.end()
        if text[end:].strip() or not factors or any(factor["over"] and factor["log"] for factor in factors):
            raise ModelError(f"term must be a product such as n^2, m log m or n^(3/2)/P, got {text!r}")
        return cls(
            tuple((each["name"], _power(each)) for each in factors if not each["log"]),
            tuple((each["name"], _power(each)) for each in factors if each["log"]),
        )

    @property
    def features(self) -> frozenset[str]:
        """The features that it needs."""
        return frozenset(name for name, _ in self.powers + self.logs)

    def of(self, features: Mapping[str, Floats], samples: int) -> Floats:
        """Return its values, shape (samples,).

        Raises:
            ModelError: If a feature is not given, or a divisor is 0.
        """
        return np.asarray(values_of((self,), features, samples)[0])

    def __str__(self) -> str:
        over = [_written(name, power) for name, power in self.powers if power > 0]
        over += [f"log {_written(name, power)}" for name, power in self.logs]
        under = "".join(f"/{_written(name, -power)}" for name, power in self.powers if power < 0)
        return (" ".join(over) or "1") + under


def values_of(terms: Sequence[Term], features: Mapping[str, Floats], *shape: int) -> Floats:
    """Return the values of terms, shape (terms, *shape).

    Args:
        terms: The terms.
        features: By name, each of the shape.
        shape: The shape.

    Raises:
        ModelError: If a feature is not given, or a divisor is 0.
    """
    found = np.ones((len(terms), *shape))
    # Terms have few different factors: computing each once is faster than all terms at once.
    powers: dict[tuple[str, float], Floats] = {}
    try:
        for i, term in enumerate(terms):
            for name, power in term.powers:
                exponent = power.numerator / power.denominator
                if (factor := powers.get((name, exponent))) is None:
                    if exponent < 0 and not features[name].all():
                        raise ModelError(f"{name}: values must be above 0 for term {term}, got 0")
                    factor = powers[name, exponent] = features[name] ** exponent
                found[i] *= factor
            for name, power in term.logs:
                found[i] *= np.log2(np.maximum(features[name], 1.0)) ** float(power)
    except KeyError:
        term = next(each for each in terms if each.features - features.keys())
        missing, got = (", ".join(sorted(of)) for of in (term.features - features.keys(), features))
        raise ModelError(f"term {term} needs {missing}, got {got or 'no features'}") from None
    return found


@lru_cache(maxsize=1024)
def _parsed(text: str) -> Term:
    return Term._of_text(text)


def _power(factor: re.Match[str]) -> Fraction:
    power = Fraction((factor["power"] or "1").strip("()"))
    return -power if factor["over"] else power


def _written(name: str, power: Fraction) -> str:
    if power == 1:
        return name
    return f"{name}^{power}" if power.denominator == 1 else f"{name}^({power})"


#: Terms of burst times: in size and ranks of the run, and in each local size.
_OF_RUNS = (
    "n", "n^2", "n^3", "n/P^(1/2)", "n/P", "n log n/P", "n^2/P", "n^2 log n/P", "n^3/P", "n^3/P^2", "P",
)  # fmt: skip
_OF_RANKS = ("{0}", "{0} log {0}", "{0}^(3/2)", "{0}^2", "{0}^3")


def terms_for(names: Iterable[str]) -> tuple[Term, ...]:
    """Return the default terms for bursts over features: ``n``, ``P``; any other is a local size.

    Raises:
        ModelError: If terms cannot name a feature.
    """
    names = tuple(names)
    if wrong := [name for name in names if not is_feature(name)]:
        raise ModelError(f"features: names must be words other than log, got {wrong[0]!r}")
    return tuple(term for term in map(Term.parse, _menu(names)) if term.features <= set(names))


def _menu(names: tuple[str, ...]) -> Iterator[str]:
    yield "1"
    for name in names:
        if name not in {SIZE, RANKS}:
            yield from (text.format(name) for text in _OF_RANKS)
    yield from _OF_RUNS
