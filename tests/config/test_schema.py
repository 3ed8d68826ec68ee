"""The forms as JSON Schema: valid, documented, and in agreement with the reader."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from clue.cli.terminal import json_text
from clue.config import SCHEMA_KINDS, json_schema, load_machine, schema_file
from clue.config.yaml12 import number_or_text, parse_yaml
from clue.errors import UsageError
from clue.machine import NoContention
from tests.config.documents import faults_of

KINDS = ("machine", "scenario", "simulation", "validation", "sequence", "part")
ROOT = Path(__file__).resolve().parents[2]
#: Tables of a paper, used by tests; clue does not read this file.
NO_CONFIGURATION = {ROOT / "scenarios/reference/wien97-paper.yaml"}


def parts(schema: object) -> Iterator[dict[str, Any]]:
    """Yield each mapping inside a schema."""
    if isinstance(schema, dict):
        yield schema
        for below in schema.values():
            yield from parts(below)
    if isinstance(schema, list):
        for below in schema:
            yield from parts(below)


@pytest.mark.parametrize("kind", KINDS)
def test_every_key_is_described(kind: str) -> None:
    """Each form and each key has a description."""
    schema = json_schema(kind)
    forms = [schema, *schema["$defs"].values()]
    assert all(form["description"] for form in forms if "oneOf" not in form)  # kinds describe themselves
    for form in forms:
        for key, below in form.get("properties", {}).items():
            assert "description" in below or "$ref" in below or key == "points", (form["title"], key)


@pytest.mark.parametrize("kind", KINDS)
def test_the_schema_holds_together(kind: str) -> None:
    """The schema is plain JSON, its references exist, and its patterns match their examples."""
    schema = json_schema(kind)
    assert json.loads(json.dumps(schema)) == schema
    for part in parts(schema):
        if isinstance(reference := part.get("$ref"), str):
            assert reference.removeprefix("#/$defs/") in schema["$defs"]
        if isinstance(pattern := part.get("pattern"), str):
            assert all(re.search(pattern, example) for example in part["examples"])


@pytest.mark.parametrize("kind", KINDS)
def test_a_schema_is_one_and_has_a_name_of_its_own(kind: str) -> None:
    """The schema is valid, and its identifier does not depend on its location."""
    schema = json_schema(kind)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$id"] == f"urn:clue:schema:{kind}"


@pytest.mark.parametrize("kind", KINDS)
def test_the_shipped_schema_is_up_to_date(kind: str) -> None:
    """The shipped file, which editors read, equals the schema of the reader."""
    stale = f"{schema_file(kind)} is stale: make it anew by clue schema all -o scenarios/schemas"
    assert schema_file(kind).read_text() == json_text(json_schema(kind)), stale


def test_every_kind_has_a_file_and_no_file_is_left_over() -> None:
    """Each kind has a file, no other file exists, and the command lists the same kinds."""
    assert SCHEMA_KINDS == KINDS
    assert {file.name for file in (ROOT / "scenarios/schemas").iterdir()} == {f"{kind}.schema.json" for kind in KINDS}


FILES = sorted(
    file for folder in ("machines", "scenarios", "examples") for file in (ROOT / folder).rglob("*.yaml")
    if file not in NO_CONFIGURATION
)  # fmt: skip


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_a_shipped_file_names_its_schema_and_follows_it(file: Path) -> None:
    """The first line names the schema by a path from the file's folder, in the form of yaml-language-server."""
    found = re.match(r"# yaml-language-server: \$schema=(\S+)\n", file.read_text())
    assert found, f"{file} must begin with # yaml-language-server: $schema=PATH"
    schema = (file.parent / found[1]).resolve()
    assert schema in {schema_file(kind).resolve() for kind in KINDS}
    # JSON has only text as keys.
    value = json.loads(json.dumps(parse_yaml(file.read_text(), str(file)).value))
    jsonschema.Draft202012Validator(json.loads(schema.read_text())).validate(value)


