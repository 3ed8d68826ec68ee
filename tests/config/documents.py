"""Small files for the tests of the configuration reader, and what is expected of messages."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from clue.errors import ConfigError

MACHINE = """\
name: pair
nodes:
  - {count: 2, type: host}
node_types:
  host: {processors: 1, memory: 1 GB}
network:
  between_nodes:
    send_delay: 1 us
    transmission_delay: {latency: 9 us, bandwidth: 1 GB/s}
"""

SCENARIO = """\
budget: 1000 EUR
workloads:
  large:
    program: {script: prog.py}
    ranks: [2]
options:
  A: {machine: pair.yaml, price: 900 EUR}
"""

SIMULATION = """\
program: {script: prog.py, args: ["5"], ranks: 2}
machine: pair.yaml
"""


def faults_of(load: Callable[..., object], *args: object, **options: object) -> tuple[str, ...]:
    """Return the faults that loading raises; each is one line."""
    with pytest.raises(ConfigError) as caught:
        load(*args, **options)
    assert all("\n" not in fault for fault in caught.value.faults)
    return caught.value.faults


def folder(path: Path) -> Path:
    """Fill a folder with a machine, a program and a scenario that refers to both."""
    (path / "pair.yaml").write_text(MACHINE)
    (path / "prog.py").write_text("")
    (path / "scenario.yaml").write_text(SCENARIO)
    (path / "simulation.yaml").write_text(SIMULATION)
    return path


def changed(text: str, old: str, new: str) -> str:
    """Return a file with one thing changed, which must be there."""
    assert text.count(old) == 1
    return text.replace(old, new)


def positions(faults: tuple[str, ...]) -> list[tuple[int, int]]:
    """Return line and column of each fault."""
    found = [re.match(r".*?:(\d+):(\d+): ", fault) for fault in faults]
    return [(int(match[1]), int(match[2])) for match in found if match is not None]
