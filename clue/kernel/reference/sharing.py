"""Max-min fair sharing of links, re-solved only where something changes.

Every flow crosses a few links. The rates are such that no flow can be raised without lowering one that is not faster.
That allocation is unique, and has a certificate: each flow is *held*, either by its own limit or by a link that is full
and on which no flow is faster. The common rate of the flows that a link holds is the link's *level*; the other flows on
it are its *guests*.

Adding and removing flows leaves the certificate in place except at the links they cross. :meth:`FairSharing.settle`
repairs it by progressive filling from low to high rates, but only with the flows whose rates really change: when the
filling reaches the level of a link that can give more, that link sets free the flows it holds; a link that must give
less lowers the flows it holds, and guests above its new level. Each changed flow changes what is left on its other
links, which the filling then looks at when it gets to them. So the cost grows with the flows that change, not with the
network that connects them.

``fast/sharing.hpp`` does the same in C++, operation by operation: both give the same bits.

This module knows rates only. Bytes, times and routes are its callers' business.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence

# Relative difference below which two rates are equal: rounding in sums must not set flows free for nothing.
TOLERANCE = 1e-12
ABOVE = 1.0 + TOLERANCE
BELOW = 1.0 - TOLERANCE

# A flow is settled, or rising (its rate is not known yet, and is at least that of the filling), or final for this
# filling.
SETTLED, RISING, FINAL = range(3)
NO_RATE = -1.0


class _Flow:
    """A flow.

    Attributes:
        number: The caller's name for it.
        limit: Its own limit, B/s.
        rate: Its rate, B/s; ``NO_RATE`` before its first settling.
        before: Its rate at the last settling, B/s, if it is ``noted``.
        state: ``SETTLED``, ``RISING`` or ``FINAL``.
        noted: Whether its rate may have changed since the last settling.
        holder: The link that holds it, or ``None`` where its limit does or it is rising.
        places: Its place among the members of each link on its route, in the order of the route.
    """

    __slots__ = ("before", "holder", "limit", "noted", "number", "places", "rate", "state")

    def __init__(self, number: int, limit: float) -> None:
        self.number = number
        self.limit = limit
        self.rate = NO_RATE
        self.before = NO_RATE
        self.state = RISING
        self.noted = False
        self.holder: _Link | None = None
        self.places: dict[_Link, int] = {}


class _Link:
    """A link and the flows on it.

    Attributes:
        index: Its number.
        capacity: Its capacity, B/s.
        members: The flows on it, first the free ones (held by it, or rising), then its guests.
        free: Number of free members.
        rising: Number of rising members.
        taken: Sum of the rates of its guests, B/s.
        most: Upper bound of the rates of its guests, B/s.
        level: Rate of the flows it holds, B/s; infinite where it holds none.
        due: The rate at which the filling must look at it, B/s; infinite if it need not.
        changes: How often ``taken`` has been changed since it was last summed.
        shaken: Whether a flow has left it since the last settling.
    """

    __slots__ = (
        "capacity",
        "changes",
        "due",
        "free",
        "index",
        "level",
        "members",
        "most",
        "rising",
        "shaken",
        "taken",
    )

    def __init__(self, index: int, capacity: float) -> None:
        self.index = index
        self.capacity = capacity
        self.members: list[_Flow] = []
        self.free = 0
        self.rising = 0
        self.taken = 0.0
        self.most = 0.0
        self.level = math.inf
        self.due = math.inf
        self.changes = 0
        self.shaken = False

    def share(self) -> float:
        """Return each free member's share of what the guests leave, B/s: a lower bound of the link's new level."""
        return (self.capacity - self.taken) / self.free

    def overfull(self) -> bool:
        """Tell whether all members are guests and exceed its capacity."""
        return self.free == 0 and self.taken > self.capacity * ABOVE

    def admit(self, flow: _Flow) -> None:
        """Take in a rising flow."""
        flow.places[self] = len(self.members)
        self.members.append(flow)
        self._swap(self.free, len(self.members) - 1)
        self.free += 1
        self.rising += 1

    def expel(self, flow: _Flow) -> None:
        """Remove a flow that ends."""
        place = flow.places[self]
        if place < self.free:
            self._lose_free(place)
            place = self.free
        self._swap(place, len(self.members) - 1)
        self.members.pop()
        if flow.state == RISING:
            self.rising -= 1
        elif flow.holder is not self:
            self.take(-flow.rate)
        self._forget_guests_if_none()

    def free_guest(self, flow: _Flow) -> None:
        """Count a guest among the free members."""
        self._swap(self.free, flow.places[self])
        self.free += 1
        self.take(-flow.rate)
        self._forget_guests_if_none()

    def make_guest(self, flow: _Flow) -> None:
        """Count a free member among the guests, at its present rate."""
        self._lose_free(flow.places[self])
        self.most = max(self.most, flow.rate)
        self.take(flow.rate)

    def take(self, more: float) -> None:
        """Change the sum of the guests' rates; sum it again from time to time, so that rounding does not accumulate."""
        self.taken += more
        self.changes += 1
        if self.changes > 4 * len(self.members) + 64:
            self.changes = 0
            self.taken = 0.0
            for place in range(self.free, len(self.members)):
                self.taken += self.members[place].rate

    def level_above_guests(self, level: float) -> float:
        """Find the level of the link when faster guests are lowered to it.

        Args:
            level: The share of the free members alone, B/s.

        Returns:
            The level, B/s: ``level`` itself if no guest is faster.
        """
        fast = []
        self.most = 0.0
        for place in range(self.free, len(self.members)):
            guest = self.members[place]
            self.most = max(self.most, guest.rate)
            if guest.rate > level * ABOVE and guest.state == SETTLED:
                fast.append(guest.rate)
        left, count = self.capacity - self.taken, self.free
        for rate in fast:
            left += rate
            count += 1
        while fast:
            level = left / count
            slower = [rate for rate in fast if rate <= level * ABOVE]
            if not slower:
                break
            fast = [rate for rate in fast if rate > level * ABOVE]
            for rate in slower:
                left -= rate
                count -= 1
        return level

    def _swap(self, one: int, other: int) -> None:
        members = self.members
        members[one], members[other] = members[other], members[one]
        members[one].places[self] = one
        members[other].places[self] = other

    def _lose_free(self, place: int) -> None:
        self.free -= 1
        self._swap(place, self.free)
        if self.free == 0:
            self.level = math.inf

    def _forget_guests_if_none(self) -> None:
        if self.free == len(self.members):
            self.taken = 0.0
            self.most = 0.0
            self.changes = 0