GOOD = {
    "machine": {
        "nodes": [{"count": 2, "type": "pc"}],
        "node_types": {"pc": {"memory": "1 GB"}},
        "network": {"between_nodes": {"send_delay": "1 us", "transmission_delay": "9 us"}},
    },
    "scenario": {
        "budget": "900 EUR",
        "workloads": {"w": {"program": {"trace": "t.clue"}, "ranks": [1, 2]}},
        "options": {"a": {"machine": "pc.yaml", "cost": {"staff": "900 EUR/year"}}},
        "limits": {"power": "20 kW"},
    },
    "simulation": {"program": {"trace": "t.clue"}, "machine": "pc.yaml", "placement": "block"},
    "validation": {"program": {"trace": "t.clue"}, "machine": "pc.yaml", "measured": [1, "2 s"]},
    "sequence": {
        "hosts": ["a"], "steps": [{"makes": "C", "routine": "dgemm", "sizes": {"m": 1}, "reads": [], "size": "8 B"}]
    },
    "part": {
        "kind": "switch", "name": "S", "ports": 40, "rate": "100 Gbit/s", "rack_units": 1, "source": "its sheet",
        "date": "2026-01-01",
        "missing": {"power": "not published", "price": "not published"},
    },
}  # fmt: skip
#: By kind: a place, and a value that is invalid there.
BAD: list[tuple[str, tuple[str | int, ...], object]] = [
    ("machine", ("nodes",), []),
    ("machine", ("nodes", 0, "count"), 0),
    ("machine", ("nodes", 0, "typ"), "pc"),
    ("machine", ("node_types", "pc", "memory"), "1"),
    ("machine", ("node_types", "pc", "memory"), "1 us"),
    ("machine", ("node_types", "pc", "wait"), "sleep"),
    ("machine", ("network", "between_nodes", "send_delay"), 5),
    ("machine", ("network", "latency"), "5 us"),
    ("scenario", ("budget",), 900),
    ("scenario", ("workloads",), {}),
    ("scenario", ("workloads", "w", "ranks"), 0),
    ("scenario", ("workloads", "w", "instances"), "many"),
    ("scenario", ("options", "a", "prize"), "9 EUR"),
    ("scenario", ("options", "a", "cost", "staff"), "900 EUR"),
    ("scenario", ("limits", "power"), "20 GB"),
    ("scenario", ("criterion",), "beauty"),
    ("simulation", ("machine",), None),
    ("simulation", ("placement",), "random"),
    ("simulation", ("instances",), -1),
    ("validation", ("measured",), "soon"),
    ("sequence", ("steps", 0, "size"), "8"),
    ("part", ("ports",), 0),
    ("part", ("kind",), "toaster"),
]


@pytest.mark.parametrize("kind", KINDS)
def test_a_good_file_follows_its_schema(kind: str) -> None:
    """The files that the next test spoils are valid."""
    jsonschema.Draft202012Validator(json_schema(kind)).validate(GOOD[kind])


@pytest.mark.parametrize(("kind", "path", "value"), BAD, ids=[f"{kind} {path} {value}" for kind, path, value in BAD])
def test_a_bad_file_does_not_follow_its_schema(kind: str, path: tuple[str | int, ...], value: object) -> None:
    """Unknown keys, wrong units, numbers out of range and empty lists violate the schema."""
    document: Any = json.loads(json.dumps(GOOD[kind]))
    place = document
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(json_schema(kind)).validate(document)


def test_a_schema_of_anything_else_is_a_wrong_usage() -> None:
    """An unknown kind is a usage error that lists the kinds."""
    with pytest.raises(
        UsageError, match="must be one of machine, scenario, simulation, validation, sequence, part, got 'trace'"
    ):
        json_schema("trace")


def test_the_package_loads_nothing_heavy_before_it_is_used() -> None:
    """Importing ``clue.config`` imports neither pydantic nor PyYAML nor numpy."""
    code = "import sys, clue.config; print([m for m in ('pydantic', 'yaml', 'numpy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("kind", KINDS)
def test_bounds_have_the_names_of_json_schema(kind: str) -> None:
    """Editors ignore bounds by other names."""
    for part in parts(json_schema(kind)):
        assert not {name for name in ("gt", "ge", "lt", "le") if isinstance(part.get(name), (int, float))}


