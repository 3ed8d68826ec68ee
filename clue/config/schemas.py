"""The forms of the files as JSON Schema, for editors and for ``clue schema``.

The same text lies in ``scenarios/schemas/KIND.schema.json``, where editors find it: shipped YAML files name it in a
comment line (``# yaml-language-server: $schema=…``). ``clue schema all -o scenarios/schemas`` writes these files anew.
"""

from __future__ import annotations

from typing import Any, Final

from clue.config.forms import Form
from clue.config.run_schema import ScenarioForm, SimulationForm
from clue.config.schema import MachineForm
from clue.config.sequences import SequenceForm
from clue.config.validation_schema import ValidationForm
from clue.errors import UsageError

#: What the identifier (``$id``) of a schema begins with; the name of its kind follows.
IDENTIFIER: Final = "urn:clue:schema:"
_FORMS: Final[dict[str, type[Form]]] = {
    "machine": MachineForm,
    "scenario": ScenarioForm,
    "simulation": SimulationForm,
    "validation": ValidationForm,
    "sequence": SequenceForm,
}


#: Kinds of files that have a schema.
SCHEMA_KINDS: Final = tuple(_FORMS)


def json_schema(kind: str) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a kind of file, such as ``"machine"`` or ``"scenario"``.

    Raises:
        UsageError: For another kind.
    """
    form = _FORMS.get(kind)
    if form is None:
        raise UsageError(f"schema: kind must be one of {', '.join(_FORMS)}, got {kind!r}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"{IDENTIFIER}{kind}",
        **form.model_json_schema(by_alias=True),
        "title": f"clue {kind}",
    }
