"""Conformance: mpi4py's own test suite must pass the same tests with and without the virtual layer."""
