"""The only reader of YAML: files and mappings in, the values of clue out, and all faults of a file at once.

Importing pydantic takes a tenth of a second, so submodules are imported on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clue.config.loading import load_any, load_config
    from clue.config.machines import load_machine
    from clue.config.part_loading import AnyPart, load_part, load_parts
    from clue.config.schemas import SCHEMA_KINDS, json_schema
    from clue.config.sequences import load_sequence
    from clue.config.shipped_files import find, schema_file, shipped
    from clue.config.simulation import PlacementChoice, SimulationConfig

__all__ = [
    "SCHEMA_KINDS",
    "AnyPart",
    "PlacementChoice",
    "SimulationConfig",
    "find",
    "json_schema",
    "load_any",
    "load_config",
    "load_machine",
    "load_part",
    "load_parts",
    "load_sequence",
    "schema_file",
    "shipped",
]

_HOME = {
    "SCHEMA_KINDS": "schemas",
    "AnyPart": "part_loading",
    "PlacementChoice": "simulation",
    "SimulationConfig": "simulation",
    "find": "shipped_files",
    "json_schema": "schemas",
    "load_any": "loading",
    "load_config": "loading",
    "load_machine": "machines",
    "load_part": "part_loading",
    "load_parts": "part_loading",
    "load_sequence": "sequences",
    "schema_file": "shipped_files",
    "shipped": "shipped_files",
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(name)
    return getattr(importlib.import_module(f"clue.config.{_HOME[name]}"), name)
