"""Conformance: mpi4py's own test suite, plain and under the virtual layer, must pass the same tests."""
