"""Collect the faults of a file and report them: one line per fault, with place, subject, rule and value.

::

    machines/fast.yaml:12:9: nodes[0].count must be at least 1, got -4

All faults are reported together, in the order of the file.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from clue.config.document import Document, Path, children, format_path, format_value
from clue.config.forms import FORMS, Form
from clue.config.yaml12 import number_or_text
from clue.errors import ConfigError

AnyForm = TypeVar("AnyForm", bound=Form)

_RULES = {
    "missing": "must be given",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "string_type": "must be text",
    "invalid_key": "must be a known key",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "dict_type": "must be a mapping",
    "model_type": "must be a mapping",
    "greater_than": "must be above {gt:g}",
    "greater_than_equal": "must be at least {ge:g}",
    "less_than": "must be below {lt:g}",
    "less_than_equal": "must be at most {le:g}",
    "too_short": "must have at least {min_length} entries",
    "too_long": "must have at most {max_length} entries",
    "string_too_short": "must not be empty text",
    "literal_error": "must be {expected}",
}

_FORM_WORDS = {"<one>": "one value", "<list>": "a list", "<table>": "a mapping", "<model>": "a mapping"}


class Faults:
    """The faults found so far in some documents."""

    def __init__(self) -> None:
        self._found: list[tuple[str, int, int, Path, str]] = []
        self._texts: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def add(self, document: Document, path: Path, rule: str, *, of_key: bool = False) -> None:
        """Add a fault of the value at a path, or of its key; the rule ends with the value got."""
        origin, unwritten = document.nearest(path)
        subject = format_path(origin.path + unwritten) or "file"
        of_key = of_key and not unwritten
        line, column = origin.key if of_key and origin.key[0] else (origin.line, origin.column)
        place = origin.place(of_key=of_key)
        text = f"{place}: {subject} {rule}" if place else f"{subject} {rule}"
        if text not in self._texts:
            self._append((origin.file, line, column, origin.path + unwritten, text))

    def take(self, error: ConfigError) -> None:
        """Add the faults of an error raised for another file, which may be read several times, each once."""
        for text in [text for text in error.faults if text not in self._texts]:
            self._append(("", 0, 0, (), text))

    def extend(self, others: Faults) -> None:
        """Add faults that were collected separately."""
        for fault in others._found:
            if fault not in self._found:
                self._append(fault)

    def _append(self, fault: tuple[str, int, int, Path, str]) -> None:
        self._found.append(fault)
        self._texts.add(fault[-1])

    def due_to(self, change: str, file: str, without: Faults) -> Faults:
        """Return these faults of a file with a change; those that also exist without it stay as they are.

        Args:
            change: What changes the file, in words for the end of a message.
            file: The file; faults elsewhere name their place.
            without: The faults of the file without the change.
        """
        found = Faults()
        for fault in self._found:
            is_due = fault[0] == file and fault not in without._found
            found._append((*fault[:-1], f"{fault[-1]}: {change}") if is_due else fault)
        return found

    def places(self) -> Iterator[tuple[Path, str]]:
        """Yield the path of each fault within its file, and its message."""
        yield from ((path, text) for *_, path, text in self._found)

    def check(self) -> None:
        """Raise all faults found, if any.

        Raises:
            ConfigError: With all faults, by file (in order of discovery), line and column.
        """
        if self._found:
            files = list(dict.fromkeys(file for file, *_ in self._found))
            ordered = sorted(self._found, key=lambda fault: (files.index(fault[0]), fault[1], fault[2]))
            raise ConfigError([text for *_, text in ordered])


def validated(form: type[AnyForm], document: Document, faults: Faults) -> AnyForm | None:
    """Return a document in its form, or add its faults and return ``None``."""
    unusable = list(_unusable(document.value, ()))
    for path in unusable:
        rule = "must be text without NUL characters or lone surrogates"
        faults.add(document, path, f"{rule}, got {format_value(document.at(*path).value)}")
    try:
        built = form.model_validate(document.value)
        return None if unusable else built
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            _add(detail, form, document, faults)
    return None


def _unusable(value: object, path: Path) -> Iterator[Path]:
    """Yield the paths of text that could be neither a file name nor an argument of a program."""
    if isinstance(value, str) and ("\0" in value or not _is_unicode(value)):
        yield path
    for step, below in children(value):
        yield from _unusable(below, (*path, step))


def _is_unicode(text: str) -> bool:
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


def _add(detail: ErrorDetails, form: type[Form], document: Document, faults: Faults) -> None:
    loc = _as_written(tuple(step for step in detail["loc"] if step not in FORMS), document)
    of_key = bool(loc) and loc[-1] == "[key]"
    path = loc[:-1] if of_key else loc
    kind = detail["type"]
    if kind == "extra_forbidden" and (rule := _of_another_form(form, path, document)):
        faults.add(document, path, rule, of_key=True)
    elif kind == "extra_forbidden":
        names = known_keys(form, path[:-1])
        where = format_path(document.nearest(path)[0].path[:-1]) or "file"
        rule = f"must be a key of {where} ({', '.join(sorted(names))})" if len(names) <= 8 else "must be a known key"
        hint = _cut_in_two(path[-1], detail["input"]) or did_you_mean(path[-1], names - {path[-1]})
        faults.add(document, path, f'{rule}, got "{path[-1]}"{hint}', of_key=True)
    elif kind == "union_tag_invalid":
        forms = [_FORM_WORDS.get(tag, tag) for tag in re.findall(r"<\w+>", detail["ctx"]["expected_tags"])]
        faults.add(document, path, f"must be {' or '.join(dict.fromkeys(forms))}, got {_got(detail)}", of_key=of_key)
    elif kind == "value_error":
        faults.add(document, path, str(detail["ctx"]["error"]), of_key=of_key)
    else:
        rule = _RULES.get(kind, detail["msg"]).format(**detail.get("ctx", {}))
        of_key = of_key or kind == "invalid_key"
        hint = _type_hint(path, detail, document, of_key=of_key)
        faults.add(document, path, f"{rule}, got {_got(detail)}{hint}", of_key=of_key)


def _as_written(loc: Path, document: Document) -> Path:
    """Return a location of pydantic, which writes keys with a fraction as text, as the path of a value."""
    path: Path = ()
    for step in loc:
        is_unknown = isinstance(step, str) and (*path, step) not in document.origins
        path = (*path, number_or_text(str(step)) if is_unknown else step)
    return path


def _type_hint(path: Path, detail: ErrorDetails, document: Document, *, of_key: bool) -> str:
    """Return a hint for the end of a message on a key or value of the wrong type, or nothing."""
    match detail["type"]:
        case "invalid_key":
            return _cut_in_two(path[-1], document.at(*path).value)
        case "string_type" if of_key:
            return ": put a name in quotes"
        case "string_type" if isinstance(detail["input"], int | float):
            return ": put it in quotes"
        case "int_type" if of_key and str(path[-1]).isdecimal():
            return ": write the number without quotes"
    return ""


def _of_another_form(form: type[Form], path: Path, document: Document) -> str:
    """Return the rule that a key breaks which another form of its mapping has, such as another topology, or nothing.

    Where a key beside it was written elsewhere (in the machine that an option changes), the rule says where.
    """
    if document.nearest(path)[1]:
        return ""
    key, beside = path[-1], document.value_at(*path[:-1])
    forms = [each.get("properties", {}) for each in _forms_at(form, path[:-1])]
    having = [each for each in forms if key in each]
    if not having or not isinstance(beside, dict):
        return ""
    for name, got in beside.items():
        words = sorted({each[name]["const"] for each in having if "const" in each.get(name, {})})
        if words and got not in words:
            return f"must be given with {name} {' or '.join(words)}, got {name} {got}"
    others = [name for name in beside if any(name in each for each in forms) and not any(name in h for h in having)]
    if not others:
        return ""
    origin, other = (document.nearest((*path[:-1], name))[0] for name in (key, others[0]))
    apart = (origin.file, origin.path[:-1]) != (other.file, other.path[:-1])
    where = f": {others[0]} from {other.place(of_key=True) or format_path(other.path)}" if apart else ""
    return f"must be given without {' and '.join(others)}, got both{where}"


def _cut_in_two(key: object, value: object) -> str:
    """Recognise the remains of ``price: 1,900 EUR`` or ``0,5`` between braces, where YAML ends a value at a comma."""
    if value is not None or not re.match(r"\d", str(key)):
        return ""
    thousands = re.match(r"\d{3}(\D|$)", str(key))
    what = "put a number with commas in quotes" if thousands else "write a fraction with a point"
    return f": between braces a comma ends a value, so {what}"


def _got(detail: ErrorDetails) -> str:
    return "nothing" if detail["type"] == "missing" else format_value(detail["input"])


#: Names that other tools use for keys of clue.
_SYNONYMS = {
    "processors": ("cores", "cpus", "procs", "sockets", "slots", "ppn"),
    "memory": ("ram", "mem"),
    "performance_factor": ("clock", "frequency", "ghz", "mhz", "slowdown", "speedup"),
    "speed": ("flops", "gflops", "mips"),
    "price": ("cost", "costs", "value"),
    "count": ("number", "num", "quantity", "nodes"),
    "type": ("kind", "node_type"),
    "send_delay": ("overhead",),
    "transmission_delay": ("latency", "bandwidth", "delay", "travel"),
    "eager_limit": ("eager", "eager_threshold", "eager_size", "rendezvous_threshold"),
    "background_load": ("load",),
    "time_slice": ("quantum", "timeslice"),
    "cold_start": ("warm_up", "warmup", "cold_caches"),
    "ranks": ("processes", "procs", "np", "nprocs", "tasks"),
    "script": ("file", "path", "executable", "source"),
    "args": ("arguments", "argv", "parameters"),
    "trace": ("recording",),
    "program": ("application", "app", "code"),
    "machine": ("cluster", "platform", "computer"),
    "workloads": ("programs", "applications", "jobs"),
    "options": ("machines", "clusters", "candidates", "offers"),
    "instances": ("copies", "replicas"),
    "criterion": ("metric", "objective"),
    "budget": ("money",),
    "service_life": ("lifetime", "life", "depreciation"),
    "discount_rate": ("interest", "interest_rate"),
    "limits": ("constraints", "restrictions"),
    "currencies": ("rates", "exchange_rates"),
    "utilisation": ("utilization", "usage"),
    "electricity": ("energy",),
    "quantum": ("billing_quantum", "billing"),
}


def did_you_mean(name: object, known: Iterable[object]) -> str:
    """Return a hint for the end of a message: the known name with the same meaning or the closest spelling, or nothing.

    Names come from the file itself too, where a key may be a number.
    """
    names = list(map(str, known))
    word = str(name).lower().removesuffix("s")
    same = [each for each in names if word == each.removesuffix("s")]
    alike = [each for each in names if word in {other.removesuffix("s") for other in _SYNONYMS.get(each, ())}]
    near = same or alike or difflib.get_close_matches(str(name), names, n=1, cutoff=0.5)
    return f': did you mean "{near[0]}"?' if near else ""


def known_keys(form: type[Form], path: Path) -> set[str]:
    """Return the keys allowed at a path of a form, over all forms that a value there may have."""
    return {key for branch in _forms_at(form, path) for key in branch.get("properties", ())}


def _forms_at(form: type[Form], path: Path) -> list[Mapping[str, Any]]:
    """Return the schemas of all forms that a value at a path of a form may have."""
    schema = _schema(form)
    places = [schema]
    for step in path:
        places = [below for place in places for branch in _branches(place, schema) for below in _below(branch, step)]
    return [branch for place in places for branch in _branches(place, schema)]


@cache
def _schema(form: type[Form]) -> Mapping[str, Any]:
    """Return the schema of a form; making one takes longer than all else that is said about a fault."""
    return form.model_json_schema()


def _branches(place: Mapping[str, Any], schema: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    if "$ref" in place:
        yield from _branches(schema["$defs"][place["$ref"].rsplit("/", 1)[1]], schema)
    for choice in (*place.get("anyOf", ()), *place.get("oneOf", ())):
        yield from _branches(choice, schema)
    yield place


def _below(place: Mapping[str, Any], step: object) -> Iterable[Any]:
    if isinstance(step, int) and "items" in place:
        yield place["items"]
    if step in place.get("properties", ()):
        yield place["properties"][step]
    if isinstance(place.get("additionalProperties"), Mapping):
        yield place["additionalProperties"]
