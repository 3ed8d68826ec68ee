"""Reads untrusted JSON: a dataclass is the form, its annotations are the rules, and all faults are reported.

::

    @dataclass(frozen=True)
    class RankHead:
        host: Name                     # Annotated[str, Within(0, 4096)]: text of this many characters
        peak_memory: Annotated[int, Within(0, 2**53)]
        flops: Mapping[Index, Work]
        world: Index = 0               # may be left out

    read(RankHead, parse(content, place), place)

Annotations may be ``str``, ``int``, ``float``, these with a range, tuples (lists of any length or of a given one),
mappings, dataclasses, any of these or ``None``, and unions of a list and something else. Nothing is converted, except
that an integer is accepted as a float. This module uses only the standard library, because the virtual layer imports it
inside the user's process.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from clue.errors import TraceError

Form = TypeVar("Form")
#: Faults: the place within a value, and the rule broken.
_Faults = list[tuple[str, str]]
#: Reads a value: appends its faults to the list and returns the value in its final type.
_Reader = Callable[[Any, _Faults], Any]

#: Number of faults of one document that are reported.
_TOLD = 8
#: Number of characters of a value that a message shows.
_SHOWN = 60
#: Digits of the longest number that is parsed: valid numbers have fewer.
_DIGITS = 400
#: Surrogates other than those by which Python keeps bytes of a name that are not UTF-8 (PEP 383).
_SURROGATE = re.compile("[\ud800-\udc7f\udd00-\udfff]")
_WHOLE = re.compile("0|[1-9][0-9]{0,15}")


@dataclass(frozen=True, slots=True)
class Within:
    """Bounds of a number or of the length of a text, both inclusive."""

    least: float
    most: float


def parse(content: bytes, place: object) -> Any:
    """Parse JSON by RFC 8259: UTF-8 without a byte order mark, each key once, finite numbers.

    Raises:
        TraceError: If the content is not such JSON.
    """
    try:
        return json.loads(
            content.decode(),
            object_pairs_hook=_unique,
            parse_constant=_refuse_constant,
            parse_int=_integral,
            parse_float=_finite,
        )
    except UnicodeDecodeError as error:
        raise TraceError(f"{place}: file must be UTF-8 text, got another byte at {error.start}") from None
    except RecursionError:
        raise TraceError(f"{place}: file must not be nested deeper than its format, got far more levels") from None
    except ValueError as error:
        raise TraceError(f"{place}: file must be JSON, got {error}") from None


def parse_version(content: bytes, place: object, name: str, versions: Sequence[int], what: str) -> Any:
    """Parse JSON that names its format and version; the version must be one of ``versions`` (in rising order).

    Raises:
        TraceError: If it is of another format or version, or not JSON.
    """
    data = parse(content, place)
    if not isinstance(data, dict) or data.get("format") != name:
        raise TraceError(f'{place}: format must be "{name}": this is not {what}')
    found = data.get("version")
    if type(found) is not int or found not in versions:
        again = "record the program again with this version of clue"
        *others, last = map(str, versions)
        rule = f"{', '.join(others)} or {last}" if others else last
        raise TraceError(f"{place}: version must be {rule}, got {shown(found)}: {again}")
    return data


def read(form: type[Form], value: object, place: object) -> Form:
    """Return a parsed document in its form. Unknown keys are ignored.

    Raises:
        TraceError: If it has faults; lists all of them.
    """
    faults: _Faults = []
    result: Form = _reader(cast(Any, form))(value, faults)
    if faults:
        told = [f"{place}: {path.removeprefix('.') or 'file'} {rule}" for path, rule in faults[:_TOLD]]
        more = [f"{place}: and {len(faults) - _TOLD} more faults"] if len(faults) > _TOLD else []
        raise TraceError([*told, *more])
    return result


def shown(value: object) -> str:
    """Return a value as text for the end of a message: short, and of printable characters."""
    if isinstance(value, dict | list):
        return f"{'an empty' if not value else 'a'} {'mapping' if isinstance(value, dict) else 'list'}"
    text = json.dumps(value) if isinstance(value, str) else "nothing" if value is None else str(value).lower()
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


# --- JSON ---


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        (twice, _), *_others = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"the key {shown(twice)} more than once")
    return result


def _refuse_constant(text: str) -> None:
    raise ValueError(f"{text}, which is not a JSON number")


def _integral(text: str) -> int:
    if len(text) > _DIGITS:
        raise ValueError(f"a number of {len(text)} digits")
    return int(text)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text}, which is too large")
    return number


# --- forms ---


@cache
def _reader(kind: Any) -> _Reader:
    """Return the reader of an annotation's values."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _PLAIN[arguments[0]](arguments[1])
    if origin is tuple:
        return (
            _listed(_reader(arguments[0])) if arguments[-1] is ... else _in_order([_reader(each) for each in arguments])
        )
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _mapped(*arguments)
    if origin in (Union, UnionType):
        return _either(arguments)
    return _record(kind) if is_dataclass(kind) else _PLAIN[kind](Within(-math.inf, math.inf))


