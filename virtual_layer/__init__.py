"""The virtual layer: runs an unmodified mpi4py program and records what it does.

The program needs no changes. To name its phases, it may contain::

    import virtual_layer

    with virtual_layer.region("cholesky", flops=n**3 / 3):
        ...

This does nothing unless the program is being recorded.
"""

from virtual_layer.regions import region

__all__ = ["region"]
