"""Properties of the reader: round trips, and no traceback whatever the input."""

import contextlib
from collections.abc import Mapping

import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clue.config import load_any, load_machine
from clue.config.document import from_python
from clue.config.machines import machine_from
from clue.config.yaml12 import parse_yaml
from clue.errors import ClueError
from clue.machine import Machine
from tests.config.documents import COSTED, MACHINE, SCENARIO, SIMULATION
from tests.config.strategies import machines
from tests.properties import examples


class Dumper(yaml.SafeDumper):
    """Writes YAML 1.2 with every text in quotes and all digits of floats."""


def _quoted(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"')


Dumper.add_representer(str, _quoted)


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(machines())
def test_a_machine_is_the_same_from_yaml_and_from_python(drawn: tuple[Mapping[str, object], Machine]) -> None:
    """Read from a mapping and from YAML, the machine is the one that was drawn."""
    written, machine = drawn
    assert load_machine(written) == machine
    text = yaml.dump(written, Dumper=Dumper, allow_unicode=True, width=10**6)
    assert machine_from(parse_yaml(text, "drawn.yaml"), None) == machine


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just("1 us"),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=4) | st.integers(), below, max_size=3),
    max_leaves=6,
)


CONTENDED = (
    MACHINE
    + "  contention: {flows: {topology: fat_tree, down: [2, 2], up: [1, 2], links: [1, 1], bandwidth: 1 GB/s}}\n"
    "changes: [{at: 1 s, network: {contention: {flows: {up: [1, 2]}}}}]\n"
)
LOGGOPS = """\
nodes: [{count: 2, type: host}]
node_types: {host: {}}
network:
  loggops: {L: 1 us, o: 1 us, g: 1 us, G: 1 ns/B, O: 1 ns/B, S: 1 KB}
  contention: {ports: {busy: 1 us}}
"""


#: Uses a shipped machine, which is found from any folder.
SHIPPED = COSTED.replace("pair.yaml", "kishimoto")


@settings(max_examples=examples(200), deadline=None)
@given(st.data(), JUNK)
def test_junk_in_any_place_is_refused_or_read_but_never_a_traceback(data: st.DataObject, junk: object) -> None:
    """Any value at any place of a file gives a value of clue or a ``ClueError``."""
    text = data.draw(st.sampled_from([MACHINE, SCENARIO, SIMULATION, CONTENDED, LOGGOPS, SHIPPED]))
    document = parse_yaml(text, "f.yaml")
    path = data.draw(st.sampled_from(sorted(document.origins, key=repr)))
    spoilt = document.replaced(path, from_python(junk)).value
    if isinstance(spoilt, dict):
        with contextlib.suppress(ClueError):
            load_any(spoilt)


@settings(max_examples=examples(100), deadline=None)
@given(st.data())
def test_a_file_cut_or_garbled_anywhere_is_no_traceback(data: st.DataObject) -> None:
    """A file in which any passage is replaced by any characters gives a machine or a ``ClueError``."""
    start = data.draw(st.integers(0, len(MACHINE)))
    end = data.draw(st.integers(start, len(MACHINE)))
    text = MACHINE[:start] + data.draw(st.text(max_size=6)) + MACHINE[end:]
    with contextlib.suppress(ClueError):
        machine_from(parse_yaml(text, "f.yaml"), None)
