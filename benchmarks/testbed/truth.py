"""The real properties of an emulated machine, where its file tells clue less: ``truths/`` beside ``machines/``.

A machine's own file states a buyer's knowledge: nodes, nominal speeds and links. Its truth, a file of the same name,
states what the testbed builds.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from benchmarks.testbed.description import Host, Kind, Rack, background_of, check_changes, hosts_of
from clue.config import load_machine
from clue.config.quantities import Bandwidth, PositiveInt, Time
from clue.errors import UsageError


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _KindForm(_Form):
    vectors: Literal[16, 32, 64] | None = None
    interpreter: Annotated[float, Field(ge=1)] = 1.0
    busy_memory: bool = False


class _RackForm(_Form):
    bandwidth: Bandwidth | None = None
    latency: Time = 0.0


class _HostsForm(_Form):
    count: PositiveInt = 1
    factor: Annotated[float, Field(ge=1)]
    processors: PositiveInt = 1
    bandwidth: Bandwidth | None = None
    latency: Time = 0.0
    rack: str | None = None
    kind: str | None = None


class _TruthForm(_Form):
    hosts: Annotated[list[_HostsForm], Field(min_length=1)]
    racks: dict[str, _RackForm] = {}
    kinds: dict[str, _KindForm] = {}
    shared_memory: bool = False


def hosts_at(machine: Path | str) -> tuple[Host, ...]:
    """Return the hosts that emulate the machine of a file: according to its truth or, if it has none, the file itself.

    A truth states no background load: it is that of the file.

    Raises:
        UsageError: If the machine has something that cannot be emulated, or its truth has other nodes than the machine.
    """
    told, file = load_machine(machine), Path(machine).parent.resolve().parent / "truths" / Path(machine).name
    if not file.exists():
        return hosts_of(told)
    hosts = hosts_as(yaml.safe_load(file.read_text()), file.name)
    stated, real = [node.processors for node in told.nodes], [host.processors for host in hosts]
    if stated != real:
        raise UsageError(f"{file}: hosts must have the processors of the machine's nodes, {stated}, got {real}")
    check_changes(told)
    pairs = zip(hosts, told.nodes, strict=True)
    return tuple(replace(host, background=background_of(told, node, host.factor)) for host, node in pairs)


def hosts_as(document: Any, name: str) -> tuple[Host, ...]:
    """Return the hosts of a truth.

    Raises:
        UsageError: If the document is not a truth, or names a rack or kind that it does not describe.
    """
    try:
        form = _TruthForm.model_validate(document)
        racks = {each: Rack(each, said.bandwidth, said.latency) for each, said in form.racks.items()}
        kinds = {each: Kind(said.vectors, said.interpreter, said.busy_memory) for each, said in form.kinds.items()}
        each_host = [said for said in form.hosts for _ in range(said.count)]
        return tuple(
            Host(
                index, said.factor, said.processors, 0, said.bandwidth, said.latency,
                None if said.rack is None else racks[said.rack], Kind() if said.kind is None else kinds[said.kind],
                form.shared_memory,
            )
            for index, said in enumerate(each_host)
        )  # fmt: skip
    except ValidationError as error:
        raise UsageError(f"{name}: {error}") from None
    except KeyError as error:
        raise UsageError(f"{name}: hosts must name racks and kinds that are described, got {error}") from None
