"""Memory of a routine's data as a polynomial of its sizes, exact where possible."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from random import Random

import numpy as np

from clue.units import format_figure, format_size

#: Sizes at which memory is measured: primes, so that no two products are equal, and large enough to be noticed.
_SIZES = (17, 23, 31, 43, 59, 71, 89, 101, 113, 131, 149, 163, 181, 199)
#: Distance between the smallest and the largest of the sizes by which the polynomial of a single size is found.
_REACH = _SIZES[6] - _SIZES[0]
#: Largest degree of the polynomial, and the one that is tried first.
DEGREE, _FIRST = 3, 2
#: Largest number of sizes for which the largest degree is tried: its products grow with the third power of them.
_FEW = 4
#: Number of additional measurements, which test whether the polynomial is exact.
_FURTHER = 3
#: Polynomials of third degree must be off by this many times less than those of second.
_BETTER = 10
#: Memory is a guess where a polynomial may be off by more than this share of it; two pages do not matter.
_ROUGH, _NOTABLE = 0.01, 8192


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

    def is_guess(self, sizes: Mapping[str, int], lows: Mapping[str, float]) -> bool:
        """Tell whether it is a guess at some sizes.

        A polynomial of the largest degree is off by the next power of the distance from where memory was measured.

        Args:
            sizes: The sizes.
            lows: Smallest values of each for which times were measured.
        """
        far = max((sizes[name] - low) / _REACH for name, low in lows.items())
        return self.off > _NOTABLE and self.off * max(1.0, far) ** (DEGREE + 1) > _ROUGH * self.of(sizes)

    def __str__(self) -> str:
        terms = [" ".join((format_figure(float(c), 6), *_powers(names))) for names, c in self.coefficients.items() if c]
        return (" + ".join(terms).replace("+ -", "- ") or "0") + (
            f" (off by up to {format_size(self.off)})" if self.off else ""
        )


def measure_memory(
    parameters: Sequence[str],
    measure: Callable[[tuple[int, ...]], int],
    ranges: Sequence[tuple[int, int]] | None = None,
) -> Memory:
    """Return the polynomial of memory: of second degree, or of third if it then fits much better.

    It is exact (rational) if it holds at the additional sizes, too; otherwise the least-squares fit. The third degree
    is tried for up to four sizes, if their ranges have room for it.

    Args:
        parameters: The names of the sizes.
        measure: Returns the bytes at sizes.
        ranges: Range of each size, from whose low end it is measured upwards, and not beyond the high end unless the
            range has fewer than five sizes; ``None``: all sizes are allowed.
    """
    found = _measured(parameters, measure, ranges, _FIRST)
    room = all(high - low >= 2 * DEGREE for low, high in ranges or ())
    if found.off and len(parameters) <= _FEW and room:
        higher = _measured(parameters, measure, ranges, DEGREE)
        if _BETTER * higher.off <= found.off:
            return higher
    return found


def _measured(
    parameters: Sequence[str],
    measure: Callable[[tuple[int, ...]], int],
    ranges: Sequence[tuple[int, int]] | None,
    degree: int,
) -> Memory:
    """Return the polynomial of a degree."""
    products = [each for up_to in range(degree + 1) for each in combinations_with_replacement(parameters, up_to)]
    points = [_point(parameters, i, degree) for i in range(len(products) + _FURTHER)]
    for name, (low, high) in zip(parameters, ranges or (), strict=ranges is not None):
        reach = max(point[name] for point in points) - _SIZES[0]
        first, width = max(low, _SIZES[0]), reach
        if first + width > high >= low + 2 * degree:
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


def _point(parameters: Sequence[str], i: int, degree: int) -> dict[str, int]:
    """Return the i-th sizes to measure: each parameter takes the primes in an order of its own, another each turn.

    The many points of the largest degree take them at random, always the same ones, so that none is large.
    """
    turn = i // len(_SIZES)
    if turn and degree == DEGREE:
        random = Random(i)
        return {name: random.choice(_SIZES) for name in parameters}
    return {
        name: _SIZES[(i * (2 * k + 1) + 5 * k + turn * k * k) % len(_SIZES)] + 200 * turn
        for k, name in enumerate(parameters)
    }


def _powers(names: Sequence[str]) -> list[str]:
    """Return the factors of a product: ``("n", "n")`` is n^2."""
    return [f"{name}^{count}" if count > 1 else name for name, count in Counter(names).items()]


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