@pytest.mark.parametrize("kind", ["machine", "scenario"])
def test_single_keys_of_a_link_need_a_part_that_supplies_the_others(kind: str) -> None:
    """Beside a part a link may have any keys; without one it must have both delays."""
    document: Any = json.loads(json.dumps(GOOD[kind]))
    network = {"between_nodes": {"eager_limit": "64 KB"}}
    if kind == "machine":
        document["network"] = network
    else:
        document["generate"] = {"nodes": 2, "node_types": {"pc": {}}, "networks": {"wire": network}}
    schema = jsonschema.Draft202012Validator(json_schema(kind))
    assert not schema.is_valid(document)
    network["part"] = "parts/infiniband-hdr"  # type: ignore[assignment]
    assert schema.is_valid(document)


@pytest.mark.parametrize(("word", "valid"), [("none", True), ("None", True), ("NONE", True), ("no", False)])
def test_the_word_none_is_written_as_the_reader_takes_it(word: str, valid: bool) -> None:
    """None as Python writes it means none; nothing else does."""
    machine: Any = json.loads(json.dumps(GOOD["machine"]))
    machine["network"]["between_nodes"]["eager_limit"] = word
    machine["network"]["contention"] = word
    scenario: Any = json.loads(json.dumps(GOOD["scenario"]))
    scenario["budget"] = word
    for kind, document in (("machine", machine), ("scenario", scenario)):
        assert jsonschema.Draft202012Validator(json_schema(kind)).is_valid(document) == valid
    if valid:
        link = load_machine(machine).network
        assert (link.between_nodes.eager_limit, link.contention) == (None, NoContention())
    else:
        assert len(faults_of(load_machine, machine)) == 2


@pytest.mark.parametrize(
    ("key", "valid"),
    [("2", True), ("+2", True), ("02", True), ("0x2", True), ("0", False), ("2.5", False), ("x", False)],
)
def test_keys_of_tables_by_number_are_checked(key: str, valid: bool) -> None:
    """Editors refuse the same keys of a table by number as the reader; JSON has them as text."""
    checked = jsonschema.Draft202012Validator(json_schema("machine"))
    document: Any = json.loads(json.dumps(GOOD["machine"]))
    document["node_types"]["pc"]["memory_contention_factor"] = {key: 0.5}
    document["network"]["contention"] = {"factor": {"1": 1, key: 1.5}}
    assert checked.is_valid(document) == valid
    number = number_or_text(key)
    document["node_types"]["pc"]["memory_contention_factor"] = {number: 0.5}
    document["network"]["contention"] = {"factor": {1: 1, number: 1.5}}
    if valid:
        assert load_machine(document).nodes[0].memory_contention == {2: {"": 0.5}}
    else:
        assert len(faults_of(load_machine, document)) == 2


@pytest.mark.parametrize(
    ("spread", "valid"),
    [("5 %", True), (" .5% ", True), (0.05, True), (0, True), (1, False), (-0.1, False), ("5", False), ("5 s", False)],
)
def test_spreads_of_prices_are_checked(spread: object, valid: bool) -> None:
    """Editors refuse the same spreads as the reader."""
    document: Any = json.loads(json.dumps(GOOD["machine"]))
    document["price"] = {"value": "900 EUR", "spread": spread}
    assert jsonschema.Draft202012Validator(json_schema("machine")).is_valid(document) == valid
    if valid:
        load_machine(document)
    else:
        assert len(faults_of(load_machine, document)) == 1


def test_bounds_and_units_agree_with_the_reader() -> None:
    """A power usage effectiveness of 0.5 is refused, 1.3 accepted; so are microseconds with their own letter."""
    pue = next(each["pue"] for each in parts(json_schema("scenario")) if "pue" in each and "description" in each["pue"])
    number = next(each for each in parts(pue) if each.get("type") == "number")
    assert jsonschema.Draft202012Validator(number).is_valid(1.3)
    assert not jsonschema.Draft202012Validator(number).is_valid(0.5)
    texts = [each["pattern"] for each in parts(json_schema("machine")) if "12.5 us" in each.get("examples", ())]
    times = texts or [each["pattern"] for each in parts(json_schema("machine")) if "ns|" in each.get("pattern", "")]
    assert times and all(re.search(pattern, "12.5 µs") for pattern in times)
