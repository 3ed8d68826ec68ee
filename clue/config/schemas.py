"""JSON Schemas of the files' forms, for editors and for ``clue schema``.

Editors find the same text in ``scenarios/schemas/KIND.schema.json``: shipped YAML files name it in a comment line
(``# yaml-language-server: $schema=…``). ``clue schema all -o scenarios/schemas`` writes these files.
"""

from __future__ import annotations

from typing import Any, Final

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core.core_schema import DictSchema

from clue.config.forms import Form
from clue.config.part_schema import AnyPartForm
from clue.config.run_schema import ScenarioForm, SimulationForm
from clue.config.schema import MachineForm
from clue.config.sequences import SequenceForm
from clue.config.validation_schema import ValidationForm
from clue.errors import UsageError

#: Prefix of the identifier (``$id``) of a schema; the name of its kind follows.
IDENTIFIER: Final = "urn:clue:schema:"
_FORMS: Final[dict[str, type[Form]]] = {
    "machine": MachineForm,
    "scenario": ScenarioForm,
    "simulation": SimulationForm,
    "validation": ValidationForm,
    "sequence": SequenceForm,
}
#: Kind of file: a part of the hardware library, whose form depends on the kind of part.
PART = "part"


#: Names of bounds in JSON Schema; pydantic writes its own ones for numbers that it does not parse itself.
_BOUNDS: Final = {"gt": "exclusiveMinimum", "ge": "minimum", "lt": "exclusiveMaximum", "le": "maximum"}

#: Whole numbers above 0 as YAML writes them: keys of tables by number, which are text in JSON.
_NUMBER_KEY: Final = r"^(\+?0*[1-9][0-9]*|0o[0-7]+|0x[0-9a-fA-F]+)$"

#: Kinds of files that have a schema.
SCHEMA_KINDS: Final = (*_FORMS, PART)


class _Schemas(GenerateJsonSchema):
    """Also says of tables by number which keys they have."""

    def dict_schema(self, schema: DictSchema) -> JsonSchemaValue:
        """Return the schema of a table."""
        made = super().dict_schema(schema)
        if schema.get("keys_schema", {}).get("type") == "int":
            made["propertyNames"] = {"pattern": _NUMBER_KEY, "examples": ["2"]}
        return made


def json_schema(kind: str) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a kind of file, such as ``"machine"`` or ``"scenario"``.

    Raises:
        UsageError: For another kind.
    """
    form = _FORMS.get(kind)
    if form is None and kind != PART:
        raise UsageError(f"schema: kind must be one of {', '.join(SCHEMA_KINDS)}, got {kind!r}")
    made = TypeAdapter(AnyPartForm) if form is None else TypeAdapter(form)
    schema = made.json_schema(by_alias=True, schema_generator=_Schemas)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"{IDENTIFIER}{kind}",
        **_bounded(schema),
        "title": f"clue {kind}",
    }


def _bounded(schema: Any) -> Any:
    """Return a schema with the names of bounds that JSON Schema has; of two equal ones the stricter bound counts."""
    if isinstance(schema, list):
        return [_bounded(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    bounds = {key: each for key, each in schema.items() if key in _BOUNDS and isinstance(each, (int, float))}
    found = {key: _bounded(each) for key, each in schema.items() if key not in bounds}
    for key, bound in bounds.items():
        name = _BOUNDS[key]
        stricter = max if key in {"gt", "ge"} else min
        found[name] = stricter(bound, found.get(name, bound))
    return found
