"""Sources of configurations: files and pipes that a user opens, but nothing that could block."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from clue.config import SimulationConfig, load_any, load_config, load_machine
from clue.config.forms import Form
from clue.config.validations import load_validation
from clue.errors import ConfigError
from clue.trace import TraceBuilder
from tests.config.documents import MACHINE, faults_of

SIMULATION = "program: {trace: t.clue}\nmachine: pair.yaml\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder that holds a trace, a machine, a pipe without a writer, and a device."""
    monkeypatch.chdir(tmp_path)
    TraceBuilder(1).build().save("t.clue")
    Path("pair.yaml").write_text(MACHINE)
    os.mkfifo("pipe")
    Path("device").symlink_to("/dev/zero")


def given(text: str) -> str:
    """Return the path of a pipe that this process has open, like a shell's ``<(…)``."""
    reading, writing = os.pipe()
    os.write(writing, text.encode())
    os.close(writing)
    return f"/dev/fd/{reading}"


@pytest.mark.parametrize(("name", "kind"), [("pipe", "named pipe"), ("device", "device"), ("t.clue", "folder")])
def test_what_is_no_ordinary_file_is_refused(name: str, kind: str) -> None:
    """Pipes, devices and folders are refused as the file itself and as the machine, script or table that it names."""
    for load in (load_any, load_config, load_machine, load_validation):
        assert faults_of(load, name)[0].endswith(f'must be a file, got the {kind} "{name}"')
    Path("run.yaml").write_text(SIMULATION.replace("pair.yaml", name))
    assert faults_of(load_config, "run.yaml") == (f'run.yaml:2:10: machine must be a file, got the {kind} "{name}"',)
    Path("run.yaml").write_text(f"program: {{script: {name}, ranks: 2}}\nmachine: pair.yaml\n")
    assert faults_of(load_config, "run.yaml") == (
        f'run.yaml:1:19: program.script must be a file that exists, got "{name}"',
    )
    Path("check.yaml").write_text(f"programs: {{p: {{trace: t.clue}}}}\nmachines: {{m: pair.yaml}}\ntable: {name}\n")
    assert f'check.yaml:3:8: table must be a file that exists, got "{name}"' in faults_of(load_validation, "check.yaml")


def test_what_a_user_gives_open_is_read() -> None:
    """An open pipe or file is read with paths relative to the current folder; files that it names must be ordinary."""
    config = load_config(given(SIMULATION))
    assert isinstance(config, SimulationConfig)
    assert (config.machine.name, config.program.trace, config.path) == ("pair", "t.clue", None)
    assert load_machine(given(MACHINE)).name == "pair"
    with Path("elsewhere.yaml").open("w+") as file:  # as with "< elsewhere.yaml"
        file.write(SIMULATION)
        file.flush()
        redirected = load_config(f"/dev/fd/{file.fileno()}")
    assert isinstance(redirected, SimulationConfig)
    assert (redirected.program.trace, redirected.path) == ("t.clue", None)
    place = given(MACHINE)
    Path("run.yaml").write_text(SIMULATION.replace("pair.yaml", place))
    assert faults_of(load_config, "run.yaml")[0].startswith("run.yaml:2:10: machine must be a file, got the named pipe")


@pytest.mark.parametrize("name", ["x" * 5000, "a/" * 3000 + "x"])
def test_names_too_long_for_the_system_are_no_files(name: str) -> None:
    """Overlong names are faults, as the file itself and inside a file."""
    Path("run.yaml").write_text(f'program: {{trace: "{name}"}}\nmachine: "{name}"\n')
    for source in (name, "run.yaml"):
        with pytest.raises(ConfigError, match="must be a"):
            load_config(source)


def test_files_have_a_size_that_makes_sense() -> None:
    """A sparse file of 1 TB and a file of 250,000 values are refused by their size."""
    with Path("huge.yaml").open("wb") as huge:
        huge.truncate(10**12)
    assert faults_of(load_any, "huge.yaml") == (
        "huge.yaml: file must be readable, got: 1 TB, where 16 MB are the most that is read",
    )
    Path("long.yaml").write_text("a: 1\n" * 250_000)
    assert faults_of(load_any, "long.yaml") == ("long.yaml: file must hold at most 100000 values, got more",)


def test_many_faults_take_one_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of 2,000 unknown keys is a fault, and forms are described once for all: that takes most of the time."""
    made: list[type[Form]] = []
    describe = Form.model_json_schema.__func__  # type: ignore[attr-defined]

    def counted(form: type[Form]) -> object:
        made.append(form)
        return describe(form)

    monkeypatch.setattr(Form, "model_json_schema", classmethod(counted))
    Path("many.yaml").write_text(MACHINE + "".join(f"unknown{i}: 1\n" for i in range(2000)))
    told = faults_of(load_any, "many.yaml")
    assert len(told) == 2000 and 'unknown1999 must be a known key, got "unknown1999"' in told[-1]
    assert len(made) == len(set(made))


def test_a_base_is_text_or_a_path(tmp_path: Path) -> None:
    """Files are found relative to a base of either type, those that a mapping names, too."""
    (tmp_path / "m.yaml").write_text(MACHINE)
    TraceBuilder(1).build().save(tmp_path / "t.clue.zip")
    config = {"program": {"trace": "t.clue.zip"}, "machine": "m.yaml"}
    for base in (tmp_path, str(tmp_path)):
        found = load_config(config, relative_to=base)
        assert isinstance(found, SimulationConfig)
        assert found.machine == load_machine("m.yaml", relative_to=base)


def test_programs_and_traces_are_no_configurations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who simulates a script or a trace learns what to write; the script was read as YAML with a colon too many."""
    monkeypatch.chdir(tmp_path)
    Path("ring.py").write_text("c = MPI.COMM_WORLD; d = {1: 2}\n")
    TraceBuilder(1).build().save("ring.clue.zip")
    hint = "name it in one, with a machine (program: "
    for source, kind, got in (
        ("ring.py", "scenario", f"a Python program: {hint}{{script: ring.py, ranks: …}})"),
        (Path("ring.clue.zip"), "scenario", f"a trace: {hint}{{trace: ring.clue.zip}})"),
        ("ring.py", "machine", "a Python program"),
        ("ring.clue.zip", "machine", "a trace"),
    ):
        load: Any = load_config if kind == "scenario" else load_machine
        assert faults_of(load, source) == (f"{source}: {kind} must be a YAML file, got {got}",)
    assert "must be a file" in faults_of(load_config, "no.py")[0]
