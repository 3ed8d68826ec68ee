"""A comparison with figures that can be changed: prices, budget, rates, limits, deadlines, power.

None of them affects a simulation. A changed figure is read as if it were written in the file, by the same rules and
with the same errors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path as FilePath

from clue.config.document import Document, Origin, Path, children, format_path
from clue.config.faults import Faults
from clue.config.loading import kind_of, variant
from clue.config.reading import Kept, Reading
from clue.config.scenarios import build_scenario
from clue.config.sources import Source, folder_of, read_source
from clue.config.yaml12 import number_or_text
from clue.errors import ConfigError, UsageError
from clue.purchase.scenario import SERVICE_LIFE, Criterion, Scenario
from clue.units import format_time

#: Wildcard: matches any key.
_ANY = "*"
#: Paths of figures other than those in blocks of costs; below ``generate`` there may be a list.
_CHANGEABLE: tuple[Path, ...] = (
    ("limits", _ANY),
    ("weighted", _ANY),
    ("currencies", _ANY, "rate"),
    ("generate", "price"),
    *(("generate", part, _ANY, "price") for part in ("node_types", "processors", "memory", "networks", "topologies")),
    *(("generate", part, _ANY, *key) for part in ("networks", "topologies")
      for key in (("price_per_node",), ("switch", "price"))),
)  # fmt: skip
#: Paths of blocks of costs.
_BLOCKS: tuple[Path, ...] = (("costs", _ANY), ("options", _ANY, "cost"), ("generate", "cost"))
#: Keys of costs whose values are not figures of money, power or time.
_NO_FIGURES = {"source", "date", "part", "type", "of", "paid", "tariff", "count", "per_node", "ports", "per_rack"}
#: Ends of the paths of figures that must be whole numbers.
_WHOLE: set[Path] = {("limits", "nodes"), ("racks", "rack_units")}
#: Headings of groups whose heading is not a name in the file.
_HEADINGS = {"": "The comparison", "options": "Prices of options", "limits": "Limits", "workloads": "Workloads",
             "weighted": "Weights of criteria", "currencies": "Currencies", "generate": "Prices of parts"}  # fmt: skip
#: Keys of a price and its spread in a table.
_OF_SPREAD = {"value", "spread"}


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure that can be changed.

    Attributes:
        name: Its path as messages show it: ``"options.ours.price"``.
        path: Its path in the file, whether or not it is written there.
        group: The heading of its group.
        label: Its label under that heading.
        text: Its text in the file; empty if it is not written.
        default: The value that holds if it is not written.
        choices: Its possible values, if it is one of a few words.
        whole: Whether it must be a whole number.
    """

    name: str
    path: Path
    group: str
    label: str
    text: str
    default: str = ""
    choices: tuple[str, ...] = ()
    whole: bool = False


class ChangeError(ConfigError):
    """Faults of changed figures.

    Args:
        of_figures: The fault of each figure, by its name.
        others: Other faults that the comparison then has.
    """

    def __init__(self, of_figures: Mapping[str, tuple[str, ...]], others: tuple[str, ...]) -> None:
        self.of_figures, self.others = dict(of_figures), others
        super().__init__([*(text for texts in of_figures.values() for text in texts), *others])


class ChangeableScenario:
    """A comparison as written in its file, and with other figures.

    Machines, and parts of machines, that none of the figures affects are kept as they were first read.

    Attributes:
        scenario: The comparison as written.
        figures: The figures that can be changed, by group.

    Args:
        source: A path, the name of a scenario shipped with clue, or the mapping itself.
        full: Whether to use its full-size variant.
        relative_to: Base directory of a relative path; default: the current one.

    Raises:
        ConfigError: With all faults of the file.
        UsageError: If it is not a comparison, or has no full-size variant.
    """

    def __init__(self, source: Source, *, full: bool = False, relative_to: FilePath | str | None = None) -> None:
        document, path = read_source(source, ("scenarios",), relative_to)
        self._kept: dict[object, Kept] = {}
        self._name = path.stem if path is not None else "scenario"
        kind = kind_of(document)
        if kind != "scenario":
            raise UsageError(f"{document.file or self._name}: file must hold a comparison, got a {kind}")
        self._base = folder_of(path, relative_to)
        self._document = variant(document, self._name, full)
        faults = Faults()
        scenario = self._built(self._document, faults)
        faults.check()
        assert scenario is not None
        self.scenario = scenario
        self.figures = tuple(_figures(self._document, scenario))
        self._by_name = {figure.name: figure for figure in self.figures}

    def changed(self, changes: Mapping[str, str]) -> Scenario:
        """Return the comparison with some figures changed.

        Args:
            changes: New texts by the names of figures; an empty text removes the figure.

        Raises:
            ChangeError: With all faults of the changed comparison.
        """
        unknown = [name for name in changes if name not in self._by_name]
        if unknown:
            raise ChangeError({}, tuple(f"figure must be one that can be changed, got {name!r}" for name in unknown))
        document = self._document
        for name, text in changes.items():
            document = _with(document, self._by_name[name].path, text.strip())
        faults = Faults()
        scenario = self._built(document, faults)
        if faults or scenario is None:
            raise self._error(faults)
        return scenario

    def _built(self, document: Document, faults: Faults) -> Scenario | None:
        return build_scenario(Reading(document, self._base, faults, self._kept), self._name)

    def _error(self, faults: Faults) -> ChangeError:
        """Sort faults by the figures that they are about."""
        by_path = {figure.path: figure.name for figure in self.figures}
        of_figures: dict[str, list[str]] = {}
        others = []
        for path, text in faults.places():
            near = next((by_path[path[:n]] for n in range(len(path), 0, -1) if path[:n] in by_path), None)
            if near is None:
                others.append(text)
            else:
                of_figures.setdefault(near, []).append(text)
        return ChangeError({name: tuple(texts) for name, texts in of_figures.items()}, tuple(others))


