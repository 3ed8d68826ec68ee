"""Routes between hosts: a measured link, or a path over several (FAST paper, section 4.2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from clue.forecasting.values import number
from clue.machine import Link

#: Largest latency of a link, s, and smallest and largest bandwidth, B/s.
_LONGEST, _NARROWEST, _WIDEST = 1e9, 1e-9, 1e30


@dataclass(frozen=True, slots=True)
class Route:
    """The route from one host to another.

    Attributes:
        latency: Seconds; the sum over its links.
        bandwidth: Bytes per second; the minimum over its links.
        hosts: The hosts that it goes through, both ends included.
    """

    latency: float
    bandwidth: float
    hosts: tuple[str, ...] = ()

    def seconds(self, nbytes: float) -> float:
        """Return the time of a message, seconds."""
        return self.latency + nbytes / self.bandwidth

    @classmethod
    def within(cls, host: str) -> Route:
        """Return the empty route within a host."""
        return cls(0.0, float("inf"), (host,))

    @classmethod
    def along(cls, routes: Iterable[Route]) -> Route:
        """Return the concatenation of routes."""
        latency, bandwidth = 0.0, float("inf")
        hosts: tuple[str, ...] = ()
        for route in routes:
            latency, bandwidth = latency + route.latency, min(bandwidth, route.bandwidth)
            hosts = (*hosts, *route.hosts[1 if hosts else 0 :])
        return cls(latency, bandwidth, hosts)

    @classmethod
    def over(cls, link: Link, nbytes: float) -> Route:
        """Return a machine's link for messages of about a number of bytes: a line through 0 and that size."""
        empty, full = link.one_way(0.0), link.one_way(nbytes)
        return cls(empty, nbytes / (full - empty) if full > empty else float("inf"))

    @classmethod
    def of(cls, document: Any, hosts: tuple[str, str]) -> Route:
        """Return the link that a document describes.

        Raises:
            ValueError: If the document is invalid; KeyError and TypeError likewise.
        """
        latency = number("latency", document["latency"], 0, _LONGEST)
        return cls(latency, number("bandwidth", document["bandwidth"], _NARROWEST, _WIDEST), hosts)


def find_route(links: Mapping[tuple[str, str], Route], source: str, target: str) -> Route | None:
    """Return the route between two hosts with the fewest links; among those, the one with the largest bandwidth.

    Args:
        links: Links by both ends, in either order.
        source: Sending host.
        target: Receiving host.
    """
    if source == target:
        return Route.within(source)
    beside: dict[str, dict[str, Route]] = {}
    for (one, other), link in links.items():
        beside.setdefault(one, {})[other] = Route(link.latency, link.bandwidth, (one, other))
        beside.setdefault(other, {})[one] = Route(link.latency, link.bandwidth, (other, one))
    reached = {source: Route.within(source)}
    edge = dict(reached)
    while edge and target not in reached:
        further: dict[str, Route] = {}
        for host, route in edge.items():
            for other, link in beside.get(host, {}).items():
                way = Route.along((route, link))
                if other not in reached and (other not in further or _better(way, further[other])):
                    further[other] = way
        reached |= further
        edge = further
    return reached.get(target)


def _better(one: Route, other: Route) -> bool:
    return (-one.bandwidth, one.latency) < (-other.bandwidth, other.latency)
