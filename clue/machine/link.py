"""Links: how messages travel between ranks of two node types, or within a node."""

from __future__ import annotations

from dataclasses import dataclass, replace

from clue.machine.curve import Curve


@dataclass(frozen=True, slots=True)
class LinkNoise:
    """How far the delays of a link may be from what is stated.

    Both are relative standard deviations (0.05 is 5 %) of log-normal multipliers whose median is 1, one for all
    messages of the link. How messages of one run differ from one another is left out.

    Attributes:
        send: Of the send and receive delays.
        transmission: Of the transmission delay.
    """

    send: float = 0.0
    transmission: float = 0.0


@dataclass(frozen=True, slots=True)
class Link:
    """How messages between one pair of node types (or within a node) travel.

    Attributes:
        send_delay: s(m): a blocking send lasts so long, if nothing else keeps it: until its data have left.
        transmission_delay: t(m): further time until the message arrives.
        receive_delay: Time used in a receive or probe call, whether it finds something or not.
        eager_limit: Largest message sent without waiting for its receive; ``None``: all are.
        send_overhead: c(m): what the call of a nonblocking send takes of its rank's processor; ``None``: s(m), as far
            as it is known then.
        acknowledged_from: Smallest eager message whose send ends only when the receiver's library has acknowledged
            that it is there; ``None``: none does.
        noise: How sure the delays are.
        busy: How long a message keeps what it shares with others, if that were its own: ports, or the links of a
            topology; ``None``: the part of its delays that grows with its size, the larger of s(m) - s(0) and
            t(m) - t(0). It may be longer than the message travels.
    """

    send_delay: Curve
    transmission_delay: Curve
    receive_delay: float = 0.0
    eager_limit: float | None = None
    noise: LinkNoise = LinkNoise()
    busy: Curve | None = None
    send_overhead: Curve | None = None
    acknowledged_from: float | None = None

    @property
    def occupation(self) -> Curve:
        """How long a message keeps what it shares: as stated, or by what its delays grow by with size, at least 0."""
        if self.busy is not None:
            return self.busy
        return Curve.upper([Curve.line(0.0), self.send_delay.growth, self.transmission_delay.growth])

    def kept_longer(self, factor: float) -> Link:
        """Return the link with messages that keep what they share so many times as long, and take no longer alone."""
        return replace(self, busy=self.occupation.scaled(factor))
