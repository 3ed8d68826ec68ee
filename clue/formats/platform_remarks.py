"""Remarks on the properties of a machine that a SimGrid platform does not have, with their values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from clue.formats.remarks import Remarks
from clue.machine import (
    Curve,
    Flows,
    Link,
    Machine,
    Network,
    NoContention,
    NodeType,
    Progress,
    Rendezvous,
    SpeedCurve,
)
from clue.units import format_size, format_time

#: Words for one and for several (see :meth:`Remarks.count`), the value of each occurrence, and the rest of a remark.
_Remark = tuple[str, Sequence[str], str]
_LEFT_OUT = "which is left out"


def remark_on(machine: Machine, link: Link, remarks: Remarks) -> None:
    """Remark on each property that a platform does not have.

    Args:
        machine: The machine.
        link: The link whose delays and eager limit become options.
        remarks: Collects the remarks.
    """
    changes = [f"at {format_time(time)}" for time, _ in machine.changes]
    for words, values, rest in (
        ("change happens during the run|changes happen during the run", changes, _LEFT_OUT),
        *_of_types(list(machine.node_types().values())),
        *_of_links(machine.network),
        *_of_delays(machine, link),
        *_of_contention(machine, link),
    ):
        told = "; ".join(dict.fromkeys(filter(None, values)))
        remarks.count(words, f"({told}), {rest}" if told else rest, len(values))


def _of_types(types: Sequence[NodeType]) -> Iterator[_Remark]:
    for what, value in _TYPES.items():
        values = [f"{each.name}: {said}" for each in types if (said := value(each))]
        yield f"node type has {what}|node types have {what}", values, _LEFT_OUT


def _of_links(network: Network) -> Iterator[_Remark]:
    pairs = {" and ".join(sorted(pair)): link for pair, link in network.pairs.items()}
    across = {} if network.across_domains is None else {"all": network.across_domains}
    for words, owners in (
        ("pair of node types has a link of its own|pairs of node types have links of their own", pairs),
        ("node type has its own link within a node|node types have their own links within a node", network.within),
        ("link joins domains of a node", across),
    ):
        yield words, [f"{name}: {_link(link)}" for name, link in owners.items()], _LEFT_OUT
    links = list(dict.fromkeys(network.links.values()))
    for what, (value, why) in _LINKS.items():
        yield what, [said for each in links if (said := value(each))], _LEFT_OUT + why
    within_calls = [""] if network.progress is Progress.CALLS else []
    yield "library works within calls only,", within_calls, f"{_LEFT_OUT}: SimGrid's works at any time"
    chosen = [f"{name}: {', '.join(sorted(each.algorithms))}" for name, each in network.collectives.items()]
    yield (
        "collective chooses algorithms|collectives choose algorithms",
        chosen,
        "which SimGrid's options name otherwise",
    )


def _of_delays(machine: Machine, link: Link) -> Iterator[_Remark]:
    """Yield delays that are no lines, and what options state for all links, with the figures of another."""
    local = machine.network.within_node
    used = local is not link and any(node.processors > 1 for node in machine.nodes)
    curves = {"transmission delay": link.transmission_delay}
    if used:
        curves["transmission delay within a node"] = local.transmission_delay
    for name, curve in curves.items():
        line = Curve.line(curve(0), curve.slopes[-1])
        taken = f"its value at 0 B and last slope are taken: {_curve(line)}{_farthest(curve, line)}"
        yield f"{name} is no straight line;", [] if _is_line(curve) else [""], taken
    words = "link has a send delay above its eager limit|links have send delays above their eager limits"
    rest = f"{_LEFT_OUT} for blocking sends: SimGrid charges it to Isends and eager messages only"
    yield words, _waiting_sends(link), rest
    here, there = _figures(local), _figures(link)
    own = ", ".join(f"{name} {told}" for name, (value, told) in here.items() if value != there[name][0]) if used else ""
    words = "link within a node differs from the link between nodes"
    yield words, [own] if own else [], f"{_LEFT_OUT}: SimGrid's options hold for both"


def _waiting_sends(link: Link) -> list[str]:
    """Return the send delay of a link if messages that wait for their receive have one."""
    limit, delay = link.eager_limit, link.send_delay
    if limit is None or not (delay.slopes[-1] or delay(limit + 1)):
        return []
    return [f"{_curve(delay)}, limit {format_size(limit)}"]


def _of_contention(machine: Machine, link: Link) -> Iterator[_Remark]:
    contention = machine.network.contention
    shares = contention.keeps_ports or contention.topology is not None
    if contention.keeps_ports:
        yield "contention model, ports that serve in turn,", [""], "is replaced by links that are shared"
    elif isinstance(contention, Flows) and contention.in_order:
        yield "contention model, flows in order,", [""], "is replaced by flows that share links also between two ranks"
    elif not shares and contention != NoContention():
        said = contention.described(len(machine.nodes), (link,))
        rest = "is left out: simultaneous messages do not slow each other down"
        yield f"contention model, a {contention.name}", [said], rest
    if contention.busy is not None:
        words = "contention model states how long messages keep ports"
        yield words, [f"busy: {_curve(contention.busy)}"], f"{_LEFT_OUT}: bandwidths determine it"
    kept = (contention.busy or link.occupation).slopes[-1]
    carried = link.transmission_delay.slopes[-1]
    if shares and kept != carried and len(machine.nodes) > 1:
        unbound = ", so ports are never a bottleneck" if contention.keeps_ports and not carried else ""
        rest = f"{_LEFT_OUT}: SimGrid shares links by the travel time alone, {_per_byte(carried)}{unbound}"
        yield "link keeps what it shares for another time than messages travel", [_per_byte(kept)], rest


def _is_line(curve: Curve) -> bool:
    return len(set(curve.slopes)) == 1 and curve(0) == curve.times[0] - curve.sizes[0] * curve.slopes[0]


def _farthest(curve: Curve, line: Curve) -> str:
    """Return how far a line is from a curve at the farthest of its points."""
    size = max(curve.sizes, key=lambda size: abs(line(size) - curve(size)))
    gap = line(size) - curve(size)
    return f", {format_time(abs(gap))} too {'long' if gap > 0 else 'short'} at {format_size(size)}" if gap else ""


def _per_byte(slope: float) -> str:
    return f"{format_time(slope)}/B"


def _curve(curve: Curve) -> str:
    """Return a line as ``40 us + 2 ns/B``; of any other curve, the ends of its points."""
    if not _is_line(curve):
        last = curve.sizes[-1]
        return f"{format_time(curve(0))} at 0 B to {format_time(curve(last))} at {format_size(last)}"
    slope = curve.slopes[-1]
    if not slope:
        return format_time(curve(0))
    return f"{format_time(curve(0))} + {_per_byte(slope)}" if curve(0) else _per_byte(slope)


def _figures(link: Link) -> dict[str, tuple[object, str]]:
    """Return what options state for all links, each with its words."""
    limit, receive = link.eager_limit, link.receive_delay + link.completion
    return {
        "send delay": (link.send_delay, _curve(link.send_delay)),
        "receive delay": (receive, format_time(receive)),
        "eager limit": (limit, "none" if limit is None else format_size(limit)),
    }


def _link(link: Link) -> str:
    told = [f"transmission delay {_curve(link.transmission_delay)}"]
    return ", ".join(told + [f"{name} {words}" for name, (_, words) in _figures(link).items()])


def _by_region(node: NodeType) -> str:
    told = [f"factor {factor:g} in {region or 'no region'}" for region, factor in node.performance_factors.items()]
    for region, speed in node.speeds.items():
        ends = [each for _, each in (speed.points[0], speed.points[-1])] if isinstance(speed, SpeedCurve) else [speed]
        told.append(f"{' to '.join(f'{each:g}' for each in ends)} flop/s in {region or 'no region'}")
    return ", ".join(told)


def _memory(node: NodeType) -> str:
    return ", ".join(
        f"{share:g} of the speed{f' in {region}' if region else ''} with {busy} busy"
        for busy, shares in node.memory_contention.items()
        for region, share in shares.items()
    )


def _load(node: NodeType) -> str:
    turns = f" in turns of {format_time(node.time_slice)}" if node.time_slice else ""
    return f"{node.background_load:g}{turns}" if node.background_load else ""


def _noise(**deviations: float) -> str:
    return ", ".join(f"{what} {100 * deviation:.3g} %" for what, deviation in deviations.items() if deviation)


def _delay(name: str, unit: str = "") -> Callable[[NodeType], str]:
    def value(node: NodeType) -> str:
        delay: float = getattr(node, name)
        return f"{format_time(delay)}{unit}" if delay else ""

    return value


#: Properties of node types, with functions that return their values; ``""`` for a type that does not state them.
_TYPES: Mapping[str, Callable[[NodeType], str]] = {
    "factors or speeds by region": _by_region,
    "memory contention": _memory,
    "background load": _load,
    "memory that copies share": lambda node: (
        "" if node.copy_bandwidth is None else f"{format_size(node.copy_bandwidth)}/s"
    ),
    "cold starts": lambda node: (
        f"up to {format_time(max(node.cold_start.after.times))}" if node.cold_start.is_stated else ""
    ),
    "an initialisation delay": _delay("initialisation_delay"),
    "a spawn delay": _delay("spawn_delay"),
    "a packing delay": _delay("packing_delay", "/B"),
    "a reduction delay": _delay("reduction_delay", "/B"),
    "noise": lambda node: _noise(bursts=node.noise.computation, factor=node.noise.factor),
}
#: The same for links, with reasons.
_LINKS: Mapping[str, tuple[Callable[[Link], str], str]] = {
    "link states a send_overhead|links state a send_overhead": (
        lambda link: "" if link.send_overhead is None else _curve(link.send_overhead),
        ": Isend takes as long as Send",
    ),
    "link has messages that are acknowledged|links have messages that are acknowledged": (
        lambda link: "" if link.acknowledged_from is None else f"from {format_size(link.acknowledged_from)}",
        ": senders do not wait for it",
    ),
    "link has receivers that read data|links have receivers that read data": (
        lambda link: "rendezvous: read" if link.rendezvous is Rendezvous.READ else "",
        ": senders are blocked until their message has arrived, as in all rendezvous",
    ),
    "link states how long messages keep what they share|links state how long messages keep what they share": (
        lambda link: "" if link.busy is None else f"busy: {_curve(link.busy)}",
        ": bandwidths determine it",
    ),
    "link states how long receivers copy messages|links state how long receivers copy messages": (
        lambda link: "" if link.copy_time is None else f"copy_time: {_curve(link.copy_time)}",
        ": receivers copy several messages at a time",
    ),
    "link states how much it lets through at once|links state how much they let through at once": (
        lambda link: f"bucket: {format_size(link.bucket)}" if link.bucket else "",
        ": SimGrid's links have no bucket",
    ),
    "link states noise|links state noise": (
        lambda link: _noise(send=link.noise.send, transmission=link.noise.transmission),
        "",
    ),
}
