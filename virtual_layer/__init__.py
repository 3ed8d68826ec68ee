"""The virtual layer: runs an unmodified mpi4py program and records what it does.

A program does not have to know of it. To name its phases, a program may write::

    import virtual_layer

    with virtual_layer.region("cholesky", flops=n**3 / 3):
        ...

which does nothing when the program is not being recorded.
"""

from virtual_layer.regions import region

__all__ = ["region"]
