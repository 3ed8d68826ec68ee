"""The forms as JSON Schema: valid, documented, and in agreement with the reader."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from clue.config import json_schema, shipped
from clue.config.yaml12 import parse_yaml
from clue.errors import UsageError

KINDS = ("machine", "scenario", "simulation", "validation", "sequence")


def parts(schema: object) -> Iterator[dict[str, Any]]:
    """Yield every mapping inside a schema."""
    if isinstance(schema, dict):
        yield schema
        for below in schema.values():
            yield from parts(below)
    if isinstance(schema, list):
        for below in schema:
            yield from parts(below)


@pytest.mark.parametrize("kind", KINDS)
def test_every_key_is_described(kind: str) -> None:
    """A reader of the schema learns what each key means, without the manual."""
    schema = json_schema(kind)
    forms = [schema, *schema["$defs"].values()]
    assert all(form["description"] for form in forms)
    for form in forms:
        for key, below in form.get("properties", {}).items():
            assert "description" in below or "$ref" in below or key == "points", (form["title"], key)


@pytest.mark.parametrize("kind", KINDS)
def test_the_schema_holds_together(kind: str) -> None:
    """It is plain JSON, its references lead somewhere and its patterns are regular expressions."""
    schema = json_schema(kind)
    assert json.loads(json.dumps(schema)) == schema
    for part in parts(schema):
        if isinstance(reference := part.get("$ref"), str):
            assert reference.removeprefix("#/$defs/") in schema["$defs"]
        if isinstance(pattern := part.get("pattern"), str):
            assert all(re.search(pattern, example) for example in part["examples"])


@pytest.mark.parametrize("name", sorted(shipped("machines")))
def test_the_shipped_machines_follow_the_schema(name: str) -> None:
    """Wherever the checker for JSON Schema is installed."""
    jsonschema = pytest.importorskip("jsonschema")
    file = shipped("machines")[name]
    # JSON knows only text as keys.
    value = json.loads(json.dumps(parse_yaml(file.read_text(), str(file)).value))
    jsonschema.Draft202012Validator(json_schema("machine")).validate(value)


def test_a_schema_of_anything_else_is_a_wrong_usage() -> None:
    """The message names the kinds there are."""
    with pytest.raises(
        UsageError, match="must be one of machine, scenario, simulation, validation, sequence, part, got 'trace'"
    ):
        json_schema("trace")


def test_the_package_loads_nothing_heavy_before_it_is_used() -> None:
    """Commands that read no configuration start without pydantic, PyYAML and numpy."""
    code = "import sys, clue.config; print([m for m in ('pydantic', 'yaml', 'numpy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
