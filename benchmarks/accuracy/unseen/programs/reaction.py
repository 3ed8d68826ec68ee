"""How an atom hops on a crystal: pictures of the way pull at each other like rubber, until one is on the pass."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
images, across, layers, steps = (int(word) for word in sys.argv[1:])
begin, end = 1 + comm.rank * images // comm.size, 1 + (comm.rank + 1) * images // comm.size
before = comm.rank - 1 if comm.rank > 0 else MPI.PROC_NULL
after = comm.rank + 1 if comm.rank + 1 < comm.size else MPI.PROC_NULL
LENGTH, SPRING, TIME, ALLOWED = 1.1, 8.0, 0.02, 0.02

# a crystal in a plane whose lowest layer is fixed, and an atom beside the middle of its surface
atoms, opposite, wide = [], [], across
for layer in range(layers):
    first = len(atoms)
    wide = across + layer % 2
    atoms += [(LENGTH * (place - (wide - 1) / 2), -LENGTH * layer * np.sqrt(0.75)) for place in range(wide)]
    opposite += range(first + wide - 1, first - 1, -1)
atoms.append((-LENGTH / 2, LENGTH * np.sqrt(0.75)))
opposite.append(len(opposite))
fixed = np.zeros(len(atoms), dtype=bool)
fixed[-1 - wide : -1] = True


def forces(path):
    """Forces on all atoms of some images, and the energies of these (Lennard-Jones)."""
    apart = path[:, :, None] - path[:, None]
    square = (apart**2).sum(axis=-1)
    square[:, np.arange(len(atoms)), np.arange(len(atoms))] = np.inf
    sixth = square**-3
    pull = ((48 * sixth**2 - 24 * sixth) / square)[..., None] * apart
    result = pull.sum(axis=2)
    result[:, fixed] = 0
    return result, 2 * (sixth**2 - sixth).sum(axis=(1, 2))


def move(path, speed, force):
    """A step in which only speed along the force is kept."""
    for v, f in zip(speed, force):
        along = (v * f).sum() / max((f**2).sum(), 1e-12)
        v[:] = max(along, 0) * f + TIME * f
    path += np.clip(TIME * speed, -0.05, 0.05)


# rank 0 lets the atom come to rest; the other end looks the same in a mirror
rest = np.array([atoms])
if comm.rank == 0:
    speed = np.zeros_like(rest)
    for _ in range(4 * steps):
        force, _ = forces(rest)
        if np.abs(force).max() < ALLOWED / 100:
            break
        move(rest, speed, force)
comm.Bcast(rest, root=0)
start, stop = rest[0], rest[0][opposite] * [-1, 1]
share = np.arange(begin, end)[:, None, None] / (images + 1)
path = (1 - share) * start + share * stop
# over the atom in the middle, and not through it
path[:, -1, 1] += 0.3 * np.sin(np.pi * share[:, 0, 0])
ends, end_energies = np.array([start, stop]), forces(np.array([start, stop]))[1]

speed, climbing = np.zeros_like(path), -1
lower, upper = ends[0].copy(), ends[1].copy()
energies = np.empty(images)
counts = [(rank + 1) * images // comm.size - rank * images // comm.size for rank in range(comm.size)]
for step in range(steps):
    requests = [comm.Irecv(lower, source=before), comm.Irecv(upper, source=after)]
    requests += [comm.Isend(path[0].copy(), dest=before), comm.Isend(path[-1].copy(), dest=after)]
    force, energy = forces(path)
    MPI.Request.Waitall(requests)
    if step % 10 == 0:
        comm.Allgatherv(energy, [energies, counts])
        if step >= steps // 4:
            climbing = int(energies.argmax()) + 1
    # the band: springs pull along it, the crystal pulls across
    whole = np.concatenate([[lower], path, [upper]])
    back, forth = whole[1:-1] - whole[:-2], whole[2:] - whole[1:-1]
    way = back / np.linalg.norm(back, axis=(1, 2), keepdims=True) + forth / np.linalg.norm(
        forth, axis=(1, 2), keepdims=True
    )
    way /= np.linalg.norm(way, axis=(1, 2), keepdims=True)
    along = (force * way).sum(axis=(1, 2), keepdims=True)
    stretched = np.linalg.norm(forth, axis=(1, 2), keepdims=True) - np.linalg.norm(back, axis=(1, 2), keepdims=True)
    band = force - along * way + SPRING * stretched * way
    if begin <= climbing < end:
        band[climbing - begin] = (force - 2 * along * way)[climbing - begin]
    move(path, speed, band)
    if step % 25 == 24 and comm.allreduce(float(np.abs(band).max(initial=0)), op=MPI.MAX) < ALLOWED:
        break

assert step > steps // 4 and comm.allreduce(float(np.abs(band).max()), op=MPI.MAX) < 20 * ALLOWED
comm.Allgatherv(forces(path)[1], [energies, counts])
assert abs(end_energies[0] - end_energies[1]) < 1e-6
barrier = energies.max() - end_energies[0]
assert 0.05 < barrier < 3
# up, and down again, with the pass in the middle
top = int(energies.argmax())
assert abs(top - (images - 1) / 2) <= 1
assert (np.diff(energies[: top + 1]) > -1e-3).all() and (np.diff(energies[top:]) < 1e-3).all()
