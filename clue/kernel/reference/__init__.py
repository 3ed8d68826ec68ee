"""The reference engine: the meaning of every op, in SimPy, written to be read. Begin with :mod:`.simulation`."""

from clue.kernel.reference.simulation import replay

__all__ = ["replay"]
