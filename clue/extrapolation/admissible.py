"""Which sizes and numbers of ranks a program takes: ``ranks=2^k``, ``size=20*k``, ``size=8*ranks+k``, ``ranks=4,9,16``.

``k`` stands for 0, 1, 2 and so on. One of the alternatives separated by commas must hold, and all of several demands.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from clue.errors import UsageError
from clue.units import count_of

#: Subjects of demands.
SIZE, RANKS = "size", "ranks"
_NAMED = re.compile(r"(size|ranks)=(.+)")
_SUM = re.compile(r"([^+-]+)(?:([+-])([^+-]+))?")
_FACTOR = re.compile(
    r"(?P<number>[0-9]{1,18})|(?P<ranks>ranks)|(?P<k>k)(\^(?P<power>[1-9]))?|(?P<base>[1-9][0-9]{0,8})\^k"
)
#: Maximum of k: as an exponent, and elsewhere.
_EXPONENT, _LARGEST = 64, 1 << 40
#: Maximum number of candidates on either side of an ideal number.
_MOST = 500
_RULE = "must be such as ranks=2^k, size=20*k, size=ranks*k, size=8*ranks+k or ranks=4,9,16"


@dataclass(frozen=True, slots=True)
class Product:
    """A product of a factor and, optionally, the number of ranks, a power of k, or a power whose exponent is k."""

    factor: int
    of_ranks: bool = False
    power: int = 0
    base: int = 0

    @classmethod
    def parse(cls, text: str) -> Product:
        """Parse a product: ``8*ranks``, ``20*k``, ``2^k``, ``k^2``.

        Raises:
            ValueError: If the text is not a product.
        """
        words = [found for word in text.split("*") if (found := _FACTOR.fullmatch(word))]
        with_k = [word for word in words if word["k"] or word["base"]]
        of_ranks = [word for word in words if word["ranks"]]
        factor = math.prod(int(word["number"]) for word in words if word["number"])
        base = sum(int(word["base"] or 0) for word in with_k)
        if len(words) <= text.count("*") or len(with_k) > 1 or len(of_ranks) > 1 or factor < 1 or base == 1:
            raise ValueError(text)
        power = sum(int(word["power"] or 1) for word in with_k if word["k"])
        return cls(factor, bool(of_ranks), power, base)

    @property
    def varies(self) -> bool:
        """Whether it contains k."""
        return bool(self.power or self.base)

    def at(self, k: int, ranks: int) -> int:
        """Return its value."""
        return self._unit(ranks) * int(self.base**k if self.base else k**self.power)

    def has(self, number: int, ranks: int) -> bool:
        """Tell whether a number is among its values."""
        times, rest = divmod(number, self._unit(ranks))
        if rest or times < 0:
            return False
        if self.base:
            return times > 0 and self.base ** round(math.log(times, self.base)) == times
        return times == (round(times ** (1 / self.power)) ** self.power if self.power else 1)

    def _unit(self, ranks: int) -> int:
        return self.factor * (ranks if self.of_ranks else 1)


@dataclass(frozen=True, slots=True)
class Form:
    """The numbers of a form: a product, or a product plus or minus another one.

    Attributes:
        scaled: The only product, or the one that may contain k.
        further: The other product, without k.
        sign: Sign of the other product, 1 or -1; 0 if there is none.
    """

    scaled: Product
    further: Product = Product(1)
    sign: int = 0

    @classmethod
    def parse(cls, text: str) -> Form:
        """Parse a form: ``2^k+1``.

        Raises:
            ValueError: If the text is not a form.
        """
        found = _SUM.fullmatch(text)
        if found is None:
            raise ValueError(text)
        first = Product.parse(found[1])
        if found[2] is None:
            return cls(first)
        second, sign = Product.parse(found[3]), 1 if found[2] == "+" else -1
        if second.varies and sign > 0:
            first, second = second, first
        if second.varies:
            raise ValueError(text)
        return cls(first, second, sign)

    @property
    def of_ranks(self) -> bool:
        """Whether it contains the number of ranks."""
        return self.scaled.of_ranks or (self.sign != 0 and self.further.of_ranks)

    @property
    def offset(self) -> int:
        """Constant offset of its numbers from multiples or powers, for any number of ranks."""
        any_number = self.scaled == Product(1, power=1)  # all numbers from a smallest one on
        return 0 if any_number or self.further.of_ranks or not self.scaled.varies else self.sign * self.further.factor

    def holds(self, number: int, ranks: int) -> bool:
        """Tell whether a number is of this form."""
        return self.scaled.has(number - self.sign * self.further.at(0, ranks), ranks)

    def near(self, ideal: float, between: tuple[float, float], ranks: int) -> list[int]:
        """Return its numbers in a range, ascending; if there are very many, those nearest to an ideal number."""
        low, high = between
        ks = range(self._first(low, ranks), self._first(math.floor(high) + 1, ranks))
        middle = max(self._first(ideal, ranks) - ks.start, 0)
        return [self._at(k, ranks) for k in ks[max(middle - _MOST, 0) : middle + _MOST]]

    def _first(self, least: float, ranks: int) -> int:
        """Return the smallest k whose number is at least ``least``."""
        return bisect_left(range(self._ks), least, key=lambda k: self._at(k, ranks))

    @property
    def _ks(self) -> int:
        """Number of values of k."""
        if self.scaled.base:
            return _EXPONENT
        return _LARGEST if self.scaled.power else 1

    def _at(self, k: int, ranks: int) -> int:
        return self.scaled.at(k, ranks) + self.sign * self.further.at(0, ranks)


@dataclass(frozen=True, slots=True)
class Said:
    """A demand as stated with ``--admissible``.

    Attributes:
        name: Its subject: ``size`` or ``ranks``.
        forms: The forms: a number must have at least one of them.
        text: Text of the forms.
    """

    name: str
    forms: tuple[Form, ...]
    text: str

    @classmethod
    def parse(cls, text: str) -> Said:
        """Parse a demand: ``size=8*k``, ``ranks=6,2^k``.

        Raises:
            UsageError: If the text is not a demand.
        """
        found = _NAMED.fullmatch(re.sub(r"\s", "", text).replace("**", "^"))
        try:
            name, words = (found[1], found[2]) if found else ("", "")
            forms = tuple(map(Form.parse, words.split(",")))
            if name == RANKS and any(form.of_ranks for form in forms):
                raise ValueError(text)
        except ValueError:
            raise UsageError(f"--admissible {_RULE}, got {text}") from None
        return cls(name, forms, words)

    def holds(self, size: int, ranks: int) -> bool:
        """Tell whether a size on a number of ranks meets it."""
        return any(form.holds(size if self.name == SIZE else ranks, ranks) for form in self.forms)

    def near(self, ideal: float, between: tuple[float, float], ranks: int) -> list[int]:
        """Return its numbers in a range; if there are very many, those nearest to an ideal number."""
        return [each for form in self.forms for each in form.near(ideal, between, ranks)]

    def __str__(self) -> str:
        return f"{self.name}={self.text}"


@dataclass(frozen=True, slots=True)
class Other:
    """The demand that a size, a number of ranks, or a combination of both is excluded.

    Attributes:
        size: The size; ``None`` for any.
        ranks: The number of ranks; ``None`` for any.
    """

    size: int | None = None
    ranks: int | None = None

    @property
    def name(self) -> str:
        """Its subject."""
        return RANKS if self.size is None else SIZE

    def holds(self, size: int, ranks: int) -> bool:
        """Tell whether a size on a number of ranks meets it."""
        return self.size not in (None, size) or self.ranks not in (None, ranks)

    def __str__(self) -> str:
        named = [] if self.size is None else [f"size {self.size}"]
        named += [] if self.ranks is None else [count_of(self.ranks)]
        return f"other than {' on '.join(named)}"


Demand: TypeAlias = Said | Other


@dataclass(frozen=True, slots=True)
class Admissible:
    """Sizes and numbers of ranks that a program accepts.

    Attributes:
        demands: Demands, all of which they meet.
    """

    demands: tuple[Demand, ...] = ()

    @classmethod
    def parse(cls, texts: Iterable[str]) -> Admissible:
        """Parse the demands of the user.

        Raises:
            UsageError: If one cannot be parsed.
        """
        return cls(tuple(map(Said.parse, texts)))

    def check(self, size: int, ranks: int) -> None:
        """Check that a target is admissible.

        Raises:
            UsageError: If it is not.
        """
        broken = [str(each) for each in self.demands if not each.holds(size, ranks)]
        if broken:
            raise UsageError(
                f"--admissible {' and '.join(broken)} must hold at the target, got {size} on {count_of(ranks)}"
            )

    def holds(self, size: int, ranks: int) -> bool:
        """Tell whether a size on a number of ranks is admissible."""
        return all(each.holds(size, ranks) for each in self.demands)

    def takes_ranks(self, ranks: int) -> bool:
        """Tell whether a number of ranks is admissible, regardless of the size."""
        return all(each.holds(0, ranks) for each in self.demands if each.name == RANKS)

    def sizes(self, ideal: float, between: tuple[float, float], granule: int, numbers: Sequence[int]) -> list[int]:
        """Return admissible sizes.

        Args:
            ideal: Ideal size; if there are very many sizes, those nearest to it are returned.
            between: Smallest and largest size, above 0.
            granule: A divisor of all sizes.
            numbers: Numbers of ranks, at least one; the sizes must be admissible on all of them.
        """
        lists = [Form(Product(granule, power=1)).near(ideal, between, 1)]
        lists += [each.near(ideal, between, max(numbers)) for each in self._said_of_sizes()]
        rarest = min(lists, key=len)
        return [each for each in rarest if each % granule == 0 and all(self.holds(each, number) for number in numbers)]

    @property
    def offset(self) -> int:
        """Constant offset of sizes from multiples: 1 where they must be ``2^k+1``."""
        return next((form.offset for each in self._said_of_sizes() for form in each.forms if form.offset), 0)

    def _said_of_sizes(self) -> list[Said]:
        return [each for each in self.demands if isinstance(each, Said) and each.name == SIZE]

    def also(self, more: Iterable[Demand]) -> Admissible:
        """Return a copy with further demands."""
        return Admissible((*self.demands, *more))

    def __str__(self) -> str:
        return " and ".join(map(str, self.demands))


#: No demands: every size and number of ranks is admissible.
ANY = Admissible()
