"""Single simulations from YAML: what runs where, and each fault."""

from pathlib import Path

import pytest

from clue.config import PlacementChoice, SimulationConfig, load_any, load_config, load_machine
from clue.errors import ConfigError, UsageError
from clue.machine import Machine
from clue.purchase.scenario import Scenario
from tests.config.documents import SIMULATION, changed, faults_of, folder


def simulation(path: Path, text: str = SIMULATION) -> SimulationConfig:
    """Load a simulation from its text, in a folder with the files that it refers to."""
    (folder(path) / "s.yaml").write_text(text)
    loaded = load_config(path / "s.yaml")
    assert isinstance(loaded, SimulationConfig)
    return loaded


def test_a_simulation_becomes_its_values(tmp_path: Path) -> None:
    """Paths are relative to the file, and keys that are left out have defaults."""
    loaded = simulation(tmp_path)
    assert (loaded.name, loaded.path, loaded.ranks) == ("s", tmp_path / "s.yaml", 2)
    assert (loaded.program.script, loaded.program.arguments) == (tmp_path / "prog.py", ("5",))
    assert (loaded.machine.name, loaded.instances, loaded.placement) == ("pair", 1, PlacementChoice())


def test_what_a_recording_depends_on(tmp_path: Path) -> None:
    """Input files are relative to the simulation's file; environment variables are names."""
    (tmp_path / "matrix.bin").write_text("")
    loaded = simulation(
        tmp_path, changed(SIMULATION, "ranks: 2", 'ranks: 2, inputs: [matrix.bin, "part-{ranks}"], environment: [SIZE]')
    )
    assert loaded.program.inputs == (tmp_path / "matrix.bin", tmp_path / "part-{ranks}")
    assert loaded.program.environment == ("SIZE",)


def test_a_trace_knows_its_number_of_ranks(tmp_path: Path) -> None:
    """Ranks need not be stated if the trace exists, even if a script is named as well."""
    (tmp_path / "t.clue").mkdir()
    text = changed(SIMULATION, '{script: prog.py, args: ["5"], ranks: 2}', "{trace: t.clue, script: prog.py}")
    loaded = simulation(tmp_path, text)
    assert (loaded.program.trace, loaded.ranks) == (f"{tmp_path}/t.clue", None)


@pytest.mark.parametrize(
    ("text", "choice", "nodes"),
    [
        ("block", PlacementChoice("block"), (0, 1)),
        ("cyclic", PlacementChoice("cyclic"), (0, 1)),
        ("[1, 1]", PlacementChoice(nodes=(1, 1)), (1, 1)),
        ("{order: block, ranks_per_processor: 2}", PlacementChoice("block", 2), (0, 0)),
        ("{order: cyclic, ranks_per_processor: 2}", PlacementChoice("cyclic", 2), (0, 1)),
    ],
)
def test_ranks_are_placed_as_the_file_says(
    tmp_path: Path, text: str, choice: PlacementChoice, nodes: tuple[int, ...]
) -> None:
    """Ranks are placed in an order, several to a processor, or on listed nodes."""
    loaded = simulation(tmp_path, SIMULATION + f"placement: {text}\ninstances: 3\n")
    assert (loaded.placement, loaded.instances) == (choice, 3)
    assert loaded.placement.place(loaded.machine, 2).nodes == nodes


def test_a_list_is_for_its_own_number_of_ranks(tmp_path: Path) -> None:
    """A list of nodes for another number of ranks is refused."""
    loaded = simulation(tmp_path, SIMULATION + "placement: [0, 1]\n")
    with pytest.raises(UsageError, match="one node per rank"):
        loaded.placement.place(loaded.machine, 3)


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("pair.yaml", "[1]", "2:10: machine must be one value or a mapping, got a list"),
        ("machine: pair.yaml\n", "", "1:1: machine must be given, got nothing"),
        ("machine:", "machin:", "2:1: machin must be a key of file (instances, machine, name, placement, program)"),
        (", ranks: 2", "", "1:10: program.ranks must be given if no trace states it, got nothing"),
        (", ranks: 2", ", ranks: 0", "1:48: program.ranks must be at least 1, got 0"),
        ("prog.py", "prag.py", '1:19: program.script must be a file that exists, got "prag.py"'),
        (
            ", ranks: 2",
            ", ranks: 2, inputs: [no.bin]",
            '1:60: program.inputs[0] must be a file that exists, got "no.bin"',
        ),
        (", ranks: 2", f", ranks: 2, inputs: [{'x' * 300}]", "1:60: program.inputs[0] must be a file that exists"),
        (
            "script: prog.py",
            "trace: s.yaml, inputs: [s.yaml]",
            "1:26: program.inputs must be given with a script, got n",
        ),
        ("script: prog.py", "trace: s.yaml, environment: [N]", "1:26: program.environment must be given with a script"),
        ("pair.yaml", "pair.yaml\nplacement: [0, 2]", "3:16: placement[1] must be a node from 0 to 1, got 2"),
        ("pair.yaml", "pair.yaml\nplacement: [0, -1]", "3:16: placement[1] must be at least 0, got -1"),
        ("pair.yaml", "pair.yaml\nplacement: around", "3:12: placement must be 'block' or 'cyclic', got \"around\""),
        ("pair.yaml", "pair.yaml\ninstances: two", '3:12: instances must be a whole number, got "two"'),
    ],
)
def test_a_fault_has_place_path_rule_and_value(tmp_path: Path, old: str, new: str, fault: str) -> None:
    """One fault is reported with place, path, rule and value."""
    (folder(tmp_path) / "s.yaml").write_text(changed(SIMULATION, old, new))
    found = [f.removeprefix(f"{tmp_path}/s.yaml:") for f in faults_of(load_config, tmp_path / "s.yaml")]
    assert any(line.startswith(fault) for line in found), found


def test_anything_may_be_loaded_without_knowing_what_it_is(tmp_path: Path) -> None:
    """``load_any`` loads a machine, a comparison or a simulation, by path or by shipped name."""
    folder(tmp_path)
    kinds = [type(load_any(tmp_path / f"{name}.yaml")) for name in ("pair", "scenario", "simulation")]
    assert kinds == [Machine, Scenario, SimulationConfig]
    assert load_any("two-hosts") == load_machine("two-hosts")
    (fault,) = faults_of(load_any, "two-hots")
    assert fault.endswith(': did you mean "two-hosts"?')


def test_text_that_can_be_no_argument_and_no_path_is_refused(tmp_path: Path) -> None:
    """NUL and lone surrogates, which no argument or path may contain, are faults before anything is recorded."""
    (folder(tmp_path) / "s.yaml").write_text(
        """program: {script: prog.py, args: ["a\\0b", c], inputs: ["\\0"], ranks: 2}\nmachine: pair.yaml\n"""
    )
    assert faults_of(load_config, tmp_path / "s.yaml") == (
        f'{tmp_path}/s.yaml:1:35: program.args[0] must be text without NUL characters or lone surrogates, got "a\0b"',
        f'{tmp_path}/s.yaml:1:56: program.inputs[0] must be text without NUL characters or lone surrogates, got "\0"',
    )
    half = {"program": {"script": "prog.py", "args": ["\ud800"], "ranks": 2}, "machine": "pair.yaml"}
    with pytest.raises(ConfigError, match=r"args\[0\] must be text without NUL characters or lone surrogates"):
        load_config(half, relative_to=tmp_path)
