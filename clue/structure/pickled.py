"""Exact sizes of pickled objects: their data, and the steps at which pickle needs more bytes to describe the data.

An object may be a single integer, without other data. Only its size in bytes gives a hint of its value, namely the
range; the value may be a number that the program also uses otherwise, such as the number of elements of another
message.

Pickle (protocol 5) writes an integer, such as the length of an array, in one byte below 256, in two below 65,536, and
in four above. Data of 65,536 B and more stand between two frames, each with a header of nine bytes; smaller data share
a frame until it reaches this length. The length of immutable data takes one byte below 256, and four above.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import log2, prod

import numpy as np

from clue.structure.atoms import Atom, Integers, Surroundings
from clue.structure.forms import KEPT, Rule, Sum, UndeterminedError

_FRAME, _FRAME_HEAD, _SHORT, _LENGTH = 65_536, 9, 256, 3
#: Largest number of bytes in a frame beside the data; maximum number of occurrences of one integer in an object.
_BESIDE, _OFTEN = 4096, 3
#: Largest number of combinations of steps that are tried.
_TRIED = 1024


@dataclass(frozen=True, slots=True)
class _Step:
    """Bytes that an object may have in addition, once or several times."""

    atom: Atom
    often: int = 1


def exact(nearly: Rule, v: Surroundings, y: Integers) -> Rule | None:
    """Return the rule of the exact sizes of pickled objects, if there is one.

    Its forms are all ways to distribute steps. Where they disagree, the result depends on a step that no recording
    shows.

    Args:
        nearly: The rule of the approximate sizes, whose terms are all the data.
        v: Surroundings of each object.
        y: Its size.
    """
    forms = tuple(form for each in nearly.forms for form in _exact(each, v, y))
    return Rule(forms) if 0 < len(forms) <= KEPT else None


def integer(numbers: Sequence[Sum], v: Surroundings, y: Integers) -> Rule | None:
    """Return the rule of the exact sizes of pickled integers, if they are among these numbers.

    Its forms are all numbers that explain the sizes. Where they disagree, recordings do not determine the number.

    Args:
        numbers: The numbers that a program uses.
        v: Surroundings of each object.
        y: Its size.
    """
    forms = []
    for each in numbers:
        form = Sum(((Fraction(1), (Atom(f"pickled({each})", _pickled(each), each.weight + 1),)),))
        try:
            fits = bool((form(v) == y).all())
        except (KeyError, UndeterminedError):
            continue
        if fits and log2(len(numbers)) < _information(y, [each(v)]):
            forms.append(form)
    return Rule(tuple(sorted(forms, key=lambda form: form.weight))) if 0 < len(forms) <= KEPT else None


def _pickled(number: Sum) -> Callable[[Surroundings], Integers]:
    """Return a function that gives the size of a pickled integer up to 2^31 - 1; above 255 it has a frame."""

    def values(v: Surroundings) -> Integers:
        x = number(v)
        if (x < 0).any() or (x >= 1 << 31).any():
            raise UndeterminedError(f"{number} is no integer of up to 31 bits there")
        sizes: Integers = 5 + 10 * (x >= 1 << 8) + 2 * (x >= 1 << 16)
        return sizes

    return values


def _exact(nearly: Sum, v: Surroundings, y: Integers) -> Iterator[Sum]:
    data = tuple(term for term in nearly.terms if term[1])
    if not data or any(coefficient.denominator > 1 or coefficient < 0 for coefficient, _ in data):
        return
    rest = y - Sum(data)(v)
    steps = list(_steps(data))
    columns = np.array([each.atom.values(v) for each in steps])
    seen = (columns != columns[:, :1]).any(axis=1)
    shown, hidden = ([i for i, each in enumerate(seen.tolist()) if each is there] for there in (True, False))
    tried = prod(steps[i].often + 1 for i in shown)
    if tried > _TRIED or log2(tried) >= _information(rest, [Sum((term,))(v) for term in data]):
        return
    for times in product(*(range(steps[i].often + 1) for i in shown)):
        left = rest - np.array(times, np.int64) @ columns[shown]
        if (left == left[0]).all():
            terms = [
                *data,
                *((Fraction(often), (steps[i].atom,)) for often, i in zip(times, shown, strict=True) if often),
            ]
            yield _with(terms, int(left[0]))
            yield from (_with([*terms, (Fraction(1), (steps[i].atom,))], int(left[0] - columns[i, 0])) for i in hidden)


def _information(rest: Integers, data: Sequence[Integers]) -> float:
    """Return the information in the sizes beside data, bits; objects with the same data count once."""
    different = np.unique(np.vstack([rest, *data]), axis=1)[0]
    _, counts = np.unique(different, return_counts=True)
    return float(counts @ np.log2(len(different) / counts))


def _with(terms: list[tuple[Fraction, tuple[Atom, ...]]], constant: int) -> Sum:
    return Sum((*terms, *(((Fraction(constant), ()),) if constant else ())))


def _steps(data: tuple[tuple[Fraction, tuple[Atom, ...]], ...]) -> Iterator[_Step]:
    """Yield the steps of an object that contains the data."""
    integers = {atom.name: atom for _, atoms in data for atom in atoms}
    yield from (_Step(Atom(f"width({each.name})", _width(each)), _OFTEN) for each in integers.values())
    each = [Sum((term,)) for term in data]
    yield from (_Step(_from(*step, one)) for one in each for step in ((_FRAME, _FRAME_HEAD), (_SHORT, _LENGTH)))
    for beside in (0, _BESIDE):
        yield _Step(Atom(f"{_FRAME_HEAD}·(data + {beside}) // {_FRAME}", _shared(each, beside)))


def _width(integer: Atom) -> Callable[[Surroundings], Integers]:
    """Return a function that gives the number of bytes that an integer needs beyond the first."""

    def values(v: Surroundings) -> Integers:
        x = integer.values(v)
        return (x >= 1 << 8).astype(np.int64) + 2 * (x >= 1 << 16)

    return values


def _shared(data: Sequence[Sum], beside: int) -> Callable[[Surroundings], Integers]:
    """Return a function that gives the bytes of the headers of further frames, if small data fill several frames."""

    def values(v: Surroundings) -> Integers:
        sizes = np.array([each(v) for each in data])
        filled: Integers = (np.where(sizes < _FRAME, sizes, 0).sum(axis=0) + beside) // _FRAME
        return _FRAME_HEAD * filled

    return values


def _from(least: int, extra: int, data: Sum) -> Atom:
    """Return an atom of ``extra`` bytes that an object has if the data have at least ``least`` bytes."""
    return Atom(f"{extra}·({data} >= {least})", lambda v: extra * (data(v) >= least))
