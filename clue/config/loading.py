"""Load the input of ``clue simulate``: one program on one machine, or a comparison."""

from __future__ import annotations

from pathlib import Path as FilePath

from clue.config.document import Document, format_value, from_python
from clue.config.faults import did_you_mean
from clue.config.machines import build_machine_apart, machine_from
from clue.config.parts import with_comparison
from clue.config.reading import Reading
from clue.config.references import build_application, number_of_ranks, refer_to_machine
from clue.config.run_schema import OrderForm, RunForm, SimulationForm
from clue.config.scenarios import build_scenario
from clue.config.simulation import PlacementChoice, SimulationConfig
from clue.config.sources import Source, folder_of, read_source
from clue.errors import UsageError
from clue.machine import Machine
from clue.predict.application import PLACEHOLDER
from clue.purchase.scenario import Scenario

#: Top-level keys that only one kind of file has.
_TELLING = {
    **dict.fromkeys(("program",), "simulation"),
    **dict.fromkeys(("workloads", "options", "generate"), "scenario"),
    **dict.fromkeys(("nodes", "node_types", "network"), "machine"),
}


def load_config(
    source: Source, *, full: bool = False, relative_to: FilePath | str | None = None, more: str | None = None
) -> SimulationConfig | Scenario:
    """Load a comparison or a single simulation.

    Args:
        source: A path, the name of a scenario shipped with clue, or the mapping itself.
        full: Whether to use the full-size variant of a comparison.
        relative_to: Base directory of a relative path; default: the current one.
        more: Additional money whose best use a comparison is to find, instead of its ``next``.

    Raises:
        ConfigError: With all faults of the file.
        UsageError: If there is no full-size variant.
    """
    document, path = read_source(source, ("scenarios",), relative_to)
    return _config(document, path, full, relative_to, more)


def load_any(source: Source, *, relative_to: FilePath | str | None = None) -> Machine | Scenario | SimulationConfig:
    """Load a machine, a comparison or a simulation from a file, a shipped name or a mapping.

    Raises:
        ConfigError: With all faults of the file.
    """
    document, path = read_source(source, ("scenarios", "machines"), relative_to)
    if kind_of(document) == "machine":
        return machine_from(document, path)
    return _config(document, path, False, relative_to)


def kind_of(document: Document) -> str:
    """Return whether a document holds a ``"machine"``, a ``"scenario"`` or a ``"simulation"``.

    Raises:
        ConfigError: If it has none of the keys that tell the kinds apart.
    """
    keys = document.value if isinstance(document.value, dict) else {}
    for key, kind in _TELLING.items():
        if key in keys:
            return kind
    reading = Reading(document)
    got = ", ".join(map(str, keys)) if keys else format_value(document.value)
    near = next((near for key in keys if (near := did_you_mean(key, _TELLING))), "")
    reading.fault((), f"must have program and machine, or workloads and options, got {got}{near}")
    reading.check()
    raise AssertionError("unreachable")


def _config(
    document: Document, path: FilePath | None, full: bool, relative_to: FilePath | str | None, more: str | None = None
) -> SimulationConfig | Scenario:
    kind = kind_of(document)
    base = folder_of(path, relative_to)
    name = path.stem if path is not None else kind
    reading = Reading(document, base)
    config: SimulationConfig | Scenario | None = None
    if kind == "machine":
        reading.fault((), "must be a simulation or a comparison, got a machine")
    elif kind == "scenario":
        config = build_scenario(reading.of(_asked(variant(document, name, full), more)), name)
    else:
        variant(document, name, full)
        config = _simulation(reading, name, path)
    reading.check()
    assert config is not None
    return config


def variant(document: Document, name: str, full: bool) -> Document:
    """Return the document at the requested size.

    Raises:
        UsageError: If there is no full-size variant.
    """
    top = document.value
    overlay = top.get("full") if isinstance(top, dict) else None
    if full and not isinstance(overlay, dict):
        raise UsageError(f"{document.file or name}: full size must be described under 'full', got no such key")
    return with_comparison(document.without("full"), document.at("full")) if full else document


def _asked(document: Document, more: str | None) -> Document:
    """Return a comparison with other additional money, if any; an option that it is spent on stays."""
    if more is None:
        return document
    stated = document.value.get("next") if isinstance(document.value, dict) else None
    asked: object = {"amount": more} if isinstance(stated, dict) else more
    return document.overlaid(from_python({"next": asked}, "--next"))


def _simulation(reading: Reading, name: str, path: FilePath | None) -> SimulationConfig | None:
    form = reading.form(SimulationForm)
    machine = _machine(reading)
    if form is None:
        return None
    program = build_application(reading, ("program",), form.program)
    if program.modelled is not None:
        rule = "must be a script or a trace to simulate one program, got a model: use clue model predict"
        reading.fault(("program", "model"), rule, of_key=True)
    ranks = _ranks(reading, form.program)
    placement = _placement(form.placement)
    if machine is None:
        return None
    for i, node in enumerate(placement.nodes or ()):
        if node >= len(machine.nodes):
            reading.fault(("placement", i), f"must be a node from 0 to {len(machine.nodes) - 1}, got {node}")
    written = reading.document.at().value
    where = ("placement",) if isinstance(written, dict) and "placement" in written else ("program", "ranks")
    places = {"placement": reading.place(where), "instances": reading.place(("instances",))}
    return SimulationConfig(form.name or name, program, machine, ranks, placement, form.instances, path, places)


def _machine(reading: Reading) -> Machine | None:
    top = reading.document.value
    if not isinstance(top, dict) or "machine" not in top:
        return None
    referred = refer_to_machine(reading, ("machine",))
    return build_machine_apart(reading, *referred) if referred is not None else None


def _ranks(reading: Reading, form: RunForm) -> int | None:
    ranks = number_of_ranks(reading, ("program",), form, form.ranks)
    if ranks is None and (form.trace is None or PLACEHOLDER in form.trace):
        rule = "must be given if no trace states it, got nothing"
        reading.fault(("program", "ranks"), rule)
    return ranks


def _placement(form: str | OrderForm | list[int]) -> PlacementChoice:
    if isinstance(form, OrderForm):
        return PlacementChoice(form.order, form.ranks_per_processor)
    return PlacementChoice(nodes=tuple(form)) if isinstance(form, list) else PlacementChoice(form)
