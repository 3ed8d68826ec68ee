"""Air above a sea: two models on ranks of their own, which tell each other temperatures and fluxes of heat."""

import sys

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
columns, latitudes, levels, depths, periods, inner = (int(word) for word in sys.argv[1:])
STEP, MIX, SPREAD, TRANSFER = 0.1, 0.8, 0.5, 0.05

# the first half of all ranks has the air
air_size = (world.size + 1) // 2
is_air = world.rank < air_size
comm = world.Split(0 if is_air else 1, world.rank)
others = comm.Create_intercomm(0, world, air_size if is_air else 0, tag=9)


def cut(size, rank):
    return columns * rank // size, columns * (rank + 1) // size


begin, end = cut(comm.size, comm.rank)
shared = []
for rank in range(others.Get_remote_size()):
    first, last = cut(others.Get_remote_size(), rank)
    if max(begin, first) < min(end, last):
        shared.append((rank, slice(max(begin, first) - begin, min(end, last) - begin)))


def send(line):
    """Start to send what belongs to each of the other model's ranks above or below."""
    return [others.Isend(line[part], dest=rank) for rank, part in shared]


def receive(line):
    return [others.Irecv(line[part], source=rank) for rank, part in shared]


def with_neighbours(field):
    """The own columns and one on either side, around the world."""
    left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    wide = np.empty((len(field) + 2, *field.shape[1:]))
    wide[1:-1] = field
    comm.Sendrecv(field[-1], dest=right, sendtag=1, recvbuf=wide[0], source=left, recvtag=1)
    comm.Sendrecv(field[0], dest=left, sendtag=2, recvbuf=wide[-1], source=right, recvtag=2)
    return wide


def along(field):
    """Differences to both neighbours on the same latitude, and along it."""
    wide = with_neighbours(field)
    result = wide[2:] + wide[:-2] - 2 * field
    result[:, 1:] += field[:, :-1] - field[:, 1:]
    result[:, :-1] += field[:, 1:] - field[:, :-1]
    return result, field - wide[:-2]


def blow(air, flux):
    """Some short steps of the air: wind, which is stronger above, mixing, and heat from below."""
    wind = np.linspace(0.5, 4.0, levels)
    for _ in range(inner):
        bent, slope = along(air)
        change = SPREAD * bent - wind * slope
        up = MIX * np.diff(air, axis=2)
        change[..., :-1] += up
        change[..., 1:] -= up
        change[..., 0] += flux
        air = air + STEP * change
    return air


def stir(sea, flux):
    """One long step of the sea: water mixes in depth, implicitly, and a little along the latitudes."""
    long = STEP * inner
    sea = sea + 0.02 * long * along(sea)[0]
    sea[..., 0] -= long * flux
    c = MIX * long
    factor = np.zeros(depths)
    for depth in range(depths):
        middle = 1 + c * (2 - (depth == 0) - (depth == depths - 1)) + (c * factor[depth - 1] if depth else 0)
        factor[depth] = -c / middle
        sea[..., depth] = (sea[..., depth] + (c * sea[..., depth - 1] if depth else 0)) / middle
    for depth in range(depths - 2, -1, -1):
        sea[..., depth] -= factor[depth] * sea[..., depth + 1]
    return sea


sunny = np.cos(np.linspace(-1.4, 1.4, latitudes))
around = np.sin(2 * np.pi * np.arange(begin, end) / columns)[:, None]
start = 15 + 15 * sunny + 5 * around if is_air else 10 + 10 * sunny - 3 * around
state = np.repeat(start[..., None], levels if is_air else depths, axis=2)
heat = world.allreduce(float(state.sum()))
extremes = world.allreduce(float(state.min()), op=MPI.MIN), world.allreduce(float(state.max()), op=MPI.MAX)
surface, flux = np.empty((end - begin, latitudes)), np.zeros((end - begin, latitudes))

for _ in range(periods):
    if is_air:
        MPI.Request.Waitall(receive(surface))
        flux = TRANSFER * (surface - state[..., 0])
        sending = send(flux)
        state = blow(state, flux)
    else:
        # the sea gets the fluxes of one period while it computes with those of the last
        surface = state[..., 0].copy()
        coming = np.empty_like(flux)
        sending = send(surface) + receive(coming)
        state = stir(state, flux)
    MPI.Request.Waitall(sending)
    if not is_air:
        flux = coming

# the last fluxes are under way; both come closer
left = float(state.sum()) - (0 if is_air else STEP * inner * float(flux.sum()))
assert np.isclose(world.allreduce(left), heat)
assert extremes[0] - 1 < state.min() and state.max() < extremes[1] + 1
bottom = float(state[..., 0].sum()) / (columns * latitudes)
assert abs(world.allreduce(bottom if is_air else -bottom)) < 5 + 5 * sunny.mean()
others.Free()
comm.Free()