def _with(document: Document, path: Path, text: str) -> Document:
    """Return a document with another value at a path, whose parent exists; empty text removes the value."""
    parent = document.at(*path[:-1])
    if not text and isinstance(parent.value, dict):
        left = {key: value for key, value in parent.value.items() if key != path[-1]}
        origins = {place: origin for place, origin in parent.origins.items() if place[:1] != path[-1:]}
        return document.replaced(path[:-1], Document(left, origins))
    value = number_or_text(text)
    return document.replaced(path, Document(value, {(): Origin("", 0, 0, path)}))


def _has(document: Document, path: Path) -> bool:
    parent = document.at(*path[:-1]).value
    return isinstance(parent, list) or (isinstance(parent, dict) and path[-1] in parent)


# --- finding the figures ----------------------------------------------------------------------------------------------


def _figures(document: Document, scenario: Scenario) -> Iterator[Figure]:
    """Yield the figures that can be changed, each once."""
    known: set[str] = set()
    for figure in (*_always(document, scenario), *_written(document)):
        if figure.name not in known:
            known.add(figure.name)
            yield figure


def _always(document: Document, scenario: Scenario) -> Iterator[Figure]:
    """Yield the figures that every comparison has, written or not."""
    yield _figure(document, ("budget",), default="no limit")
    yield _figure(document, ("criterion",), Criterion.POINTS.value, tuple(each.value for each in Criterion))
    yield _figure(document, ("service_life",), default=format_time(SERVICE_LIFE))
    yield _figure(document, ("discount_rate",), default="0")
    options = {option.name: option for option in scenario.options}
    for name in _keys(document, "options"):
        option = options.get(str(name))
        if option is not None and not option.is_rented:
            price = option.machine.price
            yield _figure(document, ("options", name, "price"), default="none" if price is None else str(price))
    for name in _keys(document, "workloads"):
        yield _figure(document, ("workloads", name, "weight"), default="1")
        for key in ("deadline", "runs_a_month"):
            yield _figure(document, ("workloads", name, key), default="none")


def _keys(document: Document, section: str) -> list[object]:
    top = document.value
    found = top.get(section) if isinstance(top, dict) else None
    return [key for key, value in children(found) if isinstance(value, dict)] if isinstance(found, dict) else []


def _written(document: Document) -> Iterator[Figure]:
    """Yield the figures written in the file, in its order."""
    for path in document.origins:
        if _is_changeable(path) or _is_of_costs(path):
            value = document.at(*path).value if len(path) < _DEEPEST else None
            if (isinstance(value, int | float | str) and not isinstance(value, bool)) or _has_spread(value):
                yield _figure(document, path)


#: Depth of nesting that no figure of a comparison reaches.
_DEEPEST = 16


def _is_changeable(path: Path) -> bool:
    plain = _without_number(path)
    return any(_matches(plain, pattern) for pattern in _CHANGEABLE)


def _has_spread(value: object) -> bool:
    """Tell whether a value is a table of a price and its spread."""
    return isinstance(value, dict) and value.keys() == _OF_SPREAD


def _is_of_costs(path: Path) -> bool:
    plain = _without_number(path)
    block = next((b for b in _BLOCKS if len(plain) > len(b) and _matches(plain[: len(b)], b)), None)
    if block is None or _NO_FIGURES & set(map(str, plain[len(block) :])):
        return False
    below = plain[len(block) :]
    if isinstance(below[0], int):  # one of several blocks, unless it is the name of a block
        below = below[1:]
    return bool(below) and ("steps" not in below or below[-1] == 1) and below[-1] not in _OF_SPREAD


def _without_number(path: Path) -> Path:
    """Return a path without its index into the list of families of generated options."""
    return path[:1] + path[2:] if path[:1] == ("generate",) and len(path) > 1 and isinstance(path[1], int) else path


def _matches(path: Path, pattern: Path) -> bool:
    return len(path) == len(pattern) and all(p in (_ANY, step) for step, p in zip(path, pattern, strict=True))


def _figure(document: Document, path: Path, default: str = "", choices: tuple[str, ...] = ()) -> Figure:
    text = _text(document.at(*path).value) if _has(document, path) else ""
    group, label = _called(path)
    return Figure(format_path(path), path, group, label, text, default, choices, path[-2:] in _WHOLE)


def _text(value: object) -> str:
    """Return a figure as it may be written in one piece: a table of a price and its spread as text."""
    if isinstance(value, dict) and _has_spread(value):
        spread = value["spread"]
        percent = f"{100 * spread:.6g} %" if isinstance(spread, int | float) else str(spread)
        return f"{value['value']} ± {percent}"
    return "" if value is None else str(value)


def _called(path: Path) -> tuple[str, str]:
    """Return the heading of a figure's group, and its label there."""
    first = str(path[0]) if len(path) > 1 else ""
    if first == "costs":
        return f"Costs: {path[1]}", _words(path[2:])
    if first == "options" and path[2] == "cost":
        return f"Costs of {path[1]}", _words(path[3:])
    if first == "generate" and "cost" in path:
        return "Costs of generated options", _words(path[path.index("cost") + 1 :])
    below = path if not first else path[1:-1] if first in {"options", "currencies"} else path[1:]
    return _HEADINGS.get(first, first), _words(below)


def _words(path: Path) -> str:
    """Return a path in words; names that users give are not changed."""
    if len(path) > 2 and path[-3] == "steps":
        return f"{_words(path[:-3])}: step {int(str(path[-2])) + 1}"
    return ": ".join(str(step + 1) if isinstance(step, int) else str(step).replace("_", " ") for step in path)
