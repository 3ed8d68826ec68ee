"""Memory of a routine's data as a polynomial of its sizes, exact where possible."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np

from clue.units import format_figure, format_size

#: Sizes at which memory is measured: primes, so that no two products are equal, and large enough to be noticed.
_SIZES = (17, 23, 31, 43, 59, 71, 89, 101, 113, 131, 149, 163, 181, 199)
#: Degree of the polynomial.
DEGREE = 2
#: Number of additional measurements, which test whether the polynomial is exact.
_FURTHER = 3


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory of a routine's data.

    Attributes:
        coefficients: Coefficients in bytes, by the sizes they multiply: ``("m", "n")`` means m n, ``()`` means 1.
        off: Maximum absolute error at measured sizes, bytes; 0: exact.
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
        terms = [" ".join((format_figure(float(c), 6), *names)) for names, c in self.coefficients.items() if c]
        return (" + ".join(terms).replace("+ -", "- ") or "0") + (
            f" (off by up to {format_size(self.off)})" if self.off else ""
        )


def measure_memory(
    parameters: Sequence[str],
    measure: Callable[[tuple[int, ...]], int],
    ranges: Sequence[tuple[int, int]] | None = None,
) -> Memory:
    """Return the second-degree polynomial of memory.

    It is exact (rational) if it holds at the additional sizes, too; otherwise the least-squares fit.

    Args:
        parameters: The names of the sizes.
        measure: Returns the bytes at sizes.
        ranges: Range of each size, from whose low end it is measured upwards, and not beyond the high end unless the
            range has fewer than five sizes; ``None``: all sizes are allowed.
    """
    products = [each for degree in range(DEGREE + 1) for each in combinations_with_replacement(parameters, degree)]
    points = [_point(parameters, i) for i in range(len(products) + _FURTHER)]
    for name, (low, high) in zip(parameters, ranges or (), strict=ranges is not None):
        reach = max(point[name] for point in points) - _SIZES[0]
        first, width = max(low, _SIZES[0]), reach
        if first + width > high >= low + 2 * DEGREE:
            first, width = low, high - low
        for point in points:
            point[name] = first + round((point[name] - _SIZES[0]) * width / reach)
    rows = [[_product(names, point) for names in products] for point in points]
    measured = [measure(tuple(point.values())) for point in points]
    exact = _solved([list(map(Fraction, row)) for row in rows], measured)
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
    """Return the i-th sizes to measure: each parameter takes the primes in an order of its own, another each turn."""
    turn = i // len(_SIZES)
    return {
        name: _SIZES[(i * (2 * k + 1) + 5 * k + turn * k * k) % len(_SIZES)] + 200 * turn
        for k, name in enumerate(parameters)
    }


def _product(names: Sequence[str], point: Mapping[str, int]) -> int:
    product = 1
    for name in names:
        product *= point[name]
    return product


def _solved(rows: list[list[Fraction]], right: Sequence[int]) -> list[Fraction] | None:
    """Return the rational numbers that solve the first independent equations; ``None`` if there are too few."""
    table = [[*row, Fraction(value)] for row, value in zip(rows, right, strict=True)]
    unknowns = len(rows[0])
    for i in range(unknowns):
        pivot = next((row for row in table[i:] if row[i]), None)
        if pivot is None:
            return None
        table.remove(pivot)
        table.insert(i, [value / pivot[i] for value in pivot])
        for k, row in enumerate(table):
            if k != i and row[i]:  # all entries of the pivot before the i-th are 0
                table[k][i:] = [a - row[i] * b for a, b in zip(row[i:], table[i][i:], strict=True)]
    return [row[-1] for row in table[:unknowns]]
