"""Loads the modules that every program loads, and ends: see :mod:`benchmarks.accuracy.unseen.experiment`."""

import numpy as np  # noqa: F401
from mpi4py import MPI  # noqa: F401
