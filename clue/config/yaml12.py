"""Read YAML by the rules of YAML 1.2, remembering the line and column of every value.

PyYAML follows YAML 1.1, where ``1e9`` is text, ``no`` is false, ``010`` is eight and ``12:30:45`` a number of
seconds. Here the core schema of YAML 1.2.2 (section 10.3) decides; a key given twice is an error, and so are
tags that would build anything but plain values. This is the only module of clue that imports a YAML library.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import yaml

from clue.config.document import Document, Origin, Path, format_path
from clue.errors import ConfigError

_LIMIT = 100_000  # values in one file: far more than any machine needs; stops aliases that multiply
_DEPTH = 100
_DIGITS = 400  # of a whole number: far more than any quantity has; Python itself writes no numbers of 4,300 digits

_Parser: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Core(_Parser):  # type: ignore[misc]
    """A loader that resolves plain scalars by the core schema of YAML 1.2; used for composing only."""

    yaml_implicit_resolvers: dict[str, list[object]] = {}  # noqa: RUF012


_TAG = "tag:yaml.org,2002:"
_RESOLVERS: tuple[tuple[str, str, str], ...] = (
    ("null", r"null|Null|NULL|~|", "nN~"),
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    ("float", r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", "-+.0123456789"),
    ("float", r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", "-+."),
)
for _name, _pattern, _first in _RESOLVERS:
    _firsts = [*_first, ""] if _name == "null" else list(_first)
    _Core.add_implicit_resolver(_TAG + _name, re.compile(rf"^(?:{_pattern})$"), _firsts)


def parse_yaml(text: str, file: str) -> Document:
    """Parse the text of one YAML document.

    Args:
        text: The text.
        file: Its name in messages.

    Raises:
        ConfigError: If it is not YAML, is empty, has several documents, repeats a key, or has a tag outside the
            core schema.
    """
    try:
        _check_size(text, file)
        top = yaml.compose(text, Loader=_Core)
        if top is None or (isinstance(top, yaml.ScalarNode) and top.tag == _TAG + "null"):
            raise ConfigError(f"{file}: file must hold a YAML mapping, got nothing")
        reading = _Reading(file)
        value = reading.construct(top, (), None)
    except yaml.MarkedYAMLError as error:
        raise ConfigError(_marked(error, file, text)) from None
    except yaml.reader.ReaderError as error:
        raise ConfigError(_unprintable(error, file, text)) from None
    if reading.faults:
        raise ConfigError(reading.faults)
    return Document(value, reading.origins)


def number_or_text(text: str) -> int | float | str:
    """Return the value that a plain text has in a file: a number if it is one, else text."""
    for name, build in (("int", _integer), ("float", _number)):
        if len(text) <= _DIGITS and any(
            name == each and re.fullmatch(pattern, text) for each, pattern, _ in _RESOLVERS
        ):
            return build(text)
    return text


def _check_size(text: str, file: str) -> None:
    # The fast parser of PyYAML composes by unguarded recursion: about 10,000 levels crash the process.
    depth = values = 0
    for event in yaml.parse(text, Loader=_Core):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        values += isinstance(event, yaml.NodeEvent)
        if depth > _DEPTH:
            raise ConfigError(_too_deep(_place(event, file)))
        if values > 2 * _LIMIT:  # each with a key
            raise ConfigError(_too_many(file))


def _too_many(file: str) -> str:
    return f"{file}: file must hold at most {_LIMIT} values, got more"


def _too_deep(place: str) -> str:
    return f"{place}: text must be nested at most {_DEPTH} levels deep, got more"


def _place(where: yaml.MarkedYAMLError | yaml.Event, file: str) -> str:
    mark = (where.problem_mark or where.context_mark) if isinstance(where, yaml.MarkedYAMLError) else where.start_mark
    return f"{file}:{mark.line + 1}:{mark.column + 1}" if mark else file


def _rest(mark: yaml.Mark | None, text: str) -> str:
    """Return the line from a mark on, which counts lines and columns from 0; ``""`` if there is none."""
    lines = text.split("\n")
    return lines[mark.line][mark.column :] if mark and mark.line < len(lines) else ""


def _unprintable(error: yaml.reader.ReaderError, file: str, text: str) -> str:
    """Return the message of a character that YAML does not allow; the first one in the text is the fault."""
    before, character, _ = text.partition(chr(error.character))
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    return f"{file}:{line}:{column}: text must be YAML, which has no control characters, got U+{ord(character):04X}"


def _marked(error: yaml.MarkedYAMLError, file: str, text: str) -> str:
    """Return the message of an error that has a place."""
    place = _place(error, file)
    if "nesting depth" in str(error.problem):  # libyaml's own limit of 1,000, which it may meet before the first event
        return _too_deep(place)
    if "another document" in str(error.problem):
        return f"{place}: file must hold one YAML document, got another one"
    return f"{place}: text must be YAML, {_broken(error, _rest(error.problem_mark, text))}"


def _broken(error: yaml.MarkedYAMLError, rest: str) -> str:
    """Return the rule that a text breaks; frequent ones in clue's own words, as libyaml's do not name what it found."""
    problem = str(error.problem).removeprefix("found ")
    if "cannot start any token" in problem and rest.startswith("\t"):
        return "which indents by spaces, got a tab"
    if "cannot start any token" in problem and rest[:1] in {"@", "`", "%"}:
        return f"which needs quotes around what begins with {rest[0]}, got none"
    if problem == "undefined alias":
        alias = re.split(r"[\s,\]}]", rest)[0]
        return f"whose aliases stand below their anchor, got {alias} without one"
    if "mapping values are not allowed" in problem:
        rule = "where a key has a space after its colon and the indentation of the keys beside it"
        return f"{rule}, got another colon: put text with a colon in quotes"
    begin = error.context_mark
    context = f" {error.context} that begins at {begin.line + 1}:{begin.column + 1}" if error.context and begin else ""
    return f"got {problem}{context}"


class _Reading:
    """One pass over the composed nodes of a file: builds the values, notes origins and collects faults."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.origins: dict[Path, Origin] = {}
        self.faults: list[str] = []
        self._open: set[int] = set()

    def construct(self, node: yaml.Node, path: Path, key: yaml.Node | None) -> object:
        """Return the plain value of a node; its key, if any, gives the position."""
        self.origins[path] = self._origin(node, path, key)
        if len(self.origins) > _LIMIT:
            raise ConfigError(_too_many(self.file))
        if id(node) in self._open:
            self._fault(node, path, "must not contain itself, got an alias to an enclosing value")
            return None
        self._open.add(id(node))
        value = self._value(node, path)
        self._open.discard(id(node))
        return value

    def _value(self, node: yaml.Node, path: Path) -> object:
        if isinstance(node, yaml.MappingNode) and node.tag == _TAG + "map":
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode) and node.tag == _TAG + "seq":
            return [self.construct(item, (*path, i), None) for i, item in enumerate(node.value)]
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, path)
        self._fault(node, path, f"must not have a tag, got {node.tag}")
        return None

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[object, object]:
        result: dict[object, object] = {}
        for key_node, item in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                self._fault(key_node, path, "must have plain keys, got a key that is a mapping or list")
                continue
            if key_node.value == "<<" and not key_node.style:
                rule = "must not have merge keys, which YAML 1.2 does not know"
                self._fault(key_node, path, f"{rule}, got <<: write the keys out, or give a whole value by an alias")
                continue
            key = self._scalar(key_node, path)
            if key is None:
                got = f'"{key_node.value}", which is null in YAML' if key_node.value else "none"
                self._fault(key_node, path, f"must have a name for each key, got {got}: put a name in quotes")
                continue
            if key in result:
                self._fault(key_node, path, f'must have each key once, got "{key_node.value}" again')
                continue
            result[key] = self.construct(item, (*path, key), key_node)
        return result

    def _scalar(self, node: yaml.ScalarNode, path: Path) -> object:
        build = _SCALARS.get(node.tag.removeprefix(_TAG))
        if build is None:
            self._fault(node, path, f"must not have a tag, got {node.tag}")
            return None
        if build is _integer and len(node.value) > _DIGITS:
            self._fault(node, path, f"must be a number of at most {_DIGITS} digits, got {len(node.value):,}")
            return None
        try:
            return build(node.value)
        except (ValueError, KeyError):
            self._fault(node, path, f'must have the type of its tag {node.tag}, got "{node.value[:40]}"')
            return None

    def _origin(self, node: yaml.Node, path: Path, key: yaml.Node | None) -> Origin:
        mark = node.start_mark
        at = (key.start_mark.line + 1, key.start_mark.column + 1) if key is not None else (0, 0)
        return Origin(self.file, mark.line + 1, mark.column + 1, path, at)

    def _fault(self, node: yaml.Node, path: Path, rule: str) -> None:
        mark = node.start_mark
        subject = format_path(path) or "file"
        self.faults.append(f"{self.file}:{mark.line + 1}:{mark.column + 1}: {subject} {rule}")


def _integer(text: str) -> int:
    prefix = {"0o": 8, "0x": 16}.get(text[:2])
    return int(text[2:], prefix) if prefix else int(text)


def _number(text: str) -> float:
    special = {"inf": math.inf, "nan": math.nan}.get(text.lstrip("+-").lstrip(".").lower())
    value = float(text) if special is None else special
    return -value if special is not None and text.startswith("-") else value


_SCALARS: dict[str, Callable[[str], object]] = {
    "null": lambda _: None,
    "bool": lambda text: {"true": True, "false": False}[text.lower()],
    "int": _integer,
    "float": _number,
    "str": str,
}
