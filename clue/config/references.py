"""Resolve the references of a comparison or simulation, relative to its file: machines, scripts and traces."""

from __future__ import annotations

from dataclasses import replace
from os.path import relpath
from pathlib import Path as FilePath

from clue.config.document import Document, Path, children, format_path, format_value
from clue.config.faults import Faults, did_you_mean
from clue.config.machines import build_machine_apart
from clue.config.reading import Reading
from clue.config.run_schema import ProgramForm
from clue.config.shipped_files import find
from clue.config.sources import locate, read_file
from clue.errors import ConfigError
from clue.files import exists, is_file
from clue.machine import Machine
from clue.predict.application import MACHINE, PLACEHOLDER, Application, Extrapolated, Modelled


def refer_to_machine(reading: Reading, path: Path) -> tuple[Document, str] | None:
    """Return the document of the machine named or written at a path, and a name for it.

    If there is none, the fault is added, and ``None`` is returned.
    """
    part = reading.document.at(*path)
    if isinstance(part.value, dict):
        return part, str(path[-2]) if len(path) > 1 else "machine"
    if not isinstance(part.value, str):
        return None
    try:
        file = locate(part.value, ("machines",), reading.base)
        return reading.made(("file", file), None, lambda: read_file(file)), file.stem
    except ValueError as error:
        reading.fault(path, str(error))
    except ConfigError as error:
        reading.faults.take(error)
    return None


def name_of_machine(reading: Reading, source: str) -> str:
    """Return the same name for all references to one machine: that of a shipped one, or its path."""
    file = locate(source, ("machines",), reading.base)
    if file == find(source, ("machines",)):
        return source
    return FilePath(relpath(file, reading.base)).as_posix()


def option_machine(reading: Reading, name: object) -> Machine | None:
    """Build the machine of an option: the machine that it names, with the option's keys and number of nodes."""
    path: Path = ("options", name)
    option = reading.document.at(*path).value
    if not isinstance(option, dict) or "machine" not in option:
        return None
    referred = refer_to_machine(reading, (*path, "machine"))
    if referred is None:
        return None
    machine, title = referred
    differing: dict[object, object] = option["with"] if isinstance(option.get("with"), dict) else {}
    written = machine
    if differing:
        written = machine.overlaid(reading.document.at(*path, "with"))
        if "node_types" in differing:
            _check_changed_types(reading, (*path, "with", "node_types"), machine, written)
    if option.get("nodes") is not None:
        written = _counted(written, reading, (*path, "nodes"))
    if "price" not in differing and (_nodes_of(written) != _nodes_of(machine) or _prices_nodes(differing)):
        # A price of the whole machine holds for the nodes and prices in its file only; one under with, for this option.
        written = written.without("price")
    return reading.made(path, (written.value, title), lambda: _changed_machine(reading, path, machine, written, title))


def _changed_machine(reading: Reading, path: Path, machine: Document, written: Document, title: str) -> Machine | None:
    """Build a machine as an option at a path changes it; faults in its file that the changes cause name the option."""
    if written is machine or machine.file == reading.document.file:
        return build_machine_apart(reading, written, title)
    own = replace(reading, faults=Faults())
    built = build_machine_apart(own, written, title)
    if own.faults:
        alone = replace(own, faults=Faults())
        build_machine_apart(alone, machine, title)
        change = f"as {format_path(path)} changes the machine ({reading.place(path, of_key=True)})"
        reading.faults.extend(own.faults.due_to(change, machine.file, alone.faults))
    return built


def _nodes_of(machine: Document) -> object:
    return machine.value.get("nodes") if isinstance(machine.value, dict) else None


def _prices_nodes(differing: dict[object, object]) -> bool:
    """Tell whether keys that differ from those of a machine state the price of a node."""
    types = children(differing.get("node_types"))
    return any(isinstance(keys, dict) and keys.get("price") is not None for _, keys in types)


def _check_changed_types(reading: Reading, path: Path, machine: Document, changed: Document) -> None:
    """Check that the node types at a path below ``with`` are those of the machine, or new ones that its nodes have."""
    known, groups = (
        document.value.get(key) if isinstance(document.value, dict) else None
        for document, key in ((machine, "node_types"), (changed, "nodes"))
    )
    if not isinstance(known, dict):
        return
    used = [group.get("type") for _, group in children(groups) if isinstance(group, dict)]
    for name, _ in children(reading.document.at(*path).value):
        if name not in known and name not in used:
            rule = f"must be a node type of the machine ({', '.join(map(str, known))})"
            got = f"got {format_value(name)}{did_you_mean(name, known)}"
            reading.fault((*path, name), f"{rule}, {got}", of_key=True)