class FairSharing:
    """The max-min fair rates of flows that come and go on links of fixed capacity."""

    def __init__(self, capacities: Sequence[float]) -> None:
        self._capacities = capacities
        #: The links that flows have used: of a large network, a small program uses few.
        self._links: dict[int, _Link] = {}
        self._flows: dict[int, _Flow] = {}
        self._new: list[_Flow] = []
        self._shaken: list[_Link] = []
        self._noted: list[_Flow] = []
        self._due: list[tuple[float, int]] = []

    def add(self, flow: int, links: tuple[int, ...], limit: float) -> None:
        """Add a flow.

        Args:
            flow: Its number, which no other flow has at present.
            links: The links on its route, at least one, each once.
            limit: Its own limit, B/s; may be infinite.
        """
        begun = self._flows[flow] = _Flow(flow, limit)
        for index in links:
            link = self._links.get(index)
            if link is None:
                link = self._links[index] = _Link(index, self._capacities[index])
            link.admit(begun)
        self._new.append(begun)

    def remove(self, flow: int) -> None:
        """Remove a flow."""
        ended = self._flows.pop(flow)
        if ended.rate == NO_RATE:
            self._new.remove(ended)
        for link in ended.places:
            link.expel(ended)
            if link.free and not link.shaken:
                link.shaken = True
                self._shaken.append(link)

    def settle(self) -> list[tuple[int, float]]:
        """Give all flows their fair rates.

        Returns:
            The flows whose rates have changed since the last settling, new ones among them, and their rates, B/s.
        """
        self._begin_filling()
        while self._due:
            rate, index = heapq.heappop(self._due)
            link = self._links[index]
            if rate == link.due:
                link.due = math.inf
                self._look_at(link, rate)
        return self._end_filling()

    def _begin_filling(self) -> None:
        for flow in self._new:
            self._note(flow)
        for flow in self._new:
            if not self._fits(flow):
                for link in flow.places:
                    self._call_up(link)
        for link in self._shaken:
            link.shaken = False
            self._call_up(link)
        self._new.clear()
        self._shaken.clear()

    def _end_filling(self) -> list[tuple[int, float]]:
        changed = []
        for flow in self._noted:
            flow.noted = False
            flow.state = SETTLED
            if flow.rate != flow.before:
                changed.append((flow.number, flow.rate))
        self._noted.clear()
        return changed

    def _fits(self, flow: _Flow) -> bool:
        """Settle a new flow at once if its links have room for its limit and no other flow is affected."""
        room, narrow = math.inf, None
        for link in flow.places:
            if link.free != 1:
                return False
            left = link.capacity - link.taken
            if left < room:
                room, narrow = left, link
        if flow.limit <= room:
            self._hold(flow, flow.limit, None)
        elif narrow is not None and narrow.most <= room * ABOVE:
            narrow.level = room
            self._hold(flow, room, narrow)
        else:
            return False
        flow.state = SETTLED
        return True

    def _call_up(self, link: _Link) -> None:
        """Have the filling visit a link when it gets to its rate, if there is anything to do."""
        if link.free:
            share = link.share()
            if link.rising or not link.level * BELOW <= share <= link.level * ABOVE:
                self._call_up_at(link, min(share, link.level))

    def _call_up_at(self, link: _Link, rate: float) -> None:
        if rate < link.due:
            link.due = rate
            heapq.heappush(self._due, (rate, link.index))

    def _put_off(self, link: _Link, rate: float) -> bool:
        """Visit a link later if the filling must visit others before it gets to ``rate``."""
        later = bool(self._due) and rate > self._due[0][0]
        if later:
            self._call_up_at(link, rate)
        return later

    def _look_at(self, link: _Link, rate: float) -> None:
        """Process a link with the filling at ``rate``, or postpone it."""
        if not link.free:
            if link.overfull():
                self._fill(link, rate)
            return
        share = link.share()
        if share > link.level * ABOVE:
            if not self._put_off(link, link.level):
                self._release(link)
        elif share < link.level * BELOW:
            self._fill(link, share)
        elif link.rising:
            self._fill(link, link.level)

    def _fill(self, link: _Link, level: float) -> None:
        """Bring a link to its level, which is at least the one given."""
        if self._put_off(link, level):
            return
        if link.most > level * ABOVE:
            level = link.level_above_guests(level)
            if self._put_off(link, level):
                return
        if not self._limit(link, level):
            self._close(link, level)

    def _limit(self, link: _Link, level: float) -> bool:
        """Hold the rising flows on a link whose limits are below a level; tell whether there were any."""
        place, some = 0, False
        while link.rising and place < link.free:
            flow = link.members[place]
            if flow.state == RISING and flow.limit <= level:
                self._hold(flow, flow.limit, None)
                some = True
            else:
                place += 1
        if some:
            self._call_up(link)
        return some

    def _release(self, link: _Link) -> None:
        """Let the flows that a link holds rise, except those that another link holds as well."""
        link.level = math.inf
        place = 0
        while place < link.free:
            flow = link.members[place]
            if flow.state == SETTLED:
                other = self._other_holder(flow)
                if other is not None:
                    flow.holder = other
                    link.make_guest(flow)
                    other.free_guest(flow)
                    continue
                self._free(flow, link)
            place += 1
        self._call_up(link)

    def _other_holder(self, flow: _Flow) -> _Link | None:
        for link in flow.places:
            if link.level <= flow.rate * ABOVE:
                return link
        return None

    def _free(self, flow: _Flow, holder: _Link) -> None:
        """Let a flow rise."""
        self._note(flow)
        flow.state = RISING
        flow.holder = None
        for link in flow.places:
            link.rising += 1
            if link is not holder:
                link.free_guest(flow)
                self._call_up(link)

    def _close(self, link: _Link, level: float) -> None:
        """Hold all rising flows on a link at its level, and lower faster ones to it."""
        lowered = level != link.level
        link.level = level
        if link.most > level * ABOVE:
            for place in range(link.free, len(link.members)):
                guest = link.members[place]
                if guest.rate > level * ABOVE and guest.state == SETTLED:
                    link.free_guest(guest)
        for place in range(link.free):
            flow = link.members[place]
            if flow.state == RISING:
                self._hold(flow, level, link)
            elif flow.state == SETTLED and (lowered or flow.holder is not link):
                self._lower(flow, level, link)
        if not link.free:
            link.level = math.inf

    def _hold(self, flow: _Flow, rate: float, holder: _Link | None) -> None:
        """End the rise of a flow."""
        flow.state = FINAL
        flow.holder = holder
        # Its own limit is exact; the rate that a link leaves for it is exact only up to rounding.
        if holder is None or abs(rate - flow.rate) > flow.rate * TOLERANCE:
            flow.rate = rate
        for link in flow.places:
            link.rising -= 1
            if link is not holder:
                link.make_guest(flow)
                if link.overfull():
                    self._call_up_at(link, flow.rate)

    def _lower(self, flow: _Flow, rate: float, holder: _Link) -> None:
        """Lower a flow to the level of the link that holds it from now on; it is one of the link's free members."""
        self._note(flow)
        less = rate - flow.rate
        former = flow.holder
        flow.state = FINAL
        flow.holder = holder
        flow.rate = rate
        for link in flow.places:
            if link is holder:
                continue
            if link is former:
                link.make_guest(flow)
            else:
                link.take(less)
            self._call_up(link)

    def _note(self, flow: _Flow) -> None:
        if not flow.noted:
            flow.noted = True
            flow.before = flow.rate
            self._noted.append(flow)
