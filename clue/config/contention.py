"""Contention of a network: the forms of the models and of LogGOPS, and their conversion to values."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag

from clue.config.curves import CurveForm, build_curve
from clue.config.document import Path
from clue.config.forms import Form, shape
from clue.config.quantities import EagerLimit, NoneWord, Number, Time, TimePerByte, says_none
from clue.config.reading import Reading
from clue.config.topologies import TOPOLOGIES, FlowsForm, TopologyForm, build_topology, check_topology
from clue.machine import Contention, Curve, FactorTable, Flows, Link, NoContention, Ports

#: Path of the key in a machine file.
CONTENTION: Path = ("network", "contention")

# --- forms ---


def _from_one(table: dict[int, float]) -> dict[int, float]:
    if 1 not in table:
        got = f"none below {min(table)}" if table else "an empty mapping"
        raise ValueError(f"must have an entry for 1 communication, got {got}")
    return dict(sorted(table.items()))


#: Largest number of simultaneous communications in a table of factors: engines get one factor for each number up to it.
_MOST_SIMULTANEOUS = 10**6
Simultaneous = Annotated[int, Field(ge=1, le=_MOST_SIMULTANEOUS)]
FactorForm = Annotated[dict[Simultaneous, Annotated[Number, Field(ge=1)]], AfterValidator(_from_one)]


class PortsForm(Form):
    """Each node's send port and receive port serve messages one by one; short ones pass long ones."""

    busy: CurveForm | None = Field(
        None,
        description="Time for which a message occupies a port, by its size, whatever its link says; default: the "
        "time that its link states.",
    )


class ContentionForm(Form):
    """One of the models of contention, with its parameters."""

    factor: FactorForm | None = Field(
        None,
        description="Factor on send and transmission delays by number of simultaneous communications "
        "between nodes; linear between entries, constant beyond the last.",
    )
    ports: PortsForm | None = Field(
        None,
        description="Each node's send port and receive port serve messages one by one; short ones pass long ones.",
    )
    flows: FlowsForm | None = Field(None, description="Messages share the links of a topology max-min fairly.")

    @property
    def stated(self) -> dict[int, float] | PortsForm | TopologyForm:
        """The form of the stated model."""
        form: dict[int, float] | PortsForm | TopologyForm = next(each for _, each in self if each is not None)
        return form


MODELS = tuple(ContentionForm.model_fields)


def _one_model(form: ContentionForm) -> ContentionForm:
    given = [name for name in MODELS if getattr(form, name) is not None]
    if len(given) != 1:
        empty = " and ".join(f"{name} without a value" for name in MODELS if name in form.model_fields_set)
        raise ValueError(f"must have one of {', '.join(MODELS)}, got {' and '.join(given) or empty or 'none'}")
    return form


def _contention_shape(value: object) -> str:
    if not isinstance(value, dict):
        return shape(value)
    return "<model>" if any(isinstance(key, str) for key in value) else "<table>"


_StatedForm = Annotated[
    Annotated[Literal["none", "ports"], Tag("<one>")]
    | Annotated[FactorForm, Tag("<table>")]
    | Annotated[ContentionForm, AfterValidator(_one_model), Tag("<model>")],
    Discriminator(_contention_shape),
]


#: Models that a word cannot state: what they need besides, with an example.
_INCOMPLETE = {
    "flows": f"the topology whose links messages share ({', '.join(TOPOLOGIES)}), such as "
    "{flows: {topology: switch, bandwidth: 1 GB/s}}",
    "factor": "its factors by number of simultaneous communications, such as {factor: {1: 1, 4: 2.5}}",
}


def _contention_word(value: object) -> object:
    if isinstance(value, str) and value in _INCOMPLETE:
        raise ValueError(f'must state {_INCOMPLETE[value]}, got "{value}" alone')
    if value == {}:
        raise ValueError(f"must have one of {', '.join(MODELS)}, or factors by number, got an empty mapping")
    return "none" if says_none(value) else value


AnyContentionForm = Annotated[
    _StatedForm | None, BeforeValidator(_contention_word, json_schema_input_type=_StatedForm | NoneWord | None)
]


class LogGOPSForm(Form):
    """The network in the parameters of LogGOPS (Hoefler et al., 2010), for a message of m ≥ 1 bytes."""

    L: Time = Field(description="Latency: the first byte arrives L after it was sent.")
    o: Time = Field(description="Overhead: processor time to send a message, and to receive one.")
    g: Time = Field(description="Gap between messages: a port is busy for g + (m - 1) G.")
    G: TimePerByte = Field(description="Gap per byte: transmission takes L + (m - 1) G.")
    O: TimePerByte = Field(0.0, description="Overhead per byte of a send, which takes o + (m - 1) O.")  # noqa: E741
    S: EagerLimit = Field(
        None, description="Largest message that is sent without waiting for its receive; none (the default): all are."
    )


# --- LogGOPS ---


def _from_one_byte(first: float, per_byte: float) -> Curve:
    """Return the curve ``first + (m - 1) per_byte``; an empty message counts as 1 B."""
    return Curve((1.0,), (first,), (per_byte,))


def loggops_link(form: LogGOPSForm) -> Link:
    """Build the link of a LogGOPS network: messages travel L + (m-1) G after o; sends take o + (m-1) O, receives o.

    O is processor time beside the network: as in LogGOPSim, the first byte leaves after o.
    """
    return Link(
        send_delay=Curve.line(form.o),
        transmission_delay=_from_one_byte(form.L, form.G),
        receive_delay=form.o,
        eager_limit=form.S,
        send_overhead=_from_one_byte(form.o, form.O) if form.O else None,
    )


# --- models ---


def build_contention(
    given: ContentionForm | dict[int, float] | Literal["none", "ports"] | None, loggops: LogGOPSForm | None
) -> Contention:
    """Build the contention of a network: the default is ports, with LogGOPS's times if the network states LogGOPS."""
    form = given.stated if isinstance(given, ContentionForm) else given
    match form:
        case "none":
            return NoContention()
        case None | "ports":
            return _ports(None, loggops)
        case PortsForm():
            return _ports(form.busy, loggops)
        case dict():
            return FactorTable(tuple(form.items()))
        case _:
            return Flows(build_topology(form), form.in_order)


def _ports(busy: CurveForm | None, loggops: LogGOPSForm | None) -> Ports:
    if busy is not None:
        return Ports(build_curve(busy))
    return Ports(_from_one_byte(loggops.g, loggops.G) if loggops is not None else None)


# --- rules over several keys ---


def check_contention(reading: Reading, given: object, nodes: int) -> None:
    """Check that a topology is consistent, and has a place for every node."""
    if isinstance(given, ContentionForm) and given.flows is not None:
        check_topology(reading, (*CONTENTION, "flows"), given.flows, nodes)


def check_kept(reading: Reading, path: Path, before: Contention, after: Contention) -> None:
    """Check that a change during a run keeps the contention model and the topology; figures may change.

    Args:
        reading: The machine as written.
        path: Path of the change.
        before: The contention before it.
        after: The contention after it.
    """
    if before.name != after.name:
        reading.fault((*path, *CONTENTION), f"must stay {before.name} during a run, got {after.name}")
    elif before.topology is not None and before != after:
        reading.fault((*path, *CONTENTION), "must keep its topology during a run, got another")
