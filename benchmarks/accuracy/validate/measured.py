"""A folder that keeps measurements: a second call measures only what is missing, and predicts everything again.

A run on a testbed takes an hour, a prediction a minute: a change of the model can be tested on the same measurements.
Measurements depend only on the runs; a folder belongs to one state of programs, machines and computer.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class MeasurementFolder:
    """A folder of measurements; each is a JSON file with the measurement's name.

    Attributes:
        folder: Its path; must exist.
    """

    folder: Path

    def get(self, name: str, measure: Callable[[], Any]) -> Any:
        """Return the named measurement; if there is none, measure and keep it."""
        file = self.folder / f"{name}.json"
        if not file.exists():
            draft = file.with_suffix(".draft")
            draft.write_text(json.dumps(measure()))
            draft.rename(file)
        return json.loads(file.read_text())
