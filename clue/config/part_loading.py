"""Load parts of the hardware library: one by name, or all shipped parts."""

from __future__ import annotations

from pathlib import Path as FilePath

from clue.config.faults import Faults, validated
from clue.config.machines import build_link
from clue.config.part_schema import NetworkPartForm, ProcessorPartForm
from clue.config.parts import (
    PartFile,
    build_processor,
    build_switch,
    figure_of,
    link_document,
    link_from,
    locate_part,
    read_part,
)
from clue.config.schema import BetweenNodesForm
from clue.config.shipped_files import shipped_parts
from clue.errors import ConfigError
from clue.machine.parts import PREFIX, NetworkPart, Processor, Switch

AnyPart = Processor | NetworkPart | Switch


def load_part(name: str, *, relative_to: FilePath | str | None = None) -> AnyPart:
    """Load a part.

    Args:
        name: A path, or the name of a part shipped with clue, with ``parts/`` or without.
        relative_to: Base directory of a relative path; default: the current one.

    Raises:
        ConfigError: With all faults of the part.
    """
    try:
        file, key = locate_part(name, FilePath(relative_to or ""))
    except ValueError as error:
        raise ConfigError(f"{name}: part {error}") from None
    faults = Faults()
    part = _built(file, key, faults)
    faults.check()
    assert part is not None
    return part


def load_parts() -> dict[str, AnyPart]:
    """Load all parts shipped with clue, by their names in the library.

    Raises:
        ConfigError: With all faults of the parts.
    """
    faults = Faults()
    found = {PREFIX + name: _built(file, PREFIX + name, faults) for name, file in shipped_parts().items()}
    faults.check()
    return {name: part for name, part in found.items() if part is not None}


def _built(file: FilePath, key: str, faults: Faults) -> AnyPart | None:
    part = read_part(file, key, faults)
    if part is None:
        return None
    if isinstance(part.form, ProcessorPartForm):
        return build_processor(part)
    return _network(part, part.form, faults) if isinstance(part.form, NetworkPartForm) else build_switch(part)


def _network(part: PartFile, form: NetworkPartForm, faults: Faults) -> NetworkPart | None:
    link = validated(BetweenNodesForm, link_document(part), faults)
    return NetworkPart(
        *part.heading,
        rate=form.rate,
        latency=None if form.latency is None else figure_of(form.latency, form.latency.value),
        bandwidth=None if form.bandwidth is None else figure_of(form.bandwidth, form.bandwidth.value),
        link=None if link is None else build_link(link),
        link_from=link_from(form),
    )
