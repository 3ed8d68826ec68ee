"""Small files for the tests of the configuration reader, and helpers for its messages."""

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

#: Uses every key of costs, with prices in two currencies.
COSTED = """\
budget: 900000 EUR
service_life: 5 years
discount_rate: 0.03
criterion: total_cost
pareto: [total_cost, makespan]
limits: {power: 60 kW, cooling: 50 kW, rack_units: 84, nodes: 100, memory_per_core: 500 MB, total_cost: 2000000 EUR}
currencies:
  USD: {rate: 0.5 EUR, date: 2026-11-02, source: a bank}
costs:
  power:
    parts:
      node: {per_node: 1, price: 100 EUR, power: {idle: 210 W, busy: 560 W}, rack_units: 1, spares: 0.02}
      switch: {ports: 40, type: host, price: 300 USD, power: 250 W, rack_units: 1, source: offer 7, date: 2026-10-01}
      cable: {per_node: 2, price: 9 EUR}
      pdu: {per_rack: 2, price: 80 EUR}
      console: {count: 1}
    racks: {rack_units: 42, power: 20 kW, price: 2500 EUR}
    electricity: {price: 0.24 EUR/kWh, carbon: 350 g/kWh, pue: 1.2, source: contract}
  people:
    staff: 80000 EUR/year
    hosting: {price: 1000 EUR/month, source: landlord}
    support: 9000 USD/year
    licences: {solver: {of: nodes, steps: [[8, 10 EUR], [32, 20 USD]], paid: once}}
    residual: 0.1
    utilisation: 0.8
    availability: 0.9
  rented:
    cloud:
      price: 5.06 USD/h
      tariff: spot
      quantum: 1 min
      repeated: 0.1
      storage: {size: 20 TB, price: 0.02 EUR/GB/month}
      egress: {monthly: 2 TB, price: 0.1 USD/GB}
workloads:
  large: {program: {script: prog.py}, ranks: [2], deadline: 8 h, runs_a_month: 40}
options:
  A: {machine: pair.yaml, price: 900 EUR, cost: [power, people, {residual: 0.2}]}
  B: {machine: pair.yaml, cost: rented}
"""

SIMULATION = """\
program: {script: prog.py, args: ["5"], ranks: 2}
machine: pair.yaml
"""


def faults_of(load: Callable[..., object], *args: object, **options: object) -> tuple[str, ...]:
    """Return the faults that loading raises, each of which is one line."""
    with pytest.raises(ConfigError) as caught:
        load(*args, **options)
    assert all("\n" not in fault for fault in caught.value.faults)
    return caught.value.faults


def folder(path: Path) -> Path:
    """Fill a folder with a machine, a program, a scenario and a simulation that refer to both, and return it."""
    (path / "pair.yaml").write_text(MACHINE)
    (path / "prog.py").write_text("")
    (path / "scenario.yaml").write_text(SCENARIO)
    (path / "simulation.yaml").write_text(SIMULATION)
    return path


def changed(text: str, old: str, new: str) -> str:
    """Return a text in which one passage, which must occur once, is replaced."""
    assert text.count(old) == 1
    return text.replace(old, new)


def positions(faults: tuple[str, ...]) -> list[tuple[int, int]]:
    """Return the line and column of each fault."""
    found = [re.match(r".*?:(\d+):(\d+): ", fault) for fault in faults]
    return [(int(match[1]), int(match[2])) for match in found if match is not None]
