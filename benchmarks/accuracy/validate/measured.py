"""What was measured stays in a folder: a second call measures what is missing, and predicts everything afresh.

A run on a testbed takes an hour, a prediction a minute: a change of the model can be tried on the same measurements.
What is kept depends on nothing but what was run; a folder belongs to one state of programs, machines and computer.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class MeasurementFolder:
    """A folder of measurements, each a JSON file of its name.

    Attributes:
        folder: It; must exist.
    """

    folder: Path

    def get(self, name: str, measure: Callable[[], Any]) -> Any:
        """Return what is known by this name; measured now, and kept, if nothing is."""
        file = self.folder / f"{name}.json"
        if not file.exists():
            draft = file.with_suffix(".draft")
            draft.write_text(json.dumps(measure()))
            draft.rename(file)
        return json.loads(file.read_text())
