"""Machines from YAML: every key of the form, what it becomes, and what the shipped ones hold."""

import pytest

from clue.config import load_machine
from clue.units import Money


def test_the_example_of_the_interface_becomes_a_machine() -> None:
    """Two hosts of one processor, with lines and points as delay curves."""
    machine = load_machine("two-hosts")
    assert [node.name for node in machine.nodes] == ["host", "host"]
    assert machine.price == Money(1800, "EUR")
    link = machine.network.link("host", "host", same_node=False)
    assert link.send_delay(1000) == pytest.approx(11e-6)
    assert link.transmission_delay(500) == pytest.approx(45e-6)
    assert link.eager_limit == 64_000
