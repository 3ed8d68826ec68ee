"""The forms of the files as JSON Schema, for editors and for ``clue schema``."""

from __future__ import annotations

from typing import Any

from clue.config.forms import Form
from clue.config.run_schema import ScenarioForm, SimulationForm
from clue.config.schema import MachineForm
from clue.config.sequences import SequenceForm
from clue.config.validation_schema import ValidationForm
from clue.errors import UsageError

_FORMS: dict[str, type[Form]] = {
    "machine": MachineForm,
    "scenario": ScenarioForm,
    "simulation": SimulationForm,
    "validation": ValidationForm,
    "sequence": SequenceForm,
}


def json_schema(kind: str) -> dict[str, Any]:
    """Return the JSON Schema of a kind of file, such as ``"machine"`` or ``"scenario"``.

    Raises:
        UsageError: For another kind.
    """
    form = _FORMS.get(kind)
    if form is None:
        raise UsageError(f"schema: kind must be one of {', '.join(_FORMS)}, got {kind!r}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **form.model_json_schema(by_alias=True),
        "title": f"clue {kind}",
    }
