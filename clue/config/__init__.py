"""The only reader of YAML: files and mappings in, the values of clue out, and all faults of a file at once.

Loading pydantic takes a tenth of a second, so nothing is imported before it is used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clue.config.machines import load_machine

__all__ = ["load_machine"]

_HOME = {"load_machine": "machines"}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(name)
    return getattr(importlib.import_module(f"clue.config.{_HOME[name]}"), name)
