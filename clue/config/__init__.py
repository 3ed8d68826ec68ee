"""The only reader of YAML: files and mappings in, the values of clue out, and all faults of a file at once.

Importing pydantic takes a tenth of a second, so submodules are imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clue.first_use import loaded_on_first_use

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

_HOMES = {
    "loading": ("load_any", "load_config"),
    "machines": ("load_machine",),
    "part_loading": ("AnyPart", "load_part", "load_parts"),
    "schemas": ("SCHEMA_KINDS", "json_schema"),
    "sequences": ("load_sequence",),
    "shipped_files": ("find", "schema_file", "shipped"),
    "simulation": ("PlacementChoice", "SimulationConfig"),
}
__getattr__ = loaded_on_first_use(__name__, _HOMES)
