"""Parts of the hardware library as JSON documents; SI units."""

from __future__ import annotations

from collections.abc import Mapping

from clue.machine.parts import Figure, NetworkPart, Processor, Switch

AnyPart = Processor | NetworkPart | Switch
KINDS: Mapping[str, type[AnyPart]] = {"processor": Processor, "network": NetworkPart, "switch": Switch}


def part_document(part: AnyPart) -> dict[str, object]:
    """Return a part as a JSON document; SI units."""
    return {
        "part": part.key,
        "kind": next(kind for kind, each in KINDS.items() if isinstance(part, each)),
        "name": part.name,
        **_specifications(part),
        "source": part.source,
        "date": part.date,
        "missing": dict(part.missing),
        "notes": list(part.notes),
    }


def _specifications(part: AnyPart) -> dict[str, object]:
    if isinstance(part, Processor):
        return {
            "cores": part.cores,
            "base_clock": part.base_clock,
            "boost_clock": part.boost_clock,
            "channels": part.channels,
            "memory_rate": part.memory_rate,
            "flops_per_cycle": part.flops_per_cycle,
            "power": part.power,
            "price": None if part.price is None else str(part.price),
            "names": list(part.names),
            "figures": {name: _figure(figure) for name, figure in part.figures.items()},
            "computed": {"peak_bandwidth": part.peak_bandwidth, "peak_speed": part.peak_speed},
        }
    if isinstance(part, NetworkPart):
        return {
            "rate": part.rate,
            "latency": None if part.latency is None else _figure(part.latency),
            "bandwidth": None if part.bandwidth is None else _figure(part.bandwidth),
            "link": part.link_from,
        }
    return {
        "ports": part.ports,
        "rate": part.rate,
        "rack_units": part.rack_units,
        "power": part.power,
        "price": None if part.price is None else str(part.price),
    }


def _figure(figure: Figure) -> dict[str, object]:
    return {
        "value": figure.value,
        "cores": figure.cores,
        "how": figure.how,
        "source": figure.source,
        "date": figure.date,
        "note": figure.note,
    }
