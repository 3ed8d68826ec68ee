"""What memory a routine's data take: an exact polynomial of its sizes, where there is one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np

from clue.units import format_size

#: Sizes that memory is measured at: primes, so that no products of them are alike, and large enough to be seen.
_SIZES = (17, 23, 31, 43, 59, 71, 89, 101, 113, 131, 149, 163, 181, 199)
#: Memory has no more than two dimensions.
_DEGREE = 2
#: Measured beyond what a polynomial needs, to see whether it is one.
_FURTHER = 3


@dataclass(frozen=True, slots=True)
class Memory:
    """What memory a routine's data take.

    Attributes:
        coefficients: In bytes, by the sizes that each is multiplied by: ``("m", "n")`` is m n, ``()`` is 1.
        off: By how many bytes it was off at most where it was measured; 0: exact.
    """

    coefficients: Mapping[tuple[str, ...], Fraction]
    off: int = 0

    def of(self, sizes: Mapping[str, int]) -> int:
        """Return the bytes at some sizes, rounded up."""
        total = Fraction(0)
        for names, coefficient in self.coefficients.items():
            product = 1
            for name in names:
                product *= sizes[name]
            total += coefficient * product
        return max(0, -(-total.numerator // total.denominator))

    def __str__(self) -> str:
        terms = [" ".join((f"{float(c):g}", *names)) for names, c in self.coefficients.items() if c]
        return (" + ".join(terms) or "0") + (f" (off by up to {format_size(self.off)})" if self.off else "")


def measure_memory(parameters: Sequence[str], measure: Callable[[tuple[int, ...]], int]) -> Memory:
    """Return the polynomial of second degree that memory follows.

    It is exact in rational numbers if it holds at further sizes, too; else the nearest one by least squares.

    Args:
        parameters: The names of the sizes.
        measure: Returns the bytes at sizes.
    """
    products = [each for degree in range(_DEGREE + 1) for each in combinations_with_replacement(parameters, degree)]
    points = [_point(parameters, i) for i in range(len(products) + _FURTHER)]
    rows = [[_product(names, point) for names in products] for point in points]
    measured = [measure(tuple(point.values())) for point in points]
    exact = _solved([list(map(Fraction, row)) for row in rows[: len(products)]], measured[: len(products)])
    if exact is not None:
        found = Memory(dict(zip(products, exact, strict=True)))
        if all(found.of(point) == size for point, size in zip(points, measured, strict=True)):
            return found
    nearest = np.linalg.lstsq(np.array(rows, np.float64), np.array(measured, np.float64), rcond=None)[0]
    about = {
        names: Fraction(round(float(c), 6)).limit_denominator(10**6) for names, c in zip(products, nearest, strict=True)
    }
    found = Memory(about)
    return Memory(about, max(abs(found.of(point) - size) for point, size in zip(points, measured, strict=True)))


def _point(parameters: Sequence[str], i: int) -> dict[str, int]:
    """Return the i-th sizes to measure at: each parameter goes through the primes in an order of its own."""
    return {
        name: _SIZES[(i * (2 * k + 1) + 5 * k) % len(_SIZES)] + 200 * (i // len(_SIZES))
        for k, name in enumerate(parameters)
    }


def _product(names: Sequence[str], point: Mapping[str, int]) -> int:
    product = 1
    for name in names:
        product *= point[name]
    return product


def _solved(rows: list[list[Fraction]], right: Sequence[int]) -> list[Fraction] | None:
    """Return the solution of linear equations in rational numbers; ``None`` if they do not determine it."""
    table = [[*row, Fraction(value)] for row, value in zip(rows, right, strict=True)]
    for i in range(len(table)):
        pivot = next((row for row in table[i:] if row[i]), None)
        if pivot is None:
            return None
        table.remove(pivot)
        table.insert(i, [value / pivot[i] for value in pivot])
        for k, row in enumerate(table):
            if k != i and row[i]:
                table[k] = [a - row[i] * b for a, b in zip(row, table[i], strict=True)]
    return [row[-1] for row in table]
