"""Calibration of a described machine: its links are measured on a testbed.

A link joins two kinds of hosts, or two ranks of one host; calibrations are reused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations_with_replacement
from typing import Any

from benchmarks.accuracy.validate.measured import MeasurementFolder
from benchmarks.testbed import launch
from benchmarks.testbed.description import Host, hosts_of
from clue.calibration.link import FittedLink, progress_of
from clue.calibration.measurement import EagerLimit, Estimate, Measurement, SizeRow
from clue.calibration.network import calibrate_link, calibrate_within, measure_link
from clue.calibration.time_slice import measure_time_slice
from clue.machine import Machine, Network, NodeType, Ports

#: Properties of a host that its link depends on: factor, busy processes (which delay a waking rank), bandwidth,
#: latency.
_End = tuple[float, int, float | None, float]
#: Key of a link: properties of both hosts, and whether they are the same host.
_Key = tuple[_End, _End, bool]


@dataclass(frozen=True, slots=True)
class Calibrator:
    """Calibrates machines; each kind of link is calibrated only once.

    Attributes:
        seconds: Duration of the measurement of a link.
        measured: Keeps measurements.
        tell: Called with a description of each step.
        known: Links by the properties that they depend on.
    """

    seconds: float
    measured: MeasurementFolder
    tell: Callable[[str], None]
    known: dict[_Key, FittedLink] = field(default_factory=dict)

    def calibrated(self, machine: Machine, hosts: Sequence[Host] = ()) -> Machine:
        """Return the machine with measured links; its hosts are as it says, if they are not given."""
        types = machine.node_types()
        first = {machine.nodes[each.index].name: each for each in reversed(hosts or hosts_of(machine))}
        between = {
            (one, other): self._link(first[one], first[other], same=False)
            for one, other in combinations_with_replacement(types, 2)
            if one != other or sum(node is types[one] for node in machine.nodes) > 1
        }
        within = {
            name: self._link(first[name], first[name], same=True) for name, each in types.items() if each.processors > 1
        }
        nodes = tuple(self._with_turns(node) for node in machine.nodes)
        return replace(machine, nodes=nodes, network=_network(between, within))

    def _with_turns(self, node: NodeType) -> NodeType:
        """Return a node type with the time slice of this computer's scheduler, which divides a loaded host's core."""
        if not node.background_load:
            return node
        measured = self.measured.get("time-slice", lambda: asdict(measure_time_slice() or Estimate.alone(0.0)))
        return replace(node, time_slice=Estimate(**measured).value)

    def _link(self, one: Host, other: Host, *, same: bool) -> FittedLink:
        hosts = [replace(host, index=index) for index, host in enumerate((one, other))]
        low, high = sorted(((each.factor, each.background, each.bandwidth, each.latency) for each in hosts), key=str)
        key = (low, high, same)
        if key not in self.known:
            name = "link-" + "-".join(map(_label, (low, high)))
            plain = self.measured.get(name + "-within" * same, lambda: asdict(self._measure(hosts, key)))
            calibrate = calibrate_within if same else calibrate_link
            self.known[key] = calibrate(as_measurement(plain)).fitted
        return self.known[key]

    def _measure(self, hosts: list[Host], key: _Key) -> Measurement:
        *ends, same = key
        self.tell(f"calibrating {' – '.join(map(_words, ends[:1] if same else ends))}{' itself' if same else ''}")
        with launch.standing("calibration", hosts) as name:
            addresses = [hosts[0].address, hosts[0 if same else 1].address]
            return measure_link([str(launch.mpiexec_of(name))], addresses, seconds=self.seconds)


def as_measurement(plain: dict[str, Any]) -> Measurement:
    """Return a measurement from its stored fields."""
    rows = tuple(
        SizeRow(
            row["size"],
            **{
                name: Estimate(**row[name]) if row.get(name) else None for name in ("one_way", "blocked", "gap", "call")
            },
            window=row["window"],
            pairs=1,
            both_ways=False,
        )
        for row in plain["rows"]
    )
    return Measurement(
        rows,
        receive=Estimate(**plain["receive"]) if plain["receive"] else None,
        exchange=Estimate(**plain["exchange"]) if plain.get("exchange") else None,
        eager=EagerLimit(**plain["eager"]),
        acknowledged_from=plain.get("acknowledged_from"),
        in_calls=plain.get("in_calls"),
        reads=plain.get("reads"),
        hosts=tuple(plain["hosts"]),
        notes=tuple(plain["notes"]),
        **{name: plain[name] for name in ("mpi", "date", "source")},
    )


def _label(end: _End) -> str:
    factor, background, bandwidth, latency = end
    far = f"far{latency * 1e6:g}" if latency else ""
    return f"{factor:g}{f'loaded{background}' if background else ''}at{bandwidth or 0:g}{far}"


def _words(end: _End) -> str:
    factor, background, bandwidth, latency = end
    busy = f" with {background} busy processes" if background else ""
    cable = f" and {latency * 1e3:g} ms of cable" if latency else ""
    speed = "any speed" if bandwidth is None else f"{bandwidth * 8 / 1e6:g} Mbit/s"
    return f"1/{factor:g} core{busy} at {speed}{cable}"


def _network(between: dict[tuple[str, str], FittedLink], within: dict[str, FittedLink]) -> Network:
    links = [*between.values(), *within.values()]
    pairs = {pair: each.link for (a, b), each in between.items() for pair in ((a, b), (b, a))}
    inside = {name: each.link for name, each in within.items()}
    return Network(
        between_nodes=links[0].link,
        within_node=next(iter(inside.values()), links[0].link),
        pairs=pairs,
        within=inside,
        contention=Ports(),
        progress=progress_of(links),
        # Ranks of these hosts share no memory: MPICH is told that each has a node of its own (MPIR_CVAR_NOLOCAL).
        collective_library="mpich-flat",
    )


def describe(calibrator: Calibrator) -> Iterator[str]:
    """Yield a line for each calibrated link."""
    for (low, high, same), fitted in calibrator.known.items():
        where = f"{_words(low)}, within" if same else f"{_words(low)} – {_words(high)}"
        limit = fitted.link.eager_limit
        empty = fitted.link.one_way(0)
        megabyte = fitted.link.send_delay(2**20) + fitted.link.transmission_delay(2**20)
        yield (
            f"{where}: {empty * 1e6:.0f} us, {2**20 / megabyte / 1e6:.1f} MB/s at 1 MiB, "
            f"eager up to {'any size' if limit is None else f'{limit:.0f} B'}"
        )
