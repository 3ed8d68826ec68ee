"""Which molecules fit into a pocket of a protein: rank 0 hands them out, and tries some itself while nobody asks."""

import sys
from dataclasses import dataclass

import numpy as np
from mpi4py import MPI

ASK, TASK = 1, 2
TEMPERATURE, APART = 0.6, 1.0


@dataclass
class Fit:
    """How well a molecule fits, and where."""

    molecule: int
    energy: float
    pose: np.ndarray


class Pocket:
    """A bowl of atoms, in which molecules are moved at random."""

    def __init__(self, atoms: int) -> None:
        random = np.random.default_rng(311)
        points = random.normal(size=(atoms, 3))
        points[:, 2] = -np.abs(points[:, 2])
        self.wall = 2.6 * points / np.linalg.norm(points, axis=1, keepdims=True)

    def energy(self, pose: np.ndarray) -> float:
        """Attraction and repulsion of all pairs of atoms; what is very near is cut off."""
        square = (pose**2).sum(axis=1)[:, None] + (self.wall**2).sum(axis=1) - 2 * pose @ self.wall.T
        sixth = (APART / np.maximum(square, 0.5)) ** 3
        return float((sixth * sixth - 2 * sixth).sum())

    def tries(self, molecule: int, steps: int):
        """Yield the best fit so far now and then, and at last the best of all; some molecules take longer."""
        random = np.random.default_rng([312, molecule])
        size = int(random.integers(4, 24))
        shape = np.cumsum(random.normal(size=(size, 3)) * 0.5, axis=0)
        pose = shape - shape.mean(axis=0) - [0, 0, 0.5]
        now = self.energy(pose)
        best = Fit(molecule, now, pose)
        for step in range(steps * int(random.integers(1, 6))):
            axis = random.normal(size=3) * 0.2
            centre = pose.mean(axis=0)
            moved = centre + (pose - centre) @ turn(axis) + random.normal(size=3) * 0.1
            then = self.energy(moved)
            if then < now or random.random() < np.exp((now - then) / TEMPERATURE):
                pose, now = moved, then
                if now < best.energy:
                    best = Fit(molecule, now, pose)
            if step % 16 == 15:
                yield None
        yield best


def turn(axis: np.ndarray) -> np.ndarray:
    """A rotation about an axis by its length, after Rodrigues."""
    angle = np.sqrt(axis @ axis)
    x, y, z = axis / angle
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross


def hand_out(comm: MPI.Comm, pocket: Pocket, molecules: int, steps: int) -> list[Fit]:
    """Answer whoever asks; in between, a few tries for a molecule of one's own."""
    fits, following, working, mine = [], 0, comm.size - 1, None
    status = MPI.Status()
    while working or mine is not None or following < molecules:
        idle = mine is None and following == molecules
        while working and (idle or comm.iprobe(source=MPI.ANY_SOURCE, tag=ASK, status=status)):
            fit = comm.recv(source=MPI.ANY_SOURCE, tag=ASK, status=status)
            fits += [fit] if fit is not None else []
            if following < molecules:
                comm.send(following, dest=status.Get_source(), tag=TASK)
                following += 1
            else:
                comm.send(None, dest=status.Get_source(), tag=TASK)
                working -= 1
        if mine is None and following < molecules:
            mine = pocket.tries(following, steps)
            following += 1
        if mine is not None:
            fit = next(mine)
            if fit is not None:
                fits.append(fit)
                mine = None
    return fits


def work(comm: MPI.Comm, pocket: Pocket, steps: int) -> None:
    """Try molecules until there are no more."""
    fit = None
    while True:
        comm.send(fit, dest=0, tag=ASK)
        molecule = comm.recv(source=0, tag=TASK)
        if molecule is None:
            return
        *_, fit = pocket.tries(molecule, steps)


def main() -> None:
    """Find the best molecule; each energy is that of its pose."""
    molecules, atoms, steps = map(int, sys.argv[1:])
    comm, pocket = MPI.COMM_WORLD, Pocket(atoms)
    if comm.rank > 0:
        work(comm, pocket, steps)
        return
    fits = sorted(hand_out(comm, pocket, molecules, steps), key=lambda fit: fit.molecule)
    assert [fit.molecule for fit in fits] == list(range(molecules))
    assert all(abs(pocket.energy(fit.pose) - fit.energy) < 1e-9 for fit in fits)
    assert min(fit.energy for fit in fits) < -5


main()