def _counted(machine: Document, reading: Reading, path: Path) -> Document:
    counts = reading.document.at(*path).value
    top = machine.value
    groups = top.get("nodes") if isinstance(top, dict) else None
    if not isinstance(groups, list):
        return machine
    types = [group.get("type") for group in groups if isinstance(group, dict)]
    if not isinstance(counts, dict):
        if len(groups) == 1:
            return machine.replaced(("nodes", 0, "count"), reading.document.at(*path))
        example = ", ".join(f"{name}: {count}" for count, name in enumerate(types, start=1))
        rule = f"must be counts by node type ({', '.join(map(str, types))}), such as {{{example}}}"
        reading.fault(path, f"{rule}, got {format_value(counts)}")
        return machine
    for name in counts:
        if types.count(name) != 1:
            near = did_you_mean(name, map(str, types))
            rule = f'must be the type of one group of nodes, got "{name}"{near}'
            reading.fault((*path, name), rule, of_key=True)
        else:
            machine = machine.replaced(("nodes", types.index(name), "count"), reading.document.at(*path, name))
    return machine


def build_application(reading: Reading, path: Path, form: ProgramForm) -> Application:
    """Build an application from the form at a path, and check that the files that it names exist."""
    if form.model is not None or form.size is not None:
        return Application(modelled=_modelled(reading, path, form), place=reading.place(path))
    if form.script is None and form.trace is None and form.extrapolate is None:
        reading.fault(path, "must have a script or a trace, got neither")
    script = reading.base / form.script if form.script is not None else None
    if script is not None and not is_file(script):
        reading.fault((*path, "script"), f"must be a file that exists, got {format_value(form.script)}")
    inputs = [reading.base / each for each in form.inputs]
    for i, each in enumerate(inputs):
        if PLACEHOLDER not in str(each) and not is_file(each):
            reading.fault((*path, "inputs", i), f"must be a file that exists, got {format_value(form.inputs[i])}")
    for key in ("inputs", "environment"):
        if getattr(form, key) and script is None:
            reading.fault((*path, key), "must be given with a script, got none", of_key=True)
    trace = reading.base / form.trace if form.trace is not None else None
    if trace is not None and script is None and PLACEHOLDER not in str(trace) and not exists(trace):
        reading.fault((*path, "trace"), f"must be a trace that exists, got {format_value(form.trace)}")
    repeats = [str(reading.base / repeat) for repeat in form.repeats]
    if repeats and trace is None:
        reading.fault((*path, "repeats"), "must be given with a trace, got none", of_key=True)
    for i, repeat in enumerate(repeats):
        if PLACEHOLDER not in repeat and not exists(FilePath(repeat)):
            reading.fault((*path, "repeats", i), f"must be a trace that exists, got {format_value(form.repeats[i])}")
    extrapolated = None if form.extrapolate is None else _extrapolated(reading, (*path, "extrapolate"), form)
    return Application(
        script,
        tuple(form.args),
        str(trace) if trace is not None else None,
        tuple(repeats),
        tuple(inputs),
        tuple(form.environment),
        extrapolated,
        place=reading.place((*path, "trace") if form.trace is not None else path),
    )


def _modelled(reading: Reading, path: Path, form: ProgramForm) -> Modelled | None:
    """Build a program that names a model, and check that the file is one."""
    from clue.config.models import load_any_model  # noqa: PLC0415 - only models need numpy

    if form.model is None:
        reading.fault((*path, "size"), "must be given with a model, got none", of_key=True)
        return None
    for key in ("script", "trace", "extrapolate"):
        if getattr(form, key) is not None:
            reading.fault((*path, key), "must be given without a model, got both", of_key=True)
    if form.size is None:
        reading.fault((*path, "size"), "must be given with a model, got nothing")
    file = reading.base / form.model
    if MACHINE not in form.model:
        if not is_file(file):
            reading.fault((*path, "model"), f"must be a file that exists, got {format_value(form.model)}")
            return None
        try:
            load_any_model(file)
        except ConfigError as error:
            reading.faults.take(error)
    return None if form.size is None else Modelled(str(file), form.size)


def _extrapolated(reading: Reading, path: Path, form: ProgramForm) -> Extrapolated | None:
    """Build the recordings from which a trace is extrapolated, and check that they exist."""
    from clue.extrapolation.pattern import Pattern  # noqa: PLC0415 - only extrapolation needs numpy

    named = form.extrapolate
    assert named is not None
    if form.trace is not None:
        reading.fault(path, "must be given without a trace, got both", of_key=True)
    if named.size is None:
        reading.fault((*path, "size"), "must be given, got nothing")
    pattern = Pattern(str(reading.base / named.traces))
    if fault := pattern.fault():
        reading.fault((*path, "traces"), fault)
    elif not pattern.found():
        reading.fault((*path, "traces"), f"must name recordings that exist, got {format_value(named.traces)}")
    return None if named.size is None else Extrapolated(pattern.text, named.size, tuple(named.distributions))


def number_of_ranks(reading: Reading, path: Path, form: ProgramForm, ranks: int | None) -> int | None:
    """Return the number of ranks of a program, as stated beside it or by the form at its path."""
    own = None if form.extrapolate is None else form.extrapolate.ranks
    if own is not None and ranks not in (own, None):
        reading.fault((*path, "extrapolate", "ranks"), f"must be {ranks}, as stated elsewhere, or left out, got {own}")
    return ranks if ranks is not None else own
