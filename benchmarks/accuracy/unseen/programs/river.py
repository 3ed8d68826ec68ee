"""Rain runs off through a tree of river reaches to the sea; ranks have parts of an order in which all water goes on."""

import sys
from math import sqrt

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
reaches, months, stations, parts = (int(word) for word in sys.argv[1:])
DAYS = 30
ends = [(rank + 1) * reaches // comm.size for rank in range(comm.size)]
begins = [0, *ends[:-1]]
first, last = begins[comm.rank], ends[comm.rank]


def country(random):
    """Basins, each of which flows to the nearest one that is closer to the sea; a whole tributary is in one piece."""
    places = random.uniform(size=(reaches, 2))
    places = places[np.argsort(np.hypot(*places.T), kind="stable")]
    upstream = [[] for _ in range(reaches)]
    for reach in range(1, reaches):
        away = ((places[:reach] - places[reach]) ** 2).sum(axis=1)
        upstream[int(away.argmin())].append(reach)
    order, stack = [], [(0, -1)]
    while stack:
        reach, after = stack.pop()
        stack += [(other, len(order)) for other in upstream[reach]]
        order.append((reach, after))
    order.reverse()
    downstream = [reaches - 1 - after for _, after in order[:-1]] + [reaches]
    # area, what the soil can hold, and speed
    others = random.uniform([0.5, 40, 0.05], [2, 160, 0.4], size=(reaches, 3))
    return downstream, np.column_stack([places[[reach for reach, _ in order]], others])


class Basins:
    """Some reaches that follow one another in the order, with the land around each."""

    def __init__(self, start, basins):
        self.start, self.size = start, len(basins)
        away = ((basins[:, None, :2] - sites) ** 2).sum(axis=2) + 1e-3
        self.weights = (1 / away) / (1 / away).sum(axis=1, keepdims=True)
        self.area, self.capacity = basins[:, 2].copy(), basins[:, 3].copy()
        self.speed = basins[:, 4].tolist()
        self.soil, self.ground = 0.5 * self.capacity, np.full(self.size, 20.0)
        self.channel = [1.0] * self.size
        self.fallen = self.dried = 0.0

    def stored(self):
        return float((self.area * (self.soil + self.ground)).sum()) + sum(self.channel)

    def run_off(self, measured):
        """A day's rain wets the soil, dries, seeps to the ground water and runs off to the reach."""
        rain = self.weights @ measured
        self.soil += rain
        dry = np.minimum(self.soil, 3.0 * np.minimum(1, self.soil / self.capacity))
        self.soil -= dry
        quick = np.maximum(0, self.soil - self.capacity) + 0.1 * rain * (self.soil / self.capacity > 0.8)
        seep = 0.02 * self.soil
        self.soil -= quick + seep
        base = 0.03 * self.ground
        self.ground += seep - base
        self.fallen += float((self.area * rain).sum())
        self.dried += float((self.area * dry).sum())
        return (self.area * (quick + base)).tolist()

    def route(self, inflow):
        """The fuller a reach is, the more it lets go: content and flow in a part of a day make up what it had."""
        flows = []
        for own in range(self.size):
            content, enters, rate, flow = self.channel[own], inflow[own] / parts, self.speed[own] / parts, 0.0
            for _ in range(parts):
                had = content + enters
                root = sqrt(had)
                for _ in range(5):
                    root -= (root * root * (1 + rate * root) - had) / (root * (2 + 3 * rate * root) + 1e-12)
                content = root * root
                flow += had - content
            self.channel[own] = content
            flows.append(flow)
            after = downstream[self.start + own] - self.start
            if after < self.size:
                inflow[after] += flow
        return flows


random = np.random.default_rng(1201)
sites = random.uniform(size=(stations, 2))
downstream, everything = country(random) if comm.rank == 0 else (None, None)
downstream = comm.bcast(downstream, root=0)
mine = np.empty((last - first, 5))
comm.Scatterv([everything, [5 * (end - begin) for begin, end in zip(begins, ends)]] if comm.rank == 0 else None, mine)
basins = Basins(first, mine)
at_first = basins.stored()

# the reaches that flow from a rank to another
owner = np.searchsorted(ends, np.arange(reaches + 1), side="right").tolist()
crossing = [reach for reach in range(reaches - 1) if owner[reach] != owner[downstream[reach]]]
outgoing, incoming = {}, {}
for reach in crossing:
    if owner[reach] == comm.rank:
        outgoing.setdefault(owner[downstream[reach]], []).append(reach - first)
    if owner[downstream[reach]] == comm.rank:
        incoming.setdefault(owner[reach], []).append(downstream[reach] - first)

# gauges at the mouth and at a tributary that is not too long, if possible one that more than one rank has
length = [1] * reaches
for reach in range(reaches - 1):
    length[downstream[reach]] += length[reach]
small = [reach for reach in range(reaches) if length[reach] <= max(1, reaches // 25)]
tributary = max(small, key=lambda reach: (owner[reach] != owner[reach - length[reach] + 1], length[reach]))
gauges = [reaches - 1, tributary]
hydrographs = np.zeros((len(gauges), months * DAYS))

weather, season = np.empty((DAYS, stations)), []
for month in range(months):
    if comm.rank == 0:
        # wet days and dry ones, and a wet season
        wet = random.uniform(size=(DAYS, 1)) < 0.35 + 0.2 * np.sin(month * np.pi / 6)
        weather[:] = np.where(wet, random.gamma(0.8, 14.0, size=(DAYS, stations)), 0)
        season.append(weather.copy())
    comm.Bcast(weather, root=0)
    under_way = []
    for day in range(DAYS):
        inflow = basins.run_off(weather[day])
        for source, targets in incoming.items():
            arrived = np.empty(len(targets))
            comm.Recv(arrived, source=source)
            for target, flow in zip(targets, arrived.tolist()):
                inflow[target] += flow
        flows = basins.route(inflow)
        for dest, own in outgoing.items():
            under_way.append(comm.Isend(np.array([flows[reach] for reach in own]), dest=dest))
        for number, gauge in enumerate(gauges):
            if first <= gauge < last:
                hydrographs[number, month * DAYS + day] = flows[gauge - first]
    MPI.Request.Waitall(under_way)

# all water that fell or was there has dried, is still there, or went to the sea
everywhere = np.empty_like(hydrographs)
comm.Allreduce(hydrographs, everywhere, op=MPI.SUM)
balance = comm.allreduce(np.array([at_first + basins.fallen, basins.dried + basins.stored()]), op=MPI.SUM)
assert abs(balance[0] - balance[1] - everywhere[0].sum()) < 1e-9 * balance[0]
assert (everywhere > 0).all() and everywhere[0].sum() > everywhere[1].sum()
# the tributary alone, without any other rank
if comm.rank == 0:
    start = tributary - length[tributary] + 1
    alone = Basins(start, everything[start : tributary + 1])
    expected = [alone.route(alone.run_off(measured))[-1] for measured in np.concatenate(season)]
    assert np.allclose(everywhere[1], expected, rtol=1e-9)
