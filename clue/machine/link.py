"""Links: how messages travel between ranks of two node types, or within a node."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum

from clue.machine.curve import Curve
from clue.machine.figures import AMOUNT, DELAY, SIZE, a, check_figures


@dataclass(frozen=True, slots=True)
class LinkNoise:
    """Uncertainty of the delays of a link.

    Both figures are relative standard deviations (0.05 is 5 %) of log-normal multipliers with median 1. One multiplier
    applies to all messages of the link in a run; variation from message to message is not modelled.

    Attributes:
        send: Uncertainty of the send and receive delays.
        transmission: Uncertainty of the transmission delay.

    Raises:
        UsageError: If a figure is impossible.
    """

    send: float = 0.0
    transmission: float = 0.0

    def __post_init__(self) -> None:
        """Check the figures."""
        check_figures("noise of a link", self, {"send": AMOUNT, "transmission": AMOUNT})


class Rendezvous(Enum):
    """Which rank moves the data of a rendezvous."""

    WRITE = "write"
    READ = "read"


_RULES = {
    "send_delay": DELAY,
    "transmission_delay": DELAY,
    "receive_delay": AMOUNT,
    "eager_limit": SIZE.or_none,
    "noise": a(LinkNoise),
    "busy": DELAY.or_none,
    "send_overhead": DELAY.or_none,
    "acknowledged_from": SIZE.or_none,
    "bucket": AMOUNT,
    "receive_overhead": AMOUNT.or_none,
    "copy_time": DELAY.or_none,
    "rendezvous": a(Rendezvous),
}


@dataclass(frozen=True, slots=True)
class Link:
    """How messages between one pair of node types (or within a node) travel.

    Attributes:
        send_delay: s(m): duration of a blocking send without other delays, until its data have left.
        transmission_delay: t(m): further time until the message arrives.
        receive_delay: r: time of a receive or probe call, whether or not it finds a message.
        eager_limit: Size of the largest eager message, sent without waiting for its receive, bytes; ``None``: all
            messages are eager.
        send_overhead: c(m): processor time that the call of a send takes from its rank; ``None``: s(m), as far as it is
            known at the call.
        acknowledged_from: Size of the smallest eager message whose send ends only when the receiver's library has
            acknowledged its arrival, bytes; ``None``: no send waits for an acknowledgement.
        noise: Uncertainty of the delays.
        busy: How long a message alone occupies its shared resources, ports or links of a topology; ``None``: the part
            of its delays that grows with its size, the larger of s(m) - s(0) and t(m) - t(0). It may exceed the time
            for which the message travels.
        bucket: Depth of the token bucket of its shared resources, bytes: the data that an idle port or link lets
            through at once beyond its bandwidth. It is never less than a message's own delays imply.
        receive_overhead: o: processor time that a receive takes from its rank in all, the call included; ``None``: no
            more than the call.
        copy_time: Within a node, how long the receiver of a rendezvous copies it, one message at a time; ``None``:
            messages do not wait for each other's copies.
        rendezvous: Which rank moves the data of a rendezvous: the sender, once it has the receiver's answer, or the
            receiver, which reads them from the sender's memory.

    Raises:
        UsageError: If a figure is impossible, such as a negative delay.
    """

    send_delay: Curve
    transmission_delay: Curve
    receive_delay: float = 0.0
    eager_limit: float | None = None
    noise: LinkNoise = LinkNoise()
    busy: Curve | None = None
    send_overhead: Curve | None = None
    acknowledged_from: float | None = None
    bucket: float = 0.0
    receive_overhead: float | None = None
    copy_time: Curve | None = field(default=None, repr=False)
    rendezvous: Rendezvous = field(default=Rendezvous.WRITE, repr=False)

    def __post_init__(self) -> None:
        """Check the figures."""
        check_figures("link", self, _RULES)

    @property
    def occupation(self) -> Curve:
        """How long a message occupies shared resources: as stated, or the growth of its delays with size (≥ 0)."""
        if self.busy is not None:
            return self.busy
        return Curve.upper([Curve.line(0.0), self.send_delay.growth, self.transmission_delay.growth])

    @property
    def completion(self) -> float:
        """e: processor time of a receive, or a wait for receives, once the messages are there, seconds."""
        return 0.0 if self.receive_overhead is None else max(self.receive_overhead - self.receive_delay, 0.0)

    def one_way(self, nbytes: float) -> float:
        """Return the time from the start of an eager message to the end of a receive that waits for it, seconds."""
        return self.send_delay(nbytes) + self.transmission_delay(nbytes) + self.receive_delay + self.completion

    def kept_longer(self, factor: float) -> Link:
        """Return the link with the occupation of shared resources multiplied, and all delays unchanged."""
        return replace(self, busy=self.occupation.scaled(factor))