def _text(within: Within) -> _Reader:
    def read(value: Any, faults: _Faults) -> Any:
        if not isinstance(value, str):
            faults.append(("", f"must be text, got {shown(value)}"))
        elif len(value) > within.most:
            faults.append(("", f"must have at most {within.most:.0f} characters, got {len(value)}"))
        elif _SURROGATE.search(value):
            faults.append(("", f"must be Unicode text, got {shown(value)}"))
        return value

    return read


def _integer(within: Within) -> _Reader:
    least, most = within.least, within.most

    def read(value: Any, faults: _Faults) -> Any:
        if type(value) is not int or not least <= value <= most:
            faults.append(("", f"must be a whole number {_range(within)}, got {shown(value)}"))
        return value

    return read


def _number(within: Within) -> _Reader:
    def read(value: Any, faults: _Faults) -> Any:
        if type(value) not in {int, float} or not within.least <= value <= within.most:
            faults.append(("", f"must be a number {_range(within)}, got {shown(value)}"))
            return value
        return float(value)

    return read


def _range(within: Within) -> str:
    return f"from {within.least:.17g} to {within.most:.17g}"


_PLAIN: Mapping[type, Callable[[Within], _Reader]] = {str: _text, int: _integer, float: _number}


def _listed(entry: _Reader) -> _Reader:
    def read(value: Any, faults: _Faults) -> Any:
        if not isinstance(value, list):
            faults.append(("", f"must be a list, got {shown(value)}"))
            return value
        return tuple([_at(i, entry, each, faults) for i, each in enumerate(value)])

    return read


def _mapped(key: Any, kind: Any) -> _Reader:
    entry, whole = _reader(kind), key is int

    def read(value: Any, faults: _Faults) -> Any:
        if not isinstance(value, dict):
            faults.append(("", f"must be a mapping, got {shown(value)}"))
            return value
        if whole and (bad := next((name for name in value if not _WHOLE.fullmatch(name)), None)) is not None:
            faults.append(("", f"must have whole numbers as keys, got {shown(bad)}"))
            return value
        return {
            int(name) if whole else name: _at(f"[{shown(name)}]", entry, each, faults) for name, each in value.items()
        }

    return read


def _in_order(entries: Sequence[_Reader]) -> _Reader:
    def read(value: Any, faults: _Faults) -> Any:
        if not isinstance(value, list) or len(value) != len(entries):
            faults.append(("", f"must be a list of {len(entries)} entries, got {shown(value)}"))
            return value
        return tuple([_at(i, entry, each, faults) for i, (entry, each) in enumerate(zip(entries, value, strict=True))])

    return read


def _either(kinds: Sequence[Any]) -> _Reader:
    lists = next((_reader(each) for each in kinds if get_origin(each) is tuple), None)
    others = next((_reader(each) for each in kinds if get_origin(each) is not tuple and each is not NoneType), lists)

    def read(value: Any, faults: _Faults) -> Any:
        if value is None and NoneType in kinds:
            return None
        reader = lists if isinstance(value, list) and lists is not None else others
        assert reader is not None, "something else than nothing is allowed"
        return reader(value, faults)

    return read


def _record(form: Any) -> _Reader:
    hints = get_type_hints(form, include_extras=True)
    readers = {each.name: _reader(hints[each.name]) for each in fields(form)}
    needed = [each.name for each in fields(form) if each.default is MISSING and each.default_factory is MISSING]

    def read(value: Any, faults: _Faults) -> Any:
        if not isinstance(value, dict):
            faults.append(("", f"must be a mapping, got {shown(value)}"))
            return None
        known = len(faults)
        faults += [(f".{name}", "must be given, got nothing") for name in needed if name not in value]
        result = {name: _at(f".{name}", readers[name], value[name], faults) for name in readers if name in value}
        return form(**result) if len(faults) == known else None

    return read


def _at(step: str | int, entry: _Reader, value: Any, faults: _Faults) -> Any:
    """Read an entry of a value; its faults name its place in the value."""
    known = len(faults)
    result = entry(value, faults)
    if len(faults) > known:
        word = f"[{step}]" if isinstance(step, int) else step
        faults[known:] = [(word + path, rule) for path, rule in faults[known:]]
    return result
